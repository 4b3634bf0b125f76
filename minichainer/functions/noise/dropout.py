"""Dropout."""

from __future__ import annotations

from typing import Any

from minichainer.backend import get_array_module, on_device_of_arguments
from minichainer.configuration import config
from minichainer.functions._arguments import Arguments
from minichainer.functions._define import linear_map
from minichainer.kernels import dropout as kernels
from minichainer.recorder import check_arrays
from minichainer.utils.argument import parse_kwargs
from minichainer.variable import as_variable

_dropout = Arguments('Dropout', 'dropout')


@linear_map(lambda m, gy, mask: m.drop(gy, mask), name='Dropout', kinds='f')
def drop(xp: Any, x: Any, mask: Any, drawn: list[tuple[Any, float]] | None = None) -> Any:
    """x times a mask.

    ``drawn`` holds random numbers and the ratio as long as the mask is empty. They are taken out of it: a node keeps
    its arguments, and random numbers are larger than the mask.
    """
    return kernels.dropout(xp, x, *drawn.pop(), mask) if drawn else x * mask


@on_device_of_arguments
def dropout(x: Any, ratio: float = 0.5, **kwargs: Any) -> Any:
    r"""Drops elements at random, and scales the rest by :math:`1 / (1 - ratio)`, where ``config.train`` is true.

    Args:
        x: Variable or float array.
        ratio: share of elements that become 0, in ``[0, 1)``.
        mask: keyword only; an array of ``x``'s shape with 0 or the scale for each element, instead of a drawn one.
        return_mask: keyword only; return the pair of result and mask (None where nothing was dropped).

    Returns:
        Variable, or a pair.

    Raises:
        ValueError: ``ratio`` is out of range.
        InvalidType: the mask's shape or dtype does not fit.

    >>> import numpy as np, minichainer as chainer, minichainer.functions as F
    >>> with chainer.using_config('train', False):
    ...     F.dropout(np.ones(2))
    variable([1., 1.])
    """
    mask, return_mask = parse_kwargs(
        kwargs,
        ('mask', None),
        ('return_mask', False),
        train='train argument is not supported anymore. Use chainer.using_config',
    )
    if type(ratio) is not float:
        _dropout.number(ratio, 'ratio')
    if not 0.0 <= ratio < 1.0:
        raise ValueError(f'dropout: ratio must be in the range [0, 1), got {ratio}')
    if return_mask is not False:
        _dropout.flag(return_mask, 'return_mask')
    x, drawn = as_variable(x), None
    if not config.train:
        return (x, None) if return_mask else x
    if mask is None:
        mask, drawn = get_array_module(x._data).empty(x.shape, x.dtype), [_draw(x._data, ratio)]
    elif (mask := _dropout.array(mask, 'mask')).shape != x.shape or mask.dtype != x.dtype:
        raise _misfit(x, mask)
    else:
        check_arrays((x._data, mask), 'Dropout, x and the mask,')
    y = drop(x, mask, drawn)
    return (y, mask) if return_mask else y


def _draw(x: Any, ratio: float) -> tuple[Any, float]:
    xp = get_array_module(x)
    return xp.asarray(xp.random.rand(*x.shape)), ratio


def _misfit(x: Any, mask: Any) -> Exception:
    return _dropout.misfit(f'a mask of x: {x.dtype} {x.shape}', f'{mask.dtype} {mask.shape}')
