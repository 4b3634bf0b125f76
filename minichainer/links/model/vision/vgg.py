"""VGG: very deep networks of small filters."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy

from minichainer.functions.activation.rectifiers import relu
from minichainer.functions.activation.softmax import softmax
from minichainer.functions.noise.dropout import dropout
from minichainer.functions.pooling.max_pooling_nd import max_pooling_2d
from minichainer.initializers.constant import Zero
from minichainer.initializers.normal import Normal
from minichainer.links.connection.convolution import Convolution2D
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

_URL = 'https://www.robots.ox.ac.uk/%7Evgg/software/very_deep/caffe/VGG_ILSVRC_{}_layers.caffemodel'
#: Checksums that the authors publish beside the files.
_SHA1 = {16: '9363e1f6d65f7dba68c4f27a1e62105cdf6c4e24', 19: '239785e7862442717d831f682bb824055e51e9ba'}
_MEAN = (103.939, 116.779, 123.68)
#: Convolutions of each block, by the number of layers; and their channels.
_BLOCKS = {16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}
_CHANNELS = (64, 128, 256, 512, 512)


class VGGLayers(ImageModel):
    """Base of :class:`VGG16Layers` and :class:`VGG19Layers`.

    The layers are convolutions of 3x3 with rectifiers, ``conv1_1`` to ``conv5_3`` (or ``conv5_4``), poolings after
    each of the five blocks, ``pool1`` to ``pool5``, and the fully connected ``fc6``, ``fc7``, ``fc8`` and ``prob``.

    Args:
        pretrained_model: see :class:`VGG16Layers`.
        n_layers: 16 or 19.

    Raises:
        ValueError: ``n_layers`` is another number.

    Source: Simonyan and Zisserman, Very Deep Convolutional Networks for Large-Scale Image Recognition, 2014.
    """

    feature_layer = 'fc7'
    mean = _MEAN

    def __init__(self, pretrained_model: Any = 'auto', n_layers: int = 16) -> None:
        if n_layers not in _BLOCKS:
            raise ValueError(f'The n_layers argument should be either 16 or 19, but {n_layers} was given.')
        stem = f'VGG_ILSVRC_{n_layers}_layers'
        published = Published(f'{stem}.npz', f'{stem}.caffemodel', (_URL.format(n_layers),), _SHA1[n_layers])
        path = find_weights(type(self).__name__, pretrained_model, published, _convert)
        super().__init__()
        filters = Normal(0.01) if path is None else Zero()
        with self.init_scope():
            for name, make, *sizes in _layers(n_layers):
                setattr(self, name, make(*sizes, initialW=filters, initial_bias=Zero()))
        load_weights(self, path, _convert)

    @property
    def functions(self) -> OrderedDict[str, list[Callable[..., Any]]]:
        """The functions of each layer, in the order of computation."""
        layers: OrderedDict[str, list[Callable[..., Any]]] = OrderedDict()
        for block in range(1, 6):
            for name in sorted(name for name in self._children if name.startswith(f'conv{block}_')):
                layers[name] = [self[name], relu]
            layers[f'pool{block}'] = [_max_pooling_2d]
        layers['fc6'] = [self['fc6'], relu, dropout]
        layers['fc7'] = [self['fc7'], relu, dropout]
        layers['fc8'] = [self['fc8']]
        layers['prob'] = [softmax]
        return layers

    @classmethod
    def convert_caffemodel_to_npz(cls, path_caffemodel: Any, path_npz: Any) -> None:
        """Writes the weights of a file of Caffe to a file that ``pretrained_model`` takes.

        Args:
            path_caffemodel: path of the file of Caffe.
            path_npz: path of the file to write.
        """
        convert_file(path_caffemodel, path_npz, _convert)


class VGG16Layers(VGGLayers):
    """VGG of 16 layers, a classifier of images of 224x224 into the 1000 classes of ImageNet.

    Args:
        pretrained_model: ``'auto'`` for the authors' weights, in Chainer's folder ``pfnet/chainer/models`` below the
            dataset root, to which they are downloaded; the path of a file of Chainer, or of Caffe if it ends with
            ``.caffemodel``; or None for weights drawn at random.

    Raises:
        OSError: there is no such file. The message says which file to put where.

    Source: Simonyan and Zisserman, Very Deep Convolutional Networks for Large-Scale Image Recognition, 2014.

    >>> import minichainer as chainer
    >>> model = chainer.links.VGG16Layers()  # doctest: +SKIP
    >>> model.extract([image], layers=['pool3', 'fc7'])  # doctest: +SKIP
    """

    def __init__(self, pretrained_model: Any = 'auto') -> None:
        super().__init__(pretrained_model, 16)


class VGG19Layers(VGGLayers):
    """VGG of 19 layers.

    Args:
        pretrained_model: see :class:`VGG16Layers`.

    Raises:
        OSError: there is no such file. The message says which file to put where.

    Source: Simonyan and Zisserman, Very Deep Convolutional Networks for Large-Scale Image Recognition, 2014.

    >>> import minichainer as chainer
    >>> model = chainer.links.VGG19Layers('VGG_ILSVRC_19_layers.npz')  # doctest: +SKIP
    """

    def __init__(self, pretrained_model: Any = 'auto') -> None:
        super().__init__(pretrained_model, 19)


def prepare(image: Any, size: Any = (224, 224)) -> numpy.ndarray:
    """An image as the VGG models expect it: resized, blue before green before red, minus the mean colour.

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
    >>> from minichainer.links.model.vision import vgg
    >>> vgg.prepare(np.full((3, 20, 30), 128.0)).shape
    (3, 224, 224)
    """
    return prepare_image(image, size, _MEAN)


def _max_pooling_2d(x: Any) -> Any:
    return max_pooling_2d(x, ksize=2)


def _layers(n_layers: int) -> list[tuple[Any, ...]]:
    """Names, classes and arguments of the links with weights; first those that the net of 16 layers has too."""
    found: list[tuple[Any, ...]] = []
    channels = 3
    for block, (count, outputs) in enumerate(zip(_BLOCKS[n_layers], _CHANNELS, strict=True), 1):
        for i in range(1, count + 1):
            found.append((f'conv{block}_{i}', Convolution2D, channels, outputs, 3, 1, 1))
            channels = outputs
    found += [('fc6', Linear, 512 * 7 * 7, 4096), ('fc7', Linear, 4096, 4096), ('fc8', Linear, 4096, 1000)]
    return sorted(found, key=lambda layer: layer[0].endswith('_4'))


def _convert(caffe: Any) -> Arrays:
    """The layers have the same names in Caffe."""
    names = [link.name for link in caffe.children()]
    return dict(pair for name in names for pair in layer_arrays(caffe, name, name))
