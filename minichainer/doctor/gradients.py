"""The self-test: first and second derivatives of some functions, and a wrong one, which must be found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minichainer.backends._device import Device
from minichainer.function_node import FunctionNode
from minichainer.functions.activation.sigmoidal import tanh
from minichainer.functions.activation.softmax import softmax
from minichainer.functions.attention.scaled_dot_product import scaled_dot_product_attention
from minichainer.functions.connection.convolution_nd import convolution_2d
from minichainer.functions.connection.linear import linear
from minichainer.functions.loss.softmax_cross_entropy import softmax_cross_entropy
from minichainer.functions.normalization.batch_normalization import batch_normalization
from minichainer.functions.normalization.sample_normalization import layer_normalization
from minichainer.functions.pooling.max_pooling_nd import max_pooling_2d
from minichainer.functions.rnn.gated import lstm
from minichainer.gradient_check import check_gradients

#: Functions, with the shapes of their inputs.
CASES: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    'tanh': (tanh, [(3, 4)]),
    'softmax': (softmax, [(3, 4)]),
    'linear': (linear, [(3, 4), (2, 4), (2,)]),
    'convolution_2d': (convolution_2d, [(2, 2, 5, 5), (3, 2, 3, 3), (3,)]),
    'max_pooling_2d': (lambda x: max_pooling_2d(x, 2), [(2, 2, 4, 4)]),
    'batch_normalization': (batch_normalization, [(5, 3), (3,), (3,)]),
    'layer_normalization': (layer_normalization, [(3, 4), (4,), (4,)]),
    'softmax_cross_entropy': (lambda x: softmax_cross_entropy(x, _labels(x), enable_double_backprop=True), [(3, 4)]),
    'lstm': (lstm, [(2, 3), (2, 12)]),
    'scaled_dot_product_attention': (scaled_dot_product_attention, [(1, 2, 3, 4)] * 3),
}
WRONG = 'a wrong gradient is found'


class _Wrong(FunctionNode):
    """Squares, with a gradient without its factor 2."""

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        self.retain_inputs((0,))
        return (inputs[0] * inputs[0],)

    def backward(self, indexes: tuple[int, ...], grad_outputs: tuple[Any, ...]) -> tuple[Any, ...]:
        return (self.get_retained_inputs()[0] * grad_outputs[0],)


def _labels(x: Any) -> Any:
    return x.xp.arange(len(x)).astype('i')


def self_test(device: Device) -> dict[str, str]:
    """Checks gradients on a device.

    Returns:
        For each function 'pass', or what is wrong; see :func:`is_sound`.

    >>> import minichainer as chainer
    >>> from minichainer.doctor.gradients import is_sound, self_test
    >>> is_sound(self_test(chainer.get_device('@numpy')))
    True
    """
    rng = np.random.default_rng(0)
    found = {}
    for name, (function, shapes) in CASES.items():
        found[name] = _verdict(function, tuple(device.send(rng.normal(size=shape)) for shape in shapes))
    wrong = _verdict(lambda x: _Wrong().apply((x,))[0], (device.send(rng.normal(size=(3, 4))),))
    return {**found, WRONG: 'pass' if wrong.startswith('fail') else f'not found: {wrong}'}


def is_sound(found: dict[str, str]) -> bool:
    """Whether all of the self-test has passed."""
    return all(verdict == 'pass' for verdict in found.values())


def _verdict(function: Callable[..., Any], inputs: tuple[Any, ...]) -> str:
    """'pass', or another verdict and its first line; an exception is a finding too, not the end of the report."""
    try:
        report = check_gradients(function, inputs, order=2, seed=0)
    except Exception as error:
        return f'{type(error).__name__}: {error}'
    return 'pass' if report else f'{report.verdict}: {str(report).splitlines()[0]}'
