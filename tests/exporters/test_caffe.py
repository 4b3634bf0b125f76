"""exporters.caffe: the text is Chainer's, and what is written computes the same when it is read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer.exporters import caffe
from minichainer.links.caffe import CaffeFunction

pytest.importorskip('google.protobuf')
RECORDED = Path(__file__).resolve().parents[1] / 'reference' / 'caffe_export.prototxt'
FILES = ['chainer_model.caffemodel', 'chainer_model.prototxt']


class Net(chainer.Chain):
    """The network whose text was recorded from Chainer."""

    def __init__(self) -> None:
        super().__init__()
        with self.init_scope():
            self.c1 = L.Convolution2D(3, 4, 3, stride=2, pad=1)
            self.bn = L.BatchNormalization(4)
            self.l1 = L.Linear(None, 5)
            self.l2 = L.Linear(5, 2, nobias=True)

    def forward(self, x: Any) -> Any:
        h = F.max_pooling_2d(F.relu(self.bn(self.c1(x))), 2)
        h = F.local_response_normalization(F.average_pooling_2d(h, 2, stride=1, pad=1))
        h = F.concat([F.dropout(h), F.sigmoid(h)])
        return F.softmax(self.l2(self.l1(F.reshape(h, (h.shape[0], -1)))))


def _images(*shape: int) -> np.ndarray:
    return np.random.RandomState(0).uniform(-1, 1, shape).astype('f')


def _read(folder: Path, x: Any, count: int = 1) -> list[np.ndarray]:
    func = CaffeFunction(folder / 'chainer_model.caffemodel')
    ys = func(inputs={'data': x}, outputs=[name for name, _, _ in func.layers[-count:]])
    return [y.array for y in ys]


def test_the_text_is_chainers(tmp_path: Path) -> None:
    net, x = Net(), _images(1, 3, 12, 12)
    with chainer.using_config('train', False):
        y = net(x)
    caffe.export(net, [chainer.Variable(x)], str(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == FILES
    text = (tmp_path / 'chainer_model.prototxt').read_text()
    assert text.rstrip() == RECORDED.read_text().rstrip()
    with chainer.using_config('train', False):
        np.testing.assert_allclose(_read(tmp_path, x)[0], y.array, rtol=1e-5)


class Applied(chainer.Chain):
    """A function of a link and an input."""

    def __init__(self, function: Any, link: Any) -> None:
        super().__init__()
        self.function = function
        with self.init_scope():
            self.link = link

    def forward(self, x: Any) -> Any:
        return self.function(self.link, x)


def _call(link: Any, x: Any) -> Any:
    return link(x)


def _normalization(**options: Any) -> Any:
    link = L.BatchNormalization(4, **options)
    link.avg_mean[...] = [1, 2, 3, 4]
    link.avg_var[...] = [0.5, 1, 2, 3]
    return link


LINKS: dict[str, Any] = {
    'convolution': lambda: L.Convolution2D(4, 6, (3, 2), stride=(1, 2), pad=(0, 1), groups=2, nobias=True),
    'dilated convolution': lambda: L.Convolution2D(4, 3, 3, dilate=2, initial_bias=1),
    'deconvolution': lambda: L.Deconvolution2D(4, 6, 3, stride=2, pad=1, groups=2, initial_bias=2),
    'linear': lambda: L.Linear(144, 3),
    'normalization': lambda: _normalization(initial_gamma=2, initial_beta=3, eps=0.1),
    'normalization without scale': lambda: _normalization(use_gamma=False, use_beta=False),
}
FUNCTIONS: dict[str, Any] = {
    'sum': lambda x: F.relu(x) + F.sigmoid(x),
    'sum of three': lambda x: F.add(F.relu(x), x, F.sigmoid(x)),
    'product': lambda x: F.relu(x) * F.sigmoid(x),
    'maximum': lambda x: F.maximum(x, F.sigmoid(x)),
    'leaky relu': lambda x: F.leaky_relu(x, 0.25),
    'concat': lambda x: F.concat([x, F.relu(x)], axis=-2 + 4),
    'covered pooling': lambda x: F.max_pooling_2d(x, 3, 2, cover_all=True),
    'pooling of what divides': lambda x: F.max_pooling_2d(x, 2, cover_all=False),
    'average of all': lambda x: F.average_pooling_2d(x, x.shape[2:]),
    'flatten': F.flatten,
    'what is not returned': lambda x: (F.tanh(x), F.relu(x))[1],
}


@pytest.mark.parametrize('name', LINKS)
def test_links_are_read_as_they_were(tmp_path: Path, name: str) -> None:
    model, x = Applied(_call, LINKS[name]()), _images(2, 4, 6, 6)
    caffe.export(model, [x], tmp_path)
    with chainer.using_config('train', False):
        np.testing.assert_allclose(_read(tmp_path, x)[0], model(x).array, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize('name', FUNCTIONS)
def test_functions_are_read_as_they_were(tmp_path: Path, name: str) -> None:
    x = _images(2, 4, 6, 6)
    caffe.export(FUNCTIONS[name], (x,), tmp_path)
    np.testing.assert_allclose(_read(tmp_path, x)[0], FUNCTIONS[name](x).array, rtol=1e-5, atol=1e-6)


def test_several_outputs(tmp_path: Path) -> None:
    x = _images(2, 4)
    caffe.export(lambda x: (F.relu(x), F.sigmoid(x)), [x], tmp_path)
    first, second = _read(tmp_path, x, 2)
    np.testing.assert_allclose([first, second], [F.relu(x).array, F.sigmoid(x).array], rtol=1e-6)


def test_options(tmp_path: Path) -> None:
    x = _images(2, 4)
    with chainer.no_backprop_mode():
        caffe.export(F.relu, [x], tmp_path, export_params=False, graph_name='Mine')
    assert [path.name for path in tmp_path.iterdir()] == FILES[1:]
    assert (tmp_path / FILES[1]).read_text().startswith('name: "Mine"\n')
    caffe.export(F.relu, [x])


WRONG: dict[str, Any] = {
    'function': (F.tanh, ValueError, 'Tanh-0-1 cannot be written: Caffe has no such function; supported are Average'),
    'later function': (lambda x: F.tanh(F.relu(x)), ValueError, 'Tanh-1-1 cannot be written'),
    'constant': (lambda x: F.relu(x) + 1, ValueError, '_ + 1-1-1 cannot be written'),
    'array': (lambda x: x + np.ones((2, 4, 6, 6), 'f'), ValueError, 'its input 1 is made by no layer'),
    'shapes': (
        lambda x: F.average_pooling_2d(x, 6) + F.average_pooling_2d(x, 3), ValueError, 'arrays must have one shape',
    ),
    'pooling': (lambda x: F.max_pooling_2d(x, 3, 2, cover_all=False), ValueError, 'Caffe covers all pixels'),
    'softmax': (lambda x: F.softmax(x, axis=2), ValueError, 'softmax must be along axis 1, not 2'),
    'axes': (lambda x: F.fixed_batch_normalization(x, *[np.ones((6, 6), 'f')] * 4, axis=(0, 1)), ValueError, 'over'),
    'three axes': (lambda x: F.max_pooling_1d(x[:, :, 0], 2), ValueError, 'cannot be written'),
    'outsize': (
        lambda x: F.deconvolution_2d(x, np.ones((4, 1, 3, 3), 'f'), stride=2, outsize=(14, 14)), ValueError,
        'Caffe has no outsize of deconvolutions',
    ),
    'dict': (lambda x: {'y': F.relu(x)}, TypeError, 'the model must return Variables, got dict'),
}  # fmt: skip


@pytest.mark.parametrize('name', WRONG)
def test_what_caffe_does_not_have_is_refused(tmp_path: Path, name: str) -> None:
    model, error, text = WRONG[name]
    with pytest.raises(error, match=re.escape(text)):
        caffe.export(model, [_images(2, 4, 6, 6)], tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ('args', 'error', 'text'),
    [
        ({'x': 1}, TypeError, 'args must be a list of the input, got dict'),
        ([1, 2], NotImplementedError, 'one input, got 2'),
        (['x'], TypeError, 'a Variable or an array, got str'),
    ],
)
def test_wrong_arguments(tmp_path: Path, args: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=re.escape(text)):
        caffe.export(F.relu, args, tmp_path)
    with pytest.raises(FileNotFoundError, match='there is no folder'):
        caffe.export(F.relu, [_images(2, 4)], tmp_path / 'missing')


WIDE = np.random.RandomState(1).uniform(-1, 1, 54)
MIXED = {
    'linear': lambda x: F.linear(x, WIDE[:24].reshape(2, 12)),
    'linear of a parameter': lambda x: F.linear(x, chainer.Parameter(WIDE[:24].reshape(2, 12))),
    'convolution': lambda x: F.convolution_2d(x, WIDE.reshape(2, 3, 3, 3), pad=1),
    'deconvolution': lambda x: F.deconvolution_2d(x, WIDE.reshape(3, 2, 3, 3)),
    'normalization': lambda x: F.cast(L.BatchNormalization(3, dtype='f')(F.cast(x, 'e')), 'f'),
    'between layers': lambda x: F.sigmoid(F.cast(F.cast(F.relu(x), 'd') * F.cast(x, 'd'), 'f')),
}


@pytest.mark.parametrize('name', MIXED)
def test_conversions_of_dtypes_are_no_layers(name: str, tmp_path: Path) -> None:
    x = _images(1, 3, 2, 2)
    caffe.export(MIXED[name], [x], str(tmp_path))
    with chainer.using_config('train', False):
        np.testing.assert_allclose(_read(tmp_path, x)[0], MIXED[name](x).array, rtol=1e-3, atol=1e-3)
    assert 'Cast' not in (tmp_path / 'chainer_model.prototxt').read_text()
