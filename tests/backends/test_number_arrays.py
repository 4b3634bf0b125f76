"""Arrays of numbers: NumPy's functions and methods keep the numbers, or raise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minichainer import backend
from minichainer.backends import number_arrays
from minichainer.backends.number_arrays import NumberArray
from minichainer.verification.extended_precision.arrays import numbers, rounded

A = np.array([[0.1, -2.2, 3.0], [4.0, 0.7, -1.4]])
S = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -0.2], [0.5, -0.2, 2.0]])
V = np.array([0.3, -1.2, 2.5])
MASK = A > 0

#: Functions of arrays that return floats, and their float64 arguments.
KEPT: dict[str, tuple[Any, tuple[Any, ...]]] = {
    'add': (lambda a, b: a + b, (A, V)),
    'add a float': (lambda a: 0.1 + a - 0.3, (A,)),
    'add float32': (lambda a: a + np.float32(0.1), (A,)),
    'add ints': (lambda a: a * np.arange(3), (A,)),
    'add a list': (lambda a: np.add(a, [1, 2.5, 3]), (A,)),
    'in place': (lambda a: a.copy().__iadd__(0.1), (A,)),
    'float_power': (np.float_power, (abs(A), V)),
    'maximum': (np.maximum, (A, V)),
    'clip': (lambda a: a.clip(-1, 0.5), (A,)),
    'clip below': (lambda a: np.clip(a, -1, None), (A,)),
    'fmin': (np.fmin, (A, V)),
    'where in a ufunc': (lambda a: np.add(a, 1, where=MASK, out=a.copy()), (A,)),
    'where by a method': (lambda a: np.exp(a, where=MASK, out=a.copy()), (A,)),
    'sum': (lambda a: a.sum(axis=1, keepdims=True), (A,)),
    'sum as float64': (lambda a: a.sum(dtype=a.dtype), (A,)),
    'sum of nothing': (lambda a: a[:0].sum(axis=0), (A,)),
    'sum of no elements': (lambda a: a[:0].sum(), (A,)),
    'mean': (lambda a: a.mean(axis=0), (A,)),
    'var': (lambda a: a.var(axis=1), (A,)),
    'std': (np.std, (A,)),
    'prod': (lambda a: a.prod(axis=(0, 1)), (A,)),
    'max': (lambda a: a.max(axis=1), (A,)),
    'min from': (lambda a: a.min(initial=-9.0), (A,)),
    'cumsum': (lambda a: a.cumsum(axis=1), (A,)),
    'cumprod': (np.cumprod, (A,)),
    'accumulate': (lambda a: np.maximum.accumulate(a, axis=1), (A,)),
    'outer': (np.multiply.outer, (V, V)),
    'reduceat': (lambda a: np.add.reduceat(a, [0, 1], axis=1), (A,)),
    'matmul': (lambda a, v: a @ v, (A, V)),
    'matmul of no terms': (lambda a: a[:, :0] @ a[:0], (A,)),
    'dot': (lambda a, v: a.dot(v), (A, V)),
    'dot to a number': (np.dot, (V, V)),
    'inner': (np.inner, (A, A)),
    'tensordot': (lambda a, s: np.tensordot(a, s, 1), (A, S)),
    'einsum': (lambda a, s: np.einsum('ij,jk->ik', a, s), (A, S)),
    'einsum optimized': (lambda a, s: np.einsum('ij,jk,lk->il', a, s, a, optimize=True), (A, S)),
    'trace': (lambda s: s.trace(), (S,)),
    'real part': (lambda a: a.real * 2, (A,)),
    'real part by a function': (lambda a: np.real(a) * 2, (A,)),
    'imaginary part': (lambda a: a.imag + a, (A,)),
    'imaginary part by a function': (lambda a: np.imag(a) + a, (A,)),
    'round': (lambda a: np.round(a), (A,)),
    'floor': (np.floor, (A,)),
    'sort': (lambda a: np.sort(a, axis=1), (A,)),
    'diff': (np.diff, (A,)),
    'pad': (lambda a: np.pad(a, 1), (A,)),
    'pad with': (lambda a: np.pad(a, 1, constant_values=0.1), (A,)),
    'concatenate': (lambda a: np.concatenate([a, A]), (A,)),
    'stack': (lambda a: np.stack([A, a]), (A,)),
    'where': (lambda a: np.where(MASK, a, 0.1), (A,)),
    'take': (lambda a: np.take_along_axis(a, a.argsort(axis=1), axis=1), (A,)),
    'zeros_like': (np.zeros_like, (A,)),
    'ones_like': (lambda a: np.ones_like(a, dtype=a.dtype), (A,)),
    'full_like': (lambda a: np.full_like(a, 0.1), (A,)),
    'tril': (np.tril, (S,)),
    'norm': (lambda a: np.linalg.norm(a), (A,)),
    'solve': (np.linalg.solve, (S, V)),
    'solve matrices': (lambda s, a: np.linalg.solve(s, a.T), (S, A)),
    'inv': (np.linalg.inv, (S,)),
    'inv of several': (lambda s: np.linalg.inv(np.stack([s, 2 * s])), (S,)),
    'det': (np.linalg.det, (S[[1, 0, 2]],)),
    'det of nothing': (np.linalg.det, (np.zeros((2, 0, 0)),)),
    'slogdet': (lambda s: np.linalg.slogdet(s)[1], (S,)),
    'cholesky': (np.linalg.cholesky, (S,)),
    'qr': (lambda a: np.linalg.qr(a)[1], (A,)),
    'eigh': (lambda s: np.linalg.eigh(s)[1], (S,)),
    'svd': (lambda a: np.linalg.svd(a, full_matrices=False)[2], (A,)),
    'svd of tall': (lambda a: np.linalg.svd(a.T, full_matrices=False)[0], (A,)),
    'an element': (lambda a: a[0, 1], (A,)),
    'set': (lambda a: _set(a.copy()), (A,)),
    'add.at': (lambda a: _added_at(a.copy()), (A,)),
    'copyto': (lambda a: _copied(a.copy()), (A,)),
    'astype': (lambda a: a.astype('d'), (A,)),
    'view': (lambda a: a.view('d'), (A,)),
    'bincount': (lambda v: np.bincount([0, 2, 2], weights=v), (V,)),
}


def _set(a: Any) -> Any:
    a[0] = 0.1
    a[1, 0] = a[0, 0]
    a[1, 1:] = [1, 2.5]
    return a


def _added_at(a: Any) -> Any:
    np.add.at(a, (np.array([0, 0]), np.array([1, 1])), 0.1)
    return a


def _copied(a: Any) -> Any:
    np.copyto(a, 0.3, where=MASK)
    return a


@pytest.fixture(autouse=True)
def _in_use() -> Any:
    with number_arrays.using():
        yield


@pytest.mark.parametrize('name', KEPT)
def test_numbers_are_kept(name: str) -> None:
    function, arrays = KEPT[name]
    found, expected = function(*map(numbers, arrays)), function(*arrays)
    assert isinstance(found, NumberArray) and found.shape == np.shape(expected)
    assert {type(x) for x in np.asarray(found).flat} <= {found.number}
    np.testing.assert_allclose(rounded(found), expected, 1e-14, 1e-14)


@pytest.mark.parametrize('name', KEPT)
def test_digits_are_kept(name: str) -> None:
    """A step of 1e-20 in the arguments is seen, or the result does not depend on them."""
    function, arrays = KEPT[name]
    rng = np.random.RandomState(0)
    steps = [numbers(rng.uniform(0.1, 1, a.shape)) * 1e-20 for a in arrays]
    above = function(*[numbers(a) + step for a, step in zip(arrays, steps, strict=True)])
    difference = above - function(*map(numbers, arrays))
    constant = {'floor', 'round', 'zeros_like', 'ones_like', 'full_like', 'sum of nothing', 'sum of no elements'}
    constant |= {'matmul of no terms', 'det of nothing', 'min from', 'set'}
    assert bool(abs(rounded(difference)).max(initial=0) > 1e-22) is (name not in constant)
    assert abs(rounded(difference)).max(initial=0) < 1e-17


#: Functions that do not return floats.
OTHER: dict[str, Any] = {
    'greater': lambda a: a > 0,
    'equal': lambda a: a == A,
    'isnan': np.isnan,
    'isfinite': np.isfinite,
    'signbit': np.signbit,
    'logical_not': np.logical_not,
    'logical_or': lambda a: np.logical_or(a, 0),
    'any': lambda a: (a > 3).any(axis=1),
    'all': lambda a: np.all(a, axis=0),
    'argmax': lambda a: np.argmax(a, axis=1),
    'argsort': lambda a: np.argsort(a, axis=1),
    'nonzero': lambda a: np.nonzero(a > 0)[0],
    'astype bool': lambda a: a.astype(bool),
    'whole numbers as ints': lambda a: np.floor(a).astype(int),
    'zeros of ints': lambda a: np.zeros_like(a, dtype=int),
    'ndim': np.ndim,
    'allclose': lambda a: np.allclose(a, A),
}


@pytest.mark.parametrize('name', OTHER)
def test_results_that_are_not_floats(name: str) -> None:
    found, expected = OTHER[name](numbers(A)), OTHER[name](A)
    np.testing.assert_array_equal(np.asarray(found), expected)
    assert np.asarray(found).dtype == np.asarray(expected).dtype


#: What would lose digits, or is not defined.
REFUSED: dict[str, Any] = {
    'astype float32': lambda a: a.astype('f'),
    'astype complex': lambda a: a.astype(complex),
    'astype int': lambda a: a.astype(int),
    'float': lambda a: float(a[0, 0]),
    'array of floats': lambda a: np.array(a, dtype=float),
    'asarray of floats': lambda a: np.asarray(a, dtype=float),
    'into floats': lambda a: np.zeros(a.shape).__setitem__(..., a),
    'out': lambda a: np.add(a, 1, out=np.zeros(a.shape)),
    'out by a method': lambda a: np.exp(a, out=np.zeros(a.shape)),
    'float in place': lambda a: np.zeros(a.shape).__iadd__(a),
    'add.at floats': lambda a: np.add.at(np.zeros(3), [0, 1, 2], a[0]),
    'copyto floats': lambda a: np.copyto(np.zeros(a.shape), a),
    'sum as float32': lambda a: a.sum(dtype='f'),
    'sum as longdouble': lambda a: np.sum(a, dtype=np.longdouble),
    'longdouble': lambda a: a + np.longdouble(0.1),
    'complex': lambda a: a * 1j,
    'view': lambda a: a.view('i8'),
    'fft': lambda a: np.fft.fft(a),
    'interp': lambda a: np.interp(a, [0, 1], [0, 1]),
    'eig': lambda a: np.linalg.eig(a[:, :2]),
    'full svd': lambda a: np.linalg.svd(a),
    'svd of a singular matrix': lambda a: np.linalg.svd(a[:1].T @ a[:1]),
    'modf': np.modf,
    'nextafter': lambda a: np.nextafter(a, 1),
    'bitwise': lambda a: np.bitwise_and(a, 1),
    'dtype': lambda a: setattr(a, 'dtype', np.dtype('i8')),
    'format': lambda a: f'{a[0, 0]:f}',
}


@pytest.mark.parametrize('name', REFUSED)
def test_what_would_lose_digits_raises(name: str) -> None:
    with pytest.raises((TypeError, ValueError)):
        REFUSED[name](numbers(A))


def test_nan_and_infinities() -> None:
    a = np.array([[1.0, np.nan, -np.inf], [np.inf, 0.0, 2.0]])
    for function in (lambda x: x.max(axis=1), lambda x: np.maximum(x, 1.0), lambda x: np.fmax(x, 1.0), np.isnan,
                     lambda x: np.exp(-x), lambda x: np.sqrt(abs(x)), lambda x: x * 0, np.isinf):  # fmt: skip
        with np.errstate(all='ignore'):
            expected = function(a)
        found = function(numbers(a))
        np.testing.assert_allclose(rounded(found) if isinstance(found, NumberArray) else found, expected, 1e-15)


def test_elements_that_are_floats_become_numbers_before_they_are_multiplied() -> None:
    plain = np.array([0.1, 0.3], object)
    x = plain.view(type(numbers(0.0)))
    assert type((x * x).tolist()[0]) is x.number
    assert rounded((x * x - numbers(0.1) * numbers(0.1))[0]) == 0


def test_scipys_ufuncs_call_the_methods() -> None:
    special = pytest.importorskip('scipy.special')
    np.testing.assert_allclose(rounded(special.erf(numbers(A))), special.erf(A), 1e-15)
    np.testing.assert_allclose(rounded(special.gammaln(numbers(abs(A)))), special.gammaln(abs(A)), 1e-14)


def test_the_array_module() -> None:
    x = numbers(A)
    xp = backend.get_array_module(1.0, A, x)
    assert xp is x.module is not np
    assert backend.get_array_module(A) is np
    for y in (xp.zeros((2, 2), x.dtype), xp.ones(3), xp.full((2,), 0.1), xp.array([x[0, 0], x[1, 1]]), xp.asarray(A)):
        assert isinstance(y, NumberArray)
    for y in (xp.zeros(2, int), xp.arange(3), xp.asarray([1, 2]), xp.asarray(MASK), xp.empty(2, bool)):
        assert type(y) is np.ndarray
    assert xp.pi == np.pi and xp.newaxis is None


def test_ordinary_arrays_are_not_tested_outside_of_the_context() -> None:
    number_arrays._count(-1)
    try:
        assert number_arrays.in_use == 0 and backend.get_array_module(numbers(A)) is np
    finally:
        number_arrays._count(1)


def test_parts_of_complex_numbers_are_set_as_in_numpy() -> None:
    x = numbers(A)
    x.real = V
    assert rounded(x).tolist() == [V.tolist()] * 2
    with pytest.raises(TypeError, match='imaginary'):
        x.imag = V


def test_singular_matrices() -> None:
    singular = numbers(np.ones((2, 2)))
    for function in (np.linalg.inv, lambda a: np.linalg.solve(a, a), lambda a: np.linalg.cholesky(a - 2)):
        with pytest.raises(np.linalg.LinAlgError):
            function(singular)
    assert rounded(np.linalg.det(singular)) == 0


@pytest.mark.parametrize('function', [np.linalg.eigh, np.linalg.svd])
def test_rotations_of_nan_end(function: Any) -> None:
    with pytest.raises(np.linalg.LinAlgError, match='did not converge'):
        function(numbers(np.array([[1.0, np.nan], [np.nan, 1.0]])))


@pytest.mark.parametrize('size', [3, 12])
def test_factorizations_of_hilbert_matrices_have_their_digits(size: int) -> None:
    hilbert = 1 / numbers(np.add.outer(np.arange(size), np.arange(size)) + 1.0)
    eye = numbers(np.eye(size))
    w, v = np.linalg.eigh(hilbert)
    u, s, vh = np.linalg.svd(hilbert)
    q, r = np.linalg.qr(hilbert)
    factor = np.linalg.cholesky(hilbert)
    for error in (
        np.linalg.inv(hilbert) @ hilbert - eye, v @ (w[:, None] * v.T) - hilbert, u @ (s[:, None] * vh) - hilbert,
        q @ r - hilbert, factor @ factor.T - hilbert, q.T @ q - eye, u.T @ u - eye, v.T @ v - eye,
        w.prod() / np.linalg.det(hilbert) - 1,
    ):  # fmt: skip
        assert abs(rounded(error)).max() < 1e-31
