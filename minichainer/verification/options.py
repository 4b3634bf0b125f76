"""Options of the checks: defaults that can be told from given values, and validation."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from typing import Any

import numpy as np


class _Default(float):
    """A default value: prints and compares as its number, but can be told from the same number given by the user."""

    __slots__ = ()


def default(value: float) -> float:
    """The default value of an argument."""
    return _Default(value)


def given(value: float | None) -> float | None:
    """The value if the user has given it, None for a default."""
    return None if value is None or isinstance(value, _Default) else float(value)


@dataclasses.dataclass
class Options:
    """The options of a check; see :func:`~minichainer.gradient_check.check_gradients`."""

    order: int = 1
    dtype: Any = None
    eps: float | None = None
    atol: float | None = None
    rtol: float | None = None
    nondet_tol: float = 0.0
    check_undefined_grad: bool = True
    check_grad_dtypes: bool = True
    full_jacobian: bool = False
    conditions: bool = True
    subgradient: bool = False
    tangent: Any = None
    max_failures: int = 64
    seed: int | None = None
    non_contiguous: bool = False
    fixed_upstream: tuple[bool, ...] = ()
    title: str = 'check_gradients'
    explains_success: bool = True

    def __post_init__(self) -> None:
        for name in ('eps', 'atol', 'rtol', 'nondet_tol'):
            value = getattr(self, name)
            if value is not None:
                _require_number(name, value, positive=name == 'eps')
        _require_count('order', self.order)
        _require_count('max_failures', self.max_failures)
        self.dtype = _float_dtype(self.dtype)
        self.eps = given(self.eps)
        self._given_atol, self._given_rtol = given(self.atol), given(self.rtol)
        if self.tangent is not None:
            _require_callables(self.tangent)
        self.seed = _seed(self.seed)

    @property
    def extra(self) -> tuple[float, float]:
        """Tolerances added to the estimated error: atol and rtol, with defaults if the step is fixed."""
        if self.eps is not None:
            return _or(self.atol, 1e-5), _or(self.rtol, 1e-3)
        return self._given_atol or 0.0, self._given_rtol or 0.0

    def shown(self) -> str:
        """The options that differ from their defaults, as arguments to paste."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name not in _HIDDEN}
        values |= {'atol': self._given_atol, 'rtol': self._given_rtol}
        defaults = {f.name: f.default for f in dataclasses.fields(self)}
        texts = [f'{k}={_argument(v)}' for k, v in values.items() if v != defaults[k] and v is not None]
        return ', '.join([*texts, f'seed={self.seed}'])


_HIDDEN = ('seed', 'conditions', 'tangent', 'title', 'fixed_upstream', 'non_contiguous', 'explains_success')


def _argument(value: Any) -> str:
    return f'{value.name!r}' if isinstance(value, np.dtype) else repr(value)


def _or(value: float | None, other: float) -> float:
    return other if value is None else float(value)


def _require_number(name: str, value: Any, positive: bool) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f'{name} must be a number, not {type(value).__name__}')
    if positive and not 0 < value < float('inf'):
        raise ValueError(f'eps, the step of the finite difference, must be positive and finite, got {value!r}')
    if not value >= 0:
        raise ValueError(f'{name} must not be negative or NaN, got {value!r}')


def _require_count(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f'{name} must be an integer, not {type(value).__name__}')
    if value < 1:
        raise ValueError(f'{name} must be at least 1, got {value}')


def _float_dtype(dtype: Any) -> Any:
    if dtype is None:
        return None
    dtype = np.dtype(dtype)
    if dtype.kind != 'f':
        raise ValueError(f'`dtype` is allowed only float type, not {dtype}')
    return dtype


def _require_callables(tangent: Any) -> None:
    for t in tangent if isinstance(tangent, (tuple, list)) else (tangent,):
        if t is not None and not callable(t):
            raise TypeError(f'tangent must be a function of a direction, or one per input, not {type(t).__name__}')


def _seed(seed: Any) -> int:
    """The given seed, or a random one."""
    if seed is None:
        return int.from_bytes(os.urandom(4), 'little')
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise TypeError(f'seed must be an integer, not {type(seed).__name__}')
    if seed < 0:
        raise ValueError(f'seed must not be negative, got {seed}')
    return int(seed)


def refuse_later_options(**options: Any) -> None:
    """Raises NotImplementedError for the first option that is set and not supported yet."""
    for name, value in options.items():
        if value:
            raise NotImplementedError(f'{name}={value!r} is not supported yet')


Projector = Callable[[Any], Any]
