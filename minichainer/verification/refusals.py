"""Exceptions of the function under test: those that an unusual call causes, and those that reach the user.

A check calls the function in ways that it may refuse: with arrays of another dtype or layout, in another thread, at
other points. An exception there says nothing about the gradients, if it comes again in the same way and not in the
usual one. Any other exception belongs to the user, in whichever call it occurs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minichainer.backends.number_arrays import NumberArray

Call = Callable[[], object]
#: Modules whose exceptions come from numbers of 50 digits.
_OF_NUMBERS = ('minichainer.backends.number_arrays', 'minichainer.backends._number_') + (
    'minichainer.verification.extended_precision',
)


class Escaped(BaseException):
    """Carries an exception of the function to the user, through code that expects refusals.

    Attributes:
        error: The exception.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


def settle(error: Exception, usual: Call, again: Call) -> None:
    """Returns if an exception is a refusal of an unusual call, which may then be left out.

    Args:
        error: The exception.
        usual: Makes the usual call.
        again: Makes the unusual call once more.

    Raises:
        Escaped: The usual call raises an exception, or the unusual one does not raise this one again.
    """
    if comes_from_numbers(error):
        return
    _require(usual)
    second = caught(again)
    if type(second) is type(error):
        return
    if second is None:
        raise Escaped(error)
    if type(caught(again)) is type(error):  # the usual answer to this call; the second came by itself
        raise Escaped(second)
    _require(usual)  # which may have begun to fail only now
    raise Escaped(error)


def _require(usual: Call) -> None:
    """Raises Escaped with the exception of the usual call, if there is one."""
    with np.errstate(all='ignore'):
        found = caught(usual)
    if found is not None and not comes_from_numbers(found):
        raise Escaped(found)


def comes_from_numbers(error: Exception) -> bool:
    """Whether numbers of 50 digits have raised an exception: what refuses them is never the user's usual call.

    A function that keeps what it gets may still hold such numbers in a later call on floats.
    """
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    name = '' if frame is None else frame.tb_frame.f_globals.get('__name__', '')
    return name.startswith(_OF_NUMBERS)


def caught(call: Call) -> Exception | None:
    """The exception that a call raises, or None."""
    try:
        call()
    except Exception as error:
        return error
    return None


def refused(what: str, arrays: Sequence[Any], error: Exception) -> str | None:
    """A note on the layout of arrays that were refused; None if they have the usual one.

    Args:
        what: Who refuses what, such as "backward does not take upstream gradients".
        arrays: The arrays, or None for missing ones.
        error: The exception.
    """
    form = next((form for form in map(_form, arrays) if form), None)
    if form is None:
        return None
    reason = str(error).strip().partition('\n')[0]
    return f'{what} {form}: {type(error).__name__}{": " * bool(reason)}{reason}'.rstrip('.') + '.'


def _form(array: Any) -> str | None:
    """An unusual layout in words; None for the usual one, and for arrays that are unusual in other ways."""
    strides = getattr(array, 'strides', None)
    if strides is None or isinstance(array, NumberArray) or array.flags.c_contiguous:
        return None
    if 0 in strides:
        return 'that are broadcast'
    if any(n < 0 for n in strides):
        return 'that run backwards through memory or must not be written to'
    return 'in Fortran order or with gaps'
