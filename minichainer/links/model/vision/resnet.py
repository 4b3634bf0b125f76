"""ResNet: networks of residual blocks."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import numpy

from minichainer.functions.activation.rectifiers import relu
from minichainer.functions.activation.softmax import softmax
from minichainer.functions.array.shape import reshape
from minichainer.functions.pooling.average_pooling_nd import average_pooling_2d
from minichainer.functions.pooling.max_pooling_nd import max_pooling_2d
from minichainer.initializers.constant import Zero
from minichainer.initializers.normal import HeNormal
from minichainer.link.link import Chain
from minichainer.links._arguments import LinkArguments
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
    normalization_arrays,
)
from minichainer.links.normalization.batch_normalization import BatchNormalization
from minichainer.utils.argument import assert_kwargs_empty
from minichainer.variable import Variable

_URL = 'https://github.com/KaimingHe/deep-residual-networks'
_MEAN = (103.063, 115.903, 123.152)
#: Bottlenecks of the stages res2 to res5, by the number of layers.
_BLOCKS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}


class BottleneckA(Chain):
    r"""The first bottleneck of a stage, which changes the size and the number of channels.

    .. math::

        y = \mathrm{relu}(B_3 C_3\, \mathrm{relu}(B_2 C_2\, \mathrm{relu}(B_1 C_1 x)) + B_4 C_4 x)

    with convolutions :math:`C` of 1x1, 3x3, 1x1 and 1x1, and batch normalizations :math:`B`.

    Args:
        in_channels: channels of the input; None to take them from the data of the first call.
        mid_channels: channels inside.
        out_channels: channels of the output.
        stride: step of the 1x1 convolutions of both paths.
        initialW: initializer of all filters.
        downsample_fb: whether the 3x3 convolution has the step in place of the 1x1 one before it.

    Source: He et al., Deep Residual Learning for Image Recognition, 2015.

    >>> import numpy as np
    >>> from minichainer.links.model.vision.resnet import BottleneckA
    >>> BottleneckA(3, 4, 8)(np.ones((2, 3, 6, 6), np.float32)).shape
    (2, 8, 3, 3)
    """

    def __init__(
        self,
        in_channels: int | None,
        mid_channels: int,
        out_channels: int,
        stride: int = 2,
        initialW: Any = None,
        downsample_fb: bool = False,
    ) -> None:
        check = LinkArguments(self)
        check.optional_sizes(in_channels=in_channels)
        check.sizes(mid_channels=mid_channels, out_channels=out_channels)
        check.integers(1, stride=stride)
        check.initializers(initialW=initialW)
        super().__init__()
        first, second = (1, stride) if downsample_fb else (stride, 1)
        with self.init_scope():
            self.conv1 = _convolution(in_channels, mid_channels, 1, first, initialW)
            self.bn1 = BatchNormalization(mid_channels)
            self.conv2 = _convolution(mid_channels, mid_channels, 3, second, initialW)
            self.bn2 = BatchNormalization(mid_channels)
            self.conv3 = _convolution(mid_channels, out_channels, 1, 1, initialW)
            self.bn3 = BatchNormalization(out_channels)
            self.conv4 = _convolution(in_channels, out_channels, 1, stride, initialW)
            self.bn4 = BatchNormalization(out_channels)

    def forward(self, x: Any) -> Variable:
        """Applies the bottleneck.

        Args:
            x: images (N, in_channels, h, w), Variable or array.

        Returns:
            Variable (N, out_channels, h', w').
        """
        y: Variable = relu(_bottleneck(self, x) + self.bn4(self.conv4(x)))
        return y


class BottleneckB(Chain):
    r"""A bottleneck that keeps the size and the number of channels.

    .. math::

        y = \mathrm{relu}(B_3 C_3\, \mathrm{relu}(B_2 C_2\, \mathrm{relu}(B_1 C_1 x)) + x)

    with convolutions :math:`C` of 1x1, 3x3 and 1x1, and batch normalizations :math:`B`.

    Args:
        in_channels: channels of the input and the output.
        mid_channels: channels inside.
        initialW: initializer of all filters.

    Source: He et al., Deep Residual Learning for Image Recognition, 2015.

    >>> import numpy as np
    >>> from minichainer.links.model.vision.resnet import BottleneckB
    >>> BottleneckB(3, 4)(np.ones((2, 3, 6, 6), np.float32)).shape
    (2, 3, 6, 6)
    """

    def __init__(self, in_channels: int, mid_channels: int, initialW: Any = None) -> None:
        check = LinkArguments(self)
        check.sizes(in_channels=in_channels, mid_channels=mid_channels)
        check.initializers(initialW=initialW)
        super().__init__()
        with self.init_scope():
            self.conv1 = _convolution(in_channels, mid_channels, 1, 1, initialW)
            self.bn1 = BatchNormalization(mid_channels)
            self.conv2 = _convolution(mid_channels, mid_channels, 3, 1, initialW)
            self.bn2 = BatchNormalization(mid_channels)
            self.conv3 = _convolution(mid_channels, in_channels, 1, 1, initialW)
            self.bn3 = BatchNormalization(in_channels)

    def forward(self, x: Any) -> Variable:
        """Applies the bottleneck.

        Args:
            x: images (N, in_channels, h, w), Variable or array.

        Returns:
            Variable of the same shape.
        """
        y: Variable = relu(_bottleneck(self, x) + x)
        return y


class BuildingBlock(Chain):
    """A stage of a ResNet: a :class:`BottleneckA`, called ``a``, and :class:`BottleneckB`, called ``b1``, ``b2``, ...

    Args:
        n_layers: number of bottlenecks.
        in_channels: channels of the input; None to take them from the data of the first call.
        mid_channels: channels inside of the bottlenecks.
        out_channels: channels of the output.
        stride: step of the first bottleneck.
        initialW: initializer of all filters.
        downsample_fb: see :class:`BottleneckA`.

    Source: He et al., Deep Residual Learning for Image Recognition, 2015.

    >>> import numpy as np
    >>> from minichainer.links.model.vision.resnet import BuildingBlock
    >>> BuildingBlock(2, 3, 4, 8, 2)(np.ones((2, 3, 6, 6), np.float32)).shape
    (2, 8, 3, 3)
    """

    def __init__(
        self,
        n_layers: Any = None,
        in_channels: int | None = None,
        mid_channels: Any = None,
        out_channels: Any = None,
        stride: Any = None,
        initialW: Any = None,
        downsample_fb: bool | None = None,
        **kwargs: Any,
    ) -> None:
        assert_kwargs_empty(kwargs)
        check = LinkArguments(self)
        check.integers(1, n_layers=n_layers, stride=stride)
        check.optional_sizes(in_channels=in_channels)
        check.sizes(mid_channels=mid_channels, out_channels=out_channels)
        check.initializers(initialW=initialW)
        super().__init__()
        with self.init_scope():
            self.a = BottleneckA(in_channels, mid_channels, out_channels, stride, initialW, bool(downsample_fb))
            for i in range(1, n_layers):
                setattr(self, f'b{i}', BottleneckB(out_channels, mid_channels, initialW))
        self._forward = ['a', *(f'b{i}' for i in range(1, n_layers))]

    def forward(self, x: Any) -> Variable:
        """Applies the bottlenecks one after the other.

        Args:
            x: images (N, in_channels, h, w), Variable or array.

        Returns:
            Variable (N, out_channels, h', w').
        """
        for name in self._forward:
            x = self[name](x)
        y: Variable = x
        return y


class ResNetLayers(ImageModel):
    """Base of :class:`ResNet50Layers`, :class:`ResNet101Layers` and :class:`ResNet152Layers`.

    The layers are ``conv1``, ``pool1``, the stages ``res2`` to ``res5``, ``pool5``, ``fc6`` and ``prob``.

    Args:
        pretrained_model: see :class:`ResNet50Layers`.
        n_layers: 50, 101 or 152.
        downsample_fb: see :class:`ResNet50Layers`.

    Raises:
        ValueError: ``n_layers`` is another number.

    Source: He et al., Deep Residual Learning for Image Recognition, 2015.
    """

    mean = _MEAN

    def __init__(self, pretrained_model: Any, n_layers: int, downsample_fb: bool = False) -> None:
        _check_layers(n_layers)
        stem = f'ResNet-{n_layers}-model'
        published = Published(f'{stem}.npz', f'{stem}.caffemodel', (_URL,), None)
        convert = functools.partial(_convert, n_layers=n_layers)
        path = find_weights(type(self).__name__, pretrained_model, published, convert)
        super().__init__()
        filters = HeNormal(scale=1.0) if path is None else Zero()
        with self.init_scope():
            self.conv1 = Convolution2D(3, 64, 7, 2, 3, initialW=filters)
            self.bn1 = BatchNormalization(64)
            channels, inside = 64, 64
            for stage, count in enumerate(_BLOCKS[n_layers], 2):
                stride = 1 if stage == 2 else 2
                block = BuildingBlock(count, channels, inside, 4 * inside, stride, filters, downsample_fb)
                setattr(self, f'res{stage}', block)
                channels, inside = 4 * inside, 2 * inside
            self.fc6 = Linear(2048, 1000, initialW=None if path is None else filters)
        load_weights(self, path, convert)

    @property
    def functions(self) -> OrderedDict[str, list[Callable[..., Any]]]:
        """The functions of each layer, in the order of computation."""
        layers: OrderedDict[str, list[Callable[..., Any]]] = OrderedDict()
        layers['conv1'] = [self.conv1, self.bn1, relu]
        layers['pool1'] = [_max_pooling_2d]
        for stage in ('res2', 'res3', 'res4', 'res5'):
            layers[stage] = [self[stage]]
        layers['pool5'] = [_global_average_pooling_2d]
        layers['fc6'] = [self.fc6]
        layers['prob'] = [softmax]
        return layers

    @classmethod
    def convert_caffemodel_to_npz(cls, path_caffemodel: Any, path_npz: Any, n_layers: int = 50) -> None:
        """Writes the weights of a file of Caffe to a file that ``pretrained_model`` takes.

        Args:
            path_caffemodel: path of the file of Caffe.
            path_npz: path of the file to write.
            n_layers: 50, 101 or 152, whatever the class is.

        Raises:
            ValueError: ``n_layers`` is another number.
        """
        _check_layers(n_layers)
        convert_file(path_caffemodel, path_npz, functools.partial(_convert, n_layers=n_layers))


class ResNet50Layers(ResNetLayers):
    """ResNet of 50 layers, a classifier of images of 224x224 into the 1000 classes of ImageNet.

    Args:
        pretrained_model: ``'auto'`` for the authors' weights, in Chainer's folder ``pfnet/chainer/models`` below the
            dataset root, which you put there; the path of a file of Chainer, or of Caffe if it ends with
            ``.caffemodel``; or None for weights drawn at random.
        downsample_fb: whether the 3x3 convolutions have the steps of each stage, as later publications do it.

    Raises:
        OSError: there is no such file. The message says which file to put where.

    Source: He et al., Deep Residual Learning for Image Recognition, 2015.

    >>> import numpy as np, minichainer as chainer
    >>> model = chainer.links.ResNet50Layers(pretrained_model=None)
    >>> model(np.zeros((2, 3, 32, 32), np.float32), layers=['res2'])['res2'].shape
    (2, 256, 8, 8)
    """

    def __init__(self, pretrained_model: Any = 'auto', downsample_fb: bool = False) -> None:
        super().__init__(pretrained_model, 50, downsample_fb)


class ResNet101Layers(ResNetLayers):
    """ResNet of 101 layers.

    Args:
        pretrained_model: see :class:`ResNet50Layers`.
        downsample_fb: see :class:`ResNet50Layers`.

    Raises:
        OSError: there is no such file. The message says which file to put where.

    Source: He et al., Deep Residual Learning for Image Recognition, 2015.

    >>> import minichainer as chainer
    >>> model = chainer.links.ResNet101Layers('ResNet-101-model.npz')  # doctest: +SKIP
    """

    def __init__(self, pretrained_model: Any = 'auto', downsample_fb: bool = False) -> None:
        super().__init__(pretrained_model, 101, downsample_fb)


class ResNet152Layers(ResNetLayers):
    """ResNet of 152 layers.

    Args:
        pretrained_model: see :class:`ResNet50Layers`.
        downsample_fb: see :class:`ResNet50Layers`.

    Raises:
        OSError: there is no such file. The message says which file to put where.

    Source: He et al., Deep Residual Learning for Image Recognition, 2015.

    >>> import minichainer as chainer
    >>> model = chainer.links.ResNet152Layers('ResNet-152-model.npz')  # doctest: +SKIP
    """

    def __init__(self, pretrained_model: Any = 'auto', downsample_fb: bool = False) -> None:
        super().__init__(pretrained_model, 152, downsample_fb)


def prepare(image: Any, size: Any = (224, 224)) -> numpy.ndarray:
    """An image as the ResNets expect it: resized, blue before green before red, minus the mean colour.

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
    >>> from minichainer.links.model.vision import resnet
    >>> resnet.prepare(np.full((20, 30), 128.0), size=(32, 16)).shape
    (3, 16, 32)
    """
    return prepare_image(image, size, _MEAN)


def _convolution(channels: int | None, outputs: int, ksize: int, stride: int, initialW: Any) -> Convolution2D:
    return Convolution2D(channels, outputs, ksize, stride, ksize // 2, nobias=True, initialW=initialW)


def _bottleneck(link: Any, x: Any) -> Any:
    """The path of the three convolutions, without the last rectifier."""
    h = relu(link.bn1(link.conv1(x)))
    h = relu(link.bn2(link.conv2(h)))
    return link.bn3(link.conv3(h))


def _max_pooling_2d(x: Any) -> Any:
    return max_pooling_2d(x, ksize=3, stride=2)


def _global_average_pooling_2d(x: Any) -> Variable:
    n, channels, height, width = x.shape
    return reshape(average_pooling_2d(x, (height, width), stride=1), (n, channels))


def _check_layers(n_layers: Any) -> None:
    if n_layers not in _BLOCKS:
        raise ValueError(f'The n_layers argument should be either 50, 101, or 152, but {n_layers} was given.')


# --- Caffe's names -------------------------------------------------------------------------------------------------
def _convert(caffe: Any, n_layers: int) -> Arrays:
    arrays = dict(layer_arrays(caffe, 'conv1', 'conv1'))
    arrays.setdefault('conv1/b', numpy.zeros(64, numpy.float32))  # only the net of 50 layers has it
    arrays.update(normalization_arrays(caffe, 'bn_conv1', 'scale_conv1', 'bn1'))
    for link, layer in _bottlenecks(n_layers):
        for i, branch in _branches(link):
            arrays.update(layer_arrays(caffe, f'res{layer}_{branch}', f'{link}/conv{i}'))
            names = f'bn{layer}_{branch}', f'scale{layer}_{branch}'
            arrays.update(normalization_arrays(caffe, *names, f'{link}/bn{i}'))
    arrays.update(layer_arrays(caffe, 'fc1000', 'fc6'))
    return arrays


def _bottlenecks(n_layers: int) -> Iterator[tuple[str, str]]:
    """Names of the bottlenecks, and how they are called in Caffe: 2a, 2b, 2c, but 3a, 3b1, 3b2, ... in deep nets."""
    for stage, count in enumerate(_BLOCKS[n_layers], 2):
        numbered = n_layers > 50 and stage in (3, 4)
        yield f'res{stage}/a', f'{stage}a'
        for i in range(1, count):
            yield f'res{stage}/b{i}', f'{stage}b{i}' if numbered else f'{stage}{chr(ord("a") + i)}'


def _branches(link: str) -> list[tuple[int, str]]:
    """Numbers of the convolutions of a bottleneck, and how they are called in Caffe."""
    branches = [(1, 'branch2a'), (2, 'branch2b'), (3, 'branch2c')]
    return [*branches, (4, 'branch1')] if link.endswith('/a') else branches
