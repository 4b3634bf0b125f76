"""Modules of Chainer 7.8.1 that programs can import exist here under the same path.

Those that define a single function or link are not among them: ``compat`` finds these. Nor is
``utils.conv_nd_kernel``, which generates source code for CUDA: our kernels for it are below ``kernels/cuda``.
"""

from __future__ import annotations

import importlib

import pytest

# Chainer's public modules, without those below functions and links.
MODULES = """
    backend backends backends.cuda backends.intel64 computational_graph configuration cuda dataset dataset.convert
    dataset.dataset_mixin dataset.download dataset.iterator datasets datasets.concatenated_dataset
    datasets.dict_dataset datasets.sub_dataset datasets.transform_dataset datasets.tuple_dataset device_resident
    exporters exporters.caffe function function_hook function_hooks function_hooks.cuda_profile
    function_hooks.cupy_memory_profile function_hooks.debug_print function_hooks.timer function_node functions
    gradient_check graph_optimizations graph_optimizations.static_graph graph_optimizations.static_graph_utilities
    initializer initializers initializers.constant initializers.normal initializers.orthogonal
    initializers.sampling initializers.uniform iterators iterators.dali_iterator iterators.multiprocess_iterator
    iterators.multithread_iterator iterators.order_samplers iterators.serial_iterator link link_hook links
    links.caffe links.caffe.caffe_function links.theano links.model.vision links.model.vision.googlenet
    links.model.vision.resnet links.model.vision.vgg memory_layouts optimizer optimizer_hooks optimizers
    optimizers.ada_delta optimizers.ada_grad optimizers.adam optimizers.corrected_momentum_sgd
    optimizers.momentum_sgd optimizers.msvag optimizers.nesterov_ag optimizers.rmsprop optimizers.rmsprop_graves
    optimizers.sgd optimizers.smorms3 reporter sequential serializer serializers serializers.hdf5 serializers.npz
    testing testing.attr testing.backend testing.condition testing.helper testing.matrix testing.parameterized
    testing.random testing.serializer testing.training training training.extension training.extensions
    training.extensions.computational_graph training.extensions.evaluator training.extensions.fail_on_nonnumber
    training.extensions.log_report training.extensions.micro_average training.extensions.parameter_statistics
    training.extensions.plot_report training.extensions.print_report training.extensions.progress_bar
    training.extensions.snapshot_writers training.extensions.value_observation
    training.extensions.variable_statistics_plot training.trainer training.trigger training.triggers
    training.triggers.early_stopping_trigger training.triggers.interval_trigger
    training.triggers.manual_schedule_trigger training.triggers.minmax_value_trigger
    training.triggers.once_trigger training.triggers.time_trigger training.updater training.updaters
    training.updaters.multiprocess_parallel_updater training.updaters.parallel_updater
    training.updaters.standard_updater training.util types utils utils.argument utils.array utils.cache utils.conv
    utils.conv_nd utils.error utils.experimental utils.imgproc utils.meta utils.nondeterministic utils.precision
    utils.sparse utils.type_check utils.walker_alias variable warnings
""".split()
#: Private ones that programs import.
PRIVATE = {
    '_backend': 'Device',
    'backends._cpu': 'CpuDevice',
    'backends._chainerx': 'ChainerxDevice',
    'training.extensions._snapshot': 'snapshot',
}
# Modules that each define one or two names of a package, which import them from there.
OF_SINGLE_NAMES = {
    'minichainer.optimizer_hooks': """
        gradient_clipping.GradientClipping gradient_hard_clipping.GradientHardClipping gradient_lars.GradientLARS
        gradient_noise.GradientNoise lasso.Lasso weight_decay.WeightDecay
    """,
    'minichainer.training.extensions': """
        exponential_shift.ExponentialShift inverse_shift.InverseShift linear_shift.LinearShift
        multistep_shift.MultistepShift polynomial_shift.PolynomialShift step_shift.StepShift warmup_shift.WarmupShift
        variable_unchain.unchain_variables
    """,
    'minichainer.distributions': """
        bernoulli.Bernoulli cauchy.Cauchy chisquare.Chisquare dirichlet.Dirichlet exponential.Exponential
        geometric.Geometric gumbel.Gumbel laplace.Laplace log_normal.LogNormal
        one_hot_categorical.OneHotCategorical pareto.Pareto poisson.Poisson
    """,
    'minichainer.testing': """
        array.assert_allclose function_link.FunctionTestCase unary_math_function_test.unary_math_function_unittest
        distribution_test.distribution_unittest
    """,
}
SINGLE = [(package, *entry.split('.')) for package, entries in OF_SINGLE_NAMES.items() for entry in entries.split()]


@pytest.mark.parametrize('name', MODULES)
def test_a_module_of_chainers_can_be_imported(name: str) -> None:
    assert importlib.import_module(f'minichainer.{name}').__doc__ or '.' in name


@pytest.mark.parametrize('name', PRIVATE)
def test_private_modules_that_programs_import(name: str) -> None:
    assert hasattr(importlib.import_module(f'minichainer.{name}'), PRIVATE[name])


@pytest.mark.parametrize(('package', 'module', 'name'), SINGLE)
def test_modules_of_single_names_are_left_to_compat(package: str, module: str, name: str) -> None:
    assert hasattr(importlib.import_module(package), name)
    with pytest.raises(ImportError):  # else move it to MODULES
        importlib.import_module(f'{package}.{module}')


@pytest.mark.parametrize('name', ['experimental', 'nondeterministic'])
def test_a_function_is_not_hidden_by_its_module(name: str) -> None:
    importlib.import_module(f'minichainer.utils.{name}')
    assert callable(getattr(importlib.import_module('minichainer.utils'), name))


def test_theano_functions_say_that_they_cannot_be_used() -> None:
    with pytest.raises(RuntimeError, match='Theano is not installed'):
        importlib.import_module('minichainer.links').TheanoFunction([], [])
