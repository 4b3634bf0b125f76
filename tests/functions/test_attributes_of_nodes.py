"""What tools that export graphs read of nodes: the attributes of Chainer's nodes.

The values were recorded with Chainer 7.8.1, where it has the attribute; axes are normalized.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import Parameter, Variable
from tests.functions.checks import bound, outputs_of
from tests.functions.over_cases import over_cases
from tests.functions.row import Case, Row
from tests.functions.table import CASES


def f(*shape: int) -> Variable:
    return Variable(np.linspace(0.5, 1.5, int(np.prod(shape)), dtype=np.float32).reshape(shape))


BOX, INDEX = np.array([[0, 0, 4, 4]], np.float32), np.zeros(1, np.int32)
PLANES = {'sy': 2, 'sx': 1, 'ph': 1, 'pw': 2, 'dy': 1, 'dx': 1, 'cover_all': False, 'groups': 2}
POOL = {'ndim': 2, 'ksize': (3, 2), 'stride': (2, 2), 'pad': (1, 0), 'kh': 3, 'kw': 2, 'sy': 2, 'pw': 0}
NOT_ALL = {'cover_all': False}
ROWS: list[tuple[str, Callable[[], Any], dict[str, Any]]] = [
    (
        'convolution_2d',
        lambda: F.convolution_2d(f(1, 4, 7, 7), f(6, 2, 3, 3), stride=(2, 1), pad=(1, 2), groups=2), PLANES,
    ),
    (
        'convolution_3d', lambda: F.convolution_3d(f(1, 4, 5, 5, 5), f(6, 4, 3, 3, 3), f(6), 2, 1, cover_all=True),
        {
            'ndim': 3, 'stride': (2, 2, 2), 'pad': (1, 1, 1), 'cover_all': True, 'dilate': (1, 1, 1), 'groups': 1,
        },
    ),
    (
        'deconvolution_2d', lambda: F.deconvolution_2d(f(1, 4, 7, 7), f(4, 3, 3, 3), f(6), 2, 1, groups=2),
        {'outh': 13, 'outw': 13, 'groups': 2, 'sy': 2, 'pw': 1},
    ),
    (
        'outsize', lambda: F.deconvolution_2d(f(1, 4, 7, 7), f(4, 3, 3, 3), None, 2, 1, outsize=(14, 13)),
        {'outh': 14, 'outw': 13, 'groups': 1},
    ),
    (
        'deconvolution_3d', lambda: F.deconvolution_3d(f(1, 4, 3, 3, 3), f(4, 3, 3, 3, 3), f(3), 2, 1),
        {'ndim': 3, 'outs': (5, 5, 5), 'stride': (2, 2, 2), 'pad': (1, 1, 1), 'groups': 1},
    ),
    ('max_pooling_2d', lambda: F.max_pooling_2d(f(1, 2, 7, 7), (3, 2), 2, (1, 0), False), POOL | NOT_ALL),
    ('cover_all', lambda: F.max_pooling_2d(f(1, 2, 7, 7), (3, 2), 2, (1, 0)), POOL | {'cover_all': True}),
    ('average_pooling_2d', lambda: F.average_pooling_2d(f(1, 2, 7, 7), (3, 2), 2, (1, 0)), POOL | NOT_ALL),
    (
        'average_pooling_nd', lambda: F.average_pooling_nd(f(1, 2, 5, 5, 5), 2, pad=1, pad_value=None),
        {'ndim': 3, 'ksize': (2, 2, 2), 'pad': (1, 1, 1), 'pad_value': None},
    ),
    (
        'unpooling_2d', lambda: F.unpooling_2d(f(1, 2, 3, 3), (3, 2), 2, (1, 0), cover_all=False),
        {'outh': 5, 'outw': 6, 'cover_all': False, 'kh': 3, 'pw': 0},
    ),
    ('unpooling_3d', lambda: F.unpooling_3d(f(1, 2, 3, 3, 3), 2, cover_all=False), {'outs': (6, 6, 6), 'ndim': 3}),
    (
        'upsampling_2d', lambda: F.upsampling_2d(f(1, 2, 3, 3), np.zeros((1, 2, 3, 3), 'i'), 2, 2, cover_all=False),
        {'outh': 6, 'outw': 6, 'cover_all': False},
    ),
    ('im2col', lambda: F.im2col(f(1, 2, 5, 5), 3, 2, 1, cover_all=True), {'cover_all': True, 'kh': 3, 'sx': 2}),
    ('roi_max', lambda: F.roi_max_pooling_2d(f(1, 2, 8, 8), BOX, INDEX, (3, 2), 0.5), {'outh': 3, 'outw': 2}),
    ('roi_average', lambda: F.roi_average_align_2d(f(1, 2, 8, 8), BOX, INDEX, (3, 2), 0.5, 2), {'outh': 3}),
    ('resize_images', lambda: F.resize_images(f(1, 2, 3, 3), (5, 6)), {'out_H': 5, 'out_W': 6}),
    ('concat', lambda: F.concat([f(2, 3), f(2, 3)]), {'axis': 1}),
    ('split by number', lambda: F.split_axis(f(2, 6), 3, 1)[0], {'indices': None, 'sections': 3, 'axis': 1}),
    (
        'split by indices', lambda: F.split_axis(f(2, 6), [1, 3], 1)[0],
        {'indices': [1, 3], 'sections': None, 'axis': 1, 'indices_or_sections': [1, 3]},
    ),
    ('separate', lambda: F.separate(f(2, 3), 1)[0], {'axis': 1}),
    ('squeeze', lambda: F.squeeze(f(2, 1, 3), 1), {'axis': (1,)}),
    ('squeeze some', lambda: F.squeeze(f(1, 2, 1), 2), {'axis': (2,)}),
    ('squeeze all', lambda: F.squeeze(f(2, 1, 1)), {'axis': (1, 2)}),
    ('expand_dims', lambda: F.expand_dims(f(2, 3), -1), {'axis': 2}),
    ('swapaxes', lambda: F.swapaxes(f(2, 3, 4), 2, 0), {'axis1': 0, 'axis2': 2}),
    ('permutate', lambda: F.permutate(f(2, 3), np.array([2, 0, 1]), 1), {'indices': [2, 0, 1], 'axis': 1}),
    ('pad', lambda: F.pad(f(2, 3), ((1, 0), (2, 3)), 'constant'), {'pad_bw': [[1, 0], [2, 3]], 'mode': 'constant'}),
    ('pad by one number', lambda: F.pad(f(2, 3), 1, 'edge'), {'pad_bw': [[1, 1], [1, 1]], 'mode': 'edge'}),
    ('where', lambda: F.where(np.array([True, False]), f(2), f(2)), {'condition': [True, False]}),
    ('cast', lambda: F.cast(f(2), 'd'), {'type': np.dtype('d')}),
    ('as_strided', lambda: F.as_strided(f(3, 3), (2,), (3,), 1), {'storage_offset': 1, 'strides': (3,)}),
    ('copy', lambda: F.copy(f(2), '@numpy'), {'out_device': chainer.get_device('@numpy')}),
    ('clipped_relu', lambda: F.clipped_relu(f(2), 3.0), {'cap': 3.0}),
    ('softplus', lambda: F.softplus(f(2), 2.0), {'beta': 2.0, 'beta_inv': 0.5}),
    ('add', lambda: f(2) + 2.5, {'value': 2.5}),
    ('multiply', lambda: f(2) * 2.5, {'value': 2.5}),
    ('power', lambda: f(2) ** 2.0, {'value': 2.0}),
    ('selu', lambda: F.selu(f(2)), {'value': 1.0507009873554804934}),
    ('sum of many', lambda: F.add(f(2), f(2), f(2)), {'len': 3}),
    ('matmul', lambda: F.matmul(f(2, 3), f(2, 4), transa=True), {'transa': True, 'transb': False, 'transc': False}),
    ('batch_normalization', lambda: F.batch_normalization(f(4, 3), f(3), f(3)), {'axis': (0,), 'key_axis': (1,)}),
    (
        'fixed_batch_normalization', lambda: F.fixed_batch_normalization(f(4, 3, 2, 2), f(3), f(3), f(3), f(3), 1e-3),
        {'axis': (0, 2, 3), 'key_axis': (1,), 'eps': 1e-3},
    ),
    ('dropout', lambda: F.dropout(f(100), 0.3), {'dropout_ratio': 0.3}),
    ('embed_id', lambda: F.embed_id(INDEX, f(4, 3)), {'ignore_label': None}),
    ('ignore_label', lambda: F.embed_id(INDEX, f(4, 3), ignore_label=2), {'ignore_label': 2}),
]  # fmt: skip


@pytest.mark.parametrize(('call', 'expected'), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
@pytest.mark.parametrize('debug', [False, True], ids=['short form', 'general form'])
def test_attributes(call: Callable[[], Any], expected: dict[str, Any], debug: bool) -> None:
    with chainer.using_config('debug', debug), chainer.using_config('train', True):
        node = call().creator_node
    for name, value in expected.items():
        np.testing.assert_array_equal(getattr(node, name), value, err_msg=name)


MOVES = {
    'rollaxis': (lambda x: F.rollaxis(x, 2, 1), lambda node, x: np.rollaxis(x, node.axis, node.start)),
    'rollaxis to the end': (lambda x: F.rollaxis(x, 0, 4), lambda node, x: np.rollaxis(x, node.axis, node.start)),
    'moveaxis': (lambda x: F.moveaxis(x, 0, -1), lambda node, x: np.moveaxis(x, node.source, node.destination)),
    'moveaxis of two': (
        lambda x: F.moveaxis(x, (0, 1), (-1, 0)), lambda node, x: np.moveaxis(x, node.source, node.destination),
    ),
    'swapaxes': (lambda x: F.swapaxes(x, -1, 0), lambda node, x: np.swapaxes(x, node.axis1, node.axis2)),
    'swap nothing': (lambda x: F.swapaxes(x, 1, 1), lambda node, x: np.swapaxes(x, node.axis1, node.axis2)),
    'permutate': (
        lambda x: F.permutate(x, np.array([2, 0, 1], 'i'), 1, inv=True),
        lambda node, x: np.take(x, node.indices if not node.inv else np.argsort(node.indices), node.axis),
    ),
}  # fmt: skip


@pytest.mark.parametrize('move', MOVES)
def test_attributes_describe_the_same_move(move: str) -> None:
    call, again = MOVES[move]
    x = f(2, 3, 4, 5)
    y = call(x)
    np.testing.assert_array_equal(again(y.creator_node, x.array), y.array)


@pytest.mark.parametrize('name', ['cap', 'out_H', 'groups', 'indices', 'value', 'nonsense'])
def test_other_nodes_do_not_have_them(name: str) -> None:
    assert not hasattr(F.tanh(f(2)).creator_node, name)


def test_a_node_that_is_not_in_a_graph_has_none() -> None:
    y = F.squeeze(f(2, 1, 3), 1)
    node = y.creator_node
    y.unchain()
    assert not hasattr(node, 'axis')
    with pytest.raises(AttributeError, match="'Squeeze' object has no attribute 'axis'"):
        node.axis  # noqa: B018


# --- inputs --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize('ignore_label', [None, 1])
def test_indices_of_embeddings_are_an_input(ignore_label: int | None) -> None:
    x, W = Variable(np.array([0, 2])), Parameter(f(4, 3).array)
    node = F.embed_id(x, W, ignore_label).creator_node
    assert node.inputs[0] is x.node and node.inputs[1] is W.node
    np.testing.assert_array_equal(node.inputs[0].data, x.array)


def test_indices_of_embeddings_that_were_an_array() -> None:
    W = Parameter(f(4, 3).array)
    y = F.embed_id(np.array([0, 2]), W)
    ids, weights = y.creator_node.inputs
    assert ids.get_variable_or_none() is None and not ids.requires_grad and weights is W.node
    np.testing.assert_array_equal(ids.data, [0, 2])
    assert (ids.shape, ids.dtype) == ((2,), np.dtype(int))
    F.sum(y).backward()
    np.testing.assert_array_equal(W.grad[:, 0], [1, 0, 1, 0])


@pytest.mark.parametrize('train', [True, False])
def test_inputs_of_batch_normalization(train: bool) -> None:
    x, link = f(4, 3, 2, 2), L.BatchNormalization(3)
    with chainer.using_config('train', train):
        node = link(x).creator_node
    found = [i.get_variable() for i in node.inputs]
    assert all(a is b for a, b in zip(found, [x, link.gamma, link.beta], strict=False))
    assert [a.shape for a in found] == [x.shape] + [(3,)] * (2 if train else 4)
    for a, b in zip(found[3:], (link.avg_mean, link.avg_var), strict=False):
        np.testing.assert_array_equal(a.array, b)


def test_a_copy_for_another_application_has_inputs_of_its_own() -> None:
    x, W = Variable(np.array([0, 2])), Parameter(f(4, 3).array)
    clone = copy.copy(F.embed_id(x, W).creator_node)
    assert clone._unapplied().index_edge is None


@over_cases([(row, case) for _, row, case in CASES if row.order and case is row.cases[0]])
def test_what_every_node_has(row: Row, case: Case) -> None:
    """Arrays that are kept are those of the outputs; all else can be read."""
    function, xs = bound(row, case, row.draw(case))
    ys = outputs_of(function(*map(Variable, xs)))
    node = ys[0].creator_node
    if node is None:
        return
    alive = {y.node: y.array for y in ys}
    for kept, output in zip(node.output_data, node.outputs, strict=True):
        assert kept is None or output() not in alive or np.array_equal(kept, alive[output()], equal_nan=True)
    assert node.rank >= 0 and node.label and len(node.input_layouts) == len(node.inputs)


@pytest.mark.parametrize('function', [F.relu, F.tanh, F.exp, F.sqrt, F.sigmoid, F.softmax, F.log_softmax, F.max])
def test_outputs_that_chainer_retains(function: Callable[[Any], Any]) -> None:
    y = function(f(2, 3))
    (kept,) = y.creator_node.output_data
    assert np.array_equal(kept, y.array)
