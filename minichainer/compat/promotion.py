"""What NumPy 2 changed about dtypes, noticed while a program runs.

A scalar of NumPy counts as an array does since then, so ``W.data = W.data * np.sqrt(2.)`` makes a parameter of
float32 one of float64: it trains twice as slowly, and is refused beside data of float32. A warning names the line.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy

from minichainer.compat.changes import Changes
from minichainer.compat.removed import by_name
from minichainer.compat.usage import Usage, caller, is_own
from minichainer.errors import DtypeWarning
from minichainer.variable import Parameter


class WideParameters(Changes):
    """Warns at lines of the program that make parameters float64; :meth:`undo` ends that."""

    def install(self) -> None:
        """Watches ``array`` and ``data`` of parameters."""
        plain: Any = Parameter.array

        def assign(param: Parameter, array: Any) -> None:
            before = getattr(param._data, 'dtype', None)
            plain.fset(param, array)
            if before is not None and getattr(param._data, 'dtype', before) != before:
                _tell(param, before)

        watched = property(plain.fget, assign, doc=plain.__doc__)
        self.set(Parameter, 'array', watched)
        self.set(Parameter, 'data', watched)


def _tell(param: Parameter, before: Any) -> None:
    file, line = caller()
    if param.dtype != numpy.float64 or before.kind != 'f' or not is_own(file):
        return
    text = (
        f'parameter {param.name} becomes float64, was {before}: since {by_name()["numpy.promotion"].since} a scalar'
    )
    advice = f'of NumPy widens arrays; write float(np.sqrt(2.)) for such a scalar, or .astype(np.{before})'
    warnings.warn_explicit(f'{text} {advice}', DtypeWarning, file, line)


def fitting(array: Any, number: Any, usage: Usage) -> Any:
    """A number as an array of unsigned integers took it before NumPy 2: a negative one wraps.

    Args:
        array: what it is assigned to.
        number: the number.
        usage: notes that it wraps.
    """
    is_unsigned = isinstance(array, numpy.ndarray) and array.dtype.kind == 'u'
    if not is_unsigned or not isinstance(number, int) or number >= 0:
        return number
    usage.note(by_name()['numpy.unsigned'], *caller())
    return number % 2 ** (8 * array.dtype.itemsize)
