"""The processor: its name, what it can do, how many cores this process may use."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path
from typing import NamedTuple

#: What BLAS's kernels for AVX-512 need.
AVX512 = frozenset({'avx512f', 'avx512cd', 'avx512bw', 'avx512dq', 'avx512vl'})
_SHOWN = ('avx2', 'fma', 'avx512f', 'avx512_bf16', 'amx_tile', 'asimd', 'sve')


class Processor(NamedTuple):
    """A processor; ``flags`` is empty where the system has no ``/proc/cpuinfo``."""

    name: str
    flags: frozenset[str]
    cores: int
    usable_cores: int

    def summary(self) -> dict[str, str]:
        """What a report shows."""
        flags = ' '.join(name for name in _SHOWN if name in self.flags)
        return {
            'name': self.name,
            'instructions': flags or 'unknown',
            'cores': f'{self.cores}, of which this process may use {self.usable_cores}',
        }


def processor() -> Processor:
    """The processor of this computer."""
    try:
        text = Path('/proc/cpuinfo').read_text(encoding='utf-8', errors='replace')
    except OSError:
        text = ''
    cores = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else cores
    name = _field(text, 'model name') or platform.processor() or platform.machine()
    return Processor(name, frozenset((_field(text, 'flags') or _field(text, 'Features')).split()), cores, usable)


def _field(text: str, name: str) -> str:
    """A field of the first processor.

    >>> _field('processor : 0\\nmodel name : A B\\n', 'model name')
    'A B'
    """
    found = re.search(rf'^{name}\s*: (.*)$', text, re.MULTILINE)
    return found.group(1).strip() if found else ''
