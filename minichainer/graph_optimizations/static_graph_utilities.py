"""Code inside of static graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minichainer.graph_optimizations._decorators import decorator


def static_code(*dec_args: Any, **dec_kwargs: Any) -> Callable[..., Any]:
    """Decorator for a function with side effects that a static graph has to repeat.

    Nothing is cached here, so the function is called whenever it is called.

    Args:
        dec_args: the function, if the decorator is used without parentheses.
        dec_kwargs: settings of Chainer, which change nothing.

    Raises:
        TypeError: what is decorated is not callable.

    >>> from minichainer.graph_optimizations import static_code
    >>> @static_code
    ... def twice(x):
    ...     return 2 * x
    >>> twice(3)
    6
    """
    return decorator('static_code', dec_args)


def static_forward_optimizations(func: Any, inputs: tuple[Any, ...]) -> Any:
    """Runs the forward of a function, as it is.

    Args:
        func: FunctionNode.
        inputs: its arrays.

    Returns:
        Tuple of arrays.
    """
    return func.forward(inputs)
