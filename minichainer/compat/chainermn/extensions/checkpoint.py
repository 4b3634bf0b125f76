"""Snapshots from which a training continues, the last few of them."""

from __future__ import annotations

import contextlib
import os
import re
import time
import warnings
from typing import Any

from minichainer.serializers.npz import load_npz, save_npz
from minichainer.training.extension import Extension
from minichainer.training.extensions._files import replacing


def create_multi_node_checkpointer(
    name: str, comm: Any, cp_interval: int = 5, gc_interval: int = 5, path: str | None = None
) -> Checkpointer:
    """An extension that saves the trainer to ``<name>.<rank>.<iteration>``. Deprecated: use ``extensions.snapshot``.

    Args:
        name: identifies the training; without dots.
        comm: a communicator.
        cp_interval: how many files are kept.
        gc_interval: has no effect.
        path: the folder; that of the trainer's results by default.
    """
    text = 'create_multi_node_checkpointer is deprecated: use training.extensions.snapshot'
    warnings.warn(text, DeprecationWarning, stacklevel=2)
    return Checkpointer(name, comm, cp_interval, path)


class _CheckpointStats:
    """How long saving takes."""

    def __init__(self) -> None:
        self.timings: list[dict[str, float]] = []
        self.begin: float | None = None

    def start(self) -> None:
        """Begins a measurement."""
        self.begin = time.time()

    def end(self) -> None:
        """Ends it."""
        if self.begin is not None:
            self.timings.append({'b': self.begin, 'd': time.time() - self.begin})
            self.begin = None

    def report(self) -> str:
        """Mean, smallest and largest time as text."""
        times = [timing['d'] for timing in self.timings]
        if not times:
            return 'No stats available'
        mean = sum(times) / len(times)
        return f'Snapshot duration stats (sec): avg={mean:f}, min={min(times):f}, max={max(times):f}'


class Checkpointer(Extension):
    """Saves a trainer, and loads the latest of its files.

    Args:
        name: identifies the training.
        comm: a communicator.
        cp_interval: how many files are kept.
        path: the folder; that of the trainer's results by default.

    Raises:
        ValueError: the name contains a dot, or ``cp_interval`` is below 1.
    """

    def __init__(self, name: str, comm: Any, cp_interval: int, path: str | None) -> None:
        if '.' in name or cp_interval < 1:
            expected = 'a name without dots and cp_interval of at least 1'
            raise ValueError(f'checkpointer: expected {expected}, got {name!r} and {cp_interval}')
        self.name, self.comm, self.cp_interval, self.path = name, comm, cp_interval, path
        self.files: list[str] = []
        self.stats = _CheckpointStats()

    def __call__(self, trainer: Any) -> None:
        self.path = self.path or trainer.out
        self.save(trainer, trainer.updater.iteration)

    def save(self, target: Any, iteration: int) -> None:
        """Saves an object, and removes files beyond those that are kept.

        Args:
            target: mostly a trainer.
            iteration: the number of the file.
        """
        folder, name = self._folder(), f'{self.name}.{self.comm.rank}.{iteration}'
        os.makedirs(folder, exist_ok=True)
        self.stats.start()
        with replacing(os.path.join(folder, name)) as part, open(part, 'wb') as file:
            save_npz(file, target)
        self.stats.end()
        self.files = [*[known for known in self.files if known != name], name]
        self._remove(self.files[: -self.cp_interval])

    def finalize(self) -> None:
        """Removes all files: the training has ended well."""
        if self.path is not None:
            self._remove(list(self.files))

    def get_stats(self) -> str:
        """How long saving takes, as text."""
        return self.stats.report()

    def maybe_load(self, trainer: Any, optimizer: Any = None, path: str | None = None) -> None:
        """Loads the latest file, if there is one.

        Args:
            trainer: what was saved.
            optimizer: an optimizer of several processes, which then does not send its parameters again.
            path: the folder.
        """
        self.path = self.path or path or trainer.out
        self.files = [name for _, name in sorted(self._known_files())]
        if self.files:
            load_npz(os.path.join(self._folder(), self.files[-1]), trainer, strict='links')
            if optimizer is not None:
                optimizer.is_changed(optimizer.target)

    def _folder(self) -> str:
        if self.path is None:
            raise ValueError('checkpointer: outside of a trainer, pass path=')
        return self.path

    def _known_files(self) -> list[tuple[int, str]]:
        """Iteration and name of the files of this training."""
        if not os.path.isdir(self._folder()):
            return []
        form = re.compile(rf'{re.escape(str(self.name))}\.{self.comm.rank}\.(\d+)')
        matches = [form.fullmatch(name) for name in os.listdir(self._folder())]
        return [(int(match[1]), match[0]) for match in matches if match]

    def _remove(self, names: list[str]) -> None:
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                os.remove(os.path.join(self._folder(), name))
        self.files = [name for name in self.files if name not in names]
