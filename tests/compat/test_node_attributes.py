"""Labels and attributes of Chainer's node classes, and nodes of gradients that can be made, by figures of 7.8.1."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer.compat import nodes
from tests.compat.test_node_classes import CASES, CLASSES, NOT_HERE, _inputs, _made, node_class

_RECORDED = json.loads((Path(__file__).parents[1] / 'reference' / 'node_attributes.json').read_text(encoding='utf-8'))
ATTRIBUTES: dict[str, dict[str, Any]] = _RECORDED['attributes']
LABELS: dict[str, str] = _RECORDED['labels']

#: Attributes that there are not, or of another form, by the reason.
LEFT_OUT = {
    'flags of cuDNN': """
        connection.convolution_2d.Convolution2DFunction.cudnn_fast
        normalization.batch_normalization.BatchNormalization.forward_data
        normalization.group_normalization.GroupNormalization.dummy_gamma
        pooling.average_pooling_nd.AveragePoolingND.is_cudnn_used pooling.average_pooling_nd.AveragePoolingND.width
        pooling.max_pooling_nd.MaxPoolingND.is_cudnn_used pooling.unpooling_nd.UnpoolingND.is_cudnn_used
    """,
    'arrays of one implementation': """
        loss.cross_covariance.CrossCovariance.covariance loss.cross_covariance.CrossCovariance.y_centered
        loss.cross_covariance.CrossCovariance.z_centered loss.decov.DeCov.covariance loss.decov.DeCov.h_centered
        loss.hinge.Hinge.bottom_diff math.tensordot.TensorDot.a_axes math.tensordot.TensorDot.b_axes
        math.tensordot.TensorDot.c_axes normalization.batch_renormalization.BatchRenormalizationFunction.r
        normalization.batch_renormalization.BatchRenormalizationFunction.std
        normalization.batch_renormalization.BatchRenormalizationFunction.x_hat
        normalization.batch_renormalization.BatchRenormalizationFunction.x_hat_renorm
        normalization.group_normalization.GroupNormalization.inv_std
        normalization.group_normalization.GroupNormalization.mean
        normalization.local_response_normalization.LocalResponseNormalization.indexes
        normalization.local_response_normalization.LocalResponseNormalization.scale
        normalization.local_response_normalization.LocalResponseNormalization.unit_scale
        pooling.roi_max_pooling_2d.ROIMaxPooling2D.argmax_data pooling.roi_pooling_2d.ROIPooling2D.argmax_data
        rnn.tree_lstm.TreeLSTM.a rnn.tree_lstm.TreeLSTM.c rnn.tree_lstm.TreeLSTM.fs rnn.tree_lstm.TreeLSTM.i
        rnn.tree_lstm.TreeLSTM.o
    """,
    'the dtype of the output, as nodes here have': """
        math.matmul.MatMul.dtype math.sparse_matmul.CooMatMul.dtype math.tensordot.TensorDot.dtype
    """,
    'the mask may be that of the product': 'noise.simplified_dropconnect.SimplifiedDropconnect.mask',
}
#: Attributes of classes that the package has itself.
OF_THE_PACKAGE = {'evaluation.binary_accuracy.BinaryAccuracy.ignore_label'}
MAY_DIFFER = {name for names in LEFT_OUT.values() for name in names.split()}


def plain(value: Any) -> Any:
    """An attribute as the file of figures has it."""
    if isinstance(value, np.ndarray):
        return ['A', list(value.shape), value.ravel().tolist()]
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        return [plain(x) for x in value]
    if isinstance(value, slice):
        return 'slice'
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)


def same(found: Any, expected: Any) -> bool:
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(expected, float):
        return isinstance(found, (int, float)) and bool(np.isclose(found, expected, rtol=1e-5, atol=1e-7))
    return bool(found == expected)


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize('case', CASES, ids=lambda case: f'{case["cls"]}({case["args"]})')
def test_attributes_are_those_of_chainers_node(case: dict[str, Any]) -> None:
    function = _made(case)
    function.apply(_inputs(case))
    different = {
        f'{case["cls"]}.{name}'
        for name, value in ATTRIBUTES[f'{case["cls"]}({case["args"]})'].items()
        if not same(plain(getattr(function, name, 'absent')), value)
    }
    assert different - OF_THE_PACKAGE <= MAY_DIFFER


def test_what_is_left_out_is_an_attribute_of_chainers() -> None:
    known = {f'{case.partition("(")[0]}.{name}' for case, names in ATTRIBUTES.items() for name in names}
    assert known >= MAY_DIFFER
    rows = {f'{path}.{cls}.{name}' for (path, cls), names in nodes.attributes().items() for name in names}
    assert rows - known <= {f'{cls}.node' for cls in nodes.OF_OLD_STYLE.split()} | {
        'pooling.roi_max_align_2d.ROIMaxAlign2D.sampling_ratio'
    }


def test_an_attribute_of_arrays_needs_an_applied_node() -> None:
    function = node_class('loss.absolute_error.AbsoluteError')()
    assert not hasattr(function, 'diff')
    with pytest.raises(AttributeError, match='before it is applied'):
        _ = function.diff
    function.apply((np.ones(2), np.zeros(2)))
    np.testing.assert_array_equal(function.diff, [1, 1])


# --- labels --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize('path', [path for path in CLASSES if path not in NOT_HERE])
def test_each_class_has_chainers_label(path: str) -> None:
    cls = node_class(path)
    if '{}' in cls.row.label:
        assert any(case.startswith(f'{path}(') for case in _RECORDED['labels_of_constants'])
        return
    assert cls.__new__(cls).label == LABELS.get(path, path.rpartition('.')[2])


@pytest.mark.parametrize('case', _RECORDED['labels_of_constants'])
def test_labels_tell_constants(case: str) -> None:
    path, _, value = case.removesuffix(')').partition('(')
    assert node_class(path)(eval(value)).label == _RECORDED['labels_of_constants'][case]


def test_a_subclass_has_the_label_of_its_class() -> None:
    class Shifted(node_class('math.basic_math.AddConstant')):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(-1)

    class Own(node_class('activation.relu.ReLU')):  # type: ignore[misc]
        pass

    assert (Shifted().label, Own().label) == ('_ + (-1)', 'Own')


# --- nodes of gradients, and of einsum -----------------------------------------------------------------------------


def _array(seed: int, *shape: int) -> Any:
    return np.asarray(np.random.RandomState(seed).uniform(0.2, 0.9, shape))


@pytest.mark.parametrize('case', _RECORDED['cases'], ids=lambda case: f'{case["cls"]}({case["args"]}) {case["none"]}')
def test_a_node_of_gradients_computes_what_chainers_does(case: dict[str, Any]) -> None:
    function = eval(f'cls({case["args"]})', {'cls': node_class(case['cls']), 'np': np, 'arr': _array})
    given = [None if i in case['none'] else _array(i, *shape) for i, shape in enumerate(case['inputs'])]
    xs = [None if x is None else chainer.Variable(x) for x in given]
    ys = function.apply(xs)
    assert function.label == case['label']
    assert [list(y.shape) for y in ys] == case['shapes']
    for i, y in enumerate(ys):
        np.testing.assert_allclose(y.array.ravel(), case['y'][i], rtol=1e-6)
        y.grad = _array(50 + i, *y.shape)
    chainer.backward(list(ys))
    for x, expected in zip(xs, case['gx'], strict=True):
        if x is not None and expected is not None:
            np.testing.assert_allclose(x.grad.ravel(), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize('case', _RECORDED['cases'], ids=lambda case: f'{case["cls"]}({case["args"]}) {case["none"]}')
def test_nodes_of_gradients_are_differentiable_twice(case: dict[str, Any]) -> None:
    given = [_array(i, *shape) for i, shape in enumerate(case['inputs'])]
    present = [i for i in range(len(given)) if i not in case['none']]

    def function(*xs: Any) -> Any:
        values = dict(zip(present, xs, strict=True))
        made = eval(f'cls({case["args"]})', {'cls': node_class(case['cls']), 'np': np, 'arr': _array})
        return made.apply([values.get(i) for i in range(len(given))])

    report = chainer.gradient_check.check_gradients(function, tuple(given[i] for i in present), order=2, seed=1)
    assert report.verdict == 'pass', report


def test_a_gradient_of_lstm_is_that_of_its_node() -> None:
    c, x = _array(0, 2, 3), _array(1, 2, 12)
    c_next, h = F.lstm(chainer.Variable(c), chainer.Variable(x))
    inputs = [chainer.Variable(c), chainer.Variable(x)]
    outputs = list(F.lstm(*inputs))
    gc, gh = _array(2, 2, 3), _array(3, 2, 3)
    grads = chainer.grad(outputs, inputs, [chainer.Variable(gc), chainer.Variable(gh)])
    found = node_class('rnn.lstm.LSTMGrad')()(c, x, c_next.array, gc, gh)
    for y, expected in zip(found, grads, strict=True):
        np.testing.assert_allclose(y.array, expected.array)
    assert h.shape == (2, 3)


def test_einsum_of_the_graph_is_not_that_of_a_diagonal() -> None:
    y = F.einsum('ij->ji', chainer.Variable(np.ones((2, 3))))
    assert isinstance(y.creator, node_class('math.einsum.EinSum'))
    assert not isinstance(y.creator, node_class('math.einsum.DiagEinSum'))
    assert issubclass(node_class('math.einsum.DiagEinSum'), node_class('math.einsum.EinSum'))


# --- classes of the old style --------------------------------------------------------------------------------------


def test_a_call_of_an_old_function_gives_a_variable() -> None:
    hinge = node_class('loss.hinge.Hinge')()
    y = hinge(np.array([[0.5, -1.0]]), np.array([0], 'i'))
    assert isinstance(y, chainer.Variable)
    assert hinge.node is hinge
    both = node_class('rnn.tree_lstm.TreeLSTM')()(*[np.ones((1, 2), 'f')] * 2, np.ones((1, 10), 'f'))
    assert isinstance(both, tuple) and len(both) == 2
    assert isinstance(node_class('activation.relu.ReLU')()(np.ones(2)), tuple)
    assert not hasattr(node_class('activation.relu.ReLU')(), 'node')


def test_r2_score_takes_chainers_arguments() -> None:
    from minichainer.functions.evaluation.r2_score import R2_score

    node = R2_score(None, 'uniform_average')
    (score,) = node.apply((np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 5.0])))
    np.testing.assert_allclose(score.array, F.r2_score(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 5.0])).array)
    assert (node.sample_weight, node.multioutput) == (None, 'uniform_average')


@pytest.mark.parametrize('ratio', [0.0, 0.3, 1.0])
def test_flags_of_zoneout_choose_between_the_states(ratio: float) -> None:
    h, x = _array(0, 3, 4), _array(1, 3, 4)
    y = F.zoneout(chainer.Variable(h), chainer.Variable(x), ratio)
    creator: Any = y.creator
    assert creator.flag_h.dtype == creator.flag_x.dtype == bool
    np.testing.assert_array_equal(creator.flag_h ^ creator.flag_x, True)
    np.testing.assert_array_equal(y.array, h * creator.flag_h + x * creator.flag_x)


@pytest.mark.parametrize('reduce', ['mean', 'no'])
def test_scores_of_the_cross_entropy_are_kept_if_asked_for(reduce: str) -> None:
    x, t = chainer.Variable(_array(0, 2, 3)), np.array([0, 2], 'i')
    kept = F.softmax_cross_entropy(x, t, reduce=reduce)
    np.testing.assert_allclose(kept.creator.y, F.softmax(x).array)
    for function in (
        F.softmax_cross_entropy(x, t, reduce=reduce, cache_score=False).creator,
        node_class('loss.softmax_cross_entropy.SoftmaxCrossEntropy')(cache_score=False, reduce=reduce),
    ):
        if isinstance(function, nodes.LegacyNode):
            function.apply((x, t))
        assert function.y is None
    without = F.softmax_cross_entropy(x, t, reduce=reduce, cache_score=False)
    gradients = [chainer.grad([F.sum(y)], [x])[0].array for y in (kept, without)]
    np.testing.assert_array_equal(*gradients)
    assert isinstance(without.creator, node_class('loss.softmax_cross_entropy.SoftmaxCrossEntropy'))
