"""Modules that Chainer has for one or a few names of a package, such as ``functions.activation.relu``.

Here these names are defined in fewer files. Programs that import the modules get them from a table, without files.
"""

from __future__ import annotations

import importlib
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

#: By the package that has the names: modules below it, each with one of its names.
_PATHS = {
    'distributions': """
        bernoulli.Bernoulli cauchy.Cauchy chisquare.Chisquare dirichlet.Dirichlet exponential.Exponential
        geometric.Geometric gumbel.Gumbel laplace.Laplace log_normal.LogNormal
        one_hot_categorical.OneHotCategorical pareto.Pareto poisson.Poisson
    """,
    'functions': """
        activation.clipped_relu.clipped_relu activation.clipped_relu.relu6 activation.crelu.crelu
        activation.elu.elu activation.hard_sigmoid.hard_sigmoid activation.leaky_relu.leaky_relu
        activation.log_softmax.log_softmax activation.log_softmax.logsumexp activation.maxout.maxout
        activation.prelu.prelu activation.relu.relu activation.rrelu.rrelu activation.selu.selu
        activation.sigmoid.sigmoid activation.softplus.softplus activation.swish.swish activation.tanh.tanh
        array.as_strided.as_strided array.broadcast.broadcast array.broadcast.broadcast_to array.cast.cast
        array.concat.concat array.copy.copy array.depth2space.depth2space array.diagonal.diagonal
        array.dstack.dstack array.expand_dims.expand_dims array.flatten.flatten array.flip.flip
        array.fliplr.fliplr array.flipud.flipud array.get_item.get_item array.hstack.hstack
        array.moveaxis.moveaxis array.pad.pad array.pad_sequence.pad_sequence array.permutate.permutate
        array.repeat.repeat array.reshape.reshape array.resize_images.resize_images array.rollaxis.rollaxis
        array.scatter_add.scatter_add array.select_item.select_item array.separate.separate
        array.space2depth.space2depth array.spatial_transformer_grid.spatial_transformer_grid
        array.spatial_transformer_sampler.spatial_transformer_sampler array.split_axis.split_axis
        array.squeeze.squeeze array.stack.stack array.swapaxes.swapaxes array.tile.tile
        array.transpose.transpose array.transpose_sequence.transpose_sequence array.vstack.vstack
        array.where.where connection.convolution_2d.convolution_2d
        connection.deconvolution_2d.deconvolution_2d
        connection.depthwise_convolution_2d.depthwise_convolution_2d
        connection.dilated_convolution_2d.dilated_convolution_2d loss.absolute_error.absolute_error
        loss.black_out.black_out loss.contrastive.contrastive loss.cross_covariance.cross_covariance
        loss.decov.decov loss.discriminative_loss.discriminative_margin_based_clustering_loss loss.hinge.hinge
        loss.huber_loss.huber_loss loss.mean_absolute_error.mean_absolute_error
        loss.negative_sampling.negative_sampling loss.squared_error.squared_difference
        loss.squared_error.squared_error loss.triplet.triplet loss.vae.bernoulli_nll
        loss.vae.gaussian_kl_divergence loss.vae.gaussian_nll math.arctanh.arctanh math.average.average
        math.basic_math.absolute math.basic_math.add math.basic_math.matmul
        math.batch_l2_norm_squared.batch_l2_norm_squared math.bias.bias math.ceil.ceil math.cholesky.cholesky
        math.clip.clip math.cumprod.cumprod math.cumsum.cumsum math.det.batch_det math.det.det
        math.digamma.digamma math.erf.erf math.erfc.erfc math.erfcinv.erfcinv math.erfcx.erfcx
        math.erfinv.erfinv math.exponential_m1.expm1 math.fft.fft math.fft.ifft math.fix.fix math.floor.floor
        math.fmod.fmod math.identity.identity math.inv.batch_inv math.inv.inv math.lgamma.lgamma
        math.linear_interpolate.linear_interpolate math.log_ndtr.log_ndtr math.logarithm_1p.log1p
        math.logsumexp.logsumexp math.maximum.maximum math.minimum.minimum math.minmax.argmax
        math.minmax.argmin math.minmax.max math.minmax.min math.ndtr.ndtr math.ndtri.ndtri
        math.polygamma.polygamma math.prod.prod math.scale.scale math.sign.sign math.sqrt.rsqrt math.sqrt.sqrt
        math.square.square math.sum.sum math.sum.sum_to math.zeta.zeta noise.gaussian.gaussian
        noise.gumbel_softmax.gumbel_softmax noise.simplified_dropconnect.simplified_dropconnect
        normalization.group_normalization.group_normalization
        normalization.layer_normalization.layer_normalization pooling.average_pooling_2d.average_pooling_2d
        pooling.roi_average_align_2d.roi_average_align_2d
        pooling.roi_average_pooling_2d.roi_average_pooling_2d pooling.roi_max_align_2d.roi_max_align_2d
        pooling.roi_max_pooling_2d.roi_max_pooling_2d pooling.roi_pooling_2d.roi_pooling_2d
        pooling.spatial_pyramid_pooling_2d.spatial_pyramid_pooling_2d pooling.unpooling_2d.unpooling_2d
        pooling.upsampling_2d.upsampling_2d rnn.lstm.lstm rnn.slstm.slstm rnn.tree_lstm.tree_lstm
    """,
    'links': """
        connection.convolution_2d.Convolution2D connection.convolution_nd.Convolution1D
        connection.convolution_nd.Convolution3D connection.convolution_nd.ConvolutionND
        connection.deconvolution_2d.Deconvolution2D connection.deconvolution_nd.Deconvolution1D
        connection.deconvolution_nd.Deconvolution3D connection.deconvolution_nd.DeconvolutionND
        normalization.batch_renormalization.BatchRenormalization
        normalization.group_normalization.GroupNormalization
        normalization.layer_normalization.LayerNormalization rnn.n_step_gru.NStepBiGRU rnn.n_step_gru.NStepGRU
        rnn.n_step_lstm.NStepBiLSTM rnn.n_step_lstm.NStepLSTM rnn.peephole.StatefulPeepholeLSTM
        rnn.zoneoutlstm.StatefulZoneoutLSTM
    """,
    'optimizer_hooks': """
        gradient_clipping.GradientClipping gradient_hard_clipping.GradientHardClipping
        gradient_lars.GradientLARS gradient_noise.GradientNoise lasso.Lasso weight_decay.WeightDecay
    """,
    'testing': """
        array.assert_allclose distribution_test.distribution_unittest function_link.FunctionTestCase
        function_link.FunctionTestError function_link.InitializerArgument
        function_link.LinkInitializersTestCase function_link.LinkTestCase function_link.LinkTestError
        unary_math_function_test.unary_math_function_unittest
    """,
    'training.extensions': """
        exponential_shift.ExponentialShift inverse_shift.InverseShift linear_shift.LinearShift
        multistep_shift.MultistepShift polynomial_shift.PolynomialShift step_shift.StepShift
        variable_unchain.unchain_variables warmup_shift.WarmupShift
    """,
}


class ModulePaths(MetaPathFinder, Loader):
    """Finds these modules after all others."""

    def __init__(self) -> None:
        self.modules: dict[str, tuple[str, list[str]]] = {}
        for home, entries in _PATHS.items():
            for entry in entries.split():
                module, _, name = entry.rpartition('.')
                package = f'{__package__}.{home}'
                self.modules.setdefault(f'{package}.{module}', (package, []))[1].append(name)

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The specification of a module of the table; None for others."""
        return ModuleSpec(fullname, self) if fullname in self.modules else None

    def create_module(self, spec: ModuleSpec) -> None:
        """None: Python makes an empty module."""

    def exec_module(self, module: ModuleType) -> None:
        """Fills a module with its names."""
        home, names = self.modules[module.__name__]
        package = importlib.import_module(home)
        module.__doc__ = f'{", ".join(names)} of {home}.'
        vars(module).update({name: getattr(package, name) for name in names})


def install() -> None:
    """Lets Python find these modules."""
    if not any(type(finder).__name__ == ModulePaths.__name__ for finder in sys.meta_path):
        sys.meta_path.append(ModulePaths())
