"""Products of vectors with Jacobians and Hessians."""

from __future__ import annotations

from typing import Any

from minichainer.autograd.functional._tape import gradients, pushed, recording, value_and_gradient
from minichainer.autograd.functional._values import Func, called, complete, inputs_of, returned, vector
from minichainer.variable import Variable


def vjp(func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    r"""Value of a function, and :math:`v^T J` of a vector with its Jacobian.

    Args:
        func: function of Variables that returns a Variable or a tuple of them.
        inputs: Variable or array of floats, or a tuple of them.
        v: the vector, with the structure and shapes of the outputs; by default 1 for an output of one element.
        create_graph: the results can be differentiated with respect to inputs, ``v`` and what ``func`` closes over.
        strict: raise where the result would be zero because an output does not depend on an input.

    Returns:
        The outputs, and the product, with the structure, shapes and dtypes of the inputs.

    Raises:
        TypeError: inputs, outputs or ``v`` are not Variables.
        RuntimeError: inputs are not floats, ``v`` does not fit or is missing, or strict mode found an independence.

    >>> import numpy as np
    >>> from minichainer.autograd import functional
    >>> functional.vjp(lambda x: x * x, np.array([1., 2.]), np.array([1., 10.]))
    (variable([1., 4.]), variable([ 2., 40.]))
    """
    with recording():
        xs, is_tuple = inputs_of('vjp', inputs, create_graph)
        ys, several = called('vjp', func, xs, strict)
        found = gradients(ys, xs, vector('vjp', v, ys, 'output', create_graph), create_graph)
        products = complete('vjp', found, xs, strict, ends=xs if create_graph else ())
        return returned(ys, several, create_graph), returned(products, is_tuple, create_graph)


def jvp(func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    r"""Value of a function, and :math:`J v` of its Jacobian with a vector.

    It is computed by differentiating :math:`J^T u` with respect to :math:`u`, two backward passes.

    Args:
        func: function of Variables that returns a Variable or a tuple of them.
        inputs: Variable or array of floats, or a tuple of them.
        v: the vector, with the structure and shapes of the inputs; by default 1 for an input of one element.
        create_graph: the results can be differentiated with respect to inputs, ``v`` and what ``func`` closes over.
        strict: raise where the result would be zero because an output does not depend on an input.

    Returns:
        The outputs, and the product, with the structure, shapes and dtypes of the outputs.

    Raises:
        TypeError: inputs, outputs or ``v`` are not Variables.
        RuntimeError: inputs are not floats, ``v`` does not fit or is missing, or strict mode found an independence.

    >>> import numpy as np
    >>> from minichainer.autograd import functional
    >>> functional.jvp(lambda x: x * x, np.array([1., 2.]), np.array([1., 10.]))
    (variable([1., 4.]), variable([ 2., 40.]))
    """
    with recording():
        xs, _ = inputs_of('jvp', inputs, create_graph)
        direction = vector('jvp', v, xs, 'input', create_graph)
        ys, several, (tangents,) = pushed('jvp', func, xs, [direction], create_graph, strict)
        products = complete('jvp', tangents, ys, strict, 'of output', xs if create_graph else ())
        return returned(ys, several, create_graph), returned(products, several, create_graph)


def vhp(func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    r"""Value of a scalar function, and :math:`v^T H` of a vector with its Hessian.

    Args:
        func: function of Variables that returns one Variable with one element.
        inputs: Variable or array of floats, or a tuple of them.
        v: the vector, with the structure and shapes of the inputs; by default 1 for an input of one element.
        create_graph: the results can be differentiated with respect to inputs, ``v`` and what ``func`` closes over.
        strict: raise where the result would be zero because the output or a gradient does not depend on the inputs.

    Returns:
        The output, and the product, with the structure, shapes and dtypes of the inputs.

    Raises:
        TypeError: inputs, output or ``v`` are not Variables.
        RuntimeError: inputs are not floats, the output is not one element, ``v`` does not fit or is missing, or
            strict mode found an independence.

    >>> import numpy as np, minichainer.functions as F
    >>> from minichainer.autograd import functional
    >>> functional.vhp(lambda x: F.sum(x ** 3), np.array([1., 2.]), np.array([1., 10.]))
    (variable(9.), variable([  6., 120.]))
    """
    with recording():
        xs, is_tuple = inputs_of('vhp', inputs, create_graph)
        direction = vector('vhp', v, xs, 'input', create_graph)
        y, slopes = value_and_gradient('vhp', func, xs, strict)
        found = gradients(slopes, xs, direction, create_graph)
        products = complete('vhp', found, xs, strict, ends=xs if create_graph else ())
        return returned([y], False, create_graph), returned(products, is_tuple, create_graph)


def hvp(func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    r"""Value of a scalar function, and :math:`H v` of its Hessian with a vector.

    It is the :func:`jvp` of the gradient. Because Hessians are symmetric, :func:`vhp` gives the same numbers, with
    one backward pass less.

    Args:
        func: function of Variables that returns one Variable with one element.
        inputs: Variable or array of floats, or a tuple of them.
        v: the vector, with the structure and shapes of the inputs; by default 1 for an input of one element.
        create_graph: the results can be differentiated with respect to inputs, ``v`` and what ``func`` closes over.
        strict: raise where the result would be zero because the output or a gradient does not depend on the inputs.

    Returns:
        The output, and the product, with the structure, shapes and dtypes of the inputs.

    Raises:
        TypeError: inputs, output or ``v`` are not Variables.
        RuntimeError: inputs are not floats, the output is not one element, ``v`` does not fit or is missing, or
            strict mode found an independence.

    >>> import numpy as np, minichainer.functions as F
    >>> from minichainer.autograd import functional
    >>> functional.hvp(lambda x: F.sum(x ** 3), np.array([1., 2.]), np.array([1., 10.]))
    (variable(9.), variable([  6., 120.]))
    """
    value: list[Variable] = []

    def gradient(*xs: Variable) -> tuple[Variable, ...]:
        y, slopes = value_and_gradient('hvp', func, xs, strict)
        value.append(y)
        return tuple(slopes)

    with recording():
        xs, is_tuple = inputs_of('hvp', inputs, create_graph)
        direction = vector('hvp', v, xs, 'input', create_graph)
        slopes, _, (tangents,) = pushed('hvp', gradient, xs, [direction], create_graph, strict)
        products = complete('hvp', tangents, slopes, strict, 'of gradient', xs if create_graph else ())
        return returned(value, False, create_graph), returned(products, is_tuple, create_graph)
