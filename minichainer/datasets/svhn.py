"""SVHN: house numbers in photographs of streets."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.datasets import _archive, _images

_URLS = ('http://ufldl.stanford.edu/housenumbers/', 'https://ufldl.stanford.edu/housenumbers/')
_MD5: dict[str, str | None] = {
    'train': 'e26dedcc434d2e4c54c9b2d4a06d8373',
    'test': 'eb5a983be6a315427106f1b164d9cef3',
    'extra': 'a93ce644f1a588dc4d68dda5feec44a7',
}


def get_svhn(
    withlabel: bool = True,
    scale: float = 1.0,
    dtype: Any = None,
    label_dtype: Any = numpy.int32,
    add_extra: bool = False,
) -> tuple[Any, ...]:
    """Returns SVHN, 73257 and 26032 digits of house numbers in colour, as (training set, test set).

    They are downloaded once to ``pfnet/chainer/svhn`` in the dataset root. SciPy reads the files.

    Args:
        withlabel (bool): whether to return :class:`TupleDataset` of (image, label); otherwise arrays of images.
        scale (float): pixels range from 0 to ``scale``.
        dtype: dtype of the images, of shape ``(3, 32, 32)``; ``config.dtype`` when omitted.
        label_dtype: dtype of the labels, 0 to 9.
        add_extra (bool): whether to return the 531131 easier examples as a third dataset.

    Returns:
        Tuple of two or three datasets.

    Raises:
        OSError: the files cannot be downloaded, or are broken.

    Source: Y. Netzer et al., *Reading digits in natural images with unsupervised feature learning* (2011).

    >>> import minichainer as chainer
    >>> train, test = chainer.datasets.get_svhn()  # doctest: +SKIP
    """
    parts = ('train', 'test', 'extra') if add_extra else ('train', 'test')
    return tuple(_prepare(_arrays(part), withlabel, scale, dtype, label_dtype) for part in parts)


def _prepare(raw: _archive.Arrays, withlabel: bool, scale: float, dtype: Any, label_dtype: Any) -> Any:
    """The file has images (32, 32, 3, N) and labels (N, 1), with 10 for the digit 0."""
    images = _images.as_floats(numpy.ascontiguousarray(raw['x'].transpose(3, 2, 0, 1)), scale, 255, dtype)
    labels = raw['y'].reshape(-1)
    return _images.labelled(images, numpy.where(labels == 10, 0, labels), withlabel, label_dtype)


def _arrays(part: str) -> _archive.Arrays:
    def make() -> _archive.Arrays:
        urls = [f'{url}{part}_32x32.mat' for url in _URLS]
        found: _archive.Arrays = _archive.source('get_svhn', urls, _MD5[part], _read)
        return found

    return _archive.arrays('get_svhn', 'svhn', f'{part}.npz', ('x', 'y'), make)


def _read(path: str) -> _archive.Arrays:
    import scipy.io

    with open(path, 'rb') as file:
        try:
            content = scipy.io.loadmat(file)
        except scipy.io.matlab.MatReadError as error:
            raise ValueError(error) from error
    return {'x': content['X'], 'y': content['y']}
