"""Crops of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy


def oversample(images: Any, crop_dims: Sequence[int]) -> numpy.ndarray:
    """Crops each image ten times: at the four corners and in the middle, and the mirror images of these.

    Args:
        images: images of one size, an array or a sequence of arrays, of shape (batch, channels, height, width).
        crop_dims: height and width of the crops.

    Returns:
        Array (10 * batch, channels, *crop_dims): for each image the corners at the upper left, upper right, lower
        left and lower right and the middle, and these five mirrored.

    Raises:
        ValueError: an image has not three axes, or is smaller than a crop.
        TypeError: ``crop_dims`` are not two numbers.

    >>> import numpy as np
    >>> from minichainer.utils import imgproc
    >>> imgproc.oversample(np.zeros((2, 3, 256, 256), 'f'), (224, 224)).shape
    (20, 3, 224, 224)
    """
    if numpy.shape(crop_dims) != (2,):
        raise TypeError(f'oversample: crop_dims must be height and width, got {crop_dims!r}')
    batch, (h, w) = numpy.asarray(images), crop_dims
    if batch.ndim != 4 or not (0 < h <= batch.shape[2] and 0 < w <= batch.shape[3]):
        raise ValueError(
            f'oversample: expected images (batch, channels, height, width) of at least {h} x {w}, '
            f'got shape {batch.shape}'
        )
    below, right = batch.shape[2] - h, batch.shape[3] - w
    corners = [(0, 0), (0, right), (below, 0), (below, right), (below // 2, right // 2)]
    crops = numpy.stack([batch[:, :, y : y + h, x : x + w] for y, x in corners], axis=1)
    return numpy.concatenate([crops, crops[..., ::-1]], axis=1).reshape(-1, batch.shape[1], h, w)
