"""Kernels from C++ source on NumPy arrays: what a stand-in for CuPy needs of ``cupy_stand_in/cupy/_compiled.py``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.kernels import cpp

kernels = cpp.host()
pytestmark = pytest.mark.skipif(kernels.compiler() is None, reason='no C++ compiler')

RNG = np.random.RandomState(0)
X = RNG.randn(3, 4).astype('f')
V = np.arange(4, dtype='f')
NAN = np.array([np.nan, 1, -2], 'f')


def elementwise(
    inputs: str, outputs: str, body: str, *args: Any, size: int | None = None, **kwargs: Any
) -> list[Any]:
    return kernels.Elementwise(inputs, outputs, body, 'k', **kwargs)(args, size)


# inputs, outputs, body, arguments, size, expected
ROWS: dict[str, tuple[str, str, str, tuple[Any, ...], int | None, Any]] = {
    'broadcasting': ('T x, T y', 'T z', 'z = x + y', (X, V), None, X + V),
    'a scalar': ('T x, float32 eps', 'T z', 'z = x * eps', (X, 2.0), None, X * 2),
    'a scalar of a placeholder': ('T x, T y', 'T z', 'z = x * y', (X, 0.5), None, X * np.float32(0.5)),
    'strides': ('T x', 'T z', 'z = -x', (X[::-1, ::2].T,), None, -X[::-1, ::2].T),
    'raw by position, strides': ('raw T x', 'T z', 'z = x[i]', (X.T, np.empty((4, 3), 'f')), None, X.T),
    'size': ('raw T x, raw T z', '', 'const_cast<float&>(z[i]) = x[i]', (V, np.zeros(4, 'f')), 4, None),
    'raw output': ('raw T x', 'raw T z', 'z[n_of(i)] = x[i]', (V, np.empty(4, 'f')), 4, V[::-1]),
    'size and shape of raw': (
        'raw T x',
        'int64 z',
        'z = x.size() * 10 + x.shape()[1]',
        (X, np.empty((), 'q')),
        None,
        124,
    ),
    'bool': ('T x', 'bool z', 'z = x > 0', (X,), None, X > 0),
    'bool in': ('bool x', 'float32 z', 'z = x ? 2 : 3', (X > 0,), None, np.where(X > 0, 2, 3)),
    'float16': (
        'T x',
        'T z',
        'float v = x; z = v * 3;',
        (X.astype('e'),),
        None,
        (X.astype('e').astype('f') * 3).astype('e'),
    ),
    'float16 from double': (
        'float64 x',
        'float16 z',
        'z = x',
        (X.astype('d'),),
        None,
        X.astype('d').astype('f').astype('e'),
    ),
    'int64': ('T x', 'T z', 'z = x << 33', (np.arange(3),), None, np.arange(3) << 33),
    'uint8': ('T x', 'T z', 'z = x + 250', (np.arange(9, dtype='B'),), None, np.arange(9, dtype='B') + np.uint8(250)),
    'rsqrt': ('T x', 'T z', 'z = rsqrt(x)', (V + 1,), None, 1 / np.sqrt(V + 1)),
    'expf': ('T x', 'T z', 'z = __expf(x) + expf(x)', (V,), None, 2 * np.exp(V)),
    'min of NaN': ('T x', 'T z', 'z = min(x, 0.0f)', (NAN,), None, np.fmin(NAN, 0)),
    'max of NaN': ('T x', 'T z', 'z = max(0.0f, x)', (NAN,), None, np.fmax(0, NAN)),
    'isnan': ('T x', 'bool z', 'z = isnan(x)', (NAN,), None, np.isnan(NAN)),
    'overflow to float16': (
        'T x',
        'float16 z',
        'z = x',
        (np.array([65519, 65520, 1e-8], 'f'),),
        None,
        [65504, np.inf, 0],
    ),
}


@pytest.mark.parametrize('name', ROWS)
def test_elementwise(name: str) -> None:
    inputs, outputs, body, args, size, expected = ROWS[name]
    preamble = '__device__ ptrdiff_t n_of(ptrdiff_t i) { return 3 - i; }'
    results = elementwise(inputs, outputs, body, *args, size=size, preamble=preamble)
    if name == 'size':
        results, expected = [args[1]], V
    np.testing.assert_allclose(results[0], expected, 1e-6)


def test_several_outputs_and_loop_parts() -> None:
    one, two = elementwise(
        'T x', 'T y, S z', 'y = x * k; z = x', V, np.empty(4, 'f'), np.empty(4, 'd'), loop_prep='T k = 3'
    )
    np.testing.assert_array_equal(one, V * 3)
    np.testing.assert_array_equal(two, V)


def test_output_given() -> None:
    out = np.empty((3, 4), 'f')
    assert elementwise('T x', 'T y', 'y = x', X, out)[0] is out
    np.testing.assert_array_equal(out, X)


def test_atomic_additions() -> None:
    out = np.zeros(2, 'f')
    elementwise('raw S at, T x', 'raw T y', 'atomicAdd(&y[at[i]], x)', np.array([0, 1, 0, 0]), V, out)
    np.testing.assert_array_equal(out, [5, 1])


def test_raw_arrays_by_an_index_for_each_axis() -> None:
    body = 'ptrdiff_t at[] = {_ind.get()[1], _ind.get()[0]}; z = x + y[at];'
    np.testing.assert_array_equal(elementwise('T x, raw T y', 'T z', body, X, X.T, reduce_dims=False)[0], X + X)


def test_indices_of_joined_axes() -> None:
    got = elementwise('T x', 'int32 y', 'y = _ind.get()[0]', X)[0]
    np.testing.assert_array_equal(got, np.arange(12).reshape(3, 4))
    got = elementwise('T x', 'int32 y', 'y = _ind.get()[0]', X, reduce_dims=False)[0]
    np.testing.assert_array_equal(got, np.arange(3)[:, None] + 0 * X)


@pytest.mark.parametrize(
    ('inputs', 'outputs', 'args', 'error', 'message'),
    [
        ('T x, T y', 'T z', (V, V.astype('d')), TypeError, 'Type is mismatched'),
        ('float64 x', 'float64 z', (V,), TypeError, 'Type is mismatched'),
        ('T x', 'S z', (V,), TypeError, 'does not follow'),
        ('T x', 'T z', (1.0,), TypeError, 'does not follow'),
        ('T x', 'T z', (V, V, V), TypeError, 'Wrong number'),
        ('raw T x', 'T z', (V,), ValueError, 'undecided'),
        ('T x', 'raw T z', (V,), ValueError, 'Undecided'),
        ('T x', 'T z', (X, V), ValueError, 'Out shape is mismatched'),
        ('raw T x', 'T z', (1.0,), TypeError, 'must be an array'),
        ('T x', 'T z', (V.astype('F'),), NotImplementedError, 'complex64'),
    ],
)
def test_errors_of_arguments(inputs: str, outputs: str, args: Any, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        elementwise(inputs, outputs, 'z', *args)


@pytest.mark.parametrize('params', ['T i', 'T n', 'T _x', 'const T x'])
def test_reserved_names(params: str) -> None:
    with pytest.raises(ValueError, match=r'parameter name|expected'):
        kernels.parameters(params)


def test_size_beside_arrays_that_are_not_raw() -> None:
    with pytest.raises(ValueError, match="'size' can be used only if"):
        elementwise('T x', 'T z', 'z = x', V, size=3)


def test_an_index_outside_of_a_raw_array() -> None:
    with pytest.raises(IndexError, match='kernel k: an index lies outside'):
        elementwise('raw T x', 'T z', 'z = x[i + 1]', V, np.empty(4, 'f'))


def test_an_error_is_named_by_its_line() -> None:
    with pytest.raises(kernels.CompileError, match=r'k:2.*\n.*|nonsense'):
        elementwise('T x', 'T z', 'z = x;\nz = nonsense;', V)


def test_every_float16() -> None:
    halves = np.arange(1 << 16, dtype='H').view('e')
    np.testing.assert_array_equal(elementwise('float16 x', 'float32 y', 'y = x', halves)[0], halves.astype('f'))
    with np.errstate(invalid='ignore'):
        singles = (halves.astype('f')[1:] + halves.astype('f')[:-1]) / 2  # halfway between neighbours
    np.testing.assert_array_equal(elementwise('float32 x', 'float16 y', 'y = x', singles)[0], singles.astype('e'))


# --- reductions ---
@pytest.mark.parametrize('axis', [None, 0, 1, -1, (0, 2), ()])
@pytest.mark.parametrize('keepdims', [False, True])
def test_sums(axis: Any, keepdims: bool) -> None:
    x = RNG.randn(3, 4, 5)
    norm = kernels.Reducing('T x', 'T y', 'x * x', 'a + b', 'y = sqrt(a)', '0', 'norm')
    axes = tuple(range(3)) if axis is None else axis
    np.testing.assert_allclose(norm([x], None, axis, keepdims), np.sqrt((x * x).sum(axes, keepdims=keepdims)))


def test_sum_in_another_type() -> None:
    x = np.full(5000, 1, 'e')
    mean = kernels.Reducing('T x', 'T y', 'x', 'a + b', 'y = a / 5000', '0', 'mean', reduce_type='float')
    assert mean([x], None, None, False) == 1


def test_position_along_the_reduced_axis() -> None:
    x = RNG.randn(3, 4)
    preamble = (
        'struct Best { double v; ptrdiff_t k; __device__ Best(double v = -1e9, ptrdiff_t k = 0) : v(v), k(k) {} };'
    )
    argmax = kernels.Reducing(
        'T x',
        'int64 y',
        'Best(x, _J)',
        'a.v >= b.v ? a : b',
        'y = a.k',
        '',
        'argmax',
        reduce_type='Best',
        preamble=preamble,
    )
    np.testing.assert_array_equal(argmax([x], None, 1, False), x.argmax(1))


def test_an_identity_that_changes_the_result_is_found() -> None:
    total = kernels.Reducing('T x', 'T y', 'x', 'a + b', 'y = a', '1', 'total')
    assert total([V], None, None, False) != V.sum() + 1


def test_empty_reductions() -> None:
    x = np.empty((0, 3))
    np.testing.assert_array_equal(
        kernels.Reducing('T x', 'T y', 'x', 'a + b', 'y = a', '0', 's')([x], None, 0, False), 0
    )
    with pytest.raises(ValueError, match='no identity'):
        kernels.Reducing('T x', 'T y', 'x', 'max(a, b)', 'y = a', '', 'm')([x], None, 0, False)


# --- raw kernels ---
SCALE = """
extern "C" __global__ void scale(const float* x, float* y, int count, float factor) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k < count) y[k] = factor * x[k];
}
"""


def test_a_raw_kernel() -> None:
    y = np.zeros(5, 'f')
    kernels.Threads(SCALE, 'scale')((2,), (4,), [np.arange(5, dtype='f'), y, np.int32(5), np.float32(2)])
    np.testing.assert_array_equal(y, 2 * np.arange(5))


def test_a_raw_kernel_with_shared_memory_is_refused() -> None:
    with pytest.raises(NotImplementedError, match='scale uses __shared__'):
        kernels.Threads(SCALE.replace('int k', '__shared__ float s; int k'), 'scale')


# --- for a stand-in ---
class Boxed:
    def __init__(self, array: Any) -> None:
        self.array = array


def test_classes_of_a_stand_in() -> None:
    launched: list[str] = []
    Elementwise, Reduction, Raw = kernels.classes(Boxed, lambda box: box.array, Boxed, launched.append)
    out = Boxed(np.empty(4, 'f'))
    assert Elementwise('T x', 'T y', 'y = x + 1', 'one')(Boxed(V), out) is out
    np.testing.assert_array_equal(out.array, V + 1)
    assert Reduction('T x', 'T y', 'x', 'a + b', 'y = a', '0', 'total')(Boxed(V)).array == V.sum()
    Raw(SCALE, 'scale')((1,), (4,), (Boxed(V), out, np.int32(4), np.float32(0)))
    assert not out.array.any()
    assert launched == ['one', 'total', 'scale']
    with pytest.raises(TypeError, match='Unsupported type'):
        Elementwise('T x', 'T y', 'y = x + 1', 'one')(V)
