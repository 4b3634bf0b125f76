"""Winograd's way of convolving agrees with the definition, for any size and padding, and is used where it says so."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import minichainer as chainer
import minichainer.functions as F
from minichainer._native import library
from minichainer.kernels import convolution, tiles, winograd
from minichainer.kernels._dispatch import DECLINED
from minichainer.kernels._windows import Geometry

PRECISION = {'f': 3e-6, 'd': 1e-13}


def geometry(size: tuple[int, int], pad: tuple[int, int], **changes: Any) -> Geometry:
    out = tuple([n + 2 * p - 2 for n, p in zip(size, pad, strict=True)])
    return Geometry(size, (3, 3), (1, 1), pad, (1, 1), out)._replace(**changes)


def close(actual: Any, desired: Any) -> None:
    rtol = PRECISION[actual.dtype.char]
    np.testing.assert_allclose(actual, desired, rtol=rtol, atol=rtol * abs(desired).max())


@settings(deadline=None, max_examples=60)
@given(
    size=st.tuples(st.integers(1, 13), st.integers(1, 13)),
    pad=st.tuples(st.integers(-4, 12), st.integers(-4, 12)),
    out=st.tuples(st.integers(1, 20), st.integers(1, 20)),
    channels=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    block=st.sampled_from([1, 1 << 12, 1 << 19]),
    dtype=st.sampled_from('fd'),
)
def test_agrees_with_the_definition(size: Any, pad: Any, out: Any, channels: Any, block: int, dtype: str) -> None:
    """Also where windows begin inside the image or long before it, and end anywhere, as those of gradients may."""
    shape, rng = geometry(size, pad, out_size=out), np.random.RandomState(0)
    x = rng.randn(2, *size, channels[0])
    gy = rng.randn(2, *shape.out_size, channels[1])
    W = rng.randn(channels[1], channels[0], 3, 3)
    first, last = (
        (lambda a: a.transpose(0, 3, 1, 2)),
        (lambda a: a.transpose(0, 2, 3, 1)),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(winograd, '_BLOCK_BYTES', block)
        y = winograd.convolve(x.astype(dtype), W.astype(dtype), shape)
        gW = winograd.filter_gradient(x.astype(dtype), gy.astype(dtype), shape)
    close(y, last(convolution.convolve_reference(first(x), W, None, shape)))
    close(gW, convolution.filter_gradient_reference(first(x), first(gy), shape))
    assert y.flags.c_contiguous and gW.flags.c_contiguous


@pytest.mark.parametrize('pad', [0, 1, 2, 3, 4, 7])
def test_wide_padding(pad: int) -> None:
    """The sums of ones are the numbers of pixels that windows meet, times 32 channels."""
    x, W = chainer.Variable(np.ones((1, 32, 32, 32), 'f')), np.ones((32, 32, 3, 3), 'f')
    y = F.convolution_2d(x, W, pad=pad)
    inside = np.convolve(np.pad(np.ones(32), pad), np.ones(3), 'valid')
    np.testing.assert_array_equal(y.array[0, 7], 32 * np.outer(inside, inside))
    y.grad = ones = np.ones_like(y.array)
    y.backward()
    meets = np.convolve(np.ones(len(inside)), np.ones(3))[pad:][:32]
    np.testing.assert_array_equal(x.grad[0, 7], 32 * np.outer(meets, meets))
    np.testing.assert_array_equal(F.deconvolution_2d(ones, W, pad=pad).array, x.grad)


USED = {
    'as in residual networks': (geometry((32, 32), (1, 1)), 64, 64, True),
    'few channels': (geometry((32, 32), (1, 1)), 3, 64, False),
    'few filters': (geometry((32, 32), (1, 1)), 64, 8, False),
    'small images': (geometry((8, 32), (1, 1)), 64, 64, False),
    'stride': (geometry((32, 32), (1, 1), stride=(2, 1)), 64, 64, False),
    'dilate': (geometry((32, 32), (2, 2), dilate=(2, 2)), 64, 64, False),
    'groups': (geometry((32, 32), (1, 1), groups=2), 64, 64, False),
    'other filters': (geometry((32, 32), (2, 2), ksize=(5, 5)), 64, 64, False),
    'one axis': (Geometry((32,), (3,), (1,), (1,), (1,), (32,)), 64, 64, False),
}


@pytest.mark.parametrize('name', USED)
def test_it_is_used_where_it_is_faster(name: str) -> None:
    shape, channels, outputs, used = USED[name]
    assert winograd.applies(shape, channels, outputs) is used


@pytest.mark.parametrize('dtype', 'efd')
def test_convolution_goes_this_way(monkeypatch: pytest.MonkeyPatch, dtype: str) -> None:
    """Result and gradients are those of the direct way."""
    rng = np.random.RandomState(1)
    arrays = [rng.randn(2, 32, 9, 10), rng.randn(33, 32, 3, 3) * 0.1, rng.randn(33)]

    def results() -> list[Any]:
        variables = [chainer.Variable(a.astype(dtype)) for a in arrays]
        y = F.convolution_2d(*variables, pad=1)
        y.grad = np.random.RandomState(2).randn(*y.shape).astype(dtype)
        y.backward()
        return [y.array, *[v.grad for v in variables]]

    calls: list[str] = []
    monkeypatch.setattr(winograd, '_LEAST_ELEMENTS', 1)
    monkeypatch.setattr(chainer.global_config, 'use_native_kernels', False)
    for name in ('convolve', 'filter_gradient'):
        way = getattr(winograd, name)
        monkeypatch.setattr(winograd, name, lambda *a, way=way, name=name: calls.append(name) or way(*a))
    found = results()
    assert sorted(calls) == ['convolve', 'convolve', 'filter_gradient']
    monkeypatch.setattr(winograd, 'applies', lambda *a: False)
    rtol = {'e': 4e-3, 'f': 3e-6, 'd': 1e-13}[dtype]
    for a, e in zip(found, results(), strict=True):
        np.testing.assert_allclose(a, e, rtol=rtol, atol=rtol * abs(e).max())


# --- Compiled transforms. ---

needs_kernels = pytest.mark.skipif(library.kernels is None, reason=f'compiled parts: {library.state}')
#: Errors relative to the largest result, by the size of tiles: those of the definition in float64 are this small.
#: Over 3000 random geometries tiles of 4 x 4 are off by 6.4e-6 at most, and 1.1e-5 was found where a result is the
#: sum of two products, whose errors do not average.
ERRORS = {(2, 'f'): 1e-6, (4, 'f'): 2e-5, (2, 'd'): 1e-14, (4, 'd'): 1e-13}


def _distance(found: Any, exact: Any, largest: float = 0.0) -> float:
    return abs(found - exact).max() / max(abs(exact).max(), largest, 1)


@needs_kernels
@settings(deadline=None, max_examples=60)
@example(sides=(7, 2), pad=(1, 7), out=(4, 5), channels=(31, 32), block=1 << 14, size=4, dtype='f')  # only padding
@given(
    sides=st.tuples(st.integers(1, 13), st.integers(1, 13)),
    pad=st.tuples(st.integers(-4, 12), st.integers(-4, 12)),
    out=st.tuples(st.integers(1, 20), st.integers(1, 20)),
    channels=st.tuples(st.sampled_from([1, 5, 31, 32, 33]), st.sampled_from([1, 5, 32, 65])),
    block=st.sampled_from([1, 1 << 14, 1 << 19]),
    size=st.sampled_from([2, 4]),
    dtype=st.sampled_from('fd'),
)
def test_compiled_tiles_agree_with_the_definition(
    sides: Any, pad: Any, out: Any, channels: Any, block: int, size: int, dtype: str
) -> None:
    """A block may end anywhere in an image, tiles at its edges hang over, channels are not multiples of a vector."""
    shape, rng = geometry(sides, pad, out_size=out), np.random.RandomState(0)
    x, gy = (rng.randn(2, *n, c).astype(dtype) for n, c in ((sides, channels[0]), (out, channels[1])))
    W = rng.randn(channels[1], channels[0], 3, 3).astype(dtype)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiles, '_BLOCK_BYTES', block)
        y, gW = tiles.convolve(x, W, shape, size), tiles.filter_gradient(x, gy, shape, size)
    # Errors are relative to the largest result of a tile, which may lie in the part that hangs over.
    whole = geometry(sides, pad, out_size=tuple(-(-n // size) * size for n in out))
    results = winograd.convolve(x.astype('d'), W.astype('d'), whole)
    exact = results[:, : out[0], : out[1]]
    exact_gW = winograd.filter_gradient(x.astype('d'), gy.astype('d'), shape)
    assert y.dtype == gW.dtype == dtype and y.flags.c_contiguous and gW.flags.c_contiguous
    assert (
        _distance(y, exact, abs(results).max()) < ERRORS[size, dtype]
        and _distance(gW, exact_gW) < ERRORS[size, dtype]
    )


@needs_kernels
def test_compiled_tiles_are_as_accurate_as_those_of_numpy() -> None:
    shape, rng = geometry((32, 32), (1, 1)), np.random.RandomState(0)
    x, gy = (rng.randn(4, 32, 32, 64).astype('f') for _ in range(2))
    W = rng.randn(64, 64, 3, 3).astype('f')
    wide = [a.astype('d') for a in (x, W, gy)]
    for compiled, numpy_form, exact in (
        (tiles.convolve(x, W, shape, 2), winograd.convolve(x, W, shape), winograd.convolve(*wide[:2], shape)),
        (
            tiles.filter_gradient(x, gy, shape, 2),
            winograd.filter_gradient(x, gy, shape),
            winograd.filter_gradient(wide[0], wide[2], shape),
        ),
    ):
        assert _distance(compiled, exact) < 2 * _distance(numpy_form, exact)


@needs_kernels
def test_an_unaligned_array_is_declined() -> None:
    shape = geometry((4, 4), (1, 1))
    x = np.frombuffer(bytearray(4 * 4 * 4 * 4 + 1), 'f', 4 * 4 * 4, 1).reshape(1, 4, 4, 4)
    assert tiles.convolve(x, np.ones((4, 4, 3, 3), 'f'), shape, 2) is DECLINED
    assert tiles.filter_gradient(x, np.ones((1, 4, 4, 4), 'f'), shape, 2) is DECLINED
    assert tiles.filter_gradient(np.ones((1, 4, 4, 4), 'f'), x, shape, 2) is DECLINED


def test_larger_tiles_have_to_be_asked_for() -> None:
    assert chainer.global_config.winograd == 'exact' and tiles.size_wanted() == 2
    with chainer.using_config('winograd', 'fast'):
        assert tiles.size_wanted() == 4
    assert tiles.size_wanted() == 2


def test_what_the_setting_changes() -> None:
    """Compiled convolutions are different, and a little less accurate; the pure form does not know the setting."""
    rng = np.random.RandomState(0)
    x, W = rng.randn(2, 32, 32, 32).astype('f'), rng.randn(32, 32, 3, 3).astype('f')
    exact = F.convolution_2d(x, W, pad=1).array
    with chainer.using_config('winograd', 'fast'):
        fast = F.convolution_2d(x, W, pad=1).array
        with chainer.using_config('use_native_kernels', False):
            pure = F.convolution_2d(x, W, pad=1).array
    assert np.array_equal(fast, exact) == (library.kernels is None)
    assert _distance(fast, exact) < 1e-5 and _distance(pure, exact) < 1e-6


PAGE = (Path(__file__).resolve().parents[2] / 'docs' / 'compiled.md').read_text(encoding='utf-8')
#: For 64 and 256 channels: what the page says of tiles of 2 x 2 results, and of 4 x 4.
FIGURES = re.search(
    r'errors of (\S+) of the largest result for 64\D+?(\S+) for 256.*?errors of (\S+) and (\S+)\.', PAGE, re.DOTALL
)


@pytest.mark.skipif(library.kernels is None, reason='tiles of 4 x 4 results are compiled')
@pytest.mark.parametrize('mode', ['exact', 'fast'])
@pytest.mark.parametrize(('channels', 'size', 'place'), [(64, 32, 1), (256, 14, 2)])
def test_errors_are_those_of_the_page(channels: int, size: int, place: int, mode: str) -> None:
    assert FIGURES is not None
    rng = np.random.RandomState(0)
    x, W = rng.randn(1, channels, size, size), rng.randn(channels, channels, 3, 3)
    exact = F.convolution_2d(x.astype('f').astype('d'), W.astype('f').astype('d'), pad=1).array
    with chainer.using_config('winograd', mode):
        y = F.convolution_2d(x.astype('f'), W.astype('f'), pad=1).array
    found, said = abs(y - exact).max() / abs(exact).max(), float(FIGURES[place + 2 * (mode == 'fast')])
    assert said / 2 <= found <= said
