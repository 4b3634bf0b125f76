"""``gradcheck`` and ``gradgradcheck`` as torch has them: inputs without any gradient to check are an error."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from minichainer import gradient_check
from minichainer.autograd._arrays import is_float
from minichainer.variable import Variable
from minichainer.verification.arguments import arrays_in

GradcheckError = gradient_check.GradcheckError


def _expect_gradients(op: str, inputs: Any) -> None:
    if not any(_needs_gradient(x) for _, x in arrays_in(inputs)):
        raise ValueError(f'{op}: expected at least one input that requires a gradient, got none')


def _needs_gradient(x: Any) -> bool:
    """Whether it has a gradient to check; arrays are Variables that require one."""
    return is_float(x) and (not isinstance(x, Variable) or x.requires_grad)


@functools.wraps(gradient_check.gradcheck)
def gradcheck(func: Callable[..., Any], inputs: Any, *args: Any, **kwargs: Any) -> bool:
    _expect_gradients('gradcheck', inputs)
    return gradient_check.gradcheck(func, inputs, *args, **kwargs)


@functools.wraps(gradient_check.gradgradcheck)
def gradgradcheck(func: Callable[..., Any], inputs: Any, *args: Any, **kwargs: Any) -> bool:
    _expect_gradients('gradgradcheck', inputs)
    return gradient_check.gradgradcheck(func, inputs, *args, **kwargs)
