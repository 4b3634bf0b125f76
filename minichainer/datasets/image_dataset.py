"""Datasets of image files, which Pillow reads."""

from __future__ import annotations

import functools
import io
import os
import struct
import zipfile
import zlib
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy

from minichainer._dtype import get_dtype
from minichainer.dataset._rows import at
from minichainer.dataset.dataset_mixin import DatasetMixin
from minichainer.datasets._files import ReopenedFile
from minichainer.datasets.concatenated_dataset import ConcatenatedDataset

Path: TypeAlias = str | os.PathLike[str]
#: What Pillow raises for files that are not images, or not complete.
_BROKEN = (OSError, SyntaxError, ValueError, EOFError, struct.error, zlib.error, zipfile.BadZipFile)


class ImageDataset(DatasetMixin):
    """A dataset of image files. Examples are arrays of shape (channels, height, width).

    Pixels are what the file has, mostly 0 to 255: grey images have one channel, colour images three, images with
    transparency one more; an image with a palette has one channel, of positions in the palette. Pillow reads the
    files (``pip install pillow``).

    Args:
        paths: list of paths, or the path of a text file with a path per line.
        root (str): folder that the paths are relative to.
        dtype: dtype of the images; ``config.dtype`` when omitted.

    Raises:
        ImportError: Pillow is not installed.
        ValueError: a line of the text file is empty.
        OSError: (by the examples) a file is not an image, or not complete. The message names it.

    >>> import pathlib, tempfile, numpy as np, minichainer as chainer
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, 'grey.pgm').write_bytes(b'P5 3 2 255 abcdef')
    ...     chainer.datasets.ImageDataset(['grey.pgm'], root=folder)[0]
    array([[[ 97.,  98.,  99.],
            [100., 101., 102.]]], dtype=float32)
    """

    def __init__(self, paths: Path | Sequence[Path], root: Path = '.', dtype: Any = None) -> None:
        _check_pillow(type(self).__name__)
        if isinstance(paths, (str, os.PathLike)):
            paths = [line[0] for line in _lines(type(self).__name__, paths, ['path'])]
        self._paths = _sequence(type(self).__name__, 'paths', paths)
        self._root = root
        self._dtype = get_dtype(dtype)

    def __len__(self) -> int:
        """Returns the number of images."""
        return len(self._paths)

    def get_example(self, i: int) -> numpy.ndarray:
        """Returns the ``i``-th image."""
        return _channels_first(_read_image_as_array(os.path.join(self._root, at(self._paths, i)), self._dtype))


class LabeledImageDataset(DatasetMixin):
    """A dataset of image files with labels. Examples are pairs of an image, as in :class:`ImageDataset`, and a label.

    Args:
        pairs: list of (path, label), or the path of a text file with a path, white space and an integer per line.
        root (str): folder that the paths are relative to.
        dtype: dtype of the images; ``config.dtype`` when omitted.
        label_dtype: dtype of the labels.

    Raises:
        ImportError: Pillow is not installed.
        ValueError: a line of the text file is not a path and an integer, or (by the examples) a label is not a
            number of ``label_dtype``.
        OSError: (by the examples) a file is not an image, or not complete. The message names it.

    >>> import pathlib, tempfile, numpy as np, minichainer as chainer
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, 'grey.pgm').write_bytes(b'P5 3 2 255 abcdef')
    ...     chainer.datasets.LabeledImageDataset([('grey.pgm', 7)], root=folder)[0][1]
    array(7, dtype=int32)
    """

    def __init__(
        self,
        pairs: Path | Sequence[tuple[Path, Any]],
        root: Path = '.',
        dtype: Any = None,
        label_dtype: Any = numpy.int32,
    ) -> None:
        _check_pillow(type(self).__name__)
        if isinstance(pairs, (str, os.PathLike)):
            pairs = _pairs(type(self).__name__, pairs)
        self._pairs = _sequence(type(self).__name__, 'pairs', pairs)
        self._root = root
        self._dtype = get_dtype(dtype)
        self._label_dtype = numpy.dtype(label_dtype)

    def __len__(self) -> int:
        """Returns the number of images."""
        return len(self._pairs)

    def get_example(self, i: int) -> tuple[numpy.ndarray, numpy.ndarray]:
        """Returns the ``i``-th image and its label."""
        pair = tuple(at(self._pairs, i))
        if len(pair) != 2:
            raise ValueError(f'{type(self).__name__}: example {i} must be a pair of path and label, got {pair!r}')
        path = os.path.join(self._root, pair[0])
        label = _label(f'{type(self).__name__}: the label of {path}', pair[1], self._label_dtype)
        return _channels_first(_read_image_as_array(path, self._dtype)), label


class ZippedImageDataset(DatasetMixin):
    """A dataset of the images in a zip file. It can be pickled, and used after a fork.

    Args:
        zipfilename (str): path of the zip file. All files in it are examples, in the order of its directory.
        dtype: dtype of the images; ``config.dtype`` when omitted.

    Raises:
        ImportError: Pillow is not installed.
        OSError: the file cannot be opened, or (by the examples) contains something that is not an image.
        zipfile.BadZipFile: it is not a zip file.

    >>> import pathlib, tempfile, zipfile, minichainer as chainer
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, 'images.zip')
    ...     with zipfile.ZipFile(path, 'w') as archive:
    ...         archive.writestr('grey.pgm', b'P5 3 2 255 abcdef')
    ...     chainer.datasets.ZippedImageDataset(path)['grey.pgm'].shape
    (1, 2, 3)
    """

    def __init__(self, zipfilename: Path, dtype: Any = None) -> None:
        _check_pillow(type(self).__name__)
        self._path = os.fspath(zipfilename)
        self._dtype = get_dtype(dtype)
        self._archive = ReopenedFile(functools.partial(_open_zip, self._path))
        self._paths = [name for name in self._archive.get().namelist() if not name.endswith('/')]

    def __len__(self) -> int:
        """Returns the number of images."""
        return len(self._paths)

    def get_example(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, i_or_filename: int | str
    ) -> numpy.ndarray:
        """Returns an image by its position or name.

        Args:
            i_or_filename: position or name in the archive.
        """
        name = i_or_filename if isinstance(i_or_filename, str) else self._paths[i_or_filename]
        archive = self._archive.get()
        if name not in archive.NameToInfo:
            raise KeyError(f'{type(self).__name__}: There is no item named {name!r} in {self._path}')
        try:
            content = archive.read(name)
        except _BROKEN as error:
            raise OSError(f'cannot read {name} in {self._path}: {error}') from error
        return _channels_first(_array(io.BytesIO(content), f'{name} in {self._path}', self._dtype))


class MultiZippedImageDataset(DatasetMixin):
    """A dataset of the images in several zip files, see :class:`ZippedImageDataset`.

    Args:
        zipfilenames: paths of the zip files.
        dtype: dtype of the images; ``config.dtype`` when omitted.

    Raises:
        TypeError: ``zipfilenames`` is a single path.

    >>> import minichainer as chainer
    >>> len(chainer.datasets.MultiZippedImageDataset([]))
    0
    """

    def __init__(self, zipfilenames: Sequence[Path], dtype: Any = None) -> None:
        if isinstance(zipfilenames, (str, os.PathLike)):
            raise TypeError(f'{type(self).__name__}: zipfilenames must be a list of paths, got {zipfilenames!r}')
        self._images = ConcatenatedDataset(*(ZippedImageDataset(name, dtype) for name in zipfilenames))

    def __len__(self) -> int:
        """Returns the number of images."""
        return len(self._images)

    def get_example(self, i: int) -> numpy.ndarray:
        """Returns the ``i``-th image."""
        image: numpy.ndarray = self._images.get_example(i)
        return image


class LabeledZippedImageDataset(DatasetMixin):
    """A dataset of images in a zip file with labels. Examples are pairs of an image and a label.

    Args:
        zipfilename (str): path of the zip file.
        labelfilename (str): path of a text file with a name in the zip file, white space and an integer per line.
        dtype: dtype of the images; ``config.dtype`` when omitted.
        label_dtype: dtype of the labels.

    Raises:
        ValueError: a line of the text file is not a name and an integer.
        KeyError: (by the examples) there is no such file in the zip file.

    >>> import pathlib, tempfile, zipfile, minichainer as chainer
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     images, labels = pathlib.Path(folder, 'images.zip'), pathlib.Path(folder, 'labels.txt')
    ...     with zipfile.ZipFile(images, 'w') as archive:
    ...         archive.writestr('grey.pgm', b'P5 3 2 255 abcdef')
    ...     _ = labels.write_text('grey.pgm 7')
    ...     chainer.datasets.LabeledZippedImageDataset(images, labels)[0][1]
    array(7, dtype=int32)
    """

    def __init__(
        self, zipfilename: Path, labelfilename: Path, dtype: Any = None, label_dtype: Any = numpy.int32
    ) -> None:
        self._pairs = _pairs(type(self).__name__, labelfilename)
        self._images = ZippedImageDataset(zipfilename, dtype)
        self._label_dtype = numpy.dtype(label_dtype)

    def __len__(self) -> int:
        """Returns the number of labels."""
        return len(self._pairs)

    def get_example(self, i: int) -> tuple[numpy.ndarray, numpy.ndarray]:
        """Returns the ``i``-th image and its label."""
        name, label = self._pairs[i]
        what = f'{type(self).__name__}: the label of {name}'
        return self._images.get_example(name), _label(what, label, self._label_dtype)


def _check_pillow(name: str) -> None:
    try:
        import PIL.Image  # noqa: F401
    except ImportError as error:
        raise ImportError(f'{name} needs Pillow: pip install pillow') from error


def _open_zip(path: str) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        raise zipfile.BadZipFile(f'cannot open {path}: {error}') from error


def _read_image_as_array(path: Path, dtype: Any) -> numpy.ndarray:
    """The pixels of an image file, of shape (height, width) or (height, width, channels)."""
    with open(path, 'rb') as file:
        return _array(file, os.fspath(path), dtype)


def _array(file: Any, path: str, dtype: Any) -> numpy.ndarray:
    import PIL.Image

    try:
        with PIL.Image.open(file) as image:
            pixels: numpy.ndarray = numpy.asarray(image, dtype=dtype)
            return pixels
    except PIL.UnidentifiedImageError as error:
        raise PIL.UnidentifiedImageError(f'cannot identify image file {path}') from error
    except _BROKEN as error:
        raise OSError(f'cannot read image file {path}: {error}') from error


def _channels_first(image: numpy.ndarray) -> numpy.ndarray:
    first: numpy.ndarray = (image[:, :, None] if image.ndim == 2 else image).transpose(2, 0, 1)
    return first


def _sequence(name: str, argument: str, value: Any) -> Any:
    if not hasattr(value, '__len__') or not hasattr(value, '__getitem__'):
        raise TypeError(f'{name}: {argument} must be a list or the path of a text file, got {value!r}')
    return value


def _pairs(name: str, path: Path) -> list[tuple[str, int]]:
    """Paths and labels of a text file."""
    pairs = []
    for number, (image, label) in enumerate(_lines(name, path, ['path', 'label']), 1):
        try:
            pairs.append((image, int(label)))
        except ValueError:
            raise ValueError(
                f'{name}: invalid label at line {number} in file {path}: expected an integer, got {label!r}'
            ) from None
    return pairs


def _lines(name: str, path: Path, expected: list[str]) -> list[list[str]]:
    """The words of each line of a text file; a path that stands alone may have spaces."""
    with open(path, encoding='utf-8', errors='surrogateescape') as file:
        lines = [line.split() if len(expected) > 1 else [line.strip()] for line in file]
    for number, words in enumerate(lines, 1):
        if len(words) != len(expected) or not words[0]:
            raise ValueError(
                f'{name}: invalid format at line {number} in file {path}: expected {" and ".join(expected)}, '
                f'got {" ".join(words)!r}'
            )
    return lines


def _label(what: str, label: Any, dtype: numpy.dtype[Any]) -> numpy.ndarray:
    """A label as an array; no value is changed by the conversion to integers."""
    try:
        given = numpy.asarray(label)
        with numpy.errstate(invalid='ignore'):
            made = given.astype(dtype) if given.dtype.kind in 'biuf' else numpy.array(label, dtype)
    except (TypeError, ValueError, OverflowError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f'{what} must be a number of dtype {dtype}, got {label!r}') from error
    if dtype.kind in 'iu' and given.dtype.kind in 'iuf' and (made != given).any():
        raise ValueError(f'{what} must be an integer in the range of dtype {dtype}, got {label!r}')
    return made
