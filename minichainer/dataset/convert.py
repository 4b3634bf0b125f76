from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy

from minichainer import backend
from minichainer._names import namespace as _namespace
from minichainer.backends import cuda
from minichainer.backends._plain import plain
from minichainer.dataset._rows import at, is_framed

_ARRAYS = (numpy.ndarray, cuda.ndarray)


class Converter:
    """Base class of converters, which convert a list of examples to arrays on a device.

    A subclass defines ``__call__(batch, device)``; ``device`` is a :class:`~minichainer.backend.Device` or
    ``None``.

    .. admonition:: Example

        >>> import minichainer as chainer
        >>> class OnlyImages(chainer.dataset.Converter):
        ...     def __call__(self, batch, device):
        ...         return chainer.dataset.concat_examples([x for x, t in batch], device)
        >>> OnlyImages()([(1.5, 0), (2.5, 1)], None)
        array([1.5, 2.5])

    """

    def __call__(self, batch: Sequence[Any], device: Any) -> Any:
        """Converts a list of examples to an array, or to a tuple or dict of arrays.

        Args:
            batch: list of examples.
            device: device for the arrays, or None.
        """
        raise NotImplementedError(f'{type(self).__name__} must define __call__(batch, device)')


class _FunctionConverter(Converter):
    """A function as a converter; it gets all arguments."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return f'<converter {self._function.__name__}>'


def converter() -> Callable[[Callable[..., Any]], Converter]:
    """Decorator that makes a :class:`Converter` from a function ``f(batch, device)``.

    Such a converter gets the updater's device as a :class:`~minichainer.backend.Device` or ``None``; a plain function
    gets Chainer's older integer (GPU number, or -1 for the CPU). Raises :class:`TypeError` for a class or anything
    else that is not a function.

    .. admonition:: Example

        >>> import minichainer as chainer
        >>> @chainer.dataset.converter()
        ... def only_images(batch, device):
        ...     return chainer.dataset.concat_examples([x for x, t in batch], device)

    """

    def wrap(function: Callable[..., Any]) -> Converter:
        if not callable(function) or inspect.isclass(function):
            raise TypeError(f'converter() decorates a function f(batch, device), not {function!r}')
        return _FunctionConverter(function)

    return wrap


def call_converter(converter: Callable[..., Any], batch: Sequence[Any], device: Any) -> Any:
    """Calls a converter with a device if it is a :class:`Converter`, else with Chainer's older integer."""
    if isinstance(converter, Converter) or device is None:
        return converter(batch, device)
    if isinstance(device, backend.GpuDevice):
        return converter(batch, device.device.id)
    return converter(batch, -1)


def call_with(function: Callable[..., Any], arrays: Any) -> Any:
    """Calls a function with what a converter has made: a tuple or dict of arguments, or one argument."""
    if isinstance(arrays, tuple):
        return function(*arrays)
    if isinstance(arrays, dict):
        return function(**arrays)
    return function(arrays)


def _get_device(spec: Any) -> Any:
    if spec is None or isinstance(spec, backend.Device):
        return spec
    if isinstance(spec, (int, numpy.integer)):
        return backend.get_device('@numpy' if spec < 0 else f'@cupy:{spec}')
    return backend.get_device(spec)


def to_device(device: Any, x: Any) -> Any:
    """Sends an array to a device.

    Args:
        device: ``None`` (``x`` is returned as it is), a device specifier (``'@cupy:0'``), a device, or the
            older integer: a GPU's number, negative for the CPU.
        x: An array, or a list, tuple or dict of arrays.

    .. admonition:: Example

        >>> import numpy as np
        >>> import minichainer as chainer
        >>> chainer.dataset.to_device('@numpy', np.arange(3))
        array([0, 1, 2])

    """
    device = _get_device(device)
    return x if device is None else device.send(x)


def concat_examples_func(batch: Sequence[Any], device: Any = None, padding: Any = None) -> Any:
    """Stacks a list of examples to arrays of shape ``(len(batch), ...)``.

    Examples may be arrays (or numbers), tuples of arrays (the result is a tuple of stacked arrays) or dicts (the
    result is a dict).

    Args:
        batch (list): Examples, at least one. All have the same structure. Rows of frames are arrays.
        device: Device specifier to which the result is sent; ``None`` leaves it where the examples are.
        padding: ``None``: all shapes must agree. A number: shorter arrays are filled up with it to the
            largest shape. With tuple or dict examples it may be a tuple or dict of one value per element.

    Returns:
        Array, tuple of arrays or dict of arrays; a padded array has the dtype of the first example.

    Raises:
        ValueError: The batch is empty, or shapes differ and no padding was given.
        IndexError: Tuples have different lengths.
        KeyError: A dict lacks a key of the first example.

    .. admonition:: Example

        >>> import numpy as np
        >>> import minichainer as chainer
        >>> x, t = chainer.dataset.concat_examples([(np.array([1, 2]), 0), (np.array([3]), 1)], padding=0)
        >>> x
        array([[1, 2],
               [3, 0]])
        >>> t
        array([0, 1])

    """
    if is_framed(batch):
        batch = at(batch, slice(None))
    if len(batch) == 0:
        raise ValueError('concat_examples: batch is empty; at least one example is required')
    device = _get_device(device)
    first = batch[0]
    if isinstance(first, tuple):
        _check_lengths(batch)
        paddings = padding if isinstance(padding, tuple) else (padding,) * len(first)
        if len(paddings) < len(first):
            raise IndexError(_missing_paddings(f'{len(first)} elements', padding))
        return tuple(_concat([e[i] for e in batch], paddings[i], device, i) for i in range(len(first)))
    if isinstance(first, dict):
        _check_keys(batch)
        fillings = padding if isinstance(padding, dict) else dict.fromkeys(first, padding)
        if first.keys() - fillings.keys():
            raise KeyError(_missing_paddings(f'keys {list(first)}', padding))
        return {k: _concat([e[k] for e in batch], fillings[k], device, k) for k in first}
    return _concat(batch, padding, device)


concat_examples = converter()(concat_examples_func)


def _check_lengths(batch: Sequence[tuple[Any, ...]]) -> None:
    """Raises IndexError unless all tuples have the same length, TypeError unless all are tuples."""
    want = len(batch[0])
    for i, example in enumerate(batch):
        if not isinstance(example, (tuple, list)):
            raise TypeError(_mixed(batch[0], example, i))
        if len(example) != want:
            raise IndexError(
                f'concat_examples: example 0 is a tuple of {want}, example {i} of {len(example)}; '
                'all examples need the same number of elements'
            )


def _check_keys(batch: Sequence[dict[Any, Any]]) -> None:
    """Raises KeyError if an example lacks a key of the first, TypeError unless all are dicts."""
    for i, example in enumerate(batch):
        if not isinstance(example, dict):
            raise TypeError(_mixed(batch[0], example, i))
        missing = batch[0].keys() - example.keys()
        if missing:
            raise KeyError(
                f'concat_examples: example {i} has the keys {list(example)}, and lacks {sorted(missing, key=str)} '
                'of example 0; all examples need the same keys'
            )


def _mixed(first: Any, other: Any, i: int) -> str:
    return (
        f'concat_examples: example 0 is of type {type(first).__name__}, example {i} of {type(other).__name__}; '
        'all examples of a batch need the same structure'
    )


def _missing_paddings(wanted: str, padding: Any) -> str:
    return (
        f'concat_examples: the examples have {wanted}, padding = {padding!r} lacks some of them; '
        'give one value for each, None where nothing is padded, or one number for all'
    )


def _as_array(examples: Sequence[Any], key: Any) -> numpy.ndarray:
    """Numbers, or lists of them, as an array; ValueError or TypeError if they do not form one."""
    where = '' if key is None else f' (element {key!r} of the examples)'
    kinds = sorted({_kind(example) for example in examples})
    if len(kinds) > 1:
        raise TypeError(f'concat_examples{where}: examples of the types {", ".join(kinds)} cannot form one array')
    try:
        array = numpy.asarray(examples)
        return _of_rows(examples, where) if array.dtype.hasobject and is_framed(examples[0]) else array
    except ValueError:
        shapes = [numpy.shape(e) if not _is_ragged(e) else 'ragged' for e in examples]
        other = next((i for i, shape in enumerate(shapes) if shape != shapes[0]), 0)
        raise ValueError(
            f'concat_examples{where}: example 0 has shape {shapes[0]}, example {other} has {shapes[other]}; '
            'pass padding=0, or another number, to pad the smaller ones, or make arrays of one shape'
        ) from None


def _of_rows(rows: Sequence[Any], where: str) -> numpy.ndarray:
    """Rows of a frame whose columns have several dtypes as an array of numbers, with the dtype that fits all."""
    array = numpy.asarray([list(row) for row in rows])
    if array.dtype.kind not in 'biufc':
        raise TypeError(
            f'concat_examples{where}: rows of a frame must be of numbers, got {list(rows[0])}; select columns, as in '
            "frame[['a', 'b']], or convert them by frame.astype"
        )
    return array


def _kind(example: Any) -> str:
    """What NumPy would put into an array of objects or texts with others; all else is taken for numbers."""
    for kind in (str, dict):
        if isinstance(example, kind):
            return kind.__name__
    return 'None' if example is None else 'number'


def _is_ragged(example: Any) -> bool:
    try:
        numpy.asarray(example)
    except ValueError:
        return True
    return False


def _concat(arrays: Sequence[Any], padding: Any, device: Any, key: Any = None) -> Any:
    """Stacks arrays or numbers, and sends the result to a device."""
    if set(map(type, arrays)) != {numpy.ndarray}:
        arrays = [plain(array) for array in arrays]
    if not isinstance(arrays[0], _ARRAYS):
        if padding is None:
            return to_device(device, _as_array(arrays, key))
        arrays = [numpy.asarray(a) for a in arrays]
    with backend.using_device(backend.get_device_from_array(arrays[0])):
        if padding is not None:
            return to_device(device, _pad(arrays, padding))
        _check_shapes(arrays, key)
        return to_device(device, backend.get_array_module(arrays[0]).stack(arrays))


def _check_shapes(arrays: Sequence[Any], key: Any) -> None:
    """Raises ValueError unless all arrays have the same shape."""
    shape = arrays[0].shape
    for i, a in enumerate(arrays):
        if not isinstance(a, _ARRAYS):
            raise TypeError(_mixed(arrays[0], a, i) + f'; write numpy.asarray(x, numpy.{arrays[0].dtype})')
        if a.shape != shape:
            where = '' if key is None else f' (element {key!r} of the examples)'
            raise ValueError(
                f'concat_examples{where}: example 0 has shape {shape}, example {i} has {a.shape}; '
                'pass padding=0, or another number, to pad the smaller ones'
            )


def _pad(arrays: Sequence[Any], padding: Any) -> Any:
    """Stacks arrays of different shapes, with padding."""
    ndims = {a.ndim for a in arrays}
    if len(ndims) > 1:
        raise ValueError(f'concat_examples: cannot pad arrays of different numbers of dimensions {sorted(ndims)}')
    shape = tuple(max(sizes) for sizes in zip(*(a.shape for a in arrays), strict=True))
    xp = backend.get_array_module(arrays[0])
    result = xp.full((len(arrays), *shape), padding, dtype=arrays[0].dtype)
    for i, a in enumerate(arrays):
        place = (i, *(slice(n) for n in a.shape))
        result[place] = a
    return result


class Conveyor:
    """Copies arrays to a GPU through page-locked memory, on a separate stream.

    Args:
        device: Number of the GPU; ``None`` is the current one.
        stream: CUDA stream of the copies; ``None`` makes them synchronous.
    """

    def __init__(self, device: int | None = None, stream: Any = None) -> None:
        self._device = device
        self._stream = stream
        self._pending: list[tuple[Any, Any]] = []
        #: Page-locked memory must live until the copies from it are finished.
        self._copied_from: list[tuple[Any, Any]] = []

    def put(self, array: numpy.ndarray) -> None:
        """Starts the copy of a NumPy array, to be used in the current stream."""
        with cuda.get_device_from_id(self._device):
            if self._stream is None:
                self._pending.append((cuda.to_gpu(array), None))
                return
            pinned_memory = cuda.cupy.cuda.alloc_pinned_memory(max(array.nbytes, 1))
            pinned = numpy.frombuffer(pinned_memory, array.dtype, array.size).reshape(array.shape)
            pinned[...] = array
            target = cuda.cupy.empty(array.shape, array.dtype)
            # Work that is queued may still read what was in that memory before: the pool reuses it in this order.
            self._stream.wait_event(cuda.cupy.cuda.get_current_stream().record())
            target.set(pinned, self._stream)
            event = self._stream.record()
            self._copied_from = [pair for pair in self._copied_from if not pair[0].done] + [(event, pinned)]
            self._pending.append((target, event))

    def get(self, sync: bool = True) -> Any:
        """Returns the array that was put first.

        Args:
            sync: wait for its copy; otherwise work that is queued in the current stream from here on does.
        """
        target, event = self._pending.pop(0)
        if event is not None and sync:
            event.synchronize()
        elif event is not None:
            with cuda.get_device_from_id(self._device):
                cuda.cupy.cuda.get_current_stream().wait_event(event)
        return target


class ConcatWithAsyncTransfer:
    """Converter like :func:`concat_examples` that copies to the GPU on a separate stream, and waits for nothing.

    Args:
        stream: CUDA stream of the copies; made when omitted, one for each GPU.
        compute_stream: Stream that waits for the copies; the current one when omitted.

    Without CUDA it converts to arrays of NumPy.

    .. admonition:: Example

        >>> import minichainer as chainer
        >>> converter = chainer.dataset.ConcatWithAsyncTransfer()  # StandardUpdater(..., converter=converter)

    """

    def __init__(self, stream: Any = None, compute_stream: Any = None) -> None:
        self._stream = stream
        self._compute_stream = compute_stream
        self._conveyors: dict[int, Conveyor] = {}

    def __call__(self, batch: Sequence[Any], device: Any = None, padding: Any = None) -> Any:
        """Converts a list of examples; see :func:`concat_examples`.

        Args:
            batch: list of examples.
            device: device for the arrays, or None.
            padding: what fills examples that are too short, or None.
        """
        device = _get_device(device)
        arrays = concat_examples_func(batch, None, padding)
        if not isinstance(device, backend.GpuDevice):
            return to_device(device, arrays)
        if isinstance(arrays, tuple):
            return tuple(self._send(a, device) for a in arrays)
        if isinstance(arrays, dict):
            return {k: self._send(a, device) for k, a in arrays.items()}
        return self._send(arrays, device)

    def _send(self, array: numpy.ndarray, device: Any) -> Any:
        """Copies an array to a GPU; the computing stream waits for the copy."""
        number = device.device.id
        with cuda.get_device_from_id(number):
            if number not in self._conveyors:
                self._conveyors[number] = Conveyor(number, self._stream or cuda.Stream(non_blocking=True))
            with self._compute_stream or cuda.cupy.cuda.get_current_stream():
                self._conveyors[number].put(array)
                return self._conveyors[number].get(sync=False)


if not TYPE_CHECKING:
    __getattr__ = _namespace(__name__)[0]
