"""CIFAR-10 and CIFAR-100: small pictures of things."""

from __future__ import annotations

import pickle
import tarfile
from dataclasses import dataclass
from typing import IO, Any

import numpy

from minichainer.datasets import _archive, _images


@dataclass(frozen=True)
class _Source:
    """Where a dataset is, and the function that returns it."""

    name: str
    file: str
    urls: tuple[str, ...]
    md5: str | None
    #: Files of the archive.
    train: tuple[str, ...]
    test: tuple[str, ...]
    #: Key of the labels in these.
    labels: str

    def datasets(self, withlabel: bool, ndim: int, scale: float, dtype: Any) -> tuple[Any, Any]:
        """Training set and test set."""
        _images.check_ndim(self.name, ndim, (1, 3))
        keys = ('train_x', 'train_y', 'test_x', 'test_y')
        raw = _archive.arrays(self.name, 'cifar', self.file, keys, self._make)

        def prepare(part: str) -> Any:
            images = _images.as_floats(raw[f'{part}_x'], scale, 255, dtype)
            images = images.reshape(-1, 3, 32, 32) if ndim == 3 else images.reshape(-1, 3072)
            return _images.labelled(images, raw[f'{part}_y'], withlabel, numpy.int32)

        return prepare('train'), prepare('test')

    def _make(self) -> _archive.Arrays:
        found: _archive.Arrays = _archive.source(self.name, list(self.urls), self.md5, self._read)
        return found

    def _read(self, path: str) -> _archive.Arrays:
        with tarfile.open(path, 'r:gz') as archive:
            train = [self._member(archive, name) for name in self.train]
            test = [self._member(archive, name) for name in self.test]
        return {
            'train_x': numpy.concatenate([x for x, _ in train]),
            'train_y': numpy.concatenate([y for _, y in train]),
            'test_x': numpy.concatenate([x for x, _ in test]),
            'test_y': numpy.concatenate([y for _, y in test]),
        }

    def _member(self, archive: tarfile.TarFile, name: str) -> tuple[numpy.ndarray, numpy.ndarray]:
        file = archive.extractfile(name)
        if file is None:
            raise ValueError(f'{name} is not a file')
        content = _OnlyArrays(file, encoding='latin1').load()
        images, labels = content['data'].reshape(-1, 3072), numpy.array(content[self.labels], numpy.uint8)
        if len(images) != len(labels):
            raise ValueError(f'{name} has {len(images)} images and {len(labels)} labels')
        return images, labels


class _OnlyArrays(pickle.Unpickler):
    """Unpickles arrays and what Python has without imports, and calls nothing else."""

    _ALLOWED = frozenset({'_reconstruct', '_frombuffer', 'scalar', 'ndarray', 'dtype', 'encode'})

    def __init__(self, file: IO[bytes], encoding: str) -> None:
        super().__init__(file, encoding=encoding)

    def find_class(self, module: str, name: str) -> Any:
        if module.partition('.')[0] not in ('numpy', '_codecs') or name not in self._ALLOWED:
            raise pickle.UnpicklingError(f'the file asks for {module}.{name}')
        return super().find_class(module, name)


_CIFAR10 = _Source(
    name='get_cifar10',
    file='cifar-10.npz',
    urls=('https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz',),
    md5='c58f30108f718f92721af3b95e74349a',
    train=tuple(f'cifar-10-batches-py/data_batch_{i}' for i in range(1, 6)),
    test=('cifar-10-batches-py/test_batch',),
    labels='labels',
)
_CIFAR100 = _Source(
    name='get_cifar100',
    file='cifar-100.npz',
    urls=('https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz',),
    md5='eb9058c3a382ffc7106e4002c42a8d85',
    train=('cifar-100-python/train',),
    test=('cifar-100-python/test',),
    labels='fine_labels',
)


def get_cifar10(withlabel: bool = True, ndim: int = 3, scale: float = 1.0, dtype: Any = None) -> tuple[Any, Any]:
    """Returns CIFAR-10, 50000 and 10000 colour pictures of 32 by 32 pixels, as (training set, test set).

    They are downloaded once to ``pfnet/chainer/cifar`` in the dataset root.

    Args:
        withlabel (bool): whether to return :class:`TupleDataset` of (image, label); otherwise arrays of images.
        ndim (int): shape of an image: 3 for ``(3, 32, 32)``, 1 for ``(3072,)``.
        scale (float): pixels range from 0 to ``scale``.
        dtype: dtype of the images; ``config.dtype`` when omitted.

    Returns:
        Tuple of two datasets; labels are int32, 0 to 9.

    Raises:
        ValueError: ``ndim`` is not 1 or 3.
        OSError: the file cannot be downloaded, or is broken.

    Source: A. Krizhevsky, *Learning multiple layers of features from tiny images* (2009).

    >>> import minichainer as chainer
    >>> train, test = chainer.datasets.get_cifar10()  # doctest: +SKIP
    """
    return _CIFAR10.datasets(withlabel, ndim, scale, dtype)


def get_cifar100(withlabel: bool = True, ndim: int = 3, scale: float = 1.0, dtype: Any = None) -> tuple[Any, Any]:
    """Returns CIFAR-100, 50000 and 10000 colour pictures of 32 by 32 pixels, as (training set, test set).

    They are downloaded once to ``pfnet/chainer/cifar`` in the dataset root.

    Args:
        withlabel (bool): whether to return :class:`TupleDataset` of (image, label); otherwise arrays of images.
        ndim (int): shape of an image: 3 for ``(3, 32, 32)``, 1 for ``(3072,)``.
        scale (float): pixels range from 0 to ``scale``.
        dtype: dtype of the images; ``config.dtype`` when omitted.

    Returns:
        Tuple of two datasets; labels are int32, 0 to 99, the fine ones.

    Raises:
        ValueError: ``ndim`` is not 1 or 3.
        OSError: the file cannot be downloaded, or is broken.

    Source: A. Krizhevsky, *Learning multiple layers of features from tiny images* (2009).

    >>> import minichainer as chainer
    >>> train, test = chainer.datasets.get_cifar100()  # doctest: +SKIP
    """
    return _CIFAR100.datasets(withlabel, ndim, scale, dtype)
