"""Hooks that watch the functions of a thread: times, memory of GPUs, arrays as text, ranges for CUDA's profilers."""

import typing

from minichainer._names import namespace as _namespace
from minichainer.function_hooks.cuda_profile import CUDAProfileHook as CUDAProfileHook
from minichainer.function_hooks.cupy_memory_profile import CupyMemoryProfileHook as CupyMemoryProfileHook
from minichainer.function_hooks.debug_print import PrintHook as PrintHook
from minichainer.function_hooks.timer import TimerHook as TimerHook

if not typing.TYPE_CHECKING:
    __getattr__, __dir__ = _namespace(__name__)
