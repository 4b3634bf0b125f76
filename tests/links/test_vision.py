"""The classifiers of images: names, shapes, first values, outputs and errors are Chainer's."""

from __future__ import annotations

import builtins
import dataclasses
import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer.dataset import download
from minichainer.gradient_check import check_gradients
from minichainer.links.model.vision import _weights, googlenet, resnet, vgg
from minichainer.utils import imgproc
from tests.links.vision_figures import FIGURES, assert_agrees, fill, images, pixels, scale_for_pixels

SLOW = {'VGG16Layers', 'VGG19Layers', 'ResNet101Layers', 'ResNet152Layers'}
MODELS = {'googlenet': googlenet, 'resnet': resnet, 'vgg': vgg}


@pytest.fixture(
    scope='module', params=[pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in FIGURES['models']]
)
def made(request: pytest.FixtureRequest) -> tuple[Any, dict[str, Any]]:
    """A model with the weights it begins with. The last test of a module fills in others."""
    np.random.seed(0)
    return getattr(L, request.param)(pretrained_model=None), FIGURES['models'][request.param]


def _digest(lines: list[str]) -> str:
    return hashlib.sha256('\n'.join(lines).encode()).hexdigest()


class _Names(chainer.Serializer):
    """Collects the names under which a link stores its values."""

    def __init__(self, path: str, names: list[str]) -> None:
        self.path, self.names = path, names

    def __getitem__(self, key: str) -> Any:
        return _Names(f'{self.path}{key}/', self.names)

    def __call__(self, key: str, value: Any) -> Any:
        self.names.append(self.path + key)
        return value


# --- with first values ---------------------------------------------------------------------------------------------
def test_names_and_shapes_of_parameters(made: Any) -> None:
    model, figures = made
    lines = [f'{path} {"x".join(map(str, param.shape))}' for path, param in sorted(model.namedparams())]
    assert [len(lines), model.count_params()] == figures['count']
    assert figures['params'] in (lines, _digest(lines))
    names: list[str] = []
    model.serialize(_Names('', names))
    assert _digest(sorted(names)) == figures['serialized']


def test_first_values_are_chainers_draws(made: Any) -> None:
    model, figures = made
    params = dict(model.namedparams())
    for path, values in figures['drawn'].items():
        np.testing.assert_allclose(params[path].array.ravel()[:2], values, rtol=1e-6)
    assert not any(param.array.any() for path, param in params.items() if path.endswith('/b'))


def test_layers(made: Any) -> None:
    model, figures = made
    kinds = {
        name: [type(f).__name__ if isinstance(f, chainer.Link) else '' for f in functions]
        for name, functions in model.functions.items()
    }
    assert kinds == figures['functions']
    assert model.available_layers == list(kinds) == figures['available_layers']


def test_outputs_of_all_layers(made: Any) -> None:
    model, figures = made
    fill(model)
    with chainer.using_config('train', False), chainer.no_backprop_mode():
        ys = model(images(figures['size']), layers=model.available_layers)
    assert list(ys) == model.available_layers
    for name, figure in figures['outputs'].items():
        assert_agrees(ys[name].array, figure)


# --- features and predictions --------------------------------------------------------------------------------------
@pytest.fixture(scope='module')
def resnet50() -> Any:
    np.random.seed(0)
    model = L.ResNet50Layers(pretrained_model=None)
    fill(model)
    scale_for_pixels(model)
    return model


def test_predictions(resnet50: Any) -> None:
    figures = FIGURES['models']['ResNet50Layers']
    y = resnet50.predict(pixels(), oversample=False)
    assert_agrees(y.array, figures['predict'])
    assert y.creator is None and chainer.config.train
    mean = resnet50.bn1.avg_mean.copy()
    assert_agrees(resnet50.predict(pixels()[:1]).array, figures['predict_oversample'])
    np.testing.assert_array_equal(resnet50.bn1.avg_mean, mean)


@pytest.mark.slow
def test_predictions_of_googlenet() -> None:
    model = L.GoogLeNet(pretrained_model=None)
    fill(model)
    scale_for_pixels(model)
    assert_agrees(model.predict(pixels(), oversample=False).array, FIGURES['models']['GoogLeNet']['predict'])


def test_downsampling_as_facebook_does_it() -> None:
    model = L.ResNet50Layers(pretrained_model=None, downsample_fb=True)
    fill(model)
    with chainer.using_config('train', False), chainer.no_backprop_mode():
        y = model(images(64), layers=['fc6'])['fc6']
    assert_agrees(y.array, FIGURES['models']['ResNet50Layers']['downsample_fb'])


def test_features(resnet50: Any) -> None:
    with chainer.using_config('train', False):
        features = resnet50.extract(pixels(), size=(64, 48), layers=['pool1', 'conv1'])
        assert {name: y.shape for name, y in features.items()} == {'conv1': (2, 64, 24, 32), 'pool1': (2, 64, 12, 16)}
        assert features['conv1'].requires_grad
        assert list(resnet50.extract(pixels(), size=(32, 32))) == ['pool5']
        x = np.stack([resnet.prepare(image, (64, 48)) for image in pixels()])
        expected = resnet50(x, layers=['pool1'])['pool1'].array
    np.testing.assert_array_equal(features['pool1'].array, expected)


def test_layers_behind_what_is_wanted_are_not_computed(resnet50: Any) -> None:
    y = resnet50(images(8), layers=['conv1', 'conv1'])  # too small for what follows
    assert list(y) == ['conv1']
    assert resnet50(images(8), layers=[]) == {}


def test_a_copy_has_layers_of_its_own(resnet50: Any) -> None:
    copied = resnet50.copy('init')
    assert copied.functions['res3'][0] is copied.res3 is not resnet50.res3
    assert not np.array_equal(copied.fc6.W.array, resnet50.fc6.W.array)


@pytest.mark.parametrize(
    ('call', 'error', 'message'),
    [
        (
            lambda m: m(images(8), layers=['conv9']),
            ValueError,
            'has no layer conv9; its layers are conv1, pool1, res2',
        ),
        (lambda m: m(images(8), layers='conv1'), TypeError, "must be a list of names, got 'conv1'"),
        (lambda m: m(images(8), test=True), ValueError, 'test argument is not supported anymore'),
        (lambda m: m(images(8), other=True), TypeError, 'other'),
        (lambda m: m.extract(pixels(), volatile='on'), ValueError, 'volatile argument is not supported anymore'),
        (lambda m: m.extract([object()], layers=['conv9']), ValueError, 'has no layer conv9'),
        (lambda m: m.extract([]), ValueError, 'empty'),
    ],
)
def test_wrong_calls(resnet50: Any, call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(resnet50)


# --- images --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize('name', FIGURES['prepare'])
def test_prepared_images(name: str) -> None:
    module, size = name.split()
    image = np.random.RandomState(2).random_sample((3, 9, 13)) * 255
    pair = None if size == 'none' else tuple(map(int, size.split('x')))
    assert_agrees(MODELS[module].prepare(image, size=pair), FIGURES['prepare'][name], 1e-7)


@pytest.mark.parametrize(
    'image',
    [
        np.ones((4, 5)),
        np.ones((1, 4, 5), 'i'),
        np.ones((3, 4, 5), '?'),
        np.ones((4, 5, 3), 'u1'),
        Image.fromarray(np.ones((4, 5), 'u1')),
        Image.fromarray(np.ones((4, 5, 4), 'u1')),
    ],
    ids=['grey', 'grey with channels', 'colour', 'channels last', 'Pillow', 'Pillow with transparency'],
)
def test_kinds_of_images(image: Any) -> None:
    prepared = vgg.prepare(image, size=None)
    assert prepared.shape == (3, 4, 5) and prepared.dtype == np.float32
    np.testing.assert_allclose(prepared[:, 0, 0], [1 - 103.939, 1 - 116.779, 1 - 123.68], rtol=1e-6)
    with chainer.using_config('dtype', np.float16):
        assert vgg.prepare(image).dtype == np.float16


@pytest.mark.parametrize(
    ('image', 'size', 'error', 'message'),
    [
        (np.ones((2, 4, 5)), None, ValueError, r'got \(2, 4, 5\)'),
        (np.ones((1, 3, 4, 5)), None, ValueError, r'got \(1, 3, 4, 5\)'),
        (np.ones((3, 0, 5)), None, ValueError, r'got \(0, 5, 3\)'),
        (np.full((4, 5), 256.0), None, ValueError, 'pixels must be numbers from 0 to 255, got 256.0'),
        (np.full((4, 5), -1), None, ValueError, 'from 0 to 255, got -1'),
        (np.full((4, 5), np.nan), None, ValueError, 'from 0 to 255, got nan'),
        ([[1, 2]], None, TypeError, 'NumPy array or an image of Pillow, got list'),
        (np.ones((4, 5)), 5, TypeError, 'size must be None or two ints'),
        (np.ones((4, 5)), (0, 5), ValueError, 'at least 1'),
    ],
)
def test_wrong_images(image: Any, size: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        resnet.prepare(image, size=size)


def test_without_pillow_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    load = builtins.__import__

    def without_pillow(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith('PIL'):
            raise ImportError(name)
        return load(name, *args, **kwargs)

    monkeypatch.setattr(builtins, '__import__', without_pillow)
    with pytest.raises(ImportError, match=r'pip install pillow'):
        vgg.prepare(np.ones((4, 5)))


def test_oversampling_is_corners_middle_and_mirrors() -> None:
    x = np.arange(2 * 3 * 5 * 6).reshape(2, 3, 5, 6)
    crops = imgproc.oversample(x, (2, 3)).reshape(2, 10, 3, 2, 3)
    for i, (top, left) in enumerate([(0, 0), (0, 3), (3, 0), (3, 3), (1, 1)]):
        np.testing.assert_array_equal(crops[:, i], x[:, :, top : top + 2, left : left + 3])
        np.testing.assert_array_equal(crops[:, 5 + i], crops[:, i, ..., ::-1])


# --- blocks --------------------------------------------------------------------------------------------------------
def _formula(link: Any, x: Any) -> Any:
    def normalized(i: int, h: Any) -> Any:
        conv, bn = link[f'conv{i}'], link[f'bn{i}']
        h = F.convolution_2d(h, conv.W, None, conv.stride, conv.pad)
        return F.batch_normalization(h, bn.gamma, bn.beta, eps=2e-5)

    h = normalized(3, F.relu(normalized(2, F.relu(normalized(1, x)))))
    return F.relu(h + (normalized(4, x) if hasattr(link, 'conv4') else x))


BLOCKS = {
    'A': lambda: resnet.BottleneckA(3, 2, 4, initialW=chainer.initializers.Normal(0.5)),
    'A with lazy channels': lambda: resnet.BottleneckA(None, 2, 4, stride=1, downsample_fb=True),
    'B': lambda: resnet.BottleneckB(3, 2, initialW=chainer.initializers.Normal(0.5)),
    'stage': lambda: resnet.BuildingBlock(2, 3, 2, 4, 2),
}


@pytest.mark.parametrize(
    'name',
    [pytest.param(name, marks=[pytest.mark.slow] * (name in ('stage', 'A with lazy channels'))) for name in BLOCKS],
)
def test_blocks_are_their_formulas_and_their_gradients_are_right(name: str) -> None:
    np.random.seed(1)
    x = np.random.normal(size=(2, 3, 3, 3))
    with chainer.using_config('dtype', np.float64):
        link: Any = BLOCKS[name]()
        y = link(x)
    parts = [link[child] for child in link._forward] if name == 'stage' else [link]
    expected = x
    for part in parts:
        expected = _formula(part, expected)
    np.testing.assert_allclose(y.array, expected.array, rtol=1e-9, atol=1e-9)
    assert check_gradients(link, x, params='all', order=2)


def test_steps_of_the_two_kinds_of_downsampling() -> None:
    for fb, steps in ((False, [2, 1, 1, 2]), (True, [1, 2, 1, 2])):
        link = resnet.BottleneckA(3, 2, 4, downsample_fb=fb)
        assert [link[f'conv{i}'].stride[0] for i in (1, 2, 3, 4)] == steps


@pytest.mark.parametrize(
    ('make', 'error', 'message'),
    [
        (lambda: resnet.BottleneckA(-1, 2, 4), ValueError, 'BottleneckA: .*in_channels'),
        (lambda: resnet.BottleneckB(None, 2), TypeError, 'BottleneckB: .*in_channels'),
        (lambda: resnet.BuildingBlock(), TypeError, 'BuildingBlock: .*n_layers'),
        (lambda: resnet.BuildingBlock(0, 3, 2, 4, 2), ValueError, 'BuildingBlock: .*n_layers'),
        (lambda: resnet.BuildingBlock(1, 3, 2, 4, 2, other=1), TypeError, 'other'),
        (lambda: resnet.ResNetLayers(None, 34), ValueError, '50, 101, or 152, but 34'),
        (lambda: vgg.VGGLayers(None, 13), ValueError, '16 or 19, but 13'),
        (lambda: L.VGG16Layers(3), TypeError, "pretrained_model must be 'auto', a path or None, got 3"),
        (lambda: L.GoogLeNet('missing.npz'), FileNotFoundError, 'GoogLeNet: there is no file missing.npz'),
        (
            lambda: L.ResNet50Layers('a.caffemodel'),
            FileNotFoundError,
            'no file a.caffemodel or .*models.a.caffemodel',
        ),
    ],
)
def test_wrong_constructors(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


# --- weights of others ---------------------------------------------------------------------------------------------
@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty dataset root, and no network."""
    monkeypatch.setattr(download, '_root', str(tmp_path))

    def refuse(urls: Any, checksum: Any) -> Any:
        raise OSError('no network')

    monkeypatch.setattr(_weights, 'cached_file', refuse)
    return tmp_path / 'pfnet' / 'chainer' / 'models'


@pytest.mark.parametrize(
    ('name', 'stem'),
    [
        ('VGG16Layers', 'VGG_ILSVRC_16_layers'),
        ('VGG19Layers', 'VGG_ILSVRC_19_layers'),
        ('GoogLeNet', 'bvlc_googlenet'),
        ('ResNet50Layers', 'ResNet-50-model'),
        ('ResNet101Layers', 'ResNet-101-model'),
        ('ResNet152Layers', 'ResNet-152-model'),
    ],
)
def test_without_weights_it_says_which_file_to_put_where(root: Path, name: str, stem: str) -> None:
    with pytest.raises(OSError, match='the trained weights are not here') as caught:
        getattr(L, name)()
    for ending in ('caffemodel', 'npz'):
        assert f'as {root / stem}.{ending}' in str(caught.value)
    assert not list(root.glob('*.npz'))


def test_an_answer_that_is_not_the_weights_does_not_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither as the copy of what was downloaded nor as a file of Chainer, and each call says what to do."""
    answer = tmp_path / 'answer'
    answer.write_bytes(b'not a net')
    monkeypatch.setattr(download, '_root', str(tmp_path / 'root'))
    monkeypatch.setattr(googlenet, '_PUBLISHED', dataclasses.replace(googlenet._PUBLISHED, urls=(answer.as_uri(),)))
    for _ in range(2):
        with pytest.raises(
            OSError, match=r'GoogLeNet: .* cannot be downloaded; get bvlc_googlenet.caffemodel'
        ) as caught:
            L.GoogLeNet()
        assert 'has the SHA1 checksum' in str(caught.value.__cause__)
    assert [path for path in (tmp_path / 'root').rglob('*') if path.is_file()] == []


def test_a_file_of_caffe_with_other_contents_is_named(root: Path) -> None:
    pytest.importorskip('google.protobuf')
    root.mkdir(parents=True)
    (root / 'bvlc_googlenet.caffemodel').write_bytes(b'not a net')
    with pytest.raises(OSError, match=r'bvlc_googlenet.caffemodel has other contents .* save it as .*, or save'):
        L.GoogLeNet()
    assert os.listdir(root) == ['bvlc_googlenet.caffemodel']


@pytest.mark.slow
def test_weights_are_loaded_from_a_path_and_from_chainers_folder(root: Path, tmp_path: Path, resnet50: Any) -> None:
    root.mkdir(parents=True, exist_ok=True)
    chainer.serializers.save_npz(root / 'ResNet-50-model.npz', resnet50)
    for model in (L.ResNet50Layers(), L.ResNet50Layers(str(root / 'ResNet-50-model.npz'))):
        for (path, loaded), (_, param) in zip(model.namedparams(), resnet50.namedparams(), strict=True):
            np.testing.assert_array_equal(loaded.array, param.array, err_msg=path)
        np.testing.assert_array_equal(model.res4.b2.bn1.avg_var, resnet50.res4.b2.bn1.avg_var)
