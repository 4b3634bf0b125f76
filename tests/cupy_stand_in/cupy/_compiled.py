"""CuPy's kernels from C++ source on NumPy arrays: the host's compiler builds the very body that a GPU would run.

:func:`classes` makes ``ElementwiseKernel``, ``ReductionKernel`` and ``RawKernel`` for a stand-in of CuPy. Libraries
are kept in the folder for temporary files, by a hash of their source. Raw arrays are read and written within their
bounds only: an index outside raises an IndexError. One thread runs after another, so that races are not found.
Missing: complex numbers, textures, shared memory and synchronization of threads, math of CUDA that
``kernel_types.h`` does not name.

This module imports nothing of the stand-in, so that tests can also use it to make sources for NVRTC.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import itertools
import math
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

HEADER = (Path(__file__).parent / 'kernel_types.h').read_text(encoding='utf-8')
FLAGS = '-O1 -std=c++14 -shared -fPIC -ffp-contract=off -w'.split()
#: How many threads share a reduction: each begins with the identity, and their results are joined.
THREADS = 4
C_TYPES = {
    '?': 'bool',
    'b': 'signed char',
    'B': 'unsigned char',
    'h': 'short',
    'H': 'unsigned short',
    'i': 'int',
    'I': 'unsigned int',
    'l': 'long long',
    'L': 'unsigned long long',
    'q': 'long long',
    'Q': 'unsigned long long',
    'e': 'float16',
    'f': 'float',
    'd': 'double',
}


# --- parameters ---------------------------------------------------------------------------------------------------
class Parameter(NamedTuple):
    """One parameter of a kernel; ``dtype`` is None if its type is the placeholder ``letter``."""

    name: str
    dtype: np.dtype[Any] | None
    letter: str
    raw: bool


def parameters(text: str) -> list[Parameter]:
    """Parses ``'T x, raw T y, float32 eps'``."""
    return [_parameter(part.split()) for part in text.split(',') if part.strip()]


def _parameter(words: list[str]) -> Parameter:
    *qualifiers, kind, name = words if len(words) > 1 else ['', *words]
    if not kind or set(qualifiers) - {'raw', '_non_atomic'}:
        raise ValueError(f"expected '[raw] type name', got {' '.join(words)!r}")
    if name in ('i', 'n') or name.startswith('_'):
        raise ValueError(f"Can not use '{name}' as a parameter name")
    return Parameter(name, None if len(kind) == 1 else np.dtype(kind), kind, 'raw' in qualifiers)


def type_name(dtype: np.dtype[Any]) -> str:
    """The C++ type of a dtype."""
    if dtype.char not in C_TYPES:
        raise NotImplementedError(f'the stand-in for CuPy has no kernels of {dtype}')
    return C_TYPES[dtype.char]


def resolved(params: Sequence[Parameter], args: Sequence[Any]) -> dict[str, np.dtype[Any]]:
    """The dtype of each placeholder, from the arrays; None among ``args`` is an output to be made."""
    found: dict[str, np.dtype[Any]] = {}
    for param, arg in zip(params, args, strict=True):
        if isinstance(arg, np.ndarray):
            expected = param.dtype or found.setdefault(param.letter, arg.dtype)
            if arg.dtype != expected:
                raise TypeError(f'Type is mismatched. {param.name} {arg.dtype} {expected}')
    for param in params:
        if param.dtype is None and param.letter not in found:
            raise TypeError(f'the type {param.letter} of {param.name} does not follow from an array')
    return found


def dtype_of(param: Parameter, found: dict[str, np.dtype[Any]]) -> np.dtype[Any]:
    return found[param.letter] if param.dtype is None else param.dtype


# --- sources ------------------------------------------------------------------------------------------------------
class Signature(NamedTuple):
    """Names, C++ types and kinds of all parameters of a kernel: kinds are scalar, raw, in, out, raw out."""

    params: tuple[tuple[str, str, str], ...]
    typedefs: tuple[tuple[str, str], ...]

    def declared(self) -> list[str]:
        """The parameters of the C++ function."""
        return [_declared(*param) for param in self.params]

    def loads(self, kinds: Sequence[str], index: str) -> str:
        """Statements that name the elements of the arrays that the loop runs over."""
        forms = {'in': 'const {1} {0}(_raw_{0}[{2}]);', 'out': '{1} &{0} = _raw_{0}[{2}];'}
        return '\n'.join(forms[kind].format(name, t, index) for name, t, kind in self.params if kind in kinds)


def _declared(name: str, t: str, kind: str) -> str:
    if kind == 'scalar':
        return f'const {t} {name}'
    prefix = {'in': 'const CArray<{}> _raw_{}', 'raw': 'const CArray<{}> {}', 'out': 'CArray<{}> _raw_{}'}
    return prefix.get(kind, 'CArray<{}> {}').format(t, name)


def signature(ins: Sequence[Parameter], outs: Sequence[Parameter], arrays: Sequence[bool], found: Any) -> Signature:
    """The signature for the dtypes ``found``; ``arrays`` tells for each input whether it is an array."""
    params = []
    for param, is_array in zip([*ins, *outs], [*arrays, *[True] * len(outs)], strict=True):
        kind = 'raw' if param.raw else '' if param in outs else 'in'
        kind = f'{kind} out'.strip() if param in outs else kind if is_array else 'scalar'
        params.append((param.name, type_name(dtype_of(param, found)), kind))
    return Signature(tuple(params), tuple((letter, type_name(dtype)) for letter, dtype in sorted(found.items())))


def elementwise_source(name: str, sig: Signature, operation: str, preamble: str, prepare: str, after: str) -> str:
    """The function around the body of an ElementwiseKernel; errors are named by the line of the body."""
    typedefs = '\n'.join(f'typedef {t} {letter};' for letter, t in sig.typedefs)
    return f"""{typedefs}
#line 1 "{name}.preamble"
{preamble}
extern "C" __global__ void {name}({', '.join([*sig.declared(), 'CIndexer _ind'])}) {{
  {prepare};
  CUPY_FOR(i, _ind.size()) {{
    _ind.set(i);
    {sig.loads(('in', 'out'), '_ind.get()')}
#line 1 "{name}"
{operation};
  }}
  {after};
}}
"""


class Reduction(NamedTuple):
    """The expressions of a ReductionKernel."""

    map_expr: str
    reduce_expr: str
    post_map_expr: str
    identity: str
    reduce_type: str
    preamble: str


def reduction_source(name: str, sig: Signature, how: Reduction) -> str:
    """The function around a ReductionKernel: some threads per result, each beginning with the identity."""
    typedefs = '\n'.join(f'typedef {t} {letter};' for letter, t in sig.typedefs)
    # Each expression stands on the line of a macro, so the line of an error in it is 1.
    return f"""{typedefs}
#line 1 "{name}.preamble"
{how.preamble}
#define REDUCE(a, b) ({how.reduce_expr})
#define POST_MAP(a) ({how.post_map_expr})
typedef {how.reduce_type} _type_reduce;
extern "C" __global__ void {name}({', '.join([*sig.declared(), 'CIndexer _in_ind', 'CIndexer _out_ind'])}) {{
  CUPY_FOR(_i, _out_ind.size()) {{
    _type_reduce _s = _type_reduce({how.identity});
    for (int _thread = 0; _thread < {THREADS}; ++_thread) {{
      _type_reduce _t = _type_reduce({how.identity});
      for (ptrdiff_t _j = _i + _thread * _out_ind.size(); _j < _in_ind.size(); _j += {THREADS} * _out_ind.size()) {{
        _in_ind.set(_j);
        ptrdiff_t _J = _j / _out_ind.size();
        {sig.loads(('in',), '_in_ind.get()')}
        _type_reduce _a = static_cast<_type_reduce>(
#line 1 "{name}"
{how.map_expr}
        );
        _t = REDUCE(_t, _a);
      }}
      _s = REDUCE(_s, _t);
    }}
    _out_ind.set(_i);
    {sig.loads(('out',), '_out_ind.get()')}
    POST_MAP(_s);
  }}
}}
"""


def on_host(name: str, types: Sequence[str], source: str) -> str:
    """The source with a door for ctypes: a function that takes an array of pointers to the arguments."""
    args = ', '.join(f'*({t}*)args[{k}]' for k, t in enumerate(types))
    return f'{HEADER}\n{source}\nextern "C" void run(void **args) {{ {name}({args}); }}\n'


# --- the host's compiler ------------------------------------------------------------------------------------------
@functools.lru_cache(None)
def compiler() -> str | None:
    """The path of a C++ compiler; None if there is none."""
    return next(filter(None, map(shutil.which, filter(None, [os.environ.get('CXX'), 'g++', 'clang++', 'c++']))), None)


class CompileError(Exception):
    """The compiler refuses a kernel; the message is its own."""


@functools.lru_cache(None)
def library(source: str) -> ctypes.CDLL:
    """The source compiled, from the folder of temporary files if it has been compiled before."""
    path = compiler()
    if path is None:
        raise NotImplementedError('kernels from C++ source need a C++ compiler: set CXX, or install g++ or clang++')
    digest = hashlib.sha256('\0'.join([path, *FLAGS, source]).encode()).hexdigest()[:32]
    user = str(os.getuid()) if hasattr(os, 'getuid') else 'user'
    folder = Path(tempfile.gettempdir()) / f'minichainer-kernels-{user}'
    folder.mkdir(mode=0o700, exist_ok=True)
    target = folder / f'{digest}.so'
    if not target.exists():
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            (Path(scratch) / 'kernel.cpp').write_text(source, encoding='utf-8')
            command = [path, *FLAGS, 'kernel.cpp', '-o', 'kernel.so']
            done = subprocess.run(command, cwd=scratch, capture_output=True, text=True, check=False)
            if done.returncode:
                raise CompileError(done.stderr)
            os.replace(Path(scratch) / 'kernel.so', target)
    return ctypes.CDLL(str(target))


class _Array(ctypes.Structure):
    _fields_ = (
        ('data', ctypes.c_void_p),
        ('size', ctypes.c_ssize_t),
        ('shape', ctypes.c_void_p),
        ('strides', ctypes.c_void_p),
        ('ndim', ctypes.c_ssize_t),
    )


class _Indexer(ctypes.Structure):
    _fields_ = (
        ('size', ctypes.c_ssize_t),
        ('ndim', ctypes.c_ssize_t),
        ('index', ctypes.c_ssize_t * 32),
        ('shape', ctypes.c_void_p),
    )


class _Call:
    """The arguments of one call in C's form; keeps them alive."""

    def __init__(self) -> None:
        self._kept: list[Any] = []
        self._pointers: list[int] = []

    def _numbers(self, values: Sequence[int]) -> int:
        self._kept.append(numbers := (ctypes.c_ssize_t * max(len(values), 1))(*values))
        return ctypes.addressof(numbers)

    def add(self, value: Any) -> None:
        self._kept.append(value)
        self._pointers.append(ctypes.addressof(value))

    def array(self, a: np.ndarray) -> None:
        self.add(_Array(a.ctypes.data, a.size, self._numbers(a.shape), self._numbers(a.strides), a.ndim))

    def indexer(self, shape: Sequence[int]) -> None:
        self.add(_Indexer(math.prod(shape), len(shape), (ctypes.c_ssize_t * 32)(), self._numbers(shape)))

    def scalar(self, value: Any, dtype: np.dtype[Any]) -> None:
        self.add((ctypes.c_char * dtype.itemsize).from_buffer_copy(np.asarray(value).astype(dtype).tobytes()))

    def run(self, name: str, source: str) -> None:
        built = library(source)
        outside = ctypes.c_int.in_dll(built, 'outside_of_array')
        outside.value = 0
        built.run((ctypes.c_void_p * len(self._pointers))(*self._pointers))
        if outside.value:
            raise IndexError(f'kernel {name}: an index lies outside of a raw array')


# --- running ------------------------------------------------------------------------------------------------------
def collapsed(shape: tuple[int, ...], arrays: Sequence[np.ndarray]) -> tuple[tuple[int, ...], list[np.ndarray]]:
    """Joins neighbouring axes that no array needs apart, as CuPy does with ``reduce_dims``."""
    axes: list[tuple[int, list[int]]] = []
    for axis, length in enumerate(shape):
        if length == 1:
            continue
        strides = [a.strides[axis] for a in arrays]
        if axes and all(before == stride * length for before, stride in zip(axes[-1][1], strides, strict=True)):
            axes[-1] = (axes[-1][0] * length, strides)
        else:
            axes.append((length, strides))
    new = tuple(length for length, _ in axes)
    strided = np.lib.stride_tricks.as_strided
    return new, [strided(a, new, [s[k] for _, s in axes], subok=False) for k, a in enumerate(arrays)]


class Elementwise:
    """The body of an ElementwiseKernel, on NumPy arrays."""

    def __init__(self, in_params: str, out_params: str, operation: str, name: str, **kwargs: Any) -> None:
        self.ins, self.outs = parameters(in_params), parameters(out_params)
        self.name, self.operation = name, operation
        self.reduce_dims = kwargs.pop('reduce_dims', True)
        self.parts = [kwargs.pop(part, '') for part in ('preamble', 'loop_prep', 'after_loop')]
        kwargs.pop('options', None)
        if kwargs.keys() - {'no_return', 'return_tuple', 'doc'}:
            raise TypeError(f'ElementwiseKernel: unexpected arguments {sorted(kwargs)}')
        self.return_tuple, self.no_return = kwargs.get('return_tuple', False), kwargs.get('no_return', False)
        if not re.fullmatch(r'[A-Za-z_]\w*', name):
            raise ValueError(f'Invalid kernel name: "{name}"')

    def source(self, arrays: Sequence[bool], found: dict[str, np.dtype[Any]]) -> tuple[Signature, str]:
        """Signature and C++ for the dtypes ``found``; ``arrays`` tells for each input whether it is an array."""
        sig = signature(self.ins, self.outs, arrays, found)
        return sig, elementwise_source(self.name, sig, self.operation, *self.parts)

    def __call__(self, args: Sequence[Any], size: int | None) -> list[np.ndarray]:
        args = _counted(self.name, self.ins, self.outs, args)
        found = resolved([*self.ins, *self.outs], args)
        params = [*self.ins, *self.outs]
        looped = [k for k, p in enumerate(params) if not p.raw and isinstance(args[k], np.ndarray)]
        shape = self._shape([args[k] for k in looped], size)
        outs = args[len(self.ins) :]
        for k, (param, out) in enumerate(zip(self.outs, outs, strict=True)):
            if out is None:
                if param.raw:
                    raise ValueError('Output array size is Undecided')
                args[len(self.ins) + k] = _unwritten(shape, dtype_of(param, found))
            elif not param.raw and out.shape != shape:
                raise ValueError(f'Out shape is mismatched: {out.shape} for {param.name}, expected {shape}')
        if math.prod(shape):
            self._run(args, found, shape)
        return args[len(self.ins) :]

    @staticmethod
    def _shape(arrays: list[np.ndarray], size: int | None) -> tuple[int, ...]:
        if size is not None:
            if arrays:
                raise ValueError("Specified 'size' can be used only if all of the ndarray are 'raw'.")
            return (size,)
        if not arrays:
            raise ValueError('Loop size is undecided.')
        return np.broadcast_shapes(*[a.shape for a in arrays])

    def _run(self, args: list[Any], found: Any, shape: tuple[int, ...]) -> None:
        params = [*self.ins, *self.outs]
        looped = [k for k, p in enumerate(params) if not p.raw and isinstance(args[k], np.ndarray)]
        views = [np.lib.stride_tricks.as_strided(args[k], shape, _broadcast(args[k], shape)) for k in looped]
        if self.reduce_dims:
            shape, views = collapsed(shape, views)
        for k, view in zip(looped, views, strict=True):
            args = [*args[:k], view, *args[k + 1 :]]
        sig, source = self.source([isinstance(a, np.ndarray) for a in args[: len(self.ins)]], found)
        call = _Call()
        _add_all(call, params, args, found)
        call.indexer(shape)
        call.run(self.name, on_host(self.name, [*_host_types(sig), 'CIndexer'], source))


def _unwritten(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """A new array; not zeros, which a kernel could rely on by mistake."""
    return np.full(shape, np.nan if dtype.kind == 'f' else 77, dtype)


def _broadcast(a: np.ndarray, shape: tuple[int, ...]) -> list[int]:
    lead = len(shape) - a.ndim
    return [0] * lead + [
        0 if length == 1 != full else stride
        for length, stride, full in zip(a.shape, a.strides, shape[lead:], strict=True)
    ]


def _counted(name: str, ins: Sequence[Parameter], outs: Sequence[Parameter], args: Sequence[Any]) -> list[Any]:
    if len(args) not in (len(ins), len(ins) + len(outs)):
        raise TypeError(
            f"Wrong number of arguments for '{name}'. It must be either {len(ins)} or {len(ins) + len(outs)} "
            f'(with outputs), but given {len(args)}.'
        )
    for param, arg in zip(ins, args, strict=False):
        if param.raw and not isinstance(arg, np.ndarray):
            raise TypeError(f'{name}: raw parameter {param.name} must be an array, got {type(arg)}')
    return [*args, *[None] * (len(ins) + len(outs) - len(args))]


def _add_all(call: _Call, params: Sequence[Parameter], args: Sequence[Any], found: Any) -> None:
    for param, arg in zip(params, args, strict=True):
        if isinstance(arg, np.ndarray):
            call.array(arg)
        else:
            call.scalar(arg, dtype_of(param, found))


def _host_types(sig: Signature) -> list[str]:
    return [t if kind == 'scalar' else f'CArray<{t}>' for _, t, kind in sig.params]


class Reducing:
    """A ReductionKernel on NumPy arrays."""

    def __init__(
        self,
        in_params: str,
        out_params: str,
        map_expr: str,
        reduce_expr: str,
        post_map_expr: str,
        identity: Any,
        name: str = 'reduce_kernel',
        reduce_type: str | None = None,
        reduce_dims: bool = True,
        preamble: str = '',
        options: tuple[str, ...] = (),
    ) -> None:
        self.ins, self.outs, self.name = parameters(in_params), parameters(out_params), name
        if len(self.outs) != 1 or self.outs[0].raw:
            raise ValueError(f'{name}: a ReductionKernel has one output, which is not raw, got {out_params!r}')
        self.expressions = map_expr, reduce_expr, post_map_expr, '' if identity is None else str(identity)
        self.reduce_type, self.preamble = reduce_type, preamble

    def source(self, arrays: Sequence[bool], found: dict[str, np.dtype[Any]]) -> tuple[Signature, str]:
        """As :meth:`Elementwise.source`."""
        sig = signature(self.ins, self.outs, arrays, found)
        reduce_type = self.reduce_type or type_name(dtype_of(self.outs[0], found))
        return sig, reduction_source(self.name, sig, Reduction(*self.expressions, reduce_type, self.preamble))

    def __call__(self, args: Sequence[Any], out: Any, axis: Any, keepdims: bool) -> np.ndarray:
        args = _counted(self.name, self.ins, self.outs, [*args, *([] if out is None else [out])])
        out = args.pop()
        if out is None and self.outs[0].dtype is None and not any(p.letter == self.outs[0].letter for p in self.ins):
            raise TypeError(f'{self.name}: the type of {self.outs[0].name} does not follow from the inputs')
        found = resolved([*self.ins, *self.outs], [*args, out])
        looped = [k for k, p in enumerate(self.ins) if not p.raw and isinstance(args[k], np.ndarray)]
        if not looped:
            raise ValueError('Loop size is undecided.')
        shape = np.broadcast_shapes(*[args[k].shape for k in looped])
        axes = _axes(axis, len(shape))
        rest = [k for k in range(len(shape)) if k not in axes]
        for k in looped:
            args[k] = np.broadcast_to(args[k], shape).transpose([*axes, *rest])
        result = tuple(1 if k in axes else length for k, length in enumerate(shape) if keepdims or k not in axes)
        if out is None:
            out = _unwritten(result, dtype_of(self.outs[0], found))
        elif out.shape != result:
            raise ValueError(f'Output shape is mismatched: {out.shape} for {self.name}, expected {result}')
        if out.size:
            self._run(args, out, found, [shape[k] for k in axes], [shape[k] for k in rest])
        return out

    def _run(self, args: list[Any], out: np.ndarray, found: Any, reduced: list[int], rest: list[int]) -> None:
        if not self.expressions[3] and not math.prod(reduced):
            raise ValueError(f'zero-size array to reduction operation {self.name} which has no identity')
        sig, source = self.source([isinstance(a, np.ndarray) for a in args], found)
        call = _Call()
        target = out.reshape(rest)
        _add_all(call, [*self.ins, *self.outs], [*args, target], found)
        call.indexer([*reduced, *rest])
        call.indexer(rest)
        call.run(self.name, on_host(self.name, [*_host_types(sig), 'CIndexer', 'CIndexer'], source))
        if not np.shares_memory(target, out):
            out[...] = target.reshape(out.shape)


def _axes(axis: Any, ndim: int) -> list[int]:
    if axis is None:
        return list(range(ndim))
    axes = [axis] if isinstance(axis, int) else list(axis)
    if any(not -ndim <= k < ndim for k in axes) or len({k % ndim for k in axes}) < len(axes):
        raise np.exceptions.AxisError(f'axes {axis} do not fit an array of {ndim} axes')
    return sorted(k % ndim for k in axes)


class Threads:
    """A RawKernel on NumPy arrays: its threads run one after another."""

    REFUSED = ('__shared__', '__syncthreads', '__shfl', 'cooperative_groups', '__syncwarp')

    def __init__(self, code: str, name: str, *args: Any, **kwargs: Any) -> None:
        used = [word for word in self.REFUSED if word in code]
        if used:
            raise NotImplementedError(f'the stand-in for CuPy runs threads one by one: {name} uses {used[0]}')
        found = re.search(rf'\b{name}\s*\(([^)]*)\)\s*\{{', code)
        if found is None:
            raise ValueError(f'no function {name} in the source of the kernel')
        self.name, self.code = name, code
        self.types = [re.sub(r'\w+\s*$', '', part).replace('__restrict__', '') for part in found[1].split(',')]

    def __call__(self, grid: Sequence[int], block: Sequence[int], args: Sequence[Any]) -> None:
        if len(args) != len(self.types):
            raise TypeError(f'{self.name} takes {len(self.types)} arguments, got {len(args)}')
        call = _Call()
        for arg in args:
            if isinstance(arg, np.ndarray):
                call.add(ctypes.c_void_p(arg.ctypes.data))
            else:
                call.scalar(arg, np.asarray(arg).dtype)
        for count in itertools.chain(_three(grid), _three(block)):
            call.add(ctypes.c_uint(count))
        call.run(self.name, self._source())

    def _source(self) -> str:
        k = len(self.types)
        numbers = ', '.join(f'*(unsigned int*)args[{k + at}]' for at in range(6))
        args = ', '.join(f'*({t}*)args[{at}]' for at, t in enumerate(self.types))
        loops = '\n'.join(
            f'for ({one}.{x} = 0; {one}.{x} < {all_}.{x}; ++{one}.{x})'
            for one, all_ in (('blockIdx', 'gridDim'), ('threadIdx', 'blockDim'))
            for x in 'zyx'
        )
        fill = f'unsigned int c[] = {{{numbers}}}; gridDim = {{c[0], c[1], c[2]}}; blockDim = {{c[3], c[4], c[5]}};'
        call = f'{self.name}({args});'
        return f'{HEADER}\n{self.code}\nextern "C" void run(void **args) {{ {fill}\n{loops}\n{call} }}\n'


def _three(sizes: Sequence[int]) -> list[int]:
    return [*sizes, 1, 1, 1][:3]


# --- for a stand-in -----------------------------------------------------------------------------------------------
def classes(
    ndarray: type,
    host: Callable[[Any], np.ndarray],
    device: Callable[[np.ndarray], Any],
    launched: Callable[[str], None],
) -> tuple[type, type, type]:
    """``ElementwiseKernel``, ``ReductionKernel`` and ``RawKernel`` for a stand-in of CuPy.

    Args:
        ndarray: its class of arrays.
        host: the NumPy array of one; must refuse arrays of another than the current device.
        device: an array on the current device around a NumPy array.
        launched: called with the name of each kernel that is launched.
    """

    def lowered(args: Sequence[Any]) -> list[Any]:
        for arg in args:
            if not isinstance(arg, (ndarray, bool, int, float, np.generic)):
                raise TypeError(f'Unsupported type {type(arg)}')
        return [host(arg) if isinstance(arg, ndarray) else arg for arg in args]

    def raised(args: Sequence[Any], given: Sequence[Any], results: Sequence[np.ndarray]) -> list[Any]:
        kept = {id(low): arg for low, arg in zip(given, args, strict=True)}
        return [kept[id(r)] if id(r) in kept else device(r) for r in results]

    class ElementwiseKernel:
        def __init__(self, in_params: str, out_params: str, operation: str, name: str = 'kernel', **kwargs: Any):
            self.name = name
            self.kernel = Elementwise(in_params, out_params, operation, name, **kwargs)

        def __call__(self, *args: Any, size: int | None = None, stream: Any = None, block_size: int = 128) -> Any:
            given = lowered(args)
            computed = self.kernel(given, size)
            if size != 0 and any(r.size for r in computed):
                launched(self.name)
            results = raised(args, given, computed)
            if self.kernel.no_return:
                return None
            return results[0] if len(results) == 1 and not self.kernel.return_tuple else tuple(results)

    class ReductionKernel:
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self.kernel = Reducing(*args, **kwargs)
            self.name = self.kernel.name

        def __call__(
            self, *args: Any, out: Any = None, axis: Any = None, keepdims: bool = False, stream: Any = None
        ) -> Any:
            args = args if out is None else (*args, out)
            given = lowered(args)
            result = self.kernel(given, None, axis, keepdims)
            launched(self.name)
            return raised(args, given, [result])[0]

    class RawKernel:
        def __init__(self, code: str, name: str, *args: Any, **kwargs: Any) -> None:
            self.name = name
            self.kernel = Threads(code, name, *args, **kwargs)

        def __call__(self, grid: Sequence[int], block: Sequence[int], args: Sequence[Any], **kwargs: Any) -> None:
            self.kernel(grid, block, lowered(args))
            launched(self.name)

    return ElementwiseKernel, ReductionKernel, RawKernel
