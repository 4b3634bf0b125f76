"""utils.imgproc and utils.conv_nd."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minichainer.utils import conv, conv_nd, imgproc


# --- oversample ----------------------------------------------------------------------------------------------------
def test_ten_crops_in_chainers_order() -> None:
    images = np.arange(2 * 2 * 4 * 5).reshape(2, 2, 4, 5)
    crops = imgproc.oversample(images, (2, 3))
    assert crops.shape == (20, 2, 2, 3) and crops.dtype == images.dtype
    for i, image in enumerate(images):
        places = [(0, 0), (0, 2), (2, 0), (2, 2), (1, 1)]
        expected = [image[:, y : y + 2, x : x + 3] for y, x in places]
        np.testing.assert_array_equal(crops[10 * i : 10 * i + 5], expected)
        np.testing.assert_array_equal(crops[10 * i + 5 : 10 * i + 10], np.array(expected)[..., ::-1])


def test_odd_margins_are_chainers() -> None:
    """Chainer 7.8.1 crops the middle of 6 x 5 images to 3 x 2 from (1, 1)."""
    images = np.arange(30.0).reshape(1, 1, 6, 5)
    assert imgproc.oversample(images, (3, 2))[4, 0, 0, 0] == images[0, 0, 1, 1]


def test_crops_of_a_list_and_of_the_whole_image() -> None:
    images = [np.ones((3, 4, 4), 'u1')] * 2
    crops = imgproc.oversample(images, np.array([4, 4]))
    assert crops.shape == (20, 3, 4, 4) and crops.dtype == np.uint8
    assert imgproc.oversample(np.zeros((0, 3, 4, 4)), (2, 2)).shape == (0, 3, 2, 2)


REFUSED = [
    (np.zeros((1, 3, 4, 4)), 2, TypeError, 'crop_dims must be height and width, got 2'),
    (np.zeros((1, 3, 4, 4)), (5, 2), ValueError, r'at least 5 x 2, got shape \(1, 3, 4, 4\)'),
    (np.zeros((1, 3, 4, 4)), (2, 0), ValueError, 'at least 2 x 0'),
    (np.zeros((3, 4, 4)), (2, 2), ValueError, r'got shape \(3, 4, 4\)'),
]


@pytest.mark.parametrize(('images', 'crop', 'error', 'message'), REFUSED)
def test_what_cannot_be_cropped(images: Any, crop: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        imgproc.oversample(images, crop)


# --- im2col of any number of axes ----------------------------------------------------------------------------------
# sizes, kernel, stride, padding, cover_all, dilation
GEOMETRIES = {
    'one axis': ((7,), (3,), (2,), (1,), False, 1),
    'two axes': ((5, 6), (2, 3), (1, 2), (1, 0), False, (2, 1)),
    'three axes': ((5, 6, 4), (2, 3, 2), (1, 2, 1), (1, 0, 1), True, (1, 2, 1)),
    'cover_all': ((6, 6), (2, 2), (3, 3), (0, 0), True, 1),
    'four axes': ((3, 3, 3, 3), (2, 2, 2, 2), (1, 1, 1, 1), (0, 0, 0, 0), False, 1),
}


def _by_definition(img: Any, kernel: Any, stride: Any, pad: Any, cover_all: bool, dilate: Any, pval: float) -> Any:
    """Element by element."""
    n = len(kernel)
    dilate = conv_nd.as_tuple(dilate, n)
    axes = zip(img.shape[2:], kernel, stride, pad, dilate, strict=True)
    outs = [conv.get_conv_outsize(size, k, s, p, cover_all, d) for size, k, s, p, d in axes]
    col = np.full((*img.shape[:2], *kernel, *outs), pval, img.dtype)
    for index in np.ndindex(*kernel, *outs):
        place = [o * s - p + k * d for k, o, s, p, d in zip(index, index[n:], stride, pad, dilate, strict=False)]
        if all(0 <= x < size for x, size in zip(place, img.shape[2:], strict=True)):
            col[(slice(None), slice(None), *index)] = img[(slice(None), slice(None), *place)]
    return col


@pytest.mark.parametrize('name', GEOMETRIES)
def test_im2col_of_any_number_of_axes(name: str, xp: Any) -> None:
    sizes, *geometry = GEOMETRIES[name]
    img = xp.asarray(np.random.rand(2, 3, *sizes).astype('f'))
    found = conv_nd.im2col_nd_cpu(img, *geometry[:3], 7.0, *geometry[3:])
    expected = _by_definition(np.asarray(img.get() if hasattr(img, 'get') else img), *geometry, 7.0)
    xp.testing.assert_array_equal(found, xp.asarray(expected))
    for form in (conv_nd.im2col_nd, conv_nd.im2col_nd_gpu):
        xp.testing.assert_array_equal(
            form(img, *geometry), conv_nd.im2col_nd_cpu(img, *geometry[:3], 0, *geometry[3:])
        )


@pytest.mark.parametrize('name', GEOMETRIES)
def test_col2im_is_the_transpose(name: str) -> None:
    """<im2col(a), b> = <a, col2im(b)>."""
    sizes, kernel, stride, pad, cover_all, dilate = GEOMETRIES[name]
    a = np.random.rand(2, 3, *sizes)
    col = conv_nd.im2col_nd(a, kernel, stride, pad, cover_all, dilate)
    b = np.random.rand(*col.shape)
    for form in (conv_nd.col2im_nd, conv_nd.col2im_nd_cpu, conv_nd.col2im_nd_gpu):
        img = form(b, stride, pad, sizes, dilate)
        assert img.shape == a.shape
        assert (a * img).sum() == pytest.approx((col * b).sum())


def test_two_axes_are_those_of_conv() -> None:
    img = np.random.rand(2, 3, 7, 8)
    expected = conv.im2col_cpu(img, 3, 2, 2, 1, 1, 0)
    np.testing.assert_array_equal(conv_nd.im2col_nd(img, (3, 2), (2, 1), (1, 0)), expected)


def test_geometries_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match=r'a kernel of \(9, 9\) .* does not fit into an image of \(4, 4\)'):
        conv_nd.im2col_nd(np.zeros((1, 1, 4, 4)), (9, 9), (1, 1), (0, 0))
    with pytest.raises(ValueError, match='expected a number or 2 numbers, got'):
        conv_nd.im2col_nd(np.zeros((1, 1, 4, 4)), (2, 2, 2), (1, 1), (0, 0))
    with pytest.raises(ValueError, match='expected a number or 2 numbers'):
        conv_nd.col2im_nd(np.zeros((1, 1, 2, 2, 3, 3)), (1, 1), (0,), (4, 4))
