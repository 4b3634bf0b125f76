"""Rounding, signs and remainders: piecewise constant functions."""

from __future__ import annotations

from typing import Any

from minichainer import ops
from minichainer.backend import get_array_module, on_device_of_arguments
from minichainer.functions._arguments import Arguments
from minichainer.functions._define import elementwise
from minichainer.kernels import bounds
from minichainer.variable import Variable


def _step(name: str, x: Any, kernel: Any = None) -> Variable:
    """Applies a function whose derivative is 0 or undefined, without a graph; integers stay unchanged."""
    array = x._data if x.__class__ is Variable and x._data is not None else Arguments(name).array(x, 'x')
    if array.dtype.kind not in 'fiu':
        raise Arguments(name).misfit('x.dtype of kind float or int', f'{array.dtype}')
    xp = get_array_module(array)
    return Variable(
        xp.asarray(kernel(xp, array) if kernel else getattr(xp, name)(array), array.dtype), requires_grad=False
    )


@on_device_of_arguments
def ceil(x: Any) -> Variable:
    r"""Elementwise smallest integer that is not less, :math:`y = \lceil x \rceil`; no gradient passes.

    Args:
        x: Variable or array of any shape.

    Returns:
        Variable of the same shape and dtype, without a graph.

    >>> import numpy as np, minichainer.functions as F
    >>> F.ceil(np.array([-1.5, 0.5]))
    variable([-1.,  1.])
    """
    return _step('ceil', x)


@on_device_of_arguments
def floor(x: Any) -> Variable:
    r"""Elementwise largest integer that is not greater, :math:`y = \lfloor x \rfloor`; no gradient passes.

    Args:
        x: Variable or array of any shape.

    Returns:
        Variable of the same shape and dtype, without a graph.

    >>> import numpy as np, minichainer.functions as F
    >>> F.floor(np.array([-1.5, 0.5]))
    variable([-2.,  0.])
    """
    return _step('floor', x)


@on_device_of_arguments
def fix(x: Any) -> Variable:
    r"""Elementwise rounding towards 0, :math:`y = \operatorname{sgn}(x) \lfloor |x| \rfloor`; no gradient passes.

    Args:
        x: Variable or array of any shape.

    Returns:
        Variable of the same shape and dtype, without a graph.

    >>> import numpy as np, minichainer.functions as F
    >>> F.fix(np.array([-1.5, 2.5]))
    variable([-1.,  2.])
    """
    return _step('trunc', x)


@on_device_of_arguments
def sign(x: Any) -> Variable:
    r"""Elementwise sign, :math:`y = x / |x|` or :math:`0`; no gradient passes.

    Args:
        x: Variable or array of any shape.

    Returns:
        Variable of the same shape and dtype, without a graph.

    >>> import numpy as np, minichainer.functions as F
    >>> F.sign(np.array([-1.5, 0.]))
    variable([-1.,  0.])
    """
    return _step('sign', x, bounds.sign)


ops.register_constant('whole_quotient', lambda xp, x, divisor: xp.trunc(x / divisor))


@elementwise(lambda m, gy: gy, lambda m, gy, x, divisor: -gy * m.whole_quotient(x, divisor), label='fmod')
def fmod(xp: Any, x: Any, divisor: Any) -> Any:
    r"""Elementwise remainder with the sign of the dividend, :math:`y = x - d \operatorname{fix}(x / d)`.

    Args:
        x: dividend, Variable or float array.
        divisor: Variable or float array of the same dtype; the shapes are broadcast.

    Returns:
        Variable; NaN where the divisor is 0.

    Raises:
        InvalidType: dtypes differ or are not floats, or the shapes cannot be broadcast together.

    >>> import numpy as np, minichainer.functions as F
    >>> F.fmod(np.array([5., -5.]), np.array([3., 3.]))
    variable([ 2., -2.])
    """
    return bounds.fmod(xp, x, divisor)
