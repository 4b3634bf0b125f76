"""NVRTC, NVIDIA's compiler for source at run time, through ctypes: it needs no device and no driver."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
from pathlib import Path
from typing import Any

import pytest

#: What sources are compiled for. `syntax` finds their errors, and makes no code, which takes a hundred times as long.
ARCHITECTURES = ('syntax', *[pytest.param(name, marks=pytest.mark.slow) for name in ('sm_80', 'sm_90', 'sm_100')])


class CompileError(Exception):
    """NVRTC refuses a source; the message is its log."""


@functools.lru_cache(None)
def library() -> ctypes.CDLL | None:
    """The library of the wheel ``nvidia-cuda-nvrtc-cu12``; None if it is not installed."""
    try:
        spec = importlib.util.find_spec('nvidia.cuda_nvrtc')
    except ModuleNotFoundError:
        return None
    folders = [Path(folder) / 'lib' for folder in (spec.submodule_search_locations or ()) if spec] if spec else []
    found = [path for folder in folders for path in sorted(folder.glob('libnvrtc.so.*'))]
    return ctypes.CDLL(str(found[0])) if found else None


def version() -> tuple[int, int]:
    major, minor = ctypes.c_int(), ctypes.c_int()
    _nvrtc().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return major.value, minor.value


def _nvrtc() -> Any:
    found = library()
    assert found is not None, 'nvidia-cuda-nvrtc-cu12 is not installed'
    return found


def compile_for(architecture: str, source: str) -> None:
    """Compiles a source for an architecture; raises CompileError with the log if it has errors."""
    nvrtc, program = _nvrtc(), ctypes.c_void_p()
    if nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b'kernel.cu', 0, None, None):
        raise CompileError('NVRTC cannot make a program')
    try:
        target = ['sm_100', '-fdevice-syntax-only'] if architecture == 'syntax' else [architecture]
        options = [option.encode() for option in (f'--gpu-architecture={target[0]}', '--std=c++14', *target[1:])]
        if nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options)):
            raise CompileError(_log(nvrtc, program))
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _log(nvrtc: Any, program: ctypes.c_void_p) -> str:
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, text)
    return text.value.decode()
