"""Draws of windows, layouts and thresholds, for the tests of kernels of windows and of the functions on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minichainer.kernels import convolution, depthwise, pooling, winograd
from minichainer.kernels._windows import Geometry

EXAMPLES = {'few': 20, 'many': 500}
PRECISION = {'e': 4e-3, 'f': 5e-6, 'd': 1e-12}
#: Values that thresholds between ways are given: those that exclude a way, those that always take it, and their own.
THRESHOLDS: dict[tuple[Any, str], list[float]] = {
    (convolution, '_BLOCK_BYTES'): [1, 3000, convolution._BLOCK_BYTES],
    (convolution, '_FEW_CHANNELS'): [0, convolution._FEW_CHANNELS, 99],
    (convolution, '_FLIP_UP_TO'): [0, convolution._FLIP_UP_TO, 1e9],
    (winograd, '_BLOCK_BYTES'): [1, 1 << 12, winograd._BLOCK_BYTES],
    (winograd, '_LEAST_CHANNELS'): [1, winograd._LEAST_CHANNELS],
    (winograd, '_LEAST_ELEMENTS'): [1, winograd._LEAST_ELEMENTS],
    (depthwise, '_IMAGES'): [1, 2, depthwise._IMAGES],
    (pooling, '_FEW_TAPS'): [0, pooling._FEW_TAPS, 99],
}
#: On both sides of the number from which Winograd's way is taken.
CHANNELS = st.sampled_from([1, 2, 3, 4, 5, 31, 32, 33])
BATCHES = st.integers(0, 3)
SPECIAL = [-np.inf, np.inf, np.nan, 0.0, 1.0, -1.0]


def profiles(test: Callable[..., None]) -> Callable[..., None]:
    """Runs a test with few examples, and with many where slow tests are asked for."""
    return pytest.mark.parametrize('profile', ['few', pytest.param('many', marks=pytest.mark.slow)])(test)


def kinds(test: Callable[..., None]) -> Callable[..., None]:
    """Runs a test of convolutions for each kind."""
    return pytest.mark.parametrize('kind', KINDS)(test)


def examples(profile: str, strategy: Any, check: Callable[[Any], None]) -> None:
    """Gives ``check`` as many draws as the profile has."""
    run = given(strategy)(check)
    settings(
        max_examples=EXAMPLES[profile], deadline=None, database=None, derandomize=profile == 'few',
        suppress_health_check=list(HealthCheck),
    )(run)()  # fmt: skip


@contextmanager
def thresholds(values: tuple[float, ...]) -> Iterator[None]:
    """Sets all thresholds for a while."""
    with pytest.MonkeyPatch.context() as patch:
        for (module, name), value in zip(THRESHOLDS, values, strict=True):
            patch.setattr(module, name, value)
        yield


LEAST = st.just(tuple([values[0] for values in THRESHOLDS.values()]))
WAYS = st.one_of(LEAST, st.tuples(*[st.sampled_from(values) for values in THRESHOLDS.values()]))
#: The ways that convolutions go, each of which is to be drawn often: 3 x 3 filters of step 1; filters of each channel
#: alone; all others.
KINDS = ['squares', 'channel by channel', 'any']


def laid_out(x: np.ndarray, layout: str) -> np.ndarray:
    """The same array, otherwise in memory; ``broadcast`` makes all images the first one."""
    if layout == 'channels last':
        return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)
    if layout == 'Fortran':
        return np.asfortranarray(x)
    if layout == 'reversed':
        return np.flip(np.flip(x).copy())
    if layout == 'strided':
        return np.repeat(np.repeat(x, 2, axis=-1), 3, axis=0)[tuple([slice(1, None, 3), ...])][..., ::2]
    if layout == 'broadcast':
        return np.broadcast_to(x[:1], x.shape)
    return np.ascontiguousarray(x)


LAYOUTS = st.sampled_from(['C', 'channels last', 'Fortran', 'reversed', 'strided', 'broadcast'])


@st.composite
def geometries(draw: Any, kind: str = 'any', dilated: bool = True) -> Geometry:
    """Any windows, or the square ones of step 1 that Winograd's way is for."""
    if kind == 'squares':
        n, k, s, d = 2, (3, 3), (1, 1), (1, 1)
    else:
        n = draw(st.integers(1, 3))
        k, s, d = (draw(st.tuples(*[st.integers(1, most)] * n)) for most in (4, 4, 3 if dilated else 1))
    most = 12 if n < 3 else 5
    size = draw(st.tuples(*[st.integers(0, most)] * n))
    out = draw(st.tuples(*[st.integers(0, most)] * n))
    pad = draw(st.tuples(*[st.integers(-4, 9)] * n))
    return Geometry(size, k, s, pad, d, out)


@st.composite
def groups_and_channels(draw: Any, kind: str) -> tuple[int, int, int]:
    """Number of groups, and channels and filters of each."""
    few = st.integers(1, 3)
    if kind == 'channel by channel':
        return draw(st.integers(2, 4)), 1, draw(few)
    groups = 1 if kind == 'squares' else draw(st.sampled_from([1, 2, 3]))
    return groups, *draw(st.tuples(CHANNELS, CHANNELS) if groups == 1 else st.tuples(few, few))


def draw_array(rng: Any, shape: tuple[int, ...], layout: str, dtype: str) -> np.ndarray:
    return laid_out(rng.uniform(-1, 1, shape).astype(dtype), layout)


def close(actual: Any, expected: Any, dtype: str, terms: int = 1) -> None:
    assert actual.shape == expected.shape and actual.dtype == dtype
    tolerance = PRECISION[dtype]
    size = max(np.abs(expected[np.isfinite(expected)]).max(initial=0), terms**0.5)
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance * size)


def values(rng: Any, shape: tuple[int, ...], kind: str, dtype: str) -> np.ndarray:
    if kind == 'special':
        return rng.choice(SPECIAL, shape).astype(dtype)
    if kind == 'lowest':
        return rng.choice([-np.inf, np.finfo(dtype).min], shape).astype(dtype)
    x = rng.uniform(-2, 2, shape)
    return (x.round() if kind == 'ties' else x).astype(dtype)
