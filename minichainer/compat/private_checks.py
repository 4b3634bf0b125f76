"""Private checks of Chainer's modules, layouts, texts and trees: for :mod:`minichainer.compat.private_table`."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from minichainer.backend import get_array_types
from minichainer.compat.private_functions import at
from minichainer.initializer import Initializer
from minichainer.variable import Variable

# --- checks of arguments -------------------------------------------------------------------------------------------


def check_class_weight(class_weight: Any) -> None:
    """Raises ValueError if weights of classes do not fit."""
    if isinstance(class_weight, Variable):
        raise ValueError('class_weight must be an array, got a Variable')
    if class_weight is not None and (class_weight.ndim != 1 or class_weight.dtype.kind != 'f'):
        raise ValueError(
            f'class_weight must be a float array with one axis, got {class_weight.dtype} {class_weight.shape}'
        )


def check_reduce(reduce: str) -> None:
    """Raises ValueError if a reduction is not known."""
    if reduce not in ('mean', 'no'):
        raise ValueError(f"reduce must be 'mean' or 'no', got {reduce!r}")


def check_labels(x: Any, t: Any, ignore_label: int) -> None:
    """Raises ValueError if a label is out of range."""
    if not (((t >= 0) & (t < x.shape[1])) | (t == ignore_label)).all():
        raise ValueError(f'labels must be in [0, {x.shape[1]}) or {ignore_label}, got {t}')


def check_initializer(initializer: Any) -> None:
    """Raises TypeError if something cannot give a parameter its values."""
    known = initializer is None or callable(initializer) or np.isscalar(initializer)
    if not known and not isinstance(initializer, (Initializer, *get_array_types())):
        raise TypeError(f'expected an initializer, a number or an array, got {type(initializer).__name__}')


def is_shape(value: Any) -> bool:
    """Whether a value is a shape: an integer, a sequence of them, or None."""
    try:
        return (
            all(map(int, value)) if isinstance(value, (list, tuple)) else value is None or isinstance(int(value), int)
        )
    except TypeError:
        return False


def bytes_of_arrays(data: Any) -> int:
    """The bytes of the arrays in a tuple or list."""
    return sum(x.nbytes for x in data if isinstance(x, np.ndarray)) if isinstance(data, (tuple, list)) else 0


def warn_of_stalled_dataset() -> None:
    """Warns that a dataset takes too long."""
    kind = at('iterators').MultiprocessIterator.TimeoutWarning
    warnings.warn('the dataset is stalled: an example takes longer than dataset_timeout', kind, stacklevel=3)


def warn_of_old_statistics() -> None:
    """Warns that a file was written before 7.8."""
    warnings.warn(
        'statistics of the decorrelated batch normalization of an old version, which was another one', stacklevel=4
    )


def by_group(average: Any, groups: int, ndim: int) -> Any:
    """Statistics with an axis for the groups."""
    if average.ndim not in (ndim - 1, ndim):
        raise ValueError(f'expected an array with {ndim} axes, got {average.shape}')
    if average.ndim == ndim:
        return average
    if groups != 1:
        warn_of_old_statistics()
    return np.broadcast_to(average, (groups, *average.shape))


def caffe_pair(param: Any, name: str, both: Any, default: Any) -> Any:
    """A size in a file of Caffe: two fields, a field, or a repeated field."""
    h, w = (getattr(param, f'{name}_{axis}') for axis in 'hw')
    if h > 0 or w > 0:
        return h, w
    if isinstance(both, int):
        return both
    return (default, *both[:1])[-1] if len(both) < 2 else both


def defaults_of(optimizer: str) -> Any:
    """The hyperparameters of an optimizer that is made without arguments."""
    return getattr(at('optimizers'), optimizer)().hyperparam


# --- memory layouts ------------------------------------------------------------------------------------------------
_LAST = ('CUDNN_CHANNEL_LAST_X', 'CUDNN_CHANNEL_LAST_W')


def layout_axes(ndim: int, src_layout: Any, dst_layout: Any, inverse: bool = False) -> tuple[int, ...] | None:
    """The order of axes that changes a layout into another one; None if they are the same."""
    if src_layout == dst_layout:
        return None
    if {src_layout, dst_layout} not in ({None, _LAST[0]}, {None, _LAST[1]}):
        raise ValueError(f'unknown conversion of layouts: from {src_layout!r} to {dst_layout!r}')
    to_last = (0, *range(2, ndim), 1)
    to_first = (0, ndim - 1, *range(1, ndim - 1))
    return to_last if (dst_layout is not None) != inverse else to_first


def transposed_to_layout(array: Any, src_layout: Any, dst_layout: Any) -> Any:
    """An array in another layout."""
    axes = layout_axes(array.ndim, src_layout, dst_layout)
    return array if axes is None else array.transpose(axes)


def shape_in_layout(shape: Sequence[int], src_layout: Any, dst_layout: Any) -> Any:
    """A shape in another layout."""
    axes = layout_axes(len(shape), src_layout, dst_layout)
    return shape if axes is None else tuple([shape[i] for i in axes])


# --- source code for devices ---------------------------------------------------------------------------------------


def joined(sign: str, xs: Sequence[str], init: str | None = None) -> str:
    """Expressions with a sign between them."""
    return sign.join(xs if init is None else [init, *xs])


def horner(xs: Sequence[str], ys: Sequence[str], init: str | None = None) -> Any:
    """The expression of an index: sizes and indices in turns."""
    pairs = list(zip(xs, ys, strict=True))
    first: Any = pairs.pop(0) if init is None else init
    return functools.reduce(lambda found, pair: f'({pair[1]} + {pair[0]} * {found})', pairs, first)


class Writer:
    """Lines of source code, indented by blocks."""

    def __init__(self) -> None:
        self._indent = 0
        self._lines: list[str] = []

    def write(self, line: str, indent: str | None = None) -> None:
        """Adds a line.

        Args:
            line: the line.
            indent: 'inc' if a block begins after it, 'dec' if one ends before it, 'decinc' for both.
        """
        self._indent -= indent in ('dec', 'decinc')
        self._lines.append('  ' * self._indent + line)
        self._indent += indent in ('inc', 'decinc')

    def get(self) -> str:
        """All lines."""
        return '\n'.join(self._lines)


class TreeParser:
    """The paths and codes of the leaves of a tree of pairs.

    Args:
        dtype: that of the codes.
    """

    def __init__(self, dtype: Any) -> None:
        self.dtype, self.next_id = dtype, 0
        self.paths: dict[Any, np.ndarray] = {}
        self.codes: dict[Any, np.ndarray] = {}

    def size(self) -> int:
        """The number of inner nodes."""
        return self.next_id

    def get_paths(self) -> dict[Any, np.ndarray]:
        """For each leaf, the inner nodes above it."""
        return self.paths

    def get_codes(self) -> dict[Any, np.ndarray]:
        """For each leaf, 1 for each turn to the left and -1 for each one to the right."""
        return self.codes

    def parse(self, tree: Any) -> None:
        """Reads a tree."""
        self.next_id, self.paths, self.codes = 0, {}, {}
        self._parse(tree, [], [])

    def _parse(self, node: Any, path: list[int], code: list[float]) -> None:
        if not isinstance(node, tuple):
            self.paths[node], self.codes[node] = np.array(path, np.int32), np.array(code, self.dtype)
            return
        if len(node) != 2:
            raise ValueError(f'all inner nodes of the tree must have two children, got {node}')
        path = [*path, self.next_id]
        self.next_id += 1
        for child, turn in zip(node, (1.0, -1.0), strict=True):
            self._parse(child, path, [*code, turn])


def parse_einsum(operands: tuple[Any, ...]) -> tuple[str, str, Sequence[Any]]:
    """Subscripts of inputs and output as text, with ``@`` for an ellipsis, and the operands."""
    module = at('functions.math.einsum')
    sources, target, arrays = module._parsed(tuple(operands))
    rest = (-1,) if any(-1 in source for source in sources) else ()
    target = module._result(tuple(sources), target, rest)
    if len(sources) != len(arrays):
        raise ValueError(f'einsum: {len(sources)} operands are expected by the subscripts, got {len(arrays)}')
    texts = [''.join('@' if label < 0 else module._LETTERS[label] for label in part) for part in (*sources, target)]
    return ','.join(texts[:-1]), texts[-1], tuple(arrays) if isinstance(operands[0], str) else list(arrays)
