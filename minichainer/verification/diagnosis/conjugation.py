r"""A missing complex conjugate, the usual mistake in gradients of complex functions.

A holomorphic function :math:`f` has the gradient :math:`\overline{f'(z)}\, g` for an upstream gradient :math:`g`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from minichainer.verification.arrays import fresh_copy, host
from minichainer.verification.directional_derivatives import Derivatives


def conjugated(derivatives: Derivatives, i: int, k: int, draws: Sequence[int]) -> Iterator[tuple[str, list[Any]]]:
    """What would be right if a conjugate is missing, or one too many: a cause, and the gradient for each draw.

    Args:
        derivatives: The numeric side.
        i: Position of the leaf.
        k: Position among the checked outputs.
        draws: The draws of upstream gradients.
    """
    function = derivatives.order_check.function
    of_input, of_output = function.leaves[i].is_complex, derivatives.outputs[k] in function.complex_outputs
    given = [host(derivatives.gradient(d, k, i)) for d in draws]
    if of_input:
        yield 'conjugated: backward gives the conjugate of the gradient', [_conjugate(g) for g in given]
    if of_output:
        found = [_of_conjugate(derivatives, i, k, d) for d in draws]
        if any(g is None for g in found):
            return
        text = "the conjugate of the derivative is missing, a holomorphic function needs conj(f'(z)) * gy"
        if of_input:
            yield f'conjugated: {text}', [_conjugate(g) for g in found]
        yield f'conjugated: {"backward conjugates the upstream gradient" if of_input else text}', found


def _of_conjugate(derivatives: Derivatives, i: int, k: int, d: int) -> Any:
    """The gradient for the conjugate of an upstream gradient."""
    gradient = derivatives.evaluation.vjp(derivatives.only(k, _conjugate(derivatives.upstream[d][k])))[i]
    return None if gradient is None else host(gradient)


def _conjugate(array: Any) -> Any:
    """The parts of the conjugate of a complex array, from its parts."""
    copy = fresh_copy(array)
    copy[..., 1] *= -1
    return copy
