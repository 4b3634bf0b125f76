"""What ported programs call where the source does not show whether a call or a method still works.

Each function first does what the program said, and something else only if that fails: ``ptp(x)`` calls ``x.ptp()`` if
``x`` has this method, ``array(rows)`` is ``numpy.array(rows)`` if NumPy accepts the rows. The functions are those of
the rows of ``removed.py`` of the kinds ``call`` and ``method``. ``number(x)`` is for functions of ``math`` and for
``text % values``: it is the number in an array of one element, and else ``x`` itself.

>>> import numpy as np
>>> from minichainer.compat import restored_calls
>>> restored_calls.array([[1], [2, 3]]).dtype
dtype('O')
>>> restored_calls.ptp(np.array([1, 4])).item()
3
>>> '%.1f %s' % (restored_calls.number(np.array([[2.0]])), restored_calls.number(None))
'2.0 None'
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from minichainer.compat.removed import Removed, rows
from minichainer.compat.restored import nothing
from minichainer.compat.restored import number as number
from minichainer.compat.rewriting import Runtime, resolved, stand_in
from minichainer.compat.usage import Usage

_RUNTIME = Runtime(Usage())


def name_of(row: Removed) -> str:
    """The name of the function here for a row of dropped names; empty if there is none.

    Args:
        row: the row.
    """
    if row.kind == 'method' and row.restore and not row.restore.startswith('x.'):
        return row.last
    return row.restore if row.kind == 'call' and row.restore.isidentifier() else ''


def _method(name: str) -> Callable[..., Any]:
    def call(receiver: Any, *args: Any, **kwargs: Any) -> Any:
        return _RUNTIME.attribute(receiver, name)(*args, **kwargs)

    return call


@functools.cache
def _function(name: str) -> Callable[..., Any]:
    row = next((row for row in rows() if name_of(row) == name), None)
    if row is None:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}', name=name)
    if row.kind == 'method':
        return _method(name)
    return functools.partial(stand_in(row), resolved(row.name), nothing)


def __getattr__(name: str) -> Callable[..., Any]:
    return _function(name)
