"""Initial values and statistics that were others in Chainer v1, found by comparing all links with those of v1.24.

- The running variance of batch normalization begins at 0, not 1, and includes ``eps``.
- The bias of an LSTM's forget gate begins at 0, not 1.
- ConvolutionND has no bias unless ``initial_bias`` is given.
"""

from __future__ import annotations

import functools
from typing import Any

from minichainer.compat.changes import Changes
from minichainer.compat.legacy.packages import links
from minichainer.functions.array import joining
from minichainer.links.connection import convolution
from minichainer.links.normalization import batch_normalization
from minichainer.links.rnn import lstm

#: By class: the argument, its place among the positional ones, and v1's default.
_DEFAULTS = {
    'BatchNormalization': ('initial_avg_var', 10, 0),
    'LSTM': ('forget_bias_init', 5, 0),
    'StatelessLSTM': ('forget_bias_init', 5, 0),
}


def _with_default(original: Any, name: str, place: int, value: Any) -> Any:
    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if len(args) <= place and kwargs.get(name) is None:
            kwargs[name] = value
        original(self, *args, **kwargs)

    return __init__


def _without_bias(original: Any) -> Any:
    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if len(args) <= 6:
            kwargs.setdefault('nobias', kwargs.get('initial_bias') is None)
        original(self, *args, **kwargs)

    return __init__


def _with_eps(original: Any) -> Any:
    @functools.wraps(original)
    def _normalize_batch(self: Any, x: Any, gamma: Any, beta: Any, decay: float) -> Any:
        y = original(self, x, gamma, beta, decay)
        count = x.size // self.avg_var.size
        self.avg_var += (1 - decay) * self.eps * count / max(count - 1, 1)
        return y

    return _normalize_batch


class BatchNormalization(batch_normalization.BatchNormalization):
    """``links.BatchNormalization`` of v1, for ported programs.

    Its running variance begins at 0, not 1, and includes ``eps``. The arguments are those of today's link.

    >>> BatchNormalization(2).avg_var
    array([0., 0.], dtype=float32)
    """

    __init__ = _with_default(batch_normalization.BatchNormalization.__init__, *_DEFAULTS['BatchNormalization'])
    _normalize_batch = _with_eps(batch_normalization.BatchNormalization._normalize_batch)


class LSTM(lstm.LSTM):
    """``links.LSTM`` of v1, for ported programs: the bias of its forget gate begins at 0."""

    __init__ = _with_default(lstm.LSTM.__init__, *_DEFAULTS['LSTM'])


class StatelessLSTM(lstm.StatelessLSTM):
    """``links.StatelessLSTM`` of v1, for ported programs: the bias of its forget gate begins at 0."""

    __init__ = _with_default(lstm.StatelessLSTM.__init__, *_DEFAULTS['StatelessLSTM'])


class ConvolutionND(convolution.ConvolutionND):
    """``links.ConvolutionND`` of v1, for ported programs: it has no bias unless ``initial_bias`` is given."""

    __init__ = _without_bias(convolution.ConvolutionND.__init__)


def split_axis(x: Any, indices_or_sections: Any, axis: int, force_tuple: bool = False) -> Any:
    """``functions.split_axis`` of v1, for ported programs: one section is not in a tuple."""
    return joining.split_axis(x, indices_or_sections, axis, force_tuple)


def install(changes: Changes) -> None:
    """Gives links the values of v1.

    Args:
        changes: that undo it.
    """
    for name, default in _DEFAULTS.items():
        cls = getattr(links, name)
        changes.set(cls, '__init__', _with_default(cls.__init__, *default))
    cls = convolution.ConvolutionND
    changes.set(cls, '__init__', _without_bias(cls.__init__))
    link = batch_normalization.BatchNormalization
    changes.set(link, '_normalize_batch', _with_eps(link._normalize_batch))
