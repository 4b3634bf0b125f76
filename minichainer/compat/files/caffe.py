"""The weights in a file of Caffe, as entries of a snapshot."""

from __future__ import annotations

import os
from typing import Any

from minichainer.links.caffe.caffe_function import CaffeFunction
from minichainer.serializer import SnapshotError
from minichainer.serializers.npz import DictionarySerializer


def caffe_entries(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The arrays of a ``.caffemodel`` by the names that ``CaffeFunction`` gives them: ``layer/W``, ``layer/b``.

    Args:
        path: the file.

    Raises:
        SnapshotError: it is not a model of Caffe, not complete, or the weights of a layer do not fit.
        RuntimeError: a layer has a type, or an option, that is not supported; or protobuf is not installed.
    """
    try:
        link = CaffeFunction(path)
    except ImportError as error:
        raise RuntimeError(str(error)) from error
    except (OSError, RuntimeError):
        raise
    except Exception as error:  # DecodeError, of a library that may be absent, or ValueError
        raise SnapshotError(f'{os.fspath(path)}: {error}') from error
    serializer = DictionarySerializer()
    serializer.save(link)
    return serializer.target
