"""Links: functions with parameters, which are the layers of a model."""

import typing

from minichainer._names import namespace as _namespace
from minichainer.links.activation.prelu import PReLU
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
from minichainer.links.connection.embed_id import EmbedID
from minichainer.links.connection.inception import Inception
from minichainer.links.connection.linear import Linear
from minichainer.links.model.classifier import Classifier
from minichainer.links.normalization.batch_normalization import BatchNormalization, BatchRenormalization
from minichainer.links.normalization.decorrelated_batch_normalization import DecorrelatedBatchNormalization
from minichainer.links.normalization.sample_normalization import GroupNormalization, LayerNormalization
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

__all__ = [
    'BatchNormalization',
    'BatchRenormalization',
    'Bilinear',
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
    'EmbedID',
    'GRU',
    'GroupNormalization',
    'Inception',
    'LSTM',
    'LayerNormalization',
    'Linear',
    'NStepBiGRU',
    'NStepBiLSTM',
    'NStepBiRNNReLU',
    'NStepBiRNNTanh',
    'NStepGRU',
    'NStepLSTM',
    'NStepRNNReLU',
    'NStepRNNTanh',
    'NaryTreeLSTM',
    'PReLU',
    'StatefulGRU',
    'StatefulMGU',
    'StatefulPeepholeLSTM',
    'StatefulZoneoutLSTM',
    'StatelessGRU',
    'StatelessLSTM',
    'StatelessMGU',
]

if not typing.TYPE_CHECKING:
    __getattr__, __dir__ = _namespace(__name__)
