"""What each layer of Caffe is here: a function, or a link with the layer's weights."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minichainer.configuration import using_config
from minichainer.functions.activation.rectifiers import leaky_relu, relu
from minichainer.functions.activation.sigmoidal import sigmoid
from minichainer.functions.activation.softmax import softmax
from minichainer.functions.array.joining import concat, split_axis
from minichainer.functions.array.shape import reshape
from minichainer.functions.loss.softmax_cross_entropy import softmax_cross_entropy
from minichainer.functions.math.elementwise_extrema import maximum
from minichainer.functions.noise.dropout import dropout
from minichainer.functions.normalization.local_response_normalization import local_response_normalization
from minichainer.functions.pooling.average_pooling_nd import average_pooling_2d
from minichainer.functions.pooling.max_pooling_nd import max_pooling_2d
from minichainer.links.caffe._schema import blob_array, blob_values
from minichainer.links.connection.convolution import Convolution2D, Deconvolution2D
from minichainer.links.connection.linear import Linear
from minichainer.links.connection.scale import Scale
from minichainer.links.normalization.batch_normalization import BatchNormalization

#: Layers that read data: their outputs are given as inputs.
SOURCES = {'Data', 'DummyData', 'HDF5Data', 'ImageData', 'Input', 'MemoryData', 'WindowData'}
#: Layers that only judge a network or write files.
JUDGES = {
    'Accuracy', 'ContrastiveLoss', 'EuclideanLoss', 'HDF5Output', 'HingeLoss', 'InfogainLoss',
    'MultinomialLogisticLoss', 'SigmoidCrossEntropyLoss', 'Silence',
}  # fmt: skip


class InTestMode:
    """A link that is always called with ``config.train`` off."""

    def __init__(self, link: Any) -> None:
        self.link = link

    def __call__(self, *xs: Any) -> Any:
        """Calls the link."""
        with using_config('train', False):
            return self.link(*xs)


# --- links ---------------------------------------------------------------------------------------------------------
def _convolution(layer: Any) -> Any:
    param = layer.convolution_param
    filters = _grouped(_weights(layer, param), param.group, 0)
    link = Convolution2D(
        filters.shape[1], filters.shape[0], filters.shape[2:], _pair(param, 'stride', 1), _pair(param, 'pad', 0),
        nobias=not param.bias_term, initialW=filters, dilate=_pair(param, 'dilation', 1),
    )  # fmt: skip
    return _with_bias(link, layer, param)


def _deconvolution(layer: Any) -> Any:
    param = layer.convolution_param
    filters = _grouped(_weights(layer, param), param.group, 1)
    link = Deconvolution2D(
        filters.shape[0], filters.shape[1], filters.shape[2:], _pair(param, 'stride', 1), _pair(param, 'pad', 0),
        nobias=not param.bias_term, initialW=filters, dilate=_pair(param, 'dilation', 1),
    )  # fmt: skip
    return _with_bias(link, layer, param)


def _inner_product(layer: Any) -> Any:
    param = layer.inner_product_param
    if param.axis != 1:
        raise RuntimeError('Non-default axis in InnerProduct is not supported')
    if param.transpose:
        raise RuntimeError('Transposed weights in InnerProduct are not supported')
    filters = _weights(layer, param)
    weights: Any = filters.reshape(filters.shape[-2:])
    link = Linear(weights.shape[1], weights.shape[0], nobias=not param.bias_term, initialW=weights)
    return _with_bias(link, layer, param)


def _batch_norm(layer: Any) -> Any:
    """The last blob is what the sums in the others are to be divided by."""
    param = layer.batch_norm_param
    mean, variance, *factor = _blobs(layer, 2)
    if factor:
        scale = 1 / factor[0].item() if factor[0].item() else 0
        mean, variance = mean * scale, variance * scale
    link = BatchNormalization(
        mean.size, param.moving_average_fraction, param.eps, use_gamma=False, use_beta=False,
        initial_avg_mean=mean.ravel(), initial_avg_var=variance.ravel(),
    )  # fmt: skip
    return InTestMode(link) if param.use_global_stats else link


def _scale(layer: Any) -> Any:
    param = layer.scale_param
    blobs = _blobs(layer, (len(layer.bottom) == 1) + param.bias_term)
    W_shape = blobs[0].shape if len(layer.bottom) == 1 else None
    link: Any = Scale(param.axis, W_shape, param.bias_term, blobs[-1].shape if param.bias_term else None)
    if W_shape is not None:
        link.W.array[...] = blobs[0]
    if param.bias_term:
        link.bias.b.array[...] = blobs[-1]
    return link


def _blobs(layer: Any, least: int) -> list[numpy.ndarray]:
    _check_blobs(layer, least)
    return [blob_array(blob) for blob in layer.blobs]


def _weights(layer: Any, param: Any) -> numpy.ndarray:
    _check_blobs(layer, 1 + param.bias_term)
    return blob_array(layer.blobs[0])


def _check_blobs(layer: Any, least: int) -> None:
    if len(layer.blobs) < least:
        raise ValueError(f'expected {least} blobs of weights, got {len(layer.blobs)}')


def _with_bias(link: Any, layer: Any, param: Any) -> Any:
    if len(link.W) != param.num_output and not isinstance(link, Deconvolution2D):
        raise ValueError(f'num_output is {param.num_output}, but there are weights of {len(link.W)} outputs')
    if param.bias_term:
        b: Any = link.b
        bias = blob_values(layer.blobs[1])  # Chainer wrote biases of deconvolutions with a wrong shape
        if bias.size != b.size:
            raise ValueError(f'expected {b.size} biases, got {bias.size}')
        b.array[...] = bias
    return link


def _grouped(filters: numpy.ndarray, groups: int, axis: int) -> numpy.ndarray:
    """Filters among all channels, with zeros between channels of different groups.

    Args:
        filters: those of Caffe, where one axis counts the channels of all groups and the other those of one.
        groups: number of groups.
        axis: the axis of output channels: 0 in convolutions, 1 in deconvolutions.
    """
    if filters.ndim != 4 or len(filters) % groups:
        raise ValueError(f'filters of shape {filters.shape} cannot be split into {groups} groups')
    rows, columns = filters.shape[:2]
    full = numpy.zeros((rows, columns * groups, *filters.shape[2:]), filters.dtype)
    size = rows // groups
    for group in range(groups):
        part = slice(group * size, (group + 1) * size)
        full[part, group * columns : (group + 1) * columns] = filters[part]
    return full


def _pair(param: Any, name: str, default: int) -> Any:
    """A size along height and width, which Caffe stores in one or two fields."""
    height, width = (name.replace('_size', '') + suffix for suffix in ('_h', '_w'))
    fields = param.DESCRIPTOR.fields_by_name
    if height in fields and (param.HasField(height) or param.HasField(width)):
        return getattr(param, height), getattr(param, width)
    values = getattr(param, name)
    if isinstance(values, int):
        return values
    return (tuple(values) if len(values) > 1 else values[0]) if values else default


# --- functions -----------------------------------------------------------------------------------------------------
def _concat(layer: Any) -> Callable[..., Any]:
    axis = _axis(layer.concat_param, 'concat_dim')
    return lambda *xs: concat(xs, axis=axis)


def _slice(layer: Any) -> Callable[..., Any]:
    param = layer.slice_param
    sections = list(param.slice_point) or len(layer.top)
    return functools.partial(split_axis, indices_or_sections=sections, axis=_axis(param, 'slice_dim'))


def _axis(param: Any, old: str) -> int:
    axis: int = getattr(param, old) if param.HasField(old) else param.axis
    return axis


def _dropout(layer: Any) -> Callable[..., Any]:
    return functools.partial(dropout, ratio=layer.dropout_param.dropout_ratio)


def _lrn(layer: Any) -> Callable[..., Any]:
    param = layer.lrn_param
    if param.norm_region != 0:
        raise RuntimeError('Within-channel LRN is not supported')
    n, alpha = param.local_size, param.alpha / param.local_size
    return functools.partial(local_response_normalization, n=n, k=param.k, alpha=alpha, beta=param.beta)


def _pooling(layer: Any) -> Callable[..., Any]:
    param = layer.pooling_param
    if param.pool not in (0, 1):
        raise RuntimeError('Stochastic pooling is not supported')
    pool = max_pooling_2d if param.pool == 0 else average_pooling_2d
    if param.global_pooling:
        return lambda x: pool(x, x.shape[2:], stride=1)
    ksize = _pair(param, 'kernel_size', 0)
    if not ksize:
        raise ValueError('kernel_size of the pooling is missing')
    return functools.partial(pool, ksize=ksize, stride=_pair(param, 'stride', 1), pad=_pair(param, 'pad', 0))


def _relu(layer: Any) -> Callable[..., Any]:
    slope = layer.relu_param.negative_slope
    return functools.partial(leaky_relu, slope=slope) if slope else relu


def _reshape(layer: Any) -> Callable[..., Any]:
    param = layer.reshape_param
    sizes, first, count = list(param.shape.dim), param.axis, param.num_axes
    return lambda x: reshape(x, _new_shape(x.shape, sizes, first, count))


def _new_shape(shape: tuple[int, ...], sizes: Sequence[int], first: int, count: int) -> tuple[int, ...]:
    """A shape in which some axes are replaced; a size of 0 means that of the replaced axis at this place."""
    first = first if first >= 0 else len(shape) + 1 + first
    end = len(shape) if count < 0 else first + count
    replaced = [shape[first + i] if size == 0 else size for i, size in enumerate(sizes)]
    return (*shape[:first], *replaced, *shape[end:])


def _eltwise(layer: Any) -> Callable[..., Any]:
    param = layer.eltwise_param
    coefficients = list(param.coeff)
    if coefficients and len(coefficients) != len(layer.bottom):
        raise ValueError(f'{len(coefficients)} coefficients for {len(layer.bottom)} inputs')
    if param.operation == 1 and coefficients:
        return lambda *xs: functools.reduce(
            lambda a, b: a + b, [c * x for c, x in zip(coefficients, xs, strict=True)]
        )
    if param.operation not in (0, 1, 2):
        raise RuntimeError(f'Eltwise operation {param.operation} is not supported')
    operation: Any = {0: lambda a, b: a * b, 1: lambda a, b: a + b, 2: maximum}[param.operation]
    return lambda *xs: functools.reduce(operation, xs)


def _softmax(layer: Any) -> Callable[..., Any]:
    _check_channel_axis(layer)
    return softmax


def _softmax_with_loss(layer: Any) -> Callable[..., Any]:
    _check_channel_axis(layer)
    return softmax_cross_entropy


def _check_channel_axis(layer: Any) -> None:
    if layer.softmax_param.axis != 1:
        raise RuntimeError('Softmax along non-channel axis is not supported')


#: Makers of functions and links by the type of the layer.
MAKERS: dict[str, Callable[[Any], Any]] = {
    'BatchNorm': _batch_norm,
    'Concat': _concat,
    'Convolution': _convolution,
    'Deconvolution': _deconvolution,
    'Dropout': _dropout,
    'Eltwise': _eltwise,
    'InnerProduct': _inner_product,
    'LRN': _lrn,
    'Pooling': _pooling,
    'ReLU': _relu,
    'Reshape': _reshape,
    'Scale': _scale,
    'Sigmoid': lambda layer: sigmoid,
    'Slice': _slice,
    'Softmax': _softmax,
    'SoftmaxWithLoss': _softmax_with_loss,
}
