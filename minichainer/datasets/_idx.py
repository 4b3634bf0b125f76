"""Datasets in the format of MNIST: four compressed files of 28 by 28 pixels and of labels."""

from __future__ import annotations

import gzip
import struct
from dataclasses import dataclass
from typing import Any

import numpy

from minichainer.datasets import _archive, _images

_IMAGES = 2051
_LABELS = 2049


@dataclass(frozen=True)
class Source:
    """Where a dataset is, and the function that returns it."""

    name: str
    folder: str
    #: Folders that have all four files; the first is Chainer's, and names the copies. Those by https come first.
    urls: tuple[str, ...]
    #: MD5 checksums of images and labels, for training and test.
    md5: dict[str, str | None]

    def datasets(
        self, withlabel: bool, ndim: int, scale: float, dtype: Any, label_dtype: Any, rgb_format: bool
    ) -> tuple[Any, Any]:
        """Training set and test set."""
        _images.check_ndim(self.name, ndim, (1, 2, 3))
        train, test = (self._arrays(file, prefix) for file, prefix in [('train', 'train'), ('test', 't10k')])

        def prepare(raw: _archive.Arrays) -> Any:
            images = _images.as_floats(raw['x'], scale, 255, dtype)
            images = _images.shaped(images, ndim, rgb_format)
            return _images.labelled(images, raw['y'], withlabel, label_dtype)

        return prepare(train), prepare(test)

    def _arrays(self, file: str, prefix: str) -> _archive.Arrays:
        def make() -> _archive.Arrays:
            images = self._download(f'{prefix}-images-idx3-ubyte.gz', _IMAGES)
            labels = self._download(f'{prefix}-labels-idx1-ubyte.gz', _LABELS)
            return {'x': images.reshape(len(images), -1), 'y': labels}

        return _archive.arrays(self.name, self.folder, f'{file}.npz', ('x', 'y'), make)

    def _download(self, file: str, magic: int) -> numpy.ndarray:
        urls = [url + file for url in self.urls]
        found: numpy.ndarray = _archive.source(self.name, urls, self.md5[file], lambda path: _read(path, magic))
        return found


def _read(path: str, magic: int) -> numpy.ndarray:
    """The bytes of an idx file: a number that tells the format, the length of each axis, the data."""
    with gzip.open(path) as file:
        found = struct.unpack('>I', file.read(4))[0] if file.peek(4) else None
        if found != magic:
            raise ValueError(f'an idx file begins with {magic}, found {found}')
        shape = struct.unpack(f'>{magic % 256}I', file.read(4 * (magic % 256)))
        return numpy.frombuffer(file.read(), numpy.uint8).reshape(shape)
