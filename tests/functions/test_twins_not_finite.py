"""Compiled kernels and their twins have the same elements finite, whatever they are given.

Which of the infinities or NaN an element is that is not finite may differ, because sums are added in other orders
(``docs/compiled.md``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer._native import library
from minichainer.configuration import using_config
from tests.functions.checks import bound, outputs_of
from tests.functions.over_cases import over_cases
from tests.functions.row import Case, Row
from tests.functions.table import CASES

pytestmark = [
    pytest.mark.skipif(library.kernels is None, reason='without compiled kernels there are no twins'),
    pytest.mark.filterwarnings('ignore::RuntimeWarning'),
]


def _spoilt(xs: list[np.ndarray]) -> Iterator[tuple[str, list[np.ndarray], float | None]]:
    """Inputs with something in the middle of one, or large numbers; and what stands in the upstream gradient."""
    for place, x in enumerate(xs):
        for value in (np.nan, np.inf, -np.inf, float(np.finfo(x.dtype).max) ** 0.9):
            arrays = [a.copy() for a in xs]
            arrays[place].flat[x.size // 2] = value
            yield f'{value} in input {place}', arrays, None
        arrays = [a.copy() for a in xs]
        arrays[place] *= x.dtype.type(float(np.finfo(x.dtype).max) ** 0.6)
        yield f'large numbers in input {place}', arrays, None
    for value in (np.nan, np.inf):
        yield f'{value} in the upstream gradient', [a.copy() for a in xs], value


def _computed(function: Any, xs: list[np.ndarray], spoilt: float | None, native: bool) -> list[Any]:
    """Results and gradients."""
    with using_config('use_native_kernels', native), np.errstate(all='ignore'):
        np.random.seed(0)
        variables = [chainer.Variable(x) for x in xs]
        ys = [y for y in outputs_of(function(*variables)) if isinstance(y, chainer.Variable)]
        rng = np.random.RandomState(1)
        for y in ys:
            gy = np.asarray(rng.uniform(-1, 1, y.shape)).astype(y.dtype)
            if spoilt is not None and gy.size:
                gy.flat[gy.size // 2] = spoilt
            y.grad = gy
        if any(y.requires_grad for y in ys):
            chainer.backward([y for y in ys if y.requires_grad])
        return [y.array for y in ys] + [x.grad for x in variables]


def _check(function: Any, xs: list[np.ndarray]) -> None:
    for what, arrays, gy in _spoilt(xs):
        try:
            found = [_computed(function, arrays, gy, native) for native in (True, False)]
        except (ValueError, np.linalg.LinAlgError):  # a function that refuses such numbers
            continue
        for k, (native, plain) in enumerate(zip(*found, strict=True)):
            if native is not None and native.dtype.kind == 'f':
                differ = np.isfinite(native) != np.isfinite(plain)
                assert not differ.any(), f'{what}: array {k}: {native[differ][:3]} compiled, {plain[differ][:3]} not'


WITH_ELEMENTS = [(row, case) for _, row, case in CASES if row.order and not any(0 in shape for shape in case.shapes)]


@over_cases(WITH_ELEMENTS, is_later=lambda row, number: number > 2)
def test_every_row(row: Row, case: Case) -> None:
    _check(*bound(row, case, row.draw(case, 'f')))


@over_cases(WITH_ELEMENTS, is_later=lambda row, number: number > 0)
def test_every_row_in_float64(row: Row, case: Case) -> None:
    _check(*bound(row, case, row.draw(case, 'd')))


#: Sizes at which other algorithms are chosen.
LARGER: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    'depthwise': (lambda x, W: F.depthwise_convolution_2d(x, W, pad=1), [(2, 4, 8, 8), (1, 4, 3, 3)]),
    'depthwise, strided': (
        lambda x, W: F.depthwise_convolution_2d(x, W, stride=2, pad=1), [(2, 4, 8, 8), (2, 4, 3, 3)],
    ),
    'tiles of 2 x 2': (lambda x, W: F.convolution_2d(x, W, pad=1), [(2, 32, 12, 12), (32, 32, 3, 3)]),
    'convolution': (lambda x, W: F.convolution_2d(x, W, stride=2, pad=1), [(2, 16, 16, 16), (16, 16, 3, 3)]),
    '5 x 5': (lambda x, W: F.convolution_2d(x, W, pad=2), [(2, 4, 10, 10), (6, 4, 5, 5)]),
    'points': (F.convolution_2d, [(2, 16, 8, 8), (8, 16, 1, 1)]),
    'deconvolution': (lambda x, W: F.deconvolution_2d(x, W, stride=2, pad=1), [(2, 4, 6, 6), (4, 5, 4, 4)]),
    'linear': (F.linear, [(64, 300), (200, 300)]),
    'batch normalization': (F.batch_normalization, [(32, 50), (50,), (50,)]),
    'layer normalization': (F.layer_normalization, [(300, 40), (40,), (40,)]),
    'group normalization': (lambda x, g, b: F.group_normalization(x, 2, g, b), [(8, 4, 15, 15), (4,), (4,)]),
    'cumprod': (lambda x: F.cumprod(x, 0), [(60, 300)]),
    'softmax': (F.softmax, [(60, 200)]),
    'max pooling': (lambda x: F.max_pooling_2d(x, 3, 2), [(2, 3, 29, 29)]),
    'average pooling': (lambda x: F.average_pooling_2d(x, 3, 1, 1), [(2, 3, 29, 29)]),
}  # fmt: skip


@pytest.mark.parametrize('name', LARGER)
@pytest.mark.parametrize('dtype', 'fd')
def test_larger_arrays(name: str, dtype: str) -> None:
    function, shapes = LARGER[name]
    rng = np.random.RandomState(0)
    _check(function, [rng.uniform(-1, 1, shape).astype(dtype) for shape in shapes])
