"""Elementary functions of compiled kernels: errors in units in the last place, on every level of this processor.

The figures are those of the table in ``docs/compiled.md``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.special

from minichainer._native import library

if library.kernels is None:
    pytest.skip(f'compiled parts: {library.state}', allow_module_level=True)

from minichainer._native import _compiled  # type: ignore[attr-defined]

PAGE = (Path(__file__).resolve().parents[2] / 'docs' / 'compiled.md').read_text(encoding='utf-8')
#: By function: what the page says of float32, float64, and of NumPy's float32 where it is used.
FIGURES = {
    name: [None if cell == '-' else float(cell) for cell in cells.split(' | ')]
    for name, cells in re.findall(
        r'^\| `(\w+)`[^|]* \| ((?:[\d.]+|-)(?: \| (?:[\d.]+|-)){2}) \|$', PAGE, re.MULTILINE
    )
}


def figure(name: str, column: str) -> float:
    """What the page says, in the column ``'f'``, ``'d'`` or ``'numpy'``."""
    found = FIGURES.get(name, [None] * 3)[['f', 'd', 'numpy'].index(column)]
    assert found, f'the table of errors in docs/compiled.md needs a figure for `{name}`, column {column}'
    return found


class Row(NamedTuple):
    """A kernel, the function that it is, and where its argument is drawn from, for float32 and float64."""

    exact: Callable[[Any], Any]
    ranges: dict[str, tuple[float, float]]
    #: Elements that are left to NumPy.
    outside: tuple[float, ...] = ()


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def log_slope(x: Any) -> Any:
    return np.sqrt(2 / np.pi) / scipy.special.erfcx(-x / np.sqrt(2))


_NOT_POSITIVE = (0, -0.0, -1, np.inf, -np.inf)
_FAR = {'f': (-87, 100), 'd': (-700, 800)}
ROWS = {
    'exp': Row(np.exp, {'f': (-105, 88.6), 'd': (-746, 709.6)}, (710, np.inf)),
    'sigmoid': Row(sigmoid, _FAR),
    'sigmoid_slope': Row(lambda x: sigmoid(-np.abs(x)) * (1 - sigmoid(-np.abs(x))), _FAR),
    'silu': Row(lambda x: x * sigmoid(x), _FAR),
    'mish': Row(lambda x: x * np.tanh(np.log1p(np.exp(np.minimum(x, 50)))), _FAR),
    'softplus': Row(lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))), _FAR),
    'elu': Row(lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))), _FAR),
    'erf': Row(scipy.special.erf, {'f': (-5, 5)}),
    'erfc': Row(scipy.special.erfc, {'f': (-5, 10)}),
    'ndtr': Row(scipy.special.ndtr, {'f': (-14, 10)}),
    'erfinv': Row(scipy.special.erfinv, {'f': (-1, 1)}),
    'erfcx': Row(scipy.special.erfcx, {'f': (-9.3, 30)}),
    'log_ndtr': Row(scipy.special.log_ndtr, {'f': (-30, 10)}),
    'ndtr_log_slope': Row(log_slope, {'f': (-30, 12)}),
    'rsqrt': Row(lambda x: 1 / np.sqrt(x), {'f': (0, 1e30), 'd': (0, 1e200)}),
    'lgamma': Row(scipy.special.gammaln, {'f': (0.001, 60)}),
    'arcsin': Row(np.arcsin, {'f': (-1, 1)}, (1 + 2**-23, -1 - 2**-23, np.inf)),
    'arccos': Row(np.arccos, {'f': (-1, 1)}, (1 + 2**-23, -1 - 2**-23, -np.inf)),
    'arctan': Row(np.arctan, {'f': (-100, 100)}),
    'tan': Row(np.tan, {'f': (-1e6, 1e6)}, (1.1e6, -1.1e6, np.inf)),
    'sinh': Row(np.sinh, {'f': (-89, 89)}, (89.5, -89.5, np.inf)),
    'cosh': Row(np.cosh, {'f': (-89, 89)}, (89.5, -89.5, -np.inf)),
    'arctanh': Row(np.arctanh, {'f': (-1 + 2**-24, 1 - 2**-24)}, (1, -1, 2, np.inf)),
    'expm1': Row(np.expm1, {'f': (-3e38, 88.6)}, (88.8, np.inf)),
    'log': Row(np.log, {'f': (1e-45, 3e38)}, _NOT_POSITIVE),
    'log1p': Row(np.log1p, {'f': (-1 + 2**-24, 3e38)}, (-1, -2, np.inf)),
    'log2': Row(np.log2, {'f': (1e-45, 3e38)}, _NOT_POSITIVE),
    'log10': Row(np.log10, {'f': (1e-45, 3e38)}, _NOT_POSITIVE),
}
#: Numbers that kernels take behind their arrays.
NUMBERS = {'softplus': (1.0,), 'elu': (1.0,)}
#: lgamma is near 0 beside 1 and 2.
SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1 - 2**-24, 1 + 2**-23, 2 - 2**-23, 2 + 2**-22]


def arguments(row: Row, dtype: str) -> np.ndarray:
    random = np.random.RandomState(0)
    low, high = row.ranges[dtype]
    tiny = 10.0 ** random.uniform(-30, 0, 20_000) * random.choice([-1, 1], 20_000)
    drawn = [random.uniform(low, high, 200_000), random.uniform(-1, 1, 50_000), tiny, SPECIAL]
    if not row.outside:
        return np.concatenate(drawn).astype(dtype)
    of_any_size = 10.0 ** random.uniform(-45, 38, 100_000) * random.choice([-1, 1], 100_000)
    x = np.concatenate([*drawn, of_any_size, random.uniform(-4, 4, 50_000), [low, high]]).astype(dtype)
    return x[((low <= x) & (x <= high)) | np.isnan(x)]


@pytest.mark.parametrize('level', _compiled.levels())
@pytest.mark.parametrize(('name', 'dtype'), [(name, dtype) for name, row in ROWS.items() for dtype in row.ranges])
def test_error_in_units_in_the_last_place(name: str, dtype: str, level: str) -> None:
    row = ROWS[name]
    x = arguments(row, dtype)
    y = np.empty_like(x)
    assert _compiled.kernels(level)[name](x, y, *NUMBERS.get(name, ()))
    with np.errstate(all='ignore'):
        exact = row.exact(x.astype('d' if dtype == 'f' else np.longdouble))
        rounded = exact.astype(dtype)
    np.testing.assert_array_equal(np.isnan(y), np.isnan(rounded))
    finite = np.isfinite(rounded)
    np.testing.assert_array_equal(y[~finite], rounded[~finite])
    error = np.abs(y[finite] - exact[finite]) / np.spacing(np.abs(rounded[finite]))
    assert error.max() <= figure(name, dtype), x[finite][error.argmax()]
    assert error.max() >= 0.65 * figure(name, dtype), 'docs/compiled.md says more than there is'


@pytest.mark.parametrize('name', [name for name, figures in FIGURES.items() if figures[2]])
def test_the_error_of_numpys_own_in_units_in_the_last_place(name: str) -> None:
    """Its vector loops, which it has on processors with AVX-512, are less precise than the C library."""
    if name == 'arctan2':
        points = pairs()
        with np.errstate(all='ignore'):
            y, exact = np.arctan2(*points), np.arctan2(*points.astype('d'))
    else:
        x = arguments(ROWS[name], 'f')
        with np.errstate(all='ignore'):
            y, exact = getattr(np, name)(x), ROWS[name].exact(x.astype('d'))
    known = np.isfinite(exact.astype('f'))
    error = np.abs(y[known] - exact[known]) / np.spacing(np.abs(exact[known]).astype('f'))
    assert error.max() <= figure(name, 'numpy')


@pytest.mark.parametrize('level', _compiled.levels())
@pytest.mark.parametrize('name', ['arcsin', 'arctan', 'tan', 'sinh', 'arctanh', 'expm1', 'log1p'])
def test_signs_of_zeros(name: str, level: str) -> None:
    x = np.array([0.0, -0.0], 'f')
    y = np.empty_like(x)
    assert _compiled.kernels(level)[name](x, y)
    assert y.tobytes() == x.tobytes()


@pytest.mark.parametrize('level', _compiled.levels())
@pytest.mark.parametrize('name', [name for name, row in ROWS.items() if row.outside])
def test_elements_for_which_numpy_may_warn_are_left_to_it(name: str, level: str) -> None:
    kernel, inside = _compiled.kernels(level)[name], 0.5
    for dtype in ROWS[name].ranges:
        for place in (0, 1023, 1024, 2999):
            x = np.full(3000, inside, dtype)
            assert kernel(x, np.empty_like(x))
            for value in ROWS[name].outside:
                x[place] = value
                assert not kernel(x, np.empty_like(x)), value


def pairs() -> np.ndarray:
    """Also points on the axes, in each quadrant, with zeros and infinities of either sign."""
    random, few = np.random.RandomState(0), np.array([*SPECIAL, 1e-45, -1e-45, 3e38, -3e38])
    drawn = 10.0 ** random.uniform(-45, 38, (2, 100_000)) * random.choice([-1, 1], (2, 100_000))
    near = random.uniform(-2, 2, (2, 100_000))
    return np.concatenate([np.array(np.meshgrid(few, few)).reshape(2, -1), drawn, near], axis=1).astype('f')


@pytest.mark.parametrize('level', _compiled.levels())
def test_error_of_angles(level: str) -> None:
    y, x = pairs()
    found = np.empty_like(x)
    assert _compiled.kernels(level)['arctan2'](y, x, found)
    exact = np.arctan2(y.astype('d'), x.astype('d'))
    np.testing.assert_array_equal(np.isnan(found), np.isnan(exact))
    known = ~np.isnan(exact)
    np.testing.assert_array_equal(np.signbit(found[known]), np.signbit(exact[known]))
    error = np.abs(found[known] - exact[known]) / np.spacing(np.abs(exact[known]).astype('f'))
    assert error.max() <= figure('arctan2', 'f'), (y[known][error.argmax()], x[known][error.argmax()])


@pytest.mark.parametrize('level', _compiled.levels())
@pytest.mark.parametrize('dtype', ['f', 'd'])
def test_error_of_gates(dtype: str, level: str) -> None:
    """A step of LSTM without a product leaves its sigmoids and its tanh."""
    x = arguments(Row(np.exp, {'f': (-104, 104), 'd': (-746, 746)}), dtype)
    product, zeros = np.tile(x, 4)[None], np.zeros((1, 4 * x.size), dtype)
    outs, values = np.zeros((6, 1, x.size), dtype), np.empty((4, 1, x.size), dtype)
    assert _compiled.kernels(level)['lstm_step'](product, zeros, zeros, *outs, values, 1, x.size)
    wide = x.astype('d' if dtype == 'f' else np.longdouble)
    with np.errstate(all='ignore'):
        exact = [np.exp(np.minimum(wide, 0)) / (1 + np.exp(-np.abs(wide)))] * 3 + [np.tanh(wide)]
    for y, e, name in zip(values[:, 0], exact, ['sigmoid'] * 3 + ['tanh'], strict=True):
        np.testing.assert_array_equal(np.isnan(y), np.isnan(x))
        known = ~np.isnan(x)
        error = np.abs(y[known] - e[known]) / np.spacing(np.abs(e[known]).astype(dtype))
        assert error.max() <= figure(name, dtype), x[known][error.argmax()]
