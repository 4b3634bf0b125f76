"""CUDAProfileHook: ranges for CUDA's profilers."""

from __future__ import annotations

from typing import Any

from minichainer.backends import cuda
from minichainer.function_hook import FunctionHook


class CUDAProfileHook(FunctionHook):
    """Marks each function as a range that CUDA's profilers show, named ``label.forward`` or ``label.backward``.

    Raises:
        RuntimeError: CUDA is not available, or CuPy was built without NVTX.

    >>> import minichainer as chainer
    >>> if chainer.cuda.available:
    ...     with chainer.function_hooks.CUDAProfileHook():
    ...         y = chainer.functions.relu(chainer.cuda.cupy.ones(3))
    """

    name = 'CUDAProfileHook'

    def __init__(self) -> None:
        cuda.check_cuda_available()
        self._nvtx: Any = getattr(cuda.cupy.cuda, 'nvtx', None)
        if not getattr(self._nvtx, 'available', self._nvtx is not None):
            raise RuntimeError('CUDAProfileHook: CuPy has no NVTX; install a CuPy package that was built with it')

    def forward_preprocess(self, function: Any, in_data: tuple[Any, ...]) -> None:
        """Begins the range."""
        self._nvtx.RangePush(f'{function.label}.forward')

    def forward_postprocess(self, function: Any, in_data: tuple[Any, ...]) -> None:
        """Ends the range."""
        self._nvtx.RangePop()

    def backward_preprocess(self, function: Any, in_data: tuple[Any, ...], out_grad: tuple[Any, ...]) -> None:
        """Begins the range."""
        self._nvtx.RangePush(f'{function.label}.backward')

    def backward_postprocess(self, function: Any, in_data: tuple[Any, ...], out_grad: tuple[Any, ...]) -> None:
        """Ends the range."""
        self._nvtx.RangePop()
