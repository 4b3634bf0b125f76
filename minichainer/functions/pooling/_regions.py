"""Checks of arguments that all poolings of regions share, and their ops."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy

from minichainer.backends import cuda
from minichainer.functions._arguments import MOST, Arguments, as_integer, entries_of
from minichainer.functions._define import linear_map
from minichainer.kernels import roi as kernels
from minichainer.variable import Variable, as_variable


@linear_map(
    lambda m, gy, x_shape, rows, columns, images, name: m.unweigh_regions(
        gy, rows, columns, images, x_shape[0], name
    ),
    label=lambda rows, columns, images, name: name,
    kinds='f',
)
def weigh_regions(xp: Any, x: Any, rows: Any, columns: Any, images: Any, name: str) -> Any:
    """Weighted sums over rows and columns of images, with separate weights for each region."""
    return kernels.project(xp, x, rows, columns, images)


@linear_map(
    lambda m, g, rows, columns, images, count, name: m.weigh_regions(g, rows, columns, images, name),
    label=lambda rows, columns, images, count, name: f'{name}Grad',
    kinds='f',
)
def unweigh_regions(xp: Any, gy: Any, rows: Any, columns: Any, images: Any, count: int, name: str) -> Any:
    """The transpose of :func:`weigh_regions`."""
    return kernels.back_project(xp, gy, rows, columns, images, count)


@linear_map(
    lambda m, gy, x_shape, picked, empty, name: m.put_regions(gy, picked, x_shape, name),
    label=lambda picked, empty, name: name,
    kinds='f',
)
def pick_regions(xp: Any, x: Any, picked: kernels.Picked, empty: float, name: str) -> Any:
    """Weighted sums of few elements, ``empty`` where there are none; indices and weights are constants."""
    y = kernels.pick(xp, x, picked)
    return xp.where((picked.weights != 0).any(axis=0), y, xp.asarray(empty, y.dtype)) if empty else y


@linear_map(
    lambda m, g, picked, shape, name: m.pick_regions(g, picked, 0.0, name),
    label=lambda picked, shape, name: f'{name}Grad',
    kinds='f',
)
def put_regions(xp: Any, gy: Any, picked: kernels.Picked, shape: tuple[int, ...], name: str) -> Any:
    """The transpose of :func:`pick_regions`."""
    return kernels.put(xp, gy, picked, shape)


class RegionArguments(Arguments):
    """The checks that all poolings of regions share."""

    def regions(self, x: Any, rois: Any, roi_indices: Any) -> tuple[Variable, Any, Any]:
        """The images, and on the CPU the regions in float64 and the image index of each.

        Raises:
            InvalidType: shapes or dtypes do not fit.
            IndexError: an image does not exist.
        """
        x, rois, roi_indices = as_variable(x), self.array(rois, 'rois'), self.array(roi_indices, 'roi_indices')
        regions = self.images_and_regions(x, rois, 4)
        if roi_indices.dtype.kind not in 'iu' or roi_indices.shape != rois.shape[:1]:
            got = f'{roi_indices.dtype} of shape {roi_indices.shape}'
            raise self.misfit(f'roi_indices of an int dtype and shape {rois.shape[:1]}', got)
        images = cuda.to_cpu(roi_indices)
        self.image_numbers(images, len(x))
        return x, regions, images.astype(int) % max(len(x), 1)

    def images_and_regions(self, x: Variable, rois: Any, width: int) -> Any:
        """The regions in float64 on the CPU.

        Raises:
            InvalidType: images are not a float array (N, C, H, W), or regions not a float array (R, width).
            ValueError: the regions are not finite.
        """
        self.arrays(rois=rois)
        if x.dtype.kind != 'f' or rois.dtype.kind != 'f':
            raise self.misfit('x and rois of a float dtype', f'{x.dtype} and {rois.dtype}')
        if x.ndim != 4 or 0 in x.shape[2:]:
            raise self.misfit('images x of shape (N, C, H, W) with pixels', f'x.shape = {x.shape}')
        if rois.ndim != 2 or rois.shape[1] != width:
            raise self.misfit(f'rois of shape (R, {width})', f'rois.shape = {rois.shape}')
        regions = cuda.to_cpu(rois).astype('d')
        if not numpy.isfinite(regions).all():
            raise ValueError(f'{self.name}: rois of finite numbers expected, got infinity or NaN')
        return regions

    def image_numbers(self, images: Any, count: int) -> None:
        """Raises IndexError if the image of a region does not exist."""
        self.in_range(f'indices of the {count} images in x', images, -count, count)

    def outsize(self, outsize: Any) -> tuple[int, int]:
        """Height and width of the result; TypeError unless it is a positive int or a pair of them."""
        pair = entries_of(outsize, 2)
        if len(pair) != 2 or not all(_is_positive_int(n) for n in pair):
            raise self.wrong_type('a positive int or a pair of them', 'outsize', outsize)
        return self._possible('outsize', pair)

    def scale(self, spatial_scale: Any) -> float:
        """The scale of the regions; TypeError unless it is a positive number."""
        is_number = isinstance(spatial_scale, numbers.Real) and not isinstance(spatial_scale, bool)
        if not is_number or not 0 < float(spatial_scale) < math.inf:
            raise self.wrong_type('a positive number', 'spatial_scale', spatial_scale)
        return float(spatial_scale)

    def ratio(self, sampling_ratio: Any) -> tuple[int | None, int | None]:
        """Points along both axes; TypeError unless it is None, a positive int, or a pair of these."""
        pair = entries_of(sampling_ratio, 2)
        if len(pair) != 2 or not all(n is None or _is_positive_int(n) for n in pair):
            raise self.wrong_type('None, a positive int, or a pair of these', 'sampling_ratio', sampling_ratio)
        self._possible('sampling_ratio', [n or 1 for n in pair])
        return pair[0], pair[1]

    def _possible(self, name: str, pair: Sequence[Any]) -> tuple[int, int]:
        """Two ints; ValueError if they exceed the largest size of an array."""
        if max(pair) > MOST:
            raise self.wrong_value(f'at most {MOST}', name, tuple(pair))
        size = int(pair[0]), int(pair[1])
        self.addressable(size)
        return size


def _is_positive_int(value: Any) -> bool:
    number = as_integer(value)
    return number is not None and number > 0
