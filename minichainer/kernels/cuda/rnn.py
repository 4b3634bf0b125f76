"""The elementwise part of a step of LSTM and GRU: everything but the product with the state.

Rows of a step are ``(rows, units)``. What has several gates is raw and contiguous: by rows, ``(rows, gates *
units)``, for the products, and by gates, ``(gates, rows, units)``, for the values that backward needs.
"""

from __future__ import annotations

from minichainer.kernels.cuda._table import ElementwiseKernel

_FLOATS = [{'T': 'f'}, {'T': 'd'}]
_SIGMOID = 'template <typename T> __device__ T sigmoid_of(T z) { return T(1) / (T(1) + exp(-z)); }'
_PLACE = 'ptrdiff_t total = _ind.size(), at = i / units * {gates} * units + i % units;'

lstm_forward = ElementwiseKernel(
    'lstm_forward',
    'raw T product, raw T z, raw T b, int64 units',
    'T h, T c, T before_h, T before_c, T squashed, T y, raw T gates',
    f"""{_PLACE.format(gates=4)}
before_h = h;
before_c = c;
ptrdiff_t unit = i % units;
T o = sigmoid_of(product[at] + z[at] + b[unit]);
T in = sigmoid_of(product[at + units] + z[at + units] + b[units + unit]);
T f = sigmoid_of(product[at + 2 * units] + z[at + 2 * units] + b[2 * units + unit]);
T g = tanh(product[at + 3 * units] + z[at + 3 * units] + b[3 * units + unit]);
gates[i] = o;
gates[total + i] = in;
gates[2 * total + i] = f;
gates[3 * total + i] = g;
c = c * f + in * g;
squashed = tanh(c);
h = o * squashed;
y = h;""",
    preamble=_SIGMOID,
    dtypes=_FLOATS,
)
lstm_backward = ElementwiseKernel(
    'lstm_backward',
    'T gh, T gy, T squashed, T before_c, raw T gates, int64 units',
    'T gc, raw T gz',
    f"""{_PLACE.format(gates=4)}
T o = gates[i], in = gates[total + i], f = gates[2 * total + i], g = gates[3 * total + i];
T dh = gh + gy, dc = gc + (T(1) - squashed * squashed) * o * dh;
gz[at] = (o - o * o) * squashed * dh;
gz[at + units] = (in - in * in) * g * dc;
gz[at + 2 * units] = (f - f * f) * before_c * dc;
gz[at + 3 * units] = (T(1) - g * g) * in * dc;
gc = dc * f;""",
    dtypes=_FLOATS,
)
gru_forward = ElementwiseKernel(
    'gru_forward',
    'raw T product, raw T z, raw T bx, raw T bh, int64 units',
    'T h, T before, T from_state, T y, raw T gates',
    f"""{_PLACE.format(gates=3)}
before = h;
ptrdiff_t unit = i % units;
T r = sigmoid_of(z[at] + bx[unit] + (product[at] + bh[unit]));
T u = sigmoid_of(z[at + units] + bx[units + unit] + (product[at + units] + bh[units + unit]));
from_state = product[at + 2 * units] + bh[2 * units + unit];
T candidate = tanh(z[at + 2 * units] + bx[2 * units + unit] + r * from_state);
gates[i] = r;
gates[total + i] = u;
gates[2 * total + i] = candidate;
h = (h - candidate) * u + candidate;
y = h;""",
    preamble=_SIGMOID,
    dtypes=_FLOATS,
)
gru_backward = ElementwiseKernel(
    'gru_backward',
    'T gh, T gy, T before, T from_state, raw T gates, int64 units',
    'T rest, raw T gx, raw T ga',
    f"""{_PLACE.format(gates=3)}
T r = gates[i], u = gates[total + i], candidate = gates[2 * total + i];
T dh = gh + gy;
T dc = (T(1) - candidate * candidate) * (T(1) - u) * dh;
T dr = (r - r * r) * dc * from_state, du = (u - u * u) * (before - candidate) * dh;
gx[at] = dr;
gx[at + units] = du;
gx[at + 2 * units] = dc;
ga[at] = dr;
ga[at + units] = du;
ga[at + 2 * units] = dc * r;
rest = dh * u;""",
    dtypes=_FLOATS,
)
