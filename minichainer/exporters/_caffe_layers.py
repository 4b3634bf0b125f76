"""Layers of Caffe that compute what functions do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

#: Options of a layer: the name of the message and its fields, in the order in which they are written.
Options: TypeAlias = dict[str, Any]


@dataclass
class Layer:
    """A layer of Caffe.

    Args:
        kind: its type.
        message: name of the message with the options; empty if there are none.
        options: options by their names.
        blobs: arrays of weights.
        suffix: what is added to the name of the function; another layer follows with the name itself.
    """

    kind: str
    message: str = ''
    options: Options = field(default_factory=dict)
    blobs: Sequence[Any] = ()
    suffix: str = ''


class NotConvertible(ValueError):
    """A function that no layer of Caffe computes."""


def _convolution(function: Any, arrays: Any) -> list[Layer]:
    geometry, W = function.static[0], arrays[1]
    options = _convolution_options(W.shape[0], len(arrays) > 2, geometry)
    return [Layer('Convolution', 'convolution_param', options, arrays[1:])]


def _deconvolution(function: Any, arrays: Any) -> list[Layer]:
    """The geometry is that of the convolution in the other direction."""
    geometry, W = function.static[0], arrays[1]
    sizes = zip(geometry.in_size, geometry.out_size, _windows(geometry), geometry.stride, geometry.pad, strict=True)
    if any(big != (small - 1) * stride + window - 2 * pad for big, small, window, stride, pad in sizes):
        raise NotConvertible('Caffe has no outsize of deconvolutions')
    options = _convolution_options(W.shape[1] * geometry.groups, len(arrays) > 2, geometry)
    return [Layer('Deconvolution', 'convolution_param', options, arrays[1:])]


def _convolution_options(outputs: int, bias: bool, geometry: Any) -> Options:
    _check_planar(geometry)
    dilation = {} if set(geometry.dilate) == {1} else {'dilation': list(geometry.dilate)}
    sizes = _sizes(geometry)
    return {'num_output': outputs, 'bias_term': bias, **sizes, 'group': geometry.groups, **dilation}


def _sizes(geometry: Any) -> Options:
    options = {}
    for name, pair in (('pad', geometry.pad), ('stride', geometry.stride), ('kernel', geometry.ksize)):
        options.update({f'{name}_w': pair[1], f'{name}_h': pair[0]})
    return options


def _windows(geometry: Any) -> list[int]:
    """Sizes that dilated filters cover."""
    return [d * (k - 1) + 1 for k, d in zip(geometry.ksize, geometry.dilate, strict=True)]


def _check_planar(geometry: Any) -> None:
    if len(geometry.ksize) != 2:
        raise NotConvertible(f'Caffe has two axes of images, not {len(geometry.ksize)}')


def _linear(function: Any, arrays: Any) -> list[Layer]:
    options = {'num_output': arrays[1].shape[0], 'bias_term': len(arrays) > 2}
    return [Layer('InnerProduct', 'inner_product_param', options, arrays[1:])]


def _fixed_batch_normalization(function: Any, arrays: Any) -> list[Layer]:
    x, gamma, beta, mean, variance = arrays
    axes, eps = function.static
    if tuple(axes) != (0, *range(2, x.ndim)):
        raise NotConvertible(f'Caffe normalizes over all axes but 1, not over {axes}')
    one = variance[:1] * 0 + 1
    normalization = {'use_global_stats': True, 'eps': eps}
    return [
        Layer('BatchNorm', 'batch_norm_param', normalization, [mean, variance, one], suffix='_bn'),
        Layer('Scale', 'scale_param', {'axis': 1, 'bias_term': True}, [gamma, beta]),
    ]


def _max_pooling(function: Any, arrays: Any) -> list[Layer]:
    geometry = function.static[0]
    sizes = zip(geometry.in_size, geometry.out_size, geometry.ksize, geometry.stride, geometry.pad, strict=True)
    if any(out != -((k - size - 2 * pad) // stride) + 1 for size, out, k, stride, pad in sizes):
        raise NotConvertible('Caffe covers all pixels (cover_all=True)')
    return _pooling(geometry, 0)


def _average_pooling(function: Any, arrays: Any) -> list[Layer]:
    return _pooling(function.static[0], 1)


def _pooling(geometry: Any, method: int) -> list[Layer]:
    _check_planar(geometry)
    return [Layer('Pooling', 'pooling_param', {'pool': method, **_sizes(geometry)})]


def _normalization_by_neighbours(function: Any, arrays: Any) -> list[Layer]:
    n, k, alpha, beta = function.static
    options = {'norm_region': 0, 'local_size': n, 'k': k, 'alpha': alpha * n, 'beta': beta}
    return [Layer('LRN', 'lrn_param', options)]


def _softmax(function: Any, arrays: Any) -> list[Layer]:
    if function.static[0] % arrays[0].ndim != 1:
        raise NotConvertible(f'softmax must be along axis 1, not {function.static[0]}')
    return [Layer('Softmax')]


def _leaky_relu(function: Any, arrays: Any) -> list[Layer]:
    return [Layer('ReLU', 'relu_param', {'negative_slope': function.static[0]})]


def _concat(function: Any, arrays: Any) -> list[Layer]:
    return [Layer('Concat', 'concat_param', {'axis': function.static[0]})]


def _reshape(function: Any, arrays: Any) -> list[Layer]:
    return [Layer('Reshape', 'reshape_param', {'shape': {'dim': list(function.static[0])}})]


def _eltwise(operation: int | None) -> Callable[[Any, Any], list[Layer]]:
    def convert(function: Any, arrays: Any) -> list[Layer]:
        if len({x.shape for x in arrays}) > 1:
            raise NotConvertible(f'arrays must have one shape, not {" and ".join(str(x.shape) for x in arrays)}')
        return [
            Layer('Eltwise') if operation is None else Layer('Eltwise', 'eltwise_param', {'operation': operation})
        ]

    return convert


#: Converters of functions by their labels. Arguments: the function and the arrays that it was applied to.
CONVERTERS: dict[str, Callable[[Any, Any], list[Layer]]] = {
    'AveragePooling2D': _average_pooling,
    'Concat': _concat,
    'Convolution2DFunction': _convolution,
    'Deconvolution2DFunction': _deconvolution,
    'FixedBatchNormalization': _fixed_batch_normalization,
    'LeakyReLU': _leaky_relu,
    'LinearFunction': _linear,
    'LocalResponseNormalization': _normalization_by_neighbours,
    'MaxPoolingND': _max_pooling,
    'Maximum': _eltwise(2),
    'MultiAdd': _eltwise(None),
    'ReLU': lambda function, arrays: [Layer('ReLU')],
    'Reshape': _reshape,
    'Sigmoid': lambda function, arrays: [Layer('Sigmoid')],
    'Softmax': _softmax,
    '_ * _': _eltwise(0),
    '_ + _': _eltwise(None),
}
#: How many inputs come from other layers; the others are weights. All where it is not said.
DATA_INPUTS = {
    'Convolution2DFunction': 1, 'Deconvolution2DFunction': 1, 'FixedBatchNormalization': 1, 'LinearFunction': 1,
}  # fmt: skip
