"""What stands in for names that Python and NumPy dropped, where no other function of today has the same arguments.

The last column of ``removed.py`` names these functions. Those for calls get the function that is called and one that
notes the use, and leave alone what works today. Those for methods get the object first.
"""

from __future__ import annotations

import functools
import html
import inspect
import io
import pickle
import unittest
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy

from minichainer.backend import get_array_types

negative_infinity, positive_zero, negative_zero = -numpy.inf, 0.0, -0.0
none_type = type(None)
true = lambda: True  # noqa: E731, a name of the table


def nothing(*args: Any, **kwargs: Any) -> None:
    """Does nothing."""


# --- calls ---------------------------------------------------------------------------------------------------------
def scalar_call(original: Callable[..., Any], note: Callable[[], None], *args: Any, **kwargs: Any) -> Any:
    """``int``, ``float``, functions of ``math``: arrays of one element are converted."""
    try:
        return original(*args, **kwargs)
    except TypeError:
        converted = tuple([number(value) for value in args])
        if all(new is old for new, old in zip(converted, args, strict=True)):
            raise
        result = original(*converted, **kwargs)
        note()
        return result


int_ = float_ = complex_ = scalar_call


def formatted(left: str, right: Any, note: Callable[[], None]) -> str:
    """``left % right``, with the numbers of arrays of one element."""
    try:
        return str(left % right)
    except TypeError:
        converted = tuple([number(value) for value in right]) if isinstance(right, tuple) else number(right)
        if converted is right:
            raise
        result = str(left % converted)
        note()
        return result


def number(value: Any) -> Any:
    """The number in an array of one element; any other value as it is."""
    types: Any = get_array_types()
    return value.item() if isinstance(value, types) and value.size == 1 else value


def array(original: Callable[..., Any], note: Callable[[], None], *args: Any, **kwargs: Any) -> Any:
    """``numpy.array``: rows of different lengths make an object array, and ``copy=False`` copies where it has to."""
    try:
        return original(*args, **kwargs)
    except ValueError as error:
        if 'inhomogeneous' in str(error) and len(args) < 2 and kwargs.get('dtype') is None:
            kwargs['dtype'] = object
        elif kwargs.get('copy') is False and 'avoid copy' in str(error):
            del kwargs['copy']
        else:
            raise
        result = original(*args, **kwargs)
        note()
        return result


asarray = array


def fromstring(original: Callable[..., Any], note: Callable[[], None], *args: Any, **kwargs: Any) -> Any:
    """``numpy.fromstring``, of binary data too."""
    try:
        return original(*args, **kwargs)
    except ValueError as error:
        if 'binary mode' not in str(error):
            raise
    note()
    given = {**dict(zip(('string', 'dtype', 'count', 'sep'), args, strict=False)), **kwargs}
    data, count = given['string'], given.get('count', -1)
    data = data.encode('latin1') if isinstance(data, str) else data
    return numpy.frombuffer(data, given.get('dtype', float), count).copy()


def yaml_load(original: Callable[..., Any], note: Callable[[], None], *args: Any, **kwargs: Any) -> Any:
    """``yaml.load``: without a loader, the one of PyYAML 5."""
    try:
        return original(*args, **kwargs)
    except TypeError:
        if len(args) > 1 or 'Loader' in kwargs:
            raise
    import yaml  # type: ignore[import-untyped, unused-ignore]

    note()
    return original(*args, **kwargs, Loader=yaml.FullLoader)


yaml_load_all = yaml_load


def shuffle(original: Callable[..., Any], note: Callable[[], None], x: Any, *generator: Any, **named: Any) -> None:
    """``random.shuffle(x, random)``: a function gives the random numbers."""
    try:
        original(x, *generator, **named)
        return
    except TypeError:
        if not generator and not named:
            raise
    note()
    draw = generator[0] if generator else named['random']
    for i in reversed(range(1, len(x))):
        j = int(draw() * (i + 1))
        x[i], x[j] = x[j], x[i]


def pickle_load(original: Callable[..., Any], note: Callable[[], None], file: Any, **kwargs: Any) -> Any:
    """``pickle.load``: of files that Python 2 wrote too."""
    if kwargs or not hasattr(file, 'seek'):
        return original(file, **kwargs)
    start = file.tell()
    try:
        return original(file)
    except UnicodeDecodeError:
        file.seek(start)
        result = original(file, encoding='latin1')
        note()
        return result


def pickle_loads(original: Callable[..., Any], note: Callable[[], None], data: bytes, **kwargs: Any) -> Any:
    """``pickle.loads``: of data that Python 2 wrote too."""
    return pickle_load(pickle.load, note, io.BytesIO(data), **kwargs)


def stack_arrays(original: Callable[..., Any], note: Callable[[], None], tup: Any, *args: Any, **kwargs: Any) -> Any:
    """``numpy.vstack`` and the like: of what an iterator gives."""
    if not hasattr(tup, '__next__'):
        return original(tup, *args, **kwargs)
    note()
    return original(list(tup), *args, **kwargs)


def without_encoding(original: Callable[..., Any], note: Callable[[], None], *args: Any, **kwargs: Any) -> Any:
    """Functions of ``json``: without an encoding."""
    if kwargs.pop('encoding', None) is not None:
        note()
    return original(*args, **kwargs)


def open_without_u(original: Callable[..., Any], note: Callable[[], None], *args: Any, **kwargs: Any) -> Any:
    """``open`` with the letter U in its mode."""
    mode = args[1] if len(args) > 1 else kwargs.get('mode')
    if not isinstance(mode, str) or 'U' not in mode:
        return original(*args, **kwargs)
    note()
    mode = mode.replace('U', '')
    mode = mode if set(mode) & set('rwax') else f'r{mode}'
    if len(args) > 1:
        return original(args[0], mode, *args[2:], **kwargs)
    return original(*args, **{**kwargs, 'mode': mode})


def load_with_pickles(original: Callable[..., Any], note: Callable[[], None], *args: Any, **kwargs: Any) -> Any:
    """``numpy.load``: of object arrays too, which are pickles."""
    try:
        found = original(*args, **kwargs)
    except ValueError as error:
        if 'allow_pickle=False' not in str(error) or 'allow_pickle' in kwargs or len(args) > 2:
            raise
        found = original(*args, **kwargs, allow_pickle=True)
        note()
        return found
    if 'allow_pickle' not in kwargs and len(args) < 3 and hasattr(found, 'allow_pickle'):
        found.allow_pickle = True  # an npz file, whose arrays are read later
    return found


# --- NumPy ---------------------------------------------------------------------------------------------------------
def asscalar(a: Any) -> Any:
    return a.item()


def msort(a: Any) -> Any:
    return numpy.sort(a, axis=0)


def asfarray(a: Any, dtype: Any = numpy.float64) -> Any:
    return numpy.asarray(a, dtype if numpy.issubdtype(dtype, numpy.inexact) else numpy.float64)


def transposed_copy(a: Any) -> Any:
    return numpy.asarray(a).T.copy()


def in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False) -> Any:
    return numpy.isin(numpy.ravel(ar1), ar2, assume_unique=assume_unique, invert=invert)


def random_integers(low: int, high: int | None = None, size: Any = None) -> Any:
    low, high = (1, low) if high is None else (low, high)
    return numpy.random.randint(low, high + 1, size)


def find_common_type(array_types: Any, scalar_types: Any) -> Any:
    kinds = 'biufc'
    if not array_types or not scalar_types:
        return numpy.result_type(*array_types, *scalar_types)
    of_arrays, of_scalars = numpy.result_type(*array_types), numpy.result_type(*scalar_types)
    scalars_count = kinds.find(of_scalars.kind) > kinds.find(of_arrays.kind)
    return numpy.result_type(of_arrays, of_scalars) if scalars_count else of_arrays


def obj2sctype(rep: Any, default: Any = None) -> Any:
    try:
        return numpy.dtype(rep if isinstance(rep, (type, str, numpy.dtype)) else numpy.asarray(rep).dtype).type
    except TypeError:
        return default


def sctype2char(sctype: Any) -> str:
    return str(numpy.dtype(sctype).char)


def issctype(rep: Any) -> bool:
    return isinstance(rep, (type, numpy.dtype)) and obj2sctype(rep) not in (None, numpy.object_)


def maximum_sctype(t: Any) -> Any:
    widest = {'f': numpy.longdouble, 'c': numpy.clongdouble, 'i': numpy.int64, 'u': numpy.uint64}
    return widest.get(numpy.dtype(t).kind, numpy.dtype(t).type)


sctypes = {
    'int': [numpy.int8, numpy.int16, numpy.int32, numpy.int64],
    'uint': [numpy.uint8, numpy.uint16, numpy.uint32, numpy.uint64],
    'float': [numpy.float16, numpy.float32, numpy.float64, numpy.longdouble],
    'complex': [numpy.complex64, numpy.complex128, numpy.clongdouble],
    'others': [bool, object, bytes, str, numpy.void],
}


class _PerType(dict[Any, Any]):
    """A dict by types, of what a function makes of a type."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: Any) -> Any:
        return self._make(key)


nbytes = _PerType(lambda t: numpy.dtype(t).itemsize)
cast = _PerType(lambda t: functools.partial(numpy.asarray, dtype=t))


def recfromtxt(fname: Any, **kwargs: Any) -> Any:
    kwargs.setdefault('dtype', None)
    return numpy.genfromtxt(fname, **kwargs).view(numpy.recarray)


def recfromcsv(fname: Any, **kwargs: Any) -> Any:
    return recfromtxt(fname, **{'delimiter': ',', 'names': True, 'case_sensitive': 'lower', **kwargs})


def run_module_suite(file_to_run: Any = None, argv: Any = None) -> None:
    unittest.main(argv=argv)


def _decorator(*args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    return lambda function: function


testing_decorators = SimpleNamespace(
    slow=unittest.skip('slow'),
    setastest=_decorator,
    skipif=unittest.skipIf,
    knownfailureif=_decorator,
    deprecated=_decorator,
)


def ndarray_itemset(a: Any, *args: Any) -> None:
    *index, value = args
    at = index[0] if len(index) == 1 else tuple(index)
    a.flat[at if isinstance(at, int) else numpy.ravel_multi_index(at, a.shape) if at else 0] = value


def ndarray_newbyteorder(a: Any, new_order: str = 'S') -> Any:
    return a.view(a.dtype.newbyteorder(new_order))


def ndarray_ptp(a: Any, *args: Any, **kwargs: Any) -> Any:
    return numpy.ptp(a, *args, **kwargs)


def register_cmap(name: Any = None, cmap: Any = None, *, override_builtin: bool = False) -> None:
    import matplotlib

    matplotlib.colormaps.register(cmap, name=name, force=override_builtin)


# --- Python --------------------------------------------------------------------------------------------------------
def cgi_escape(s: str, quote: bool = False) -> str:
    return html.escape(s, quote)


def linux_distribution(*args: Any, **kwargs: Any) -> tuple[str, ...]:
    import platform

    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return '', '', ''
    return release.get('NAME', ''), release.get('VERSION_ID', ''), release.get('VERSION_CODENAME', '')


def getargspec(func: Any) -> Any:
    full = inspect.getfullargspec(func)
    return _ArgSpec((full.args, full.varargs, full.varkw, full.defaults))


class _ArgSpec(tuple[Any, ...]):
    """A tuple with the names of the fields that it had."""

    args = property(lambda self: self[0])
    varargs = property(lambda self: self[1])
    keywords = property(lambda self: self[2])
    defaults = property(lambda self: self[3])


def formatargspec(args: Any, varargs: Any = None, varkw: Any = None, defaults: Any = None, *others: Any) -> str:
    first = len(args) - len(defaults or ())
    shown = [name if i < first else f'{name}={defaults[i - first]!r}' for i, name in enumerate(args)]
    return f'({", ".join([*shown, *([f"*{varargs}"] if varargs else []), *([f"**{varkw}"] if varkw else [])])})'


def string_join(words: list[str], sep: str = ' ') -> str:
    return sep.join(words)


def cmp(a: Any, b: Any) -> int:
    return int(a > b) - int(a < b)


def makeSuite(testCaseClass: Any, *args: Any, **kwargs: Any) -> Any:
    return unittest.defaultTestLoader.loadTestsFromTestCase(testCaseClass)


def has_key(d: Any, key: Any) -> bool:
    return key in d


def element_children(element: Any) -> list[Any]:
    return list(element)


def parser_unescape(parser: Any, s: str) -> str:
    return html.unescape(s)
