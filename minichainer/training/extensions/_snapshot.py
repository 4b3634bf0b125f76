from __future__ import annotations

import contextlib
import os
import re
import string
import sys
import warnings
from collections.abc import Callable
from typing import Any

from minichainer.serializer import DamagedSnapshotError
from minichainer.serializers._formats import load_any, loader_of
from minichainer.serializers.npz import DictionarySerializer, save_npz
from minichainer.training.extension import Extension
from minichainer.training.extensions.snapshot_writers import SimpleWriter


def snapshot(
    savefun: Callable[..., Any] | None = None,
    filename: Any = 'snapshot_iter_{.updater.iteration}',
    *,
    target: Any = None,
    condition: Callable[[], bool] | None = None,
    writer: Any = None,
    snapshot_on_error: bool = False,
    n_retains: int = -1,
    autoload: bool = False,
    loadfun: Callable[[str, Any], Any] | None = None,
    durable: bool = True,
    **kwargs: Any,
) -> _Snapshot:
    """Returns an extension that saves the trainer, once an epoch unless a trigger is given.

    It also saves when Ctrl-C or SIGTERM ends the run, after the iteration, see :meth:`Trainer.run`.
    :func:`minichainer.serializers.load_npz` restores the trainer, whose run then continues as if it had not been
    interrupted: bit for bit, if all that draws random numbers is what :meth:`Trainer.serialize` names. Datasets that
    draw in the threads of a :class:`MultithreadIterator` are not; CuPy draws the same only if snapshots are taken at
    the same iterations. The extension may come anywhere among the others: those that it precedes in an iteration are
    called by the resumed run. They see the numbers of the observation, not arrays or graphs.

    The file gets its name only when it is complete.

    Args:
        savefun: Function ``savefun(path, target)`` that writes the file, ``target`` being a dict of arrays;
            :func:`minichainer.serializers.save_npz` when omitted.
        filename: Name of the file in the trainer's output folder; the trainer fills in its field by
            ``filename.format(trainer)``. Or a function of the trainer, without ``n_retains`` and ``autoload``.
        target: Object to save; the trainer when omitted.
        condition: Function without arguments; when it returns ``False`` nothing is saved.
        writer: Writer of :mod:`minichainer.training.extensions.snapshot_writers`; not together with
            ``savefun``.
        snapshot_on_error (bool): Whether to save also when the training ends by an error.
        n_retains (int): Number of newest files to keep; older ones that match ``filename`` are removed. All
            are kept when it is not positive. The newest is that of the latest iteration or epoch, if the name
            contains one, else the one written last.
        autoload (bool): Whether to load the newest file that matches ``filename`` before the training. If it is
            damaged, the one before is loaded, with a warning. A file with more entries than the models have is an
            error, unless ``loadfun`` is :func:`minichainer.serializers.load_npz`.
        loadfun: Function ``loadfun(path, target)`` that loads a file for ``autoload``, if ``savefun`` writes
            neither ``.npz`` files nor HDF5 files, which are told by their contents.
        durable (bool): Whether to wait until a file is on the disk, so that it survives a power failure. A writer
            has this option itself.

    Raises:
        TypeError: Both ``savefun`` and ``writer`` are given.
        ValueError: ``filename`` is a function, and ``n_retains`` or ``autoload`` is given.

    .. admonition:: Example

        >>> from minichainer.training import extensions
        >>> saving = extensions.snapshot(filename='epoch_{.updater.epoch}', n_retains=2, autoload=True)
        >>> saving.trigger, saving.priority
        ((1, 'epoch'), -100)

    """
    if 'num_retain' in kwargs:
        n_retains = kwargs.pop('num_retain')
    if kwargs:
        raise TypeError(f'snapshot: unexpected arguments {sorted(kwargs)}')
    if savefun is not None and writer is not None:
        raise TypeError(
            'snapshot: savefun and writer arguments cannot be specified together; give savefun to the writer'
        )
    if (autoload or n_retains > 0) and not isinstance(filename, str):
        raise ValueError(
            'snapshot: autoload and n_retains look for files by their name, so filename must be a text, '
            f"such as 'snapshot_iter_{{.updater.iteration}}', got {filename!r}"
        )
    if writer is None:
        writer = SimpleWriter(save_npz if savefun is None else savefun, durable=durable)
    return _Snapshot(target, filename, condition, writer, snapshot_on_error, n_retains, autoload, loadfun)


def snapshot_object(
    target: Any, filename: Any, savefun: Callable[..., Any] | None = None, **kwargs: Any
) -> _Snapshot:
    """Returns an extension that saves an object, once an epoch unless a trigger is given.

    Args:
        target: Object to save: a link, an optimizer, anything that can be serialized.
        filename: Name of the file in the trainer's output folder, see :func:`snapshot`.
        savefun: Function ``savefun(path, target)`` that writes the file.
        kwargs: The other arguments of :func:`snapshot`.

    .. admonition:: Example

        >>> import minichainer.links as L
        >>> from minichainer.training import extensions
        >>> saving = extensions.snapshot_object(L.Linear(2, 3), 'layer_{.updater.iteration}')

    """
    return snapshot(savefun, filename, target=target, **kwargs)


#: Fields of a file name that tell how far the training was.
_UNITS = 'iteration', 'epoch_detail', 'epoch'


class _Entries(dict[str, Any]):
    """A serialized object: a dict that can itself be serialized, for functions that write objects."""

    def serialize(self, serializer: Any) -> None:
        for key, value in self.items():
            # None was saved as an object array, which serializers do not recognize.
            serializer(key, None if value.dtype.hasobject else value)


class _Snapshot(Extension):
    """Saves an object to a file when called."""

    trigger = 1, 'epoch'
    priority = -100

    def __init__(
        self,
        target: Any,
        filename: Any,
        condition: Callable[[], bool] | None,
        writer: Any,
        snapshot_on_error: bool,
        n_retains: int,
        autoload: bool,
        loadfun: Callable[[str, Any], Any] | None,
    ) -> None:
        self._target = target
        self.filename = filename
        self.condition = condition
        self.writer = writer
        self._snapshot_on_error = snapshot_on_error
        self.n_retains = n_retains
        self.autoload = autoload
        self._load = loadfun or load_any
        self._last_path: str | None = None

    def initialize(self, trainer: Any) -> None:
        """Loads the newest file if ``autoload``; removes old ones according to ``n_retains``."""
        if self.autoload:
            self._load_newest(_find(self.filename, trainer.out), trainer if self._target is None else self._target)
        if self.n_retains > 0 and hasattr(self.writer, '_add_cleanup_hook'):
            self.writer._add_cleanup_hook(lambda: self._remove_old(trainer.out))

    def _remove_old(self, folder: str) -> None:
        for path in _find(self.filename, folder)[: -self.n_retains]:
            with contextlib.suppress(FileNotFoundError):
                os.remove(path)

    def _load_newest(self, paths: list[str], target: Any) -> None:
        """Loads the last file that is not damaged.

        Raises:
            DamagedSnapshotError: there are files, and all are damaged.
            SnapshotError: a file is intact, but does not fit the target.
        """
        damages = []
        for path in reversed(paths):
            try:
                self._load(path, target)
            except DamagedSnapshotError as error:
                damages.append(f'{path}: {error}')
            else:
                if damages:
                    warnings.warn(_fallback(path, damages), stacklevel=4)
                return
        if damages:
            raise DamagedSnapshotError(
                'snapshot: all files are damaged; remove them to begin anew, or, if savefun writes a format of its '
                'own, pass loadfun:\n' + '\n'.join(damages)
            )

    def __call__(self, trainer: Any) -> None:
        """Saves, if the condition holds."""
        if self.condition is None or self.condition():
            self._make_snapshot(trainer)

    def on_error(self, trainer: Any, exc: Exception, tb: Any) -> None:
        """Saves, if ``snapshot_on_error``."""
        if self._snapshot_on_error:
            self._make_snapshot(trainer)

    def save_before_stop(self, trainer: Any) -> bool:
        """Saves the trainer, which a signal stops, if that is the target and the condition holds; returns whether.

        :meth:`finalize` prints the path when the file is written.
        """
        is_trainer = self._target is None or self._target is trainer
        if not is_trainer or (self.condition is not None and not self.condition()):
            return False
        self._last_path = os.path.join(trainer.out, self._make_snapshot(trainer))
        return True

    def _make_snapshot(self, trainer: Any) -> str:
        """Saves, and returns the name of the file."""
        serializer = DictionarySerializer()
        serializer.save(trainer if self._target is None else self._target)
        name = self.filename(trainer) if callable(self.filename) else self.filename.format(trainer)
        self.writer(name, trainer.out, _Entries(serializer.target))
        return str(name)

    def finalize(self) -> None:
        """Waits until everything is written."""
        if hasattr(self.writer, 'finalize'):
            self.writer.finalize()
        if self._last_path is not None:
            print(_how_to_resume(self._last_path, self.autoload), file=sys.stderr, flush=True)


def _how_to_resume(path: str, is_loaded: bool) -> str:
    saved = f'Stopped. The snapshot is {path}\nTo resume, '
    if is_loaded:
        return saved + 'run the program again: snapshot(autoload=True) loads it'
    way = 'pass autoload=True to extensions.snapshot and run the program again'
    load = loader_of(path) if os.path.isfile(path) else None
    if load is not None:
        way += f', or write serializers.{load.__name__}({path!r}, trainer) before trainer.run()'
    return saved + way


def _fallback(path: str, damages: list[str]) -> str:
    return f'snapshot: the training goes on from {path}, because newer files are damaged:\n' + '\n'.join(damages)


def _find(fmt: str, folder: str) -> list[str]:
    """Files with names that the format may have produced, oldest first."""
    parts = [(text, field) for text, field, _, _ in string.Formatter().parse(fmt)]
    pattern = re.compile(''.join(re.escape(text) + ('' if field is None else '(.+)') for text, field in parts))
    fields = [field for _, field in parts if field is not None]
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            match = pattern.fullmatch(entry.name)
            progress = None if match is None else _progress(fields, match.groups())
            with contextlib.suppress(FileNotFoundError):
                if progress is not None and entry.is_file():
                    found.append((progress, entry.stat().st_mtime_ns, len(entry.name), entry.path))
    return [path for _, _, _, path in sorted(found)]


def _progress(fields: list[str], texts: tuple[str, ...]) -> tuple[float, ...] | None:
    """Iteration and epoch that a name contains; None if it was not made by the format."""
    numbers: dict[str, float] = {}
    for field, text in zip(fields, texts, strict=True):
        unit = field.rpartition('.')[2]
        if unit in _UNITS:
            try:
                numbers[unit] = float(text)
            except ValueError:
                return None
    return tuple(numbers.get(unit, 0.0) for unit in _UNITS)
