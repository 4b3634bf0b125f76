"""Trained weights: files of Chainer, and of Caffe, from which those are made."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy

from minichainer.dataset.download import cache_or_load_file, cached_file, get_dataset_directory
from minichainer.links.caffe.caffe_function import CaffeFunction
from minichainer.serializers._replacing import replacing
from minichainer.serializers.npz import NpzDeserializer, load_npz

#: Arrays by the names they have in a file of Chainer.
Arrays: TypeAlias = dict[str, numpy.ndarray]
#: Makes the arrays of a model from those of Caffe's.
Converter: TypeAlias = Callable[[Any], Arrays]


@dataclass(frozen=True)
class Published:
    """Weights that were published.

    Args:
        npz: name of the file of Chainer.
        caffemodel: name of the file of Caffe.
        urls: addresses of the file of Caffe, the first of which names the copy; or of the page that has it.
        checksum: SHA-1 checksum of the file of Caffe, as its authors publish it; None if the address is a page.
    """

    npz: str
    caffemodel: str
    urls: tuple[str, ...]
    checksum: str | None


def find_weights(model: str, pretrained_model: Any, published: Published, convert: Converter) -> str | None:
    """The path of the file to load, before a large model is made for it.

    Args:
        model: name of the model, for errors.
        pretrained_model: None for no weights, ``'auto'`` for the published ones in Chainer's folder, or a path.
        published: the weights that ``'auto'`` means.
        convert: makes the arrays of the model from those of Caffe's.

    Raises:
        TypeError: it is not a path.
        OSError: there is no such file. The message says which file to put where.
    """
    if pretrained_model is None:
        return None
    if not isinstance(pretrained_model, (str, os.PathLike)):
        raise TypeError(f"{model}: pretrained_model must be 'auto', a path or None, got {pretrained_model!r}")
    path = os.fspath(pretrained_model)
    if path == 'auto':
        return _published(model, published, convert)
    candidates = [path, os.path.join(_folder(), path)] if path.endswith('.caffemodel') else [path]
    for candidate in candidates:
        if os.path.exists(candidate):
            return candidate
    raise FileNotFoundError(f'{model}: there is no file {" or ".join(candidates)}')


def load_weights(model: Any, path: str | None, convert: Converter) -> None:
    """Loads a file of Chainer or Caffe, as its name says, into a model."""
    if path is None:
        return
    if path.endswith('.caffemodel'):
        NpzDeserializer(convert(CaffeFunction(path))).load(model)
    else:
        load_npz(path, model)


def write_npz(path: str, arrays: Mapping[str, numpy.ndarray]) -> None:
    """Writes a file of Chainer; it appears when it is complete."""
    with replacing(path) as part, open(part, 'wb') as file:
        numpy.savez(file, **arrays)  # type: ignore[arg-type]


def convert_file(path_caffemodel: Any, path_npz: Any, convert: Converter) -> None:
    """Writes the weights of a file of Caffe to a file of Chainer."""
    write_npz(os.fspath(path_npz), convert(CaffeFunction(path_caffemodel)))


def _folder() -> str:
    return get_dataset_directory('pfnet/chainer/models', create_directory=False)


def _published(model: str, published: Published, convert: Converter) -> str:
    """The file of Chainer in its folder; it is made from Caffe's if it is not there."""
    npz, caffemodel = (os.path.join(_folder(), name) for name in (published.npz, published.caffemodel))

    remedy = (
        f'get {published.caffemodel} from {published.urls[-1]} and save it as {caffemodel}, or save '
        f"Chainer's {published.npz} as {npz}"
    )

    def make(part: str) -> None:
        source = caffemodel if os.path.exists(caffemodel) else _download(model, published, remedy)
        try:
            convert_file(source, part, convert)
        except ImportError:
            raise
        except Exception as error:  # DecodeError, of a library that may be absent, or ValueError
            raise OSError(f'{model}: {source} has other contents than the trained weights; {remedy}') from error

    cache_or_load_file(npz, make, lambda path: None)
    return npz


def _download(model: str, published: Published, remedy: str) -> str:
    if published.checksum is None:
        raise OSError(f'{model}: the trained weights are not here; {remedy}')
    try:
        return cached_file(published.urls, published.checksum)
    except OSError as error:
        raise OSError(f'{model}: the trained weights are not here and cannot be downloaded; {remedy}') from error


# --- weights of Caffe's layers -------------------------------------------------------------------------------------
def layer_arrays(caffe: Any, layer: str, link: str) -> Iterator[tuple[str, numpy.ndarray]]:
    """The filters and the bias of a layer of Caffe, by their names in a link."""
    for name, param in _layer(caffe, layer).namedparams():
        yield f'{link}{name}', param.array


def _layer(caffe: Any, layer: str) -> Any:
    if layer not in caffe._children:
        raise ValueError(f'the Caffe model has no layer {layer!r} with weights: it is another network')
    return caffe[layer]


def normalization_arrays(caffe: Any, statistics: str, scale: str, link: str) -> Iterator[tuple[str, numpy.ndarray]]:
    """The arrays of a batch normalization, which is two layers in Caffe, by their names in a link."""
    measured, scaled = _layer(caffe, statistics), _layer(caffe, scale)
    yield f'{link}/avg_mean', measured.avg_mean
    yield f'{link}/avg_var', measured.avg_var
    yield f'{link}/N', numpy.array(0)
    yield f'{link}/gamma', scaled.W.array
    yield f'{link}/beta', scaled.bias.b.array
