"""CaffeFunction: every type of layer in both file formats, and files that are wrong."""

from __future__ import annotations

import builtins
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer.links.caffe import CaffeFunction
from minichainer.links.caffe._schema import net_parameter
from minichainer.links.model.vision import googlenet, resnet
from tests.links.caffe_files import NUMBERS, layer, write
from tests.links.vision_figures import fill

message = pytest.importorskip('google.protobuf.message')
RNG = np.random.RandomState(0)


def draw(*shape: int) -> np.ndarray:
    return RNG.uniform(-1, 1, shape).astype('f')


X, OTHER = draw(2, 4, 6, 6), draw(2, 4, 6, 6)
W, B, W1, SQUARE = draw(3, 4, 3, 3), draw(3), draw(6, 2, 3, 2), draw(6, 6)
DW, DG, DB = draw(4, 3, 3, 3), draw(4, 3, 3, 3), draw(6)
FC, GAMMA, BETA, PAIR = draw(3, 144), draw(4), draw(4), draw(2)
MEAN, VARIANCE = draw(4), draw(4) ** 2 + 0.5
LABELS, LOGITS = np.array([0, 1, 4], 'i'), draw(3, 5)


def grouped(f: Any, x: Any, W: Any, axis: int, **options: Any) -> Any:
    """A convolution of each group of channels by itself."""
    parts = zip(np.split(x, 2, 1), np.split(W, 2), strict=True)
    return F.concat([f(part, filters, **options) for part, filters in parts])


def normalized(x: Any, eps: float, factor: float) -> Any:
    mean, variance = MEAN[:, None, None] / factor, VARIANCE[:, None, None] / factor
    return (x - mean) / np.sqrt(variance + eps)


def conv(**options: Any) -> Any:
    return {'convolution_param': {'num_output': 3, **options}}


def ave(**options: Any) -> Any:
    return {'pooling_param': {'pool': 1, **options}}


#: A layer, its formula, and whether files of 2013 can have it.
LAYERS: dict[str, Any] = {
    'Convolution': (
        layer('Convolution', blobs=[W, B], **conv(kernel_size=[3], stride=[2], pad=[1])),
        lambda x: F.convolution_2d(x, W, B, 2, 1), True,
    ),
    'Convolution, two sizes': (
        layer('Convolution', blobs=[W, B], **conv(kernel_size=[3, 3], stride=[1, 2])),
        lambda x: F.convolution_2d(x, W, B, (1, 2)), True,
    ),
    'Convolution, dilated': (
        layer('Convolution', blobs=[W], **conv(kernel_size=[3], dilation=[2], bias_term=False)),
        lambda x: F.convolution_2d(x, W, dilate=2), True,
    ),
    'Convolution, groups': (
        layer(
            'Convolution', blobs=[W1],
            **conv(num_output=6, kernel_h=3, kernel_w=2, stride_h=2, stride_w=1, pad_h=1, pad_w=0, group=2,
                   bias_term=False),
        ),
        lambda x: grouped(F.convolution_2d, x, W1, 0, stride=(2, 1), pad=(1, 0)), True,
    ),
    'Deconvolution': (
        layer('Deconvolution', blobs=[DW, B], **conv(kernel_size=[3], stride=[2], pad=[1])),
        lambda x: F.deconvolution_2d(x, DW, B, 2, 1), True,
    ),
    'Deconvolution, groups': (
        layer('Deconvolution', blobs=[DG, DB], **conv(num_output=6, kernel_size=[3], group=2)),
        lambda x: grouped(F.deconvolution_2d, x, DG, 1) + DB[:, None, None], True,
    ),
    'InnerProduct': (
        layer('InnerProduct', blobs=[FC, B], inner_product_param={'num_output': 3}),
        lambda x: F.linear(x, FC, B), True,
    ),
    'InnerProduct, no bias': (
        layer('InnerProduct', blobs=[FC], inner_product_param={'num_output': 3, 'bias_term': False}),
        lambda x: F.linear(x, FC), True,
    ),
    'LRN': (
        layer('LRN', lrn_param={'local_size': 3, 'alpha': 0.5, 'beta': 0.6, 'k': 2.0}),
        lambda x: F.local_response_normalization(x, 3, 2, 0.5 / 3, 0.6), True,
    ),
    'LRN, defaults': (layer('LRN'), lambda x: F.local_response_normalization(x, 5, 1, 0.2, 0.75), True),
    'Pooling, max': (
        layer('Pooling', pooling_param={'kernel_size': 3, 'stride': 2, 'pad': 1}),
        lambda x: F.max_pooling_2d(x, 3, 2, 1), True,
    ),
    'Pooling, average': (
        layer('Pooling', **ave(kernel_h=3, kernel_w=2, stride_h=2, stride_w=1, pad_h=1, pad_w=1)),
        lambda x: F.average_pooling_2d(x, (3, 2), (2, 1), 1), True,
    ),
    'Pooling, global': (layer('Pooling', **ave(global_pooling=True)), lambda x: x.mean((2, 3), keepdims=True), True),
    'ReLU': (layer('ReLU'), lambda x: np.maximum(x, 0), True),
    'ReLU, leaky': (layer('ReLU', relu_param={'negative_slope': 0.25}), lambda x: np.where(x > 0, x, x / 4), True),
    'Reshape': (layer('Reshape', reshape_param={'shape': {'dim': [2, -1]}}), lambda x: x.reshape(2, -1), False),
    'Reshape, kept sizes': (
        layer('Reshape', reshape_param={'shape': {'dim': [0, 8, -1]}}), lambda x: x.reshape(2, 8, 18), False,
    ),
    'Reshape, some axes': (
        layer('Reshape', reshape_param={'shape': {'dim': [2, 2]}, 'axis': 1, 'num_axes': 1}),
        lambda x: x.reshape(2, 2, 2, 6, 6), False,
    ),
    'Reshape, axis from the end': (
        layer('Reshape', reshape_param={'shape': {'dim': [1]}, 'axis': -1, 'num_axes': 0}),
        lambda x: x[..., None], False,
    ),
    'BatchNorm': (layer('BatchNorm', blobs=[MEAN, VARIANCE, [2.0]]), lambda x: normalized(x, 1e-5, 2), False),
    'BatchNorm, options': (
        layer('BatchNorm', blobs=[MEAN, VARIANCE], batch_norm_param={'eps': 0.1, 'use_global_stats': True}),
        lambda x: normalized(x, 0.1, 1), False,
    ),
    'Eltwise, sum': (layer('Eltwise', bottom=['x', 'z']), lambda x: x + OTHER, True),
    'Eltwise, coefficients': (
        layer('Eltwise', bottom=['x', 'z'], eltwise_param={'coeff': [1, -2]}), lambda x: x - 2 * OTHER, True,
    ),
    'Eltwise, product': (
        layer('Eltwise', bottom=['x', 'z'], eltwise_param={'operation': 0}), lambda x: x * OTHER, True,
    ),
    'Eltwise, maximum': (
        layer('Eltwise', bottom=['x', 'z'], eltwise_param={'operation': 2}), lambda x: np.maximum(x, OTHER), True,
    ),
    'Scale': (
        layer('Scale', blobs=[GAMMA, BETA], scale_param={'bias_term': True}),
        lambda x: x * GAMMA[:, None, None] + BETA[:, None, None], False,
    ),
    'Scale, axis': (
        layer('Scale', blobs=[SQUARE], scale_param={'axis': 2, 'num_axes': 2}), lambda x: x * SQUARE, False,
    ),
    'Scale, two inputs': (
        layer('Scale', bottom=['x', 'v'], blobs=[PAIR], scale_param={'axis': 0, 'bias_term': True}),
        lambda x: x * BETA[:2, None, None, None] + PAIR[:, None, None, None], False,
    ),
    'Sigmoid': (layer('Sigmoid'), lambda x: 1 / (1 + np.exp(-x)), True),
    'Softmax': (layer('Softmax'), lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True), True),
    'Dropout': (layer('Dropout', dropout_param={'dropout_ratio': 0.3}), lambda x: x, True),
    'Concat': (layer('Concat', bottom=['x', 'z']), lambda x: np.concatenate([x, OTHER], 1), True),
    'Concat, axis': (
        layer('Concat', bottom=['x', 'z'], concat_param={'axis': 2}), lambda x: np.concatenate([x, OTHER], 2), False,
    ),
    'Concat, dim': (
        layer('Concat', bottom=['x', 'z'], concat_param={'concat_dim': 3}), lambda x: np.concatenate([x, OTHER], 3),
        True,
    ),
    'Slice': (layer('Slice', top=['w', 'y']), lambda x: x[:, 2:], True),
    'Slice, points': (
        layer('Slice', top=['w', 'y', 'u'], slice_param={'axis': 2, 'slice_point': [1, 3]}), lambda x: x[:, :, 1:3],
        False,
    ),
    'Slice, dim': (layer('Slice', top=['w', 'y'], slice_param={'slice_dim': 3}), lambda x: x[..., 3:], True),
    'SoftmaxWithLoss': (
        layer('SoftmaxWithLoss', bottom=['l', 't']), lambda x: F.softmax_cross_entropy(LOGITS, LABELS), True,
    ),
    'Split': (layer('Split', top=['w', 'y']), lambda x: x, True),
}  # fmt: skip
INPUTS = {'x': X, 'z': OTHER, 'v': BETA[:2], 'l': LOGITS, 't': LABELS}


@pytest.mark.parametrize('old', [False, True], ids=['of today', 'of 2013'])
@pytest.mark.parametrize('name', LAYERS)
def test_a_layer_is_its_formula(tmp_path: Path, name: str, old: bool) -> None:
    given, formula, has_old = LAYERS[name]
    if old and not has_old:
        pytest.skip('newer than the old format')
    func = CaffeFunction(write(tmp_path / 'a.caffemodel', given, old=old))
    with chainer.using_config('train', False):
        (y,) = func(inputs=INPUTS, outputs=['y'])
    expected = getattr(formula(X), 'array', formula(X))
    np.testing.assert_allclose(y.array, expected, rtol=1e-4, atol=1e-5)
    assert y.dtype == np.float32


def test_names_of_weights(tmp_path: Path) -> None:
    scale = layer('Scale', 'c', 'h', 'y', [draw(6), draw(6)], scale_param={'bias_term': True})
    first = layer('Convolution', 'a/b', 'x', 'h', [W1, DB], **conv(num_output=6, kernel_h=3, kernel_w=2, group=2))
    func = CaffeFunction(write(tmp_path / 'a.caffemodel', first, scale))
    shapes = {path: param.shape for path, param in func.namedparams()}
    assert shapes == {'/a/b/W': (6, 4, 3, 2), '/a/b/b': (6,), '/c/W': (6,), '/c/bias/b': (6,)}
    assert func.layers == [('a/b', ['x'], ['h']), ('c', ['h'], ['y'])]
    assert func.forwards == {'a/b': func['a/b'], 'c': func.c}
    chainer.serializers.save_npz(tmp_path / 'a.npz', func)
    chainer.serializers.load_npz(tmp_path / 'a.npz', func)


def test_batch_normalization_obeys_its_options_and_the_mode(tmp_path: Path) -> None:
    def statistics(**options: Any) -> Any:
        given = layer('BatchNorm', blobs=[MEAN, VARIANCE, [0.0]], batch_norm_param=options)
        func = CaffeFunction(write(tmp_path / 'a.caffemodel', given))
        func(inputs={'x': X}, outputs=['y'])
        return func.a

    assert not statistics(use_global_stats=True).avg_mean.any(), 'a factor of 0 stands for no statistics'
    learning = statistics(moving_average_fraction=0.75)
    np.testing.assert_allclose(learning.avg_mean, X.mean((0, 2, 3)) / 4, rtol=1e-5)
    assert learning.eps == pytest.approx(1e-5, rel=1e-6)


@pytest.fixture
def chain(tmp_path: Path) -> CaffeFunction:
    """data -> split -> conv (h) -> relu in place -> sigmoid (y); also sum (s) of h and what the split gives."""
    square = draw(4, 4, 1, 1)
    return CaffeFunction(
        write(
            tmp_path / 'chain.caffemodel',
            layer('Input', 'data', [], 'data'),
            layer('Split', 'split', 'data', ['d0', 'd1']),
            layer('Convolution', 'conv', 'd0', 'h', [square], **conv(num_output=4, kernel_size=[1], bias_term=False)),
            layer('ReLU', 'relu', 'h', 'h'),
            layer('Sigmoid', 'sigmoid', 'h', 'y'),
            layer('Eltwise', 'sum', ['h', 'd1'], 's'),
        )
    )


def test_parts_of_a_network(chain: CaffeFunction) -> None:
    assert chain.split_map == {'d0': 'data', 'd1': 'data'}
    h, y, s, d = chain({'data': X}, ['h', 'y', 's', 'd1'])
    np.testing.assert_allclose(h.array, F.relu(F.convolution_2d(X, chain.conv.W)).array, rtol=1e-5)
    np.testing.assert_allclose(s.array, h.array + X, rtol=1e-5)
    np.testing.assert_array_equal(d.array, X)
    (inner,) = chain(inputs={'h': OTHER}, outputs=['y'])
    np.testing.assert_allclose(inner.array, F.sigmoid(F.relu(OTHER)).array, rtol=1e-5)
    (without,) = chain({'data': X}, ['y'], disable=['relu'])
    np.testing.assert_allclose(without.array, F.sigmoid(F.convolution_2d(X, chain.conv.W)).array, rtol=1e-5)
    F.sum(y).backward()
    assert chain.conv.W.grad is not None
    assert chain({'data': X}, []) == ()


@pytest.mark.parametrize('again', [lambda f: f.copy('copy'), lambda f: pickle.loads(pickle.dumps(f.copy('copy')))])
def test_a_copy_computes_with_its_own_weights(chain: CaffeFunction, again: Any) -> None:
    chain.forwards['sum'] = F.add
    copied = again(chain)
    (before,) = chain({'data': X}, ['s'])
    copied.conv.W.array[...] = 0
    np.testing.assert_array_equal(chain({'data': X}, ['s'])[0].array, before.array)
    np.testing.assert_allclose(copied({'data': X}, ['s'])[0].array, X, rtol=1e-6)


@pytest.mark.parametrize(
    ('args', 'kwargs', 'error', 'text'),
    [
        (({'data': X}, ['q']), {}, KeyError, "'q' cannot be computed: no layer has such an output"),
        (({}, ['y']), {}, KeyError, "'y' cannot be computed: its layer, or one before it, is disabled or lacks"),
        (({'data': X}, ['y'], ['conv']), {}, KeyError, "'y' cannot be computed: its layer, or one before it"),
        (({'data': X}, ['y']), {'train': False}, ValueError, 'train argument is not supported anymore'),
        (({'data': X}, ['y']), {'other': False}, TypeError, 'other'),
    ],
)
def test_wrong_calls(chain: CaffeFunction, args: Any, kwargs: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=re.escape(text)):
        chain(*args, **kwargs)


# --- files that are wrong ------------------------------------------------------------------------------------------
WRONG: dict[str, Any] = {
    'unknown type': (layer('Flip', 'f'), RuntimeError, 'layer "f" of type Flip: this type is not supported'),
    'TanH': (layer('TanH'), RuntimeError, 'layer "a" of type TanH: this type is not supported'),
    'no weights': (layer('Convolution', **conv(kernel_size=[3])), ValueError, 'expected 2 blobs of weights, got 0'),
    'num_output': (layer('Convolution', blobs=[W, B], **conv(num_output=5)), ValueError, 'num_output is 5'),
    'groups': (layer('Convolution', blobs=[W, B], **conv(group=2)), ValueError, 'cannot be split into 2 groups'),
    'biases': (layer('Convolution', blobs=[W, DB], **conv()), ValueError, 'expected 3 biases, got 6'),
    'axis': (
        layer('InnerProduct', blobs=[FC, B], inner_product_param={'num_output': 3, 'axis': 2}), RuntimeError,
        'Non-default axis in InnerProduct',
    ),
    'transposed': (
        layer('InnerProduct', blobs=[FC, B], inner_product_param={'num_output': 3, 'transpose': True}), RuntimeError,
        'Transposed weights',
    ),
    'LRN': (layer('LRN', lrn_param={'norm_region': 1}), RuntimeError, 'Within-channel LRN is not supported'),
    'stochastic': (layer('Pooling', pooling_param={'pool': 2}), RuntimeError, 'Stochastic pooling is not supported'),
    'no kernel': (layer('Pooling'), ValueError, 'kernel_size of the pooling is missing'),
    'softmax': (layer('Softmax', softmax_param={'axis': 2}), RuntimeError, 'Softmax along non-channel axis'),
    'coefficients': (layer('Eltwise', eltwise_param={'coeff': [1, 2]}), ValueError, '2 coefficients for 1 inputs'),
    'operation': (layer('Eltwise', eltwise_param={'operation': 9}), RuntimeError, 'Eltwise operation 9'),
}  # fmt: skip


@pytest.mark.parametrize('name', WRONG)
def test_layers_that_cannot_be_read_are_named(tmp_path: Path, name: str) -> None:
    given, error, text = WRONG[name]
    with pytest.raises(error, match=re.escape(text)) as caught:
        CaffeFunction(write(tmp_path / 'a.caffemodel', given))
    assert f'CaffeFunction: layer "{given["name"]}" of type {given["type"]}' in str(caught.value)


def test_numbers_that_do_not_fit_a_shape(tmp_path: Path) -> None:
    path = write(
        tmp_path / 'a.caffemodel', layer('InnerProduct', blobs=[FC], inner_product_param={'bias_term': False})
    )
    net = net_parameter().FromString(path.read_bytes())
    net.layer[0].blobs[0].data[0] = net.layer[0].blobs[0].data[0][:-4]
    path.write_bytes(net.SerializeToString())
    with pytest.raises(ValueError, match=re.escape('layer "a" of type InnerProduct: 431 numbers do not fit')):
        CaffeFunction(path)


def test_double_numbers(tmp_path: Path) -> None:
    options = {'num_output': 3, 'bias_term': False}
    path = write(tmp_path / 'a.caffemodel', layer('InnerProduct', blobs=[FC], inner_product_param=options))
    net = net_parameter().FromString(path.read_bytes())
    blob = net.layer[0].blobs[0]
    blob.ClearField('data')
    blob.double_data.append(FC.astype('<f8').tobytes())
    path.write_bytes(net.SerializeToString())
    np.testing.assert_array_equal(CaffeFunction(path).a.W.array, FC)


def test_layers_that_only_judge_are_left_out_with_a_warning(tmp_path: Path) -> None:
    path = write(tmp_path / 'a.caffemodel', layer('ReLU', top='r'), layer('Accuracy', 'j', 'r'))
    with pytest.warns(UserWarning, match='leaves out layer "j" of type Accuracy'):
        func = CaffeFunction(path)
    assert list(func.forwards) == ['a']
    with pytest.raises(KeyError, match=r'it is of the layer \\?"j\\?" of type Accuracy, which is left out'):
        func({'x': X}, ['y'])


@pytest.mark.parametrize('content', [b'', b'garbage\xff\xff', 'cut'])
def test_files_that_are_not_complete(tmp_path: Path, content: Any) -> None:
    path = write(
        tmp_path / 'a.caffemodel', layer('InnerProduct', blobs=[FC, B], inner_product_param={'num_output': 3})
    )
    path.write_bytes(path.read_bytes()[:-7] if content == 'cut' else content)
    with pytest.raises(message.DecodeError, match=r'a\.caffemodel is not a model of Caffe, or not complete'):
        CaffeFunction(path)
    with pytest.raises(FileNotFoundError):
        CaffeFunction(tmp_path / 'missing.caffemodel')


def test_without_protobuf_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    load = builtins.__import__

    def without_protobuf(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith('google'):
            raise ImportError(name)
        return load(name, *args, **kwargs)

    net_parameter.cache_clear()
    monkeypatch.setattr(builtins, '__import__', without_protobuf)
    with pytest.raises(ImportError, match=r'pip install protobuf'):
        CaffeFunction(tmp_path / 'a.caffemodel')


def test_numbers_of_old_types() -> None:
    known = {'Concat': 3, 'Convolution': 4, 'InnerProduct': 14, 'Softmax': 20, 'Eltwise': 25, 'Slice': 33}
    assert {name: NUMBERS[name] for name in known} == known
    assert NUMBERS['Deconvolution'] == 39 == max(NUMBERS.values())


# --- weights of the classifiers of images --------------------------------------------------------------------------
def _layers_of(model: Any) -> list[Any]:
    """Layers of Caffe with the weights of a model; their names are those that published files have."""
    if isinstance(model, L.GoogLeNet):
        names = googlenet._CAFFE_LAYERS
        return [_weights(model, path, name) for path, name in names.items()]
    layers = [_weights(model, 'conv1', 'conv1'), *_normalization(model.bn1, 'bn_conv1', 'scale_conv1')]
    for path, name in resnet._bottlenecks(50):
        for i, branch in resnet._branches(path):
            layers.append(_weights(model, f'{path}/conv{i}', f'res{name}_{branch}'))
            link = _at(model, f'{path}/bn{i}')
            layers += _normalization(link, f'bn{name}_{branch}', f'scale{name}_{branch}')
    return [*layers, _weights(model, 'fc6', 'fc1000')]


def _at(model: Any, path: str) -> Any:
    for name in path.split('/'):
        model = model[name]
    return model


def _weights(model: Any, path: str, name: str) -> Any:
    link = _at(model, path)
    kind, param = (
        ('InnerProduct', 'inner_product_param') if link.W.ndim == 2 else ('Convolution', 'convolution_param')
    )
    blobs = [p.array for p in (link.W, link.b) if p is not None]
    return layer(kind, name, blobs=blobs, **{param: {'num_output': len(link.W), 'bias_term': link.b is not None}})


def _normalization(link: Any, statistics: str, scale: str) -> list[Any]:
    return [
        layer('BatchNorm', statistics, blobs=[link.avg_mean * 4, link.avg_var * 4, [4.0]]),
        layer('Scale', scale, blobs=[link.gamma.array, link.beta.array], scale_param={'bias_term': True}),
    ]


@pytest.mark.slow
@pytest.mark.parametrize('name', ['ResNet50Layers', 'GoogLeNet'])
def test_weights_of_a_classifier(tmp_path: Path, name: str) -> None:
    source = getattr(L, name)(pretrained_model=None)
    fill(source)
    path = write(tmp_path / 'a.caffemodel', *_layers_of(source))
    source.convert_caffemodel_to_npz(str(path), str(tmp_path / 'a.npz'))
    for file in (path, tmp_path / 'a.npz'):
        model = getattr(L, name)(str(file))
        for (name_, param), (_, expected) in zip(model.namedparams(), source.namedparams(), strict=True):
            np.testing.assert_allclose(param.array, expected.array, rtol=1e-6, err_msg=name_)
        if hasattr(model, 'bn1'):
            np.testing.assert_allclose(model.res4.b2.bn1.avg_var, source.res4.b2.bn1.avg_var, rtol=1e-6)


def test_names_of_the_layers_of_deep_residual_networks() -> None:
    names = dict(resnet._bottlenecks(101))
    assert len(names) == 33 and len(dict(resnet._bottlenecks(152))) == 50
    assert (names['res2/b2'], names['res3/b3'], names['res4/b22'], names['res5/b1']) == ('2c', '3b3', '4b22', '5b')
    assert dict(resnet._bottlenecks(50))['res4/b5'] == '4f'


def test_another_network_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / 'a.caffemodel', layer('ReLU'))
    with pytest.raises(ValueError, match="has no layer 'conv1/7x7_s2' with weights: it is another network"):
        L.GoogLeNet.convert_caffemodel_to_npz(path, tmp_path / 'a.npz')
    assert [file.name for file in tmp_path.iterdir()] == ['a.caffemodel']
