"""Differentiable functions: all ops of the package, and four ways to define new ones.

``elementwise``, ``linear_map``, ``reduction`` and ``primitive`` make an op of a forward body and a rule; see
:mod:`minichainer.functions._define`.
"""

import typing

from minichainer._names import namespace as _namespace
from minichainer.functions import arithmetic as _arithmetic  # noqa: F401 - the operators of Variable
from minichainer.ops import publish as _publish

if typing.TYPE_CHECKING:
    from minichainer.functions._define import bilinear_map, elementwise, linear_map, primitive
    from minichainer.functions._reduce import reduction
    from minichainer.functions.activation.gated import glu, mish, silu, swish
    from minichainer.functions.activation.gelu import gelu
    from minichainer.functions.activation.parametric import prelu, rrelu
    from minichainer.functions.activation.rectifiers import leaky_relu, relu
    from minichainer.functions.activation.sigmoidal import sigmoid, tanh
    from minichainer.functions.activation.softmax import log_softmax, softmax
    from minichainer.functions.activation.units import (
        clipped_relu,
        crelu,
        elu,
        hard_sigmoid,
        maxout,
        relu6,
        selu,
        softplus,
    )
    from minichainer.functions.arithmetic import absolute, add
    from minichainer.functions.array.conversion import cast, copy, identity
    from minichainer.functions.array.gathering import as_strided, diagonal, permutate, scatter_add, select_item
    from minichainer.functions.array.im2col import im2col
    from minichainer.functions.array.joining import concat, split_axis, stack
    from minichainer.functions.array.order import (
        depth2space,
        flip,
        fliplr,
        flipud,
        moveaxis,
        rollaxis,
        space2depth,
        swapaxes,
    )
    from minichainer.functions.array.padding import pad
    from minichainer.functions.array.repetition import repeat, tile
    from minichainer.functions.array.sampling import (
        resize_images,
        spatial_transformer_grid,
        spatial_transformer_sampler,
    )
    from minichainer.functions.array.selection import get_item, where
    from minichainer.functions.array.sequences import pad_sequence, transpose_sequence
    from minichainer.functions.array.shape import (
        broadcast_to,
        expand_dims,
        flatten,
        reshape,
        squeeze,
        sum_to,
        transpose,
    )
    from minichainer.functions.array.stacking import broadcast, dstack, hstack, separate, vstack
    from minichainer.functions.attention.scaled_dot_product import scaled_dot_product_attention
    from minichainer.functions.connection.bilinear import bilinear
    from minichainer.functions.connection.convolution_nd import (
        convolution_1d,
        convolution_2d,
        convolution_3d,
        convolution_nd,
        depthwise_convolution_2d,
        dilated_convolution_2d,
    )
    from minichainer.functions.connection.deconvolution_nd import (
        deconvolution_1d,
        deconvolution_2d,
        deconvolution_3d,
        deconvolution_nd,
    )
    from minichainer.functions.connection.deformable_convolution_2d_sampler import deformable_convolution_2d_sampler
    from minichainer.functions.connection.embed_id import embed_id
    from minichainer.functions.connection.linear import linear
    from minichainer.functions.connection.local_convolution_2d import local_convolution_2d
    from minichainer.functions.connection.shift import shift
    from minichainer.functions.evaluation.accuracy import accuracy
    from minichainer.functions.evaluation.binary_accuracy import binary_accuracy
    from minichainer.functions.evaluation.classification_summary import (
        classification_summary,
        f1_score,
        precision,
        recall,
    )
    from minichainer.functions.evaluation.r2_score import r2_score
    from minichainer.functions.loss.clustering import discriminative_margin_based_clustering_loss
    from minichainer.functions.loss.covariance import cross_covariance, decov
    from minichainer.functions.loss.crf1d import argmax_crf1d, crf1d
    from minichainer.functions.loss.ctc import connectionist_temporal_classification
    from minichainer.functions.loss.differences import absolute_error, huber_loss, mean_absolute_error, squared_error
    from minichainer.functions.loss.likelihoods import bernoulli_nll, gaussian_kl_divergence, gaussian_nll
    from minichainer.functions.loss.margins import contrastive, hinge, triplet
    from minichainer.functions.loss.mean_squared_error import mean_squared_error
    from minichainer.functions.loss.sampled import black_out, negative_sampling
    from minichainer.functions.loss.sigmoid_cross_entropy import sigmoid_cross_entropy
    from minichainer.functions.loss.softmax_cross_entropy import softmax_cross_entropy
    from minichainer.functions.math.arg_extrema import argmax, argmin
    from minichainer.functions.math.complex_numbers import conj, imag, real
    from minichainer.functions.math.cumulative import cumprod, cumsum, prod
    from minichainer.functions.math.decompositions import eigh, qr, svd
    from minichainer.functions.math.einsum import einsum
    from minichainer.functions.math.elementwise_extrema import clip, maximum, minimum
    from minichainer.functions.math.exponential import exp, expm1, log, log1p, log2, log10, rsqrt, sqrt, square
    from minichainer.functions.math.fourier import fft, ifft
    from minichainer.functions.math.gamma import digamma, lgamma, polygamma, zeta
    from minichainer.functions.math.hyperbolic import arctanh, cosh, sinh
    from minichainer.functions.math.linear_algebra import batch_det, batch_inv, cholesky, det, inv
    from minichainer.functions.math.matmul import batch_matmul, matmul
    from minichainer.functions.math.norms import norm
    from minichainer.functions.math.reductions import average, logsumexp, max, mean, min, sum
    from minichainer.functions.math.rounding import ceil, fix, floor, fmod, sign
    from minichainer.functions.math.scaling import (
        batch_l2_norm_squared,
        bias,
        linear_interpolate,
        scale,
        squared_difference,
    )
    from minichainer.functions.math.solving import logdet, slogdet, solve
    from minichainer.functions.math.sparse_matmul import sparse_matmul
    from minichainer.functions.math.special import erf, erfc, erfcinv, erfcx, erfinv, log_ndtr, ndtr, ndtri
    from minichainer.functions.math.tensordot import tensordot
    from minichainer.functions.math.trigonometric import arccos, arcsin, arctan, arctan2, cos, sin, tan
    from minichainer.functions.noise.dropconnect import simplified_dropconnect
    from minichainer.functions.noise.dropout import dropout
    from minichainer.functions.noise.sampling import gaussian, gumbel_softmax
    from minichainer.functions.noise.zoneout import zoneout
    from minichainer.functions.normalization.batch_normalization import batch_normalization, fixed_batch_normalization
    from minichainer.functions.normalization.batch_renormalization import (
        batch_renormalization,
        fixed_batch_renormalization,
    )
    from minichainer.functions.normalization.decorrelated_batch_normalization import (
        decorrelated_batch_normalization,
        fixed_decorrelated_batch_normalization,
    )
    from minichainer.functions.normalization.l2_normalization import normalize
    from minichainer.functions.normalization.local_response_normalization import local_response_normalization
    from minichainer.functions.normalization.sample_normalization import (
        group_normalization,
        instance_normalization,
        layer_normalization,
        rms_norm,
    )
    from minichainer.functions.pooling.average_pooling_nd import (
        average_pooling_1d,
        average_pooling_2d,
        average_pooling_3d,
        average_pooling_nd,
    )
    from minichainer.functions.pooling.max_pooling_nd import (
        max_pooling_1d,
        max_pooling_2d,
        max_pooling_3d,
        max_pooling_nd,
    )
    from minichainer.functions.pooling.roi_align import roi_average_align_2d, roi_max_align_2d
    from minichainer.functions.pooling.roi_pooling import roi_average_pooling_2d, roi_max_pooling_2d, roi_pooling_2d
    from minichainer.functions.pooling.spatial_pyramid_pooling import (
        adaptive_average_pooling_2d,
        spatial_pyramid_pooling_2d,
    )
    from minichainer.functions.pooling.unpooling_nd import (
        unpooling_1d,
        unpooling_2d,
        unpooling_3d,
        unpooling_nd,
        upsampling_2d,
    )
    from minichainer.functions.rnn.gated import lstm, slstm, tree_lstm
    from minichainer.functions.rnn.n_step_gru import n_step_bigru, n_step_gru
    from minichainer.functions.rnn.n_step_lstm import n_step_bilstm, n_step_lstm
    from minichainer.functions.rnn.n_step_rnn import n_step_birnn, n_step_rnn
    from minichainer.functions.util.forget import forget

__all__ = [
    'absolute', 'absolute_error', 'accuracy', 'adaptive_average_pooling_2d', 'add', 'arccos', 'arcsin', 'arctan',
    'arctan2', 'arctanh', 'argmax', 'argmax_crf1d', 'argmin', 'as_strided', 'average', 'average_pooling_1d',
    'average_pooling_2d', 'average_pooling_3d', 'average_pooling_nd', 'batch_det', 'batch_inv',
    'batch_l2_norm_squared', 'batch_matmul', 'batch_normalization', 'batch_renormalization', 'bernoulli_nll',
    'bias', 'bilinear', 'bilinear_map', 'binary_accuracy', 'black_out', 'broadcast', 'broadcast_to', 'cast',
    'ceil', 'cholesky', 'classification_summary', 'clip', 'clipped_relu', 'concat', 'conj',
    'connectionist_temporal_classification', 'contrastive', 'convolution_1d', 'convolution_2d', 'convolution_3d',
    'convolution_nd', 'copy', 'cos', 'cosh', 'crelu', 'crf1d', 'cross_covariance', 'cumprod', 'cumsum',
    'deconvolution_1d', 'deconvolution_2d', 'deconvolution_3d', 'deconvolution_nd',
    'decorrelated_batch_normalization', 'decov', 'deformable_convolution_2d_sampler', 'depth2space',
    'depthwise_convolution_2d', 'det', 'diagonal', 'digamma', 'dilated_convolution_2d',
    'discriminative_margin_based_clustering_loss', 'dropout', 'dstack', 'eigh', 'einsum', 'elementwise', 'elu',
    'embed_id', 'erf', 'erfc', 'erfcinv', 'erfcx', 'erfinv', 'exp', 'expand_dims', 'expm1', 'f1_score', 'fft',
    'fix', 'fixed_batch_normalization', 'fixed_batch_renormalization', 'fixed_decorrelated_batch_normalization',
    'flatten', 'flip', 'fliplr', 'flipud', 'floor', 'fmod', 'forget', 'gaussian', 'gaussian_kl_divergence',
    'gaussian_nll', 'gelu', 'get_item', 'glu', 'group_normalization', 'gumbel_softmax', 'hard_sigmoid', 'hinge',
    'hstack', 'huber_loss', 'identity', 'ifft', 'im2col', 'imag', 'instance_normalization', 'inv',
    'layer_normalization', 'leaky_relu', 'lgamma', 'linear', 'linear_interpolate', 'linear_map',
    'local_convolution_2d', 'local_response_normalization', 'log', 'log10', 'log1p', 'log2', 'log_ndtr',
    'log_softmax', 'logdet', 'logsumexp', 'lstm', 'matmul', 'max', 'max_pooling_1d', 'max_pooling_2d',
    'max_pooling_3d', 'max_pooling_nd', 'maximum', 'maxout', 'mean', 'mean_absolute_error', 'mean_squared_error',
    'min', 'minimum', 'mish', 'moveaxis', 'n_step_bigru', 'n_step_bilstm', 'n_step_birnn', 'n_step_gru',
    'n_step_lstm', 'n_step_rnn', 'ndtr', 'ndtri', 'negative_sampling', 'norm', 'normalize', 'pad', 'pad_sequence',
    'permutate', 'polygamma', 'precision', 'prelu', 'primitive', 'prod', 'qr', 'r2_score', 'real', 'recall',
    'reduction', 'relu', 'relu6', 'repeat', 'reshape', 'resize_images', 'rms_norm', 'roi_average_align_2d',
    'roi_average_pooling_2d', 'roi_max_align_2d', 'roi_max_pooling_2d', 'roi_pooling_2d', 'rollaxis', 'rrelu',
    'rsqrt', 'scale', 'scaled_dot_product_attention', 'scatter_add', 'select_item', 'selu', 'separate', 'shift',
    'sigmoid', 'sigmoid_cross_entropy', 'sign', 'silu', 'simplified_dropconnect', 'sin', 'sinh', 'slogdet',
    'slstm', 'softmax', 'softmax_cross_entropy', 'softplus', 'solve', 'space2depth', 'sparse_matmul',
    'spatial_pyramid_pooling_2d', 'spatial_transformer_grid', 'spatial_transformer_sampler', 'split_axis', 'sqrt',
    'square', 'squared_difference', 'squared_error', 'squeeze', 'stack', 'sum', 'sum_to', 'svd', 'swapaxes',
    'swish', 'tan', 'tanh', 'tensordot', 'tile', 'transpose', 'transpose_sequence', 'tree_lstm', 'triplet',
    'unpooling_1d', 'unpooling_2d', 'unpooling_3d', 'unpooling_nd', 'upsampling_2d', 'vstack', 'where', 'zeta',
    'zoneout',
]  # fmt: skip

#: By the module that defines them, the functions: it is loaded when one of them is needed.
_HOMES = {
    '_define': 'bilinear_map elementwise linear_map primitive',
    '_reduce': 'reduction',
    'activation.gated': 'glu mish silu swish',
    'activation.gelu': 'gelu',
    'activation.parametric': 'prelu rrelu',
    'activation.rectifiers': 'leaky_relu relu',
    'activation.sigmoidal': 'sigmoid tanh',
    'activation.softmax': 'log_softmax softmax',
    'activation.units': 'clipped_relu crelu elu hard_sigmoid maxout relu6 selu softplus',
    'arithmetic': 'absolute add',
    'array.conversion': 'cast copy identity',
    'array.gathering': 'as_strided diagonal permutate scatter_add select_item',
    'array.im2col': 'im2col',
    'array.joining': 'concat split_axis stack',
    'array.order': 'depth2space flip fliplr flipud moveaxis rollaxis space2depth swapaxes',
    'array.padding': 'pad',
    'array.repetition': 'repeat tile',
    'array.sampling': 'resize_images spatial_transformer_grid spatial_transformer_sampler',
    'array.selection': 'get_item where',
    'array.sequences': 'pad_sequence transpose_sequence',
    'array.shape': 'broadcast_to expand_dims flatten reshape squeeze sum_to transpose',
    'array.stacking': 'broadcast dstack hstack separate vstack',
    'attention.scaled_dot_product': 'scaled_dot_product_attention',
    'connection.bilinear': 'bilinear',
    'connection.convolution_nd': (
        'convolution_1d convolution_2d convolution_3d convolution_nd depthwise_convolution_2d dilated_convolution_2d'
    ),
    'connection.deconvolution_nd': 'deconvolution_1d deconvolution_2d deconvolution_3d deconvolution_nd',
    'connection.deformable_convolution_2d_sampler': 'deformable_convolution_2d_sampler',
    'connection.embed_id': 'embed_id',
    'connection.linear': 'linear',
    'connection.local_convolution_2d': 'local_convolution_2d',
    'connection.shift': 'shift',
    'evaluation.accuracy': 'accuracy',
    'evaluation.binary_accuracy': 'binary_accuracy',
    'evaluation.classification_summary': 'classification_summary f1_score precision recall',
    'evaluation.r2_score': 'r2_score',
    'loss.clustering': 'discriminative_margin_based_clustering_loss',
    'loss.covariance': 'cross_covariance decov',
    'loss.crf1d': 'argmax_crf1d crf1d',
    'loss.ctc': 'connectionist_temporal_classification',
    'loss.differences': 'absolute_error huber_loss mean_absolute_error squared_error',
    'loss.likelihoods': 'bernoulli_nll gaussian_kl_divergence gaussian_nll',
    'loss.margins': 'contrastive hinge triplet',
    'loss.mean_squared_error': 'mean_squared_error',
    'loss.sampled': 'black_out negative_sampling',
    'loss.sigmoid_cross_entropy': 'sigmoid_cross_entropy',
    'loss.softmax_cross_entropy': 'softmax_cross_entropy',
    'math.arg_extrema': 'argmax argmin',
    'math.complex_numbers': 'conj imag real',
    'math.cumulative': 'cumprod cumsum prod',
    'math.decompositions': 'eigh qr svd',
    'math.einsum': 'einsum',
    'math.elementwise_extrema': 'clip maximum minimum',
    'math.exponential': 'exp expm1 log log1p log2 log10 rsqrt sqrt square',
    'math.fourier': 'fft ifft',
    'math.gamma': 'digamma lgamma polygamma zeta',
    'math.hyperbolic': 'arctanh cosh sinh',
    'math.linear_algebra': 'batch_det batch_inv cholesky det inv',
    'math.matmul': 'batch_matmul matmul',
    'math.norms': 'norm',
    'math.reductions': 'average logsumexp max mean min sum',
    'math.rounding': 'ceil fix floor fmod sign',
    'math.scaling': 'batch_l2_norm_squared bias linear_interpolate scale squared_difference',
    'math.solving': 'logdet slogdet solve',
    'math.sparse_matmul': 'sparse_matmul',
    'math.special': 'erf erfc erfcinv erfcx erfinv log_ndtr ndtr ndtri',
    'math.tensordot': 'tensordot',
    'math.trigonometric': 'arccos arcsin arctan arctan2 cos sin tan',
    'noise.dropconnect': 'simplified_dropconnect',
    'noise.dropout': 'dropout',
    'noise.sampling': 'gaussian gumbel_softmax',
    'noise.zoneout': 'zoneout',
    'normalization.batch_normalization': 'batch_normalization fixed_batch_normalization',
    'normalization.batch_renormalization': 'batch_renormalization fixed_batch_renormalization',
    'normalization.decorrelated_batch_normalization': (
        'decorrelated_batch_normalization fixed_decorrelated_batch_normalization'
    ),
    'normalization.l2_normalization': 'normalize',
    'normalization.local_response_normalization': 'local_response_normalization',
    'normalization.sample_normalization': 'group_normalization instance_normalization layer_normalization rms_norm',
    'pooling.average_pooling_nd': 'average_pooling_1d average_pooling_2d average_pooling_3d average_pooling_nd',
    'pooling.max_pooling_nd': 'max_pooling_1d max_pooling_2d max_pooling_3d max_pooling_nd',
    'pooling.roi_align': 'roi_average_align_2d roi_max_align_2d',
    'pooling.roi_pooling': 'roi_average_pooling_2d roi_max_pooling_2d roi_pooling_2d',
    'pooling.spatial_pyramid_pooling': 'adaptive_average_pooling_2d spatial_pyramid_pooling_2d',
    'pooling.unpooling_nd': 'unpooling_1d unpooling_2d unpooling_3d unpooling_nd upsampling_2d',
    'rnn.gated': 'lstm slstm tree_lstm',
    'rnn.n_step_gru': 'n_step_bigru n_step_gru',
    'rnn.n_step_lstm': 'n_step_bilstm n_step_lstm',
    'rnn.n_step_rnn': 'n_step_birnn n_step_rnn',
    'util.forget': 'forget',
}
_PACKAGES = """
    activation array attention connection evaluation loss math noise normalization pooling rnn util
""".split()
_LATER = {name: module for module, names in _HOMES.items() for name in names.split()}

_publish({name: f'{__name__}.{module}' for name, module in _LATER.items()})

if not typing.TYPE_CHECKING:
    __getattr__, __dir__ = _namespace(__name__, _PACKAGES, _LATER)
