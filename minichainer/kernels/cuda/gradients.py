"""What hooks of optimizers do to many gradients in a launch: clipping by their norm, decay, a test for infinities."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from minichainer.backends import cuda
from minichainer.kernels.cuda._table import ReductionKernel

#: Arrays in one launch, whose arguments have 4096 bytes, and threads that share the work.
MOST = 60
THREADS = 1 << 16
#: Threads that share the norms of layers, each of which has a sum of its own for every array.
THREADS_OF_NORMS = 1 << 12

#: Arguments of CuPy's ElementwiseKernel.
Source = tuple[str, str, str, str]
#: Gradient, parameter and the loss scale that multiplies the gradient.
Changed = tuple[Any, Any, float]
Item = TypeVar('Item', bound=tuple[Any, ...])
#: Arrays of a launch, in columns, and their loss scale.
Group = tuple[list[tuple[Any, ...]], float]

#: The sum is NaN, and the factor too, if a part is; 0 / 0 and infinity / infinity are within the threshold.
clip_factor = ReductionKernel(
    'clip_factor',
    'float64 part, float64 threshold',
    'float64 factor',
    'part == 0 || (isinf(threshold) && isinf(part)) ? 0.0 : part / (threshold * threshold)',
    'a + b',
    'factor = a <= 1 ? 1.0 : 1 / sqrt(a)',
    '0',
    dtypes=[{}],
)
total = ReductionKernel('total_of_parts', 'float64 part', 'float64 y', 'part', 'a + b', 'y = a', '0', dtypes=[{}])
norms = ReductionKernel(
    'norms_of_parts', 'float64 part', 'float64 y', 'part', 'a + b', 'y = sqrt(a)', '0', dtypes=[{}]
)

#: What :func:`change` does to ``g``, computed in C as the parameter ``p``; with numbers ``a`` and ``b``.
CHANGES = {
    'decay': 'g += (C)a * p;',
    'lasso': 'g += p > 0 ? (C)a : p < 0 ? -(C)a : p * (C)a;',
    'hard_clip': 'if (g < a) g = (C)a; if (g > b) g = (C)b;',
}


# --- sources ---
@functools.lru_cache(maxsize=64)
def squares_source(count: int) -> Source:
    """Squares of ``count`` arrays, summed by each thread."""
    loops = [_loop(k, f'total += (double)g{k}[j] * (double)g{k}[j];') for k in range(count)]
    body = ['double total = 0;', *loops, 'part = total / divisor;']
    return f'{_raw(count)}, float64 divisor', 'float64 part', '\n'.join(body), f'squares_of_{count}'


@functools.lru_cache(maxsize=64)
def scale_source(count: int) -> Source:
    """Multiplies ``count`` arrays, in place, by a factor on the device."""
    loops = [_loop(k, f'g{k}[j] = (T)((double)g{k}[j] * factor[0]);') for k in range(count)]
    body = '\n'.join(['if (factor[0] == 1) continue;', *loops])
    return 'raw float64 factor', _raw(count), body, f'scale_{count}'


@functools.lru_cache(maxsize=64)
def finite_source(count: int) -> Source:
    """Whether each thread has met an infinity or NaN in ``count`` arrays."""
    loops = [_loop(k, f'{{ double g = (double)g{k}[j]; met = met || g - g != 0; }}') for k in range(count)]
    return _raw(count), 'bool part', '\n'.join(['bool met = false;', *loops, 'part = met;']), f'finite_{count}'


@functools.lru_cache(maxsize=64)
def change_source(change: str, count: int, computing: str) -> Source:
    """Changes ``count`` gradients by :data:`CHANGES`; ``computing`` is the type C."""
    loops = [_loop(k, f'{_element(k, computing)} {CHANGES[change]} g{k}[j] = (T)g; }}') for k in range(count)]
    numbers = 'float64 a, float64 b'
    return f'{_raw(count, "p")}, {numbers}', _raw(count), '\n'.join(loops), f'{change}_{count}_{computing}'


@functools.lru_cache(maxsize=64)
def layers_source(count: int) -> Source:
    """Squares of each of ``count`` parameters, then of each gradient, summed by each thread."""
    arrays = [f'{name}{k}' for name in 'pg' for k in range(count)]
    sums = [
        f'{{ double total = 0; {_loop(array, f"total += (double){array}[j] * (double){array}[j];")} '
        f'parts[{row} * _ind.size() + i] = total; }}'
        for row, array in enumerate(arrays)
    ]
    return f'{_raw(count, "p")}, {_raw(count)}', 'raw float64 parts', '\n'.join(sums), f'squares_of_{count}_layers'


@functools.lru_cache(maxsize=64)
def layer_rates_source(count: int, computing: str) -> Source:
    """Decays and rescales ``count`` gradients, by the norms of the parameters and of the gradients."""
    numbers = 'raw float64 norms, float64 threshold, float64 decay, float64 eps, float64 scale'
    loops = [
        f"""{{ double norm = norms[{k}], divisor = eps + norms[{count + k}] / scale + decay * norm;
double factor = norm <= threshold ? 1 : norm / divisor;
{_loop(k, f'{_element(k, computing)} g += (C)(decay * scale) * p; g{k}[j] = (T)(g * (C)factor); }}')} }}"""
        for k in range(count)
    ]
    return f'{_raw(count, "p")}, {numbers}', _raw(count), '\n'.join(loops), f'layer_rates_{count}_{computing}'


# --- launches ---
def by_device(items: Iterable[Item]) -> list[tuple[Any, list[Item]]]:
    """Devices, each with the items on it, in the order of their first item.

    Args:
        items: tuples that begin with a gradient on a device.
    """
    found: dict[int, list[Item]] = {}
    for item in items:
        found.setdefault(item[0].device.id, []).append(item)
    return [(here[0][0].device, here) for here in found.values()]


def clip(xp: Any, gradients: Sequence[tuple[Any, float]], threshold: float) -> None:
    """Scales gradients in place so that their norm, over all of them, is at most ``threshold``.

    Args:
        xp: cupy.
        gradients: arrays of the current device, and for each the loss scale that multiplies it.
        threshold: the largest norm.
    """
    groups = list(_groups(gradients))
    _scale(groups, clip_factor(_squares(xp, groups), threshold))


def clip_on_devices(xp: Any, places: Sequence[tuple[Any, Sequence[tuple[Any, float]]]], threshold: float) -> None:
    """The same for gradients of several devices, among which sums of squares are copied.

    Args:
        xp: cupy.
        places: devices, and what :func:`clip` takes for each.
        threshold: the largest norm.
    """
    groups = [list(_groups(gradients)) for _, gradients in places]
    totals = []
    for (device, _), found in zip(places, groups, strict=True):
        with device:
            totals.append(total(_squares(xp, found)).reshape(1))
    for (device, _), found in zip(places, groups, strict=True):
        with device:
            here = xp.concatenate([cuda.to_gpu(one, device) for one in totals])
            _scale(found, clip_factor(here, threshold))


def _scale(groups: Sequence[Group], factor: Any) -> None:
    for (arrays,), _ in groups:
        _launch(scale_source(len(arrays)), [factor, *arrays], arrays)


def _squares(xp: Any, groups: Sequence[Group]) -> Any:
    """Squares of gradients, without their loss scale, summed by each thread."""
    sizes = [min(THREADS, max(array.size for array in arrays)) for (arrays,), _ in groups]
    parts, ends = xp.empty(sum(sizes), 'd'), list(itertools.accumulate(sizes))
    for ((arrays,), scale), size, end in zip(groups, sizes, ends, strict=True):
        cuda.elementwise(*squares_source(len(arrays)))(*arrays, scale * scale, parts[end - size : end])
    return parts


def are_finite(xp: Any, gradients: Sequence[Any]) -> bool:
    """Whether all gradients of the current device are finite; waits for the device once.

    Args:
        xp: cupy.
        gradients: arrays of floats.
    """
    found = []
    for (arrays,), _ in _groups((gradient, 1.0) for gradient in gradients):
        part = xp.empty(min(THREADS, max(array.size for array in arrays)), '?')
        cuda.elementwise(*finite_source(len(arrays)))(*arrays, part)
        found.append(part)
    return not found or not bool((found[0] if len(found) == 1 else xp.concatenate(found)).any())


def change(name: str, params: Iterable[Changed], *numbers: float) -> None:
    """Changes gradients in place by one of :data:`CHANGES`, with two numbers that the loss scale multiplies.

    Args:
        name: the change.
        params: gradients and parameters of the current device, of one dtype and shape each.
        numbers: ``a`` and ``b``; what is missing is 0.
    """
    for (grads, arrays), scale in _groups(params):
        a, b = (scale * number for number in (*numbers, 0.0)[:2])
        _launch(change_source(name, len(grads), _computing(grads[0])), [*arrays, a, b, *grads], grads)


def add_noise(xp: Any, gradients: Sequence[tuple[Any, float]]) -> None:
    """Adds normal noise to gradients of the current device, in place: one draw for all of them.

    Args:
        xp: cupy.
        gradients: arrays, and for each the standard deviation, times the loss scale that multiplies it.
    """
    ends = list(itertools.accumulate(grad.size for grad, _ in gradients))
    drawn = xp.random.normal(0, 1, ends[-1])
    dtypes = dict.fromkeys(grad.dtype for grad, _ in gradients)
    noise = {dtype: drawn.astype(dtype, copy=False) for dtype in dtypes}
    parts = [noise[grad.dtype][end - grad.size : end] for (grad, _), end in zip(gradients, ends, strict=True)]
    pairs = zip(gradients, parts, strict=True)
    change('decay', [(grad, part.reshape(grad.shape), deviation) for (grad, deviation), part in pairs], 1.0)


def scale_layers(xp: Any, params: Iterable[Changed], threshold: float, decay: float, eps: float) -> None:
    """Layer-wise adaptive rate scaling of gradients in place.

    Args:
        xp: cupy.
        params: as in :func:`change`.
        threshold: the gradients of parameters of a norm up to this are decayed only.
        decay: coefficient of the decay.
        eps: avoids division by zero.
    """
    for (grads, arrays), scale in _groups(params):
        size = min(THREADS_OF_NORMS, max(grad.size for grad in grads))
        parts = xp.empty((2 * len(grads), size))
        if not size:
            continue
        cuda.elementwise(*layers_source(len(grads)))(*arrays, *grads, parts, size=size)
        numbers = norms(parts, axis=1), threshold, decay, eps, scale
        _launch(layer_rates_source(len(grads), _computing(grads[0])), [*arrays, *numbers, *grads], grads)


def _launch(source: Source, arguments: Sequence[Any], arrays: Sequence[Any]) -> None:
    size = min(THREADS, max(array.size for array in arrays))
    if size:
        cuda.elementwise(*source)(*arguments, size=size)


def _groups(items: Iterable[Sequence[Any]]) -> Iterator[Group]:
    """What stands in the columns of items, of one dtype and one loss scale, as many as fit into a launch.

    Args:
        items: arrays of one dtype, and the loss scale at the end.
    """
    found: dict[tuple[Any, float], list[list[Any]]] = {}
    for *arrays, scale in items:
        found.setdefault((arrays[0].dtype, scale), []).append(list(map(_flat, arrays)))
    for (_, scale), rows in found.items():
        most = MOST // len(rows[0])
        for begin in range(0, len(rows), most):
            yield list(zip(*rows[begin : begin + most], strict=True)), scale


def _flat(array: Any) -> Any:
    """A view of one axis, if there is one: CuPy compiles a kernel for each combination of numbers of axes."""
    return array.reshape(-1) if array.flags.c_contiguous else array


def _computing(array: Any) -> str:
    return 'double' if array.dtype.char == 'd' else 'float'


def _raw(count: int, name: str = 'g') -> str:
    return ', '.join(f'raw T {name}{k}' for k in range(count))


def _element(k: int, computing: str) -> str:
    return f'{{ typedef {computing} C; C g = (C)g{k}[j], p = (C)p{k}[j];'


def _loop(array: int | str, statement: str) -> str:
    """A loop over the elements of an array that belong to this thread; gradients are given by number."""
    name = f'g{array}' if isinstance(array, int) else array
    return f'for (ptrdiff_t j = i; j < {name}.size(); j += _ind.size()) {statement}'
