"""Detects saved arrays that were modified between the application of a function and its backward.

NumPy's arrays have no version counter, and users' arrays are never made read-only. But who wants to write to the
array of a Variable must read ``x.array`` first. By default, two means are combined:

- Writes by the package (optimizers, ``copydata``, loaded files) are counted: ``LeafNode.guard`` has the time of the
  last one. That holds for CuPy's arrays too.
- An array that a user has read is *exposed*: a *print* of it, some of its bytes, is taken then, for functions that
  have saved it before, and again by each function that saves it later. Prints are compared before backward.

A print has all bytes of arrays with up to 64 elements, and about 64 elements, evenly spread, of larger ones. So this
misses writes to a part of a large array between these, writes through an array from which a Variable was made
(``x = Variable(a); a[0] = 1``), and writes to CuPy's arrays: comparing waits for the GPU.

With ``config.check_inplace = 'error'`` and in debug mode, functions take checksums of all bytes of everything that
they save, on either device: nothing is missed. ``benchmarks/inplace.py`` measures the cost.
"""

from __future__ import annotations

import functools
import warnings
import weakref
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy

from minichainer._checks import array_types
from minichainer._frames import user_frame
from minichainer._lifetimes import removing
from minichainer.backends import cuda
from minichainer.configuration import config
from minichainer.errors import InplaceError, InplaceWarning, describe

_ndarray = numpy.ndarray
#: Arrays up to this number of elements are compared in full; of larger ones, about as many elements.
ELEMENTS = 64


# --- prints --------------------------------------------------------------------------------------------------------
def sampled(value: Any) -> Any:
    """The default print of a saved value: one for each array of NumPy in it; None if there are none."""
    if type(value) is _ndarray:
        return value.tobytes() if value.size <= ELEMENTS else value[_places(value.shape)].tobytes()
    return tuple(map(sampled, _parts(value))) or None


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
    return tuple(map(whole, _parts(value))) or None


def _parts(value: Any) -> Sequence[Any]:
    """The elements of a container: what kernels hand on to their gradients is in tuples, named or not, and lists."""
    if isinstance(value, (tuple, list)):
        return value
    return list(value.values()) if isinstance(value, dict) else ()


def _arrays_in(value: Any) -> Iterator[Any]:
    """The arrays in a saved value, which may be an array or contain several."""
    if isinstance(value, array_types()):
        yield value
    for part in _parts(value):
        yield from _arrays_in(part)


def _changed_part(value: Any, was: Any, print_of: Callable[[Any], Any]) -> Any:
    """The array in a saved value whose print is not what it was."""
    parts = _parts(value)
    changed = [(v, p) for v, p in zip(parts, was if parts else (), strict=False) if print_of(v) != p]
    return _changed_part(*changed[0], print_of) if changed else value


#: How often the package has written to arrays of leaves, or users have read one for the first time.
clock = [0]


class Prints(NamedTuple):
    """What a function notes when it is applied: the line that applied it, the prints, and the time by the clock."""

    code: Any
    place: int
    print_of: Callable[[Any], Any]
    prints: list[Any]
    time: int


def prints_of(values: Sequence[Any], edges: Sequence[Any], places: Sequence[tuple[int, int]] | None) -> Any:
    """The prints of exposed arrays that a function saves; the time by the clock if none is; None without leaves.

    Args:
        values: what is saved.
        edges: the places of the inputs in the graph.
        places: pairs (place in ``values``, number of the input); None if any value may be an input.
    """
    if places is None:
        return _located(sampled, [sampled(value) for value in values])
    prints: Any = None
    has_leaf = False
    for place, index in places:
        edge, value = edges[index], values[place]
        if not edge.level and edge.guard.__class__ is int:
            has_leaf = True
        elif not edge.level or (exposed and _is_exposed(value)):
            prints = prints or [None] * len(values)
            prints[place] = sampled(value)
    if prints is None:
        return clock[0] if has_leaf else None
    return _located(sampled, prints)


def whole_prints_of(values: Sequence[Any]) -> Any:
    """The prints of all bytes of everything that is saved."""
    return _located(whole, [whole(value) for value in values])


def _located(print_of: Callable[[Any], Any], prints: list[Any]) -> Prints:
    frame = user_frame(4)  # this, its caller, the recorder and the op
    return Prints(frame.f_code, frame.f_lasti, print_of, prints, clock[0])


# --- writes and exposed arrays -------------------------------------------------------------------------------------
def wrote(leaf: Any) -> None:
    """Notes that the package has written to a leaf's array."""
    clock[0] += 1
    if leaf.guard.__class__ is int:
        leaf.guard = clock[0]


def unguard(leaf: Any, array: Any) -> None:
    """Notes that a user can write to a leaf's array from now on."""
    clock[0] += 1
    leaf.guard = _Exposure(array, None, clock[0])
    if type(array) is _ndarray:
        key = _key(array)
        _read[key] = leaf.guard, weakref.ref(array, removing(_read, key))


#: The arrays of leaves that users have read, by the owner of their memory: constants may be views of them.
_read: dict[int, tuple[_Exposure, Any]] = {}


def expose(array: Any) -> None:
    """Notes that a user can write to an intermediate array from now on."""
    if type(array) is not _ndarray:
        return
    owner = array if array.base is None else array.base
    if type(owner) is not _ndarray:
        return
    known = exposed.setdefault(id(owner), [])
    if not any(exposure._array() is array for exposure in known):
        known.append(_Exposure(array, owner, 0))


class _Exposure:
    """An array that a user has read, and what it was then."""

    __slots__ = ('__array_interface__', '_array', 'location', 'owner', 'print', 'time')

    def __init__(self, array: Any, owner: Any, time: int) -> None:
        key = id(owner)
        self._array = weakref.ref(array)
        if owner is not None and owner is not array:  # a view, which may be gone when what it shows is compared
            self.__array_interface__ = array.__array_interface__
        self.owner = None if owner is None else weakref.ref(owner, removing(exposed, key))
        self.print = sampled(array)
        self.time = time
        frame = user_frame()
        self.location = (frame.f_code, frame.f_lasti)

    def array(self) -> Any:
        """The array, or another view of the same memory; None if that is gone."""
        array = self._array()
        if array is None and self.owner is not None and self.owner() is not None:
            return numpy.asarray(self)
        return array

    def has_changed(self) -> bool:
        """Whether the array is not what it was."""
        array = self.array()
        return array is not None and sampled(array) != self.print


#: The exposed arrays of intermediate Variables, by the owner of their memory.
exposed: dict[int, list[_Exposure]] = {}


def _key(array: Any) -> int:
    return id(array if array.base is None else array.base)


def _is_exposed(value: Any) -> bool:
    return type(value) is _ndarray and _key(value) in exposed


# --- comparison ----------------------------------------------------------------------------------------------------
def check(node: Any, variables: bool, wanted: Any, strict: bool) -> None:
    """Warns, or raises InplaceError, if an array that a node saved was modified since.

    Args:
        node: a function whose backward is about to run.
        variables: the pass is differentiable; functions with a fast form then read other saved values.
        wanted: the nodes that need a gradient; None for all that require one.
        strict: raise an error whatever ``config.check_inplace`` is.
    """
    for number, array, where in _modified(node):
        if _is_read(node, number, array, node._reads(variables, wanted)):
            _tell(node, number, array, where, strict)
            return


def _is_read(node: Any, number: int, array: Any, read: Any) -> bool:
    """Whether a pass reads a modified array: where it is saved, or in another saved value that contains it."""
    if number in read:
        return True
    others = [other for i in read for other in _arrays_in(node.saved[i])] if type(array) is _ndarray else ()
    return any(type(other) is _ndarray and numpy.may_share_memory(array, other) for other in others)


def is_modified(node: Any) -> bool:
    """Whether a saved array was modified, of which a pass has told; unknown, and True, where nothing is noted."""
    return config.check_inplace == 'off' or any(True for _ in _modified(node))


def _modified(node: Any) -> Iterator[tuple[int, Any, str]]:
    """Saved arrays that were modified: their places, they themselves, and after what."""
    if type(node.saved) is not tuple:  # freed, or packed by a hook
        return
    noted = node._prints
    prints = noted.prints if noted.__class__ is Prints else None
    for i, value in enumerate(node.saved):
        if prints is not None and prints[i] is not None:
            if noted.print_of(value) != prints[i]:
                changed = _changed_part(value, prints[i], noted.print_of)
                yield i, changed, f'{node.label} was applied at {_text(noted.code, noted.place)}'
        elif exposed:
            for array in _arrays_in(value):
                for exposure in exposed.get(_key(array), ()) if type(array) is _ndarray else ():
                    if exposure.has_changed() and numpy.may_share_memory(exposure.array(), array):
                        yield i, array, f'it was read at {_text(*exposure.location)}'
    if noted is not None and (noted if prints is None else noted.time) != clock[0]:
        yield from _written(node, noted if prints is None else noted.time)


def _written(node: Any, time: int) -> Iterator[tuple[int, Any, str]]:
    """Saved arrays of leaves that the package has written to, or users have read and changed, since a time."""
    for place, index in node._input_places or ():
        guard: Any = getattr(node.edges[index], 'guard', None)
        if guard.__class__ is int and guard > time:
            where = f"{node.label} was applied (config.check_inplace = 'error' shows where)"
            yield place, node.saved[place], f'{where}, by an optimizer or by copying'
            continue
        value = node.saved[place]
        if guard.__class__ is int and type(value) is _ndarray and value.base is not None:
            guard = _read.get(_key(value), (None,))[0]
        if guard.__class__ is _Exposure and guard.time > time and guard.has_changed():
            yield place, value, f'it was read at {_text(*guard.location)}'


def _tell(node: Any, index: int, array: Any, where: str, strict: bool) -> None:
    text = (
        f'{node.label}: {node._saved_name(index)}, {describe(array)}, was modified in place after {where}. Backward '
        'needs its former values: the gradients are those of the present ones. Compute a new array instead '
        '(x = x + 1), or call backward before the modification'
    )
    mode = config.check_inplace
    if strict or mode == 'error' or config.debug:
        raise InplaceError(text)
    if mode != 'off':
        frame = user_frame()
        file, names = frame.f_code.co_filename, frame.f_globals
        registry = names.setdefault('__warningregistry__', {})
        warnings.warn_explicit(text, InplaceWarning, file, frame.f_lineno, names.get('__name__'), registry)


def _text(code: Any, place: int) -> str:
    """File and line of an instruction."""
    lines = [line for start, end, line in code.co_lines() if start <= place < end and line is not None]
    return f'{code.co_filename}:{lines[0] if lines else code.co_firstlineno}, in {code.co_name}'
