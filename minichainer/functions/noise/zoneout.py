"""Zoneout."""

from __future__ import annotations

from typing import Any

from minichainer.backend import get_array_module, on_device_of_arguments
from minichainer.configuration import config
from minichainer.functions._arguments import Arguments
from minichainer.functions._define import elementwise
from minichainer.utils.argument import parse_kwargs
from minichainer.variable import Variable, as_variable

_zoneout = Arguments('Zoneout', 'zoneout')


@elementwise(lambda m, gy, mask: m.masked(gy, mask), lambda m, gy, mask: m.masked(gy, ~mask), name='Zoneout')
def choose_by_zone(xp: Any, h: Any, x: Any, mask: Any) -> Any:
    return xp.where(mask, h, x)


@on_device_of_arguments
def zoneout(h: Any, x: Any, ratio: float = 0.5, **kwargs: Any) -> Variable:
    r"""Keeps elements of the previous state at random, and takes the others from the new one.

    Where ``config.train`` is false, the new state is returned. From Krueger et al., *Zoneout: regularizing RNNs by
    randomly preserving hidden activations*, 2017.

    Args:
        h: Variable or float array, the previous state.
        x: Variable or array of the same shape and dtype, the new state.
        ratio: probability with which an element of ``h`` is kept, in ``[0, 1]``.

    Returns:
        Variable.

    Raises:
        ValueError: ``ratio`` is out of range.
        InvalidType: dtypes differ or are not float, or the shapes cannot be broadcast together.

    >>> import numpy as np, minichainer as chainer, minichainer.functions as F
    >>> F.zoneout(np.zeros(2), np.ones(2), ratio=0.)
    variable([1., 1.])
    >>> with chainer.using_config('train', False):
    ...     F.zoneout(np.zeros(2), np.ones(2))
    variable([1., 1.])
    """
    parse_kwargs(kwargs, train='train argument is not supported anymore. Use chainer.using_config')
    _zoneout.number(ratio, 'ratio')
    if not 0.0 <= ratio <= 1.0:
        raise ValueError(f'zoneout: ratio must be in the range [0, 1], got {ratio}')
    new = as_variable(x)
    if not config.train:
        return new
    return choose_by_zone(h, new, _draw(get_array_module(new._data), new.shape, ratio))


def _draw(xp: Any, shape: tuple[int, ...], ratio: float) -> Any:
    """A mask, true where the previous state is kept."""
    return xp.asarray(xp.random.rand(*shape) < ratio)
