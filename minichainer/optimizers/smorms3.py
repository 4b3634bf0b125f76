"""SMORMS3: squared mean over root mean squared cubed."""

from __future__ import annotations

from typing import Any

from minichainer.kernels.updates import compiled
from minichainer.optimizer.declarations import hyperparameter, state
from minichainer.optimizer.formula import FormulaRule
from minichainer.optimizer.gradient_method import GradientMethod


class SMORMS3Rule(FormulaRule):
    """Update rule of :class:`SMORMS3`."""

    lr = hyperparameter(0.001, r'learning rate :math:`\eta`')
    eps = hyperparameter(1e-16, 'avoids division by zero')
    mem = state(1)
    g = state()
    g2 = state()
    temporaries = 2

    @staticmethod
    @compiled('smorms3')
    def formula(
        xp: Any, coefficients: Any, temporaries: Any, param: Any, grad: Any, mem: Any, g: Any, g2: Any
    ) -> None:
        lr, eps = coefficients
        rate, spare = temporaries
        xp.add(mem, 1, rate)
        xp.reciprocal(rate, rate)
        xp.subtract(grad, g, spare)
        spare *= rate
        g += spare
        # Roots before squares, which would overflow.
        xp.sqrt(rate, spare)
        spare *= grad
        spare *= spare
        xp.subtract(1, rate, rate)
        g2 *= rate
        g2 += spare
        xp.add(g2, eps, spare)
        xp.sqrt(spare, spare)
        xp.divide(g, spare, rate)
        rate *= rate
        xp.subtract(1, rate, spare)
        mem *= spare
        mem += 1
        xp.minimum(rate, lr, out=rate)
        rate *= grad
        xp.sqrt(g2, spare)
        spare += eps
        rate /= spare
        param -= rate


class SMORMS3(GradientMethod, rule=SMORMS3Rule):
    r"""SMORMS3 (squared mean over root mean squared cubed): a learning rate from the signal-to-noise ratio.

    .. math::
        r = \frac{1}{m + 1}, \quad
        \bar g \leftarrow (1 - r) \bar g + r g, \quad
        s \leftarrow (1 - r) s + r g^2, \quad
        x = \frac{\bar g^2}{s + \epsilon}, \quad
        w \leftarrow w - g \frac{\min(\eta, x)}{\sqrt{s} + \epsilon}, \quad
        m \leftarrow 1 + m (1 - x)

    The memory :math:`m` begins at 1. From Funk, *RMSprop loses to SMORMS3*, 2015,
    https://sifter.org/~simon/journal/20150420.html

    >>> import numpy as np, minichainer as chainer
    >>> model = chainer.Link()
    >>> with model.init_scope():
    ...     model.w = chainer.Parameter(np.ones(2, np.float64))
    >>> optimizer = chainer.optimizers.SMORMS3(lr=0.1).setup(model)
    >>> model.w.grad = np.array([1.0, -1.0])
    >>> optimizer.update()
    >>> model.w.array.round(4)
    array([0.8586, 1.1414])
    """

    lr: float
    eps: float
