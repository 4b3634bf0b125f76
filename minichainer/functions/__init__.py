"""Differentiable functions: every op of the package, and the doors to define one's own.

``elementwise``, ``linear_map`` and ``reduction`` make an op of one rule; see :mod:`minichainer.functions._define`.
"""
from minichainer.functions._define import bilinear as bilinear_map
from minichainer.functions._define import elementwise
from minichainer.functions._define import linear as linear_map
from minichainer.functions._reduce import reduction
from minichainer.functions.activation.rectifiers import leaky_relu, relu
from minichainer.functions.activation.sigmoidal import sigmoid, tanh
from minichainer.functions.activation.softmax import log_softmax, softmax
from minichainer.functions.arithmetic import absolute, add
from minichainer.functions.array.conversion import cast, copy, identity
from minichainer.functions.array.joining import concat, split_axis, stack
from minichainer.functions.array.selection import get_item, where
from minichainer.functions.array.shape import (
    broadcast_to,
    expand_dims,
    flatten,
    reshape,
    squeeze,
    sum_to,
    transpose,
)
from minichainer.functions.connection.linear import linear
from minichainer.functions.evaluation.accuracy import accuracy
from minichainer.functions.loss.mean_squared_error import mean_squared_error
from minichainer.functions.loss.softmax_cross_entropy import softmax_cross_entropy
from minichainer.functions.math.exponential import exp, log, sqrt, square
from minichainer.functions.math.matmul import matmul
from minichainer.functions.math.minmax import clip, maximum, minimum
from minichainer.functions.math.reductions import average, logsumexp, max, mean, min, sum
from minichainer.functions.math.trigonometric import cos, sin
from minichainer.functions.noise.dropout import dropout
from minichainer.functions.util.forget import forget

__all__ = [
    'absolute', 'accuracy', 'add', 'average', 'broadcast_to', 'bilinear_map', 'cast', 'clip', 'concat', 'copy', 'cos', 'dropout',
    'elementwise', 'exp', 'expand_dims', 'flatten', 'forget', 'get_item', 'identity', 'leaky_relu', 'linear',
    'linear_map', 'log', 'log_softmax', 'logsumexp', 'matmul', 'max', 'maximum', 'mean', 'mean_squared_error', 'min',
    'minimum', 'reduction', 'relu', 'reshape', 'sigmoid', 'sin', 'softmax', 'softmax_cross_entropy', 'split_axis',
    'sqrt', 'square', 'squeeze', 'stack', 'sum', 'sum_to', 'tanh', 'transpose', 'where',
]  # fmt: skip
