from __future__ import annotations

import os
import re
import string
from collections.abc import Callable
from typing import Any

from minichainer.serializers.npz import DictionarySerializer, load_npz, save_npz
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
    **kwargs: Any,
) -> _Snapshot:
    """Returns an extension that saves the trainer, once an epoch unless a trigger is given.

    :func:`minichainer.serializers.load_npz` restores the trainer, whose run then continues as if it had not been
    interrupted. The file gets its name only when it is complete.

    Args:
        savefun: Function ``savefun(path, target)`` that writes the file, ``target`` being a dict of arrays;
            :func:`minichainer.serializers.save_npz` when omitted.
        filename: Name of the file in the trainer's output folder; the trainer fills in its field by
            ``filename.format(trainer)``. Or a function of the trainer.
        target: Object to save; the trainer when omitted.
        condition: Function without arguments; when it returns ``False`` nothing is saved.
        writer: Writer of :mod:`minichainer.training.extensions.snapshot_writers`; not together with
            ``savefun``.
        snapshot_on_error (bool): Whether to save also when the training ends by an error.
        n_retains (int): Number of newest files to keep; older ones that match ``filename`` are removed. All
            are kept when it is not positive.
        autoload (bool): Whether to load the newest file that matches ``filename`` before the training.

    Raises:
        TypeError: Both ``savefun`` and ``writer`` are given.

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
    if writer is None:
        writer = SimpleWriter(save_npz if savefun is None else savefun)
    return _Snapshot(target, filename, condition, writer, snapshot_on_error, n_retains, autoload)


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
    ) -> None:
        self._target = target
        self.filename = filename
        self.condition = condition
        self.writer = writer
        self._snapshot_on_error = snapshot_on_error
        self.n_retains = n_retains
        self.autoload = autoload

    def initialize(self, trainer: Any) -> None:
        """Loads the newest file if ``autoload``; removes old ones according to ``n_retains``."""
        if not isinstance(self.filename, str):
            return
        if self.autoload:
            files = _find(self.filename, trainer.out)
            if files:
                load_npz(files[-1], trainer if self._target is None else self._target)
        if self.n_retains > 0 and hasattr(self.writer, '_add_cleanup_hook'):
            self.writer._add_cleanup_hook(lambda: self._remove_old(trainer.out))

    def _remove_old(self, folder: str) -> None:
        for path in _find(self.filename, folder)[: -self.n_retains]:
            os.remove(path)

    def __call__(self, trainer: Any) -> None:
        """Saves, if the condition holds."""
        if self.condition is None or self.condition():
            self._save(trainer)

    def on_error(self, trainer: Any, exc: Exception, tb: Any) -> None:
        """Saves, if ``snapshot_on_error``."""
        if self._snapshot_on_error:
            self._save(trainer)

    def _save(self, trainer: Any) -> None:
        serializer = DictionarySerializer()
        serializer.save(trainer if self._target is None else self._target)
        name = self.filename(trainer) if callable(self.filename) else self.filename.format(trainer)
        self.writer(name, trainer.out, _Entries(serializer.target))

    def finalize(self) -> None:
        """Waits until everything is written."""
        if hasattr(self.writer, 'finalize'):
            self.writer.finalize()


def _find(fmt: str, folder: str) -> list[str]:
    """Files with names that the format may have produced, oldest first."""
    parts = string.Formatter().parse(fmt)
    pattern = re.compile(''.join(re.escape(text) + ('' if field is None else '.+') for text, field, _, _ in parts))
    paths = [os.path.join(folder, name) for name in os.listdir(folder) if pattern.fullmatch(name)]
    return sorted(filter(os.path.isfile, paths), key=lambda path: (os.stat(path).st_mtime_ns, len(path), path))
