"""Names that SciPy had at other places: lists for :mod:`minichainer.compat.removed`."""

from __future__ import annotations

#: Names of NumPy that SciPy's root had.
ROOT = """
    abs absolute all allclose angle any arange arctan arctan2 argmax argmin argsort array array_equal asarray
    average bincount ceil complex64 complex128 concatenate conj copy corrcoef cos cosh cov cross cumprod
    cumsum diag diff dot e empty empty_like exp expand_dims expm1 eye float32 float64 floor fromfunction
    fromstring histogram hstack hypot identity imag inf inner int32 int64 interp isfinite isinf isnan isreal
    kron linspace log1p logspace matrix max maximum mean median meshgrid mgrid min minimum mod nan nan_to_num
    ndarray newaxis nonzero ones ones_like outer pad percentile pi poly1d polyfit polyval prod ptp ravel real
    repeat reshape roll roots round sign sin sinc sinh size sort split square squeeze stack std sum take tan
    tanh tensordot tile trace transpose tril triu uint8 unique unravel_index unwrap var vdot vectorize vstack
    where zeros zeros_like
""".split()
#: Those that took negative numbers and gave complex ones.
COMPLEX = 'arccos arcsin arctanh log log10 log2 power sqrt'.split()
#: Windows that ``scipy.signal`` had.
WINDOWS = """
    barthann bartlett blackman blackmanharris bohman boxcar chebwin cosine exponential flattop gaussian
    general_gaussian hamming hann kaiser nuttall parzen triang tukey
""".split()
