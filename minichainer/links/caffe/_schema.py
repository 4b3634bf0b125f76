"""Caffe's file format: the messages and fields of the public ``caffe.proto`` that models of supported layers use.

The messages are declared when they are first needed, in a package of their own, so they exist beside those of an
installed Caffe. Enumerations are declared as the integers that they are in a file. Arrays of numbers are declared as
bytes, which have the same form in a file as packed numbers: NumPy reads them without a Python object per number.
"""

from __future__ import annotations

import functools
import os
from typing import Any

import numpy

#: Fields of each message: name, number and type; ``*`` for repeated ones, ``=`` for a default.
_MESSAGES = {
    'BlobShape': 'dim 1 int64*',
    'BlobProto': """
        num 1 int32, channels 2 int32, height 3 int32, width 4 int32, data 5 bytes*, double_data 8 bytes*,
        shape 7 BlobShape
    """,
    'ConvolutionParameter': """
        num_output 1 uint32, bias_term 2 bool=true, pad 3 uint32*, kernel_size 4 uint32*, stride 6 uint32*,
        dilation 18 uint32*, pad_h 9 uint32, pad_w 10 uint32, kernel_h 11 uint32, kernel_w 12 uint32,
        stride_h 13 uint32, stride_w 14 uint32, group 5 uint32=1, axis 16 int32=1
    """,
    'ConcatParameter': 'axis 2 int32=1, concat_dim 1 uint32=1',
    'DropoutParameter': 'dropout_ratio 1 float=0.5',
    'InnerProductParameter': 'num_output 1 uint32, bias_term 2 bool=true, axis 5 int32=1, transpose 6 bool',
    'LRNParameter': """
        local_size 1 uint32=5, alpha 2 float=1, beta 3 float=0.75, norm_region 4 int32, k 5 float=1
    """,
    'PoolingParameter': """
        pool 1 int32, pad 4 uint32, pad_h 9 uint32, pad_w 10 uint32, kernel_size 2 uint32, kernel_h 5 uint32,
        kernel_w 6 uint32, stride 3 uint32=1, stride_h 7 uint32, stride_w 8 uint32, global_pooling 12 bool
    """,
    'ReLUParameter': 'negative_slope 1 float',
    'ReshapeParameter': 'shape 1 BlobShape, axis 2 int32, num_axes 3 int32=-1',
    'BatchNormParameter': 'use_global_stats 1 bool, moving_average_fraction 2 float=0.999, eps 3 float=1e-5',
    'EltwiseParameter': 'operation 1 int32=1, coeff 2 float*',
    'ScaleParameter': 'axis 1 int32=1, num_axes 2 int32=1, bias_term 4 bool',
    'SliceParameter': 'axis 3 int32=1, slice_point 2 uint32*, slice_dim 1 uint32=1',
    'SoftmaxParameter': 'axis 2 int32=1',
    'LayerParameter': """
        name 1 string, type 2 string, bottom 3 string*, top 4 string*, phase 10 int32, blobs 7 BlobProto*,
        batch_norm_param 139 BatchNormParameter, concat_param 104 ConcatParameter,
        convolution_param 106 ConvolutionParameter, dropout_param 108 DropoutParameter,
        eltwise_param 110 EltwiseParameter, inner_product_param 117 InnerProductParameter, lrn_param 118 LRNParameter,
        pooling_param 121 PoolingParameter, relu_param 123 ReLUParameter, reshape_param 133 ReshapeParameter,
        scale_param 142 ScaleParameter, slice_param 126 SliceParameter, softmax_param 125 SoftmaxParameter
    """,
    'V1LayerParameter': """
        name 4 string, type 5 int32, bottom 2 string*, top 3 string*, blobs 6 BlobProto*,
        concat_param 9 ConcatParameter, convolution_param 10 ConvolutionParameter, dropout_param 12 DropoutParameter,
        eltwise_param 24 EltwiseParameter, inner_product_param 17 InnerProductParameter, lrn_param 18 LRNParameter,
        pooling_param 19 PoolingParameter, relu_param 30 ReLUParameter, slice_param 31 SliceParameter,
        softmax_param 39 SoftmaxParameter
    """,
    'NetParameter': 'name 1 string, layer 100 LayerParameter*, layers 2 V1LayerParameter*',
}
#: Types of layers in files before 2014, by number.
OLD_TYPES = dict(
    enumerate(
        """
        None Accuracy BNLL Concat Convolution Data Dropout EuclideanLoss Flatten HDF5Data HDF5Output Im2col ImageData
        InfogainLoss InnerProduct LRN MultinomialLogisticLoss Pooling ReLU Sigmoid Softmax SoftmaxWithLoss Split TanH
        WindowData Eltwise Power SigmoidCrossEntropyLoss HingeLoss MemoryData ArgMax Threshold DummyData Slice MVN
        AbsVal Silence ContrastiveLoss Exp Deconvolution
        """.split()
    )
)
_PACKAGE = 'minichainer_caffe'
#: The fields with the numbers of a blob, and what they are.
_NUMBERS = {'data': 'float', 'double_data': 'double'}


@functools.lru_cache(maxsize=2)
def net_parameter(numbers: str = 'bytes') -> Any:
    """The class of a whole network.

    Args:
        numbers: how the numbers of blobs are declared: 'bytes', or 'float' for programs that read them as such.

    Raises:
        ImportError: protobuf is not installed.
    """
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError as error:
        raise ImportError('models of Caffe need protobuf: pip install protobuf') from error
    file = descriptor_pb2.FileDescriptorProto(name='minichainer_caffe.proto', package=_PACKAGE, syntax='proto2')
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field in fields.split(','):
            message.field.add(**_field(*_of_numbers(numbers, *field.split())))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f'{_PACKAGE}.NetParameter'))


def _of_numbers(numbers: str, name: str, number: str, kind: str) -> tuple[str, str, str]:
    """A field, with another type if it has the numbers of a blob."""
    return name, number, f'{_NUMBERS[name]}*' if numbers == 'float' and name in _NUMBERS else kind


def _field(name: str, number: str, kind: str) -> dict[str, Any]:
    """Declaration of a field, by the names of ``FieldDescriptorProto``."""
    kind, _, default = kind.partition('=')
    repeated, kind = kind.endswith('*'), kind.rstrip('*')
    declared: dict[str, Any] = {'name': name, 'number': int(number), 'label': 3 if repeated else 1}
    if kind in _MESSAGES:
        declared.update(type=11, type_name=f'.{_PACKAGE}.{kind}')
    else:
        declared['type'] = {'double': 1, 'float': 2, 'int64': 3, 'int32': 5, 'bool': 8, 'string': 9, 'bytes': 12,
                            'uint32': 13}[kind]  # fmt: skip
    if default:
        declared['default_value'] = default
    if repeated and (kind == 'int64' or (name in _NUMBERS and kind != 'bytes')):
        declared['options'] = {'packed': True}
    return declared


def read_net(path: Any) -> Any:
    """Reads a file of Caffe.

    Raises:
        ImportError: protobuf is not installed.
        google.protobuf.message.DecodeError: the file is not one of Caffe, or not complete.
    """
    net = net_parameter()()
    from google.protobuf.message import DecodeError

    with open(path, 'rb') as file:
        content = file.read()
    try:
        net.ParseFromString(content)
    except DecodeError as error:
        raise DecodeError(f'{os.fspath(path)} is not a model of Caffe, or not complete: {error}') from error
    if not net.layer and not net.layers:
        raise DecodeError(f'{os.fspath(path)} is not a model of Caffe, or not complete: it has no layers')
    return net


def blob_array(blob: Any) -> numpy.ndarray:
    """The numbers of a blob as a float32 array; a shape of four sizes may begin with ones that have no meaning.

    Raises:
        ValueError: the numbers do not fit the shape.
    """
    values = blob_values(blob)
    shape = tuple(blob.shape.dim) if blob.HasField('shape') else (blob.num, blob.channels, blob.height, blob.width)
    if values.size != numpy.prod(shape, dtype=int):
        raise ValueError(f'{values.size} numbers do not fit the shape {shape}')
    return values.reshape(shape)


def blob_values(blob: Any) -> numpy.ndarray:
    """The numbers of a blob in one row."""
    if blob.double_data:
        return numpy.frombuffer(b''.join(blob.double_data), '<f8').astype(numpy.float32)
    return numpy.frombuffer(b''.join(blob.data), '<f4').astype(numpy.float32)


def write_blob(blob: Any, array: Any) -> None:
    """Stores an array in a blob."""
    blob.shape.dim.extend(array.shape)
    blob.data.append(array.astype('<f4').tobytes())
