"""Images and labels in the form that the arguments of ``get_mnist`` and the like ask for."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer._dtype import get_dtype
from minichainer.datasets.tuple_dataset import TupleDataset


def as_floats(images: numpy.ndarray, scale: float, largest: int, dtype: Any) -> numpy.ndarray:
    """Pixels from 0 to ``scale``, of integers up to ``largest``."""
    floats = images.astype(get_dtype(dtype, map_mixed16=numpy.float16))
    floats *= scale / largest
    return floats


def check_ndim(name: str, ndim: int, possible: tuple[int, ...]) -> None:
    """Raises ValueError if images cannot have this number of axes."""
    if ndim not in possible:
        *first, last = possible
        raise ValueError(f'{name}: ndim must be {", ".join(map(str, first))} or {last}, got {ndim!r}')


def shaped(images: numpy.ndarray, ndim: int, rgb_format: bool) -> numpy.ndarray:
    """Images (N, H * W) of one channel with 1, 2 or 3 axes each."""
    side = round(images.shape[1] ** 0.5)
    if ndim == 1:
        return images
    if ndim == 2:
        return images.reshape(-1, side, side)
    images = images.reshape(-1, 1, side, side)
    return numpy.repeat(images, 3, axis=1) if rgb_format else images


def labelled(images: numpy.ndarray, labels: numpy.ndarray, withlabel: bool, label_dtype: Any) -> Any:
    """A dataset of (image, label), or the images alone."""
    return TupleDataset(images, labels.astype(label_dtype)) if withlabel else images
