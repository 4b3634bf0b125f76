"""Rules of fused ops that differentiate a composition of plain ops."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from minichainer.configuration import using_config
from minichainer.differentiate import grad
from minichainer.functions._precision import in_float32
from minichainer.functions.array.conversion import as_dtype, identity


def differentiated(reference: Callable[..., Any]) -> Callable[..., Any]:
    """A rule that differentiates a composition with the same results as the op, to any order.

    Args:
        reference: ``reference(*arrays, *static)`` on Variables, with the parameters of the op's body after ``xp``;
            parameters that are not arrays are keyword-only. It returns a Variable or a tuple. Arrays of float16 are
            passed in float32.
    """
    parameters = list(inspect.signature(reference).parameters.values())
    names = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    count = len(parameters) - len(names)

    def rule(m: Any, gy: Any, wanted: Any, *values: Any) -> tuple[Any, ...]:
        xs = values[0] if variadic else values[:count]
        static = dict(zip(names, values[count:], strict=True))
        with using_config('enable_backprop', True):
            # New leaves: if one input was computed from another, that computation is not part of this op's gradient.
            inputs = [identity(x) for x in xs]
            outputs = reference(*[in_float32(m, x) for x in inputs], **static)
            ys = [as_dtype(y, xs[0].dtype) for y in (outputs if isinstance(outputs, tuple) else (outputs,))]
            chosen = [x for x, needed in zip(inputs, wanted, strict=True) if needed]
            gradients = iter(grad(ys, chosen, gy if isinstance(gy, tuple) else (gy,), enable_double_backprop=True))
        return tuple([next(gradients) if needed else None for needed in wanted])

    rule.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD)
            for name in ('m', 'gy', 'wanted', *[p.name for p in parameters])
        ]
    )
    return rule
