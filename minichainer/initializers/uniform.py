"""Initializers that draw from uniform distributions."""

from __future__ import annotations

from typing import Any

from minichainer.initializers._random import RandomInitializer, fan_in, mean_fan, scaled


class Uniform(RandomInitializer):
    r"""Draws from the uniform distribution over :math:`[-\mathit{scale}, \mathit{scale}]`.

    Args:
        scale: the largest value.
        dtype: dtype of the arrays it is meant for.
        kwargs: ``rng``, the generator to draw from; ``xp.random`` by default.

    >>> import numpy as np
    >>> from minichainer import initializers
    >>> array = initializers.generate_array(initializers.Uniform(0.1), (100,), np)
    >>> bool(abs(array).max() <= 0.1)
    True
    """

    def __init__(self, scale: float = 0.05, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(scale, dtype, kwargs)

    def __call__(self, array: Any) -> None:
        self.fill_uniform(array)


class LeCunUniform(RandomInitializer):
    r"""Draws uniformly up to :math:`\mathit{scale} \sqrt{3 / \mathit{fan}_{in}}`.

    Y. LeCun et al., Efficient BackProp (1998).

    Args:
        scale: factor of the largest value.
        dtype: dtype of the arrays it is meant for.
        kwargs: ``rng``, the generator to draw from; ``xp.random`` by default.
    """

    def __init__(self, scale: float = 1.0, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(scale, dtype, kwargs)

    def spread(self, shape: tuple[int, ...]) -> float:
        return scaled(self.scale, 3, fan_in(shape))

    def __call__(self, array: Any) -> None:
        self.fill_uniform(array)


class GlorotUniform(RandomInitializer):
    r"""Draws uniformly up to :math:`\mathit{scale} \sqrt{6 / (\mathit{fan}_{in} + \mathit{fan}_{out})}`.

    X. Glorot and Y. Bengio, Understanding the difficulty of training deep feedforward neural networks (2010).

    Args:
        scale: factor of the largest value.
        dtype: dtype of the arrays it is meant for.
        kwargs: ``rng``, the generator to draw from; ``xp.random`` by default.
    """

    def __init__(self, scale: float = 1.0, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(scale, dtype, kwargs)

    def spread(self, shape: tuple[int, ...]) -> float:
        return scaled(self.scale, 3, mean_fan(shape))

    def __call__(self, array: Any) -> None:
        self.fill_uniform(array)


class HeUniform(RandomInitializer):
    r"""Draws uniformly up to :math:`\mathit{scale} \sqrt{6 / \mathit{fan}_{in}}`; for rectifiers.

    K. He et al., Delving deep into rectifiers (2015).

    Args:
        scale: factor of the largest value.
        dtype: dtype of the arrays it is meant for.
        kwargs: ``rng``, the generator to draw from; ``xp.random`` by default.
    """

    def __init__(self, scale: float = 1.0, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(scale, dtype, kwargs)

    def spread(self, shape: tuple[int, ...]) -> float:
        return scaled(self.scale, 6, fan_in(shape))

    def __call__(self, array: Any) -> None:
        self.fill_uniform(array)
