"""Initializers that draw from normal distributions."""

from __future__ import annotations

from typing import Any

from minichainer.initializer import get_fans
from minichainer.initializers._random import RandomInitializer, fan_in, mean_fan, scaled


class Normal(RandomInitializer):
    r"""Draws from the normal distribution :math:`N(0, \mathit{scale}^2)`.

    Args:
        scale: standard deviation.
        dtype: dtype of the arrays it is meant for.
        kwargs: ``rng``, the generator to draw from; ``xp.random`` by default.

    >>> import numpy as np
    >>> from minichainer import initializers
    >>> array = np.empty((2, 3), 'f')
    >>> initializers.Normal(0.1, rng=np.random.RandomState(0))(array)
    >>> array.round(2)
    array([[ 0.18,  0.04,  0.1 ],
           [ 0.22,  0.19, -0.1 ]], dtype=float32)
    """

    def __init__(self, scale: float = 0.05, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(scale, dtype, kwargs)

    def __call__(self, array: Any) -> None:
        self.fill_normal(array)


class LeCunNormal(RandomInitializer):
    r"""Draws from :math:`N(0, \mathit{scale}^2 / \mathit{fan}_{in})`; the default of links.

    It preserves the variance of activations between layers if the nonlinearity is almost linear.
    Y. LeCun et al., Efficient BackProp (1998).

    Args:
        scale: factor of the standard deviation.
        dtype: dtype of the arrays it is meant for.
        kwargs: ``rng``, the generator to draw from; ``xp.random`` by default.
    """

    def __init__(self, scale: float = 1.0, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(scale, dtype, kwargs)

    def spread(self, shape: tuple[int, ...]) -> float:
        return scaled(self.scale, 1, fan_in(shape))

    def __call__(self, array: Any) -> None:
        self.fill_normal(array)


class GlorotNormal(RandomInitializer):
    r"""Draws from :math:`N(0, 2\,\mathit{scale}^2 / (\mathit{fan}_{in} + \mathit{fan}_{out}))`.

    X. Glorot and Y. Bengio, Understanding the difficulty of training deep feedforward neural networks (2010).

    Args:
        scale: factor of the standard deviation.
        dtype: dtype of the arrays it is meant for.
        kwargs: ``rng``, the generator to draw from; ``xp.random`` by default.
    """

    def __init__(self, scale: float = 1.0, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(scale, dtype, kwargs)

    def spread(self, shape: tuple[int, ...]) -> float:
        return scaled(self.scale, 1, mean_fan(shape))

    def __call__(self, array: Any) -> None:
        self.fill_normal(array)


class HeNormal(RandomInitializer):
    r"""Draws from :math:`N(0, 2\,\mathit{scale}^2 / \mathit{fan})`; for rectifiers.

    K. He et al., Delving deep into rectifiers (2015).

    Args:
        scale: factor of the standard deviation.
        dtype: dtype of the arrays it is meant for.
        fan_option: ``'fan_in'`` keeps the variance of activations, ``'fan_out'`` that of gradients.
        kwargs: ``rng``, the generator to draw from; ``xp.random`` by default.
    """

    def __init__(self, scale: float = 1.0, dtype: Any = None, fan_option: str = 'fan_in', **kwargs: Any) -> None:
        super().__init__(scale, dtype, kwargs)
        if fan_option not in ('fan_in', 'fan_out'):
            raise ValueError(f"HeNormal: expected fan_option 'fan_in' or 'fan_out', got {fan_option!r}")
        self.fan_option = fan_option

    def spread(self, shape: tuple[int, ...]) -> float:
        return scaled(self.scale, 2, get_fans(shape)[self.fan_option == 'fan_out'])

    def __call__(self, array: Any) -> None:
        self.fill_normal(array)
