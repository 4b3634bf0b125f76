from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from minichainer.reporter import DictSummary
from minichainer.serializer import Serializer, decoded
from minichainer.training.extension import Extension
from minichainer.training.extensions._log_file import LogFile, repair
from minichainer.training.extensions._missing import warn_of_missing
from minichainer.training.util import get_trigger, names_of


class LogReport(Extension):
    """Averages reported values over intervals and writes the averages to a JSON file.

    The file contains a list of one dict per interval: the means, and ``epoch``, ``iteration`` and ``elapsed_time``
    (seconds) at its end. Each dict is appended to the file, which is a complete list between two appends; a program
    that reads it in the microsecond of one may get half of a dict and reads again. What a killed run has left
    incomplete is removed at the next start. A resumed run drops what was written after its
    snapshot. Values that a program changes in :attr:`log` are in the file at the end of the run, those of the last
    dict after the next interval.

    JSON has no NaN: the file has ``null``, which ``json.load`` gives as None and ``numpy.asarray(values, float)``
    makes NaN again. Infinities are ``1e999``, which readers take for infinite. :attr:`log` and snapshots keep the
    floats.

    Args:
        keys: Keys of the values; all when omitted. At the end of the run a warning names those that nothing was ever
            reported for.
        trigger: Trigger that ends an interval.
        postprocess: Function of the dict of an interval, called before it is kept; may change it.
        filename (str): Name of the file in the trainer's output folder, ``'log'`` if it is omitted or ``None``; it
            may contain fields like ``{epoch}`` that the dict fills in. If it ends with ``.jsonl``, the file has a
            dict on each line instead (JSON lines).
        log_name (str): Older spelling of ``filename``. ``log_name=None``: no file, as in Chainer.

    .. admonition:: Example

        >>> from minichainer.training import extensions
        >>> report = extensions.LogReport(['main/loss'], trigger=(100, 'iteration'), filename='loss.json')
        >>> report.log  # grows by a dict each 100 iterations of the trainer that it extends
        []

    """

    def __init__(
        self,
        keys: Iterable[str] | None = None,
        trigger: Any = (1, 'epoch'),
        postprocess: Callable[[dict[str, Any]], Any] | None = None,
        filename: str | None = None,
        **kwargs: Any,
    ) -> None:
        self._filename = _filename(filename, **kwargs)
        self._keys = None if keys is None else names_of(keys, 'LogReport', 'keys')
        self._trigger = get_trigger(trigger)
        self._postprocess = postprocess
        self._log: list[dict[str, Any]] = []
        self._file = LogFile()
        self._init_summary()
        self._observed: set[str] = set()

    @property
    def log(self) -> list[dict[str, Any]]:
        """The dicts of all intervals so far."""
        return self._log

    def initialize(self, trainer: Any) -> None:
        """Makes the file what the log is, or removes from its end what a killed run has left incomplete."""
        if self._filename is None:
            return
        if self._log:
            self._file.replace(self._path(trainer, self._log[-1]), self._log)
        elif '{' not in self._filename:
            repair(self._path(trainer, {}))

    def _path(self, trainer: Any, entry: dict[str, Any]) -> str:
        return os.path.join(trainer.out, str(self._filename).format(**entry))

    def __call__(self, trainer: Any) -> None:
        """Adds the values of this iteration; at the end of an interval writes them to the file."""
        observation = trainer.observation
        if self._keys is not None:
            self._observed.update(observation)
            observation = {k: observation[k] for k in self._keys if k in observation}
        self._summary.add(observation)
        if trainer.is_before_training or self._trigger(trainer):
            self._close_interval(trainer)

    def _close_interval(self, trainer: Any) -> None:
        """Adds the means of the interval to the file and to the log."""
        entry: dict[str, Any] = {name: float(value) for name, value in self._summary.compute_mean().items()}
        entry['epoch'] = trainer.updater.epoch
        entry['iteration'] = trainer.updater.iteration
        entry['elapsed_time'] = trainer.elapsed_time
        if self._postprocess is not None:
            self._postprocess(entry)
        if self._filename is not None:
            self._file.append(self._path(trainer, entry), self._log, entry)
        self._log.append(entry)
        self._init_summary()

    def _init_summary(self) -> None:
        """Begins an interval; subclasses of programs replace it."""
        self._summary = DictSummary()

    def finalize(self) -> None:
        """Makes the file what the log is, also where a program has changed it; warns of keys without a value."""
        self._file.finish(self._log)
        missing = [key for key in self._keys or () if not any(key in entry for entry in self._log)]
        warn_of_missing('LogReport', missing, self._observed)

    def serialize(self, serializer: Any) -> None:
        """Saves or restores the dicts so far and the sums of the current interval."""
        if hasattr(self._trigger, 'serialize'):
            self._trigger.serialize(serializer['_trigger'])
        try:
            self._summary.serialize(serializer['_summary'])
        except KeyError as e:  # Chainer saves none
            warnings.warn(f'LogReport: the sums of the current interval are lost ({e}).', stacklevel=2)
        if isinstance(serializer, Serializer):
            serializer('_log', json.dumps(self._log))
        else:
            self._log = decoded(serializer('_log', json.dumps(self._log)), list)


def _filename(filename: str | None, **kwargs: Any) -> str | None:
    """The file name, which may be given by its old name ``log_name``."""
    if 'log_name' in kwargs:
        given = kwargs.pop('log_name')
        filename = given if filename is None else filename
        default = None
    else:
        default = 'log'
    if kwargs:
        raise TypeError(f'LogReport: unexpected arguments {sorted(kwargs)}')
    return default if filename is None else filename
