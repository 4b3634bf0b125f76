"""Private functions of arrays in Chainer's modules: names for the rows of :mod:`minichainer.compat.private_table`."""

from __future__ import annotations

import functools
import importlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from minichainer.backend import get_array_module
from minichainer.backends import cuda
from minichainer.utils.conv import get_conv_outsize
from minichainer.utils.sparse import CooMatrix
from minichainer.variable import Variable, as_array, as_variable

F = importlib.import_module(f'{__name__.partition(".")[0]}.functions')

# --- conversion ----------------------------------------------------------------------------------------------------


def convert_arrays(array: Any, function: Callable[[Any], Any]) -> Any:
    """A function applied to an array, or to each one of a list or tuple; the same array is converted once."""
    if not isinstance(array, (list, tuple)):
        return function(array)
    converted = {id(x): None if x is None else function(x) for x in array}
    return type(array)([converted[id(x)] for x in array])


def array_to_cpu(array: Any) -> Any:
    """An array or number as an array of NumPy; None stays None."""
    if array is None or isinstance(array, np.ndarray):
        return array
    if isinstance(array, cuda.ndarray):
        return cuda.to_cpu(array)
    if np.isscalar(array):
        return np.asarray(array)
    raise TypeError(f'_to_cpu: expected arrays or numbers, got {type(array).__name__}')


def to_cpu(array: Any) -> Any:
    """Arrays of NumPy for an array, or for a list or tuple of arrays."""
    return convert_arrays(array, array_to_cpu)


def noncontiguous(array: Any) -> Any:
    """Copies of arrays whose elements are not contiguous in memory."""
    if isinstance(array, (list, tuple)):
        return type(array)([noncontiguous(x) for x in array])
    if array is None or array.size <= 1:
        return array
    every_second = (slice(None, None, -2),) * array.ndim
    found = get_array_module(array).empty([2 * n for n in array.shape], array.dtype)[every_second]
    found[...] = array
    return found


def computing_dtype(dtype: Any) -> Any:
    """The dtype in which sums are computed: float32 for float16."""
    return np.float32 if dtype == np.float16 else dtype


# --- strides -------------------------------------------------------------------------------------------------------


def base_of(array: Any) -> Any:
    """The array that owns the memory of a view."""
    while array.base is not None:
        array = array.base
    return array


def first_index(shape: Sequence[int], strides: Sequence[int], storage_offset: int) -> int:
    """The first element in memory that a view with these strides has."""
    return storage_offset + sum((n - 1) * step for n, step in zip(shape, strides, strict=True) if step < 0)


def last_index(shape: Sequence[int], strides: Sequence[int], storage_offset: int) -> int:
    """The last element in memory that a view with these strides has."""
    return storage_offset + sum((n - 1) * step for n, step in zip(shape, strides, strict=True) if step > 0)


def may_overlap(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether two indices of a view may mean the same element."""
    reached = 0
    for step, n in sorted(zip(map(abs, strides), shape, strict=True)):
        if step <= reached:
            return True
        reached += step * (n - 1)
    return False


def stride_array(array: Any, shape: Sequence[int], strides: Sequence[int], storage_offset: int) -> Any:
    """A view of the memory of an array, with strides and offset in elements."""
    base = base_of(array)
    if first_index(shape, strides, storage_offset) < 0 or last_index(shape, strides, storage_offset) >= base.size:
        raise ValueError(f'_stride_array: shape {shape} and strides {strides} exceed {base.size} elements')
    flat = np.ndarray((base.size,), array.dtype, base) if isinstance(base, np.ndarray) else base.ravel()
    xp = get_array_module(array)
    steps = [step * array.itemsize for step in strides]
    return xp.lib.stride_tricks.as_strided(flat[storage_offset:], shape, steps)


class TensorGeometry:
    """Shape, strides and offset of an array, in elements.

    Args:
        array: an array of NumPy.
    """

    def __init__(self, array: Any) -> None:
        start, base = (x.__array_interface__['data'][0] for x in (array, base_of(array)))
        self.shape, self.itemsize, self.ndim = array.shape, array.itemsize, array.ndim
        self.strides = tuple([step // array.itemsize for step in array.strides])
        self.storage_offset = (start - base) // array.itemsize


# --- indices -------------------------------------------------------------------------------------------------------


def ones_among(sizes: Sequence[Any]) -> list[int]:
    """The axes whose size is 1."""
    if not all(isinstance(n, (int, np.integer)) for n in sizes):
        raise ValueError(f'argone: expected integers, got {sizes}')
    return [i for i, n in enumerate(sizes) if n == 1]


def check_indices(indices: Any) -> None:
    """Raises ValueError unless the indices are a permutation."""
    found = sorted(to_cpu(indices).tolist()) if len(indices) else []
    if found != list(range(len(found))):
        raise ValueError(f'indices must be a permutation of 0 to {len(found) - 1}, got {indices}')


def window_bounds(
    size: int, k: int, s: int, p: int, cover_all: bool = False, d: int = 1, include_pad: bool = True, dtype: Any = 'l'
) -> tuple[np.ndarray, np.ndarray]:
    """First and last positions of the windows of a pooling along one axis."""
    starts = np.arange(get_conv_outsize(size, k, s, p, cover_all, d), dtype=dtype) * s - p
    ends = starts + k
    return (starts, ends) if include_pad else (np.maximum(starts, 0), np.minimum(ends, size))


def region_slice(size: int, stride: float, max_size: int, roi_offset: int) -> tuple[slice, int]:
    """The part of an axis that one bin of a region covers, and its length."""
    bounds = [int(np.floor(size * stride)), int(np.ceil((size + 1) * stride))]
    start, end = [min(max(bound + roi_offset, 0), max_size) for bound in bounds]
    return slice(start, end), end - start


def neighbours(p: float, limit: int) -> tuple[Any, Any, Any]:
    """A position inside of an axis and the pixels beside it; three times None outside."""
    if not -1 <= p <= limit:
        return None, None, None
    low = min(int(np.floor(p)), limit - 1)
    return 0 if low <= -1 else limit - 1 if low + 1 >= limit else p, low, low + 1


def reduced_axes(ndim: int, key_ndim: int, axis: Any) -> Any:
    """The axes over which batch normalization computes its mean."""
    return (0, *range(key_ndim + 1, ndim)) if axis is None else axis


def named_axes(subscripts: str) -> Iterator[tuple[Any, str]]:
    """The axes of an operand with their letters; ``@`` stands for those of an ellipsis."""
    left, rest, right = subscripts.partition('@')
    yield from enumerate(left)
    if rest:
        yield slice(len(left), -len(right) or None), rest
    yield from ((i - len(right), letter) for i, letter in enumerate(right))


# --- labels and paths ----------------------------------------------------------------------------------------------


def labels_with_blanks(labels: Any, blank_symbol: int, xp: Any) -> Any:
    """Labels with a blank before, between and after them."""
    path = xp.full((len(labels), 2 * labels.shape[1] + 1), blank_symbol, np.int32)
    path[:, 1::2] = labels
    return path


def flip_path(path: Any, path_length: Any, xp: Any) -> Any:
    """Each row in the reverse order of its first ``path_length`` elements; the others come last."""
    labels = xp.arange(path.shape[1])
    return xp.take_along_axis(path, (labels + path_length[:, None]) % path.shape[1], 1)[:, ::-1]


def flip_labels(y: Any, input_length: Any, xp: Any) -> Any:
    """The same for probabilities of labels, whose first axis is time and second one the batch."""
    steps = (xp.arange(len(y))[:, None] + input_length) % len(y)
    return xp.take_along_axis(y, steps[:, :, None], 0)[::-1]


def flip_paths(prob: Any, input_length: Any, path_length: Any, xp: Any) -> Any:
    """The same for probabilities of positions in paths: along time, and along the path."""
    by_time = flip_labels(prob, input_length, xp)
    places = (xp.arange(prob.shape[2]) + path_length[:, None]) % prob.shape[2]
    return xp.take_along_axis(by_time, places[None], 2)[:, :, ::-1]


# --- products ------------------------------------------------------------------------------------------------------


def sigmoid(x: Any, xp: Any) -> Any:
    """The logistic function of an array."""
    half = x.dtype.type(0.5)
    return xp.tanh(x * half) * half + half


def sparse_product(
    data: Any, row: Any, col: Any, shape: Any, order: Any, dn: Any, transa: Any, transb: Any, transc: Any,
    dtype: Any = None,
) -> Any:  # fmt: skip
    """The product of a sparse and a dense matrix, whose arrays are given."""
    matrix = CooMatrix(data, row, col, shape, order)
    y = F.sparse_matmul(matrix, dn, transa, transb).array
    return (y.swapaxes(-1, -2) if transc else y).astype(dtype or y.dtype, copy=False)


def sampled_product(
    a: Any, b: Any, row: Any, col: Any, shape: Any, transa: Any, transb: Any, transc: Any, dtype: Any = None
) -> Any:
    """Those elements of a product of two matrices that a sparse matrix has; 0 for indices of -1."""
    left, right = a.swapaxes(-1, -2) if transa else a, b.swapaxes(-1, -2) if transb else b
    row, col = (col, row) if transc else (row, col)
    whole = left @ right
    batch = np.ogrid[tuple(slice(n) for n in row.shape[:-1])] if row.ndim > 1 else []
    found = whole[tuple([*[i[..., None] for i in batch], row, col])]
    return (found * (row >= 0)).astype(dtype or whole.dtype, copy=False)


def tensor_product(a: Any, b: Any, a_axes: Any, b_axes: Any, c_axes: Any = None) -> Any:
    """A tensor product; the axes are (those that stay, those summed), and the reverse for the second array."""
    if len(a_axes[1]) != len(b_axes[0]):
        raise ValueError('_tensordot: the numbers of summed axes differ')
    y = get_array_module(a).tensordot(a, b, (tuple(a_axes[1]), tuple(b_axes[0])))
    if c_axes is None:
        return y
    at = dict(zip(itertools.chain(*c_axes), [*_ranks(a_axes[0]), *_ranks(b_axes[1], len(a_axes[0]))], strict=True))
    return y.transpose([at[i] for i in range(y.ndim)])


def _ranks(axes: Sequence[int], start: int = 0) -> list[int]:
    """The places of axes among those that stay."""
    order = sorted(axes)
    return [start + order.index(axis) for axis in axes]


def fbeta_score(y: Any, t: Any, label_num: Any = None, beta: float = 1.0, ignore_label: int = -1) -> tuple[Any, Any]:
    """The F-beta score of each class, and the number of its examples."""
    summary = F.classification_summary(y, t, label_num, beta, ignore_label)
    return summary[2], summary[3]


# --- recurrent layers ----------------------------------------------------------------------------------------------


def gru_step(x: Any, h: Any, c: Any, w: Sequence[Any], b: Sequence[Any]) -> tuple[Variable, None]:
    """One step of a layer of ``n_step_gru``, with its six weights and biases."""
    of_x, of_h = [[F.linear(v, w[i + k], b[i + k]) for i in range(3)] for v, k in ((x, 0), (h, 3))]
    r, z = F.sigmoid(of_x[0] + of_h[0]), F.sigmoid(of_x[1] + of_h[1])
    return (1 - z) * F.tanh(of_x[2] + r * of_h[2]) + z * h, None


def stack_weight(ws: Sequence[Any]) -> Variable:
    """Weights whose rows alternate, as :func:`minichainer.functions.lstm` wants them."""
    w = F.stack(ws, axis=1)
    y: Variable = F.reshape(w, (-1, *w.shape[2:]))
    return y


def one_direction(f: Any, xs: Any, h: Any, c: Any, w: Any, b: Any) -> tuple[Any, Any, list[Any]]:
    """One layer over the steps of sequences, which get shorter: the last states, and the outputs."""
    outputs = []
    for x in xs:
        n = len(x)
        new = f(x, *[s if s is None or len(s) == n else as_variable(s)[:n] for s in (h, c)], w, b)
        outputs.append(new[0])
        h, c = [_with_rest(part, state, n) for part, state in zip(new, (h, c), strict=True)]
    return h, c, outputs


def _with_rest(part: Any, state: Any, n: int) -> Any:
    """The new state of the first n sequences, with the old one of those that have ended."""
    return part if state is None or len(state) == n else F.concat([part, as_variable(state)[n:]], axis=0)


def all_layers(
    f: Any, n_layers: int, dropout_ratio: float, hx: Any, cx: Any, ws: Any, bs: Any, xs: Any, use_bi_direction: bool
) -> tuple[Any, Any, Any]:
    """All layers of a recurrent net whose step is ``f(x, h, c, w, b)``: the last states, and the outputs."""
    found, ys = [], xs
    cells = [None] * len(hx) if cx is None else cx
    for layer in range(n_layers):
        xs = ys if layer == 0 else [F.dropout(x, dropout_ratio) for x in ys]
        of_layer = []
        for i in range(2 * layer, 2 * layer + 2) if use_bi_direction else [layer]:
            back = use_bi_direction and i % 2 == 1
            h, c, hs = one_direction(f, xs[::-1] if back else xs, hx[i], cells[i], ws[i], bs[i])
            found.append((h, c))
            of_layer.append(hs[::-1] if back else hs)
        ys = [F.concat(both, axis=1) for both in zip(*of_layer, strict=True)] if use_bi_direction else of_layer[0]
    h, c = [F.stack(list(states)) if states[0] is not None else None for states in zip(*found, strict=True)]
    return h, c, tuple(ys)


# --- densities -----------------------------------------------------------------------------------------------------


def inverse_of_triangle(x: Any, lower: bool = True) -> Variable:
    """The inverse of a triangular matrix, or of each one of a batch."""
    keep = np.tri(as_array(x).shape[-1], dtype=as_array(x).dtype)
    triangle = as_variable(x) * F.broadcast_to(keep if lower else keep.T, as_array(x).shape)
    y: Variable = F.inv(triangle) if triangle.ndim == 2 else F.batch_inv(triangle)
    return y


def power_iteration(weight_matrix: Any, u: Any, n_power_iteration: int, eps: float) -> tuple[Any, Any]:
    """Approximations of the first singular vectors of a matrix."""
    w, v = as_array(weight_matrix), None
    norm = get_array_module(w).linalg.norm
    for _ in range(n_power_iteration):
        v = w.T @ u
        v /= norm(v) + eps
        u = w @ v
        u /= norm(u) + eps
    return u, v


def linear_filter(size: int, ndim: int, upsampling: bool = True) -> Any:
    """The kernel of linear interpolation along some axes."""
    factor = (size + 1) // 2
    center = factor - (1.0 if size % 2 == 1 else 0.5)
    line = 1 - abs(np.arange(size) - center) / factor
    kernel = functools.reduce(np.multiply.outer, [line] * ndim)
    return kernel if upsampling else kernel / kernel.sum()


def axpby(x: Any, a: float, b: float, y: Any) -> None:
    """``a x + b y`` in the place of x."""
    x[...] = a * x + b * y


def squared_norm_of_gradients(params: Sequence[Any]) -> tuple[Any, Any]:
    """The sum of the squares of all gradients, and the device."""
    return sum(float((param.grad.astype('d') ** 2).sum()) for param in params), params[0].device


def uniform_arrays(shape: Any, dtype: Any) -> tuple[np.ndarray, ...]:
    """Three arrays of numbers between -1 and 1."""
    return tuple([np.random.uniform(-1, 1, shape).astype(dtype, copy=False) for _ in range(3)])
