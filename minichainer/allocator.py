"""Keeps freed memory in the process, so that large temporary arrays cause no page faults."""

from __future__ import annotations

import sys

# Parameters of glibc's mallopt, from its malloc.h.
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
#: Values for the mmap threshold, the preferred one first; glibc before 2.35 rejects values above 32 MiB.
_MMAP_THRESHOLDS = (1 << 30, 1 << 25)
_TRIM_THRESHOLD = 2**31 - 1


def tune_allocator() -> bool:
    """Makes glibc keep freed memory instead of returning it to the system.

    Otherwise NumPy gets memory for large temporary arrays from the system in each step, and the system fills each
    page with zeros: training steps on a CPU are up to 1.25 times as fast without this (``benchmarks/README.md``). The
    setting affects the whole process, which then keeps the most memory that it has ever used. Therefore it is not
    called on import; :class:`~minichainer.training.Trainer` calls it by default. Repeated calls are allowed.

    Returns:
        Whether it took effect: False where the C library is not glibc (Windows, macOS, musl), or has refused.

    Source: the manual page mallopt(3).

    >>> import minichainer as chainer
    >>> chainer.tune_allocator() in (True, False)
    True
    """
    if not sys.platform.startswith('linux'):
        return False
    import ctypes  # imported here, so that importing the package stays cheap

    try:
        library = ctypes.CDLL(None)
        library.gnu_get_libc_version  # noqa: B018  (other C libraries number these parameters differently)
        mallopt = library.mallopt
    except (AttributeError, OSError):
        return False
    mallopt.argtypes, mallopt.restype = [ctypes.c_int, ctypes.c_int], ctypes.c_int
    keeps_large = any(mallopt(_M_MMAP_THRESHOLD, size) == 1 for size in _MMAP_THRESHOLDS)
    keeps_top = mallopt(_M_TRIM_THRESHOLD, _TRIM_THRESHOLD) == 1
    return keeps_large and keeps_top
