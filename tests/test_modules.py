"""Modules of Chainer 7.8.1 that programs can import exist here under the same path.

Those that define a single function or link are not among them: ``compat`` finds these. Nor is
``utils.conv_nd_kernel``, which generates source code for CUDA: our kernels for it are below ``kernels/cuda``.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest

from minichainer import _module_paths

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
#: Chainer's public modules, with the public names that each defines.
DEFINED = json.loads((Path(__file__).parent / 'reference' / 'chainer_modules.json').read_text(encoding='utf-8'))


@pytest.mark.parametrize('name', MODULES)
def test_a_module_of_chainers_can_be_imported(name: str) -> None:
    assert importlib.import_module(f'minichainer.{name}').__doc__ or '.' in name


@pytest.mark.parametrize('name', PRIVATE)
def test_private_modules_that_programs_import(name: str) -> None:
    assert hasattr(importlib.import_module(f'minichainer.{name}'), PRIVATE[name])


@pytest.mark.parametrize('name', DEFINED)
def test_modules_have_the_names_that_chainers_define(name: str) -> None:
    """They are those of the packages above, from which programs usually take them."""
    module = importlib.import_module(f'minichainer.{name}')
    for defined in DEFINED[name]:
        assert getattr(module, defined) is of_a_package_above(name, defined)


def of_a_package_above(name: str, defined: str) -> object:
    parts = ['minichainer', *name.split('.')]
    packages = [importlib.import_module('.'.join(parts[:end])) for end in [*range(2, len(parts)), 1]]
    return next(getattr(package, defined) for package in packages if defined in dir(package))


def test_modules_without_files_can_be_imported_again_and_say_what_they_are() -> None:
    module = importlib.import_module('minichainer.functions.activation.clipped_relu')
    assert importlib.reload(module) is module
    assert module.__doc__ == 'clipped_relu, relu6 of minichainer.functions.'
    finders = [finder for finder in sys.meta_path if type(finder).__name__ == 'ModulePaths']
    _module_paths.install()
    assert finders == [finder for finder in sys.meta_path if type(finder).__name__ == 'ModulePaths']
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module('minichainer.functions.activation.clipped_rely')


@pytest.mark.parametrize('name', ['experimental', 'nondeterministic'])
def test_a_function_is_not_hidden_by_its_module(name: str) -> None:
    importlib.import_module(f'minichainer.utils.{name}')
    assert callable(getattr(importlib.import_module('minichainer.utils'), name))


def test_theano_functions_say_that_they_cannot_be_used() -> None:
    with pytest.raises(RuntimeError, match='Theano is not installed'):
        importlib.import_module('minichainer.links').TheanoFunction([], [])
