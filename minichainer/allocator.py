"""Keeps freed memory in the process: large temporaries then cost no page faults."""

from __future__ import annotations

import sys

# Parameters of glibc's mallopt, from its malloc.h.
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
#: Values for the mmap threshold, best first; glibc before 2.35 takes none above 32 MiB.
_MMAP_THRESHOLDS = (1 << 30, 1 << 25)
_TRIM_THRESHOLD = 2**31 - 1


def tune_allocator() -> bool:
    """Makes glibc keep freed memory, rather than give it back to the system and fetch it again.

    NumPy's large temporary arrays otherwise come from the system anew in each step, and each of their pages is
    filled with zeros first: training steps on a CPU are up to 1.25 times as fast without (``benchmarks/README.md``).
    It acts on the whole process, and the process keeps the most memory that it has ever used. Therefore nobody calls
    it on import; :class:`~minichainer.training.Trainer` calls it unless told not to. It may be called again.

    Returns:
        Whether it took effect: False where the C library is not glibc (Windows, macOS, musl), or has refused.

    Source: the manual page mallopt(3).

    >>> import minichainer as chainer
    >>> chainer.tune_allocator() in (True, False)
    True
    """
    if not sys.platform.startswith('linux'):
        return False
    import ctypes  # not at the top: importing the package must stay cheap

    try:
        library = ctypes.CDLL(None)
        library.gnu_get_libc_version  # noqa: B018  (other C libraries have other numbers for these parameters)
        mallopt = library.mallopt
    except (AttributeError, OSError):
        return False
    mallopt.argtypes, mallopt.restype = [ctypes.c_int, ctypes.c_int], ctypes.c_int
    keeps_large = any(mallopt(_M_MMAP_THRESHOLD, size) == 1 for size in _MMAP_THRESHOLDS)
    keeps_top = mallopt(_M_TRIM_THRESHOLD, _TRIM_THRESHOLD) == 1
    return keeps_large and keeps_top
