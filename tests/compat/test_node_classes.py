"""Chainer's node classes: isinstance, labels, construction and attributes, compared with figures of 7.8.1."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer.compat import nodes
from tests.reference import replay

_RECORDED = json.loads((Path(__file__).parents[1] / 'reference' / 'node_classes.json').read_text(encoding='utf-8'))
CLASSES: dict[str, list[str]] = _RECORDED['classes']
CASES: list[dict[str, Any]] = _RECORDED['cases']
#: For cases of functions.json: class and label of the creator.
CREATORS: dict[str, list[str]] = _RECORDED['creators']
_FUNCTION_CASES = {case.id: case for case in replay.load('functions')}

#: Classes of functions of libraries that do not exist any more.
NOT_HERE = {'theano.theano_function.TheanoFunction'}
#: Functions that are another composition of nodes here.
COMPOSED_OTHERWISE = """
    average/weights average/weights_axis bernoulli_nll/no bilinear/3d_inputs bilinear/default bilinear/full
    cast/int_to_float concat/int convolution_2d/mixed_dtype crf1d/default crf1d/single
    decorrelated_batch_normalization/groups2_eps decorrelated_batch_normalization/running
    deformable_convolution_2d_sampler/all mean/weights mean/weights_axis
    fixed_decorrelated_batch_normalization/groups1
    softmax_cross_entropy/double_backprop_ignore softmax_cross_entropy/soft_target
    softmax_cross_entropy/soft_target_kl_no softmax_cross_entropy/soft_target_no
    softmax_cross_entropy/soft_target_normalize_false transpose_sequence/int
""".split()
OTHER_FUNCTIONS = ('n_step_', 'matmul/')


def node_class(path: str) -> Any:
    return nodes.node_class(*path.rsplit('.', 1))


def composed_otherwise(case: str) -> bool:
    return case in COMPOSED_OTHERWISE or case.startswith(OTHER_FUNCTIONS)


def creator_of(case: replay.Case) -> Any:
    with replay.names_of('minichainer') as names, replay._configured(case, chainer):
        return replay._forward(case, names).leaves[0].creator


@pytest.mark.parametrize('case', sorted(set(CREATORS) & set(_FUNCTION_CASES)))
@pytest.mark.filterwarnings('ignore')
def test_the_creator_is_of_the_class_that_chainer_has(case: str) -> None:
    name, label = CREATORS[case]
    creator = creator_of(_FUNCTION_CASES[case])
    same = creator is not None and (type(creator).__name__, creator.label) == (name, label)
    if composed_otherwise(case):
        assert case.startswith(OTHER_FUNCTIONS) or not same, 'not composed otherwise any more'
        return
    assert same, (creator and (type(creator).__name__, creator.label), name, label)
    of_this_name = [node_class(path) for path in CLASSES if path.rpartition('.')[2] == name]
    assert any(isinstance(creator, cls) and issubclass(type(creator), cls) for cls in of_this_name)
    others = [path for path in CLASSES if path not in NOT_HERE and isinstance(creator, node_class(path))]
    names = {path.rpartition('.')[2] for path in others}
    assert names - {name} <= {'Pooling2D', '_PoolingND', 'SelectorBase', 'IndexSelectorBase', 'MaxPooling2D'}


@pytest.mark.parametrize('path', CLASSES)
def test_each_class_of_chainers_is_there_with_its_constructor(path: str) -> None:
    cls = node_class(path)
    if path in NOT_HERE:
        assert cls is None
        return
    assert issubclass(cls, chainer.FunctionNode)
    assert cls.__name__ == path.rpartition('.')[2]
    assert cls.__module__ == f'minichainer.functions.{path.rpartition(".")[0]}'
    if not cls.row.call:
        with pytest.raises(TypeError, match='cannot be instantiated'):
            cls()
        return
    taken = inspect.signature(eval(f'lambda {cls.row.constructor}: None')).parameters.values()
    stars = {inspect.Parameter.VAR_POSITIONAL: '*', inspect.Parameter.VAR_KEYWORD: '**'}
    assert [stars.get(p.kind, '') + p.name for p in taken] == CLASSES[path] or path in SHORTER


#: Constructors with fewer parameters than Chainer's.
SHORTER = {
    # The axes in the middle of Chainer's are its own way to differentiate.
    'math.tensordot.TensorDot'
}


def test_every_row_is_a_class_of_chainers_or_of_an_older_version() -> None:
    rows = {f'{path}.{name}' for path, name in nodes.rows()}
    assert rows - set(CLASSES) == {'pooling.max_pooling_2d.MaxPooling2D'}


def _input(spec: str, number: int, dtype: str) -> Any:
    """The inputs with which the figures were recorded."""
    random = np.random.RandomState(number)
    if spec in ('r', 'q'):
        return np.array([[0.0, 0.0, 3.0, 3.0]] if spec == 'r' else [[0.0, 0.0, 0.0, 3.0, 3.0]], dtype)
    shape, _, top = spec.removeprefix('i').partition('<')
    sizes = tuple(map(int, shape.split(',')))
    return random.randint(0, int(top), sizes).astype('i') if top else random.uniform(0.2, 0.9, sizes).astype(dtype)


def _inputs(case: dict[str, Any]) -> list[chainer.Variable]:
    specs = case['inputs'].split(';')
    return [chainer.Variable(_input(spec, i, case['dtype'])) for i, spec in enumerate(specs)]


def _made(case: dict[str, Any]) -> Any:
    return eval(f'cls({case["args"]})', {'cls': node_class(case['cls']), 'np': np})


_IDS = [f'{case["cls"]}({case["args"]})' for case in CASES]
_TOLERANCE = {'d': {'rtol': 1e-7, 'atol': 1e-8}, 'f': {'rtol': 1e-4, 'atol': 1e-5}}


@pytest.mark.parametrize('case', CASES, ids=_IDS)
def test_an_instance_computes_what_chainers_does(case: dict[str, Any]) -> None:
    function, xs, tolerance = _made(case), _inputs(case), _TOLERANCE[case['dtype']]
    ys = function.apply(xs)
    assert isinstance(ys, tuple)
    for y, expected in zip(ys, case['y'], strict=True):
        np.testing.assert_allclose(y.array, expected, **tolerance)
    if 'gx' not in case:
        return
    assert ys[0].creator is function
    assert function.label == case['label'] or case['cls'] in OTHER_LABELS, (function.label, case['label'])
    for i, y in enumerate(ys):
        y.grad = np.asarray(np.random.RandomState(50 + i).uniform(-1, 1, y.shape)).astype(y.dtype)
    chainer.backward(list(ys))
    for x, expected in zip(xs, case['gx'], strict=True):
        if expected is not None and x.dtype.kind == 'f':
            np.testing.assert_allclose(x.grad, expected, **tolerance)


#: The last op of the function here has another label, so it is named by its class.
OTHER_LABELS = {
    'connection.local_convolution_2d.LocalConvolution2DFunction',
}


@pytest.mark.parametrize('case', [c for c in CASES if 'gx' in c and c['dtype'] == 'd'], ids=lambda c: str(c['cls']))
@pytest.mark.filterwarnings('ignore')
def test_the_second_order_agrees_with_differences(case: dict[str, Any]) -> None:
    xs = _inputs(case)
    floats = [i for i, x in enumerate(xs) if x.dtype.kind == 'f']
    if case['cls'] in KINKED:
        pytest.skip(KINKED[case['cls']])

    def loss(*values: Any) -> Any:
        given = list(xs)
        for i, value in zip(floats, values, strict=True):
            given[i] = value
        return sum(F.sum(y * y) for y in _made(case).apply(given) if y.dtype.kind == 'f')

    arrays = tuple(xs[i].array for i in floats)
    report = chainer.gradient_check.check_gradients(loss, arrays, order=2, seed=1, precise=False)
    assert report.verdict == 'pass', report


KINKED = {
    'normalization.batch_renormalization.BatchRenormalizationFunction': 'r and d are constants of the gradient',
    'normalization.batch_normalization.BatchNormalization': 'squares of normalized values do not depend on x',
    'array.cast.Cast': 'to float32',
}


# --- options -------------------------------------------------------------------------------------------------------

#: Options that change nothing here: the inputs say the same, or the result has it anyway.
WITHOUT_EFFECT = {
    'array.copy.Copy': {'in_device'},
    'array.transpose_sequence.TransposeSequence': {'length'},
    'connection.convolution_nd.ConvolutionND': {'ndim'},
    'connection.deconvolution_nd.DeconvolutionND': {'ndim'},
    'noise.dropout.Dropout': {'return_mask'},
    'pooling.average_pooling_2d.AveragePooling2D': {'cover_all', 'return_indices'},  # nor in Chainer
    'normalization.group_normalization._MulInvStd': {'dummy_gamma', 'inv_std', 'mean'},
    'pooling.average_pooling_nd.AveragePoolingND': {'ndim'},
    'pooling.max_pooling_2d.MaxPooling2D': {'return_indices'},
    'pooling.max_pooling_nd.MaxPoolingND': {'ndim', 'return_indices'},
    'pooling.unpooling_nd.UnpoolingND': {'ndim'},
}


def test_every_option_reaches_the_call() -> None:
    for (path, name), row in nodes.rows().items():
        if row.call:
            options = inspect.signature(eval(f'lambda {row.constructor}: None')).parameters
            unused = {option for option in options if not re.search(rf'\b{option}\b', row.call.partition('->')[2])}
            assert unused == WITHOUT_EFFECT.get(f'{path}.{name}', set()), f'{path}.{name}'


@pytest.mark.parametrize('transa', [False, True])
@pytest.mark.parametrize('transb', [False, True])
def test_a_sparse_product_is_transposed_and_has_the_dtype(transa: bool, transb: bool) -> None:
    a, b = np.array([[1.0, 0, 2], [0, 3, 0]]), np.arange(12.0).reshape(3, 4)
    coo = chainer.utils.to_coo(a.T.copy() if transa else a)
    dense = b.T.copy() if transb else b
    cls = node_class('math.sparse_matmul.CooMatMul')
    data, dense = chainer.Variable(coo.data.array), chainer.Variable(dense)
    (y,) = cls(coo.row, coo.col, coo.shape, coo.order, transa, transb, True, np.float32).apply((data, dense))
    np.testing.assert_array_equal(y.array, (a @ b).T)
    assert y.dtype == np.float32
    y.grad = gy = np.arange(8, dtype='f').reshape(4, 2)
    y.backward()
    gb = a.T @ gy.T
    np.testing.assert_array_equal(dense.grad, gb.T if transb else gb)
    np.testing.assert_array_equal(data.grad, (gy.T @ b.T)[(coo.col, coo.row) if transa else (coo.row, coo.col)])


def test_a_product_has_the_dtype_that_was_given() -> None:
    (y,) = node_class('math.matmul.MatMul')(dtype=np.float32).apply((np.eye(2), np.eye(2)))
    assert y.dtype == np.float32


def test_average_pooling_of_hanging_windows_is_refused() -> None:
    with pytest.raises(NotImplementedError, match='cover_all'):
        node_class('pooling.average_pooling_nd.AveragePoolingND')(1, 2, 2, cover_all=True).apply(
            (np.ones((1, 1, 3)),)
        )


X20 = np.ones((4, 5), np.float32)
#: Classes that draw random numbers once: what makes them, their inputs, and the name of what was drawn.
DRAWING = {
    'dropout': (lambda: node_class('noise.dropout.Dropout')(0.5), (X20,), 'mask'),
    'gaussian': (lambda: node_class('noise.gaussian.Gaussian')(), (X20, X20), 'eps'),
    'rrelu': (lambda: node_class('activation.rrelu.RReLU')(), (-X20,), 'r'),
    'dropconnect': (
        lambda: node_class('noise.simplified_dropconnect.SimplifiedDropconnect')(0.5), (X20, X20), 'mask'
    ),
}  # fmt: skip


@pytest.mark.parametrize('name', DRAWING)
def test_a_node_that_is_applied_twice_draws_once(name: str) -> None:
    make, inputs, drawn = DRAWING[name]
    node = make()
    assert getattr(node, drawn) is None
    (first,), (second,) = node.apply(inputs), node.apply(inputs)
    np.testing.assert_array_equal(second.array, first.array)
    np.testing.assert_array_equal(node.forward(inputs)[0], first.array)
    other = make()
    setattr(other, drawn, getattr(node, drawn))
    np.testing.assert_array_equal(other.apply(inputs)[0].array, first.array)
    assert not np.array_equal(make().apply(inputs)[0].array, first.array)


# --- subclasses, attributes and inputs -----------------------------------------------------------------------------


def test_a_subclass_may_replace_backward() -> None:
    class Guided(nodes.node_class('activation.relu', 'ReLU')):  # type: ignore[misc]
        def backward(self, indexes: Any, grad_outputs: Any) -> Any:
            (y,) = self.get_retained_outputs()
            return (grad_outputs[0] * (y.array > 0) * (grad_outputs[0].array > 0),)

    x = chainer.Variable(np.array([-1.0, 2.0, 3.0]))
    (y,) = Guided().apply((x,))
    y.grad = np.array([1.0, -1.0, 1.0])
    y.backward()
    np.testing.assert_array_equal(x.grad, [0, 0, 1])
    assert y.creator.label == 'Guided'
    assert isinstance(y.creator, nodes.node_class('activation.relu', 'ReLU'))
    assert not isinstance(F.relu(x).creator, Guided), 'a class of a program has only its own instances'


def test_a_subclass_may_replace_forward_and_label() -> None:
    class Half(nodes.node_class('math.matmul', 'MatMul')):  # type: ignore[misc]
        @property
        def label(self) -> str:
            return '_ @ _'

        def forward(self, inputs: Any) -> Any:
            return tuple(y / 2 for y in super().forward(inputs))

    (y,) = Half().apply((np.eye(2), np.ones((2, 2))))
    np.testing.assert_array_equal(y.array, 0.5 * np.ones((2, 2)))
    assert Half().label == '_ @ _'


def test_a_subclass_of_an_abstract_class_computes_by_itself() -> None:
    class Pool(nodes.node_class('pooling.pooling_2d', 'Pooling2D')):  # type: ignore[misc]
        def forward(self, inputs: Any) -> Any:
            return (inputs[0][:, :, ::2, ::2],)

    (y,) = Pool(2, stride=2).apply((np.ones((1, 1, 4, 4)),))
    assert y.shape == (1, 1, 2, 2)


def image() -> chainer.Variable:
    return chainer.Variable(np.random.RandomState(0).rand(2, 3, 6, 6))


def filters() -> np.ndarray:
    return np.random.RandomState(1).rand(4, 3, 3, 3)


ATTRIBUTES = {
    'noise.dropout.Dropout': (lambda: F.dropout(image()), 'mask', (2, 3, 6, 6)),
    'noise.zoneout.Zoneout': (lambda: F.zoneout(image(), image()), 'flag_h', (2, 3, 6, 6)),
    'pooling.max_pooling_nd.MaxPoolingND': (lambda: F.max_pooling_2d(image(), 2), 'indexes', (2, 3, 3, 3)),
    'loss.softmax_cross_entropy.SoftmaxCrossEntropy': (
        lambda: F.softmax_cross_entropy(image(), np.zeros((2, 6, 6), 'i')), 'y', (2, 3, 6, 6),
    ),
    'noise.gaussian.Gaussian': (lambda: F.gaussian(image(), image()), 'eps', (2, 3, 6, 6)),
    'activation.rrelu.RReLU': (lambda: F.rrelu(image()), 'r', (2, 3, 6, 6)),
}  # fmt: skip
VALUES = {
    'sy': (lambda: F.convolution_2d(image(), filters(), stride=(2, 1), pad=(0, 1)), 2),
    'sx': (lambda: F.convolution_2d(image(), filters(), stride=(2, 1), pad=(0, 1)), 1),
    'pw': (lambda: F.convolution_2d(image(), filters(), stride=(2, 1), pad=(0, 1)), 1),
    'dy': (lambda: F.convolution_2d(image(), filters(), dilate=2), 2),
    'kh': (lambda: F.average_pooling_2d(image(), 3), 3),
    'axis': (lambda: F.concat([image(), image()], axis=2), 2),
    'slope': (lambda: F.leaky_relu(image(), 0.3), 0.3),
    'axes': (lambda: F.transpose(image(), (1, 0, 2, 3)), (1, 0, 2, 3)),
    'slices': (lambda: F.get_item(image(), 1), 1),
}


@pytest.mark.parametrize('path', ATTRIBUTES)
def test_arrays_that_old_code_reads_of_nodes(path: str) -> None:
    call, name, shape = ATTRIBUTES[path]
    creator = call().creator
    assert isinstance(creator, node_class(path))
    assert getattr(creator, name).shape == shape


@pytest.mark.parametrize('name', VALUES)
def test_values_that_old_code_reads_of_nodes(name: str) -> None:
    call, expected = VALUES[name]
    assert getattr(call().creator, name) in (expected, (expected,))


def test_values_of_attributes() -> None:
    x = image()
    dropped = F.dropout(x)
    np.testing.assert_array_equal(dropped.array == 0, dropped.creator.mask == 0)
    y, indexes = F.max_pooling_2d(x, 2, return_indices=True)
    np.testing.assert_array_equal(y.creator.indexes, indexes)
    p = F.softmax_cross_entropy(x, np.zeros((2, 6, 6), 'i')).creator.y
    np.testing.assert_allclose(p.sum(1), 1)
    with pytest.raises(AttributeError, match='no_such'):
        _ = y.creator.no_such


@pytest.mark.parametrize('mode', ['graph', 'no graph', 'arrays'])
def test_attributes_of_instances_after_a_call(mode: str) -> None:
    x: Any = image().array if mode == 'arrays' else image()
    dropout = node_class('noise.dropout.Dropout')(0.5)
    assert (dropout.dropout_ratio, dropout.mask) == (0.5, None)
    with chainer.using_config('enable_backprop', mode != 'no graph'), chainer.using_config('train', False):
        (y,) = dropout.apply((x,))
    np.testing.assert_array_equal(y.array == 0, dropout.mask == 0)
    pooling = node_class('pooling.max_pooling_2d.MaxPooling2D')(2)
    (y,) = pooling.apply((x,))
    assert pooling.indexes.shape == y.shape == (2, 3, 3, 3)
    assert pooling.kh == 2
    assert len(pooling.inputs) == len(pooling.outputs) == 1 if mode == 'graph' else True


def test_a_variable_may_be_given_twice_and_computed_from_another() -> None:
    x = chainer.Variable(np.array([1.0, 2.0]))
    multiply = node_class('math.basic_math.Mul')
    z = multiply()(x, multiply()(x, x)[0])[0]
    z.grad = np.ones(2)
    z.backward()
    np.testing.assert_allclose(x.grad, 3 * x.array**2)


def test_unchain_frees_what_an_instance_keeps() -> None:
    x = image()
    function = node_class('activation.relu.ReLU')()
    (y,) = function.apply((x,))
    y.unchain_backward()
    assert y.creator is None
    assert function._results == ()


def test_a_function_of_a_program_is_no_instance() -> None:
    class ReLU(chainer.FunctionNode):
        def forward(self, inputs: Any) -> Any:
            return inputs

    y = ReLU().apply((np.ones(2),))[0]
    assert not isinstance(y.creator, node_class('activation.relu.ReLU'))
    assert not isinstance(None, node_class('activation.relu.ReLU'))
    assert not isinstance(F.sigmoid(image()).creator, node_class('activation.relu.ReLU'))


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(TypeError):
        node_class('activation.relu.ReLU')(3)
    with pytest.raises(TypeError, match='boundary'):
        node_class('activation.elu.ELU')(boundary=3)
    assert nodes.node_class('activation.relu', 'NoSuch') is None


def test_hooks_see_the_class_and_not_the_functions_inside_of_it() -> None:
    hook = chainer.function_hooks.TimerHook()
    x = chainer.Variable(np.ones((1, 1, 4, 4), 'f'))
    with hook:
        (y,) = nodes.node_class('pooling.average_pooling_2d', 'AveragePooling2D')(2, 2, 0, False).apply((x,))
        y.grad = np.ones_like(y.array)
        y.backward()
    assert [name for name, _ in hook.call_history] == ['AveragePooling2D'] * 2
