"""``autograd.Variable``: a Variable that requires no gradient unless asked to."""

from __future__ import annotations

from typing import Any

from minichainer import variable
from minichainer._checks import as_raw


class _Meta(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, variable.Variable)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, variable.Variable)


class Variable(metaclass=_Meta):
    """Makes a :class:`minichainer.Variable`, with torch's default: it requires no gradient.

    Args:
        data: an array, or a Variable whose array is taken.
        requires_grad: whether it gets gradients.

    Raises:
        RuntimeError: a gradient is required of integers or bools.

    >>> import numpy as np, minichainer as chainer
    >>> from minichainer import autograd
    >>> x = autograd.Variable(np.ones(2), requires_grad=True)
    >>> type(x) is chainer.Variable, isinstance(x, autograd.Variable)
    (True, True)
    >>> autograd.Variable(np.ones(2)).requires_grad
    False
    """

    def __new__(cls, data: Any = None, requires_grad: bool = False) -> Any:
        return variable.Variable(as_raw(data), requires_grad=False).requires_grad_(requires_grad)
