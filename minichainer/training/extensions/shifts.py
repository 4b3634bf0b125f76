"""Extensions that change an attribute of an optimizer during training, usually its learning rate."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from typing import Any

import numpy

from minichainer.errors import check_numbers
from minichainer.optimizer._foreign_names import check_attribute
from minichainer.training.extension import Extension


class _Shift(Extension):
    """Sets an attribute of an optimizer to a function of the number of calls."""

    initialized_when_finished = True  # the attribute is not part of a snapshot

    def __init__(self, attr: str, init: float | None, optimizer: Any) -> None:
        self._attr = attr
        #: Set by :meth:`initialize` if not given.
        self._init: Any = init
        self._optimizer = optimizer
        self._t = 0
        self._last_value: float | None = None

    def _value(self, t: int) -> float:
        """The attribute after ``t`` calls."""
        raise NotImplementedError

    def _get_optimizer(self, trainer: Any) -> Any:
        return self._optimizer or trainer.updater.get_optimizer('main')

    def initialize(self, trainer: Any) -> None:
        """Sets the attribute to its initial value, or to its last one if the run is resumed.

        Raises:
            AttributeError: the optimizer has no such attribute, or it cannot be set; names what there is.
        """
        optimizer = self._get_optimizer(trainer)
        check_attribute(type(self).__name__, optimizer, self._attr)
        if self._init is None:
            self._init = getattr(optimizer, self._attr)
        value = self._compute_next_value() if self._last_value is None else self._last_value
        self._update_value(optimizer, value)

    def __call__(self, trainer: Any) -> None:
        """Counts the call and sets the attribute."""
        self._t += 1
        self._update_value(self._get_optimizer(trainer), self._compute_next_value())

    def _compute_next_value(self) -> float:
        return self._value(self._t)

    def _update_value(self, optimizer: Any, value: float) -> None:
        """Sets the attribute; subclasses of programs replace it."""
        setattr(optimizer, self._attr, value)
        self._last_value = value

    def serialize(self, serializer: Any) -> None:
        """Saves or restores the number of calls and the last value."""
        self._t = int(serializer('_t', self._t))
        value = serializer('_last_value', self._last_value)
        self._last_value = value.item() if isinstance(value, numpy.ndarray) else value
        if not isinstance(self._last_value, (int, float, type(None))):
            raise ValueError(f'{type(self).__name__}: expected a number, got {self._last_value!r}')


def _bounded(value: float, target: float | None, falling: bool) -> float:
    """``value``, clipped to at most ``target`` in magnitude if it rises, at least if it falls."""
    if target is None:
        return value
    return max(value, target) if (target >= 0) == falling else min(value, target)


class ExponentialShift(_Shift):
    r"""Multiplies an attribute of an optimizer by a rate at each call: :math:`v_t = v_0 r^t`.

    Args:
        attr (str): Name of the attribute, ``'lr'`` or ``'alpha'``.
        rate (float): Factor :math:`r`, not negative.
        init (float): First value :math:`v_0`; the optimizer's when omitted.
        target (float): Value where the shift stops.
        optimizer: Optimizer; the main one of the trainer when omitted.

    Raises:
        ValueError: The rate is negative.

    .. admonition:: Example

        >>> import minichainer as chainer
        >>> from minichainer.training import extensions
        >>> sgd = chainer.optimizers.SGD(1.0)
        >>> shift = extensions.ExponentialShift('lr', 0.5, target=0.2, optimizer=sgd)
        >>> shift.initialize(trainer=None)  # the trainer does this, and calls the extension
        >>> for _ in range(4):
        ...     print(sgd.lr, end=' ')
        ...     shift(trainer=None)
        1.0 0.5 0.25 0.2

    """

    def __init__(
        self,
        attr: str,
        rate: float,
        init: float | None = None,
        target: float | None = None,
        optimizer: Any = None,
    ) -> None:
        check_numbers('ExponentialShift', rate=rate)
        if rate < 0:
            raise ValueError(f'ExponentialShift: the rate must not be negative, got {rate}')
        super().__init__(attr, init, optimizer)
        self._rate = rate
        self._target = target

    def _value(self, t: int) -> float:
        return _bounded(self._init * self._rate**t, self._target, falling=self._rate <= 1)


class StepShift(_Shift):
    r"""Multiplies an attribute of an optimizer by a factor every few calls: :math:`v_t = v_0 \gamma^{\lfloor
    t/s\rfloor}`.

    Args:
        attr (str): Name of the attribute.
        gamma (float): Factor :math:`\gamma`.
        step (int): Number of calls :math:`s` between two multiplications.
        init (float): First value :math:`v_0`; the optimizer's when omitted.
        target (float): Value where the shift stops.
        optimizer: Optimizer; the main one of the trainer when omitted.

    .. admonition:: Example

        >>> import minichainer as chainer
        >>> from minichainer.training import extensions
        >>> sgd = chainer.optimizers.SGD(1.0)
        >>> shift = extensions.StepShift('lr', 0.5, 2, optimizer=sgd)
        >>> shift.initialize(trainer=None)  # the trainer does this, and calls the extension
        >>> for _ in range(4):
        ...     print(sgd.lr, end=' ')
        ...     shift(trainer=None)
        1.0 1.0 0.5 0.5

    """

    def __init__(
        self,
        attr: str,
        gamma: float,
        step: int,
        init: float | None = None,
        target: float | None = None,
        optimizer: Any = None,
    ) -> None:
        check_numbers('StepShift', gamma=gamma, step=step)
        super().__init__(attr, init, optimizer)
        self._gamma = gamma
        self._step = step
        self._target = target

    def _value(self, t: int) -> float:
        return _bounded(
            self._init * self._gamma ** math.floor(t / self._step), self._target, falling=self._gamma <= 1
        )


class MultistepShift(_Shift):
    r"""Multiplies an attribute of an optimizer by a factor at given calls.

    :math:`v_t = v_0 \gamma^k`, where :math:`k` of the steps are not larger than :math:`t`.

    Args:
        attr (str): Name of the attribute.
        gamma (float): Factor :math:`\gamma`.
        step_value: Numbers of calls at which to multiply, rising.
        init (float): First value :math:`v_0`; the optimizer's for ``None``.
        optimizer: Optimizer; the main one of the trainer when omitted.

    .. admonition:: Example

        >>> import minichainer as chainer
        >>> from minichainer.training import extensions
        >>> sgd = chainer.optimizers.SGD(1.0)
        >>> shift = extensions.MultistepShift('lr', 0.5, [1, 3], 1.0, optimizer=sgd)
        >>> shift.initialize(trainer=None)  # the trainer does this, and calls the extension
        >>> for _ in range(4):
        ...     print(sgd.lr, end=' ')
        ...     shift(trainer=None)
        1.0 0.5 0.5 0.25

    """

    def __init__(
        self, attr: str, gamma: float, step_value: Sequence[int], init: float | None, optimizer: Any = None
    ) -> None:
        check_numbers('MultistepShift', gamma=gamma)
        super().__init__(attr, init, optimizer)
        self._gamma = gamma
        self._step_value = step_value

    def _n_steps(self, t: int) -> int:
        return sum(step <= t for step in self._step_value)

    def _value(self, t: int) -> float:
        value: float = self._init * self._gamma ** self._n_steps(t)
        return value

    def serialize(self, serializer: Any) -> None:
        """Saves or restores the number of calls; also writes the number of steps, which Chainer reads."""
        self._t = int(serializer('_t', self._t))
        serializer('_current_step', self._n_steps(self._t))


class InverseShift(_Shift):
    r"""Decreases an attribute of an optimizer like a power: :math:`v_t = v_0 (1 + \gamma t)^{-p}`.

    Args:
        attr (str): Name of the attribute.
        gamma (float): :math:`\gamma`.
        power (float): :math:`p`.
        init (float): First value :math:`v_0`; the optimizer's when omitted.
        target (float): Value where the shift stops.
        optimizer: Optimizer; the main one of the trainer when omitted.

    .. admonition:: Example

        >>> import minichainer as chainer
        >>> from minichainer.training import extensions
        >>> sgd = chainer.optimizers.SGD(1.0)
        >>> shift = extensions.InverseShift('lr', 1, 1, optimizer=sgd)
        >>> shift.initialize(trainer=None)  # the trainer does this, and calls the extension
        >>> for _ in range(4):
        ...     print(sgd.lr, end=' ')
        ...     shift(trainer=None)
        1.0 0.5 0.333... 0.25

    """

    def __init__(
        self,
        attr: str,
        gamma: float,
        power: float,
        init: float | None = None,
        target: float | None = None,
        optimizer: Any = None,
    ) -> None:
        check_numbers('InverseShift', gamma=gamma, power=power)
        if gamma < 0:
            raise ValueError(f'InverseShift does not support negative gamma, got {gamma}')
        super().__init__(attr, init, optimizer)
        self._gamma = gamma
        self._power = power
        self._target = target

    def _value(self, t: int) -> float:
        value = self._init * (1 + self._gamma * t) ** -self._power
        return _bounded(value, self._target, falling=self._gamma * self._power >= 0)


class PolynomialShift(_Shift):
    r"""Decreases an attribute of an optimizer to zero like a polynomial: :math:`v_t = v_0 \max(1 - t/n, 0)^r`.

    Args:
        attr (str): Name of the attribute.
        rate (float): Exponent :math:`r`.
        max_count (int): Number of calls :math:`n` after which the value is zero.
        init (float): First value :math:`v_0`; the optimizer's when omitted.
        target (float): Value where the shift stops.
        optimizer: Optimizer; the main one of the trainer when omitted.

    .. admonition:: Example

        >>> import minichainer as chainer
        >>> from minichainer.training import extensions
        >>> sgd = chainer.optimizers.SGD(1.0)
        >>> shift = extensions.PolynomialShift('lr', 1, 4, optimizer=sgd)
        >>> shift.initialize(trainer=None)  # the trainer does this, and calls the extension
        >>> for _ in range(4):
        ...     print(sgd.lr, end=' ')
        ...     shift(trainer=None)
        1.0 0.75 0.5 0.25

    """

    #: Kept because old code reads it: the attribute has its first value before training anyway.
    invoke_before_training = True

    def __init__(
        self,
        attr: str,
        rate: float,
        max_count: int,
        init: float | None = None,
        target: float | None = None,
        optimizer: Any = None,
    ) -> None:
        check_numbers('PolynomialShift', rate=rate, max_count=max_count)
        super().__init__(attr, init, optimizer)
        self._rate = rate
        self._max_count = max_count
        self._target = target

    def _value(self, t: int) -> float:
        value = self._init * max(1 - t / self._max_count, 0.0) ** self._rate
        return _bounded(value, self._target, falling=self._rate > 0)


class WarmupShift(_Shift):
    r"""Increases (or decreases) an attribute of an optimizer linearly in the first iterations.

    Args:
        attr (str): Name of the attribute.
        warmup_start (float): First value; the optimizer's for ``None``.
        warmup_iter (int): Number of calls until ``init`` is reached.
        init (float): Value from then on.
        optimizer: Optimizer; the main one of the trainer when omitted.

    .. admonition:: Example

        >>> import minichainer as chainer
        >>> from minichainer.training import extensions
        >>> sgd = chainer.optimizers.SGD(1.0)
        >>> shift = extensions.WarmupShift('lr', 0.25, 3, 1.0, optimizer=sgd)
        >>> shift.initialize(trainer=None)  # the trainer does this, and calls the extension
        >>> for _ in range(4):
        ...     print(sgd.lr, end=' ')
        ...     shift(trainer=None)
        0.25 0.5 0.75 1.0

    """

    def __init__(
        self, attr: str, warmup_start: float | None, warmup_iter: int, init: float, optimizer: Any = None
    ) -> None:
        check_numbers('WarmupShift', warmup_iter=warmup_iter, init=init)
        super().__init__(attr, warmup_start, optimizer)
        self._warmup_iter = warmup_iter
        self._end = init

    def _value(self, t: int) -> float:
        if t >= self._warmup_iter:
            return self._end
        value: float = self._init + t * (self._end - self._init) / self._warmup_iter
        return value

    def __call__(self, trainer: Any) -> None:
        """Counts the call and sets the attribute, until the end; then it is what others make of it."""
        if self._t < self._warmup_iter:
            super().__call__(trainer)
            return
        self._t += 1
        self._last_value = getattr(self._get_optimizer(trainer), self._attr)

    def serialize(self, serializer: Any) -> None:
        """Saves or restores the number of calls and the last value, which Chainer's snapshots do not contain."""
        with contextlib.suppress(KeyError):
            super().serialize(serializer)


class LinearShift(_Shift):
    """Moves an attribute of an optimizer linearly from one value to another between two numbers of calls.

    Args:
        attr (str): Name of the attribute.
        value_range (tuple): First and last value.
        time_range (tuple): Number of calls at which the change begins, and at which it ends.
        optimizer: Optimizer; the main one of the trainer when omitted.

    .. admonition:: Example

        >>> import minichainer as chainer
        >>> from minichainer.training import extensions
        >>> sgd = chainer.optimizers.SGD(1.0)
        >>> shift = extensions.LinearShift('lr', (1.0, 0.5), (1, 3), optimizer=sgd)
        >>> shift.initialize(trainer=None)  # the trainer does this, and calls the extension
        >>> for _ in range(4):
        ...     print(sgd.lr, end=' ')
        ...     shift(trainer=None)
        1.0 1.0 0.75 0.5

    """

    def __init__(
        self, attr: str, value_range: tuple[float, float], time_range: tuple[int, int], optimizer: Any = None
    ) -> None:
        super().__init__(attr, value_range[0], optimizer)
        self._value_range = value_range
        self._time_range = time_range

    def _value(self, t: int) -> float:
        (first, last), (begin, end) = self._value_range, self._time_range
        if t <= begin:
            return first
        if t >= end:
            return last
        return first + (last - first) * (t - begin) / (end - begin)
