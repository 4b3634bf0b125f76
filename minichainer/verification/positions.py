"""Arguments by position, which torch, older versions of it, and lucid order differently."""

from __future__ import annotations

import functools
import numbers
from collections.abc import Callable
from typing import Any, ParamSpec

Arguments = ParamSpec('Arguments')
#: Arguments by position, and by name.
_Given = tuple[tuple[Any, ...], dict[str, Any]]


def read_by_position(
    read: Callable[[tuple[Any, ...], dict[str, Any]], _Given],
) -> Callable[[Callable[Arguments, bool]], Callable[Arguments, bool]]:
    """A decorator that changes arguments by position into those of the signature.

    Args:
        read: Maps arguments and keyword arguments to those that the function takes.
    """

    def decorate(function: Callable[Arguments, bool]) -> Callable[Arguments, bool]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> bool:
            __tracebackhide__ = True
            if len(args) > _TOLERANCES_END:
                args, kwargs = read(args, kwargs)
            return function(*args, **kwargs)

        return call

    return decorate


#: Up to here, the tolerances, all orders of arguments agree: five of ``gradcheck``, six of ``gradgradcheck``.
_TOLERANCES_END = 6


def without_check_sparse_nnz(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Given:
    """Arguments of ``gradcheck`` with a number as the seventh, which is ``nondet_tol`` in torch 2."""
    seventh = args[6]
    is_number = isinstance(seventh, numbers.Real) and not isinstance(seventh, bool)
    return ((*args[:6], None, *args[6:]) if is_number else args), kwargs


def from_lucid(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Given:
    """Arguments of ``gradgradcheck`` in lucid's order, where the seventh and last is ``raise_exception``."""
    if len(args) != 7 or not _OUR_OWN.issuperset(kwargs):
        return args, kwargs
    return args, kwargs | {'raise_exception': args[6]}


_OUR_OWN = frozenset(('params', 'strictness', 'seed'))
