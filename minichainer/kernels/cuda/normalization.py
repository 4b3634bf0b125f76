"""Normalizations: sums of channels and of samples, in float64, and what is done with them.

In batch normalization arrays are (outer, channels, inner), and numbers of channels broadcast against them. In that of
samples the axes are those of the caller; C is the dtype of the inverse deviations, S and P are those of results.
"""

from __future__ import annotations

from minichainer.kernels.cuda._table import ElementwiseKernel, ReductionKernel

_FLOATS = [{'T': 'f'}, {'T': 'd'}]
_HALF = {'T': 'e'}

means = ReductionKernel(
    'channel_means',
    'T x, float64 factor',
    'float64 y',
    '(double)x * factor',
    'a + b',
    'y = a',
    '0',
    dtypes=[_HALF, *_FLOATS],
)
variances = ReductionKernel(
    'channel_variances',
    'T x, float64 mean, float64 factor',
    'float64 y',
    '((double)x - mean) * ((double)x - mean) * factor',
    'a + b',
    'y = a',
    '0',
    dtypes=_FLOATS,
)
totals = ReductionKernel('channel_totals', 'T x', 'float64 y', '(double)x', 'a + b', 'y = a', '0', dtypes=_FLOATS)
products = ReductionKernel(
    'channel_products',
    'T g, T x, T shift',
    'float64 y',
    '(double)g * (double)(x - shift)',
    'a + b',
    'y = a',
    '0',
    dtypes=_FLOATS,
)
#: The mean in the dtype of the elements, and the rest.
parts_of_mean = ElementwiseKernel(
    'parts_of_mean',
    'float64 mean',
    'T shift, float64 rest',
    'shift = (T)mean;\nrest = mean - (double)shift;',
    dtypes=_FLOATS,
)
scale = ElementwiseKernel(
    'scale_channels',
    'T x, T shift, float64 scale, float64 bias',
    'T y',
    'y = (x - shift) * (T)scale + (T)bias',
    dtypes=_FLOATS,
)
combine = ElementwiseKernel(
    'combine_channels',
    'T g, T x, T shift, float64 a, float64 b, float64 c',
    'T y',
    'y = (g + (x - shift) * (T)b) * (T)a + (T)c',
    dtypes=_FLOATS,
)
affine = ElementwiseKernel(
    'affine_of_channels',
    'G gamma, G beta, float64 mean, float64 var, float64 eps',
    'float64 scale, float64 bias',
    'scale = (double)gamma / sqrt(var + eps);\nbias = (double)beta - mean * scale;',
    dtypes=[{'G': 'e'}, {'G': 'f'}, {'G': 'd'}],
)
gradient_coefficients = ElementwiseKernel(
    'gradient_coefficients_of_channels',
    'float64 gbeta, float64 product, float64 mean, float64 inv_std, float64 gamma, float64 factor',
    'float64 ggamma, float64 a, float64 b, float64 c',
    """ggamma = (product - mean * gbeta) * inv_std;
a = gamma * inv_std;
b = -inv_std * ggamma * factor;
c = -a * (gbeta * factor + b * mean);""",
    dtypes=[{}],
)
move = ElementwiseKernel(
    'move_statistics',
    'float64 value, float64 decay',
    'T running',
    'running = (T)((double)running * decay + (1 - decay) * value)',
    dtypes=[{'T': 'e'}, *_FLOATS],
)

# --- samples ---
_WIDE = """template <typename T> struct Wide { typedef T type; };
template <> struct Wide<float16> { typedef float type; };"""
_SAMPLES = [{'T': t, 'X': t, 'C': c, 'G': g} for t, c, g in ('efe', 'fff', 'ddd', 'fdf', 'fde')]
#: Results of rows have the dtype in which they are computed; those of groups that of x, and float64.
_RESULTS = [{**dtypes, 'S': s, 'P': p} for dtypes, s, p in zip(_SAMPLES, 'ffdff', 'ffddd', strict=True)]

inverse_deviations = ReductionKernel(
    'inverse_deviations_of_samples',
    'T x, float64 mean, float64 factor, float64 eps',
    'C inv_std',
    '((double)x - mean) * ((double)x - mean) * factor',
    'a + b',
    'inv_std = (C)(1 / sqrt(a + eps))',
    '0',
    reduce_type='double',
    dtypes=_SAMPLES,
)
normalize_samples = ElementwiseKernel(
    'normalize_samples',
    'T x, float64 mean, C inv_std, G gamma, G beta',
    'T y',
    """typedef typename Wide<T>::type W;
y = (T)((W)((double)x - mean) * (W)inv_std * (W)gamma + (W)beta);""",
    preamble=_WIDE,
    dtypes=_SAMPLES,
)
scaled_means = ReductionKernel(
    'scaled_means_of_samples',
    'T g, G gamma, float64 factor',
    'float64 y',
    '(double)g * (double)gamma * factor',
    'a + b',
    'y = a',
    '0',
    dtypes=_SAMPLES,
)
scaled_products = ReductionKernel(
    'scaled_products_of_samples',
    'T g, G gamma, X x, float64 mean, C inv_std, float64 factor',
    'float64 y',
    '(double)g * (double)gamma * (((double)x - mean) * (double)inv_std) * factor',
    'a + b',
    'y = a',
    '0',
    dtypes=_SAMPLES,
)
sample_gradient = ElementwiseKernel(
    'gradient_of_samples',
    'T g, G gamma, X x, float64 mean, C inv_std, float64 mean_g, float64 mean_gz',
    'S gx',
    """typedef typename Wide<X>::type W;
W z = (W)((double)x - mean) * (W)inv_std;
gx = (S)((W)inv_std * ((W)g * (W)gamma - (W)mean_g - z * (W)mean_gz));""",
    preamble=_WIDE,
    dtypes=_RESULTS,
)
scale_gradients = ReductionKernel(
    'scale_gradients_of_samples',
    'T g, X x, float64 mean, C inv_std',
    'P y',
    '(double)g * (((double)x - mean) * (double)inv_std)',
    'a + b',
    'y = (P)a',
    '0',
    reduce_type='double',
    dtypes=_RESULTS,
)
shift_gradients = ReductionKernel(
    'shift_gradients_of_samples',
    'T g',
    'P y',
    '(double)g',
    'a + b',
    'y = (P)a',
    '0',
    reduce_type='double',
    dtypes=_RESULTS,
)
