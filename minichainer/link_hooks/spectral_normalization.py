"""Spectral normalization of weights."""

from __future__ import annotations

import math
from typing import Any

import numpy

from minichainer import backend
from minichainer.backends import cuda
from minichainer.configuration import config
from minichainer.functions._arguments import Arguments
from minichainer.functions.array.order import moveaxis
from minichainer.functions.array.shape import reshape
from minichainer.functions.math.reductions import sum as sum_
from minichainer.functions.util._first_pass import about_to_write
from minichainer.link_hooks._weight_hook import WeightHook
from minichainer.variable import Parameter, Variable


class SpectralNormalization(WeightHook):
    r"""Divides a weight by an estimate of its largest singular value, :math:`W / \sigma(W)`.

    Each forward computation improves the estimate by power iteration, from a vector u that is kept with the link as a
    persistent value:

    .. math:: v = \frac{W^\top u}{\|W^\top u\| + \epsilon}, \quad u = \frac{W v}{\|W v\| + \epsilon}, \quad
        \sigma = u^\top W v

    u is kept only where ``config.train`` is true; it is changed in place, so that copies of the link share it. Rows
    of W are its outputs: axis 0, or axis 1 of transposed convolutions. Add it to a link by ``link.add_hook``.

    Args:
        n_power_iteration: number of iterations in each forward computation.
        eps: added to norms.
        use_gamma: multiply by a learned factor, the parameter ``gamma`` of the link, which begins with the largest
            singular value.
        factor: the result is multiplied by it; None for 1.
        weight_name: name of the weight.
        name: name of the hook.

    Attributes:
        v: the vector v of the last forward computation.

    Raises:
        AssertionError: ``n_power_iteration`` is less than 1.

    Source: Miyato, Kataoka, Koyama and Yoshida, Spectral Normalization for Generative Adversarial Networks, 2018.

    >>> import numpy as np, minichainer as chainer
    >>> layer = chainer.links.Linear(3, 2, initialW=np.array([[3, 0, 0], [0, 1, 0]]))
    >>> layer = layer.add_hook(chainer.link_hooks.SpectralNormalization(n_power_iteration=20))
    >>> layer(np.ones((1, 3), np.float32)).array.round(3)
    array([[1.   , 0.333]], dtype=float32)
    """

    name = 'SpectralNormalization'

    def __init__(
        self,
        n_power_iteration: int = 1,
        eps: float = 1e-6,
        use_gamma: bool = False,
        factor: float | None = None,
        weight_name: str = 'W',
        name: str | None = None,
    ) -> None:
        check = Arguments('SpectralNormalization')
        if check.integer(n_power_iteration, 'n_power_iteration') < 1:
            raise AssertionError(
                f'SpectralNormalization: at least 1 expected as n_power_iteration, got {n_power_iteration}'
            )
        check.number(eps, 'eps')
        check.flag(use_gamma, 'use_gamma')
        if factor is not None:
            check.number(factor, 'factor')
        super().__init__(weight_name, name)
        self.n_power_iteration = n_power_iteration
        self.eps = eps
        self.use_gamma = use_gamma
        self.factor = factor
        self.vector_name = f'{weight_name}_u'
        self.axis = 0

    def added(self, link: Any) -> None:
        """Adds u, and gamma if it is used, to the link; as soon as the weight has values.

        Args:
            link: the link.

        Raises:
            ValueError: the link does not have the weight, or its weight has no axis.
        """
        self.axis = 1 if getattr(link, 'transposed', False) else 0
        super().added(link)

    def prepare(self, link: Any) -> None:
        W = getattr(link, self.weight_name)
        if W.ndim <= self.axis:
            raise ValueError(
                f"SpectralNormalization: Weight '{self.weight_name}' of {type(link).__name__} must have an axis "
                f'{self.axis}, that of outputs, got shape {W.shape}'
            )
        if not W.shape[self.axis]:
            raise ValueError(
                f'SpectralNormalization: expected {self.weight_name}.shape[{self.axis}] > 0, got shape {W.shape}'
            )
        with link.device.create_context():
            u = link.xp.random.normal(size=W.shape[self.axis]).astype(W.dtype)
        link.add_persistent(self.vector_name, u)
        if self.use_gamma:
            largest = numpy.linalg.svd(cuda.to_cpu(self.reshape_W(W._data)).astype('d'), compute_uv=False)[0]
            with link.init_scope():
                link.gamma = Parameter(numpy.array(largest, W.dtype))

    def deleted(self, link: Any) -> None:
        """Removes u and gamma from the link.

        Args:
            link: the link.
        """
        for name in (self.vector_name, *(['gamma'] if self.use_gamma else [])):
            if name in link.__dict__:
                delattr(link, name)

    def reshape_W(self, W: Any) -> Any:
        """The weight as a matrix with a row for each output; an array or a Variable, as given."""
        if self.axis:
            W = moveaxis(W, self.axis, 0) if isinstance(W, Variable) else W.swapaxes(0, 1)
        shape = (W.shape[0], math.prod(W.shape[1:]))
        return reshape(W, shape) if isinstance(W, Variable) else W.reshape(shape)

    def normalize_weight(self, link: Any) -> Variable:
        """The normalized weight of a link, after an iteration.

        Args:
            link: a link with this hook.

        Returns:
            Variable of the weight's shape.
        """
        W = getattr(link, self.weight_name)
        matrix = self.reshape_W(W)
        u, v = self._iterated(link.xp, matrix._data, getattr(link, self.vector_name))
        self.v = v
        if config.train:  # in place, since copies of the link share the array
            kept = getattr(link, self.vector_name)
            about_to_write(kept)
            backend.copyto(kept, u)
        sigma = sum_(matrix * (u[:, None] * v))
        scale = link.gamma / sigma if self.use_gamma else 1 / sigma
        y: Variable = W * (scale if self.factor is None else scale * self.factor)
        return y

    normalized = normalize_weight

    def _iterated(self, xp: Any, W: Any, u: Any) -> tuple[Any, Any]:
        v: Any = None
        for _ in range(self.n_power_iteration):
            v = self._unit(xp, W.T @ u)
            u = self._unit(xp, W @ v)
        return u, v

    def _unit(self, xp: Any, vector: Any) -> Any:
        length = xp.sqrt(xp.square(vector.astype(numpy.promote_types(vector.dtype, 'f'))).sum())
        return (vector / (length + self.eps)).astype(vector.dtype)
