"""Rows of kernels that act element by element: their plain forms, and the sizes where they change their method."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.special

from minichainer.backends.cuda import get_array_module
from minichainer.kernels import tails
from tests.kernels import comparing
from tests.kernels.comparing import Case
from tests.kernels.kernels import kernel, threshold

SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 1e-30, -1e-30]


@dataclass
class Row(comparing.Row):
    """A kernel and its plain form, both functions of the array module's arrays and what comes with them."""

    call: Callable[..., Any] = field(kw_only=False)
    plain: Callable[..., Any] = field(kw_only=False)
    #: Numbers of elements from which on the kernel has another method.
    sizes: tuple[int, ...] = ()
    arrays: int = 1
    dtypes: str = 'fd'
    low: float = -3
    high: float = 3
    special: tuple[float, ...] = tuple(SPECIAL)
    #: Whether it takes arrays without axes: what is for large arrays only need not.
    scalars: bool = True

    def cases(self) -> Iterator[Case]:
        """No axis, no elements, few, and both sides of each size in each layout."""
        for dtype in self.dtypes:
            for shape in [
                *[()] * self.scalars,
                (0,),
                (0, 3),
                (1,),
                (5,),
                *[(n,) for t in self.sizes for n in (t - 1, t)],
            ]:
                yield Case(f'{dtype} {shape}', self._drawn(shape, dtype), dtype, ('C',))
            for size in (24, *self.sizes):
                drawn = self._drawn((4, size // 3), dtype)
                yield Case(f'{dtype} {size}', drawn, dtype)
                repeated = tuple(np.broadcast_to(x[:1], x.shape) for x in drawn)
                yield Case(f'{dtype} {size}, one row repeated', repeated, dtype, ('C',))

    def _drawn(self, shape: tuple[int, ...], dtype: str) -> tuple[Any, ...]:
        found = []
        for seed in range(self.arrays):
            random = np.random.RandomState(seed)
            x = np.asarray(random.uniform(self.low, self.high, shape)).astype(dtype)
            special = np.array(self.special).astype(dtype)
            if x.size > 2 * len(special):
                x.reshape(-1)[: len(special)] = special
                x.reshape(-1)[x.size - len(special) :] = random.permutation(special)
            found.append(x)
        return tuple(found)


def _like(value: float, x: Any) -> Any:
    return get_array_module(x).asarray(value, x.dtype)


def _seeded(call: Callable[..., Any]) -> Callable[..., Any]:
    def seeded(*args: Any) -> Any:
        np.random.seed(5)
        return call(*args)

    return seeded


def _sigmoid(x: Any) -> Any:
    return scipy.special.expit(x)


def _gelu(x: Any, form: str) -> Any:
    x = x.astype('d')
    if form == 'tanh':
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return x * scipy.special.ndtr(x)


def _gelu_slope(x: Any, form: str) -> Any:
    x = x.astype('d')
    if form == 'none':
        return scipy.special.ndtr(x) + x * np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
    t = np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * x * x)


def _tail_ratio(x: Any, n: int) -> Any:
    """By the integrals themselves, of the moments of a normal variable above -x."""
    nodes, weights = np.polynomial.legendre.leggauss(200)
    x = x[..., None]
    t = (nodes + 1) * (np.maximum(x, 0) + 12) / 2
    # I_n(x) is the integral of t^n exp(-(t - x)^2 / 2) over positive t, but for a factor that cancels.
    integrals = [(weights * t**k * np.exp(-((t - x) ** 2) / 2)).sum(-1) for k in (n, n - 1)]
    return integrals[0] / integrals[1]


def _log_slope(x: Any) -> Any:
    return np.sqrt(2 / np.pi) / scipy.special.erfcx(-x / np.sqrt(2))


def _erfcx_gradient(gy: Any, x: Any) -> Any:
    return gy * (2 * x * scipy.special.erfcx(x) - 2 / np.sqrt(np.pi))


def _gelu_rows(form: str) -> dict[str, Row]:
    def gradient(k: Any, gy: Any, x: Any) -> Any:
        return k(gy, x, kernel('gelu.gelu')(x, form), form)

    sizes, special = (threshold('gelu', '_BLOCK'),), (np.nan, 0.0, 1.0, -1.0, 12.0, -12.0, 1e4, -1e4, 1e15, -1e15)
    return {
        f'gelu.gelu, {form}': Row(
            lambda k, x: k(x, form),
            lambda x: _gelu(x, form),
            sizes,
            special=(*special, np.inf, 3e38),
            relative_to='one',
        ),
        f'gelu.gelu_gradient, {form}': Row(
            gradient,
            lambda gy, x: gy * _gelu_slope(x, form),
            sizes,
            2,
            special=special,
            tolerance=32,
            relative_to='one',
        ),
    }


def _transcendental_rows() -> dict[str, Row]:
    """On both sides of the compiled tape's limit, and of the number of elements that are tested together."""
    tape, near = threshold('transcendental', '_MANY'), (np.nan, 0.0, -0.0, 0.5, 1e-30)
    ranges = {
        **{name: (-1, 1, _WHOLE) for name in ('arcsin', 'arccos')},
        **{name: (-8, 8, _WHOLE) for name in ('tan', 'sinh', 'cosh', 'expm1')},
        **{name: (0.001, 9, (np.nan, 0.5, 1.0, 1e-3, 1e3)) for name in ('log', 'log2', 'log10')},
        'arctan': (-8, 8, SPECIAL), 'arctanh': (-1, 1, near), 'exp': (-9, 9, (*_WHOLE, -np.inf)),
        'log1p': (-0.9, 9, near),
    }  # fmt: skip
    inside = {
        f'transcendental.{name}': Row(
            lambda k, x: k(x), getattr(np, name), (tape if name in ('exp', 'log') else 1025,), dtypes='efd', low=low,
            high=high, special=tuple(special), relative_to='each' if name in ('arctan', 'exp') else 'one',
        )
        for name, (low, high, special) in ranges.items()
    }  # fmt: skip
    outside = {
        f'{name}, outside': replace(row, dtypes='fd', sizes=(), special=(*SPECIAL, 2.0, -2.0), known={})
        for name, row in inside.items()
    }
    return {**inside, **outside}


def _divisors(y: Any, value: float) -> Any:
    """The array with a value in place of 0."""
    return np.where(y == 0, _like(value, y), y)


def _blended(p: Any, x: Any, y: Any) -> Any:
    return p * x + (1 - p) * y


def _labels(t: Any) -> Any:
    return (t > 0).astype(t.dtype)


def _weights(w: Any) -> Any:
    """Positive ones, and 0 where there is something negative or NaN."""
    xp = get_array_module(w)
    return xp.where(w > 0, xp.minimum(w, 8), xp.zeros((), w.dtype))


_MANY = threshold('gates', '_MANY')
_ANGLES = threshold('angles', '_MANY')
_SMALL = threshold('rectifier', '_SMALL')
_BLOCKS = 2 * threshold('blocks', '_BLOCK')
_ERF = (threshold('error_functions', '_MANY'), _BLOCKS)
_BOUNDS = threshold('bounds', '_MANY')
_SELECTED = threshold('selection', '_MANY')
_WHOLE = tuple(value for value in SPECIAL if not np.isinf(value))

ROWS = {
    'rectifier.relu': Row(
        lambda k, x: k(x), lambda x: np.maximum(x, _like(0, x)), (_SMALL,), dtypes='efd', tolerance=0
    ),
    # A factor, of bools or of numbers.
    'rectifier.relu_gradient': Row(
        lambda k, gy, y: k(gy, abs(y)),
        lambda gy, y: gy * (y != 0).astype(y.dtype),
        (_SMALL,),
        2,
        'efd',
        tolerance=0,
    ),
    'rectifier.step': Row(
        lambda k, y: k(abs(y)) * _like(1, y),
        lambda y: np.where(y != 0, _like(1, y), _like(0, y)),
        (_SMALL,),
        dtypes='efd',
        tolerance=0,
    ),
    **{
        f'rectifier.leaky_relu, {slope}': Row(
            lambda k, x, slope=slope: k(x, slope),
            lambda x, slope=slope: np.where(x > 0, x, _like(slope, x) * x),
            (_SMALL,),
            dtypes='efd',
            tolerance=0,
        )
        for slope in (0, 0.2, 1)
    },
    'rectifier.leaky_factor': Row(
        lambda k, x: k(x, 0.2),
        lambda x: np.where(x > 0, _like(1, x), _like(0.2, x)),
        (_SMALL,),
        dtypes='efd',
        tolerance=0,
    ),
    **{
        f'rectifier.leaky_factor, {slope}': Row(
            lambda k, x, slope=slope: k(x, slope),
            lambda x, slope=slope: np.where(x > 0, _like(1, x), _like(slope, x)),
            (_SMALL,),
            dtypes='efd',
            tolerance=0,
        )
        for slope in (0, 1, -0.5, 1.5)
    },
    'bounds.above': Row(
        lambda k, x: k(x, _like(-0.5, x)), lambda x: np.maximum(x, -0.5), (_BOUNDS,), dtypes='efd', tolerance=0
    ),
    'bounds.below': Row(
        lambda k, x: k(x, _like(0.5, x)), lambda x: np.minimum(x, 0.5), (_BOUNDS,), dtypes='efd', tolerance=0
    ),
    'bounds.between': Row(
        lambda k, x: k(x, _like(-0.5, x), _like(0.5, x)),
        lambda x: np.minimum(np.maximum(x, -0.5), 0.5),
        (_BOUNDS,),
        dtypes='efd',
        tolerance=0,
        signed_zeros=True,
    ),
    'bounds.above_zero': Row(
        lambda k, x: k(x) * _like(1, x),
        lambda x: np.where(x <= 0, _like(0, x), _like(1, x)),
        dtypes='efd',
        tolerance=0,
    ),
    'bounds.below_zero': Row(
        lambda k, x: k(x) * _like(1, x),
        lambda x: np.where(x >= 0, _like(0, x), _like(1, x)),
        dtypes='efd',
        tolerance=0,
    ),
    'bounds.inside': Row(
        lambda k, x: k(x, -1, 0.5) * _like(1, x),
        lambda x: np.where((x <= -1) | (x >= 0.5), _like(0, x), _like(1, x)),
        dtypes='efd',
        tolerance=0,
    ),
    'bounds.attains': Row(
        lambda k, x: k(x, x.clip(-1, 0.5)) * _like(1, x),
        lambda x: np.where((x < -1) | (x > 0.5), _like(0, x), _like(1, x)),
        dtypes='efd',
        tolerance=0,
    ),
    'running.absorbing_product': Row(
        lambda k, x, y: k(x, y),
        lambda x, y: np.where((x == 0) & (abs(y) == np.inf) | (y == 0) & (abs(x) == np.inf), _like(0, x), x * y),
        (),
        2,
        'efd',
        tolerance=0,
    ),
    'bounds.fmod': Row(
        lambda k, x, y: k(x, y), np.fmod, (_BOUNDS, _BLOCKS), 2, 'efd', tolerance=0, signed_zeros=True
    ),
    'rectifier.leaky_gradient': Row(
        lambda k, gy, x: k(gy, x, 0.2),
        lambda gy, x: gy * np.where(x > 0, _like(1, x), _like(0.2, x)),
        (_SMALL,),
        2,
        'efd',
        tolerance=0,
    ),
    'rectifier.clipped_relu': Row(
        lambda k, x: k(x, 0.7),
        lambda x: np.clip(x, _like(0, x), _like(0.7, x)),
        (_BOUNDS,),
        dtypes='efd',
        tolerance=0,
    ),
    'rectifier.clipped_gradient': Row(
        lambda k, gy, x: k(gy, x, 0.7),
        lambda gy, x: np.where((x <= 0) | (x >= _like(0.7, x)), _like(0, gy), gy),
        (_SELECTED,),
        2,
        'efd',
        tolerance=0,
    ),
    'rectifier.elu': Row(
        lambda k, x: k(x, 1.5),
        lambda x: np.where(x > 0, x, 1.5 * np.expm1(np.minimum(x, 0))),
        (_BOUNDS,),
        dtypes='efd',
        roundings=2,
    ),
    'rectifier.exp_below_zero': Row(
        lambda k, x: k(x, 1.5),
        lambda x: np.where(x > 0, 0, 1.5 * np.exp(np.minimum(x, 0))),
        (_BOUNDS,),
        dtypes='efd',
        roundings=2,
    ),
    'rectifier.elu_gradient': Row(
        lambda k, gy, x: k(gy, x, 1.5),
        lambda gy, x: gy * np.where(x > 0, 1, 1.5 * np.exp(np.minimum(x, 0))),
        (_BOUNDS,),
        2,
        'efd',
        roundings=3,
    ),
    'rectifier.prelu': Row(
        lambda k, x, W: k(x, W), lambda x, W: np.where(x >= 0, x, x * W), (_SELECTED,), 2, 'efd', tolerance=0
    ),
    'rectifier.prelu_gradient': Row(
        lambda k, gy, x, W: k(gy, x, W),
        lambda gy, x, W: np.where(x >= 0, gy, gy * W),
        (_SELECTED,),
        3,
        'efd',
        tolerance=0,
    ),
    'rectifier.slope_factors': Row(
        lambda k, x, slopes: k(x, slopes),
        lambda x, slopes: np.where(x >= 0, _like(1, x), slopes),
        (_SELECTED,),
        2,
        'efd',
        tolerance=0,
    ),
    'rectifier.random_factors': Row(
        _seeded(lambda k, x: k(x, 0.1, 0.6)),
        _seeded(lambda x: np.where(x >= 0, _like(1, x), np.asarray(np.random.uniform(0.1, 0.6, x.shape), x.dtype))),
        (_SELECTED,),
        1,
        'efd',
        tolerance=0,
        numpy_only=True,
    ),
    'rectifier.slope_gradient': Row(
        lambda k, gy, x: k(gy, x),
        lambda gy, x: np.where(x >= 0, _like(0, x), gy * x),
        (_SELECTED,),
        2,
        'efd',
        tolerance=0,
    ),
    'bounds.sign': Row(lambda k, x: k(x), np.sign, (), dtypes='efd', tolerance=0, signed_zeros=True),
    'bounds.sign_gradient': Row(lambda k, gy, x: k(gy, x), lambda gy, x: gy * np.sign(x), (), 2, 'efd', tolerance=0),
    'angles.angle_gradient': Row(
        lambda k, gy, x, y: k(gy, x, y), lambda gy, x, y: gy * y / (x * x + y * y), (_ANGLES,), 3, special=()
    ),
    # Squares that are beyond float32, and what is no number: the method for few elements.
    'angles.angle_gradient, far': Row(
        lambda k, gy, x, y: k(gy, x, y),
        lambda gy, x, y: gy * y / (x * x + y * y),
        (_ANGLES,),
        3,
        special=(1e25, -1e25, 1e-25, 1.0),
    ),
    'angles.angle_gradient, special': Row(
        lambda k, gy, x, y: k(gy, x, y),
        lambda gy, x, y: np.where(np.maximum(abs(x), abs(y)) == np.inf, 0, gy * y / (x * x + y * y)),
        (_ANGLES,),
        3,
    ),
    'blending.blended': Row(lambda k, p, x, y: k(p, x, y), _blended, (), 3, 'efd', relative_to='one'),
    **{
        f'bounds.fmod, {name}': Row(
            lambda k, x, y, value=value: k(x, _divisors(y, value)),
            lambda x, y, value=value: np.fmod(x, _divisors(y, value)),
            (_BOUNDS, _BLOCKS),
            2,
            'efd',
            special=(-0.0, 0.0, -2.0, 0.5),
            tolerance=0,
            signed_zeros=True,
        )
        for name, value in (('remainders of 0', 2), ('infinite divisors', np.inf))
    },
    'blocks.in_blocks': Row(
        lambda k, x, y: k(lambda a, b: a * b + 1, x, y), lambda x, y: x * y + 1, (_BLOCKS, _BLOCKS + 1), 2, 'fd',
        tolerance=0, numpy_only=True,
    ),
    'gates.sigmoid': Row(lambda k, x: k(x), _sigmoid, (_MANY,), dtypes='efd', low=-15),
    'gates.sigmoid_gradient': Row(
        lambda k, gy, y: k(gy, y), lambda gy, y: gy * (y * (1 - y)), (), 2, 'efd', tolerance=0
    ),
    'gates.sigmoid_slope': Row(
        lambda k, x: k(x),
        lambda x: _sigmoid(x) * _sigmoid(-x),
        (_MANY,),
        dtypes='efd',
        low=-30,
        dtypes_of_result=('computed',),
    ),
    'gates.silu': Row(
        lambda k, x: k(x),
        lambda x: x * _sigmoid(x),
        (_MANY,),
        dtypes='efd',
        low=-30,
        special=_WHOLE,
        dtypes_of_result=('computed',),
    ),
    'gates.silu_gradient': Row(
        lambda k, gy, x: k(gy, x, kernel('gates.silu')(x)),
        lambda gy, x: gy * (_sigmoid(x) + x * _sigmoid(x) * _sigmoid(-x)),
        (_MANY,),
        2,
        dtypes='efd',
        special=_WHOLE,
        relative_to='one',
        roundings=3,
    ),
    'gates.mish': Row(
        lambda k, x: k(x),
        lambda x: x * np.tanh(np.logaddexp(0, x)),
        (_BOUNDS,),
        dtypes='efd',
        low=-20,
        high=50,
        special=_WHOLE,
        dtypes_of_result=('computed',),
    ),
    'gates.mish_gradient': Row(
        lambda k, gy, x: k(gy, x),
        lambda gy, x: gy * (np.tanh(np.logaddexp(0, x)) + x * _sigmoid(x) / np.cosh(np.logaddexp(0, x)) ** 2),
        (_BOUNDS,),
        2,
        special=_WHOLE,
        relative_to='one',
    ),
    'gates.scaled_inside': Row(
        lambda k, gy, x: k(gy, x, 0.25, -1, 2),
        lambda gy, x: np.where((x <= -1) | (x >= 2), _like(0, x), gy * _like(0.25, x)),
        (threshold('selection', '_MANY'),),
        2,
        tolerance=0,
    ),
    'gelu.argument': Row(
        lambda k, x: k(x), lambda x: np.sqrt(2 / np.pi) * (x + 0.044715 * x**3), special=(np.nan, 0.0, 1.0, 1e4)
    ),
    'gelu.slope': Row(
        lambda k, x: k(x), lambda x: np.sqrt(8 / np.pi) * (1 + 3 * 0.044715 * x * x), special=(np.nan, 0.0, 1.0, 1e4)
    ),
    'gates.scaled_inside, of two dtypes': Row(
        lambda k, gy, x: k(gy, x.astype('d'), 0.25, -1, 2),
        lambda gy, x: np.where((x <= -1) | (x >= 2), _like(0, gy), gy * _like(0.25, gy)),
        (threshold('selection', '_MANY'),),
        2,
        'ef',
        tolerance=0,
    ),
    **_gelu_rows('none'),
    **_gelu_rows('tanh'),
    **_transcendental_rows(),
    'transcendental.arctan2': Row(lambda k, y, x: k(y, x), np.arctan2, (1025,), 2, 'efd'),
    'error_functions.erf': Row(lambda k, x: k(x), scipy.special.erf, _ERF, scalars=False),
    # In float64 SciPy is up to 8 units off for erfc, 17 for ndtr, 100 for erfcx, 43 for log_ndtr; CUDA's library is 2
    # units off, and CuPy's log_ndtr 39, in float32 22.
    'error_functions.erfc': Row(lambda k, x: k(x), scipy.special.erfc, _ERF, scalars=False, more_on_a_device=4),
    'error_functions.erfc, subnormal': Row(
        lambda k, x: k(x), np.vectorize(math.erfc, otypes='d'), dtypes='d', low=26, high=27, special=(),
        scalars=False, numpy_only=True,
    ),
    'error_functions.ndtr, subnormal': Row(
        lambda k, x: k(x), np.vectorize(lambda v: math.erfc(-v * math.sqrt(0.5)) / 2, otypes='d'), dtypes='d',
        low=-38, high=-37.6, special=(), scalars=False, numpy_only=True,
    ),
    'error_functions.erfcinv': Row(
        lambda k, x: k(x), scipy.special.erfcinv, low=0.01, high=2, special=(0.0, 2.0, 1.0)
    ),
    'error_functions.erfcinv, tiny': Row(
        lambda k, x: k(x), scipy.special.erfcinv, dtypes='d', low=1e-306, high=1e-301, special=(), numpy_only=True
    ),
    'error_functions.ndtr': Row(lambda k, x: k(x), scipy.special.ndtr, _ERF, scalars=False, more_on_a_device=12),
    'error_functions.erfinv': Row(
        lambda k, x: k(x), scipy.special.erfinv, _ERF, low=-1, high=1,
        special=(np.nan, 1.0, -1.0, 0.0, -0.0, 2.0), scalars=False,
    ),
    **{
        f'error_functions.times_gaussian, {b}': Row(
            lambda k, gy, x, b=b: k(gy, x, 0.75, b),
            lambda gy, x, b=b: gy * 0.75 * np.exp(b * x * x),
            (),
            2,
            'efd',
            special=(np.nan, 0.0, 1.0, -1.0, *([np.inf, -np.inf] if b < 0 else [])),
            relative_to='one',
            roundings=20,
            tolerance=16,
        )
        for b in (-1.0, -0.5, 1.0)
    },
    'error_functions.tail_ratio': Row(
        lambda k, x: k(x, 2), lambda x: _tail_ratio(x, 2), dtypes='d', low=-8,
        special=(0.0, -2.0), tolerance=1e4,
    ),
    'tails.erfcx': Row(lambda k, x: k(x), scipy.special.erfcx, low=-8, high=30, more_on_a_device=96),
    'tails.log_ndtr': Row(lambda k, x: k(x), scipy.special.log_ndtr, low=-30, high=8, more_on_a_device=80),
    'tails.log_ndtr, subnormal': Row(
        lambda k, x: k(x), np.vectorize(lambda v: -math.erfc(v * math.sqrt(0.5)) / 2, otypes='d'), dtypes='d',
        low=37.5, high=38, special=(), numpy_only=True,
    ),
    'tails.ndtr_log_slope': Row(lambda k, x: k(x), _log_slope, low=-30, high=2, special=_WHOLE),
    'tails.log_ndtr_gradient': Row(
        lambda k, gy, x: k(gy, x), lambda gy, x: gy * _log_slope(x), (), 2, low=-30, high=2, special=(0.0, 1.0, -1.0)
    ),
    # Cancellation in float64 too.
    'tails.erfcx_gradient': Row(
        lambda k, gy, x: k(gy, x, tails.erfcx(get_array_module(x), x)), _erfcx_gradient, (), 2, low=-8, high=8,
        special=(0.0, 1.0, -1.0), tolerance=200,
    ),
    'powers.rsqrt': Row(lambda k, x: k(x), lambda x: 1 / np.sqrt(x), dtypes='efd', low=0.01, special=_WHOLE),
    'powers.rsqrt_gradient': Row(
        lambda k, gy, y: k(gy, y), lambda gy, y: -gy * y**3 / 2, (), 2, dtypes='efd', special=(0.0, 1.0, -1.0)
    ),
    'gamma.lgamma': Row(
        lambda k, x: k(x), scipy.special.gammaln, (threshold('gamma', '_MANY'),), low=0.01, high=40,
        special=(1.0, 2.0, 1e-30, 1e20, 0.5), relative_to='one',
    ),
    # CuPy compiles kernels that take subnormal numbers of float32 for 0.
    'gamma.lgamma, subnormal': Row(
        lambda k, x: k(x), scipy.special.gammaln, low=1e-45, high=1e-40, special=(1e-45,), relative_to='one',
        numpy_only=True,
    ),
    'gamma.lgamma, special': Row(
        lambda k, x: k(x), scipy.special.gammaln, low=-3, special=(np.nan, 0.0, np.inf, -np.inf, 1e35),
        relative_to='one',
    ),
    'losses.huber': Row(
        lambda k, x, t: k(x, t, 0.75),
        lambda x, t: np.where(np.abs(x - t) < 0.75, (x - t) ** 2 / 2, 0.75 * (np.abs(x - t) - 0.375)),
        (_BOUNDS,),
        2,
        'efd',
        special=_WHOLE,
        relative_to='one',
        dtypes_of_result=('computed',),
    ),
    'losses.logistic_losses': Row(
        lambda k, x, t: k(x, _labels(t)),
        lambda x, t: np.logaddexp(0, np.where(_labels(t) == 1, -x, x)),
        (threshold('selection', '_MANY'),),
        2,
        low=-15,
    ),
    'losses.weighted_logistic_losses': Row(
        lambda k, x, t, w: k(x, _labels(t), _weights(w)),
        lambda x, t, w: np.where(w > 0, np.logaddexp(0, np.where(_labels(t) == 1, -x, x)) * _weights(w), 0),
        (threshold('selection', '_MANY'),),
        3,
        low=-15,
        relative_to='one',
    ),
    **{
        f'losses.weighted_logistic_gradient, {name}': Row(
            lambda k, gy, x, t, w, of=of: k(of(gy), x, _labels(t), _weights(w)),
            lambda gy, x, t, w, of=of: np.where(
                w > 0, of(gy) * _weights(w) * np.where(_labels(t) == 1, -_sigmoid(-x), _sigmoid(x)), 0
            ),
            (threshold('selection', '_MANY'),),
            4,
            low=-15,
            special=(0.0, -0.0, 1.0, -1.0, 1e-30, 30.0, -30.0),
        )
        for name, of in (('of each', lambda gy: gy), ('of the sum', lambda gy: _like(0.75, gy)))
    },
    'units.limited_line': Row(
        lambda k, x: k(x, 0.25, 0.5, -0.125, 0.75),
        lambda x: np.minimum(np.maximum(x * _like(0.25, x) + _like(0.5, x), _like(-0.125, x)), _like(0.75, x)),
        (_BOUNDS,),
        dtypes='efd',
        tolerance=0,
    ),
    **{
        f'units.softplus, {beta}': Row(
            lambda k, x, beta=beta: k(x, beta),
            lambda x, beta=beta: np.logaddexp(0, x * beta) / beta,
            (_BOUNDS,),
            dtypes='efd',
            low=-20,
            high=50,
            dtypes_of_result=('computed',),
        )
        for beta in (1.0, 4.0, -0.5)
    },
    'units.softplus_gradient': Row(
        lambda k, gy, x: k(gy, x, 2.0),
        lambda gy, x: gy * _sigmoid(2 * x),
        (_MANY,),
        2,
        dtypes='efd',
        low=-3,
        roundings=3,
    ),
    'gamma.polygamma': Row(
        lambda k, x: k(_like(1, x), x),
        lambda x: scipy.special.polygamma(1, x.astype('d')),
        (threshold('gamma', '_MANY'), _BLOCKS),
        dtypes='f',
        low=0.01,
        high=20,
        special=(1.0, 1e-10),
    ),
    'gamma.polygamma, not trigamma of positive numbers': Row(
        lambda k, x: k(((x > 2) + 1).astype(x.dtype), x),
        lambda x: scipy.special.polygamma(np.asarray(x > 2) + 1, x.astype('d')),
        (threshold('gamma', '_MANY'),),
        dtypes='efd',
        low=0.1,
        high=4,
        special=(1.0, 0.1),
    ),
    'gamma.polygamma, special': Row(
        lambda k, x: k(_like(1, x), x),
        lambda x: scipy.special.polygamma(1, x),
        (threshold('gamma', '_MANY'),),
        dtypes='f',
        special=(np.nan, 1.0, 0.0, np.inf),
        low=-30,
    ),
    'gamma.polygamma, far below 0': Row(
        lambda k, x: k(((x > -66) + 1).astype(x.dtype), x),
        lambda x: scipy.special.polygamma(np.asarray(x > -66) + 1, x.astype('d')),
        (threshold('gamma', '_MANY'),),
        dtypes='fd',
        low=-68.4,
        high=-68.3,
        special=(-63.75, -64.25, -65.0, -70.25, 1.0),
    ),
    'gamma.zeta': Row(lambda k, x: k(_like(2, x), x), lambda x: scipy.special.zeta(2, x.astype('d')), (), dtypes='fd',
                      low=1, high=9, special=(0.5,)),
    'gamma.zeta, far below 0': Row(
        lambda k, x: k((x > -66) + _like(2, x), x),
        lambda x: scipy.special.zeta((x > -66) + 2.0, x.astype('d')),
        (),
        dtypes='fd',
        low=-68.4,
        high=-68.3,
        special=(-63.75, -64.25, -65.0, -70.25, 1.0),
    ),
    'selection.masked': Row(
        lambda k, x, y: k(x, y > 0),
        lambda x, y: np.where(y > 0, x, _like(0, x)),
        (threshold('selection', '_MANY'),),
        2,
        'efdi',
        special=(0.0, 1.0, -1.0),
        tolerance=0,
    ),
    'selection.masked, infinite': Row(
        lambda k, x, y: k(x, y > 0),
        lambda x, y: np.where(y > 0, x, _like(0, x)),
        (threshold('selection', '_MANY'),),
        2,
        'efd',
        tolerance=0,
    ),
    'selection.chosen': Row(
        lambda k, x, y: k(x > y, x, y),
        lambda x, y: np.where(x > y, x, y),
        (threshold('selection', '_MANY'),),
        2,
        'efd',
        tolerance=0,
    ),
}  # fmt: skip
