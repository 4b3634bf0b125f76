"""Pooling of regions of images in bins of whole pixels."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.backend import on_device_of_arguments
from minichainer.functions.pooling._regions import RegionArguments, pick_regions, weigh_regions
from minichainer.kernels import roi as kernels
from minichainer.variable import Variable, as_array, as_variable

_with_images, _max = RegionArguments('ROIPooling2D'), RegionArguments('ROIMaxPooling2D')
_average = RegionArguments('ROIAveragePooling2D')


@on_device_of_arguments
def roi_pooling_2d(x: Any, rois: Any, outh: int, outw: int, spatial_scale: float) -> Variable:
    """The largest pixel of each bin of regions, including their last row and column.

    The gradient goes to the first maximum of a bin; a bin outside of its image is 0. Regions get no gradient.

    Args:
        x: images, Variable or float array (N, C, H, W).
        rois: regions, float array (R, 5): number of the image, x and y of the first pixel, x and y of the last
            pixel; the coordinates are multiplied by the scale and rounded.
        outh: height of the result.
        outw: width of the result.
        spatial_scale: pixels of ``x`` per unit of ``rois``.

    Returns:
        Variable (R, C, outh, outw).

    Raises:
        InvalidType: shapes or dtypes do not fit.
        TypeError: ``outh`` or ``outw`` is not a positive int, or the scale not a positive number.
        IndexError: an image does not exist.

    Source: `Fast R-CNN <https://arxiv.org/abs/1504.08083>`_.

    >>> import numpy as np, minichainer.functions as F
    >>> x = np.arange(16.).reshape(1, 1, 4, 4)
    >>> F.roi_pooling_2d(x, np.array([[0., 1., 1., 3., 2.]]), 1, 2, 1.0).array
    array([[[[10., 11.]]]])
    """
    x, rois = as_variable(x), as_array(rois)
    regions = _with_images.images_and_regions(x, rois, 5)
    size, scale = _with_images.outsize((outh, outw)), _with_images.scale(spatial_scale)
    images = regions[:, 0].astype(int)
    _with_images.image_numbers(images, len(x))
    left, top, right, bottom = numpy.rint(regions[:, 1:] * scale).T
    corners = numpy.stack([top, left, bottom + 1, right + 1], axis=1)
    return _maxima(_with_images.label, x, _pixel_bins(corners, size, x), images % max(len(x), 1), 0.0)


@on_device_of_arguments
def roi_max_pooling_2d(x: Any, rois: Any, roi_indices: Any, outsize: Any, spatial_scale: float) -> Variable:
    """The largest pixel of each bin of regions.

    The gradient goes to the first maximum of a bin; a bin outside of its image is minus infinity. Regions get no
    gradient.

    Args:
        x: images, Variable or float array (N, C, H, W).
        rois: regions, float array (R, 4): y and x where they begin, y and x where they end; they are multiplied by
            the scale and rounded, and the end is not in the region.
        roi_indices: number of the image of each region, int array (R,).
        outsize: height and width of the result, an int or a pair.
        spatial_scale: pixels of ``x`` per unit of ``rois``.

    Returns:
        Variable (R, C, *outsize).

    Raises:
        InvalidType: shapes or dtypes do not fit.
        TypeError: ``outsize`` is not a positive int nor a pair of them, or the scale not a positive number.
        IndexError: an image does not exist.

    Source: `Fast R-CNN <https://arxiv.org/abs/1504.08083>`_.

    >>> import numpy as np, minichainer.functions as F
    >>> x = np.arange(16.).reshape(1, 1, 4, 4)
    >>> F.roi_max_pooling_2d(x, np.array([[1., 1., 3., 4.]]), np.array([0]), (1, 2), 1.0).array
    array([[[[10., 11.]]]])
    """
    x, regions, images = _max.regions(x, rois, roi_indices)
    size, scale = _max.outsize(outsize), _max.scale(spatial_scale)
    return _maxima(_max.label, x, _pixel_bins(numpy.rint(regions * scale), size, x), images, -numpy.inf)


@on_device_of_arguments
def roi_average_pooling_2d(x: Any, rois: Any, roi_indices: Any, outsize: Any, spatial_scale: float) -> Variable:
    """The mean of each bin of regions; a bin outside of its image is 0.

    Args:
        x: images, Variable or float array (N, C, H, W).
        rois: regions as in :func:`roi_max_pooling_2d`; they get no gradient.
        roi_indices: number of the image of each region, int array (R,).
        outsize: height and width of the result, an int or a pair.
        spatial_scale: pixels of ``x`` per unit of ``rois``.

    Returns:
        Variable (R, C, *outsize).

    Raises:
        InvalidType: shapes or dtypes do not fit.
        TypeError: ``outsize`` is not a positive int nor a pair of them, or the scale not a positive number.
        IndexError: an image does not exist.

    Source: `Fast R-CNN <https://arxiv.org/abs/1504.08083>`_.

    >>> import numpy as np, minichainer.functions as F
    >>> x = np.arange(16.).reshape(1, 1, 4, 4)
    >>> F.roi_average_pooling_2d(x, np.array([[1., 1., 3., 4.]]), np.array([0]), (1, 3), 1.0).array
    array([[[[7., 8., 9.]]]])
    """
    x, regions, images = _average.regions(x, rois, roi_indices)
    size, scale = _average.outsize(outsize), _average.scale(spatial_scale)
    bins = _pixel_bins(numpy.rint(regions * scale), size, x)
    rows, columns = (x.xp.asarray(kernels.bin_means(b, n)) for b, n in zip(bins, x.shape[2:], strict=True))
    y: Variable = weigh_regions(x, rows, columns, images, _average.label)
    return y


def _pixel_bins(corners: Any, size: tuple[int, int], x: Variable) -> tuple[kernels.Bins, kernels.Bins]:
    """Bins along both axes from (top, left, bottom, right); a region has at least one row and column."""
    lengths = numpy.maximum(corners[:, 2:] - corners[:, :2], 1)
    rows, columns = (
        kernels.pixel_bins(corners[:, axis], lengths[:, axis], size[axis], x.shape[2 + axis]) for axis in range(2)
    )
    return rows, columns


def _maxima(name: str, x: Variable, bins: tuple[kernels.Bins, kernels.Bins], images: Any, empty: float) -> Variable:
    rows, columns = bins
    picked = kernels.places_of_bin_maxima(x.xp, x._data, rows, columns, images)
    y: Variable = pick_regions(x, picked, empty, name)
    return y
