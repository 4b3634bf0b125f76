"""Figures of the classifiers of images, recorded from Chainer (``tests/reference/vision.json``)."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np

_PATH = Path(__file__).resolve().parents[1] / 'reference' / 'vision.json'
FIGURES = json.loads(_PATH.read_text(encoding='utf-8'))


def fill(model: Any) -> None:
    """Weights that depend on the names of the parameters only, with outputs of moderate size."""
    for path, param in model.namedparams():
        values = _uniform(path, param.shape) * 2 - 1
        if param.ndim > 1:
            values *= np.sqrt(6.0 / np.prod(param.shape[1:]))
        else:
            values = values * 0.1 + (0.3 if path.endswith('bn3/gamma') else path.endswith('gamma'))
        param.array[...] = values
    for path, link in model.namedlinks():
        if hasattr(link, 'avg_mean'):
            both = _uniform(path, (2, *link.avg_mean.shape))
            link.avg_mean[...] = both[0] * 0.2 - 0.1
            link.avg_var[...] = both[1] + 0.5


def _uniform(path: str, shape: Any) -> np.ndarray:
    return np.random.RandomState(zlib.crc32(path.encode())).random_sample(shape)


def scale_for_pixels(model: Any) -> None:
    """Weights for images whose pixels are up to 255."""
    model.conv1.W.array *= 0.01
    if hasattr(model, 'bn1'):
        model.bn1.gamma.array *= 0.01
        model.bn1.avg_var.fill(1)


def images(size: int) -> np.ndarray:
    return (np.random.RandomState(1).random_sample((1, 3, size, size)) * 2 - 1).astype('f')


def pixels() -> list[np.ndarray]:
    """An image in colour and a grey one."""
    colour = (np.random.RandomState(2).random_sample((3, 40, 50)) * 255).astype('f')
    return [colour, (np.random.RandomState(3).random_sample((30, 28)) * 255).astype('u1')]


def assert_agrees(array: Any, figure: dict[str, Any], precision: float = 2e-5) -> None:
    """Compares the shape, the root of the mean square and some elements."""
    array = np.asarray(array, np.float64)
    assert list(array.shape) == figure['shape']
    rms = np.sqrt(np.mean(array * array))
    np.testing.assert_allclose(rms, figure['rms'], rtol=precision)
    some = array.ravel()[:: max(1, array.size // 5)][:5]
    np.testing.assert_allclose(some, figure['some'], rtol=0, atol=precision * rms)
