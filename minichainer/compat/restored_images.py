"""What stands in for functions of SciPy for images and statistics, and for methods of Pillow."""

from __future__ import annotations

from typing import Any

import numpy


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError('Pillow is missing, which images need: pip install pillow') from error
    return Image


def bytescale(data: Any, cmin: Any = None, cmax: Any = None, high: int = 255, low: int = 0) -> Any:
    """Scales numbers to ``low`` ... ``high`` as uint8; uint8 stays."""
    data = numpy.asarray(data)
    if data.dtype == numpy.uint8:
        return data
    lowest = data.min() if cmin is None else cmin
    highest = data.max() if cmax is None else cmax
    scale = float(high - low) / ((highest - lowest) or 1)
    return (((data - lowest) * scale + low).clip(low, high) + 0.5).astype(numpy.uint8)


def toimage(
    arr: Any, high: int = 255, low: int = 0, cmin: Any = None, cmax: Any = None, pal: Any = None, mode: Any = None,
    channel_axis: int | None = None,
) -> Any:  # fmt: skip
    """An image of an array, of shape (h, w), (h, w, 3 or 4), or with channels on another axis."""
    data = numpy.asarray(arr)
    if data.ndim == 2:
        if mode == 'F':
            return _pillow().fromarray(data.astype(numpy.float32))
        return _pillow().fromarray(bytescale(data, cmin, cmax, high, low))
    if data.ndim != 3 or not {3, 4} & set(data.shape):
        raise ValueError(f'toimage: expected an array with 2 axes, or 3 with 3 or 4 channels, got shape {data.shape}')
    if channel_axis is None:
        channel_axis = next(axis for axis in (2, 0, 1) if data.shape[axis] in (3, 4))
    return _pillow().fromarray(bytescale(numpy.moveaxis(data, channel_axis, 2), cmin, cmax, high, low))


def fromimage(im: Any, flatten: bool = False, mode: Any = None) -> Any:
    if mode is not None and mode != im.mode:
        im = im.convert(mode)
    elif im.mode == 'P':
        im = im.convert('RGBA' if 'transparency' in im.info else 'RGB')
    elif im.mode == '1':
        im = im.convert('L')
    return numpy.array(im.convert('F') if flatten else im)


def imread(name: Any, flatten: bool = False, mode: Any = None) -> Any:
    with _pillow().open(name) as image:
        return fromimage(image, flatten, mode)


def imsave(name: Any, arr: Any, format: Any = None) -> None:
    toimage(arr, channel_axis=2 if numpy.ndim(arr) == 3 else None).save(name, format)


def imshow(arr: Any) -> None:
    toimage(arr).show()


_FILTERS = {'nearest': 0, 'lanczos': 1, 'bilinear': 2, 'bicubic': 3, 'cubic': 3}


def imresize(arr: Any, size: Any, interp: str = 'bilinear', mode: Any = None) -> Any:
    """Resizes to a fraction (float), a percentage (int), or a shape."""
    image = toimage(arr, mode=mode)
    if numpy.issubdtype(type(size), numpy.integer):
        shape = tuple((numpy.array(image.size) * (size / 100.0)).astype(int))
    elif numpy.issubdtype(type(size), numpy.floating):
        shape = tuple((numpy.array(image.size) * size).astype(int))
    else:
        shape = (size[1], size[0])
    return fromimage(image.resize(tuple(map(int, shape)), resample=_FILTERS[interp]))


def imrotate(arr: Any, angle: float, interp: str = 'bilinear') -> Any:
    return fromimage(toimage(arr).rotate(angle, resample=_FILTERS[interp]))


def draw_textsize(draw: Any, text: Any, font: Any = None, *args: Any, **kwargs: Any) -> tuple[int, int]:
    box = draw.textbbox((0, 0), text, font, *args, **kwargs)
    return box[2], box[3]


def draw_multiline_textsize(draw: Any, text: Any, font: Any = None, *args: Any, **kwargs: Any) -> tuple[int, int]:
    box = draw.multiline_textbbox((0, 0), text, font, *args, **kwargs)
    return box[2], box[3]


def font_getsize(font: Any, text: Any, *args: Any, **kwargs: Any) -> tuple[int, int]:
    box = font.getbbox(text, *args, **kwargs)
    return box[2], box[3]


def font_getoffset(font: Any, text: Any) -> tuple[int, int]:
    box = font.getbbox(text)
    return box[0], box[1]


# --- statistics and calculus ---------------------------------------------------------------------------------------
def derivative(func: Any, x0: Any, dx: float = 1.0, n: int = 1, args: Any = (), order: int = 3) -> Any:
    """The ``n``-th derivative by a central difference with ``order`` points."""
    half = order // 2
    offsets = numpy.arange(-half, half + 1)
    system = numpy.vander(offsets, increasing=True).T
    target = numpy.zeros(order)
    target[n] = numpy.prod(numpy.arange(1, n + 1))
    weights = numpy.linalg.solve(system, target)
    return sum(w * func(x0 + k * dx, *args) for w, k in zip(weights, offsets, strict=True) if w) / dx**n


def simps(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1, even: Any = None) -> Any:
    from scipy.integrate import simpson

    return simpson(y, x=x, dx=dx, axis=axis)


def spline(xk: Any, yk: Any, xnew: Any, order: int = 3, kind: str = 'smoothest', conds: Any = None) -> Any:
    from scipy.interpolate import make_interp_spline

    return make_interp_spline(xk, yk, order)(xnew)


def binom_test(x: Any, n: Any = None, p: float = 0.5, alternative: str = 'two-sided') -> float:
    from scipy.stats import binomtest

    return float(binomtest(int(x), int(n), p, alternative).pvalue)


def median_deviation(x: Any, axis: Any = 0, center: Any = numpy.median, scale: Any = 1.4826, **kwargs: Any) -> Any:
    from scipy.stats import median_abs_deviation

    return median_abs_deviation(x, axis, center) * (scale if not isinstance(scale, str) else 1.4826)


def nanstd(x: Any, axis: Any = 0, bias: bool = False) -> Any:
    return numpy.nanstd(x, axis, ddof=0 if bias else 1)


def itemfreq(a: Any) -> Any:
    return numpy.array(numpy.unique(a, return_counts=True)).T
