"""Private names of Chainer's modules under the alias: which there are, and what they compute.

``private_names.json`` has the names that modules of 7.8.1 define and that ``legacy_paths.json`` does not list;
``private_functions.json`` has calls of such functions, and their results.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import json
import os
import unittest
import warnings
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import minichainer
from minichainer.compat import private_names
from minichainer.compat.port import names

_REFERENCE = Path(__file__).parents[1] / 'reference'
NAMES: dict[str, list[str]] = {
    path: row.split() for path, row in json.loads((_REFERENCE / 'private_names.json').read_text('utf-8')).items()
}
PATHS: dict[str, list[str]] = json.loads((_REFERENCE / 'legacy_paths.json').read_text(encoding='utf-8'))
CASES: list[dict[str, Any]] = json.loads((_REFERENCE / 'private_functions.json').read_text(encoding='utf-8'))

#: Names that there are not, by the reason: a module, and its names.
LEFT_OUT = {
    'checks of an environment that does not exist any more': """
        _environment_check _check_optional_dependencies _check_osx_numpy_backend _check_python_350
        _version _optional_dependencies
    """,
    'for type checkers': """
        . _FallbackType
        memory_layouts _Unspecified
    """,
    'ChainerX': """
        backends._chainerx _array_from_chainerx _array_to_chainerx _get_chainerx_device
        device_resident _FromChxVisitor _ToChxVisitor
        function_node _chainerx_attribute_fallback _make_chainerx_attribute_fallback_class \
_to_variable_with_chainerx_fallback_array
        functions.math.basic_math _chainerx_preprocess_const
        functions.normalization.batch_normalization _chainerx_compute_axis _chainerx_is_supported
        functions.rnn.n_step_gru _combine_inputs _seperate_inputs
        functions.rnn.n_step_lstm _combine_inputs _seperate_inputs
        functions.rnn.n_step_rnn _combine_inputs _seperate_inputs
        gradient_check _check_backward_with_params
        variable _ChainerxVariableNodeProps
    """,
    'cuDNN, and sources for CUDA, which are others here': """
        backends.cuda _get_cuda_device _get_cudnn_tensor_layout_w _get_cudnn_tensor_layout_x
        function_hooks.cupy_memory_profile _resolution_error
        functions.activation.leaky_relu _get_kern _kern
        functions.activation.prelu _fwd_kern
        functions.activation.rrelu _kern
        functions.activation.swish _preamble
        functions.loss.hinge _hinge_fwd_kernel
        functions.math.inv _inv_gpu
        functions.math.matmul _get_ld _mat_ptrs
        functions.math.sparse_matmul _coo_matmul_gpu _coo_matmul_gradsp_gpu _cupy_coo_matmul _cupy_coo_matmul_gradsp
        functions.normalization.batch_normalization _CudnnBatchNormalizationImpl
        functions.normalization.local_response_normalization _cu_conv_sum
        functions.pooling.pooling_nd _CudnnPoolingNDImpl
        functions.pooling.roi_average_align_2d _GET_BILINEAR_INTERP_KERNEL
        functions.pooling.roi_max_align_2d _GET_BILINEAR_INTERP_KERNEL
        functions.rnn.lstm _preamble
        functions.rnn.slstm _preamble
        functions.rnn.tree_lstm _preamble
        training.updaters.multiprocess_parallel_updater _gather _get_nccl_data_type _memcpy_gather _memcpy_scatter \
_scatter
        utils.conv_nd_kernel _col2im_nd_kernel _im2col_nd_kernel
    """,
    'None until a function is called that loads SciPy': """
        functions.math.digamma _digamma_cpu
        functions.math.erf _erf_cpu
        functions.math.erfc _erfc_cpu
        functions.math.lgamma _lgamma_cpu
        functions.math.log_ndtr _log_ndtr_cpu
        functions.math.ndtr _ndtr_cpu _slow_ndtr_cpu
        functions.math.polygamma _polygamma_cpu
        functions.math.zeta _zeta_cpu
    """,
    'None in Chainer too, because its decorator returns nothing': """
        distributions.bernoulli _kl_bernoulli_bernoulli
        distributions.beta _kl_beta_beta
        distributions.categorical _kl_categorical_categorical
        distributions.dirichlet _kl_dirichlet_dirichlet
        distributions.exponential _kl_exponential_exponential
        distributions.gamma _kl_gamma_gamma
        distributions.geometric _kl_geometric_geometric
        distributions.gumbel _kl_gumbel_gumbel
        distributions.independent _kl_independent_independent
        distributions.laplace _kl_laplace_laplace
        distributions.log_normal _kl_log_normal_log_normal
        distributions.multivariate_normal _kl_multivariatenormal_multivariatenormal
        distributions.normal _kl_normal_normal
        distributions.one_hot_categorical _kl_one_hot_categorical_one_hot_categorical
        distributions.pareto _kl_pareto_pareto
        distributions.poisson _kl_poisson_poisson
        distributions.uniform _kl_uniform_uniform
    """,
    'state of a thread or of a process': """
        . _thread_local
        device_resident _thread_local
        reporter _thread_local
        testing.random _check_teardown _cupy_testing_random _nest_count _old_numpy_random_state \
_old_python_random_state
        utils.type_check _thread_local
        variable _thread_local _AllowArrayAccessWithNonstandardLayout _allow_array_access_with_nonstandard_layout
    """,
    'steps of its own backward pass': """
        _backprop _backprop_to_all
        _backprop_utils _reraise_with_stack
        function _BackpropModeContext
        function_node _get_ordered_func_heap
        variable _check_grad_type _raise_grad_error
    """,
    'steps of one implementation': """
        computational_graph _skip_variable
        configuration _ConfigContext
        functions.array.resize_images _infer_lines
        functions.array.split_axis _fix_numpy_split
        functions.connection.deformable_convolution_2d_sampler _offset2grid
        functions.loss.softmax_cross_entropy _double_backward_softmax_cross_entropy
        functions.math.cumprod _flipcumprodsum
        functions.math.einsum _einsum
        functions.math.sparse_matmul _coo_matmul_cpu _coo_matmul_gradsp_cpu
        functions.normalization.batch_normalization _BNMode _BatchNormalizationImpl _IDeepBatchNormalizationImpl \
_impl_selector
        functions.normalization.decorrelated_batch_normalization _xp_supports_batch_eigh
        gradient_check _CheckBackward _check_outputs_and_grad_outputs _make_outputs_props_in_error_message
        graph_optimizations.static_graph _flatten_args _unflatten_args _unflatten_args_as_list
        utils.type_check _get_type _make_bin_operator _make_bool_operator _make_un_operator _repr _str_subscript
    """,
    'classes of one implementation': """
        dataset.convert _ArbitraryCallableConverter
        dataset.tabular._slice _SliceHelper _as_indices _as_key_indices _merge_indices _merge_key_indices
        dataset.tabular.from_data _Array _List _make_dataset
        datasets.pickle_dataset _FileReader
        exporters.caffe _RetrieveAsCaffeModel _add_blob _dump_graph
        initializers.constant _Constant
        links.caffe.caffe_function _Blob _CallChildLink _ConvolutionBlob _EltwiseFunction _ListArgumentFcuntion \
_SingleArgumentFunction _SingleArgumentFunctionTestMode _SingleArgumentFunctionWithCudnn _oldname_to_method \
_type_to_method
        links.normalization.decorrelated_batch_normalization _PatchedDeserializer
        optimizer _Hookable _OptimizerHookable
        training.extensions.evaluator _IteratorProgressBar
        training.extensions.progress_bar _TrainerProgressBar
        training.trainer _ExtensionEntry
    """,
    'workers of the iterator, which are others here': """
        iterators.multiprocess_iterator _Communicator _PackedNdarray _PrefetchLoop _fetch_dataset _fetch_mem_bulk \
_fetch_mem_size _fetch_run _fetch_setup _pack _report_pid _unpack
    """,
    'downloads, and their conversion': """
        datasets.cifar _get_cifar _pickle_load _preprocess_cifar
        datasets.fashion_mnist _retrieve_fashion_mnist _retrieve_fashion_mnist_test _retrieve_fashion_mnist_training
        datasets.kuzushiji_mnist _retrieve_kuzushiji_mnist _retrieve_kuzushiji_mnist_test \
_retrieve_kuzushiji_mnist_training
        datasets.mnist _retrieve_mnist _retrieve_mnist_test _retrieve_mnist_training
        datasets.ptb _retrieve_ptb_words _retrieve_word_vocabulary
        datasets.svhn _make_npz _preprocess_svhn _retrieve_svhn _retrieve_svhn_extra _retrieve_svhn_test \
_retrieve_svhn_training
        links.model.vision.googlenet _make_npz _retrieve _transfer_googlenet _transfer_inception
        links.model.vision.resnet _make_npz _retrieve _transfer_block _transfer_bottleneckA _transfer_bottleneckB \
_transfer_components _transfer_resnet101 _transfer_resnet152 _transfer_resnet50
        links.model.vision.vgg _make_npz _retrieve
    """,
    'Theano is no longer maintained': 'links.theano.theano_function _to_var_tuple',
    "how Chainer's own test cases are made": """
        testing._bundle _generate_case _generate_test_cases
        testing._distribution_test skip_not_in_test_target
        testing.backend _test_case_generator
        testing.doctest_helper _gpu_limit
        testing.function_link _check_array_types _check_arrays_equal _check_generated_initializer \
_check_variable_types _get_expected_initializer _get_initializer_argument_value _get_link_params
        testing.parameterized _make_class_name _nd_indices_to_cover_each_2d _pairwise_product_dict \
_pairwise_product_dict_iter _parameterize_test_case _parameterize_test_case_generator
    """,
}


def left_out() -> set[tuple[str, str]]:
    rows = [line.split() for lines in LEFT_OUT.values() for line in lines.replace('\\\n', '').strip().splitlines()]
    return {(path, name) for path, *names in rows for name in names}


def module_of(path: str) -> ModuleType:
    return importlib.import_module('chainer' if path == '.' else f'chainer.{path}')


# --- which there are -----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures('alias')
@pytest.mark.parametrize('path', NAMES)
def test_each_private_name_is_there_or_left_out_for_a_reason(path: str) -> None:
    try:
        module: Any = module_of(path)
    except ModuleNotFoundError:
        module = None
    missing = {(path, name) for name in NAMES[path] if not hasattr(module, name)}
    assert missing == {row for row in left_out() if row[0] == path}, 'to be added, or to be left out'


def test_what_is_left_out_is_a_name_of_chainers() -> None:
    assert left_out() <= {(path, name) for path, names in NAMES.items() for name in names}


def test_the_share_of_private_names_that_are_there() -> None:
    assert 1 - len(left_out()) / sum(map(len, NAMES.values())) >= 0.6


@pytest.mark.parametrize('path', private_names.rows())
def test_the_table_has_only_names_that_chainer_had(path: str) -> None:
    known = {*NAMES.get(path, ()), *PATHS.get(path, ()), *IMPORTED.get(path, '').split()}
    for name in private_names.rows()[path]:
        assert name in known
        assert private_names.find(path, name) is not private_names.ABSENT


#: Names that a module of 7.8.1 has, but does not define.
IMPORTED = {
    '.': 'array basic_math _backend _backprop _backprop_utils _runtime_info',
    'backends.intel64': 'config',
    'cuda': """
        _PerformanceWarning _SHOULD_USE_CUDNN _array_to_cpu _cudnn_version _cupy_major _dropout_states_count
        _get_device_or_current _integer_types _resolution_error _tensor_core_flag
    """,
    'functions.pooling.roi_average_pooling_2d': '_roi_pooling_slice',
    'functions.pooling.roi_max_align_2d': '_get_bilinear_interp_params _get_bounds',
    'functions.pooling.roi_max_pooling_2d': '_roi_pooling_slice',
}


@pytest.mark.usefixtures('alias')
def test_modules_of_functions_are_attributes_of_the_package() -> None:
    chainer = module_of('.')
    assert chainer.basic_math is importlib.import_module('minichainer.functions.math.basic_math')
    assert chainer.array is importlib.import_module('minichainer.functions.array')
    from chainer import basic_math  # type: ignore[import-not-found]

    assert basic_math is chainer.basic_math


@pytest.mark.usefixtures('alias')
def test_modules_that_a_module_imports_are_attributes_of_it() -> None:
    relu = module_of('functions.activation.relu')
    assert relu.cuda is minichainer.backends.cuda
    assert relu.type_check is minichainer.utils.type_check
    assert module_of('links.connection.linear').variable is minichainer.variable
    with pytest.raises(AttributeError, match='type_check'):
        _ = module_of('functions.activation').type_check
    with pytest.raises(AttributeError, match='no attribute'):
        _ = relu.no_such_module


def test_private_names_are_gone_without_the_alias() -> None:
    module = importlib.import_module('minichainer.serializers.hdf5')
    with pytest.raises(AttributeError, match='_available'):
        _ = module._available
    assert not hasattr(minichainer, 'basic_math')


def test_the_check_of_programs_knows_private_names() -> None:
    assert names.under_alias('chainer.backends._cpu._to_cpu')
    assert names.under_alias('chainer.basic_math')
    assert not names.under_alias('chainer.backends._cpu._to_gpu')


@pytest.mark.usefixtures('alias')
def test_a_private_name_can_be_patched(monkeypatch: pytest.MonkeyPatch) -> None:
    module = module_of('functions.array.flip')
    own = module._flip
    with monkeypatch.context() as patch:
        patch.setattr(module, '_flip', 3)
        assert module._flip == 3
    assert module._flip is own


# --- what they compute ---------------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """A result as the file of figures has it."""
    if isinstance(value, minichainer.Variable):
        return ['V', plain(value.array)]
    if isinstance(value, np.ndarray):
        return ['A', str(value.dtype), list(value.shape), value.ravel().tolist()]
    if isinstance(value, np.generic):
        return ['N', str(value.dtype), value.item()]
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, [plain(x) for x in value]]
    if isinstance(value, dict):
        return ['dict', [[plain(key), plain(x)] for key, x in value.items()]]
    if isinstance(value, type):
        return value.__name__
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)


def same(found: Any, expected: Any) -> bool:
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(expected, float):
        return bool(np.isclose(found, expected, rtol=1e-6, atol=1e-7, equal_nan=True))
    return bool(found == expected)


@pytest.mark.usefixtures('alias')
@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize('case', CASES, ids=lambda case: f'{case["path"]}: {case["call"][:60]}')
def test_a_private_function_computes_what_chainers_does(case: dict[str, Any]) -> None:
    known = {'m': module_of(case['path']), 'np': np, 'chainer': module_of('.')}
    if isinstance(case['result'], list) and case['result'][0] == 'raises':
        kind = getattr(builtins, case['result'][1], minichainer.utils.type_check.InvalidType)
        with pytest.raises(kind):
            eval(case['call'], known)
        assert kind.__name__ == case['result'][1]
        return
    found = plain(eval(case['call'], known))
    assert same(found, case['result']), (found, case['result'])


@pytest.mark.usefixtures('alias')
def test_flags_say_what_is_installed() -> None:
    def available(package: str) -> bool:
        return importlib.util.find_spec(package) is not None

    assert module_of('datasets.image_dataset').available is available('PIL')
    assert module_of('links.model.vision.vgg').available is available('PIL')
    assert module_of('serializers.hdf5')._available is available('h5py')
    assert module_of('training.extensions.plot_report')._available is available('matplotlib')
    assert (module_of('datasets.image_dataset')._import_error is None) is available('PIL')
    assert module_of('datasets.svhn')._scipy_available is module_of('functions.math.erfinv').available_cpu
    assert module_of('datasets.svhn')._scipy_available is available('scipy')
    module_of('testing.helper')._check_mock_available()
    for path in ('testing.training', 'testing.unary_math_function_test'):
        assert module_of(path).is_available() and module_of(path)._error is None
        module_of(path).check_available()


def test_a_package_that_is_missing() -> None:
    from minichainer.compat import private_functions

    assert not private_functions.installed('no_such_package')
    with pytest.raises(ImportError, match='no_such_package'):
        private_functions.check_installed('no_such_package')
    with pytest.warns(UserWarning, match='no_such_package is not installed'):
        private_functions.warn_unless_installed('no_such_package')
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        private_functions.warn_unless_installed('numpy')


@pytest.mark.usefixtures('alias')
def test_snapshots_are_found_by_the_time_of_their_files(tmp_path: Path) -> None:
    module = module_of('training.extensions._snapshot')
    for i in range(12):
        file = tmp_path / f'snapshot_iter_{i}'
        file.touch()
        os.utime(file, (1000 + i, 1000 + i))
    (tmp_path / 'other').touch()
    fmt = 'snapshot_iter_{}'
    assert [name for _, name in module._find_snapshot_files(fmt, str(tmp_path))] == [fmt.format(i) for i in range(12)]
    assert module._find_latest_snapshot(fmt, str(tmp_path)) == 'snapshot_iter_11'
    assert list(module._find_stale_snapshots(fmt, str(tmp_path), 9)) == [fmt.format(i) for i in range(3)]
    assert list(module._find_stale_snapshots(fmt, str(tmp_path), 20)) == []
    assert module._find_latest_snapshot('none_{}', str(tmp_path)) is None


@pytest.mark.usefixtures('alias')
def test_the_gradient_of_x_log_x() -> None:
    module = module_of('distributions.utils')
    x = np.array([0.2, 1.5])
    report = minichainer.gradient_check.check_gradients(module._modified_xlogx, (x,), order=2)
    assert report.verdict == 'pass', report
    zero = minichainer.Variable(np.zeros(2))
    y = minichainer.functions.sum(module._modified_xlogx(zero))
    with pytest.warns(RuntimeWarning, match='0 is taken'):
        y.backward()
    np.testing.assert_array_equal(zero.grad, [0, 0])


@pytest.mark.usefixtures('alias')
def test_gradients_of_triangular_inverses_leave_the_other_triangle_out() -> None:
    module = module_of('distributions.multivariate_normal')
    x = np.array([[2.0, 0], [1, 3]])
    report = minichainer.gradient_check.check_gradients(module._triangular_inv, (x,), order=2)
    assert report.verdict == 'pass', report


@pytest.mark.usefixtures('alias')
def test_parameterized_cases_are_a_class_and_no_bundle() -> None:
    bundle = module_of('testing._bundle')

    @minichainer.testing.parameterize({'a': 1}, {'a': 2})
    class Cases(unittest.TestCase):
        pass

    assert not isinstance(Cases, bundle._ParameterizedTestCaseBundle)
    case = bundle._TestCaseTuple(Cases, None, 'Cases')
    assert [c for c, _, _ in bundle._ParameterizedTestCaseBundle([case]).cases] == [Cases]


@pytest.mark.usefixtures('alias')
def test_the_runtime_info_is_text() -> None:
    chainer = module_of('.')
    info = chainer._runtime_info._get_runtime_info()
    assert chainer.__version__ in str(info) and np.__version__ in str(info)
    assert (info.chainer_version, info.numpy_version) == ('7.8.1', np.__version__)


@pytest.mark.usefixtures('alias')
def test_random_numbers_are_fixed_between_setup_and_teardown() -> None:
    random = module_of('testing.random')
    drawn = []
    for _ in range(2):
        random.do_setup()
        drawn.append(np.random.rand())
        random.do_teardown()
    assert drawn[0] == drawn[1]
    random._setup_random()
    assert np.random.rand() == drawn[0]
    random._teardown_random()

    @random._fix_random('setUp', 'tearDown')
    def test_drawing(self: Any) -> None:
        assert np.random.rand() == drawn[0]

    test_drawing(None)


@pytest.mark.usefixtures('alias')
def test_parameters_of_pickles_of_chainers_are_recovered() -> None:
    recover = module_of('variable')._recover_parameter
    device = minichainer.get_device('@numpy')
    empty = recover(None, 'W', None, True, minichainer.initializers.One(), None, device)
    assert not empty.is_initialized
    empty.initialize((2,))
    np.testing.assert_array_equal(empty.array, [1, 1])
    full = recover(np.ones(2), 'W', np.zeros(2), None, None, device)
    np.testing.assert_array_equal(full.grad, [0, 0])


@pytest.mark.usefixtures('alias')
def test_a_stalled_dataset_is_warned_of() -> None:
    kind = minichainer.iterators.MultiprocessIterator.TimeoutWarning
    with pytest.warns(kind, match='stalled'):
        module_of('iterators.multiprocess_iterator')._raise_timeout_warning()


@pytest.mark.parametrize(
    ('fields', 'expected'),
    [({'kernel_h': 3, 'kernel_w': 2}, (3, 2)), ({'kernel_size': 4}, 4), ({'kernel_size': [5]}, 5)],
)
@pytest.mark.usefixtures('alias')
def test_sizes_in_files_of_caffe(fields: dict[str, Any], expected: Any) -> None:
    module = module_of('links.caffe.caffe_function')
    empty = {'kernel_h': 0, 'kernel_w': 0, 'kernel_size': [], 'stride_h': 0, 'stride_w': 0, 'stride': []}
    param = SimpleNamespace(**{**empty, **fields}, pad_h=0, pad_w=0, pad=[])
    assert module._get_ksize(param) == expected
    assert (module._get_stride(param), module._get_pad(param)) == (1, 0)
