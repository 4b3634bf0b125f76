from __future__ import annotations

import os
from typing import Any

import numpy

from minichainer.datasets._images import as_floats, check_ndim, labelled, shaped

_N_TEST = 360
_MAX_COUNT = 16


def get_digits(
    withlabel: bool = True,
    ndim: int = 1,
    scale: float = 1.0,
    dtype: Any = None,
    label_dtype: Any = numpy.int32,
    rgb_format: bool = False,
) -> tuple[Any, Any]:
    """Returns the 1797 handwritten digits of the UCI collection, 8 by 8 pixels, as (training set, test set).

    They are part of the package: nothing is downloaded. The original order is by writer; here the images are permuted
    by ``numpy.random.RandomState(0).permutation(1797)``, and the last 360 are the test set. The split is always the
    same and does not use the global random state.

    Args:
        withlabel (bool): Whether to return :class:`TupleDataset` of (image, label); otherwise arrays of
            images.
        ndim (int): Shape of an image: 1 for ``(64,)``, 2 for ``(8, 8)``, 3 for ``(1, 8, 8)``.
        scale (float): Pixels range from 0 (paper) to ``scale`` (ink).
        dtype: Dtype of the images; ``config.dtype`` when omitted.
        label_dtype: Dtype of the labels, 0 to 9.
        rgb_format (bool): With ``ndim=3``: three equal channels, shape ``(3, 8, 8)``.

    Returns:
        Tuple of two datasets of 1437 and 360 examples.

    Raises:
        ValueError: ``ndim`` is not 1, 2 or 3.

    Source: E. Alpaydin and C. Kaynak (1998), *Optical Recognition of Handwritten Digits*, UCI Machine
        Learning
    Repository, https://doi.org/10.24432/C50P49, CC BY 4.0.

    .. admonition:: Example

        >>> import minichainer as chainer
        >>> train, test = chainer.datasets.get_digits()
        >>> x, t = train[0]
        >>> len(train), len(test), x.shape
        (1437, 360, (64,))

    """
    check_ndim('get_digits', ndim, (1, 2, 3))
    with numpy.load(os.path.join(os.path.dirname(__file__), 'digits.npz'), allow_pickle=False) as archive:
        images, labels = archive['images'], archive['labels']
    order = numpy.random.RandomState(0).permutation(len(images))
    images = as_floats(images[order], scale, _MAX_COUNT, dtype)
    images = shaped(images, ndim, rgb_format)
    labels = labels[order]
    n = len(images) - _N_TEST
    parts = slice(n), slice(n, None)
    train, test = (labelled(images[part], labels[part], withlabel, label_dtype) for part in parts)
    return train, test
