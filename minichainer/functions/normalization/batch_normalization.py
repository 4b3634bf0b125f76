"""Batch normalization, with the batch's statistics and with given ones."""

from __future__ import annotations

from typing import Any

from minichainer.backend import get_array_module, on_device_of_arguments
from minichainer.function_node import FunctionNode
from minichainer.functions.array.conversion import as_dtype
from minichainer.functions.array.shape import reshape, sum_to
from minichainer.functions.normalization._common import (
    affine_gradients,
    as_inputs,
    check_eps,
    check_float,
    check_one_dtype,
    check_running,
    check_shapes,
    key_shape,
    statistics_axes,
    update_running,
    wide,
)
from minichainer.kernels import normalization as kernels
from minichainer.kernels.normalization import Channels, Moments
from minichainer.utils import argument
from minichainer.variable import Variable, as_variable

_REMOVED = {
    'train': "train is no longer an argument of it: use chainer.using_config('train', True or False)",
}


class BatchNormalization(FunctionNode):
    """Normalizes channels by their own mean and variance.

    Args:
        axes: axes of the statistics.
        eps: added to the variance.
        channels: how the channels of x lie, where that is known already.
        moments: statistics of x, where they are known already.
    """

    takes_any_layout = True

    def __init__(
        self, axes: tuple[int, ...], eps: float, channels: Channels | None = None, moments: Moments | None = None
    ) -> None:
        self.axes = axes
        self.eps = eps
        self.channels: Any = channels
        self.moments: Any = moments

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        self.retain_inputs((0, 1))
        x, gamma, beta = inputs
        xp = get_array_module(x)
        channels = self.channels = self.channels or kernels.channels_of(x, self.axes)
        laid = kernels.wide(channels.lay(x))
        moments = self.moments = self.moments or kernels.moments(xp, laid, channels)
        self.inv_std = (moments.var + self.eps) ** -0.5
        scale = gamma.reshape(-1) * self.inv_std
        y = kernels.scale_channels(xp, laid, channels, moments.shift, scale, beta.reshape(-1) - moments.mean * scale)
        return (channels.unlay(y).astype(x.dtype, copy=False),)

    def backward_arrays(self, indexes: Any, grad_outputs: Any) -> list[Any]:
        (gy,), (x, gamma) = grad_outputs, self._retained_inputs
        xp, channels = get_array_module(gy), self.channels
        laid, g = kernels.wide(channels.lay(x)), kernels.wide(channels.lay(gy))
        gx = None
        if 0 in indexes:
            gx, ggamma, gbeta = kernels.batch_norm_gradient(
                xp, g, laid, channels, self.moments, self.inv_std, gamma.reshape(-1).astype('d', copy=False)
            )
            gx = channels.unlay(gx).astype(x.dtype, copy=False)
        else:
            gbeta, product = kernels.sums_with(xp, g, laid, channels, self.moments.shift)
            ggamma = (product - self.moments.mean * gbeta) * self.inv_std
        found = [gx, *[v.astype(gamma.dtype).reshape(gamma.shape) for v in (ggamma, gbeta)]]
        return [found[i] for i in indexes]

    def backward(self, target_input_indexes: Any, grad_outputs: Any) -> Any:
        x, gamma = self.get_retained_inputs()
        broadcast = reshape(wide(gamma), key_shape(x.shape, self.axes))
        dtype = wide(x).dtype
        gradients = affine_gradients(
            target_input_indexes, wide(x), as_dtype(broadcast, dtype), wide(grad_outputs[0]), self.axes, self.eps
        )
        found = as_inputs(gradients, (x, gamma, gamma))
        return tuple([found[i] for i in target_input_indexes])


class FixedBatchNormalization(FunctionNode):
    """Normalizes channels by given means and variances."""

    takes_any_layout = True

    def __init__(self, axes: tuple[int, ...], eps: float) -> None:
        self.axes = axes
        self.eps = eps

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        self.retain_inputs((0, 1, 3, 4))
        x = inputs[0]
        gamma, beta, mean, var = [v.reshape(-1).astype('d') for v in inputs[1:]]
        xp = get_array_module(x)
        channels = kernels.channels_of(x, self.axes)
        laid = kernels.wide(channels.lay(x))
        scale = gamma * (var + self.eps) ** -0.5
        shift = mean.astype(laid.dtype)
        y = kernels.scale_channels(xp, laid, channels, shift, scale, beta + (shift - mean) * scale)
        return (channels.unlay(y).astype(x.dtype, copy=False),)

    def backward_arrays(self, indexes: Any, grad_outputs: Any) -> list[Any]:
        x, *params = self._retained_inputs
        gamma, mean, var = [v.reshape(-1).astype('d') for v in params]
        xp, channels = get_array_module(x), kernels.channels_of(x, self.axes)
        g = kernels.wide(channels.lay(grad_outputs[0]))
        inv_std = (var + self.eps) ** -0.5
        found: list[Any] = [None] * 5
        if 0 in indexes:
            gx = g * channels.spread((gamma * inv_std).astype(g.dtype))
            found[0] = channels.unlay(gx).astype(x.dtype, copy=False)
        if indexes[-1] > 0:
            laid = kernels.wide(channels.lay(x))
            shift = mean.astype(laid.dtype)
            gbeta, product = kernels.sums_with(xp, g, laid, channels, shift)
            product = product + (shift - mean) * gbeta
            sums = product * inv_std, gbeta, -gamma * inv_std * gbeta, -0.5 * gamma * inv_std**3 * product
            found[1:] = [v.astype(params[0].dtype).reshape(params[0].shape) for v in sums]
        return [found[i] for i in indexes]

    def backward(self, target_input_indexes: Any, grad_outputs: Any) -> Any:
        inputs = self.get_retained_inputs()
        x, gy = wide(inputs[0]), wide(grad_outputs[0])
        shape = key_shape(x.shape, self.axes)
        gamma, mean, var = [reshape(as_dtype(v, x.dtype), shape) for v in inputs[1:]]
        inv_std = (var + self.eps) ** -0.5
        gbeta, product = sum_to(gy, shape), sum_to(gy * (x - mean), shape)
        gradients = (
            gy * (gamma * inv_std), product * inv_std, gbeta, -gamma * inv_std * gbeta,
            -0.5 * gamma * inv_std * inv_std * inv_std * product,
        )  # fmt: skip
        x, gamma = inputs[:2]
        found = as_inputs(gradients, (x, gamma, gamma, gamma, gamma))
        return tuple([found[i] for i in target_input_indexes])


@on_device_of_arguments
def batch_normalization(x: Any, gamma: Any, beta: Any, **kwargs: Any) -> Variable:
    r"""Batch normalization with the statistics of the batch.

    .. math:: y = \gamma \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta

    where :math:`\mu` and :math:`\sigma^2` are mean and variance (of the elements, not an estimate) of each channel.
    float16 is computed in float32. A batch without elements leaves the running statistics as they are.

    Args:
        x: Variable or float array, such as :math:`(N, C)` or :math:`(N, C, h, w)`; any memory layout, which the
            result keeps.
        gamma: scale of each channel, of the shape that is left of ``x`` without ``axis``; it may have another float
            dtype than ``x``.
        beta: shift of each channel, of gamma's shape and dtype.
        eps: added to the variance; 2e-5 by default.
        running_mean: array of gamma's shape, updated in place to
            ``decay * running_mean + (1 - decay) * mean``; None by default.
        running_var: array of gamma's shape, updated in the same way with the unbiased variance,
            :math:`\sigma^2 m / (m - 1)` for m elements; given together with ``running_mean``.
        decay: how much of the running statistics stays; 0.9 by default.
        axis: None, an int, or a tuple of ints in ascending order: the axes of the statistics. By default the axes
            that come after the first are gamma's, and all others are those of the statistics.

    Returns:
        Variable of ``x``'s shape and dtype.

    Raises:
        InvalidType: shapes or dtypes do not fit, or an axis is out of range.
        RuntimeError: ``axis`` is no int or tuple of ints, or not in ascending order.
        ValueError: ``eps`` is negative, running statistics do not have gamma's shape, or ``train`` is given.
        TypeError: an argument is unknown, or only one of the running statistics is given.

    Source: Ioffe and Szegedy, Batch Normalization: Accelerating Deep Network Training by Reducing Internal Covariate
    Shift, 2015.

    >>> import numpy as np, minichainer.functions as F
    >>> y = F.batch_normalization(np.array([[1., 5.], [3., 9.]]), np.ones(2), np.array([0., 10.]))
    >>> y.array.round(3)
    array([[-1.,  9.],
           [ 1., 11.]])
    """
    eps, running_mean, running_var, decay, axis = argument.parse_kwargs(
        kwargs, ('eps', 2e-5), ('running_mean', None), ('running_var', None), ('decay', 0.9), ('axis', None),
        **_REMOVED,
    )  # fmt: skip
    x, gamma, beta = as_variable(x), as_variable(gamma), as_variable(beta)
    axes = checked_arguments('BatchNormalization', x, gamma, beta, eps, axis)
    if running_mean is None and running_var is None:
        return BatchNormalization(axes, eps).apply((x, gamma, beta))[0]
    if running_mean is None or running_var is None:
        raise TypeError('batch_normalization: running_mean and running_var must be given together')
    check_running('batch_normalization', gamma.shape, running_mean=running_mean, running_var=running_var)
    node = BatchNormalization(axes, eps)
    (y,) = node.apply((x, gamma, beta))
    move_statistics(node, running_mean, running_var, decay)
    return y


def checked_arguments(label: str, x: Any, gamma: Any, beta: Any, eps: float, axis: Any) -> tuple[int, ...]:
    """The axes of the statistics, after all arguments have been checked."""
    check_float(label, x=x, gamma=gamma, beta=beta)
    check_one_dtype(label, gamma=gamma, beta=beta)
    check_eps(label, eps)
    axes = statistics_axes(label, x, gamma, axis)
    check_shapes(label, gamma.shape, 'the shape of gamma', beta=beta)
    return axes


def move_statistics(node: BatchNormalization, running_mean: Any, running_var: Any, decay: float) -> None:
    """Moves running statistics towards those of a batch that has been normalized; one without elements has none."""
    size = node.channels.size
    if size:
        update_running(running_mean, decay, node.moments.true_mean)
        update_running(running_var, decay, node.moments.var * (size / max(size - 1, 1)))


def fixed_batch_normalization(
    x: Any, gamma: Any, beta: Any, mean: Any, var: Any, eps: float = 2e-5, axis: Any = None
) -> Variable:
    r"""Batch normalization with given statistics, such as running ones; all arguments get gradients.

    .. math:: y = \gamma \frac{x - \mathrm{mean}}{\sqrt{\mathrm{var} + \epsilon}} + \beta

    Args:
        x: Variable or float array, as of :func:`batch_normalization`.
        gamma: scale of each channel.
        beta: shift of each channel, of gamma's shape and dtype.
        mean: mean of each channel, of gamma's shape and dtype.
        var: variance of each channel, of gamma's shape and dtype.
        eps: added to the variance.
        axis: as of :func:`batch_normalization`.

    Returns:
        Variable of ``x``'s shape and dtype.

    Raises:
        InvalidType: shapes or dtypes do not fit, or an axis is out of range.
        RuntimeError: ``axis`` is no int or tuple of ints, or not in ascending order.
        ValueError: ``eps`` is negative.

    >>> import numpy as np, minichainer.functions as F
    >>> one, four = np.ones(1), np.full(1, 4.)
    >>> F.fixed_batch_normalization(np.array([[1.], [5.]]), one, one, one, four, eps=0)
    variable([[1.],
              [3.]])
    """
    label = 'FixedBatchNormalization'
    x, gamma, beta, mean, var = map(as_variable, (x, gamma, beta, mean, var))
    check_float(label, mean=mean, var=var)
    axes = checked_arguments(label, x, gamma, beta, eps, axis)
    check_one_dtype(label, gamma=gamma, mean=mean, var=var)
    check_shapes(label, gamma.shape, 'the shape of gamma', mean=mean, var=var)
    return FixedBatchNormalization(axes, eps).apply((x, gamma, beta, mean, var))[0]


def _reference(x: Any, gamma: Any, beta: Any, axes: tuple[int, ...], eps: float = 2e-5) -> Variable:
    """The plain composition of :func:`batch_normalization`: documentation, and oracle of the tests."""
    x = as_variable(x)
    count = max(x.size // max(as_variable(gamma).size, 1), 1)
    shape = key_shape(x.shape, axes)
    centre = x - sum_to(x, shape) / count
    var = sum_to(centre * centre, shape) / count
    y: Variable = reshape(gamma, shape) * centre / (var + eps) ** 0.5 + reshape(beta, shape)
    return y
