"""``cupy.random``: a generator for each device, other numbers than NumPy's, and no way to read its state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _meter
from ._devices import current
from ._errors import unsupported
from ._ndarray import ndarray, raw, wrap
from ._surface import bind, names, signature
from ._ufuncs import NUMBERS

#: What makes NumPy's numbers those of another generator.
_OTHER = 0x5EED
_INTEGERS = frozenset(
    'binomial geometric hypergeometric logseries negative_binomial poisson randint random_integers zipf choice '
    'permutation multinomial'.split()
)
#: What computes with its parameters as they are; the others make device arrays of them.
_PLAIN = frozenset(['normal', 'lognormal', 'permutation', 'shuffle', 'choice'])
_UNNAMED = frozenset(
    ['seed', 'get_random_state', 'set_random_state', 'reset_states', 'default_rng', 'shuffle', 'bytes']
)


class RandomState:
    """A generator of the device that is current when it is made."""

    def __init__(self, seed: Any = None, method: Any = None) -> None:
        self.seed(seed)

    def seed(self, seed: Any = None) -> None:
        self._numbers = np.random.RandomState(None if seed is None else (int(seed) ^ _OTHER) % 2**32)

    def shuffle(self, a: Any) -> None:
        if not isinstance(a, ndarray):
            raise TypeError('The array must be cupy.ndarray')
        _meter.launch('random')
        self._numbers.shuffle(a._a)


def _drawing(name: str, entry: dict[str, Any]) -> Callable[..., Any]:
    known = signature(entry)

    def draw(self: RandomState, *args: Any, dtype: Any = None, **kwargs: Any) -> ndarray:
        given = kwargs if dtype is None else {**kwargs, 'dtype': dtype}
        bind(f'cupy.random.{name}', known, args, given)
        dtype = _dtype_of(name, dtype)
        values = [_parameter(name, value) for value in args]
        named = {key: _parameter(name, value) for key, value in kwargs.items()}
        _meter.launch('random')
        found = np.asarray(getattr(self._numbers, name)(*values, **named))
        return wrap(found if dtype is None else found.astype(dtype))

    draw.__name__ = name
    return draw


def _dtype_of(name: str, dtype: Any) -> np.dtype | None:
    """The dtype of the numbers; distributions of reals have two."""
    if dtype is None:
        return None
    found = np.dtype(dtype)
    if name not in _INTEGERS and found.char not in 'fd':
        raise TypeError('cupy.random only supports float32 and float64')
    return found


def _parameter(name: str, value: Any) -> Any:
    if isinstance(value, np.ndarray):
        if name in _PLAIN:
            raise unsupported(value, f'cupy.random.{name}')
        _meter.upload('random')
    elif not isinstance(value, (ndarray, list, tuple, str, type(None), *NUMBERS)):
        raise unsupported(value, f'cupy.random.{name}')
    return raw(value)


_states: dict[int, RandomState] = {}


def get_random_state() -> RandomState:
    return _states.setdefault(current(), RandomState(current()))


def set_random_state(rs: Any) -> None:
    if not isinstance(rs, RandomState):
        raise TypeError(f'Random state must be an instance of RandomState. Actual: {type(rs)}')
    _states[current()] = rs


def reset_states() -> None:
    _states.clear()


def seed(seed: Any = None) -> None:
    get_random_state().seed(seed)


def _of_current_state(name: str) -> Callable[..., Any]:
    def draw(*args: Any, **kwargs: Any) -> Any:
        return getattr(get_random_state(), name)(*args, **kwargs)

    draw.__name__ = name
    return draw


def fill(module: dict[str, Any]) -> None:
    """Gives the module its functions, and ``RandomState`` its methods."""
    for name, entry in names('cupy.random').items():
        if entry['kind'] != 'function':
            continue
        if name not in _UNNAMED and hasattr(np.random.RandomState, name):
            setattr(RandomState, name, _drawing(name, entry))
        if hasattr(RandomState, name) and name != 'seed':
            module[name] = _of_current_state(name)
    own = (RandomState, get_random_state, set_random_state, reset_states, seed)
    module.update({value.__name__: value for value in own})
