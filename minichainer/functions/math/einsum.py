"""Einstein summation.

Subscripts are parsed to one tuple of ints per operand; the axes of an Ellipsis get unique labels. The derivative with
respect to an operand is another Einstein summation, of the upstream gradient and the other operands.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy

from minichainer import ops
from minichainer.functions._arguments import Arguments, as_integer
from minichainer.functions._define import primitive
from minichainer.functions.array.conversion import as_dtype
from minichainer.functions.array.shape import reshape
from minichainer.kernels import products
from minichainer.variable import Variable, as_variable

_arguments = Arguments('EinSum', 'einsum')
Labels = tuple[int, ...]
#: An Ellipsis among parsed subscripts.
_REST = -1
#: The label of the first axis of an Ellipsis; those of letters are smaller.
_FIRST_OF_REST = 100


def _gradients(m: Any, gy: Any, xs: Any, wanted: tuple[bool, ...], sources: Any, target: Labels) -> Any:
    return tuple(
        [_gradient(m, gy, xs, index, sources, target) if needed else None for index, needed in enumerate(wanted)]
    )


def _gradient(m: Any, gy: Any, xs: Any, index: int, all_sources: Any, target: Labels) -> Any:
    """The gradient with respect to one operand."""
    x, labels = xs[index], all_sources[index]
    others = [i for i in range(len(xs)) if i != index]
    sources = [target, *[all_sources[i] for i in others]]
    operands = [gy, *[xs[i] for i in others]]
    known = {label for source in sources for label in source}
    found = tuple([label for label in dict.fromkeys(labels) if label in known])
    gx = m.sum_of_products(*operands, sources=sources, target=found)
    # All elements along an axis that was only summed have the same gradient.
    places = enumerate(zip(labels, x.shape, strict=True))
    shape = tuple([size if label in known and labels.index(label) == at else 1 for at, (label, size) in places])
    gx = m.broadcast_to(m.reshape(gx, shape), x.shape)
    # A mask, not a product with a unit matrix: infinity times 0 would be NaN.
    return gx if len(set(labels)) == len(labels) else m.masked(gx, m.on_diagonal(x, labels=labels))


def _on_diagonal(xp: Any, x: Any, labels: Labels) -> Any:
    """Where all axes with the same label have the same index."""
    mask = xp.ones((1,) * x.ndim, bool)
    for at, label in enumerate(labels):
        first = labels.index(label)
        if first != at:
            shape = [size if axis in (first, at) else 1 for axis, size in enumerate(x.shape)]
            mask = mask & xp.eye(x.shape[at], dtype=bool).reshape(shape)
    return xp.broadcast_to(mask, x.shape)


ops.register_constant('on_diagonal', _on_diagonal)


@primitive(rule=_gradients, name='EinSum', linear_in=('each xs',))
def sum_of_products(xp: Any, *xs: Any, sources: Sequence[Labels], target: Labels) -> Any:
    """The summation, given axis labels of each operand and of the result; each label has one size."""
    return products.einsum(xp, *xs, sources=sources, target=target)


def einsum(*operands: Any) -> Variable:
    r"""Einstein summation: products of elements with equal subscripts, summed over those missing in the result.

    Args:
        operands: subscripts such as ``'ij,jk->ik'`` and then Variables or float arrays; or the arrays, each
            followed by a list of ints (or Ellipsis) for its axes, and at last such a list for the result, or
            none. Without a result its axes are those of the Ellipsis, then the labels that appear once in
            alphabetical order. Axes of an Ellipsis broadcast, as in NumPy; those with a subscript do not.

    Returns:
        Variable of the widest dtype; float16 is accumulated in float32.

    Raises:
        ValueError: the subscripts make no sense, or their number is not that of the arrays.
        InvalidType: an array is not of floats, or its shape does not fit the subscripts.

    >>> import numpy as np, minichainer.functions as F
    >>> F.einsum('ij,ij->i', np.ones((2, 3)), np.ones((2, 3)))
    variable([3., 3.])
    """
    sources, target, arrays = _parsed(operands)
    if len(sources) != len(arrays):
        raise ValueError(
            'einsum: Number of einsum subscripts must be equal to the number of operands, got '
            f'{len(sources)} and {len(arrays)}'
        )
    xs = [as_variable(x) for x in arrays]
    _check(sources, xs)
    pairs = zip(sources, xs, strict=True)
    unnamed = tuple([x.ndim - len(source) + 1 if _REST in source else 0 for source, x in pairs])
    full, result = _completed(tuple(sources), target, unnamed)
    if any(unnamed):
        full, xs = _broadcast(full, xs)
    return _summed(full, xs, result)


def _broadcast(sources: tuple[Labels, ...], xs: list[Variable]) -> tuple[tuple[Labels, ...], list[Variable]]:
    """Drops axes of length 1 of an Ellipsis where another operand is longer, which is what broadcasting means."""
    longer = {
        label
        for source, x in zip(sources, xs, strict=True)
        for label, size in zip(source, x.shape, strict=True)
        if label >= _FIRST_OF_REST and size != 1
    }
    for i, (source, x) in enumerate(zip(sources, xs, strict=True)):
        kept = [(n, m) for n, m in zip(source, x.shape, strict=True) if m != 1 or n not in longer]
        if len(kept) < x.ndim:
            sources = (*sources[:i], tuple([label for label, _ in kept]), *sources[i + 1 :])
            xs = [*xs[:i], reshape(x, tuple([size for _, size in kept])), *xs[i + 1 :]]
    return sources, xs


def _summed(sources: tuple[Labels, ...], xs: list[Variable], target: Labels) -> Variable:
    """Applies the op after checking that each label has one size."""
    sizes: dict[int, int] = {}
    for source, x in zip(sources, xs, strict=True):
        for label, size in zip(source, x.shape, strict=True):
            if sizes.setdefault(label, size) != size:
                raise _misfit(f'axes with the same subscript of one size ({sizes[label]})', size, xs)
    dtype = numpy.result_type(*[x.dtype for x in xs])
    *places, result = _numbered(sources, target)
    y: Variable = sum_of_products(*[as_dtype(x, dtype) for x in xs], sources=places, target=result)
    return y


@functools.lru_cache(maxsize=256)
def _numbered(sources: tuple[Labels, ...], target: Labels) -> tuple[Labels, ...]:
    """The labels renumbered from 0: NumPy allows 52."""
    numbers: dict[int, int] = {}
    renumbered = [[numbers.setdefault(label, len(numbers)) for label in labels] for labels in [*sources, target]]
    return tuple(map(tuple, renumbered))


def _misfit(expected: str, actual: Any, xs: Sequence[Variable]) -> Exception:
    shapes = ', '.join(str(x.shape) for x in xs)
    return _arguments.misfit(expected, f'{actual}, shapes {shapes}')


def _check(sources: Sequence[Labels], xs: list[Variable]) -> None:
    """Raises InvalidType unless all operands are float arrays with one axis for each subscript."""
    for i, (source, x) in enumerate(zip(sources, xs, strict=True)):
        if x.dtype.kind != 'f':
            raise _misfit(f'x{i}.dtype of kind float', x.dtype, xs)
        named = len(source) - source.count(_REST)
        if x.ndim < named or (x.ndim > named and _REST not in source):
            least = 'at least ' if _REST in source else ''
            raise _misfit(f'x{i}.ndim of {least}{named}, one for each subscript', x.ndim, xs)


@functools.lru_cache(maxsize=256)
def _completed(
    sources: tuple[Labels, ...], target: Labels | None, unnamed: tuple[int, ...]
) -> tuple[tuple[Labels, ...], Labels]:
    """The labels of the operands and of the result, with those of the axes of an Ellipsis, the last of which agree.

    Args:
        sources: labels of the operands.
        target: labels of the result, or None.
        unnamed: how many axes the Ellipsis of each operand stands for; 0 without one.
    """
    most = max(unnamed)
    rest = tuple(range(_FIRST_OF_REST, _FIRST_OF_REST + most))
    full = tuple([_filled(source, rest[most - own :]) for source, own in zip(sources, unnamed, strict=True)])
    return full, _result(sources, target, rest)


def _filled(source: Labels, rest: Labels) -> Labels:
    """The labels of an array with those of the axes of its Ellipsis."""
    if _REST not in source:
        return source
    place = source.index(_REST)
    return source[:place] + rest + source[place + 1 :]


def _result(sources: tuple[Labels, ...], target: Labels | None, rest: Labels) -> Labels:
    """The labels of the result, with the axes of the Ellipsis filled in."""
    every = [label for source in sources for label in source]
    if target is None:
        return rest + tuple(sorted([label for label in every if label != _REST and every.count(label) == 1]))
    if rest and _REST not in target:
        raise ValueError('einsum: the result needs an Ellipsis too, because sums over an Ellipsis are not supported')
    for label in target:
        if target.count(label) > 1:
            raise ValueError(f'einsum: the result has the subscript {_shown(label)} more than once')
        if label != _REST and label not in every:
            raise ValueError(f'einsum: the subscript {_shown(label)} of the result did not appear in the input')
    return _filled(target, rest)


def _shown(label: int) -> str:
    return repr('...' if label == _REST else _LETTERS[label])


_LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'


def _parsed(operands: tuple[Any, ...]) -> tuple[list[Labels], Labels | None, Sequence[Any]]:
    """Labels of the operands, labels of the result or None, and the arrays."""
    if not operands:
        raise ValueError('einsum: No input operands; subscripts and arrays are expected')
    if not isinstance(operands[0], str):
        arrays, lists = operands[: len(operands) // 2 * 2 : 2], operands[1::2]
        target = _from_list(operands[-1]) if len(operands) % 2 else None
        return [_from_list(entry) for entry in lists], target, arrays
    sources, result = _from_subscripts(operands[0])
    return list(sources), result, operands[1:]


@functools.lru_cache(maxsize=256)
def _from_subscripts(subscripts: str) -> tuple[tuple[Labels, ...], Labels | None]:
    """Labels of the operands, and of the result or None."""
    left, arrow, right = subscripts.replace(' ', '').partition('->')
    return tuple([_from_text(part) for part in left.split(',')]), _from_text(right) if arrow else None


def _from_list(entries: Any) -> Labels:
    """Labels from a list of ints."""
    is_list = isinstance(entries, (list, tuple))
    labels = [_REST if e is Ellipsis else as_integer(e) for e in entries] if is_list else [None]
    if None in labels:
        raise ValueError(f'einsum: a list of ints (or Ellipsis) is expected after each array, got {entries!r}')
    if not all(e is Ellipsis or 0 <= e < len(_LETTERS) for e in entries):
        raise ValueError(f'einsum: subscripts from 0 to {len(_LETTERS) - 1} are expected, got {entries}')
    return _checked(tuple([label for label in labels if label is not None]), entries)


def _from_text(part: str) -> Labels:
    """Labels from a string of letters."""
    pieces = part.split('...')
    for letter in ''.join(pieces):
        if letter not in _LETTERS:
            raise ValueError(f'einsum: Character {letter!r} is not a valid symbol in the subscripts {part!r}')
    labels = [tuple(map(_LETTERS.index, piece)) for piece in pieces]
    joined = labels[0]
    for piece in labels[1:]:
        joined += (_REST, *piece)
    return _checked(joined, part)


def _checked(labels: Labels, shown: Any) -> Labels:
    if labels.count(_REST) > 1:
        raise ValueError(f'einsum: at most one Ellipsis is expected for an array, got {shown!r}')
    return labels
