"""The decorator for reductions; the others are in ``_define``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from minichainer.functions._arguments import Arguments
from minichainer.functions._define import Body, Op, P, primitive
from minichainer.functions._primitive import Rule
from minichainer.functions._scope import publish
from minichainer.variable import as_variable


def kept_shape(shape: tuple[int, ...], axis: Any) -> tuple[int, ...]:
    """The shape of a reduction's result with ``keepdims=True``."""
    return tuple([1 if axis is None or i in axis else size for i, size in enumerate(shape)])


def reduction(
    rule: Rule, name: str | None = None, kinds: str = 'f', public: str | None = None
) -> Callable[[Body[P]], Op[P]]:
    """Makes a differentiable reduction, with Chainer's ``(x, axis=None, keepdims=False)``.

    Args:
        rule: ``rule(m, gy, ...)``, in which ``gy`` and ``y`` have the shape of ``keepdims=True``, so that they
            broadcast against ``x``.
        name: class name of the node.
        kinds: dtype kinds that it takes.
        public: its name in errors; that of the function by default.

    The decorated function is ``body(xp, x, axis, keepdims)`` with ``axis`` None or a tuple of non-negative ints.

    >>> import numpy as np, minichainer as chainer
    >>> from minichainer.functions import reduction
    >>> @reduction(lambda m, gy, x: 2 * gy * x)
    ... def sum_of_squares(xp, x, axis=None, keepdims=False):
    ...     return (x * x).sum(axis=axis, keepdims=keepdims)
    >>> sum_of_squares(np.ones((2, 3)), axis=1)
    variable([3., 3.])
    """
    wanted = list(inspect.signature(rule).parameters)[2:]

    def adapted(m: Any, gy: Any, x_shape: Any, axis: Any, *values: Any) -> Any:
        shape = kept_shape(x_shape, axis)
        values = tuple([v.reshape(shape) if n == 'y' else v for n, v in zip(wanted, values, strict=True)])
        return rule(m, gy.reshape(shape), *values)

    names = ['m', 'gy', 'x_shape', 'axis', *[f'{n}' if n not in ('x_shape', 'axis') else f'{n}_' for n in wanted]]
    if 'x_shape_' in names or 'axis_' in names:
        raise TypeError('rule of a reduction: x_shape and axis are not needed, gy and y broadcast against x')
    adapted.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names]
    )

    adapted.__wrapped__ = rule  # type: ignore[attr-defined]  # where its names are looked up

    def decorate(body: Callable[..., Any]) -> Any:
        op = primitive(rule=(adapted,), name=name, kinds=kinds)(body)

        arguments = Arguments(op.node_class.__name__, public or body.__name__)

        def call(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
            if axis is not None:
                x = as_variable(x)
                axis = arguments.axes(axis, x.shape)
            if keepdims is not False and keepdims is not True:
                arguments.flag(keepdims, 'keepdims')
            return op(x, axis, keepdims)

        @functools.wraps(body)
        def on_arrays(xp: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
            return body(xp, x, arguments.axes(axis, x.shape), keepdims)

        call.__name__ = call.__qualname__ = body.__name__
        call.__module__, call.__doc__ = body.__module__, body.__doc__
        call.node_class = op.node_class  # type: ignore[attr-defined]
        op.node_class.spec.op = publish(call, on_arrays)
        op.node_class.spec.reduces = True
        return call

    return decorate
