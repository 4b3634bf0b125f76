"""Detects saved arrays that were modified between the application of a function and its backward.

NumPy's arrays have no version counter, and users' arrays are never made read-only. So a *print* of the saved arrays,
some of their bytes, is taken when a function is applied, and compared when its backward runs:

- of functions with a leaf among their inputs, because users hold the arrays of leaves;
- of all functions, while an array of an intermediate Variable is *exposed*: a user has read ``y.array``, and may
  write to it. Functions applied before are compared with the print taken when it was read.

A print has all bytes of arrays with up to 64 elements, and about 64 elements, evenly spread, of larger ones: it
misses writes to a part of a large array between these. With ``config.check_inplace = 'error'`` and in debug mode it
is a checksum of all bytes of everything saved. CuPy's arrays are compared only then, because that waits for the GPU.
``benchmarks/inplace.py`` measures the cost.
"""

from __future__ import annotations

import functools
import os
import sys
import warnings
import weakref
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy

from minichainer._checks import array_types
from minichainer.backends import cuda
from minichainer.configuration import config
from minichainer.errors import InplaceError, InplaceWarning, describe

_ndarray = numpy.ndarray
_PACKAGE = os.path.dirname(__file__) + os.sep
_getframe = sys._getframe
#: Arrays up to this number of elements are compared in full; of larger ones, about as many elements.
ELEMENTS = 64


# --- prints --------------------------------------------------------------------------------------------------------
def sampled(value: Any) -> Any:
    """The default print of a saved value; None for what is not an array of NumPy."""
    if type(value) is _ndarray:
        return value.tobytes() if value.size <= ELEMENTS else value[_places(value.shape)].tobytes()
    return tuple(map(sampled, value)) if type(value) is tuple else None


@functools.lru_cache(4096)
def _places(shape: tuple[int, ...]) -> tuple[slice, ...]:
    """Slices that select about :data:`ELEMENTS` elements, the last along each axis included."""
    rest, places = ELEMENTS, []
    for i, size in enumerate(sorted(shape)):  # short axes first: what they do not need goes to long ones
        count = max(1, min(size, round(rest ** (1 / (len(shape) - i)))))
        rest = max(1, rest // count)
        places.append((size, slice((size - 1) % -(-size // count), None, -(-size // count))))
    order = sorted(range(len(shape)), key=shape.__getitem__)
    return tuple([place for _, (_, place) in sorted(zip(order, places, strict=True), key=lambda pair: pair[0])])


def whole(value: Any) -> Any:
    """The print with ``check_inplace = 'error'``: a checksum of all bytes."""
    if isinstance(value, array_types()):
        return zlib.crc32(cuda.to_cpu(value).tobytes())
    return tuple(map(whole, value)) if type(value) is tuple else None


class Whole(tuple):  # type: ignore[type-arg]
    """Marks prints that are checksums of all bytes."""


def prints_of(values: Sequence[Any]) -> Any:
    """The prints of what a function saves, and the line that applied it."""
    frame = _getframe(3)  # not by _user_frame, because this runs for each function of leaves
    while frame.f_code.co_filename.startswith(_PACKAGE) and frame.f_back is not None:
        frame = frame.f_back
    prints = []
    for value in values:
        plain = type(value) is _ndarray and value.size <= ELEMENTS
        prints.append(value.tobytes() if plain else sampled(value))
    return frame.f_code, frame.f_lasti, prints


def _user_frame() -> Any:
    """The innermost frame outside of the package."""
    frame = _getframe(1)
    while frame.f_code.co_filename.startswith(_PACKAGE) and frame.f_back is not None:
        frame = frame.f_back
    return frame


def whole_prints_of(values: Sequence[Any]) -> Any:
    """The same, of all bytes."""
    code, place, _ = prints_of(())
    return code, place, Whole(map(whole, values))


# --- exposed arrays ------------------------------------------------------------------------------------------------
class _Exposure:
    """An array that a user has read, and what it was then."""

    __slots__ = ('array', 'location', 'owner', 'print')

    def __init__(self, array: Any, owner: Any) -> None:
        key = id(owner)
        self.array = weakref.ref(array)
        self.owner = weakref.ref(owner, lambda _: exposed.pop(key, None))
        self.print = sampled(array)
        frame = _user_frame()
        self.location = (frame.f_code, frame.f_lasti)


#: The exposed arrays by the owner of their memory.
exposed: dict[int, list[_Exposure]] = {}


def expose(array: Any) -> None:
    """Notes that a user can write to an array of the graph from now on."""
    if type(array) is not _ndarray:
        return
    owner = array if array.base is None else array.base
    if type(owner) is not _ndarray:
        return
    known = exposed.setdefault(id(owner), [])
    if not any(exposure.array() is array for exposure in known):
        known.append(_Exposure(array, owner))


def _changed_exposure(array: Any) -> Any:
    """The exposure of an array's memory that was changed since, or None."""
    if type(array) is not _ndarray:
        return None
    for exposure in exposed.get(id(array if array.base is None else array.base), ()):
        seen = exposure.array()
        if seen is not None and sampled(seen) != exposure.print and numpy.may_share_memory(seen, array):
            return exposure
    return None


# --- comparison ----------------------------------------------------------------------------------------------------
def check(node: Any, variables: bool, strict: bool) -> bool:
    """Warns, or raises InplaceError, if an array that a node saved was modified since.

    Args:
        node: a function whose backward is about to run.
        variables: the pass is differentiable; functions with a fast form then read other saved values.
        strict: raise an error whatever ``config.check_inplace`` is.

    Returns:
        Whether it was modified, and that was not an error.
    """
    for found in (_since_exposed if node.prints is None else _since_applied)(node):
        if found[0] in node.reads(variables):
            return _tell(node, *found, strict)
    return False


def _tell(node: Any, index: int, array: Any, where: str, strict: bool) -> bool:
    text = (
        f'{node.label}: {node.saved_name(index)}, {describe(array)}, was modified in place after {where}. Backward '
        'needs its former values: the gradients are those of the present ones. Compute a new array instead '
        '(x = x + 1), or call backward before the modification'
    )
    mode = config.check_inplace
    if strict or mode == 'error' or config.debug:
        raise InplaceError(text)
    if mode != 'off':
        warnings.warn(text, InplaceWarning, stacklevel=_depth_of_user())
    return True


def _since_applied(node: Any) -> Iterator[tuple[int, Any, str]]:
    """The saved arrays that differ from what they were when the function was applied."""
    code, place, before = node.prints
    print_of = whole if type(before) is Whole else sampled
    for i, (value, print_) in enumerate(zip(node.saved, before, strict=True)):
        plain = type(value) is _ndarray and value.size <= ELEMENTS and print_of is sampled
        if (value.tobytes() if plain else print_of(value)) != print_:
            if type(value) is tuple:
                value = next(v for v, known in zip(value, print_, strict=True) if print_of(v) != known)
            yield i, value, f'{node.label} was applied at {_text(code, place)}'


def _since_exposed(node: Any) -> Iterator[tuple[int, Any, str]]:
    """The saved arrays that differ from what they were when a user read them."""
    for i, value in enumerate(node.saved):
        for array in value if type(value) is tuple else (value,):
            exposure = _changed_exposure(array)
            if exposure is not None:
                yield i, array, f'it was read at {_text(*exposure.location)}'


def _text(code: Any, place: int) -> str:
    """File and line of an instruction."""
    lines = [line for start, end, line in code.co_lines() if start <= place < end and line is not None]
    return f'{code.co_filename}:{lines[0] if lines else code.co_firstlineno}, in {code.co_name}'


def _depth_of_user() -> int:
    """The ``stacklevel`` at which the caller's warning shows the user's line."""
    depth, frame = 1, _getframe(1)
    while frame.f_code.co_filename.startswith(_PACKAGE) and frame.f_back is not None:
        depth, frame = depth + 1, frame.f_back
    return depth
