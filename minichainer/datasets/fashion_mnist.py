"""Fashion-MNIST: pictures of clothes."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.datasets._idx import Source

_SOURCE = Source(
    name='get_fashion_mnist',
    folder='fashion-mnist',
    urls=(
        'http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/',
        'https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/',
    ),
    md5={
        'train-images-idx3-ubyte.gz': '8d4fb7e6c68d591d4c3dfef9ec88bf0d',
        'train-labels-idx1-ubyte.gz': '25c81989df183df01b3e8a0aad5dffbe',
        't10k-images-idx3-ubyte.gz': 'bef4ecab320f06d8554ea6380940ec79',
        't10k-labels-idx1-ubyte.gz': 'bb300cfdad3c16e7a12a480ee83cd310',
    },
)


def get_fashion_mnist(
    withlabel: bool = True,
    ndim: int = 1,
    scale: float = 1.0,
    dtype: Any = None,
    label_dtype: Any = numpy.int32,
    rgb_format: bool = False,
) -> tuple[Any, Any]:
    """Returns Fashion-MNIST, 60000 and 10000 pictures of clothes of 28 by 28 pixels, as (training set, test set).

    They are downloaded once to ``pfnet/chainer/fashion-mnist`` in the dataset root.

    Args:
        withlabel (bool): whether to return :class:`TupleDataset` of (image, label); otherwise arrays of images.
        ndim (int): shape of an image: 1 for ``(784,)``, 2 for ``(28, 28)``, 3 for ``(1, 28, 28)``.
        scale (float): pixels range from 0 to ``scale``.
        dtype: dtype of the images; ``config.dtype`` when omitted.
        label_dtype: dtype of the labels, 0 to 9; :func:`get_fashion_mnist_labels` has their names.
        rgb_format (bool): with ``ndim=3``: three equal channels, shape ``(3, 28, 28)``.

    Returns:
        Tuple of two datasets.

    Raises:
        ValueError: ``ndim`` is not 1, 2 or 3.
        OSError: the files cannot be downloaded, or are broken.

    Source: H. Xiao, K. Rasul, R. Vollgraf, *Fashion-MNIST: a novel image dataset for benchmarking machine learning
        algorithms* (2017), arXiv:1708.07747.

    >>> import minichainer as chainer
    >>> train, test = chainer.datasets.get_fashion_mnist(ndim=3)  # doctest: +SKIP
    """
    return _SOURCE.datasets(withlabel, ndim, scale, dtype, label_dtype, rgb_format)


def get_fashion_mnist_labels() -> list[str]:
    """Returns the names of the ten classes of Fashion-MNIST.

    >>> import minichainer as chainer
    >>> chainer.datasets.get_fashion_mnist_labels()[9]
    'Ankle boot'
    """
    return [
        'T-shirt/top', 'Trouser', 'Pullover', 'Dress', 'Coat', 'Sandal', 'Shirt', 'Sneaker', 'Bag', 'Ankle boot',
    ]  # fmt: skip
