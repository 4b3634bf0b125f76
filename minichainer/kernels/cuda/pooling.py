"""Maxima of windows over up to three axes: one thread looks through a window, or through the windows of an element.

Axes that an image lacks have size 1. The first maximum in C order counts, as on the host; NaN is the largest.
"""

from __future__ import annotations

from minichainer.kernels.cuda._table import ElementwiseKernel

#: Sizes of images, windows, steps, padding, dilation and results, each of three axes.
_NAMES = [f'{name}{axis}' for name in ('size', 'k', 's', 'p', 'd', 'out') for axis in range(3)]
_GEOMETRY = ', '.join(f'int64 {name}' for name in _NAMES)
_FLOATS = [{'T': t} for t in 'efd']
_WITH_PLACES = [{'T': t, 'P': p} for t in 'efd' for p in 'BI']

#: Where a window begins, and a loop over its elements on the image: ``at`` is the element, ``index`` its place.
_WINDOW = """long long o2 = i % out2, o1 = i / out2 % out1, o0 = i / out2 / out1 % out0;
long long image = i / out2 / out1 / out0;
bool some = false;
T top = (T)log(0.0f);
long long first = 0;
for (long long a = 0; a < k0; ++a) for (long long b = 0; b < k1; ++b) for (long long c = 0; c < k2; ++c) {
  long long y0 = o0 * s0 + a * d0 - p0, y1 = o1 * s1 + b * d1 - p1, y2 = o2 * s2 + c * d2 - p2;
  if (y0 < 0 || y0 >= size0 || y1 < 0 || y1 >= size1 || y2 < 0 || y2 >= size2) continue;
  T v = x[((image * size0 + y0) * size1 + y1) * size2 + y2];
  if (!some || v > top || (v != v && top == top)) {
    some = true;
    top = v;
    first = (a * k1 + b) * k2 + c;
  }
}
"""
maxima = ElementwiseKernel('window_maxima', f'raw T x, {_GEOMETRY}', 'T y', f'{_WINDOW}y = top;', dtypes=_FLOATS)
places = ElementwiseKernel(
    'places_of_window_maxima', f'raw T x, {_GEOMETRY}', 'P place', f'{_WINDOW}place = (P)first;', dtypes=_WITH_PLACES
)
pick = ElementwiseKernel(
    'pick_of_windows',
    f'raw T x, P place, {_GEOMETRY}',
    'T y',
    """long long o2 = i % out2, o1 = i / out2 % out1, o0 = i / out2 / out1 % out0, image = i / out2 / out1 / out0;
long long at = place, c = at % k2, b = at / k2 % k1, a = at / k2 / k1;
long long y0 = o0 * s0 + a * d0 - p0, y1 = o1 * s1 + b * d1 - p1, y2 = o2 * s2 + c * d2 - p2;
bool inside = y0 >= 0 && y0 < size0 && y1 >= 0 && y1 < size1 && y2 >= 0 && y2 < size2;
y = inside ? (T)x[((image * size0 + y0) * size1 + y1) * size2 + y2] : (T)0;""",
    dtypes=_WITH_PLACES,
)
spread = ElementwiseKernel(
    'spread_to_windows',
    f'raw T gy, raw P places, {_GEOMETRY}',
    'T gx',
    """long long y2 = i % size2, y1 = i / size2 % size1, y0 = i / size2 / size1 % size0;
long long image = i / size2 / size1 / size0;
T total = (T)0;
for (long long a = 0; a < k0; ++a) for (long long b = 0; b < k1; ++b) for (long long c = 0; c < k2; ++c) {
  long long t0 = y0 + p0 - a * d0, t1 = y1 + p1 - b * d1, t2 = y2 + p2 - c * d2;
  if (t0 < 0 || t0 % s0 || t1 < 0 || t1 % s1 || t2 < 0 || t2 % s2) continue;
  long long o0 = t0 / s0, o1 = t1 / s1, o2 = t2 / s2;
  if (o0 >= out0 || o1 >= out1 || o2 >= out2) continue;
  long long at = ((image * out0 + o0) * out1 + o1) * out2 + o2;
  if ((long long)places[at] == (a * k1 + b) * k2 + c) total = total + gy[at];
}
gx = total;""",
    dtypes=[{'T': t, 'P': p} for t in 'fd' for p in 'BI'],
)


def numbers(geometry: tuple[tuple[int, ...], ...]) -> list[int] | None:
    """The arguments after the arrays; None for windows over more than three axes.

    Args:
        geometry: sizes of images, windows, steps, padding, dilation and results.
    """
    missing = 3 - len(geometry[0])
    neutral = (1, 1, 1, 0, 1, 1)
    if missing < 0:
        return None
    return [value for values, one in zip(geometry, neutral, strict=True) for value in (*[one] * missing, *values)]
