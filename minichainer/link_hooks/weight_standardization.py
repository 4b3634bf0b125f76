"""Standardization of weights."""

from __future__ import annotations

import math
from typing import Any

from minichainer.functions._arguments import Arguments
from minichainer.functions.array.shape import reshape
from minichainer.functions.normalization.sample_normalization import layer_normalization
from minichainer.link_hooks._weight_hook import WeightHook
from minichainer.variable import Variable


class WeightStandardization(WeightHook):
    r"""Standardizes a weight for each output, :math:`(W - \mu) / \sqrt{\sigma^2 + \epsilon}`.

    Mean and variance are over all axes but the first. Add it to a link by ``link.add_hook``.

    Args:
        eps: added to the variance.
        weight_name: name of the weight.
        name: name of the hook.

    Source: Qiao, Wang, Liu, Shen and Yuille, Weight Standardization, 2019.

    >>> import numpy as np, minichainer as chainer
    >>> layer = chainer.links.Linear(2, 1, initialW=np.array([[3, 5]]))
    >>> layer = layer.add_hook(chainer.link_hooks.WeightStandardization())
    >>> layer(np.eye(2, dtype=np.float32)).array.round(3)
    array([[-1.],
           [ 1.]], dtype=float32)
    """

    name = 'WeightStandardization'

    def __init__(self, *, eps: float = 1e-5, weight_name: str = 'W', name: str | None = None) -> None:
        check = Arguments('WeightStandardization')
        check.number(eps, 'eps')
        if not eps >= 0:
            raise check.wrong_value('a number that is not negative', 'eps', eps)
        super().__init__(weight_name, name)
        self.eps = eps

    def normalized(self, link: Any) -> Variable:
        W = getattr(link, self.weight_name)
        size = math.prod(W.shape[1:])
        ones, zeros = link.xp.ones(size, W.dtype), link.xp.zeros(size, W.dtype)
        y: Variable = reshape(layer_normalization(reshape(W, (len(W), size)), ones, zeros, self.eps), W.shape)
        return y
