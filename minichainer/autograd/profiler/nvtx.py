"""Ranges for NVIDIA's profilers around every op."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from minichainer import _trace
from minichainer._checks import as_raw
from minichainer.backends import cuda

T = TypeVar('T')


class emit_nvtx:
    """Context manager that puts an NVTX range around every forward op, backward step and labelled block.

    Forward ranges are named ``Tanh, seq = 5``, and the range of the backward step of the same node
    ``TanhBackward, stashed seq = 5``. Under double backprop the ops inside a backward step have numbers of their own.

    Args:
        enabled: if False, nothing happens.
        record_shapes: append the shapes of inputs.

    Raises:
        RuntimeError: the block is entered a second time, or CuPy or a GPU is missing.

    >>> with emit_nvtx(enabled=False):
    ...     total = 1 + 1
    """

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled
        self.entered = False
        self.record_shapes = record_shapes

    def __enter__(self) -> emit_nvtx:
        if not self.enabled:
            return self
        if self.entered:
            raise RuntimeError('emit_nvtx: cannot be entered twice, make a new object for each block')
        cuda.check_cuda_available()
        self.entered = True
        self._ranges = _Ranges(_trace.current(), cuda.cupy.cuda.nvtx, self.record_shapes)
        cuda.cupy.cuda.Device().synchronize()
        _trace.start(self._ranges)
        return self

    def __exit__(self, *_: Any) -> None:
        if self.enabled:
            try:
                cuda.cupy.cuda.Device().synchronize()
                _trace.stop(self._ranges)
            except BaseException:  # that of a signal
                _trace.discard(self._ranges)
                raise


class _Ranges(_trace.Trace):
    """Emits ranges, and passes everything on to the recording around it, if there is one."""

    __slots__ = ('_outer', '_nvtx', '_shows_shapes')

    def __init__(self, outer: _trace.Trace | None, nvtx: Any, shows_shapes: bool) -> None:
        super().__init__()
        self._outer = outer
        self._nvtx = nvtx
        self._shows_shapes = shows_shapes

    def forward(self, node: Any, arrays: Iterable[Any], compute: Callable[[], T]) -> T:
        arrays = list(arrays)
        node._seq = _trace.next_number()
        with self._range(f'{node.__class__.__name__}, seq = {node._seq}{self._sizes(arrays)}'):
            return compute() if self._outer is None else self._outer.forward(node, arrays, compute)

    def backward(self, node: Any, gradient: Any, compute: Callable[[], T]) -> T:
        given = gradient if isinstance(gradient, (list, tuple)) else [gradient]
        stashed = '' if node._seq is None else f', stashed seq = {node._seq}'
        with self._range(f'{node.__class__.__name__}Backward{stashed}{self._sizes(given)}'):
            return compute() if self._outer is None else self._outer.backward(node, gradient, compute)

    @contextlib.contextmanager
    def block(self, name: str, note: str | None = None) -> Any:
        with self._range(name), contextlib.nullcontext() if self._outer is None else self._outer.block(name, note):
            yield

    @contextlib.contextmanager
    def _range(self, name: str) -> Any:
        self._nvtx.RangePush(name)
        try:
            yield
        finally:
            self._nvtx.RangePop()

    def _sizes(self, arrays: Iterable[Any]) -> str:
        if not self._shows_shapes:
            return ''
        return f', sizes = {[list(as_raw(x).shape) for x in arrays if x is not None]}'
