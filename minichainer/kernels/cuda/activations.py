"""Activations that take several launches as formulas, and the factors of dropout; float16 is computed in float32."""

from __future__ import annotations

from minichainer.kernels.cuda._table import ElementwiseKernel

_WIDE = """template <typename T> struct Wide { typedef T type; };
template <> struct Wide<float16> { typedef float type; };
template <typename C> __device__ C sigmoid_of(C z) { return C(1) / (C(1) + exp(-z)); }"""
_C = 'typedef typename Wide<T>::type C;\n'
_ALL = [{'T': t} for t in 'efd']
_FLOATS = [{'T': 'f'}, {'T': 'd'}]

leaky_relu = ElementwiseKernel(
    'leaky_relu',
    'T x, float64 slope',
    'T y',
    f'{_C}y = (C)x > 0 ? x : (T)((C)x * (C)(T)slope);',
    preamble=_WIDE,
    dtypes=_ALL,
)
leaky_factor = ElementwiseKernel(
    'leaky_factor', 'T x, float64 slope', 'T y', f'{_C}y = (C)x > 0 ? (T)1 : (T)slope;', preamble=_WIDE, dtypes=_ALL
)
leaky_gradient = ElementwiseKernel(
    'leaky_gradient',
    'T gy, T x, float64 slope',
    'T gx',
    f'{_C}gx = (C)x > 0 ? gy : (T)((C)gy * (C)(T)slope);',
    preamble=_WIDE,
    dtypes=_ALL,
)
sigmoid = ElementwiseKernel('sigmoid', 'T x', 'T y', f'{_C}y = (T)sigmoid_of((C)x);', preamble=_WIDE, dtypes=_ALL)
sigmoid_slope = ElementwiseKernel(
    'sigmoid_slope',
    'T x',
    'T y',
    'T e = exp(x > 0 ? -x : x), below = 1 + e;\ny = e / (below * below);',
    dtypes=_FLOATS,
)
silu = ElementwiseKernel('silu', 'T x', 'T y', 'y = sigmoid_of(x) * x;', preamble=_WIDE, dtypes=_FLOATS)
silu_gradient = ElementwiseKernel(
    'silu_gradient',
    'T gy, T x, T y',
    'T gx',
    'T gate = sigmoid_of(x);\ngx = (gate + (1 - gate) * y) * gy;',
    preamble=_WIDE,
    dtypes=_FLOATS,
)
_GELU = f"""{_WIDE}
template <typename T> __device__ T gelu_share(T x, bool exact) {{
  return exact ? T(0.5) * erfc(x * T(-0.70710678118654752440))
               : sigmoid_of((x + x * x * x * T(0.044715)) * T(1.59576912160573071176));
}}"""
#: x times its share; with arguments below -40 it is zero, and infinity makes no NaN.
gelu = ElementwiseKernel(
    'gelu',
    'T x, bool exact',
    'T y',
    'T near = x < T(-40) ? T(-40) : x;\ny = near * gelu_share(near, exact);',
    preamble=_GELU,
    dtypes=_FLOATS,
)
gelu_gradient = ElementwiseKernel(
    'gelu_gradient',
    'T gy, T x, bool exact',
    'T gx',
    """T near = x < T(-40) ? T(-40) : x > T(40) ? T(40) : x, square = near * near;
T share = gelu_share(near, exact);
T density = exact ? exp(T(-0.5) * square) * T(0.39894228040143267794)
                  : share * (T(1) - share) * (T(1) + T(0.134145) * square) * T(1.59576912160573071176);
gx = gy * (share + near * density);""",
    preamble=_GELU,
    dtypes=_FLOATS,
)
#: NaN is not positive, and stays.
elu = ElementwiseKernel(
    'elu',
    'T x, float64 alpha',
    'T y',
    f'{_C}y = (C)x > 0 ? x : (T)(expm1((C)x) * (C)(T)alpha);',
    preamble=_WIDE,
    dtypes=_ALL,
)
elu_gradient = ElementwiseKernel(
    'elu_gradient',
    'T gy, T x, float64 alpha',
    'T gx',
    f'{_C}gx = (C)x > 0 ? gy : (T)((C)gy * (exp((C)x) * (C)(T)alpha));',
    preamble=_WIDE,
    dtypes=_ALL,
)
clipped_relu = ElementwiseKernel(
    'clipped_relu',
    'T x, float64 z',
    'T y',
    f'{_C}C limit = (C)(T)z;\ny = (C)x < 0 ? (T)0 : (C)x > limit ? (T)limit : x;',
    preamble=_WIDE,
    dtypes=_ALL,
)
clipped_gradient = ElementwiseKernel(
    'clipped_gradient',
    'T gy, T x, float64 z',
    'T gx',
    f'{_C}gx = (C)x <= 0 || (C)x >= (C)(T)z ? (T)0 : gy;',
    preamble=_WIDE,
    dtypes=_ALL,
)
prelu = ElementwiseKernel(
    'prelu', 'T x, T slope', 'T y', f'{_C}y = (C)x >= 0 ? x : (T)((C)x * (C)slope);', preamble=_WIDE, dtypes=_ALL
)
prelu_gradient = ElementwiseKernel(
    'prelu_gradient',
    'T gy, T x, T slope',
    'T gx',
    f'{_C}gx = (C)x >= 0 ? gy : (T)((C)gy * (C)slope);',
    preamble=_WIDE,
    dtypes=_ALL,
)
#: Before it is summed over the elements that share a slope.
slope_gradient = ElementwiseKernel(
    'slope_gradient',
    'T gy, T x',
    'T gslope',
    f'{_C}gslope = (C)x >= 0 ? (T)0 : (T)((C)gy * (C)x);',
    preamble=_WIDE,
    dtypes=_ALL,
)
#: The factors of dropout, and what they make of x.
dropout = ElementwiseKernel(
    'dropout',
    'T x, float64 drawn, float64 ratio',
    'T mask, T y',
    f'{_C}mask = drawn >= ratio ? (T)(1 / (1 - ratio)) : (T)0;\ny = (T)((C)x * (C)mask);',
    preamble=_WIDE,
    dtypes=_ALL,
)
#: What dropout multiplies by: 0, or the scale of what is kept.
dropout_factors = ElementwiseKernel(
    'dropout_factors',
    'float64 drawn, float64 ratio',
    'T y',
    'y = drawn >= ratio ? (T)(1 / (1 - ratio)) : (T)0;',
    dtypes=_ALL,
)
