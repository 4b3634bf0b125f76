"""Checks of the arguments that poolings of regions have in common, and the ops that all of them are."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy

from minichainer.backend import get_array_module
from minichainer.backends import cuda
from minichainer.functions._checks import MOST, check_size, entries_of, invalid
from minichainer.functions._define import linear_map
from minichainer.kernels import roi as kernels
from minichainer.variable import Variable, as_array, as_variable


@linear_map(
    lambda m, gy, x_shape, rows, columns, images, name: m.unweigh_regions(
        gy, rows, columns, images, x_shape[0], name
    ),
    label=lambda rows, columns, images, name: name, kinds='f',
)  # fmt: skip
def weigh_regions(xp: Any, x: Any, rows: Any, columns: Any, images: Any, name: str) -> Any:
    """Weighted sums over rows and columns of images, with weights of each region's own."""
    return kernels.project(xp, x, rows, columns, images)


@linear_map(
    lambda m, g, rows, columns, images, count, name: m.weigh_regions(g, rows, columns, images, name),
    label=lambda rows, columns, images, count, name: f'{name}Grad', kinds='f',
)  # fmt: skip
def unweigh_regions(xp: Any, gy: Any, rows: Any, columns: Any, images: Any, count: int, name: str) -> Any:
    """The transpose of :func:`weigh_regions`."""
    return kernels.back_project(xp, gy, rows, columns, images, count)


@linear_map(
    lambda m, gy, x_shape, picked, empty, name: m.put_regions(gy, picked, x_shape, name),
    label=lambda picked, empty, name: name, kinds='f',
)  # fmt: skip
def pick_regions(xp: Any, x: Any, picked: kernels.Picked, empty: float, name: str) -> Any:
    """Weighted sums of few elements, ``empty`` where there are none; places and weights are constants."""
    y = kernels.pick(xp, x, picked)
    return xp.where((picked.weights != 0).any(axis=0), y, xp.asarray(empty, y.dtype)) if empty else y


@linear_map(
    lambda m, g, picked, shape, name: m.pick_regions(g, picked, 0.0, name),
    label=lambda picked, shape, name: f'{name}Grad', kinds='f',
)  # fmt: skip
def put_regions(xp: Any, gy: Any, picked: kernels.Picked, shape: tuple[int, ...], name: str) -> Any:
    """The transpose of :func:`pick_regions`."""
    return kernels.put(xp, gy, picked, shape)


def checked_regions(name: str, x: Any, rois: Any, roi_indices: Any) -> tuple[Variable, Any, Any]:
    """The images, and on the CPU the regions in float64 with the image of each.

    Raises:
        InvalidType: shapes or dtypes do not fit.
        IndexError: an image does not exist.
    """
    x, rois, roi_indices = as_variable(x), as_array(rois), as_array(roi_indices)
    check_images_and_regions(name, x, rois, 4)
    if roi_indices.dtype.kind not in 'iu' or roi_indices.shape != rois.shape[:1]:
        came = f'{roi_indices.dtype} of shape {roi_indices.shape}'
        raise _misfit(name, f'roi_indices of an int dtype and shape {rois.shape[:1]}', came)
    images = cuda.to_cpu(roi_indices)
    check_image_numbers(name, images, len(x))
    return x, cuda.to_cpu(rois).astype('d'), images.astype(int) % max(len(x), 1)


def check_images_and_regions(name: str, x: Variable, rois: Any, width: int) -> None:
    """Raises InvalidType where images are no (N, C, H, W) of floats, or regions no (R, width) of floats.

    Regions that are not finite are a ValueError.
    """
    if x.dtype.kind != 'f' or rois.dtype.kind != 'f':
        raise _misfit(name, 'x and rois of a float dtype', f'{x.dtype} and {rois.dtype}')
    if x.ndim != 4 or 0 in x.shape[2:]:
        raise _misfit(name, 'images x of shape (N, C, H, W) with pixels', f'x.shape = {x.shape}')
    if rois.ndim != 2 or rois.shape[1] != width:
        raise _misfit(name, f'rois of shape (R, {width})', f'rois.shape = {rois.shape}')
    if not get_array_module(rois).isfinite(rois).all():
        raise ValueError(f'{name}: rois of finite numbers expected, came infinity or NaN')


def check_image_numbers(name: str, images: Any, count: int) -> None:
    """Raises IndexError where a region lies on an image that does not exist."""
    if images.size and not (images.min() >= -count and images.max() < count):
        came = f'from {images.min()} to {images.max()}'
        raise IndexError(f'{name}: numbers of the {count} images in x expected for the regions, came {came}')


def checked_outsize(name: str, outsize: Any) -> tuple[int, int]:
    """Height and width of the result; TypeError where it is neither a positive int nor a pair of them."""
    pair = entries_of(outsize, 2)
    if len(pair) != 2 or not all(_is_positive_int(n) for n in pair):
        raise TypeError(f'{name}: a positive int or a pair of them expected as outsize, came {outsize!r}')
    return _possible(name, 'outsize', pair)


def checked_scale(name: str, spatial_scale: Any) -> float:
    """The scale of the regions; TypeError where it is no positive number."""
    is_number = isinstance(spatial_scale, numbers.Real) and not isinstance(spatial_scale, bool)
    if not is_number or not 0 < float(spatial_scale) < math.inf:
        raise TypeError(f'{name}: a positive number expected as spatial_scale, came {spatial_scale!r}')
    return float(spatial_scale)


def checked_ratio(name: str, sampling_ratio: Any) -> tuple[int | None, int | None]:
    """Points along both axes; TypeError where they are neither None nor a positive int, nor a pair of these."""
    pair = entries_of(sampling_ratio, 2)
    if len(pair) != 2 or not all(n is None or _is_positive_int(n) for n in pair):
        expected = 'None, a positive int, or a pair of these'
        raise TypeError(f'{name}: {expected} expected as sampling_ratio, came {sampling_ratio!r}')
    _possible(name, 'sampling_ratio', [n or 1 for n in pair])
    return pair[0], pair[1]


def _possible(name: str, argument: str, pair: Sequence[Any]) -> tuple[int, int]:
    """Two ints; ValueError where they are larger than any array's sizes."""
    if max(pair) > MOST:
        raise ValueError(f'{name}: {argument} of at most {MOST} expected, got {tuple(pair)}')
    size = int(pair[0]), int(pair[1])
    check_size(name, size)
    return size


def _is_positive_int(value: Any) -> bool:
    return isinstance(value, (int, numpy.integer)) and not isinstance(value, bool) and int(value) > 0


def _misfit(name: str, expected: str, actual: str) -> Exception:
    return invalid(expected, actual, f'Invalid operation is performed in: {name} (Forward)')
