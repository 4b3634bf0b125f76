from __future__ import annotations

import contextlib
import functools
import json
import sys
import time
import traceback
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from minichainer._elsewhere import NamesOfTrainers
from minichainer._names import namespace as _namespace
from minichainer._unfitting_calls import explain
from minichainer.allocator import tune_allocator as _tune_allocator
from minichainer.reporter import Reporter, plain_value
from minichainer.serializer import Serializer, decoded
from minichainer.training._first_error import Step, run_all
from minichainer.training._folder import in_own_folder
from minichainer.training._progress import Progress
from minichainer.training._random_states import RandomStates
from minichainer.training._stopping import StopSignals, save_before_stop
from minichainer.training.extension import Extension
from minichainer.training.util import get_trigger, kind_of


class _Entry(NamedTuple):
    name: str
    extension: Any
    priority: int
    trigger: Any
    call_before_training: bool


class Trainer(NamesOfTrainers):
    """Runs updates and extensions until the stop trigger fires.

    Each iteration calls the updater's ``update``, then each extension whose trigger fires, in order of decreasing
    priority, and in the order of :meth:`extend` for equal priorities. ``observation`` contains what links and
    extensions report in the iteration.

    Args:
        updater: Updater.
        stop_trigger: Trigger that ends the run, or a pair like ``(20, 'epoch')``. ``None``: it never ends.
        out (str): Folder for what extensions write; made where it does not exist.
        extensions: Extensions, as if each was passed to :meth:`extend`.
        tune_allocator: Whether :meth:`run` calls :func:`minichainer.tune_allocator` first, so that large
            temporary arrays are not fetched from the system anew in each iteration. The process then keeps the
            most memory that it has used.

    Attributes:
        updater: Updater.
        stop_trigger: Trigger that ends the run.
        observation: Dict of the values reported during the iteration.
        out: Output folder.
        reporter: The :class:`~minichainer.Reporter` that collects reported values.

    Raises:
        RuntimeError: An optimizer of the updater has no model yet.

    .. admonition:: Example

        >>> import tempfile
        >>> import numpy as np
        >>> import minichainer as chainer
        >>> import minichainer.links as L
        >>> from minichainer import training
        >>> model = L.Classifier(L.Linear(2, 3))
        >>> data = chainer.datasets.TupleDataset(np.ones((8, 2), np.float32), np.zeros(8, np.int32))
        >>> updater = training.updaters.StandardUpdater(
        ...     chainer.iterators.SerialIterator(data, 4), chainer.optimizers.SGD().setup(model))
        >>> with tempfile.TemporaryDirectory() as out:
        ...     trainer = training.Trainer(updater, (3, 'epoch'), out)
        ...     trainer.run()
        >>> updater.iteration, sorted(trainer.observation)
        (6, ['main/accuracy', 'main/loss'])

    """

    def __init__(
        self,
        updater: Any,
        stop_trigger: Any = None,
        out: str = 'result',
        extensions: Iterable[Any] | None = None,
        *,
        tune_allocator: bool = True,
    ) -> None:
        if not hasattr(updater, 'get_all_optimizers'):
            raise TypeError(f'Trainer: an updater expected first, got {kind_of(updater)}; {_UPDATER}')
        self.updater = updater
        self._tunes_allocator = tune_allocator
        self.stop_trigger = get_trigger(stop_trigger)
        self.observation: dict[str, Any] = {}
        self.out = out
        self.reporter = _make_reporter(updater.get_all_optimizers())
        self._extensions: dict[str, _Entry] = {}
        self._start_at: float | None = None
        self._done = False
        self._snapshot_elapsed_time = 0.0
        self._final_elapsed_time: float | None = None
        self._progress = Progress()
        self._random_states = RandomStates(self)
        updater.connect_trainer(self)
        for extension in extensions or ():
            self.extend(extension)

    @property
    def elapsed_time(self) -> float:
        """Seconds of training: of this run, and of previous runs if it was resumed.

        Raises :class:`RuntimeError` before the run.
        """
        if self._final_elapsed_time is not None:
            return self._final_elapsed_time
        if self._start_at is None:
            raise RuntimeError('Trainer.elapsed_time: training has not been started yet')
        return time.monotonic() - self._start_at + self._snapshot_elapsed_time

    @property
    def is_before_training(self) -> bool:
        """Whether no update has been done; ``True`` for extensions called with ``call_before_training``."""
        before: bool = self.updater.iteration == 0
        return before

    def extend(
        self,
        extension: Any,
        name: str | None = None,
        trigger: Any = None,
        priority: int | None = None,
        *,
        call_before_training: bool = False,
        **kwargs: Any,
    ) -> None:
        """Adds an extension.

        Args:
            extension: :class:`Extension` or any function of the trainer.
            name (str): Name under which it is held and saved; its own or default name when omitted. A number
                is appended where the name is taken.
            trigger: When to call it: trigger or pair like ``(1, 'epoch')``; its own when omitted.
            priority (int): Order among extensions, largest first; its own when omitted.
            call_before_training (bool): Whether to call it also before the first update; not where the run
                goes on from a snapshot.

        Raises:
            ValueError: The name is ``'training'``.
        """
        if 'invoke_before_training' in kwargs:
            raise ValueError('Trainer.extend: invoke_before_training is not supported; use call_before_training=True')
        if kwargs:
            raise TypeError(f'Trainer.extend: unexpected arguments {sorted(kwargs)}')
        if isinstance(extension, type):
            cls = extension.__name__
            raise TypeError(f'Trainer.extend: an extension expected, got the class {cls}; write extend({cls}(...))')
        if not callable(extension):
            raise TypeError(f'Trainer.extend: an extension is called with the trainer, got {kind_of(extension)}')
        name = self._free_name(name or _name_of(extension))
        if trigger is None:
            trigger = getattr(extension, 'trigger', Extension.trigger)
        place: int = getattr(extension, 'priority', Extension.priority) if priority is None else priority
        with contextlib.suppress(AttributeError, TypeError):  # methods and builtins have no attributes
            setattr(extension, 'name', name)  # noqa: B010
        self._extensions[name] = _Entry(name, extension, place, get_trigger(trigger), call_before_training)

    def _free_name(self, name: str) -> str:
        """The name, with a number if it is taken."""
        if name == 'training':
            raise ValueError('Trainer.extend: the name "training" is prohibited as an extension name; pass another')
        free, n = name, 0
        while free in self._extensions:
            n += 1
            free = f'{name}_{n}'
        return free

    def get_extension(self, name: str) -> Any:
        """Returns the extension of this name.

        Raises :class:`ValueError` if there is none.

        Args:
            name: the name under which it was added.
        """
        if name not in self._extensions:
            raise ValueError(f'Trainer: extension {name} not found; there are {sorted(self._extensions)}')
        return self._extensions[name].extension

    @in_own_folder
    def run(self, show_loop_exception_msg: bool = True) -> None:
        """Trains until the stop trigger fires.

        If an update or an extension raises, ``on_error`` of each extension is called. At the end, in any case,
        ``finalize`` of each extension and of the updater is called; if initializing fails, of those that were
        initialized. The first error is raised; errors of ``on_error`` and ``finalize`` are noted at it.

        Ctrl-C and SIGTERM end the run after the current iteration with its extensions: each
        :func:`~minichainer.training.extensions.snapshot` of the trainer is written, its path and how to resume are
        printed, and KeyboardInterrupt is raised, or SystemExit with status 143. A second signal stops at once. This
        holds in the main thread, unless the program has handlers of its own. A trainer that runs inside of another
        one is a part of its iteration. A KeyboardInterrupt that code in the loop raises may leave parameters half
        updated, so nothing is saved.

        After an error or a signal the run can be called again: it goes on with what was left of the iteration, such
        as the extension that has failed.

        Args:
            show_loop_exception_msg (bool): Whether an exception is also printed to the standard error at
                once, since finalizing may take long.

        Raises:
            RuntimeError: The trainer has run to its end before.
            OSError: The output folder cannot be made or written, or another training that is alive writes to it;
                nothing has been computed then.
            KeyboardInterrupt: Ctrl-C.
            SystemExit: SIGTERM.
        """
        if self._done:
            raise RuntimeError('Trainer.run: cannot run training loop multiple times; make another trainer')
        entries = sorted(self._extensions.values(), key=lambda e: -e.priority)
        self._start_clock()
        if self._tunes_allocator:
            _tune_allocator()
        ready: set[str] = set()
        with StopSignals() as stop:
            try:
                self._initialize(entries, ready)
                self._resume()
                stop.is_awaited, is_cut = True, False
                while not is_cut and not self._stops():
                    self._iterate(entries)
                    is_cut = stop.number > 0
            except BaseException as e:
                explain(e)
                if stop.is_awaited and isinstance(e, Exception):
                    self._tell(entries, e, show_loop_exception_msg)
                self._finalize(entries, ready, e)
                raise
            saving = functools.partial(save_before_stop, self, [(e.name, e.extension) for e in entries])
            self._finalize(entries, ready, None, [('saving', saving)] if is_cut else [])
        self._done = True

    def _start_clock(self) -> None:
        """Goes on with the time of a run that was broken off, if there was one."""
        if self._final_elapsed_time is not None:
            self._snapshot_elapsed_time, self._final_elapsed_time = self._final_elapsed_time, None
        self._start_at = time.monotonic()

    def _initialize(self, entries: list[_Entry], ready: set[str]) -> None:
        """Initializes the extensions, and notes their names."""
        # Extensions that load a snapshot come first, so that the others start from the loaded state.
        for entry in sorted(entries, key=lambda e: not getattr(e.extension, 'autoload', False)):
            finished = getattr(entry.trigger, 'finished', False) and entry.name not in self._progress.to_call
            if not finished or getattr(entry.extension, 'initialized_when_finished', False):
                _call(entry.extension, 'initialize', self)
            ready.add(entry.name)
        if self.is_before_training and not self._progress.is_begun:
            self._progress.to_call = [entry.name for entry in reversed(entries) if entry.call_before_training]
        self._progress.is_begun = True

    def _resume(self) -> None:
        """Does what is left to do before the next update: before training, or in an iteration that was saved."""
        self._random_states.resume()
        self._progress.keep(self._extensions)
        if self._progress.is_observed:
            self.observation = {}
        with self.reporter.scope(self.observation):
            self._call_extensions()

    def _stops(self) -> bool:
        """Asks the stop trigger."""
        stops = bool(self.stop_trigger(self))
        self._progress.is_observed = True
        return stops

    def _iterate(self, entries: list[_Entry]) -> None:
        """One iteration: an update, then the extensions whose triggers fire."""
        self.observation = {}
        with self.reporter.scope(self.observation):
            self.updater.update()
            self._progress.is_observed = False
            self._progress.to_ask = [entry.name for entry in reversed(entries)]
            self._call_extensions()

    def _call_extensions(self) -> None:
        """Calls the extensions that are left in this iteration."""
        to_call, to_ask = self._progress.to_call, self._progress.to_ask
        while to_call:
            self._call_extension(to_call.pop())
        while to_ask:
            name = to_ask.pop()
            if self._extensions[name].trigger(self):
                self._call_extension(name)

    def _call_extension(self, name: str) -> None:
        """Calls an extension; if it fails, it is left to be called."""
        try:
            self._extensions[name].extension(self)
        except BaseException:
            self._progress.to_call.append(name)
            raise

    def _tell(self, entries: list[_Entry], error: Exception, is_shown: bool) -> None:
        """Tells the extensions that an error has ended the loop."""
        showing = [('showing the error', functools.partial(_print_exception, error))] if is_shown else []
        run_all([*showing, *_steps(entries, 'on_error', self, error, error.__traceback__)], error)

    def _finalize(
        self, entries: list[_Entry], ready: set[str], error: BaseException | None, first: Iterable[Step] = ()
    ) -> None:
        """Runs the first steps, finalizes the extensions that are ready, and the updater, even if some raise."""
        self._final_elapsed_time = self.elapsed_time
        steps = _steps([entry for entry in entries if entry.name in ready], 'finalize')
        run_all([*first, *steps, ('finalize of the updater', self.updater.finalize)], error)

    def serialize(self, serializer: Any) -> None:
        """Saves or restores updater, stop trigger, extensions with their triggers, and elapsed time.

        Also saves the numbers in the observation, what is left to do in the iteration (extensions that come after the
        one that takes the snapshot, and the stop trigger), which a resumed run does first, and random states: the
        global ones of NumPy and :mod:`random`, and generators of NumPy and :mod:`random` that are attributes of
        links, the updater, extensions, iterators, their datasets and samplers. They are restored at once, and again
        when the run begins.
        CuPy's states cannot be saved: each time the trainer is saved, the GPUs that have models get a new seed, and
        they get it again when a resumed run begins.

        Args:
            serializer: a :class:`~minichainer.Serializer` to save, or a :class:`~minichainer.Deserializer` to
                restore.
        """
        self.updater.serialize(serializer['updater'])
        _call(self.stop_trigger, 'serialize', serializer['stop_trigger'])
        extensions, triggers = serializer['extensions'], serializer['extension_triggers']
        for name, entry in self._extensions.items():
            _call(entry.extension, 'serialize', extensions[name])
            _call(entry.trigger, 'serialize', triggers[name])
        if isinstance(serializer, Serializer):
            started = self._start_at is not None
            serializer('_snapshot_elapsed_time', self.elapsed_time if started else self._snapshot_elapsed_time)
            serializer('observation', _observation_as_text(self.observation))
        else:
            self._snapshot_elapsed_time = float(serializer('_snapshot_elapsed_time', 0.0))
            with contextlib.suppress(KeyError):  # missing in Chainer's snapshots
                self.observation = _observation_of_text(serializer('observation', '{}'))
        self._progress.serialize(serializer)
        self._random_states.serialize(serializer)


def _observation_as_text(observation: dict[str, Any]) -> str:
    plain = {name: plain_value(value) for name, value in observation.items()}
    return json.dumps({name: value for name, value in plain.items() if value is not None})


def _observation_of_text(text: str) -> dict[str, Any]:
    # JSON has no tuples, but pairs of value and weight are reported as tuples.
    return {name: tuple(v) if isinstance(v, list) else v for name, v in decoded(text, dict).items()}


def _make_reporter(optimizers: dict[str, Any]) -> Reporter:
    """A reporter with the names of all links of all optimizers."""
    reporter = Reporter()
    for name, optimizer in optimizers.items():
        if getattr(optimizer, 'target', None) is None:
            raise RuntimeError(
                f'Trainer: optimizer {name!r} ({type(optimizer).__name__}) has no model; '
                'call optimizer.setup(model) first'
            )
        reporter.add_observer(name, optimizer.target)
        reporter.add_observers(name, optimizer.target.namedlinks(skipself=True))
    return reporter


_UPDATER = 'write Trainer(training.updaters.StandardUpdater(iterator, optimizer), ...)'


def _name_of(extension: Any) -> str:
    """The default name of an extension."""
    for attribute in ('name', 'default_name', '__name__'):
        name: str | None = getattr(extension, attribute, None)
        if name is not None:
            return name
    raise TypeError(
        f'Trainer.extend: {extension!r} has no name, default_name or __name__; pass name="..." for this extension'
    )


def _call(owner: Any, method: str, *args: Any) -> None:
    """Calls a method that extensions and triggers may lack, because any callable may be one."""
    function = getattr(owner, method, None)
    if function is not None:
        function(*args)


def _steps(entries: list[_Entry], method: str, *args: Any) -> list[Step]:
    """The calls of a method of all extensions, for :func:`run_all`."""
    return [
        (f'{method} of extension {entry.name!r}', functools.partial(_call, entry.extension, method, *args))
        for entry in entries
    ]


def _print_exception(e: Exception) -> None:
    print(f'Exception in the training loop: {type(e).__name__}: {e}', file=sys.stderr)
    traceback.print_tb(e.__traceback__)
    print('Finalizing extensions and updater, then re-raising the exception.', file=sys.stderr, flush=True)


if not TYPE_CHECKING:
    __getattr__ = _namespace(__name__)[0]
