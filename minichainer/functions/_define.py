"""How ops are defined: one rule, two evaluators.

A derivative rule is one line, ``lambda m, gy, y: gy - gy * y * y``. In ordinary backward it is evaluated on
raw arrays, with ``m`` the ops' forward bodies; under double backprop on Variables, with ``m`` the differentiable
ops. So the same line is first and second (and any) order. The rule's parameter names say what it needs: the op's
own arguments (``x``), its result ``y``, a static parameter, or ``x_shape`` and ``x_dtype`` of an argument; arrays
that no rule names are not kept.

There are four decorators: :func:`elementwise`, :func:`linear`, :func:`bilinear`, and
:func:`~minichainer.functions._reduce.reduction`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from minichainer import ops
from minichainer.functions._call import binary_pullback, caller, unary_pullback
from minichainer.functions._node import DefinedNode, Rule, Spec

Body = Callable[..., Any]


def elementwise(
    *rules: Rule | None,
    name: str | None = None,
    label: Any = None,
    kinds: str = 'f',
    mixed: Body | None = None,
    on_numpy: str | Body | None = None,
) -> Callable[[Body], Body]:
    """Makes a differentiable op of a function that acts element by element, with broadcasting.

    Args:
        rules: one derivative rule per array argument, None where there is no derivative;
            ``rule(m, gy, ...)`` returns the gradient of that argument.
        name: class name of its node; the function's name in camel case by default.
        label: what graphs and hooks show, a string or ``label(*static)``; the class name by default.
        kinds: dtype kinds that it takes.
        mixed: for an op of two arrays, what is called instead where an argument is no Variable; by default an
            array becomes a constant.
        on_numpy: what the body is on NumPy arrays: a function, or the name of one of NumPy's; saves calls.

    The decorated function is ``body(xp, *arrays, *static)`` on raw arrays, ``xp`` being numpy or cupy.

    >>> import numpy as np, minichainer as chainer
    >>> from minichainer.functions import elementwise
    >>> @elementwise(lambda m, gy, x, k: gy * 2 * k * x * m.cos(k * x * x))
    ... def chirp(xp, x, k=1.):
    ...     return xp.sin(k * x * x)
    >>> x = chainer.Variable(np.array([0., 1.]))
    >>> y = chirp(x, k=2.)
    >>> y.grad = np.ones(2)
    >>> y.backward()
    >>> x.grad.round(4)
    array([ 0.    , -1.6646])
    """
    return lambda body: _op(Spec(body, rules, name, label, kinds, elementwise=True, mixed=mixed, on_numpy=on_numpy))


def linear(adjoint: Rule, name: str | None = None, label: Any = None, kinds: str = 'fiubc') -> Callable[[Body], Body]:
    """Makes a differentiable op of a map of one array whose gradient is stated as a whole, such as its adjoint.

    Args:
        adjoint: ``adjoint(m, gy, ...)``; it usually names ``x_shape`` and static parameters.
        name: as in :func:`elementwise`.
        label: as in :func:`elementwise`.
        kinds: dtype kinds that it takes; all by default.

    >>> import numpy as np
    >>> from minichainer.functions import linear_map
    >>> @linear_map(lambda m, gy: m.reverse(gy))
    ... def reverse(xp, x):
    ...     return x[::-1]
    >>> reverse(np.arange(3.))
    variable([2., 1., 0.])
    """
    return lambda body: _op(Spec(body, (adjoint,), name, label, kinds, elementwise=False))


def bilinear(
    *rules: Rule | None, name: str | None = None, label: Any = None, kinds: str = 'f'
) -> Callable[[Body], Body]:
    """Makes a differentiable op of a function of several arrays that is no elementwise one, such as a product.

    Args:
        rules: one derivative rule per array argument; what leading axes were broadcast is summed afterwards.
        name: as in :func:`elementwise`.
        label: as in :func:`elementwise`.
        kinds: dtype kinds that it takes.

    The arrays must agree in dtype; their shapes are the op's own matter.

    >>> import numpy as np, minichainer as chainer
    >>> from minichainer.functions import bilinear_map
    >>> @bilinear_map(lambda m, gy, x, w: m.outer(gy, w), lambda m, gy, x, w: m.matmul(gy, x))
    ... def weigh(xp, x, w):
    ...     return x @ w
    >>> @bilinear_map(lambda m, gy, a, b: m.weigh(gy, b), lambda m, gy, a, b: m.matmul(a, gy))
    ... def outer(xp, a, b):
    ...     return a[:, None] * b
    >>> x, w = chainer.Variable(np.array([[1., 2.], [3., 4.]])), chainer.Variable(np.array([1., -1.]))
    >>> y = weigh(x, w)
    >>> y.grad = np.array([1., 10.])
    >>> y.backward()
    >>> x.grad, w.grad
    (array([[  1.,  -1.],
           [ 10., -10.]]), array([31., 42.]))
    """
    return lambda body: _op(Spec(body, rules, name, label, kinds, elementwise=False))


def _op(spec: Spec) -> Body:
    attributes: dict[str, Any] = {
        'spec': spec, 'is_elementwise': spec.elementwise, '__module__': spec.body.__module__
    }  # fmt: skip
    if len(spec.rules) == 1 and spec.rules[0] is not None and spec.takes_saved[0]:
        attributes['pullback'] = unary_pullback(spec)
    elif (
        len(spec.rules) == 2 and None not in spec.rules and not spec.static_parameters and all(spec.needs_saved_only)
    ):
        attributes['pullback'] = binary_pullback(spec)
    cls = type(spec.name, (DefinedNode,), attributes)
    return _published(spec, cls, caller(spec, cls))


def _published(spec: Spec, cls: type[DefinedNode], call: Body) -> Body:
    """Gives the op its public face, and puts it into the registry."""
    body = spec.body
    for attribute in ('__name__', '__qualname__', '__module__', '__doc__'):
        setattr(call, attribute, getattr(body, attribute))
    signature = inspect.Signature([p.replace(annotation=p.empty) for p in spec.parameters])
    call.__signature__ = signature  # type: ignore[attr-defined]
    call.node_class = cls  # type: ignore[attr-defined]
    ops.register(body.__name__, call, body)
    return call
