"""Output sizes, and im2col and col2im against loops over single pixels."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from minichainer.utils import conv

# (size, k, s, p, cover_all, d) -> output size in Chainer 7.8.1
OUTSIZES = {
    (10, 3, 2, 1, False, 1): 5,
    (10, 3, 2, 1, True, 1): 6,
    (10, 3, 2, 1, True, 2): 5,
    (10, 3, 2, 0, False, 2): 3,
    (2, 3, 1, 0, False, 1): 0,
    (1, 3, 1, 0, False, 1): -1,
    (1, 3, 1, 0, True, 1): -1,
    (1, 5, 2, 0, True, 1): -1,
}
DECONV_OUTSIZES = {
    (10, 3, 2, 1, False, 1): 19,
    (10, 3, 2, 1, True, 1): 18,
    (10, 3, 2, 1, True, 2): 20,
    (10, 3, 2, 1, False, 2): 21,
}


@pytest.mark.parametrize('case', OUTSIZES, ids=str)
def test_conv_outsize(case: Any) -> None:
    assert conv.get_conv_outsize(*case) == OUTSIZES[case]


@pytest.mark.parametrize('case', DECONV_OUTSIZES, ids=str)
def test_deconv_outsize(case: Any) -> None:
    assert conv.get_deconv_outsize(*case) == DECONV_OUTSIZES[case]


def test_deconv_outsize_undoes_conv_outsize() -> None:
    for size, k, s, p, cover_all, d in itertools.product(
        range(1, 6), range(1, 4), range(1, 4), range(2), (False, True), (1, 2)
    ):
        out = conv.get_deconv_outsize(size, k, s, p, cover_all, d)
        if out > 0:
            assert conv.get_conv_outsize(out, k, s, p, cover_all, d) == size


# kh, kw, sy, sx, ph, pw, cover_all, dy, dx on an image of 5 x 6
GEOMETRIES = [
    (3, 3, 1, 1, 1, 1, False, 1, 1),
    (2, 3, 2, 1, 0, 2, False, 1, 1),
    (3, 2, 2, 3, 1, 0, True, 1, 1),
    (2, 2, 1, 2, 2, 1, False, 2, 3),
    (2, 2, 3, 3, 0, 0, True, 2, 1),
    (1, 1, 1, 1, 0, 0, False, 1, 1),
    (5, 6, 1, 1, 0, 0, False, 1, 1),
]


def slow_im2col(
    img: Any, kh: int, kw: int, sy: int, sx: int, ph: int, pw: int, pval: float, cover: bool, dy: int, dx: int
) -> Any:
    n, c, h, w = img.shape
    out_h = conv.get_conv_outsize(h, kh, sy, ph, cover, dy)
    out_w = conv.get_conv_outsize(w, kw, sx, pw, cover, dx)
    col = np.full((n, c, kh, kw, out_h, out_w), pval, img.dtype)
    for i, j, y, x in itertools.product(range(kh), range(kw), range(out_h), range(out_w)):
        row, column = y * sy + i * dy - ph, x * sx + j * dx - pw
        if 0 <= row < h and 0 <= column < w:
            col[:, :, i, j, y, x] = img[:, :, row, column]
    return col


@pytest.mark.parametrize('geometry', GEOMETRIES, ids=str)
@pytest.mark.parametrize('pval', [0, -np.inf])
def test_im2col(geometry: Any, pval: float) -> None:
    kh, kw, sy, sx, ph, pw, cover_all, dy, dx = geometry
    img = np.random.uniform(-1, 1, (2, 3, 5, 6)).astype('f')
    expected = slow_im2col(img, kh, kw, sy, sx, ph, pw, pval, cover_all, dy, dx)
    actual = conv.im2col_cpu(img, kh, kw, sy, sx, ph, pw, pval, cover_all, dy, dx)
    assert actual.dtype == img.dtype
    np.testing.assert_array_equal(actual, expected)
    if pval == 0:
        for function in (conv.im2col, conv.im2col_gpu):
            np.testing.assert_array_equal(function(img, *geometry), expected)


@pytest.mark.parametrize('geometry', GEOMETRIES, ids=str)
def test_col2im_is_the_adjoint_of_im2col(geometry: Any) -> None:
    _, _, sy, sx, ph, pw, _, dy, dx = geometry
    img = np.random.randint(-3, 4, (2, 3, 5, 6)).astype('d')
    col = conv.im2col(img, *geometry)
    weights = np.random.randint(-3, 4, col.shape).astype('d')
    for function in (conv.col2im, conv.col2im_cpu, conv.col2im_gpu):
        back = function(weights, sy, sx, ph, pw, 5, 6, dy, dx)
        assert back.shape == img.shape
        assert (back * img).sum() == (weights * col).sum()


def test_given_output_size() -> None:
    img = np.ones((1, 1, 4, 4), 'f')
    assert conv.im2col(img, 2, 2, 1, 1, 0, 0, out_h=2, out_w=1).shape == (1, 1, 2, 2, 2, 1)


def test_a_kernel_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(ValueError, match=r'kernel of 3x3 \(dilation 2x2\) does not fit into an image of 4x4'):
        conv.im2col(np.ones((1, 1, 4, 4), 'f'), 3, 3, 1, 1, 0, 0, dy=2, dx=2)
