"""The paths of Chainer 7.8.1 and of its older versions, and the names that programs import from them.

``legacy_paths.json`` has all modules of 7.8.1, each with the public names that it defines and the private ones that
programs use; ``legacy_names.json`` the names that 103 public repositories use, and how many of them.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import minichainer
from minichainer.compat import nodes, paths

_REFERENCE = Path(__file__).parents[1] / 'reference'
PATHS: dict[str, list[str]] = json.loads((_REFERENCE / 'legacy_paths.json').read_text(encoding='utf-8'))
NAMES: dict[str, int] = json.loads((_REFERENCE / 'legacy_names.json').read_text(encoding='utf-8'))

#: Modules and names that there are not, by the reason.
ABSENT = {
    'nodes of densities, which are other ops here': """
        distributions.bernoulli.BernoulliLogProb distributions.laplace.LaplaceCDF distributions.laplace.LaplaceICDF
        distributions.multivariate_normal.TriangularInv
    """,
    'memory of CuPy by function and level': 'function_hooks.cupy_memory_profile.CupyMemoryCumulativeHook',
    'helpers of one implementation': """
        functions.array.get_item.install_variable_get_item functions.array.resize_images.compute_indices_and_weights
        functions.array.resize_images.interpolate_bilinear_cpu
        functions.array.resize_images.interpolate_bilinear_gpu
        functions.array.resize_images.interpolate_grad_bilinear_cpu
        functions.array.resize_images.interpolate_grad_bilinear_gpu
        functions.loss.discriminative_loss.DiscriminativeMarginBasedClusteringLoss
        functions.math.basic_math.install_variable_arithmetics
        functions.normalization.batch_normalization.GeneralBatchNormalizationImpl functions.rnn.lstm.lstm_grad_grad
        functions.rnn.n_step_rnn.cudnn_rnn_weight_concat functions.rnn.slstm.slstm_grad_grad
        links.loss.hierarchical_softmax.BinaryHierarchicalSoftmaxFunction links.rnn.n_step_gru.NStepGRUBase
    """,
    'sources for CUDA, which are others here': """
        functions.pooling.average_pooling_nd_kernel.AveragePoolingNDKernelBackward
        functions.pooling.average_pooling_nd_kernel.AveragePoolingNDKernelForward
        functions.pooling.max_pooling_nd_kernel.MaxPoolingNDKernelBackward
        functions.pooling.max_pooling_nd_kernel.MaxPoolingNDKernelForward
        functions.pooling.max_pooling_nd_kernel.MaxPoolingNDKernelForwardWithIndexes
        functions.pooling.max_pooling_nd_kernel.MaxPoolingNDKernelForwardWithIndexes1
        functions.pooling.pooling_nd_kernel.PoolingNDKernelBackward
        functions.pooling.pooling_nd_kernel.PoolingNDKernelForward utils.conv_nd_kernel.Col2imNDKernel
        utils.conv_nd_kernel.Im2colNDKernel
    """,
    'schedules of static graphs, which are not made': """
        graph_optimizations.static_graph.ArrayInfo graph_optimizations.static_graph.ScheduleInfo
        graph_optimizations.static_graph.ScheduleManager graph_optimizations.static_graph.StaticScheduleFunction
    """,
    "Chainer's own tests": """
        testing.function_link.FunctionTestBase
    """,
}
#: Modules of 7.8.1 that could not be imported, or are new under another name, when the file was recorded.
UNRECORDED = {
    'links.caffe.protobuf3.caffe_pb2': ['NetParameter'],
    'testing._distribution_test': ['distribution_unittest'],
}
PATHS.update(UNRECORDED)
LEFT_OUT = {name for names in ABSENT.values() for name in names.split()}
#: Modules of the versions before 7.8.1.
OLD = """
    functions.activation.lstm functions.activation.slstm functions.activation.tree_lstm
    functions.connection.n_step_gru functions.connection.n_step_lstm functions.connection.n_step_rnn
    functions.pooling.max_pooling_2d links.connection.gru links.connection.lstm links.connection.mgu
    links.connection.n_step_gru links.connection.n_step_lstm links.connection.n_step_rnn links.connection.peephole
    links.connection.tree_lstm links.connection.zoneoutlstm training.triggers.interval
""".split()
#: Names of these, or that 7.8.1 has not got itself, or has only because it imports them.
OLD_NAMES = {('functions.array.broadcast', '_backward_one'), ('.', 'array'), ('.', 'basic_math')}


def chainer(path: str) -> ModuleType:
    return importlib.import_module('chainer' if path == '.' else f'chainer.{path}')


@pytest.mark.usefixtures('alias')
@pytest.mark.parametrize('path', PATHS)
def test_a_module_has_the_names_that_chainers_defines(path: str) -> None:
    if path in LEFT_OUT:
        with pytest.raises(ModuleNotFoundError):
            chainer(path)
        return
    module = chainer(path)
    missing = {f'{path}.{name}' for name in PATHS[path] if not hasattr(module, name)}
    assert missing == {f'{path}.{name}' for name in PATHS[path]} & LEFT_OUT, 'to be added, or to be left out'


def test_what_is_left_out_is_a_path_of_chainers() -> None:
    known = {*PATHS, *(f'{path}.{name}' for path, names in PATHS.items() for name in names)}
    assert known >= LEFT_OUT


@pytest.mark.parametrize('path', paths.table())
def test_the_table_has_no_path_that_chainer_never_had(path: str) -> None:
    assert path in PATHS or path in OLD


@pytest.mark.parametrize('path', paths.table())
def test_each_name_of_the_table_has_a_home_and_was_there_in_chainer(path: str) -> None:
    for name in paths.table()[path]:
        assert paths.find(path, name) is not None
        if path in PATHS and (path, name) not in OLD_NAMES:
            module = importlib.import_module('minichainer' if path == '.' else f'minichainer.{path}')
            is_public = name in getattr(importlib.import_module(f'minichainer.{path.split(".")[0]}'), '__all__', ())
            assert name in PATHS[path] or is_public or hasattr(module, name)


@pytest.mark.parametrize('path', OLD)
@pytest.mark.usefixtures('alias')
def test_old_places_have_the_names_of_the_new_ones(path: str) -> None:
    module = chainer(path)
    for name, home in paths.table()[path].items():
        where, _, attribute = home.partition(':')
        assert getattr(module, name) is getattr(importlib.import_module(f'minichainer.{where}'), attribute)


@pytest.mark.usefixtures('alias')
def test_importing_all_modules_replaces_no_function_by_a_module_of_its_name() -> None:
    before = {path: _functions(f'minichainer.{path}') for path in PATHS if path not in LEFT_OUT}
    for path in before:
        chainer(path)
    changed = {path: before[path].items() - _functions(f'minichainer.{path}').items() for path in before}
    assert not any(changed.values()), {path: names for path, names in changed.items() if names}


def _functions(module: str) -> dict[str, Any]:
    loaded = sys.modules.get(module.removesuffix('..'))
    found = vars(loaded) if loaded and hasattr(loaded, '__file__') else {}
    return {name: value for name, value in found.items() if callable(value) and name[0] != '_'}


@pytest.mark.usefixtures('alias')
@pytest.mark.parametrize(('path', 'name'), [('functions.array.flip', 'flip'), ('functions.activation.relu', 'relu')])
def test_a_module_with_the_name_of_its_function_is_a_module_in_its_family(path: str, name: str) -> None:
    family, _, _ = path.rpartition('.')
    module = chainer(path)
    assert isinstance(module, ModuleType)
    assert getattr(chainer(family), name) is module
    assert getattr(minichainer.functions, name) is getattr(module, name)


READ_ATTRIBUTES = """
import functools, json, sys
import minichainer.compat
minichainer.compat.install()
import chainer
for path in json.loads(sys.stdin.read()):
    found = functools.reduce(getattr, path.split('.'), chainer)
    assert path.rpartition('.')[2] in (found.__name__.rpartition('.')[2], 'cuda', 'caffe_pb2'), (path, found)
"""


@pytest.mark.parametrize('turn', [1, -1], ids=['in order', 'the other way round'])
@pytest.mark.parametrize('kind', ['modules', 'node classes'])
def test_modules_and_node_classes_are_attributes_before_anybody_imports_them(kind: str, turn: int) -> None:
    found = [path for path in PATHS if path not in {'.', *LEFT_OUT}]
    if kind == 'node classes':
        found = [f'functions.{path}.{name}' for path, name in nodes.rows()]
    program = [sys.executable, '-W', 'ignore', '-c', READ_ATTRIBUTES]
    run = subprocess.run(program, input=json.dumps(found[::turn]), capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr[-2000:]


def test_a_module_that_was_loaded_beside_the_alias_is_as_without_it() -> None:
    code = """
import inspect, minichainer.compat
minichainer.compat.install()
import minichainer.functions.noise.dropout as dropout
assert type(dropout.__loader__).__name__ == type(dropout.__spec__.loader).__name__ == 'SourceFileLoader'
assert 'def dropout' in inspect.getsource(dropout) and dropout.Dropout(0.5).options['dropout_ratio'] == 0.5
minichainer.compat.uninstall()
assert not hasattr(dropout, 'Dropout')
"""
    subprocess.run([sys.executable, '-c', code], check=True, timeout=120)


# --- names by repositories -----------------------------------------------------------------------------------------


def resolves(name: str) -> bool:
    """Whether a name is found: by attributes alone, or the longest part of it that is a module, then attributes."""
    parts = name.split('.')
    with contextlib.suppress(ImportError, AttributeError):  # looking for modules that do not exist is slow
        functools.reduce(getattr, parts[1:], importlib.import_module(parts[0]))
        return True
    for end in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module('.'.join(parts[:end]))
        except ImportError:
            continue
        for part in parts[end:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


@pytest.mark.usefixtures('alias')
@pytest.mark.filterwarnings('ignore')
def test_names_that_repositories_use_resolve() -> None:
    missing = {name: repositories for name, repositories in NAMES.items() if not resolves(name)}
    assert {name for name, repositories in missing.items() if repositories >= 2} == set()
    share = 1 - sum(missing.values()) / sum(NAMES.values())
    assert share >= 0.995, missing
    assert share >= 0.9989, f'it was {share}: {missing}'


def test_a_name_that_does_not_exist_does_not_resolve() -> None:
    assert not resolves('minichainer.functions.no_such')
    assert not resolves('no_such_package.name')


# --- what helpers compute ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures('alias')
def test_legacy_names_are_gone_without_the_alias() -> None:
    from minichainer import compat

    module = chainer('functions.math.matmul')
    assert module.MatMul is nodes.node_class('math.matmul', 'MatMul')
    compat.uninstall()
    with pytest.raises(AttributeError, match='MatMul'):
        _ = module.MatMul
