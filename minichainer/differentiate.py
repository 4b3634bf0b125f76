"""``backward`` from several outputs at once, and ``grad``, which returns gradients."""

from __future__ import annotations

import warnings
from typing import Any

from minichainer import _tangents, backprop
from minichainer._checks import as_raw, check_gradient, native
from minichainer._leaf_owners import is_gradient, warn_of_no_graph, why_no_graph
from minichainer.backends import cuda
from minichainer.variable import Variable, gradient_without_graph


def backward(outputs: Any, grad_outputs: Any = None, **kwargs: Any) -> None:
    """Runs one backward pass from several Variables, adding to the leaves' ``grad``.

    Args:
        outputs: tuple or list of Variables.
        grad_outputs: their gradients, Variables or arrays of their shapes and dtypes, or None; by default those set
            as ``grad``, once for each Variable; a RuntimeWarning says if one is missing or a Variable is given twice.
        enable_double_backprop: keyword only; the gradients can themselves be differentiated.

    Raises:
        TypeError: an argument is not a sequence, an output is not a Variable, or a gradient has another dtype.
        ValueError: the sequences disagree in length, or a gradient has another shape.

    >>> import numpy as np, minichainer as chainer
    >>> x = chainer.Variable(np.array(2.))
    >>> y, z = x * 3, x * x
    >>> y.grad, z.grad = np.array(1.), np.array(10.)
    >>> chainer.backward([y, z])
    >>> x.grad
    array(43.)
    """
    double = kwargs.pop('enable_double_backprop', False)
    if kwargs:
        raise TypeError(f'backward() got unexpected keyword arguments: {", ".join(sorted(kwargs))}')
    _expect_sequence(outputs, 'outputs')
    for y in outputs:
        if not isinstance(y, Variable):
            raise TypeError(f'backward: each output must be a Variable, not {type(y).__name__}')
    if grad_outputs is None:
        grad_outputs = _stored_gradients(outputs)
    else:
        _expect_sequence(grad_outputs, 'grad_outputs')
        _expect_length(grad_outputs, 'grad_outputs', outputs, 'outputs')
        grad_outputs = _checked(grad_outputs, 'grad_outputs', outputs)
    given = [(y.edge, gy) for y, gy in zip(outputs, grad_outputs, strict=True) if gy is not None]
    roots = [(node, _tangents.upstream(gy, double)) for node, gy in given]
    backprop.propagate(roots, variables=double)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    grad_inputs: Any = None,
    set_grad: bool = False,
    retain_grad: bool = False,
    enable_double_backprop: bool = False,
    loss_scale: Any = None,
) -> list[Variable | Any]:
    """Returns the gradients of ``outputs`` with respect to ``inputs``; does not change any ``.grad``.

    Only nodes between the two are computed. An output that appears twice counts twice.

    Args:
        outputs: tuple or list of Variables.
        inputs: tuple or list of Variables, leaves or not.
        grad_outputs: gradients of the outputs, Variables or arrays of their shapes and dtypes; ones where None.
        grad_inputs: initial gradients of the inputs, likewise; nothing where None.
        set_grad: also store the results as ``grad_var`` of the inputs.
        retain_grad: also store the gradients of outputs and of intermediate nodes, inputs among them; not of leaves.
        enable_double_backprop: the results can themselves be differentiated.
        loss_scale: factor of the initial gradients of ones.

    Returns:
        A list of Variables, one per input; None for an input that no output depends on. A NoGraphWarning says if an
        output was computed from gradients without a graph.

    Raises:
        TypeError: an argument is not a sequence, or a gradient is not an array or has another dtype.
        ValueError: the sequences disagree in length, or a gradient has another shape.

    >>> import numpy as np, minichainer as chainer
    >>> x = chainer.Variable(np.array(2.))
    >>> gx, = chainer.grad([x ** 3], [x], enable_double_backprop=True)
    >>> chainer.grad([gx], [x])
    [variable(12.)]
    """
    for value, name in ((outputs, 'outputs'), (inputs, 'inputs')):
        _expect_sequence(value, name)
    for values, name, others, other in (
        (grad_outputs, 'grad_outputs', outputs, 'outputs'),
        (grad_inputs, 'grad_inputs', inputs, 'inputs'),
    ):
        if values is not None:
            _expect_sequence(values, name)
            _expect_length(values, name, others, other)
    given = [None] * len(outputs) if grad_outputs is None else _checked(grad_outputs, 'grad_outputs', outputs)
    roots = [(y.edge, _initial(y, gy, loss_scale)) for y, gy in zip(outputs, given, strict=True)]
    if grad_inputs is not None:
        given = _checked(grad_inputs, 'grad_inputs', inputs)
        roots += [(x.edge, gx) for x, gx in zip(inputs, given, strict=True) if gx is not None]
    roots = [(node, _tangents.upstream(gradient, enable_double_backprop)) for node, gradient in roots]
    targets = [x.edge for x in inputs]
    found = backprop.gradients_of(targets, roots, retain_grad, enable_double_backprop)
    results = [None if g is None else g if isinstance(g, Variable) else gradient_without_graph(g) for g in found]
    if any(gx is None for gx in results):
        _warn_of_gradients(outputs)
    if set_grad:
        for x, gx in zip(inputs, results, strict=True):
            x.grad_var = gx
    return results


def _stored_gradients(outputs: Any) -> list[Any]:
    """The gradients set as ``grad``; one that is given twice counts once."""
    gradients: dict[int, Any] = {}
    found = [None if id(y.edge) in gradients else gradients.setdefault(id(y.edge), _stored(y)) for y in outputs]
    if any(gradient is None for gradient in found):
        warnings.warn(
            'backward: outputs contains a Variable without grad, or duplicate outputs; such an entry has no effect',
            RuntimeWarning,
            stacklevel=3,
        )
    return found


def _stored(y: Variable) -> Variable | None:
    """The gradient set as ``grad``, as a Variable."""
    gradient: Any = y.edge.grad_value
    return gradient if gradient is None or isinstance(gradient, Variable) else Variable(gradient)


def _warn_of_gradients(outputs: Any) -> None:
    """Warns if an output depends on gradients without a graph: that is why inputs get none."""
    for leaf in backprop.leaves_of([y.edge for y in outputs]):
        if is_gradient(leaf):
            warn_of_no_graph(f'grad: an output {why_no_graph(leaf)}')
            return


def _initial(y: Variable, gy: Any, loss_scale: Any) -> Any:
    """The upstream gradient of an output; ones by default, times the loss scale."""
    if gy is not None:
        return gy
    with cuda.get_device_from_array(y.array):
        ones = y.xp.ones_like(y.array)
        if loss_scale is not None:
            ones *= y.dtype.type(loss_scale)
    return Variable(ones, requires_grad=False)


def _checked(gradients: Any, name: str, variables: Any) -> list[Any]:
    """Gradients that were given, in the byte order of this machine; None where None.

    Raises:
        GradientTypeError, GradientShapeError: one cannot be the gradient of its Variable, as for ``Variable.grad``.
    """
    found = [*map(native, gradients)]
    for i, (x, gx) in enumerate(zip(variables, found, strict=True)):
        if gx is not None:
            check_gradient(as_raw(gx), x._data, f'{name}[{i}]')
    return found


def _expect_sequence(value: Any, name: str) -> None:
    if not isinstance(value, (tuple, list)):
        raise TypeError(f'{name}: tuple or list expected, got {type(value).__name__}')


def _expect_length(values: Any, name: str, others: Any, other: str) -> None:
    if len(values) != len(others):
        raise ValueError(
            f'{name}: as many entries as {other} expected\nlen({other}) = {len(others)}, len({name}) = {len(values)}'
        )
