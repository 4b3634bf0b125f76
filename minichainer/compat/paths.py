"""Chainer's modules that have no file here: one table of their names, and where these are.

Modules are served by :mod:`minichainer._module_paths` under this package's name, so they need no alias. Some names
are missing in modules that do have a file; these are found while the alias is installed (:class:`LegacyNames`).
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

from minichainer._former_names import former
from minichainer.compat import private_names

_ROOT = __name__.partition('.')[0]

#: By the package that has the names: modules below it, each with one of its names.
_PUBLIC = {
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
        activation.lstm.lstm activation.slstm.slstm activation.tree_lstm.tree_lstm
        connection.n_step_gru.n_step_gru connection.n_step_gru.n_step_bigru
        connection.n_step_lstm.n_step_lstm connection.n_step_lstm.n_step_bilstm
        connection.n_step_rnn.n_step_rnn connection.n_step_rnn.n_step_birnn
        pooling.max_pooling_2d.max_pooling_2d
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
        rnn.zoneoutlstm.StatefulZoneoutLSTM theano.theano_function.TheanoFunction
        connection.gru.StatelessGRU connection.gru.StatefulGRU connection.gru.GRU
        connection.lstm.StatelessLSTM connection.lstm.LSTM connection.mgu.StatelessMGU connection.mgu.StatefulMGU
        connection.n_step_gru.NStepGRU connection.n_step_gru.NStepBiGRU
        connection.n_step_lstm.NStepLSTM connection.n_step_lstm.NStepBiLSTM
        connection.n_step_rnn.NStepRNNTanh connection.n_step_rnn.NStepRNNReLU
        connection.n_step_rnn.NStepBiRNNTanh connection.n_step_rnn.NStepBiRNNReLU
        connection.peephole.StatefulPeepholeLSTM connection.tree_lstm.ChildSumTreeLSTM
        connection.tree_lstm.NaryTreeLSTM connection.zoneoutlstm.StatefulZoneoutLSTM
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

#: Other names: module, name, and its home, ``module:name`` or a module; a dot is the package itself. Names of
#: :mod:`minichainer.compat.private` are private or deprecated functions of Chainer that programs import nevertheless.
_ELSEWHERE = """
. _get_link_hooks link_hook:get_link_hooks
. array functions.array
. basic_math functions.math.basic_math
_environment_check check compat.private_modules:check
_backprop backward differentiate:backward
_backprop_utils GradTable compat.backprop_utils:GradTable
_backprop_utils backprop_step compat.backprop_utils:backprop_step
dataset.tabular._asmode _Asdict dataset.tabular.tabular_dataset:_WithMode
dataset.tabular._asmode _Astuple dataset.tabular.tabular_dataset:_WithMode
dataset.tabular._concat _Concat dataset.tabular.tabular_dataset:_Concat
dataset.tabular._join _Join dataset.tabular.tabular_dataset:_Join
dataset.tabular._slice _Slice dataset.tabular.tabular_dataset:_Slice
dataset.tabular._transform _Transform dataset.tabular.tabular_dataset:_Transform
dataset.tabular._transform _TransformBatch dataset.tabular.tabular_dataset:_TransformBatch
dataset.tabular._with_converter _WithConverter dataset.tabular.tabular_dataset:_WithConverter
datasets._mnist_helper make_npz compat.private_modules:make_npz
datasets._mnist_helper preprocess_mnist compat.private_modules:preprocess_mnist
distributions.utils _modified_xlogx compat.private_modules:modified_xlogx
functions.theano.theano_function TheanoFunction compat.private_modules:TheanoFunction
functions.theano.theano_function theano_function compat.private_modules:theano_function
iterators._statemachine IteratorState compat.private_modules:IteratorState
iterators._statemachine iterator_statemachine compat.private_modules:iterator_statemachine
links.caffe.protobuf3.caffe_pb2 NetParameter compat.private_modules:NetParameter
links.connection.n_step_rnn argsort_list_descent compat.private:argsort_list_descent
links.connection.n_step_rnn permutate_list compat.private:permutate_list
testing._bundle make_decorator compat.private_modules:make_decorator
testing._distribution_test distribution_unittest testing:distribution_unittest
testing.doctest_helper skipif compat.private_modules:skipif
testing.doctest_helper skipif_not_enough_cuda_devices compat.private_modules:skipif_not_enough_cuda_devices
testing.doctest_helper skipif_requires_satisfied compat.private_modules:skipif_requires_satisfied
training.extensions.util ProgressBar compat.private_modules:ProgressBar
utils._collections OrderedDict compat.private_modules:OrderedDict
dataset.convert _concat_arrays compat.private:concat_arrays
dataset.convert _concat_arrays_with_padding dataset.convert:_pad
distributions.utils _modified_xlogx compat.private_functions:modified_xlogx
functions.activation.log_softmax _log_softmax compat.private:log_softmax
functions.activation.lstm LSTM functions.rnn.lstm:LSTM
functions.activation.lstm _extract_gates compat.private:extract_gates
functions.activation.slstm SLSTM functions.rnn.slstm:SLSTM
functions.array.broadcast _backward_one compat.private:summed_to
functions.connection.n_step_lstm _lstm compat.private:lstm_step
functions.math.basic_math neg functions.arithmetic:negative
functions.math.basic_math sub compat.private:sub
functions.math.basic_math rsub compat.private:rsub
functions.math.basic_math mul compat.private:mul
functions.math.basic_math div compat.private:div
functions.math.basic_math rdiv compat.private:rdiv
functions.math.basic_math floordiv compat.private:floordiv
functions.math.basic_math rfloordiv compat.private:rfloordiv
functions.math.basic_math pow compat.private:pow
functions.math.basic_math rpow compat.private:rpow
functions.math.basic_math rmatmul compat.private:rmatmul
functions.math.matmul _get_check_index compat.private:get_check_index
functions.math.matmul _matmul compat.private:matmul
functions.rnn.lstm _extract_gates compat.private:extract_gates
functions.rnn.n_step_gru n_step_gru_base compat.private:n_step_gru_base
functions.rnn.n_step_lstm n_step_lstm_base compat.private:n_step_lstm_base
functions.rnn.n_step_rnn n_step_rnn_base compat.private:n_step_rnn_base
functions.rnn.n_step_lstm _lstm compat.private:lstm_step
links.rnn.n_step_lstm NStepLSTMBase links.rnn.n_step_rnn:_NStepLSTMBase
links.rnn.n_step_rnn argsort_list_descent compat.private:argsort_list_descent
links.rnn.n_step_rnn permutate_list compat.private:permutate_list
optimizer_hooks.gradient_noise exponential_decay_noise optimizer_hooks:exponential_decay_noise
testing._bundle _ParameterizedTestCaseBundle compat.private_functions:TestCases
testing._bundle _TestCaseTuple compat.private_functions:TestCase
training._updater Updater training.updater:Updater
training.triggers.interval IntervalTrigger training._interval_trigger:IntervalTrigger
training.updater ParallelUpdater training.updaters.parallel_updater:ParallelUpdater
training.updater StandardUpdater training.updaters.standard_updater:StandardUpdater
training.updaters.multiprocess_parallel_updater gather_grads compat.private:gather_grads
training.updaters.multiprocess_parallel_updater gather_params compat.private:gather_params
training.updaters.multiprocess_parallel_updater scatter_grads compat.private:scatter_grads
training.updaters.multiprocess_parallel_updater scatter_params compat.private:scatter_params
training.updaters.multiprocess_parallel_updater size_num_grads compat.private:size_num_grads
"""

#: Modules that have nothing but node classes or other modules, or nothing at all because they generate CUDA sources,
#: which are below ``kernels.cuda`` here.
_OTHERS = """
functions.pooling.average_pooling_nd_kernel functions.pooling.max_pooling_nd_kernel functions.pooling.pooling_2d
functions.pooling.pooling_nd functions.pooling.pooling_nd_kernel functions.theano links.caffe.protobuf3
utils.conv_nd_kernel
"""


@functools.cache
def table() -> dict[str, dict[str, str]]:
    """For each path of a module, its names and their homes, ``module:name``; the table of table rows."""
    found: dict[str, dict[str, str]] = {path: {} for path in _OTHERS.split()}
    for package, entries in _PUBLIC.items():
        for entry in entries.split():
            path, _, name = entry.rpartition('.')
            found.setdefault(f'{package}.{path}', {})[name] = f'{package}:{name}'
    for line in _ELSEWHERE.strip().splitlines():
        path, name, home = line.split()
        found.setdefault(path, {})[name] = home
    return found


def modules() -> list[str]:
    """The full names of all modules of this package, with and without a file, private ones excepted."""
    root = Path(importlib.import_module(_ROOT).__path__[0])
    files = [file.relative_to(root.parent).with_suffix('').parts for file in root.rglob('*.py')]
    names = {'.'.join(parts).removesuffix('.__init__') for parts in files} | {f'{_ROOT}.{path}' for path in table()}
    return sorted(name for name in names if '._' not in name and not name.startswith(f'{_ROOT}.compat'))


def path_of(module: str) -> str:
    """The path of a module below this package; a dot for the package itself.

    >>> path_of('minichainer.functions.activation.relu')
    'functions.activation.relu'
    """
    return module.partition('.')[2] or '.'


def is_module(module: str) -> bool:
    """Whether the table has a module of this name.

    >>> is_module('minichainer.functions.activation.relu'), is_module('minichainer.functions.activation.rely')
    (True, False)
    """
    return path_of(module) in table()


def is_package(module: str) -> bool:
    """Whether the table has modules below a module of this name.

    >>> is_package('minichainer.functions.theano'), is_package('minichainer.functions.activation.relu')
    (True, False)
    """
    return f'{path_of(module)}.' in _parents()


def fill(module: ModuleType) -> None:
    """Gives a module without a file its public names, and lets it find the others.

    Args:
        module: an empty module of the table.
    """
    homes = table()[path_of(module.__name__)]
    packages = {home.partition(':')[0] for home in homes.values()}
    module.__doc__ = f'{", ".join(homes)} of {", ".join(f"{_ROOT}.{package}" for package in packages)}.'
    names = LegacyNames(module)
    vars(module).update({name: names(name) for name in homes})
    module.__getattr__ = names  # type: ignore[method-assign]


class LegacyNames:
    """The ``__getattr__`` of a module: finds names of the table and node classes.

    Args:
        module: the module, with a ``__getattr__`` of its own or not.
    """

    def __init__(self, module: ModuleType) -> None:
        self.module, self.path = module, path_of(module.__name__)
        self.own = vars(module).get('__getattr__')

    def __call__(self, name: str) -> Any:
        found = None if name.startswith('__') else find(self.path, name)
        if found is not None:
            return found
        if not name.startswith('__') and (found := self._private(name)) is not private_names.ABSENT:
            return found
        try:
            return self._of_the_module(name)
        except AttributeError:
            below = submodule(self.module, name)
            if below is None:
                raise
            return below

    def _of_the_module(self, name: str) -> Any:
        if self.own is not None:
            return self.own(name)
        text = f'module {self.module.__name__!r} has no attribute {name!r}{former(f"{self.path}.{name}")}'
        raise AttributeError(text, name=name, obj=self.module)

    def _private(self, name: str) -> Any:
        """A private name, or a module that Chainer's module imports; packages import none."""
        found = private_names.find(self.path, name)
        if found is not private_names.ABSENT or hasattr(self.module, '__path__'):
            return found
        return private_names.imported(self.path, name)


def find(path: str, name: str) -> Any:
    """A name of the table, a node class, or a module of the table; None if there is none.

    Args:
        path: the path of a module below this package.
        name: the name in it.

    >>> find('training.updater', 'StandardUpdater').__name__
    'StandardUpdater'
    """
    home = table().get(path, {}).get(name)
    if home is not None:
        module, _, attribute = home.partition(':')
        found = importlib.import_module(f'{_ROOT}.{module}')
        return getattr(found, attribute) if attribute else found
    if f'{path}.{name}' in table():
        return importlib.import_module(f'{_ROOT}.{path}.{name}')
    family, _, below = path.partition('.')
    if family != 'functions' or not below:
        return None
    return importlib.import_module(f'{_ROOT}.compat.nodes').node_class(below, name)


def submodule(package: ModuleType, name: str) -> ModuleType | None:
    """A module of a package, loaded if it was not: where Chainer's is an attribute, because Chainer loads it.

    Args:
        package: a module of this package; if it is not a package, there is none.
        name: the name of the module in it.

    >>> import minichainer.training
    >>> submodule(minichainer.training, 'trigger').__name__, submodule(minichainer.training, 'tricker')
    ('minichainer.training.trigger', None)
    """
    full = f'{package.__name__}.{name}'
    if name.startswith('__') or not hasattr(package, '__path__') or importlib.util.find_spec(full) is None:
        return None
    return importlib.import_module(full)


def has_legacy_names(module: str) -> bool:
    """Whether a module that has a file may lack names of Chainer's module of its path.

    >>> has_legacy_names('minichainer.functions.math.matmul'), has_legacy_names('minichainer.compat.alias')
    (True, False)
    """
    return not f'{path_of(module)}.'.startswith('compat.')


@functools.cache
def _parents() -> frozenset[str]:
    """The packages in which the table has modules."""
    return frozenset(path.rpartition('.')[0] + '.' for path in table())
