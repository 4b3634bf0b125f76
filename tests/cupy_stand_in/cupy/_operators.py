"""The operators of ``cupy.ndarray``, made of the ufuncs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._ndarray import ndarray

_BINARY = {
    'add': 'add', 'sub': 'subtract', 'mul': 'multiply', 'truediv': 'true_divide', 'floordiv': 'floor_divide',
    'mod': 'remainder', 'pow': 'power', 'and': 'bitwise_and', 'or': 'bitwise_or', 'xor': 'bitwise_xor',
    'lshift': 'left_shift', 'rshift': 'right_shift',
}  # fmt: skip
_COMPARISONS = {
    'lt': 'less', 'le': 'less_equal', 'gt': 'greater', 'ge': 'greater_equal', 'eq': 'equal', 'ne': 'not_equal',
}  # fmt: skip
_UNARY = {'neg': 'negative', 'abs': 'absolute', 'invert': 'invert'}


def _gives_way(x: Any, other: Any) -> bool:
    """Whether the other class has the say, as NumPy and CuPy decide it."""
    mine, its = getattr(x, '__array_priority__', 0), getattr(other, '__array_priority__', 0)
    return its > mine and not isinstance(other, ndarray)


def _binary(function: Any) -> tuple[Any, Any, Any]:
    def forward(self: ndarray, other: Any) -> Any:
        return NotImplemented if _gives_way(self, other) else function(self, other)

    def reverse(self: ndarray, other: Any) -> Any:
        return NotImplemented if _gives_way(self, other) else function(other, self)

    def in_place(self: ndarray, other: Any) -> Any:
        return NotImplemented if _gives_way(self, other) else function(self, other, self)

    return forward, reverse, in_place


def _comparison(function: Any) -> Any:
    def compare(self: ndarray, other: Any) -> Any:
        if isinstance(other, np.ndarray) and not other.ndim:
            other = other.item()
        if _gives_way(self, other) or other is None or isinstance(other, (str, type(Ellipsis))):
            return NotImplemented
        return function(self, other)

    return compare


def _matmul(matmul: Any) -> tuple[Any, Any]:
    def forward(self: ndarray, other: Any) -> Any:
        return NotImplemented if _gives_way(self, other) else matmul(self, other)

    def reverse(self: ndarray, other: Any) -> Any:
        return NotImplemented if _gives_way(self, other) else matmul(other, self)

    return forward, reverse


def define(functions: dict[str, Any]) -> None:
    """Gives ``ndarray`` its operators.

    Args:
        functions: those of ``cupy`` by name.
    """
    for name, function in _BINARY.items():
        for prefix, method in zip(('', 'r', 'i'), _binary(functions[function]), strict=True):
            setattr(ndarray, f'__{prefix}{name}__', method)
    for name, function in _COMPARISONS.items():
        setattr(ndarray, f'__{name}__', _comparison(functions[function]))
    for name, function in _UNARY.items():
        setattr(ndarray, f'__{name}__', lambda self, call=functions[function]: call(self))
    ndarray.__pos__ = lambda self: self.copy()
    ndarray.__matmul__, ndarray.__rmatmul__ = _matmul(functions['matmul'])
    ndarray.__divmod__ = lambda self, other: functions['divmod'](self, other)
    ndarray.__rdivmod__ = lambda self, other: functions['divmod'](other, self)
    ndarray.__hash__ = None
