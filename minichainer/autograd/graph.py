"""What the graph saves, and how: hooks that pack saved arrays, and recomputation."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import ContextDecorator
from typing import Any

import numpy

from minichainer import recorder
from minichainer._checks import array_types
from minichainer._grad_fn import GradFn as Node
from minichainer.autograd._arrays import raw
from minichainer.backend import get_device_from_array
from minichainer.backends import cuda
from minichainer.functions.util.forget import forget
from minichainer.variable import Variable

__all__ = ['Node', 'checkpoint', 'save_on_cpu', 'saved_tensors_hooks']


class saved_tensors_hooks(ContextDecorator):
    """Context manager in which functions save what a hook makes of an array.

    Nested contexts: only the innermost hooks are called.

    Args:
        pack_hook: called with each array that a function saves, as a Variable; returns anything.
        unpack_hook: called with that, each time backward reads it; returns a Variable or an array with the same
            values.

    >>> import numpy as np
    >>> from minichainer import autograd
    >>> kept = []
    >>> def pack(x):
    ...     kept.append(x.array)
    ...     return len(kept) - 1
    >>> x = autograd.Variable(np.array(3.), requires_grad=True)
    >>> with autograd.graph.saved_tensors_hooks(pack, kept.__getitem__):
    ...     y = x * x
    >>> y.backward()
    >>> x.grad, len(kept)
    (array(6.), 2)
    """

    def __init__(self, pack_hook: Callable[[Variable], Any], unpack_hook: Callable[[Any], Any]) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook
        self._entered: list[int] = []

    def _pack(self, array: Any) -> Any:
        return self.pack_hook(Variable(array, requires_grad=False))

    def _unpack(self, packed: Any) -> Any:
        array = raw(self.unpack_hook(packed))
        if not isinstance(array, array_types()):
            raise TypeError(f'unpack_hook: expected a Variable or an array as result, got {type(array).__name__}')
        return array

    def __enter__(self) -> None:
        self._entered.append(recorder.packing_depth())
        try:
            recorder.begin_packing(self._pack, self._unpack)
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *exception: Any) -> None:
        try:
            recorder.end_packing(self._entered[-1])
        except BaseException:  # that of a signal
            recorder.end_packing(self._entered[-1])
            raise
        finally:
            self._entered.pop()


class save_on_cpu(saved_tensors_hooks):
    """Context manager in which functions save arrays in the computer's memory; backward copies them to the GPU again.

    Args:
        pin_memory: copy into page-locked memory, which is faster.
        device_type: accepted, as in torch, and not used: each array goes back to the device that it was on.

    >>> import numpy as np
    >>> from minichainer import autograd
    >>> x = autograd.Variable(np.array([1., 2.]), requires_grad=True)
    >>> with autograd.graph.save_on_cpu():
    ...     y = x * x
    >>> y.backward(gradient=np.ones(2))
    >>> x.grad
    array([2., 4.])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = 'cuda') -> None:
        super().__init__(functools.partial(_to_host, pin_memory), _to_its_device)


def _to_host(pin_memory: bool, x: Variable) -> Any:
    array: Any = x.array
    if not isinstance(array, cuda.ndarray):
        return get_device_from_array(array), array.copy()
    if not pin_memory:
        return get_device_from_array(array), cuda.to_cpu(array)
    memory = cuda.cupy.cuda.alloc_pinned_memory(max(array.nbytes, 1))
    target = numpy.frombuffer(memory, array.dtype, array.size).reshape(array.shape)
    return get_device_from_array(array), array.get(out=target)


def _to_its_device(packed: tuple[Any, Any]) -> Any:
    device, array = packed
    return device.send(array)


def checkpoint(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls a function without saving its intermediate results; backward computes them again.

    Links, settings and random numbers are found in the second call as they were in the first
    (:func:`minichainer.functions.forget`).

    Args:
        function: takes ``args`` and ``kwargs``, returns a Variable or a tuple of them.
        args: Variables, arrays and anything else.
        kwargs: passed on to the function.

    Returns:
        What the function returns.

    >>> import numpy as np
    >>> from minichainer import autograd
    >>> x = autograd.Variable(np.array(2.), requires_grad=True)
    >>> autograd.checkpoint(lambda v, power: v ** power, x, power=3).backward()
    >>> x.grad
    array(12.)
    """
    places = [i for i, arg in enumerate(args) if isinstance(arg, Variable)]

    returned: list[Any] = []

    def call(*variables: Variable) -> Any:
        given = dict(zip(places, variables, strict=True))
        outputs = function(*[given.get(i, arg) for i, arg in enumerate(args)], **kwargs)
        returned[:] = [type(outputs)]
        return outputs

    outputs = forget(call, *[args[i] for i in places])
    several = issubclass(returned[0], (tuple, list)) and isinstance(outputs, Variable)
    return (outputs,) if several else outputs
