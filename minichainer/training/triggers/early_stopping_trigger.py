from __future__ import annotations

import copy
import operator
import warnings
from typing import Any

from minichainer.reporter import DictSummary
from minichainer.serializer import Serializer
from minichainer.training.util import get_trigger


class EarlyStoppingTrigger:
    """Stop trigger: fires if a reported value has not improved for some checks, or at the maximum length.

    Args:
        check_trigger: When to check; the mean of the values reported since the last check is compared with
            the best.
        monitor (str): Key of the value.
        patience (int): Number of checks without improvement after which it fires; 3 when omitted.
            ``patients`` is an older spelling.
        mode (str): ``'min'``, ``'max'``, or ``'auto'``: ``'max'`` if ``monitor`` contains ``accuracy``.
        verbose (bool): Whether to print when it stops early.
        max_trigger: Trigger that ends the training in any case.

    A NaN is not an improvement.

    Raises:
        ValueError: ``mode`` is something else.

    .. admonition:: Example

        >>> from minichainer.training import triggers
        >>> stop = triggers.EarlyStoppingTrigger(
        ...     monitor='validation/main/loss', patience=5, max_trigger=(50, 'epoch'))  # Trainer(updater, stop)
        >>> stop.get_training_length()
        (50, 'epoch')

    """

    def __init__(
        self,
        check_trigger: Any = (1, 'epoch'),
        monitor: str = 'main/loss',
        patience: int | None = None,
        mode: str = 'auto',
        verbose: bool = False,
        max_trigger: Any = (100, 'epoch'),
        **kwargs: Any,
    ) -> None:
        if mode not in ('min', 'max', 'auto'):
            raise ValueError(f"EarlyStoppingTrigger: mode must be 'min', 'max' or 'auto', got {mode!r}")
        self.patience = _patience(patience, **kwargs)
        self.count = 0
        self.monitor = monitor
        self.verbose = verbose
        larger_is_better = mode == 'max' or (mode != 'min' and 'accuracy' in monitor)
        self._compare = operator.gt if larger_is_better else operator.lt
        self.best = float('-inf' if larger_is_better else 'inf')
        self._max_trigger = get_trigger(max_trigger)
        self._interval_trigger = get_trigger(check_trigger)
        self._at_end: EarlyStoppingTrigger | None = None
        self._init_summary()

    def __call__(self, trainer: Any) -> bool:
        """Returns whether the training should end.

        Args:
            trainer: the trainer, whose iteration, epoch and observation count.
        """
        observation = trainer.observation
        if self.monitor in observation:
            self._summary.add({self.monitor: observation[self.monitor]})
        self._at_end = None
        if self._max_trigger(trainer):
            self._at_end = self._after_interval(trainer)
            return True
        if not self._interval_trigger(trainer):
            return False
        if self.monitor not in observation:
            warnings.warn(
                f'EarlyStoppingTrigger: {self.monitor} is not in observation, only {sorted(observation)}',
                stacklevel=2,
            )
            return False
        self._check_interval()
        if not self._stop_condition():
            return False
        if self.verbose:
            print(f'Epoch {trainer.updater.epoch}: early stopping, best {self.monitor} is {self.best}')
        return True

    def _after_interval(self, trainer: Any) -> EarlyStoppingTrigger:
        """What a run with a later end goes on from: at its own end a trigger does not look at the interval."""
        other = copy.copy(self)
        other._interval_trigger = copy.deepcopy(self._interval_trigger)
        if other._interval_trigger(trainer) and self.monitor in trainer.observation:
            other._check_interval()
        return other

    def _stop_condition(self) -> bool:
        return bool(self.count >= self.patience)

    def _init_summary(self) -> None:
        """Begins an interval; subclasses of programs replace it."""
        self._summary = DictSummary()

    def _check_interval(self) -> None:
        self._check(float(self._summary.compute_mean()[self.monitor]))
        self._init_summary()

    def _check(self, value: float) -> None:
        if self._compare(value, self.best):
            self.best = value
            self.count = 0
        else:
            self.count += 1

    def get_training_length(self) -> tuple[float, str]:
        """Returns ``(period, unit)`` of ``max_trigger``."""
        length: tuple[float, str] = self._max_trigger.get_training_length()
        return length

    def serialize(self, serializer: Any) -> None:
        """Saves or restores the state; Chainer saves none: then it restarts with a warning.

        Args:
            serializer: a :class:`~minichainer.Serializer` to save, or a :class:`~minichainer.Deserializer` to
                restore.
        """
        if self._at_end is not None and isinstance(serializer, Serializer):
            self._at_end.serialize(serializer)
            return
        self._at_end = None
        try:
            self.count = serializer('count', self.count)
            self.best = serializer('best', self.best)
            for name in ('max_trigger', 'interval_trigger'):
                trigger = getattr(self, '_' + name)
                if hasattr(trigger, 'serialize'):
                    trigger.serialize(serializer[name])
            self._summary.serialize(serializer['summary'])
        except KeyError:
            if isinstance(serializer, Serializer):
                raise
            warnings.warn(
                'The snapshot contains no state of EarlyStoppingTrigger; it restarts counting.',
                stacklevel=2,
            )


def _patience(patience: int | None, patients: int | None = None) -> int:
    if patience is not None and patients is not None:
        raise TypeError('EarlyStoppingTrigger: patients is an alias of patience, pass only one of them')
    given = patients if patience is None else patience
    return 3 if given is None else given
