"""Runs a program of `random_programs` with a package that has Chainer's API, which is an argument."""

from __future__ import annotations

import contextlib
import io
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from tests.training.program_parts import (
    data_of,
    entries_of,
    extensions_of,
    figure,
    model_of,
    names_of,
    net_of,
    plain,
    tokens,
)
from tests.training.random_programs import is_resumed_alike


class Run:
    """One run: of a whole program, or from the file that such a run has saved.

    Args:
        program: what `random_programs.make_program` has made.
        chainer: the package.
        folder: an empty folder for its files.
        source: the folder of the run to go on from.
        nudge: by how much the data are changed, relatively.
    """

    def __init__(
        self,
        program: dict[str, Any],
        chainer: Any,
        folder: Path,
        source: Path | None = None,
        nudge: float = 0.0,
    ) -> None:
        self.program, self.chainer, self.nudge = program, chainer, nudge
        self.folder, self.source = folder, source
        self.events: list[Any] = []
        self.steps: list[list[float]] = []
        self.logs: dict[str, Any] = {}
        self.paper = io.StringIO()
        self.names = {**names_of(chainer), 'events': self.events, 'paper': self.paper}
        self.names.update(extensions_of(chainer, self.names))

    def eval(self, text: str) -> Any:
        return eval(text, self.names)

    def record(self) -> dict[str, Any]:
        """What Chainer and this package must have in common."""
        chainer, dtype = self.chainer, self.program['dtype']
        chosen = chainer.mixed16 if self.program['mixed'] else np.dtype(dtype)
        np.random.seed(self.program['seed'])
        with warnings.catch_warnings(), contextlib.ExitStack() as settings:
            warnings.simplefilter('ignore')
            settings.enter_context(chainer.using_config('dtype', chosen))
            settings.enter_context(chainer.using_config('keep_graph_on_report', False))  # which DumpGraph may leave
            self._build()
            (self._loop if self.program['kind'] == 'loop' else self._train)()
        return {
            'events': self.events,
            'steps': self.steps,
            'logs': self.logs,
            'printed': tokens(self.paper.getvalue()),
            'drawn': [int(i) for i in np.random.randint(1000, size=3)],
            'files': sorted(path.name for path in self.folder.iterdir() if path.suffix != '.svg'),
        }

    def _build(self) -> None:
        program, names = self.program, self.names
        names['data'] = data_of(program, self.chainer, self.nudge)
        names['net'] = net_of(program, self.chainer, self.eval)
        names['model'] = model = model_of(program, self.chainer, names['net'])
        names['first'] = next(iter(names['net'].children()))
        names['optimizer'] = optimizer = self.eval(program['optimizer'])
        if program['single']:
            optimizer.use_fp32_update()
        optimizer.setup(model)
        if program['scaling']:
            self.eval('optimizer.' + program['scaling'])
        for each in program['hooks']:
            self.eval(f'optimizer.add_hook({each})')
        names['it'] = self.eval(program['iterator'])

    def _midway(self, iteration: int) -> None:
        for at, action in self.program['midway']:
            if at == iteration and self.source is None:
                with self._watched(f'midway {iteration}'):
                    self.eval(action)

    @contextlib.contextmanager
    def _watched(self, what: str) -> Any:
        """Makes an error an event."""
        try:
            yield
        except Exception as error:
            self.events.append([what, *(c.__name__ for c in type(error).__mro__ if c.__module__ == 'builtins')])

    def _note(self, iterator: Any) -> None:
        """Appends the position of the iterator and one figure of each parameter."""
        where = [iterator.epoch, iterator.epoch_detail, iterator.previous_epoch_detail, int(iterator.is_new_epoch)]
        params = sorted(self.names['model'].namedparams())
        self.steps.append([*map(float, where), *(figure(param.array) for _, param in params)])

    def _loop(self) -> None:
        program, names = self.program, self.names
        model, optimizer, it = names['model'], names['optimizer'], names['it']
        parts = {'model': model, 'optimizer': optimizer, 'iterator': it}
        serializers = self.chainer.serializers
        if self.source is not None and not self._loaded(parts):
            return
        for i in range(1, (program['more'] if self.source else program['steps']) + 1):
            self._midway(i)
            with self._watched(f'step {i}'):
                self._step(i, self.chainer.dataset.concat_examples(it.next()))
            self._note(it)
            if self.source is None and i == program['saved']:
                for name, part in parts.items():
                    with (self.folder / name).open('wb') as file:
                        serializers.save_npz(file, part)
        it.finalize()

    def _loaded(self, parts: dict[str, Any], **options: Any) -> bool:
        """Loads files; what follows an error is not recorded, since an object may then be loaded in part."""
        try:
            for name, part in parts.items():
                self.chainer.serializers.load_npz(str(self.source / name), part, **options)
        except KeyError:
            self.events.append(['not loaded'])
        return ['not loaded'] not in self.events

    def _step(self, i: int, batch: Any) -> None:
        model, optimizer = self.names['model'], self.names['optimizer']
        args, kwargs = ((), batch) if isinstance(batch, dict) else (batch, {})
        if self.program['step'] == 'update':
            optimizer.update(model, *args, **kwargs)
            return
        if self.program['step'] == 'backward' or i % 2:
            getattr(model, self.program['clear'])()
        model(*args, **kwargs).backward()
        optimizer.update()

    def _train(self) -> None:
        program, names, training = self.program, self.names, self.chainer.training
        names['updater'] = updater = self.eval(
            f'training.updaters.StandardUpdater(it, optimizer{program["updater"]})'
        )
        update = updater.update

        def noted_update() -> None:
            self._midway(updater.iteration + 1)
            update()
            self._note(names['it'])

        updater.update = noted_update
        names['trainer'] = trainer = training.Trainer(updater, self.eval(program['stop']), out=str(self.folder))
        self._extend(trainer)
        if self.source is not None:
            path = saved_files(program, self.source)[0]
            if not self._loaded({path.name: trainer}, **self.eval(f'dict({program["load"]})')):
                return
            stop = updater.iteration + program['more']
            trainer.stop_trigger = training.triggers.IntervalTrigger(stop, 'iteration')
        with self._watched('run'):
            trainer.run(show_loop_exception_msg=False)
        if program['fails'] and self.source is None:
            with self._watched('run again'):
                trainer.run(show_loop_exception_msg=False)
        self._end(trainer)

    def _extend(self, trainer: Any) -> None:
        for text, options in self.program['extensions']:
            with self._watched(f'extend {text}'):
                extension = self.eval(text)
                trainer.extend(self._seen(extension), **self.eval(f'dict({options[2:]})'))
        if self.program['fails'] and self.source is None:
            failing = self.eval(f'failing({self.program["fails"]})')
            trainer.extend(failing, name='failing', trigger=(1, 'iteration'), priority=-99)
        schedule = self.eval(f'T.ManualScheduleTrigger({self.program["saved"]}, "iteration")')
        trainer.extend(self.eval(f'E.snapshot({self.program["snapshot"]})'), trigger=schedule)

    def _seen(self, extension: Any) -> Any:
        """Lets calls of an extension that is an object append an event."""
        is_recorded = isinstance(extension, self.chainer.training.Extension)
        if is_recorded and not isinstance(extension, self.chainer.training.extensions.unchain_variables):
            events = self.events

            class Seen(type(extension)):  # type: ignore[misc]
                def __call__(self, trainer: Any) -> Any:
                    events.append([type(self).__name__, trainer.updater.iteration])
                    return super().__call__(trainer)

            Seen.__name__ = type(extension).__name__
            extension.__class__ = Seen
        return extension

    def _end(self, trainer: Any) -> None:
        names = self.names
        self.events.append(
            ['end', names['updater'].iteration, names['updater'].epoch, int(trainer.is_before_training)]
        )
        for name in sorted(trainer._extensions):
            extension = trainer.get_extension(name)
            if hasattr(extension, 'log'):
                self.logs[name] = [plain(entry) for entry in extension.log]
            self.events.append([name, trainer._extensions[name].priority])
        for path in sorted(self.folder.glob('log*')):
            self.logs[f'file {path.name}'] = [plain(entry) for entry in json.loads(path.read_text())]
        names['it'].finalize()


def saved_files(program: dict[str, Any], folder: Path) -> list[Path]:
    """The files from which a run goes on; none if it ended before they were written."""
    names = ['model', 'optimizer', 'iterator'] if program['kind'] == 'loop' else ['saved*', 'snapshot_iter*']
    return [path for name in names for path in sorted(folder.glob(name))]


def play(program: dict[str, Any], chainer: Any, folder: Path, nudge: float = 0.0) -> dict[str, Any]:
    """Runs a program, and goes on from its files; all that is recorded of it."""
    (folder / 'first').mkdir()
    (folder / 'second').mkdir()
    first = Run(program, chainer, folder / 'first', nudge=nudge).record()
    files = {path.name: entries_of(path) for path in saved_files(program, folder / 'first')}
    if not files or not is_resumed_alike(program):
        return {'first': first, 'files': files, 'second': None}
    second = Run(program, chainer, folder / 'second', folder / 'first', nudge).record()
    # Chainer does not load states of rules that are disabled, since its file lacks them.
    return {'first': first, 'files': files, 'second': None if ['not loaded'] in second['events'] else second}
