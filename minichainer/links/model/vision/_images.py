"""Images as the models of this package expect them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minichainer._dtype import get_dtype
from minichainer.functions._arguments import as_integer


def prepare_image(image: Any, size: Any, mean: Sequence[float]) -> numpy.ndarray:
    """An image as an array (3, height, width): resized, in the order blue, green, red, minus a mean colour.

    Args:
        image: an image of Pillow, or an array of pixels from 0 to 255 of shape (height, width), (1, height, width),
            (3, height, width) or (height, width, 3), in the order red, green, blue.
        size: width and height to resize to; None to leave the size.
        mean: mean blue, green and red.

    Returns:
        Array of ``config.dtype``.

    Raises:
        ImportError: Pillow is not installed.
        TypeError: ``image`` or ``size`` has a wrong type.
        ValueError: ``image`` has another shape, or numbers that are not pixels.
    """
    check_pillow()
    size = _checked_size(size)
    if isinstance(image, numpy.ndarray):
        image = _from_array(image)
    elif not hasattr(image, 'convert'):
        raise TypeError(f'prepare: image must be a NumPy array or an image of Pillow, got {type(image).__name__}')
    image = image.convert('RGB')
    if size is not None:
        image = image.resize(size)
    pixels: numpy.ndarray = numpy.asarray(image, dtype=get_dtype())[:, :, ::-1]
    centred: numpy.ndarray = (pixels - numpy.array(mean, pixels.dtype)).transpose(2, 0, 1)
    return centred


def check_pillow() -> None:
    """Raises ImportError if Pillow is not installed."""
    try:
        import PIL.Image  # noqa: F401
    except ImportError as error:
        raise ImportError('prepare needs Pillow: pip install pillow') from error


def _from_array(pixels: numpy.ndarray) -> Any:
    import PIL.Image

    if pixels.ndim == 3 and pixels.shape[0] == 1:
        pixels = pixels[0]
    elif pixels.ndim == 3 and pixels.shape[0] == 3:
        pixels = pixels.transpose(1, 2, 0)
    if (pixels.ndim != 2 and not (pixels.ndim == 3 and pixels.shape[2] == 3)) or not pixels.size:
        raise ValueError(
            'prepare: image must have the shape (height, width), (1, height, width), (3, height, width) or '
            f'(height, width, 3), got {pixels.shape}'
        )
    if pixels.dtype.kind not in 'biuf' or not (pixels.min() >= 0 and pixels.max() < 256):
        raise ValueError(
            f'prepare: pixels must be numbers from 0 to 255, got {pixels.min()} to {pixels.max()} ({pixels.dtype})'
        )
    return PIL.Image.fromarray(pixels.astype(numpy.uint8))


def _checked_size(size: Any) -> tuple[int, int] | None:
    if size is None:
        return None
    if not isinstance(size, (tuple, list)) or len(size) != 2 or any(as_integer(n) is None for n in size):
        raise TypeError(f'prepare: size must be None or two ints, width and height, got {size!r}')
    if min(size) < 1:
        raise ValueError(f'prepare: width and height must be at least 1, got {size!r}')
    return size[0], size[1]
