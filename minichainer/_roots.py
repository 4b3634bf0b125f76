"""What backward passes begin with: the upstream gradient, and where gradients are wanted."""

from __future__ import annotations

import warnings
from typing import Any

import numpy

from minichainer._checks import as_raw, check_gradient, native
from minichainer._leaf_owners import warn_of_no_graph as warn
from minichainer._leaf_owners import why_no_graph
from minichainer.backends import cuda
from minichainer.backprop import Node
from minichainer.configuration import config
from minichainer.errors import NoUpstreamError, describe


def initial_gradient(y: Any, loss_scale: Any) -> Any:
    """The upstream gradient of a scalar: 1, or the loss scale."""
    data = y._known('backward()')
    if data.size != 1:
        raise NoUpstreamError(
            f'backward: a gradient is needed, because the variable is not a scalar ({describe(data)}); '
            'set y.grad to an array of that shape and dtype, or reduce y first, for example by functions.sum(y)'
        )
    if data.ndim:
        warnings.warn(
            f'backward from an array of shape {data.shape} with only one element, taken as a scalar: that is '
            'deprecated; make it 0-dimensional by functions.squeeze, or set its grad',
            DeprecationWarning,
            stacklevel=3,
        )
    value = 1 if loss_scale is None else loss_scale
    if type(data) is numpy.ndarray and not data.ndim:
        return numpy.array(value, data.dtype)
    with cuda.get_device_from_array(data):
        return y.xp.full(data.shape, value, data.dtype)


def warn_of_no_graph(y: Any) -> None:
    """Warns if backward of a Variable without a creator does nothing because no graph was recorded."""
    reason = why_no_graph(y.edge)
    if reason is not None:
        warn(f'backward: the Variable {reason}')
    elif not config.enable_backprop and not config.constant_results:
        warn(
            'backward inside no_backprop_mode (or with config.enable_backprop = False): no graph was recorded, so no '
            'gradient reaches the parameters; compute the loss and call backward outside of it'
        )


def checked_upstream(y: Any, gradient: Any) -> Any:
    """An upstream gradient that was given."""
    if not y.requires_grad:
        raise RuntimeError('backward: the Variable does not require a gradient and has no creator')
    gradient = native(gradient)
    check_gradient(as_raw(gradient), y._data, 'backward')
    return gradient


def edges_of(op: str, inputs: Any) -> list[Node]:
    """The places of the Variables whose gradients are wanted.

    Args:
        op: the name of the function for messages.
        inputs: a Variable or several.
    """
    variables = [inputs] if hasattr(inputs, 'edge') else list(inputs)
    if not variables:
        raise RuntimeError(f'{op}: inputs is empty; leave it out to compute the gradients of all leaves')
    for i, x in enumerate(variables):
        if not hasattr(x, 'edge'):
            raise TypeError(f'{op}: input {i} must be a Variable, got {type(x).__name__}')
        if not x.requires_grad:
            raise RuntimeError(f'{op}: input {i} requires no gradient')
    return [x.edge for x in variables]
