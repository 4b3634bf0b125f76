"""The rows of :mod:`minichainer.compat.private_names`.

A row is ``path[,path...] name [name...] = expression``. The path is that of the module below the package, a dot the
package itself.
"""

from __future__ import annotations

ROWS = r"""
. array = at('functions.array')
. basic_math = at('functions.math.basic_math')
. _array_types = array_types()
. _backend = at('_backend')
. _backprop = at('_backprop')
. _backprop_utils = at('_backprop_utils')
. _runtime_info = at('_runtime_info')
. _cpu_array_types = cpu_array_types()
. _load_array_types = lambda: None
. _Mixed16 = type(mixed16)
. _chainer_dtype = os.environ.get('CHAINER_DTYPE', 'float32')

_backend _convert_arrays = convert_arrays
_backend _DummyContext = contextlib.nullcontext
_backend _dummy_context = contextlib.nullcontext()
_backprop_utils _get_columns = lambda: shutil.get_terminal_size()[0]
_backprop_utils _grad_var_from_alive_node = taken_gradient
_backprop_utils _pop_or_none = lambda grad_list: grad_list.pop() if grad_list else None
_backprop_utils _pure = lambda grad: [] if grad is None else [grad]
_backprop_utils _reduce = sum_in_place
_runtime_info _RuntimeInfo = RuntimeInfo
_runtime_info _get_runtime_info = RuntimeInfo
backend _contains_nan = lambda x: x.dtype.kind in 'fc' and get_array_module(x).isnan(x).any()
backend _get_device_cupy_or_numpy = lambda spec: GpuDevice.from_device_id(spec) if spec >= 0 else CpuDevice()
backend _guess_device_from_array_module = lambda xp: GpuDevice(cuda.Device()) if xp is cuda.cupy else CpuDevice()
backends._cpu _array_to_cpu = array_to_cpu
backends._cpu _to_cpu = to_cpu
backends.cuda,cuda _SHOULD_USE_CUDNN = LEVELS
backends.cuda,cuda _cudnn_version = -1
backends.cuda,cuda _cupy_major = int(cuda.cupy.__version__.partition('.')[0]) if cuda.available else 0
backends.cuda,cuda _dropout_states_count = itertools.count()
backends.cuda,cuda _integer_types = (int, np.integer)
backends.cuda,cuda _resolution_error = None if cuda.available else ImportError('CuPy is not available')
backends.cuda,cuda _tensor_core_flag = {'always': True, 'auto': None, 'never': False}
backends.cuda,cuda _PerformanceWarning = at('warnings').PerformanceWarning
backends.cuda,cuda _array_to_cpu = lambda array, stream=None: array_to_cpu(array)
backends.cuda,cuda _get_device_or_current = device_or_current
backends.intel64 _SHOULD_USE_IDEEP = LEVELS
backends.intel64 _error = import_error('ideep4py')
backends.intel64 _ideep_version = None
backends.intel64 config = config
computational_graph,training.extensions.computational_graph _func_style = \
at('computational_graph.graph').FUNCTION_STYLE
computational_graph,training.extensions.computational_graph _var_style = \
at('computational_graph.graph').VARIABLE_STYLE
configuration _print_attrs = print_attributes
dataset.convert _call_converter = at('dataset.convert').call_converter
dataset.download _dataset_root = at('dataset').get_dataset_root()
device_resident _is_to_device_method_overridden = is_overridden
distribution _KLDIVERGENCE = at('distribution')._divergences
function_node,functions.rnn.n_step_gru,functions.rnn.n_step_lstm,functions.rnn.n_step_rnn _extract_apply_in_data = \
lambda inputs: (False, tuple([getattr(x, 'array', x) for x in inputs]))

datasets.fashion_mnist _fashion_mnist_labels = at('datasets').get_fashion_mnist_labels()
datasets.image_dataset,links.model.vision.googlenet,links.model.vision.resnet,links.model.vision.vgg available = \
installed('PIL')
datasets.image_dataset,links.model.vision.googlenet,links.model.vision.resnet,links.model.vision.vgg _import_error = \
import_error('PIL')
datasets.image_dataset _check_pillow_availability = lambda: check_installed('PIL')
datasets.image_dataset _postprocess_image = lambda image: image.reshape(*image.shape[:2], -1).transpose(2, 0, 1)
datasets.kuzushiji_mnist _kuzushiji_mnist_labels = at('datasets').get_kuzushiji_mnist_labels()
datasets.ptb _load_words = words_of
datasets.ptb _test_url = at('datasets.ptb')._URL + 'ptb.test.txt'
datasets.ptb _train_url = at('datasets.ptb')._URL + 'ptb.train.txt'
datasets.ptb _valid_url = at('datasets.ptb')._URL + 'ptb.valid.txt'
datasets.svhn,functions.math.sparse_matmul _scipy_available = installed('scipy')
function_hooks.cupy_memory_profile memory_hook_available = cuda.available

distributions.bernoulli _bernoulli_log_prob = bernoulli_log_prob
distributions.beta _lbeta = lambda a, b: F.lgamma(a) + F.lgamma(b) - F.lgamma(a + b)
distributions.cauchy _cauchy_icdf = lambda x: F.tan((as_variable(x) - 0.5) * math.pi)
distributions.dirichlet _lbeta = lambda x: F.sum(F.lgamma(x), axis=-1) - F.lgamma(F.sum(x, axis=-1))
distributions.gumbel EULER = 0.5772156649015329
distributions.laplace _laplace_cdf = standard_laplace('cdf')
distributions.laplace _laplace_icdf = standard_laplace('icdf')
distributions.log_normal,distributions.multivariate_normal,distributions.normal LOGPROBC = -math.log(2 * math.pi) / 2
distributions.multivariate_normal _batch_triangular_inv = lambda x, lower=True: inverse_of_triangle(x, lower)
distributions.multivariate_normal _triangular_inv = lambda x, lower=True: inverse_of_triangle(x, lower)
distributions.multivariate_normal _triangular_logdet = \
lambda x: F.sum(F.log(F.absolute(F.diagonal(x, axis1=-2, axis2=-1))), axis=-1)
distributions.multivariate_normal available_cpu = installed('scipy')
distributions.multivariate_normal,distributions.normal ENTROPYC = math.log(2 * math.pi * math.e) / 2
distributions.normal PROBC = 1 / math.sqrt(2 * math.pi)
distributions.one_hot_categorical _random_choice = lambda xp, a, size, p: xp.random.choice(a, size, p=p / p.sum())
distributions.one_hot_categorical _stack = lambda xp, xs, axis: xp.stack(xs, axis)
distributions.utils ModifiedXLogX = XLogX

functions.activation.prelu,functions.activation.swish _get_extended_shape = \
lambda W, x: (1, *W.shape, *[1] * (x.ndim - W.ndim - 1))
functions.activation.prelu _get_reduce_axes = lambda W, x: (0, *range(1 + W.ndim, x.ndim))
functions.activation.swish _get_reduction_axes = lambda W, x: (0, *range(1 + W.ndim, x.ndim))
functions.activation.swish _sigmoid = lambda x: sigmoid(x, np)
functions.array.as_strided _byte2step = lambda values, itemsize: tuple([i // itemsize for i in values])
functions.array.as_strided _get_base_array = base_of
functions.array.as_strided _index_add = np.add.at
functions.array.as_strided _max_index = last_index
functions.array.as_strided _maybe_overlapping_memory = lambda shape, strides: may_overlap(shape, strides)
functions.array.as_strided _min_index = first_index
functions.array.as_strided _step2byte = lambda values, itemsize: tuple([i * itemsize for i in values])
functions.array.as_strided _stride_array = stride_array
functions.array.as_strided TensorGeometry = TensorGeometry
functions.array.as_strided index_dtype = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}
functions.array.flip _flip = lambda array, axis: get_array_module(array).flip(array, axis)
functions.array.get_item _numpy_supports_0d_bool_index = True
functions.array.im2col _col2im = at('utils.conv').col2im
functions.array.im2col _im2col = at('utils.conv').im2col
functions.array.im2col,functions.connection.convolution_2d,functions.connection.deconvolution_2d,\
functions.connection.deformable_convolution_2d_sampler,functions.connection.local_convolution_2d,\
functions.connection.shift,functions.pooling.pooling_2d,functions.pooling.roi_average_align_2d,\
functions.pooling.roi_average_pooling_2d,functions.pooling.roi_max_align_2d,functions.pooling.roi_max_pooling_2d,\
links.connection.convolution_2d,links.connection.deconvolution_2d,links.connection.deformable_convolution_2d,\
links.connection.depthwise_convolution_2d,links.connection.dilated_convolution_2d,\
links.connection.local_convolution_2d _pair = lambda x: x if hasattr(x, '__getitem__') else (x, x)
functions.array.moveaxis _moveaxis = lambda a, source, destination, xp: xp.moveaxis(a, source, destination)
functions.array.moveaxis _normalize_axis_tuple = lambda axis, ndim: [i % ndim for i in axis]
functions.array.permutate _check_indices = check_indices
functions.array.permutate _inverse_indices = lambda indices: get_array_module(indices).argsort(indices)
functions.array.reshape _count_unknown_dims = lambda shape: sum(n < 0 for n in shape)
functions.array.split_axis _get_indices_or_sections = lambda x: (x, None) if np.ndim(x) else (None, x)
functions.array.split_axis _numpy_split_ok = True
functions.array.squeeze argone = ones_among
functions.array.transpose_sequence _transpose = \
lambda xs, length: tuple([y.array for y in F.transpose_sequence(xs)]) if length else ()
functions.connection.bilinear,functions.noise.simplified_dropconnect _as_mat = lambda x: x.reshape(len(x), -1)
functions.connection.bilinear _ij_ik_il_to_jkl = lambda a, b, c: F.einsum('ij,ik,il->jkl', a, b, c)
functions.connection.bilinear _ij_ik_jkl_to_il = lambda a, b, c: F.einsum('ij,ik,jkl->il', a, b, c)
functions.connection.bilinear _ij_il_jkl_to_ik = lambda a, b, c: F.einsum('ij,il,jkl->ik', a, b, c)
functions.connection.bilinear _ik_il_jkl_to_ij = lambda a, b, c: F.einsum('ik,il,jkl->ij', a, b, c)
functions.connection.convolution_2d _matmul = lambda a, b: get_array_module(a).matmul(a, b)
functions.evaluation.classification_summary _fbeta_score = lambda precision, recall, beta: ((1 + beta * beta) \
* precision * recall / (beta * beta * precision + recall)).astype(precision.dtype, copy=False)
functions.evaluation.classification_summary fbeta_score = fbeta_score
functions.loss.ctc _flip_label_probability = flip_labels
functions.loss.ctc _flip_path = flip_path
functions.loss.ctc _flip_path_probability = flip_paths
functions.loss.ctc _label_to_path = labels_with_blanks
functions.loss.ctc _logsumexp = lambda a, xp, axis=None: F.logsumexp(a, axis).array
functions.loss.ctc _softmax = lambda x, xp: F.softmax(x, axis=2).array
functions.loss.mean_absolute_error,optimizers.adam _get_intermediate_dtype = computing_dtype
functions.loss.negative_sampling _sigmoid_grad = lambda x, y, gy: gy * y * (1 - y)
functions.loss.softmax_cross_entropy _broadcast_to = np.broadcast_to
functions.loss.softmax_cross_entropy _check_class_weight_option = check_class_weight
functions.loss.softmax_cross_entropy _check_input_values = check_labels
functions.loss.softmax_cross_entropy _check_reduce_option = check_reduce
functions.loss.softmax_cross_entropy _reduction_dtype = computing_dtype
functions.math.average _mean = lambda x, axis, keepdims=False: F.mean(x, axis, keepdims=keepdims)
functions.math.basic_math _convert_value_to_string = value_as_text
functions.math.basic_math _preprocess_const = lambda x, value: x.dtype.type(value)
functions.math.basic_math _preprocess_rhs = operand
functions.math.einsum _enumerate_axes = named_axes
functions.math.einsum _parse_einsum_input = parse_einsum
functions.math.einsum einsum_symbols = string.ascii_uppercase + string.ascii_lowercase
functions.math.einsum einsum_symbols_set = set(string.ascii_letters)
functions.math.erfcinv,functions.math.erfinv BACKWORDC = math.sqrt(math.pi) / 2
functions.math.erfcinv,functions.math.erfcx,functions.math.erfinv,functions.math.ndtri \
available_cpu = installed('scipy')
functions.math.matmul _as_batch_mat = lambda x: x.reshape(*x.shape[:2], -1)
functions.math.matmul _check_ndim = \
lambda in_type, lower=1, upper=2: at('utils.type_check').expect(in_type.ndim >= lower, in_type.ndim <= upper)
functions.math.matmul _get_size = lambda typ, index: 1 if index == 2 and number(typ.ndim) == 2 else typ.shape[index]
functions.math.sparse_matmul _coo_matmul = sparse_product
functions.math.sparse_matmul _coo_matmul_gradsp = sampled_product
functions.math.tensordot _tensordot = tensor_product
functions.noise.simplified_dropconnect _matmul = lambda a, b, xp: xp.matmul(a, b)
functions.normalization.batch_normalization _apply_bn_fwd = \
lambda xp, x, mean, inv_std, gamma, beta: ((x - mean) * inv_std * gamma + beta).astype(x.dtype)
functions.normalization.batch_normalization _compute_axis = reduced_axes
functions.normalization.batch_normalization _compute_key_axis = \
lambda n, m, axis: tuple([i for i in range(n) if i not in reduced_axes(n, m, axis)])
functions.normalization.batch_normalization _x_hat = lambda x, mean, inv_std: (x - mean) * inv_std
functions.normalization.batch_normalization _zero_if_none = \
lambda xp, x, shape, dtype: xp.zeros(shape, dtype=dtype) if x is None else x
functions.normalization.batch_renormalization _xhat = \
lambda x, mean, std, expander: (x - mean[expander]) / std[expander]
functions.normalization.decorrelated_batch_normalization _calc_axis_and_m = \
lambda shape, batch: (tuple(range(2, len(shape))), batch * math.prod(shape[2:]))
functions.normalization.decorrelated_batch_normalization _diag = \
lambda a, xp: a[:, :, None] * xp.eye(a.shape[1], dtype=a.dtype)
functions.normalization.decorrelated_batch_normalization _eigh = lambda a, xp: tuple(xp.linalg.eigh(a))
functions.normalization.decorrelated_batch_normalization _matmul = lambda a, b, xp: xp.matmul(a, b)
functions.pooling.average_pooling_nd _get_conv_slices = window_bounds
functions.pooling.roi_average_align_2d,functions.pooling.roi_max_align_2d _get_bilinear_interp_params = \
lambda y, x, y0, x0, y1, x1: ((y1 - y) * (x1 - x), (y1 - y) * (x - x0), (y - y0) * (x1 - x), (y - y0) * (x - x0))
functions.pooling.roi_average_align_2d,functions.pooling.roi_max_align_2d _get_bounds = neighbours
functions.pooling.roi_average_pooling_2d,functions.pooling.roi_max_pooling_2d,functions.pooling.roi_pooling_2d \
_roi_pooling_slice = region_slice
functions.rnn.lstm,functions.rnn.slstm _grad_grad_sigmoid = lambda x: x * (1 - x) * (1 - 2 * x)
functions.rnn.lstm,functions.rnn.slstm _grad_grad_tanh = lambda x, gx: -2 * x * gx
functions.rnn.lstm,functions.rnn.slstm,functions.rnn.tree_lstm _grad_sigmoid = lambda x: x * (1 - x)
functions.rnn.lstm,functions.rnn.slstm,functions.rnn.tree_lstm _grad_tanh = lambda x: 1 - x * x
functions.rnn.lstm,functions.rnn.slstm,functions.rnn.tree_lstm _sigmoid = lambda x, xp=np: sigmoid(x, xp)
functions.rnn.slstm,functions.rnn.tree_lstm _extract_gates = extract_gates
functions.rnn.n_step_gru _gru = gru_step
functions.rnn.n_step_lstm _stack_weight = lambda ws: stack_weight(ws)
functions.rnn.n_step_rnn _dropout_sequence = lambda xs, dropout_ratio: [F.dropout(x, dropout_ratio) for x in xs]
functions.rnn.n_step_rnn _one_directional_loop = one_direction
functions.rnn.n_step_rnn n_step_rnn_impl = all_layers
functions.util.forget _call_func = call_for_variables

gradient_check _as_tuple = lambda xs: tuple(xs) if isinstance(xs, (list, tuple)) else (xs,)
gradient_check _copy_arrays = lambda xs: [get_array_module(x).array(x, np.float64) for x in xs]
gradient_check _ones_like = lambda array: get_array_module(array).ones_like(array)
graph_optimizations.static_graph _is_xp = lambda x: isinstance(x, array_types())
initializers _check_is_initializer_like = check_initializer
initializers.orthogonal _orthogonal_constraints = {'auto': (False, False), 'projection': (False, True), \
'embedding': (True, False), 'basis': (True, True)}
initializers.sampling _get_linear_filter = linear_filter
iterators.multiprocess_iterator _response_time = 0.1
iterators.multiprocess_iterator _raise_timeout_warning = warn_of_stalled_dataset
iterators.multiprocess_iterator _measure = bytes_of_arrays
link _ensure_shape_dtype = lambda value: (value, np.float32) if is_shape(value) else value
link _is_shape = is_shape
link_hooks.spectral_normalization calculate_max_singular_value = lambda W, u, v: F.matmul(F.matmul(u, W), v)
link_hooks.spectral_normalization l2normalize = lambda xp, v, eps: v / (xp.linalg.norm(v) + eps)
link_hooks.spectral_normalization update_approximate_vectors = power_iteration
links.caffe.caffe_function _get_channels = lambda blob: blob.channels or blob.shape.dim[1]
links.caffe.caffe_function _get_height = lambda blob: blob.height or blob.shape.dim[-2]
links.caffe.caffe_function _get_ksize = lambda param: caffe_pair(param, 'kernel', param.kernel_size, None)
links.caffe.caffe_function _get_pad = lambda param: caffe_pair(param, 'pad', param.pad, 0)
links.caffe.caffe_function _get_stride = lambda param: caffe_pair(param, 'stride', param.stride, 1)
links.caffe.caffe_function _get_width = lambda blob: blob.width or blob.shape.dim[-1]
exporters.caffe _function_types = (at('function').Function, at('function_node').FunctionNode)
links.connection.local_convolution_2d _conv_output_length = lambda n, ksize, stride: n - ksize + 1
links.loss.hierarchical_softmax TreeParser = TreeParser
links.normalization.decorrelated_batch_normalization _broadcast_to = np.broadcast_to
links.normalization.decorrelated_batch_normalization _warn_old_model = warn_of_old_statistics
links.normalization.decorrelated_batch_normalization fix_avg_mean = lambda avg, groups: by_group(avg, groups, 2)
links.normalization.decorrelated_batch_normalization fix_avg_projection = lambda avg, groups: by_group(avg, groups, 3)
memory_layouts _get_layout_transpose_axes = layout_axes
memory_layouts _transpose_array = transposed_to_layout
memory_layouts _transpose_shape = shape_in_layout
optimizer_hooks.gradient_clipping _sum_sqnorm_grads = squared_norm_of_gradients
optimizers.adam _inplace_axpby = axpby
optimizers.ada_delta _default_hyperparam = defaults_of('AdaDelta')
optimizers.ada_grad _default_hyperparam = defaults_of('AdaGrad')
optimizers.adam _default_hyperparam = defaults_of('Adam')
optimizers.corrected_momentum_sgd _default_hyperparam = defaults_of('CorrectedMomentumSGD')
optimizers.momentum_sgd _default_hyperparam = defaults_of('MomentumSGD')
optimizers.msvag _default_hyperparam = defaults_of('MSVAG')
optimizers.nesterov_ag _default_hyperparam = defaults_of('NesterovAG')
optimizers.rmsprop _default_hyperparam = defaults_of('RMSprop')
optimizers.rmsprop_graves _default_hyperparam = defaults_of('RMSpropGraves')
optimizers.sgd _default_hyperparam = defaults_of('SGD')
optimizers.smorms3 _default_hyperparam = defaults_of('SMORMS3')
reporter _copy_variable = lambda value: copy.copy(value) if isinstance(value, Variable) else value
reporter _get_reporters = lambda: at('reporter')._thread.stack
serializers.hdf5 _available = installed('h5py')
serializers.hdf5 _check_available = lambda: check_installed('h5py')
serializers.npz _allow_pickle_kwargs = {'allow_pickle': True}
serializers.npz serialize = serialized

testing.array _as_noncontiguous_array = noncontiguous
testing.attr _error = None
testing.attr _gpu_limit = int(os.environ.get('CHAINER_TEST_GPU_LIMIT', '-1'))
testing.condition,testing.distribution_test,testing.training,testing.unary_math_function_test _error = None
testing.function_link _LinkTestBase = at('testing.link_case')._LinkCase
testing.function_link _TestError = at('testing._gradient_case').TestError
testing.helper _check_mock_available = lambda: None
testing.helper _import_object_from_name = object_of_name
testing.helper _mock_error = None
testing.matrix _broadcast_to = np.broadcast_to
testing.parameterized _param_to_str = at('testing.parameterized')._named_or_repr
testing.parameterized _product_dict_orig = at('testing').product_dict
testing.parameterized _shorten = shortened
testing.parameterized _values_to_dicts = at('testing').from_pytest_parameterize
testing.random _fix_random = \
lambda setup_method_name, teardown_method_name: at('testing').fix_random(\
setup_method=setup_method_name, teardown_method=teardown_method_name)
testing.random _setup_random = lambda: at('testing.random')._start()
testing.random _teardown_random = lambda: at('testing.random')._opened.pop().close()
testing.random do_setup _numpy_do_setup = lambda deterministic=True: at('testing.random')._start()
testing.random do_teardown _numpy_do_teardown = lambda: at('testing.random')._opened.pop().close()
testing.training,testing.unary_math_function_test check_available = lambda: None
testing.training,testing.unary_math_function_test is_available = lambda: True
testing.training get_error = lambda: None
testing.unary_math_function_test _func_class = lambda func: getattr(F, func.__name__.capitalize(), None)
testing.unary_math_function_test _func_name = lambda func: func.__name__
testing.unary_math_function_test _make_data_default = uniform_arrays
testing.unary_math_function_test _nonlinear = lambda func: lambda x: func(x) ** 2
training.extensions._snapshot _always_true = lambda: True
training.extensions._snapshot _find_latest_snapshot = latest_snapshot
training.extensions._snapshot _find_snapshot_files = snapshot_files
training.extensions._snapshot _find_stale_snapshots = stale_snapshots
training.extensions.computational_graph is_graphviz_available = at('computational_graph.graphviz').is_installed
training.extensions.computational_graph is_return_code_zero = runs
training.extensions.parameter_statistics _default_statistics = \
at('training.extensions').ParameterStatistics.default_statistics
training.extensions.plot_report,training.extensions.variable_statistics_plot _available = installed('matplotlib')
training.extensions.plot_report,training.extensions.variable_statistics_plot _check_available = \
lambda: warn_unless_installed('matplotlib')
training.extensions.plot_report,training.extensions.variable_statistics_plot _try_import_matplotlib = \
lambda: installed('matplotlib')
training.extensions.variable_statistics_plot _unpack_variables = variables_in
training.updaters.multiprocess_parallel_updater _available = False
training.updaters.multiprocess_parallel_updater _calc_loss = at('dataset.convert').call_with
training.util _never_fire_trigger = at('training.util')._never
utils _check_arrays_forward_compatible = check_one_kind_of_array
utils _raise_from = raise_with_cause
utils _repr_with_named_data = described
utils.conv_nd_kernel andexp = lambda xs, init=None: joined(' && ', xs, init)
utils.conv_nd_kernel map_ = lambda function, *lists: list(map(function, *lists))
utils.conv_nd_kernel muladdexp = horner
utils.conv_nd_kernel mulexp = lambda xs, init=None: joined(' * ', xs, init)
utils.conv_nd_kernel succ_sublists = lambda xs: [xs[i:] for i in range(len(xs))]
utils.conv_nd_kernel vars = lambda prefix, n: [f'{prefix}_{i}' for i in range(n)]
utils.conv_nd_kernel Writer = Writer
utils.meta _EnableFinal = at('utils.meta')._FinalChecker
utils.sparse _add_at = lambda add_at, x, row, col, data: add_at(x, (row, col), data)
utils.sparse _is_c_order = lambda row, col: at('utils.sparse')._is_sorted(row, col)
utils.type_check _eval_expr = lambda v: at('utils.type_check').eval(v)
utils.type_check _flip = lambda f: lambda x, y: f(y, x)
utils.type_check _make_variable_from_array = lambda array, name: at('utils.type_check').make_variable(array, name)
utils.type_check _prod_impl = math.prod
utils.type_check _prod = at('utils.type_check').prod
variable _create_variable = created_variable
variable _recover_parameter = recovered_parameter
"""

#: Names of modules in Chainer's modules, and the paths of these here.
MODULES = """
_backend _backend
_backprop _backprop
_backprop_utils _backprop_utils
_chainerx backends._chainerx
_cpu backends._cpu
argument utils.argument
average functions.math.average
backend backend
batch_normalization functions.normalization.batch_normalization
broadcast functions.array.broadcast
cache utils.cache
concat functions.array.concat
configuration configuration
constant initializers.constant
conv utils.conv
conv_nd utils.conv_nd
conv_nd_kernel utils.conv_nd_kernel
convert dataset.convert
convolution_2d functions.connection.convolution_2d
convolution_nd functions.connection.convolution_nd
cuda backends.cuda
dataset_mixin dataset.dataset_mixin
device_resident device_resident
digamma functions.math.digamma
distribution distribution
download dataset.download
embed_id functions.connection.embed_id
expand_dims functions.array.expand_dims
exponential functions.math.exponential
exponential_m1 functions.math.exponential_m1
extension training.extension
flip functions.array.flip
function function
function_hook function_hook
function_node function_node
group_normalization functions.normalization.group_normalization
imgproc utils.imgproc
initializer initializer
initializers initializers
intel64 backends.intel64
interval_trigger training.triggers.interval_trigger
iterator dataset.iterator
iterator_module dataset.iterator
lgamma functions.math.lgamma
link link
link_hook link_hook
logarithm_1p functions.math.logarithm_1p
matmul functions.math.matmul
max_pooling_nd functions.pooling.max_pooling_nd
memory_layouts memory_layouts
minmax functions.math.minmax
normal initializers.normal
npz serializers.npz
optimizer optimizer
pooling_2d functions.pooling.pooling_2d
pooling_nd functions.pooling.pooling_nd
pooling_nd_kernel functions.pooling.pooling_nd_kernel
precision utils.precision
prod functions.math.prod
repeat functions.array.repeat
reporter reporter
reporter_module reporter
reshape functions.array.reshape
serializer serializer
serializer_module serializer
sigmoid functions.activation.sigmoid
split_axis functions.array.split_axis
sqrt functions.math.sqrt
stack functions.array.stack
standard_updater training.updaters.standard_updater
sum_mod functions.math.sum
swapaxes functions.array.swapaxes
tabular_dataset dataset.tabular.tabular_dataset
tanh functions.activation.tanh
transpose functions.array.transpose
trigger_module training.trigger
trigonometric functions.math.trigonometric
tuple_dataset datasets.tuple_dataset
type_check utils.type_check
types types
uniform initializers.uniform
utils utils
variable variable
walker_alias utils.walker_alias
where functions.array.where
"""
