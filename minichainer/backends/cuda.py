"""CUDA through CuPy: transfers, devices, kernels from source.

All names exist even without CuPy or a GPU: ``available`` is False then, ``ndarray`` is an empty class (so that
``isinstance`` works), and functions that need a GPU raise a RuntimeError that says what is missing. CuPy 13 and
later are supported; cuDNN is used only if CuPy includes it (``cudnn_enabled``).
"""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy

from minichainer._names import namespace as _namespace
from minichainer.backends import _cuda_state, _cudnn, number_arrays
from minichainer.backends._cudnn import (
    get_max_workspace_size,
    set_max_workspace_size,
    should_use_cudnn,
    should_use_cudnn_tensor_core,
)
from minichainer.backends._device import Device as _BackendDevice
from minichainer.backends._device import (
    DummyDevice,
    DummyDeviceType,
    array_to_cpu,
    is_scalar,
    map_arrays,
    not_an_array,
)
from minichainer.backends._plain import plain
from minichainer.configuration import config

__all__ = [
    'Device',
    'DummyDevice',
    'DummyDeviceType',
    'Event',
    'GpuDevice',
    'Stream',
    'available',
    'check_cuda_available',
    'clear_memo',
    'config',
    'copy',
    'cudnn_enabled',
    'cupy',
    'elementwise',
    'fuse',
    'get_array_module',
    'get_cudnn_dropout_states',
    'get_cudnn_dropout_states_core',
    'get_device',
    'get_device_from_array',
    'get_device_from_id',
    'get_max_workspace_size',
    'memoize',
    'ndarray',
    'raw',
    'reduce',
    'set_max_workspace_size',
    'should_use_cudnn',
    'should_use_cudnn_tensor_core',
    'to_cpu',
    'to_gpu',
]


def _import_cudnn() -> tuple[Any, int]:
    """CuPy's cuDNN module and its version; None and 0 if CuPy has none or the user has disabled it."""
    if os.environ.get('CHAINER_CUDNN', '1') == '0':
        return None, 0
    with warnings.catch_warnings():
        # CuPy warns that cuDNN support will end, or that a library is missing, which does not concern our users.
        warnings.simplefilter('ignore')
        try:
            import cupy.cudnn
            from cupy_backends.cuda.libs import cudnn as library

            return cupy.cudnn, library.getVersion()
        except Exception:
            return None, 0


#: True if CuPy can be imported and sees a GPU.
available: bool
try:
    import cupy
    from cupy import ndarray
    from cupy.cuda import Device, Event, Stream

    _cuda_state.require_gpu(cupy)
    available = True
# A broken CUDA installation raises other errors than ImportError, which must not prevent using the CPU. Without a GPU
# CuPy's own names raise errors of CUDA, which do not say what to do.
except Exception as error:
    _cuda_state.not_usable(error)
    from minichainer.backends._missing_cupy import Device, Event, Stream, cupy, ndarray

    available = False

#: True if there are several GPUs: only then may arrays be on another than the current one.
several: bool = available and cupy.cuda.runtime.getDeviceCount() > 1

if available:
    _cudnn.set_library(*_import_cudnn())
#: True if CuPy includes cuDNN.
cudnn_enabled: bool = _cudnn.library is not None


def check_cuda_available() -> None:
    """Raises a RuntimeError that says what is missing, unless CuPy and a GPU are available."""
    if not available:
        raise RuntimeError(_cuda_state.why_unavailable())


class GpuDevice(_BackendDevice):
    """A CUDA GPU, with CuPy arrays.

    Args:
        device: a :class:`cupy.cuda.Device`; see :meth:`from_device_id` for numbers.
    """

    xp = cupy
    supported_array_types = (ndarray,)

    def __init__(self, device: Any) -> None:
        check_cuda_available()
        if not isinstance(device, Device):
            raise TypeError(f'GpuDevice: expected a cupy.cuda.Device, got {type(device)}')
        self.device = device

    @staticmethod
    def from_device_id(device_id: int) -> GpuDevice:
        """The GPU of that number.

        Args:
            device_id: 0 for the first GPU, and so on.
        """
        check_cuda_available()
        if not isinstance(device_id, (int, numpy.integer)) or device_id < 0:
            raise ValueError(f'invalid CUDA device id: expected an integer from 0 on, got {device_id!r}')
        count = _cuda_state.device_count()
        if device_id >= count:
            raise RuntimeError(f'there is no CUDA device {device_id}: CuPy sees {count}, numbered from 0')
        return GpuDevice(Device(int(device_id)))

    @staticmethod
    def from_array(array: Any) -> GpuDevice | None:
        """The GPU of a CuPy array; None for anything else."""
        return GpuDevice(array.device) if isinstance(array, ndarray) and available else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GpuDevice) and other.device.id == self.device.id

    def __hash__(self) -> int:
        return hash((GpuDevice, self.device.id))

    def __repr__(self) -> str:
        return f'<GpuDevice (cupy):{self.device.id}>'

    def __reduce__(self) -> Any:
        return GpuDevice.from_device_id, (self.device.id,)

    @property
    def name(self) -> str:
        return f'@cupy:{self.device.id}'

    def create_context(self) -> contextlib.AbstractContextManager[Any]:
        # A new object for each block, because CuPy's object stores the previous device.
        context: contextlib.AbstractContextManager[Any] = Device(self.device.id)
        return context

    def send_array(self, array: Any) -> Any:
        return _array_to_gpu(array, self.device)

    def use(self) -> None:
        self.device.use()

    def is_array_supported(self, array: Any) -> bool:
        return isinstance(array, ndarray) and self.device == array.device


def _raw(arg: Any) -> Any:
    """The array of a Variable, recognized by its attribute, because this room cannot import the class."""
    if isinstance(arg, (numpy.ndarray, ndarray)):
        return arg
    return getattr(arg, '_data' if hasattr(arg, '_data') else 'array', arg)  # a user's reading .array is noted


def get_array_module(*args: Any) -> Any:
    """``cupy`` if any of the arguments is a CuPy array or a Variable of one, ``numpy`` otherwise.

    Args:
        args: arrays, Variables or anything else.

    >>> import numpy as np, minichainer as chainer
    >>> chainer.backend.get_array_module(np.zeros(3), 1.0) is np
    True
    """
    if number_arrays.in_use and (module := number_arrays.module_of(map(_raw, args))) is not None:
        return module
    if not available:
        return numpy
    return cupy.get_array_module(*[_raw(arg) for arg in args])


def get_device_from_id(device_id: int | None) -> Any:
    """The :class:`cupy.cuda.Device` of that number, or ``DummyDevice`` for None and negative numbers."""
    if device_id is None or device_id < 0:
        return DummyDevice
    check_cuda_available()
    return Device(int(device_id))


def get_device_from_array(*arrays: Any) -> Any:
    """The :class:`cupy.cuda.Device` of the first CuPy array among the arguments, or ``DummyDevice``.

    Args:
        arrays: arrays or Variables.
    """
    for array in map(_raw, arrays):
        if isinstance(array, ndarray) and array.device is not None:
            return array.device
    return DummyDevice


def get_device(*args: Any) -> Any:
    """The CUDA device for an argument; Chainer v1's function, for old code.

    Args:
        args: tried in turn: a device, a device number (negative for ``DummyDevice``), an array.

    Returns:
        A :class:`cupy.cuda.Device`, or ``DummyDevice`` where no argument names one.
    """
    for arg in args:
        if isinstance(arg, (Device, DummyDeviceType)):
            return arg
        if isinstance(arg, (int, numpy.integer)) and not isinstance(arg, bool):
            return get_device_from_id(int(arg))
        if isinstance(_raw(arg), ndarray):
            return get_device_from_array(arg)
    return DummyDevice


def _as_cuda_device(device: Any) -> Any:
    """The ``cupy.cuda.Device`` for an argument ``device=``; the current one for None."""
    if device is None:
        return Device()
    if isinstance(device, Device):
        return device
    if isinstance(device, GpuDevice):
        return device.device
    if isinstance(device, (int, numpy.integer)) and device >= 0:
        return Device(int(device))
    raise ValueError(f'expected a CUDA device or its number from 0 on, got {device!r}')


def _array_to_gpu(array: Any, device: Any) -> Any:
    """One array on a GPU; None and scalars as in :func:`to_gpu`."""
    if array is None:
        return None
    if isinstance(array, ndarray):
        if array.device == device:
            return array
        with device:
            return array.copy()
    if type(array) is not numpy.ndarray:
        array = plain(array)
    if isinstance(array, numpy.ndarray) and not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder('='))
    if isinstance(array, numpy.ndarray) or is_scalar(array):
        with device:
            return cupy.asarray(array)
    raise not_an_array('a GPU', array)


def to_gpu(array: Any, device: Any = None, stream: Any = None) -> Any:
    """The same values on a GPU.

    Args:
        array: an array of any device, a scalar, None, or a list or tuple of these.
        device: a :class:`cupy.cuda.Device` or its number; the current device by default.
        stream: a CUDA stream in which to copy; deprecated, ``with stream:`` does the same.

    Returns:
        A CuPy array, None, or a list or tuple of these. Arrays that are there already are returned as they
        are.

    Raises:
        RuntimeError: there is no GPU, or no CuPy.
        TypeError: something is not an array.
    """
    check_cuda_available()
    target = _as_cuda_device(device)
    if stream is None:
        return map_arrays(lambda one: _array_to_gpu(one, target), array)
    warnings.warn('to_gpu(stream=...) is deprecated: call it inside "with stream:"', DeprecationWarning, stacklevel=2)
    with stream:
        return map_arrays(lambda one: _array_to_gpu(one, target), array)


def to_cpu(array: Any, stream: Any = None) -> Any:
    """The same values as NumPy arrays.

    Args:
        array: an array of any device, a scalar, None, or a list or tuple of these.
        stream: the CUDA stream in which to copy from the GPU; the current one by default.

    Returns:
        A NumPy array, None, or a list or tuple of these. NumPy arrays are returned unchanged.

    Raises:
        TypeError: something is not an array.

    >>> import numpy as np
    >>> from minichainer.backends import cuda
    >>> cuda.to_cpu([np.arange(2), None, 3.0])
    [array([0, 1]), None, array(3.)]
    """
    return map_arrays(lambda one: array_to_cpu(one, stream), array)


def copy(array: Any, out: Any = None, out_device: Any = None, stream: Any = None) -> Any:
    """A copy on a GPU of a CuPy array.

    Args:
        array: the CuPy array to copy.
        out: the CuPy array to write to; a new one by default.
        out_device: where the new array is made: a device or its number; where ``array`` is by default.
        stream: the CUDA stream in which to copy; the current one by default.

    Returns:
        ``out``, or the new array.
    """
    check_cuda_available()
    if out is not None and out_device is not None:
        raise ValueError('cuda.copy: pass either out or out_device, not both')
    with stream if stream is not None else contextlib.nullcontext():
        if out is None:
            with array.device if out_device is None else _as_cuda_device(out_device):
                return array.copy()
        with out.device:
            out[...] = array if out.device == array.device else array.copy()
        return out


def memoize(for_each_device: bool = False) -> Callable[[Any], Any]:
    """Decorator that caches the results of a function; :func:`clear_memo` clears the cache.

    Args:
        for_each_device: keep one result for each current device. Without a GPU nothing is kept, because
            nothing that is worth keeping can be made.
    """
    return cupy.memoize(for_each_device) if available else lambda function: function


def clear_memo() -> None:
    """Clears the caches of :func:`memoize`."""
    if available:
        cupy.clear_memo()


@memoize(for_each_device=True)
def elementwise(in_params: str, out_params: str, operation: str, name: str, **kwargs: Any) -> Any:
    """A :class:`cupy.ElementwiseKernel`, made once for each source and device.

    Args:
        in_params: names and types of the inputs, such as ``'T x, T y'``.
        out_params: names and types of the outputs.
        operation: CUDA C++ for one element.
        name: name of the kernel.
        kwargs: further arguments of :class:`cupy.ElementwiseKernel`.
    """
    check_cuda_available()
    return cupy.ElementwiseKernel(in_params, out_params, operation, name, **kwargs)


@memoize(for_each_device=True)
def reduce(
    in_params: str,
    out_params: str,
    map_expr: str,
    reduce_expr: str,
    post_map_expr: str,
    identity: Any,
    name: str,
    **kwargs: Any,
) -> Any:
    """A :class:`cupy.ReductionKernel`, made once for each source and device.

    Args:
        in_params: names and types of the inputs.
        out_params: name and type of the output.
        map_expr: CUDA C++ applied to each element.
        reduce_expr: CUDA C++ that joins ``a`` and ``b``.
        post_map_expr: CUDA C++ applied to the joined value ``a``.
        identity: value of an empty reduction, as CUDA C++.
        name: name of the kernel.
        kwargs: further arguments of :class:`cupy.ReductionKernel`.
    """
    check_cuda_available()
    return cupy.ReductionKernel(in_params, out_params, map_expr, reduce_expr, post_map_expr, identity, name, **kwargs)


@memoize()
def raw(code: str, name: str, *args: Any, **kwargs: Any) -> Any:
    """A :class:`cupy.RawKernel`, made once for each source.

    Args:
        code: CUDA C++ of the kernel.
        name: name of the kernel function in ``code``.
        args, kwargs: further arguments of :class:`cupy.RawKernel`.
    """
    check_cuda_available()
    return cupy.RawKernel(code, name, *args, **kwargs)


def errors_of_matrices() -> contextlib.AbstractContextManager[Any]:
    """In debug mode, a context in which matrices that cuSOLVER fails with raise LinAlgError, which waits.

    Otherwise cuSOLVER's errors are ignored, and results are NaN or without meaning.
    """
    if not (available and config.debug):
        return contextlib.nullcontext()
    import cupyx

    checked: contextlib.AbstractContextManager[Any] = cupyx.errstate(linalg='raise')
    return checked


def fuse(*args: Any, **kwargs: Any) -> Any:
    """Decorator that fuses elementwise CuPy operations into one kernel; without a GPU it changes nothing.

    Args:
        args: the function, for use without parentheses.
        kwargs: arguments of :func:`cupy.fuse`.
    """
    if available:
        return cupy.fuse(*args, **kwargs)
    return args[0] if args and callable(args[0]) else lambda function: function


_dropout_seeds = itertools.count()


def get_cudnn_dropout_states() -> Any:
    """The state of cuDNN's dropout for the current thread and device."""
    return get_cudnn_dropout_states_core(threading.get_ident())


@memoize(for_each_device=True)
def get_cudnn_dropout_states_core(thread_id: int) -> Any:
    """The state of cuDNN's dropout for a thread, seeded from ``CHAINER_SEED`` if it is set."""
    if not cudnn_enabled:
        raise RuntimeError('cuDNN is not enabled: CuPy does not include it, or CHAINER_CUDNN is 0')
    seed = int(os.environ.get('CHAINER_SEED', next(_dropout_seeds)))
    return _cudnn.library.DropoutStates(_cudnn.library.get_handle(), seed)


if not TYPE_CHECKING:
    __getattr__ = _namespace(__name__)[0]
