"""``backward`` and ``grad`` with torch's arguments, errors and freeing of graphs, on the package's own tape."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from minichainer import _tangents, backprop
from minichainer._checks import array_types, as_raw, check_gradient, native
from minichainer._leaf_owners import why_no_graph
from minichainer._roots import edges_of
from minichainer.backends import cuda
from minichainer.backprop import Node
from minichainer.errors import describe
from minichainer.functions.array.joining import stack
from minichainer.variable import Variable, as_variable

Root = tuple[Node, Any]


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    r"""Adds to the ``grad`` of the leaves the sum of the gradients of several Variables.

    For leaves :math:`x` and upstream gradients :math:`v_k` of :math:`y_k` that is :math:`\sum_k v_k^T \partial y_k /
    \partial x`.

    Args:
        tensors: a Variable or a sequence of them.
        grad_tensors: their upstream gradients, of the same shapes and dtypes: Variables, arrays, or None for scalars
            and for Variables that require no gradient.
        retain_graph: keep what the graph has saved, so that it can be used again; by default the value of
            ``create_graph``. Without it, saved arrays are freed as the pass goes on.
        create_graph: the gradients can themselves be differentiated.
        grad_variables: deprecated name of ``grad_tensors``.
        inputs: leaves or other Variables; gradients are added to those of these alone.

    Raises:
        RuntimeError: an upstream gradient is missing or does not fit, a Variable does not require a gradient, the
            graph was freed, or a saved array was modified.

    >>> import numpy as np
    >>> from minichainer import autograd
    >>> x = autograd.Variable(np.array([1., 2.]), requires_grad=True)
    >>> autograd.backward([x * 3, x * x], [np.ones(2), np.ones(2)])
    >>> x.grad
    array([5., 7.])
    """
    if grad_variables is not None:
        warnings.warn('backward: grad_variables is deprecated, use grad_tensors', FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise RuntimeError('backward: grad_tensors and grad_variables are the same argument; give one of them')
        grad_tensors = grad_variables
    roots = _roots('backward', _sequence(tensors), _gradients(grad_tensors), create_graph)
    free = not (create_graph if retain_graph is None else retain_graph)
    if inputs is None:
        backprop.propagate(roots, variables=create_graph, free=free, strict=True, clear=False, siblings=False)
        return
    backprop.accumulate_into(edges_of('backward', inputs), roots, create_graph, None, free, strict=True)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    r"""Returns the sum of the gradients of outputs, :math:`\sum_k v_k^T \partial y_k / \partial x`.

    Args:
        outputs: a Variable or a sequence of them.
        inputs: Variables, leaves or not.
        grad_outputs: upstream gradients, as ``grad_tensors`` of :func:`backward`.
        retain_graph: as for :func:`backward`.
        create_graph: as for :func:`backward`.
        only_inputs: if False, the gradients of all other leaves are computed too and added to their ``grad``;
            deprecated.
        allow_unused: return None for inputs on which no output depends, instead of raising an error; by default the
            value of ``materialize_grads``.
        is_grads_batched: the upstream gradients have one more axis, the first; one pass is made for each entry, and
            the results are stacked.
        materialize_grads: return zeros instead of None.

    Returns:
        A tuple of Variables, one for each input.

    Raises:
        RuntimeError: as for :func:`backward`; or an input is not used, or requires no gradient; or there are none.
        ValueError: ``materialize_grads`` with ``allow_unused=False``.

    >>> import numpy as np
    >>> from minichainer import autograd
    >>> x = autograd.Variable(np.array(2.), requires_grad=True)
    >>> gx, = autograd.grad(x ** 3, x, create_graph=True)
    >>> autograd.grad(gx, x)
    (variable(12.),)
    """
    if materialize_grads and allow_unused is not None and not allow_unused:
        raise ValueError(
            'grad: materialize_grads=True fills in zeros for unused inputs, so allow_unused cannot be False'
        )
    if not only_inputs:
        warnings.warn(
            'grad: only_inputs=False is deprecated; call backward to accumulate gradients of leaves',
            FutureWarning,
            stacklevel=2,
        )
    inputs = _sequence(inputs)
    if not inputs:
        raise RuntimeError('grad: expected at least one input')
    outputs, gradients = _sequence(outputs), _gradients(grad_outputs)
    retain = create_graph if retain_graph is None else bool(retain_graph)
    compute = _along_paths if only_inputs else _through_all
    if is_grads_batched:
        found = _batched(compute, outputs, inputs, gradients, retain, create_graph)
    else:
        roots = _roots('grad', outputs, gradients, create_graph)
        found = compute(edges_of('grad', inputs), roots, create_graph, not retain)
    return tuple(
        _result(i, x, g, allow_unused, materialize_grads) for i, (x, g) in enumerate(zip(inputs, found, strict=True))
    )


def _along_paths(targets: Sequence[Node], roots: list[Root], create_graph: bool, free: bool) -> list[Any]:
    return backprop.gradients_of(targets, roots, variables=create_graph, free=free, strict=True)


def _through_all(targets: Sequence[Node], roots: list[Root], create_graph: bool, free: bool) -> list[Any]:
    """The gradients of the targets; those of other leaves are accumulated."""
    return backprop.gradients_and_others(targets, roots, create_graph, free, strict=True)


def _batched(
    compute: Callable[..., list[Any]],
    outputs: Sequence[Variable],
    inputs: Sequence[Variable],
    gradients: Any,
    retain: bool,
    create_graph: bool,
) -> list[Any]:
    """The gradients for each entry of batched upstream gradients, stacked."""
    if gradients is None or all(g is None for g in gradients):
        raise RuntimeError('grad: is_grads_batched=True needs grad_outputs')
    lengths = {len(as_raw(g)) for g in gradients if g is not None}
    if len(lengths) != 1:
        raise RuntimeError(f'grad: batched grad_outputs differ in length: {sorted(lengths)}')
    (count,), rows = lengths, []
    if not count:
        raise RuntimeError('grad: batched grad_outputs are empty')
    for i in range(count):
        entry = [None if g is None else g[i] if isinstance(g, Variable) else as_raw(g)[i, ...] for g in gradients]
        roots = _roots('grad', outputs, entry, create_graph)
        targets = edges_of('grad', inputs)
        rows.append(compute(targets, roots, create_graph, not retain and i == count - 1))
    columns = zip(*rows, strict=True)
    return [None if column[0] is None else stack([as_variable(g) for g in column]) for column in columns]


# --- arguments -----------------------------------------------------------------------------------------------------
def _sequence(values: Any) -> tuple[Any, ...]:
    return (values,) if isinstance(values, Variable) else tuple(values)


def _gradients(values: Any) -> tuple[Any, ...] | None:
    """Upstream gradients as given: one, or a sequence of them and of None."""
    if values is None:
        return None
    return (values,) if isinstance(values, (Variable, *array_types())) else tuple(values)


def _roots(op: str, outputs: Sequence[Any], gradients: Any, create_graph: bool) -> list[Root]:
    """The nodes of outputs and their upstream gradients."""
    if gradients is None:
        gradients = [None] * len(outputs)
    if len(gradients) != len(outputs):
        raise RuntimeError(f'{op}: expected one upstream gradient per output, {len(outputs)}, got {len(gradients)}')
    roots = []
    for i, (y, gy) in enumerate(zip(outputs, gradients, strict=True)):
        if not isinstance(y, Variable):
            raise TypeError(f'{op}: output {i} must be a Variable, got {type(y).__name__}')
        gy = _upstream(op, i, y, gy)
        if not y.requires_grad:
            raise RuntimeError(f'{op}: output {i} requires no gradient: it is a constant, or was made under no_grad')
        reason = why_no_graph(y.edge)
        if reason is not None:
            raise RuntimeError(f'{op}: output {i} {reason}')
        roots.append((y.edge, as_variable(gy) if create_graph else _tangents.upstream(gy, False)))
    return roots


def _upstream(op: str, index: int, y: Any, gy: Any) -> Any:
    """The upstream gradient of an output, checked; 1 for a scalar."""
    if gy is not None:
        if not isinstance(gy, (Variable, *array_types())):
            raise TypeError(f'{op}: expected an upstream gradient or None, got {type(gy).__name__}')
        gy = native(gy)
        check_gradient(as_raw(gy), y._data, f'output {index} of {op}')
        return gy
    if y.requires_grad and y.dtype.kind == 'c':
        raise RuntimeError(f'{op}: output {index} is complex, so it needs an upstream gradient')
    if y.size != 1 and y.requires_grad:
        raise RuntimeError(
            f'{op}: output {index} is not a scalar, {describe(y._data)}, so it needs an upstream gradient'
        )
    with cuda.get_device_from_array(y._data):
        return y.xp.ones_like(y._data)


def _result(index: int, x: Variable, gradient: Any, allow_unused: bool | None, materialize: bool) -> Any:
    if gradient is not None:
        return as_variable(gradient)
    if materialize:
        with cuda.get_device_from_array(x._data):
            return Variable(x.xp.zeros_like(x._data), requires_grad=False)
    if not allow_unused:
        raise RuntimeError(
            f'grad: no output depends on input {index}; allow_unused=True returns None for it, and '
            'materialize_grads=True zeros'
        )
    return None
