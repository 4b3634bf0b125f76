"""Kuzushiji-MNIST: Japanese characters in cursive writing."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.datasets._idx import Source

_SOURCE = Source(
    name='get_kuzushiji_mnist',
    folder='kuzushiji_mnist',
    urls=('http://codh.rois.ac.jp/kmnist/dataset/kmnist/', 'https://codh.rois.ac.jp/kmnist/dataset/kmnist/'),
    md5={
        'train-images-idx3-ubyte.gz': 'bdb82020997e1d708af4cf47b453dcf7',
        'train-labels-idx1-ubyte.gz': 'e144d726b3acfaa3e44228e80efcd344',
        't10k-images-idx3-ubyte.gz': '5c965bf0a639b31b8f53240b1b52f4d7',
        't10k-labels-idx1-ubyte.gz': '7320c461ea6c1c855c0b718fb2a4b134',
    },
)


def get_kuzushiji_mnist(
    withlabel: bool = True,
    ndim: int = 1,
    scale: float = 1.0,
    dtype: Any = None,
    label_dtype: Any = numpy.int32,
    rgb_format: bool = False,
) -> tuple[Any, Any]:
    """Returns Kuzushiji-MNIST, 60000 and 10000 characters of 28 by 28 pixels, as (training set, test set).

    They are downloaded once to ``pfnet/chainer/kuzushiji_mnist`` in the dataset root.

    Args:
        withlabel (bool): whether to return :class:`TupleDataset` of (image, label); otherwise arrays of images.
        ndim (int): shape of an image: 1 for ``(784,)``, 2 for ``(28, 28)``, 3 for ``(1, 28, 28)``.
        scale (float): pixels range from 0 (paper) to ``scale`` (ink).
        dtype: dtype of the images; ``config.dtype`` when omitted.
        label_dtype: dtype of the labels, 0 to 9; :func:`get_kuzushiji_mnist_labels` has the characters.
        rgb_format (bool): with ``ndim=3``: three equal channels, shape ``(3, 28, 28)``.

    Returns:
        Tuple of two datasets.

    Raises:
        ValueError: ``ndim`` is not 1, 2 or 3.
        OSError: the files cannot be downloaded, or are broken.

    Source: T. Clanuwat et al., *Deep learning for classical Japanese literature* (2018), arXiv:1812.01718.

    >>> import minichainer as chainer
    >>> train, test = chainer.datasets.get_kuzushiji_mnist(ndim=3)  # doctest: +SKIP
    """
    return _SOURCE.datasets(withlabel, ndim, scale, dtype, label_dtype, rgb_format)


def get_kuzushiji_mnist_labels() -> list[tuple[str, str]]:
    """Returns the ten characters of Kuzushiji-MNIST, each as (transcription, hiragana).

    >>> import minichainer as chainer
    >>> chainer.datasets.get_kuzushiji_mnist_labels()[3][0]
    'tsu'
    """
    names = 'o ki su tsu na ha ma ya re wo'.split()
    return list(zip(names, 'おきすつなはまやれを', strict=True))
