"""Pooling of regions of images at interpolated points, without rounding the regions."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.backend import on_device_of_arguments
from minichainer.functions.pooling._regions import RegionArguments, pick_regions, weigh_regions
from minichainer.kernels import roi as kernels
from minichainer.variable import Variable

_average, _max = RegionArguments('ROIAverageAlign2D'), RegionArguments('ROIMaxAlign2D')


@on_device_of_arguments
def roi_average_align_2d(
    x: Any, rois: Any, roi_indices: Any, outsize: Any, spatial_scale: float, sampling_ratio: Any = None
) -> Variable:
    """The mean of interpolated points in each bin of regions; points outside of the image are 0.

    Args:
        x: images, Variable or float array (N, C, H, W).
        rois: regions, float array (R, 4): y and x where they begin, y and x where they end; they get no gradient.
        roi_indices: number of the image of each region, int array (R,).
        outsize: height and width of the result, an int or a pair.
        spatial_scale: pixels of ``x`` per unit of ``rois``.
        sampling_ratio: points of a bin along each axis, an int or a pair; where None, as many as it has pixels.

    Returns:
        Variable (R, C, *outsize).

    Raises:
        InvalidType: shapes or dtypes do not fit.
        TypeError: ``outsize`` or ``sampling_ratio`` is not a positive int nor a pair of them, or the scale not a
            positive number.
        IndexError: an image does not exist.

    Source: `Mask R-CNN <https://arxiv.org/abs/1703.06870>`_.

    >>> import numpy as np, minichainer.functions as F
    >>> x = np.arange(16.).reshape(1, 1, 4, 4)
    >>> F.roi_average_align_2d(x, np.array([[0., 0., 2., 3.]]), np.array([0]), (1, 2), 1.0).array
    array([[[[4.75, 6.25]]]])
    """
    x, images, (rows, columns) = _points(_average, x, rois, roi_indices, outsize, spatial_scale, sampling_ratio)
    height, width = x.shape[2:]
    over_rows, over_columns = [x.xp.asarray(kernels.point_means(p, n)) for p, n in ((rows, height), (columns, width))]
    return weigh_regions(x, over_rows, over_columns, images, _average.label)


@on_device_of_arguments
def roi_max_align_2d(
    x: Any, rois: Any, roi_indices: Any, outsize: Any, spatial_scale: float, sampling_ratio: Any = None
) -> Variable:
    """The largest of interpolated points in each bin of regions.

    The gradient goes to the pixels around the first largest point. A bin without points on the image is minus
    infinity.

    Args:
        x: images, Variable or float array (N, C, H, W).
        rois: regions as in :func:`roi_average_align_2d`; they get no gradient.
        roi_indices: number of the image of each region, int array (R,).
        outsize: height and width of the result, an int or a pair.
        spatial_scale: pixels of ``x`` per unit of ``rois``.
        sampling_ratio: points of a bin along each axis, an int or a pair; where None, as many as it has pixels.

    Returns:
        Variable (R, C, *outsize).

    Raises:
        InvalidType: shapes or dtypes do not fit.
        TypeError: ``outsize`` or ``sampling_ratio`` is not a positive int nor a pair of them, or the scale not a
            positive number.
        IndexError: an image does not exist.

    Source: `Mask R-CNN <https://arxiv.org/abs/1703.06870>`_.

    >>> import numpy as np, minichainer.functions as F
    >>> x = np.arange(16.).reshape(1, 1, 4, 4)
    >>> F.roi_max_align_2d(x, np.array([[0., 0., 2., 3.]]), np.array([0]), (1, 2), 1.0).array
    array([[[[7.125, 8.625]]]])
    """
    x, images, (rows, columns) = _points(_max, x, rois, roi_indices, outsize, spatial_scale, sampling_ratio)
    picked = kernels.places_of_point_maxima(x.xp, x._data, rows, columns, images)
    y: Variable = pick_regions(x, picked, -numpy.inf, _max.label)
    return y


def _points(
    arguments: RegionArguments,
    x: Any,
    rois: Any,
    roi_indices: Any,
    outsize: Any,
    spatial_scale: Any,
    sampling_ratio: Any,
) -> tuple[Variable, Any, tuple[kernels.Points, kernels.Points]]:
    """The images, the image of each region, and the points along both axes; regions have at least one pixel."""
    x, regions, images = arguments.regions(x, rois, roi_indices)
    size, scale = arguments.outsize(outsize), arguments.scale(spatial_scale)
    ratio = arguments.ratio(sampling_ratio)
    begin = regions[:, :2] * scale
    length = numpy.maximum(regions[:, 2:] * scale - begin, 1)
    rows, columns = (
        kernels.sampled_points(begin[:, axis], length[:, axis], size[axis], x.shape[2 + axis], ratio[axis])
        for axis in range(2)
    )
    return x, images, (rows, columns)
