"""Links: functions with parameters, which are the layers of a model."""

import typing

from minichainer._names import namespace as _namespace

if typing.TYPE_CHECKING:
    from minichainer.links import caffe as caffe
    from minichainer.links.activation.maxout import Maxout
    from minichainer.links.activation.prelu import PReLU
    from minichainer.links.activation.simplified_dropconnect import SimplifiedDropconnect
    from minichainer.links.activation.swish import Swish
    from minichainer.links.attention.multi_head_attention import MultiHeadAttention
    from minichainer.links.attention.transformer import TransformerDecoderLayer, TransformerEncoderLayer
    from minichainer.links.connection.bias import Bias
    from minichainer.links.connection.bilinear import Bilinear
    from minichainer.links.connection.convolution import (
        Convolution1D,
        Convolution2D,
        Convolution3D,
        ConvolutionND,
        Deconvolution1D,
        Deconvolution2D,
        Deconvolution3D,
        DeconvolutionND,
    )
    from minichainer.links.connection.deformable_convolution_2d import DeformableConvolution2D
    from minichainer.links.connection.depthwise_convolution_2d import DepthwiseConvolution2D
    from minichainer.links.connection.dilated_convolution_2d import DilatedConvolution2D
    from minichainer.links.connection.embed_id import EmbedID
    from minichainer.links.connection.highway import Highway
    from minichainer.links.connection.inception import Inception
    from minichainer.links.connection.inceptionbn import InceptionBN
    from minichainer.links.connection.linear import Linear
    from minichainer.links.connection.local_convolution_2d import LocalConvolution2D
    from minichainer.links.connection.mlp_convolution_2d import MLPConvolution2D
    from minichainer.links.connection.parameter import Parameter
    from minichainer.links.connection.scale import Scale
    from minichainer.links.loss.black_out import BlackOut
    from minichainer.links.loss.crf1d import CRF1d
    from minichainer.links.loss.hierarchical_softmax import BinaryHierarchicalSoftmax
    from minichainer.links.loss.negative_sampling import NegativeSampling
    from minichainer.links.model.classifier import Classifier
    from minichainer.links.model.vision.googlenet import GoogLeNet
    from minichainer.links.model.vision.resnet import ResNet50Layers, ResNet101Layers, ResNet152Layers
    from minichainer.links.model.vision.vgg import VGG16Layers, VGG19Layers
    from minichainer.links.normalization.batch_normalization import BatchNormalization, BatchRenormalization
    from minichainer.links.normalization.decorrelated_batch_normalization import DecorrelatedBatchNormalization
    from minichainer.links.normalization.sample_normalization import (
        GroupNormalization,
        InstanceNormalization,
        LayerNormalization,
        RMSNormalization,
    )
    from minichainer.links.rnn.gru import GRU, StatefulGRU, StatelessGRU
    from minichainer.links.rnn.lstm import LSTM, StatelessLSTM
    from minichainer.links.rnn.lstm_variants import StatefulPeepholeLSTM, StatefulZoneoutLSTM
    from minichainer.links.rnn.mgu import StatefulMGU, StatelessMGU
    from minichainer.links.rnn.n_step_rnn import (
        NStepBiGRU,
        NStepBiLSTM,
        NStepBiRNNReLU,
        NStepBiRNNTanh,
        NStepGRU,
        NStepLSTM,
        NStepRNNReLU,
        NStepRNNTanh,
    )
    from minichainer.links.rnn.tree_lstm import ChildSumTreeLSTM, NaryTreeLSTM
    from minichainer.links.theano import TheanoFunction

__all__ = [
    'BatchNormalization',
    'BatchRenormalization',
    'Bias',
    'Bilinear',
    'BinaryHierarchicalSoftmax',
    'BlackOut',
    'CRF1d',
    'ChildSumTreeLSTM',
    'Classifier',
    'Convolution1D',
    'Convolution2D',
    'Convolution3D',
    'ConvolutionND',
    'Deconvolution1D',
    'Deconvolution2D',
    'Deconvolution3D',
    'DeconvolutionND',
    'DecorrelatedBatchNormalization',
    'DeformableConvolution2D',
    'DepthwiseConvolution2D',
    'DilatedConvolution2D',
    'EmbedID',
    'GRU',
    'GoogLeNet',
    'GroupNormalization',
    'Highway',
    'Inception',
    'InceptionBN',
    'InstanceNormalization',
    'LSTM',
    'LayerNormalization',
    'Linear',
    'LocalConvolution2D',
    'MLPConvolution2D',
    'Maxout',
    'MultiHeadAttention',
    'NStepBiGRU',
    'NStepBiLSTM',
    'NStepBiRNNReLU',
    'NStepBiRNNTanh',
    'NStepGRU',
    'NStepLSTM',
    'NStepRNNReLU',
    'NStepRNNTanh',
    'NaryTreeLSTM',
    'NegativeSampling',
    'PReLU',
    'Parameter',
    'RMSNormalization',
    'ResNet101Layers',
    'ResNet152Layers',
    'ResNet50Layers',
    'Scale',
    'SimplifiedDropconnect',
    'StatefulGRU',
    'StatefulMGU',
    'StatefulPeepholeLSTM',
    'StatefulZoneoutLSTM',
    'StatelessGRU',
    'StatelessLSTM',
    'StatelessMGU',
    'Swish',
    'TheanoFunction',
    'TransformerDecoderLayer',
    'TransformerEncoderLayer',
    'VGG16Layers',
    'VGG19Layers',
]

#: By the module that defines them, the links: it is loaded when one of them is needed.
_HOMES = {
    'activation.maxout': 'Maxout',
    'activation.prelu': 'PReLU',
    'activation.simplified_dropconnect': 'SimplifiedDropconnect',
    'activation.swish': 'Swish',
    'attention.multi_head_attention': 'MultiHeadAttention',
    'attention.transformer': 'TransformerDecoderLayer TransformerEncoderLayer',
    'connection.bias': 'Bias',
    'connection.bilinear': 'Bilinear',
    'connection.convolution': (
        'Convolution1D Convolution2D Convolution3D ConvolutionND Deconvolution1D Deconvolution2D Deconvolution3D '
        'DeconvolutionND'
    ),
    'connection.deformable_convolution_2d': 'DeformableConvolution2D',
    'connection.depthwise_convolution_2d': 'DepthwiseConvolution2D',
    'connection.dilated_convolution_2d': 'DilatedConvolution2D',
    'connection.embed_id': 'EmbedID',
    'connection.highway': 'Highway',
    'connection.inception': 'Inception',
    'connection.inceptionbn': 'InceptionBN',
    'connection.linear': 'Linear',
    'connection.local_convolution_2d': 'LocalConvolution2D',
    'connection.mlp_convolution_2d': 'MLPConvolution2D',
    'connection.parameter': 'Parameter',
    'connection.scale': 'Scale',
    'loss.black_out': 'BlackOut',
    'loss.crf1d': 'CRF1d',
    'loss.hierarchical_softmax': 'BinaryHierarchicalSoftmax',
    'loss.negative_sampling': 'NegativeSampling',
    'model.classifier': 'Classifier',
    'model.vision.googlenet': 'GoogLeNet',
    'model.vision.resnet': 'ResNet101Layers ResNet152Layers ResNet50Layers',
    'model.vision.vgg': 'VGG16Layers VGG19Layers',
    'normalization.batch_normalization': 'BatchNormalization BatchRenormalization',
    'normalization.decorrelated_batch_normalization': 'DecorrelatedBatchNormalization',
    'normalization.sample_normalization': (
        'GroupNormalization InstanceNormalization LayerNormalization RMSNormalization'
    ),
    'rnn.gru': 'GRU StatefulGRU StatelessGRU',
    'rnn.lstm': 'LSTM StatelessLSTM',
    'rnn.lstm_variants': 'StatefulPeepholeLSTM StatefulZoneoutLSTM',
    'rnn.mgu': 'StatefulMGU StatelessMGU',
    'rnn.n_step_rnn': (
        'NStepBiGRU NStepBiLSTM NStepBiRNNReLU NStepBiRNNTanh NStepGRU NStepLSTM NStepRNNReLU NStepRNNTanh'
    ),
    'rnn.tree_lstm': 'ChildSumTreeLSTM NaryTreeLSTM',
    'theano': 'TheanoFunction',
}
_PACKAGES = ['activation', 'attention', 'caffe', 'connection', 'loss', 'model', 'normalization', 'rnn', 'theano']
_LATER = {name: module for module, names in _HOMES.items() for name in names.split()}

if not typing.TYPE_CHECKING:
    __getattr__, __dir__ = _namespace(__name__, _PACKAGES, _LATER)
