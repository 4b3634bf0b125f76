"""Cross entropy of softmax with integer labels.

C is the type of the computation: T, or float for float16. Labels that are out of range make the loss and the
gradients of their sample NaN: an error would have to wait for the device. Scores are (B, classes, ...); ``inner`` is
the number of elements after the axis of classes.
"""

from __future__ import annotations

from minichainer.kernels.cuda._table import ElementwiseKernel, ReductionKernel

_FLOATS = [{'T': t, 'C': c, 'S': 'i'} for t, c in ('ef', 'ff', 'dd')]
_WITH_UPSTREAM = [{**dtypes, 'G': dtypes['T']} for dtypes in _FLOATS]

#: Labels, with 0 for ignored ones, and the weight of each sample.
valid_samples = ElementwiseKernel(
    'cross_entropy_valid_samples',
    'S t, int64 ignored',
    'S label, C weight',
    'label = (long long)t == ignored ? (S)0 : t;\nweight = (long long)t == ignored ? (C)0 : (C)1;',
    dtypes=_FLOATS,
)
weighted_samples = ElementwiseKernel(
    'cross_entropy_weighted_samples',
    'S t, raw W class_weight, bool may_be_ignored, int64 ignored',
    'S label, C weight',
    """bool counts = !(may_be_ignored && (long long)t == ignored);
bool fits = (long long)t >= 0 && (long long)t < class_weight.size();
label = counts ? t : (S)0;
weight = !counts ? (C)0 : fits ? (C)class_weight[(ptrdiff_t)t] : (C)nan("");""",
    dtypes=[{**dtypes, 'W': dtypes['T']} for dtypes in _FLOATS],
)
#: One over the number of samples that are not ignored, at least 1.
scale_of_valid = ReductionKernel(
    'cross_entropy_scale_of_valid',
    'S t, int64 ignored',
    'C scale',
    '(long long)t != ignored ? 1LL : 0LL',
    'a + b',
    'scale = (C)1 / (C)(a > 1LL ? a : 1LL)',
    '0LL',
    reduce_type='long long',
    dtypes=_FLOATS,
)
normalizers = ReductionKernel(
    'cross_entropy_normalizers', 'T x, C top', 'C others', '(double)exp((C)x - top)', 'a + b', 'others = (C)(a - 1)',
    '0', reduce_type='double', dtypes=_FLOATS,
)  # fmt: skip
losses = ElementwiseKernel(
    'cross_entropy_losses',
    'raw T x, S label, C weight, C top, C others, int64 classes, int64 inner',
    'C loss',
    """bool fits = (long long)label >= 0 && (long long)label < classes;
ptrdiff_t at = (i / inner * classes + (fits ? (ptrdiff_t)label : 0)) * inner + i % inner;
C value = fits ? log1p(others) - ((C)x[at] - top) : (C)nan("");
loss = weight == 0 ? (C)0 : value * weight;""",
    dtypes=_FLOATS,
)
scaled_sum = ReductionKernel(
    'cross_entropy_scaled_sum',
    'C loss, C scale',
    'T y',
    'loss * scale',
    'a + b',
    'y = (T)a',
    '0',
    reduce_type='C',
    dtypes=_FLOATS,
)
gradient = ElementwiseKernel(
    'cross_entropy_gradient',
    'G gy, T x, S label, C weight, C scale, C top, C others, int64 classes, int64 inner',
    'T gx',
    """bool fits = (long long)label >= 0 && (long long)label < classes;
C e = fits ? exp((C)x - top) : (C)nan("");
C part = i / inner % classes == (ptrdiff_t)label ? -(others + (1 - e)) : e;
gx = weight == 0 ? (T)0 : (T)(part / (1 + others) * ((C)gy * (weight * scale)));""",
    dtypes=_WITH_UPSTREAM,
)
