from __future__ import annotations

import contextlib
import json
import sys
import time
import traceback
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from minichainer._names import namespace as _namespace
from minichainer.allocator import tune_allocator as _tune_allocator
from minichainer.reporter import Reporter, plain_value
from minichainer.serializer import Serializer, decoded
from minichainer.training._folder import in_own_folder
from minichainer.training.extension import Extension
from minichainer.training.util import get_trigger, kind_of


class _Entry(NamedTuple):
    extension: Any
    priority: int
    trigger: Any
    call_before_training: bool


class Trainer:
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
        self._snapshot_elapsed_time = 0.0
        self._final_elapsed_time: float | None = None
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
        self._extensions[name] = _Entry(extension, place, get_trigger(trigger), call_before_training)

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
        """
        if name not in self._extensions:
            raise ValueError(f'Trainer: extension {name} not found; there are {sorted(self._extensions)}')
        return self._extensions[name].extension

    @in_own_folder
    def run(self, show_loop_exception_msg: bool = True) -> None:
        """Trains until the stop trigger fires.

        If an update or an extension raises, ``on_error`` of each extension is called. At the end, in any case,
        ``finalize`` of each extension and of the updater is called.

        Args:
            show_loop_exception_msg (bool): Whether an exception is also printed to the standard error at
                once, since finalizing may take long.

        Raises:
            RuntimeError: The trainer has run before.
            OSError: The output folder cannot be made or written, or another training that is alive writes to it;
                nothing has been computed then.
        """
        if self._start_at is not None:
            raise RuntimeError('Trainer.run: cannot run training loop multiple times; make another trainer')
        entries = sorted(self._extensions.values(), key=lambda e: -e.priority)
        self._start_at = time.monotonic()
        if self._tunes_allocator:
            _tune_allocator()
        self._initialize(entries)
        try:
            while not self.stop_trigger(self):
                self._iterate(entries)
        except Exception as e:
            if show_loop_exception_msg:
                _print_exception(e)
            for entry in entries:
                _call(entry.extension, 'on_error', self, e, e.__traceback__)
            raise
        finally:
            self._finalize(entries)

    def _initialize(self, entries: list[_Entry]) -> None:
        """Initializes the extensions, and calls those that run before training."""
        # Extensions that load a snapshot come first, so that the others start from the loaded state.
        for entry in sorted(entries, key=lambda e: not getattr(e.extension, 'autoload', False)):
            finished = getattr(entry.trigger, 'finished', False)
            if not finished or getattr(entry.extension, 'initialized_when_finished', False):
                _call(entry.extension, 'initialize', self)
        if not self.is_before_training:
            return
        self.observation = {}
        with self.reporter.scope(self.observation):
            for entry in entries:
                if entry.call_before_training:
                    entry.extension(self)

    def _iterate(self, entries: list[_Entry]) -> None:
        """One iteration: an update, then the extensions whose triggers fire."""
        self.observation = {}
        with self.reporter.scope(self.observation):
            self.updater.update()
            for entry in entries:
                if entry.trigger(self):
                    entry.extension(self)

    def _finalize(self, entries: list[_Entry]) -> None:
        """Finalizes all extensions and the updater, even if some raise."""
        self._final_elapsed_time = self.elapsed_time
        # The stack calls all of them, in the order of the entries, even if one raises.
        with contextlib.ExitStack() as stack:
            stack.callback(self.updater.finalize)
            for entry in reversed(entries):
                stack.callback(_call, entry.extension, 'finalize')

    def serialize(self, serializer: Any) -> None:
        """Saves or restores updater, stop trigger, extensions with their triggers, and elapsed time.

        Also saves the numbers in the observation, which the stop trigger needs when the run is resumed.
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
        f'Trainer.extend: {extension!r} has no name, default_name or __name__; pass name= for this extension'
    )


def _call(owner: Any, method: str, *args: Any) -> None:
    """Calls a method that extensions and triggers may lack, because any callable may be one."""
    function = getattr(owner, method, None)
    if function is not None:
        function(*args)


def _print_exception(e: Exception) -> None:
    print(f'Exception in the training loop: {type(e).__name__}: {e}', file=sys.stderr)
    traceback.print_tb(e.__traceback__)
    print('Finalizing extensions and updater, then re-raising the exception.', file=sys.stderr, flush=True)


if not TYPE_CHECKING:
    __getattr__ = _namespace(__name__)[0]
