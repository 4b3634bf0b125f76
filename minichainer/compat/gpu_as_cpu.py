"""``--gpu-as-cpu``: programs that move everything to a GPU run without one, on NumPy arrays.

``cuda.available`` stays false, and arrays stay NumPy's, so programs that ask take their branch for the CPU; those
that do not ask find devices, ``cupy`` and transfers that do nothing. Kernels in CUDA cannot run.
"""

from __future__ import annotations

import contextlib
import sys
from types import ModuleType
from typing import Any

import numpy

from minichainer import backend
from minichainer.backends import _device
from minichainer.compat.changes import Changes
from minichainer.compat.legacy.packages import cuda_modules

_KERNELS = ('ElementwiseKernel', 'ReductionKernel', 'RawKernel', 'RawModule', 'elementwise', 'reduce', 'raw')


class CpuAsGpu:
    """A GPU that is the CPU: takes the place of :class:`cupy.cuda.Device`.

    >>> with CpuAsGpu(0) as device:
    ...     device.id
    0
    """

    def __init__(self, device: Any = 0) -> None:
        self.id = 0 if device is None else int(device)

    def __enter__(self) -> CpuAsGpu:
        return self

    def __exit__(self, *error: object) -> None:
        """Does nothing."""

    def __int__(self) -> int:
        return self.id

    def use(self) -> None:
        """Does nothing: there is one CPU."""

    def synchronize(self) -> None:
        """Does nothing: NumPy computes at once."""


class GpuDeviceAsCpu:
    """Takes the place of :class:`minichainer.backends.cuda.GpuDevice`: makes the CPU device. Nothing is one of it."""

    def __new__(cls, device: Any) -> Any:
        return _device.CpuDevice()

    @staticmethod
    def from_device_id(device_id: int) -> Any:
        """The CPU device.

        Args:
            device_id: number of the GPU.
        """
        return _device.CpuDevice()

    @staticmethod
    def from_array(array: Any) -> None:
        """None: no array is on a GPU."""


def _kernel(name: str) -> Any:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            f'{name}: kernels in CUDA cannot run on the CPU (--gpu-as-cpu)\n'
            'Write the computation with NumPy for arrays of the CPU, or run it on a machine with a GPU'
        )

    return refuse


def _core_module(name: str) -> ModuleType:
    """``cupy.core``, which has arrays and kernels, and a module ``core`` with the same."""
    package, module = ModuleType(name), ModuleType(f'{name}.core')
    kernels = {kernel: _kernel(f'{name}.{kernel}') for kernel in _KERNELS if kernel[0].isupper()}
    for one in (package, module):
        vars(one).update(kernels, ndarray=numpy.ndarray, array=numpy.array)
    vars(package).update(__path__=[], core=module)
    return package


class CupyOfNumpy(ModuleType):
    """The module ``cupy``, with the functions of NumPy."""

    def __init__(self) -> None:
        super().__init__('cupy')
        vars(self)['__path__'] = []
        self.asnumpy, self.get_array_module = numpy.asarray, lambda *args: numpy
        self.memoize = lambda *args, **kwargs: lambda function: function
        self.fuse = lambda *args, **kwargs: args[0] if args and callable(args[0]) else lambda function: function
        self.cuda = ModuleType('cupy.cuda')
        vars(self.cuda).update(Device=CpuAsGpu, Stream=_Stream, is_available=lambda: False)
        vars(self).update({name: _kernel(f'cupy.{name}') for name in _KERNELS if name[0].isupper()})
        for name in ('core', '_core'):  # of CuPy 8 and before, and of later ones
            vars(self)[name] = _core_module(f'cupy.{name}')

    def __getattr__(self, name: str) -> Any:
        return getattr(numpy, name)

    @staticmethod
    def scatter_add(a: Any, slices: Any, value: Any) -> None:
        """Adds to elements, repeated ones too."""
        numpy.add.at(a, slices, value)


class _Stream(contextlib.nullcontext[None]):
    """Takes the place of :class:`cupy.cuda.Stream`."""

    null: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(None)

    def synchronize(self) -> None:
        """Does nothing: NumPy computes at once."""


_Stream.null = _Stream()


def _device_of(*args: Any) -> Any:
    """``cuda.get_device`` and ``cuda.get_device_from_id``."""
    for arg in args:
        if isinstance(arg, CpuAsGpu):
            return arg
        if isinstance(arg, (int, numpy.integer)) and not isinstance(arg, bool) and arg >= 0:
            return CpuAsGpu(arg)
    return _device.DummyDevice


def _stay(array: Any, device: Any = None, stream: Any = None) -> Any:
    """``cuda.to_gpu``: NumPy arrays; TypeError as there for what is none."""
    return _device.map_arrays(lambda one: _device.array_to_cpu(one, None), array)


def _copied(array: Any, out: Any = None, out_device: Any = None, stream: Any = None) -> Any:
    """``cuda.copy``."""
    if out is None:
        return array.copy()
    out[...] = array
    return out


class GpuAsCpu(Changes):
    """Context manager in which the CPU takes the place of all GPUs.

    >>> import numpy as np, minichainer as chainer
    >>> with GpuAsCpu():
    ...     chainer.cuda.get_device_from_id(0).use()
    ...     chainer.cuda.to_gpu(np.arange(3))
    array([0, 1, 2])
    """

    def __enter__(self) -> GpuAsCpu:
        cupy = CupyOfNumpy()
        replaced = {
            'check_cuda_available': lambda: None,
            'get_device_from_id': _device_of,
            'get_device': _device_of,
            'to_gpu': _stay,
            'copy': _copied,
            'cupy': cupy,
            'Device': CpuAsGpu,
            'GpuDevice': GpuDeviceAsCpu,
            'Stream': _Stream,
            'available': False,
            **{name: _kernel(f'cuda.{name}') for name in _KERNELS if name[0].islower()},
        }
        for module in cuda_modules:
            for name in replaced.keys() & vars(module).keys():
                self.set(module, name, replaced[name])
        self.set(backend, 'GpuDevice', GpuDeviceAsCpu)
        modules: dict[str, Any] = {'cupy': cupy, 'cupy.cuda': cupy.cuda}
        for core in (vars(cupy)['core'], vars(cupy)['_core']):
            modules |= {core.__name__: core, f'{core.__name__}.core': core.core}
        self._modules = {name: sys.modules.get(name) for name in modules}
        sys.modules.update(modules)
        return self

    def undo(self) -> None:
        """Restores what was replaced."""
        super().undo()
        for name, module in self._modules.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module
        self._modules = {}
