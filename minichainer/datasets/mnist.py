"""MNIST: handwritten digits."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.datasets._idx import Source

_SOURCE = Source(
    name='get_mnist',
    folder='mnist',
    urls=(
        'http://yann.lecun.com/exdb/mnist/',
        'https://ossci-datasets.s3.amazonaws.com/mnist/',
        'https://yann.lecun.com/exdb/mnist/',
    ),
    md5={
        'train-images-idx3-ubyte.gz': 'f68b3c2dcbeaaa9fbdd348bbdeb94873',
        'train-labels-idx1-ubyte.gz': 'd53e105ee54ea40749a09fcbcd1e9432',
        't10k-images-idx3-ubyte.gz': '9fb629c4189551a2d022fa330f9573f3',
        't10k-labels-idx1-ubyte.gz': 'ec29112dd5afa0611ce80d1b7f02629c',
    },
)


def get_mnist(
    withlabel: bool = True,
    ndim: int = 1,
    scale: float = 1.0,
    dtype: Any = None,
    label_dtype: Any = numpy.int32,
    rgb_format: bool = False,
) -> tuple[Any, Any]:
    """Returns MNIST, 60000 and 10000 handwritten digits of 28 by 28 pixels, as (training set, test set).

    They are downloaded once to ``pfnet/chainer/mnist`` in the dataset root, which
    :func:`~minichainer.dataset.get_dataset_root` returns. :func:`get_digits` needs no network.

    Args:
        withlabel (bool): whether to return :class:`TupleDataset` of (image, label); otherwise arrays of images.
        ndim (int): shape of an image: 1 for ``(784,)``, 2 for ``(28, 28)``, 3 for ``(1, 28, 28)``.
        scale (float): pixels range from 0 (paper) to ``scale`` (ink).
        dtype: dtype of the images; ``config.dtype`` when omitted.
        label_dtype: dtype of the labels, 0 to 9.
        rgb_format (bool): with ``ndim=3``: three equal channels, shape ``(3, 28, 28)``.

    Returns:
        Tuple of two datasets.

    Raises:
        ValueError: ``ndim`` is not 1, 2 or 3.
        OSError: the files cannot be downloaded, or are broken.

    Source: Y. LeCun, C. Cortes, C. J. C. Burges, *The MNIST database of handwritten digits* (1998).

    >>> import minichainer as chainer
    >>> train, test = chainer.datasets.get_mnist(ndim=3)  # doctest: +SKIP
    """
    return _SOURCE.datasets(withlabel, ndim, scale, dtype, label_dtype, rgb_format)
