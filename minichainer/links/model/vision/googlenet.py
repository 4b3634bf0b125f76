"""GoogLeNet: a network of inception modules."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import numpy

from minichainer.functions.activation.rectifiers import relu
from minichainer.functions.activation.softmax import softmax
from minichainer.functions.noise.dropout import dropout
from minichainer.functions.normalization.local_response_normalization import local_response_normalization
from minichainer.functions.pooling.average_pooling_nd import average_pooling_2d
from minichainer.functions.pooling.max_pooling_nd import max_pooling_2d
from minichainer.initializers.constant import Zero
from minichainer.initializers.uniform import LeCunUniform
from minichainer.links.connection.convolution import Convolution2D
from minichainer.links.connection.inception import Inception
from minichainer.links.connection.linear import Linear
from minichainer.links.model.vision._images import prepare_image
from minichainer.links.model.vision._model import ImageModel
from minichainer.links.model.vision._weights import (
    Arrays,
    Published,
    convert_file,
    find_weights,
    layer_arrays,
    load_weights,
)
from minichainer.variable import Variable

_PUBLISHED = Published(
    'bvlc_googlenet.npz',
    'bvlc_googlenet.caffemodel',
    (
        'http://dl.caffe.berkeleyvision.org/bvlc_googlenet.caffemodel',
        'https://dl.caffe.berkeleyvision.org/bvlc_googlenet.caffemodel',
    ),
    '405fc5acd08a3bb12de8ee5e23a96bec22f08204',
)
_MEAN = (104.0, 117.0, 123.0)
#: Arguments of the inception modules: channels of the input, the branches and the pooling's projection.
_INCEPTIONS = {
    '3a': (192, 64, 96, 128, 16, 32, 32),
    '3b': (256, 128, 128, 192, 32, 96, 64),
    '4a': (480, 192, 96, 208, 16, 48, 64),
    '4b': (512, 160, 112, 224, 24, 64, 64),
    '4c': (512, 128, 128, 256, 24, 64, 64),
    '4d': (512, 112, 144, 288, 32, 64, 64),
    '4e': (528, 256, 160, 320, 32, 128, 128),
    '5a': (832, 256, 160, 320, 32, 128, 128),
    '5b': (832, 384, 192, 384, 48, 128, 128),
}
#: The layers of Caffe, by the names of the links.
_CAFFE_LAYERS = {
    'conv1': 'conv1/7x7_s2',
    'conv2_reduce': 'conv2/3x3_reduce',
    'conv2': 'conv2/3x3',
    **{
        f'inc{module}/{link}': f'inception_{module}/{layer}'
        for module in _INCEPTIONS
        for link, layer in {
            'conv1': '1x1', 'proj3': '3x3_reduce', 'conv3': '3x3', 'proj5': '5x5_reduce', 'conv5': '5x5',
            'projp': 'pool_proj',
        }.items()
    },
    'loss1_conv': 'loss1/conv',
    'loss1_fc1': 'loss1/fc',
    'loss1_fc2': 'loss1/classifier',
    'loss2_conv': 'loss2/conv',
    'loss2_fc1': 'loss2/fc',
    'loss2_fc2': 'loss2/classifier',
    'loss3_fc': 'loss3/classifier',
}  # fmt: skip


class GoogLeNet(ImageModel):
    """GoogLeNet, a classifier of images of 224x224 into the 1000 classes of ImageNet.

    The layers are ``conv1``, ``pool1``, ``conv2_reduce``, ``conv2``, ``pool2``, the modules ``inception_3a`` to
    ``inception_5b`` with ``pool3`` and ``pool4`` among them, ``pool5``, ``loss3_fc`` and ``prob``. Two classifiers
    that help training, ``loss1_fc2`` and ``loss2_fc2``, branch off after ``inception_4a`` and ``inception_4d``.

    Args:
        pretrained_model: ``'auto'`` for the weights of Caffe's authors, in Chainer's folder ``pfnet/chainer/models``
            below the dataset root, to which they are downloaded; the path of a file of Chainer, or of Caffe if it
            ends with ``.caffemodel``; or None for weights drawn at random.

    Raises:
        OSError: there is no such file. The message says which file to put where.

    Source: Szegedy et al., Going Deeper with Convolutions, 2014.

    >>> import numpy as np, minichainer as chainer
    >>> model = chainer.links.GoogLeNet(pretrained_model=None)
    >>> model(np.zeros((1, 3, 32, 32), np.float32), layers=['pool1'])['pool1'].shape
    (1, 64, 8, 8)
    """

    mean = _MEAN
    branches: Mapping[str, str] = {'loss1_fc2': 'inception_4a', 'loss2_fc2': 'inception_4d'}

    def __init__(self, pretrained_model: Any = 'auto') -> None:
        path = find_weights(type(self).__name__, pretrained_model, _PUBLISHED, _convert)
        super().__init__()
        filters = LeCunUniform(scale=1.0) if path is None else Zero()
        with self.init_scope():
            self.conv1 = Convolution2D(3, 64, 7, stride=2, pad=3, initialW=filters)
            self.conv2_reduce = Convolution2D(64, 64, 1, initialW=filters)
            self.conv2 = Convolution2D(64, 192, 3, stride=1, pad=1, initialW=filters)
            for name, channels in _INCEPTIONS.items():
                setattr(self, f'inc{name}', Inception(*channels, conv_init=None if path is None else filters))
            self.loss3_fc = Linear(1024, 1000, initialW=filters)
            self.loss1_conv = Convolution2D(512, 128, 1, initialW=filters)
            self.loss1_fc1 = Linear(2048, 1024, initialW=filters)
            self.loss1_fc2 = Linear(1024, 1000, initialW=filters)
            self.loss2_conv = Convolution2D(528, 128, 1, initialW=filters)
            self.loss2_fc1 = Linear(2048, 1024, initialW=filters)
            self.loss2_fc2 = Linear(1024, 1000, initialW=filters)
        load_weights(self, path, _convert)

    @property
    def functions(self) -> OrderedDict[str, list[Callable[..., Any]]]:
        """The functions of each layer, in the order of computation."""
        layers: OrderedDict[str, list[Callable[..., Any]]] = OrderedDict()
        layers['conv1'] = [self.conv1, relu]
        layers['pool1'] = [_max_pooling_2d, _local_response_normalization]
        layers['conv2_reduce'] = [self.conv2_reduce, relu]
        layers['conv2'] = [self.conv2, relu, _local_response_normalization]
        for name in _INCEPTIONS:
            if name.endswith('a'):
                layers[f'pool{int(name[0]) - 1}'] = [_max_pooling_2d]
            layers[f'inception_{name}'] = [self[f'inc{name}']]
        layers['pool5'] = [_average_pooling_2d_k7]
        layers['loss3_fc'] = [_dropout, self.loss3_fc]
        layers['prob'] = [softmax]
        for loss in ('loss1', 'loss2'):
            convolution, first, second = (self[f'{loss}_{name}'] for name in ('conv', 'fc1', 'fc2'))
            layers[f'{loss}_fc2'] = [_average_pooling_2d_k5, convolution, relu, first, relu, second]
        return layers

    @classmethod
    def convert_caffemodel_to_npz(cls, path_caffemodel: Any, path_npz: Any) -> None:
        """Writes the weights of a file of Caffe to a file that ``pretrained_model`` takes.

        Args:
            path_caffemodel: path of the file of Caffe.
            path_npz: path of the file to write.
        """
        convert_file(path_caffemodel, path_npz, _convert)


def prepare(image: Any, size: Any = (224, 224)) -> numpy.ndarray:
    """An image as GoogLeNet expects it: resized, blue before green before red, minus the mean colour.

    Args:
        image: an image of Pillow, or an array of pixels from 0 to 255 of shape (height, width), (1, height, width),
            (3, height, width) or (height, width, 3), in the order red, green, blue.
        size: width and height to resize to; None to leave the size.

    Returns:
        Array (3, height, width) of ``config.dtype``.

    Raises:
        ImportError: Pillow is not installed.
        TypeError: ``image`` or ``size`` has a wrong type.
        ValueError: ``image`` has another shape, or numbers that are not pixels.

    >>> import numpy as np
    >>> from minichainer.links.model.vision import googlenet
    >>> googlenet.prepare(np.full((3, 2, 2), 128.0), size=None)[:, 0, 0]
    array([24., 11.,  5.], dtype=float32)
    """
    return prepare_image(image, size, _MEAN)


def _max_pooling_2d(x: Any) -> Any:
    return max_pooling_2d(x, ksize=3, stride=2)


def _local_response_normalization(x: Any) -> Variable:
    return local_response_normalization(x, n=5, k=1, alpha=1e-4 / 5)


def _average_pooling_2d_k5(x: Any) -> Variable:
    return average_pooling_2d(x, ksize=5, stride=3)


def _average_pooling_2d_k7(x: Any) -> Variable:
    return average_pooling_2d(x, ksize=7, stride=1)


def _dropout(x: Any) -> Any:
    return dropout(x, ratio=0.4)


def _convert(caffe: Any) -> Arrays:
    return dict(pair for link, layer in _CAFFE_LAYERS.items() for pair in layer_arrays(caffe, layer, link))
