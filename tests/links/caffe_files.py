"""Small files of Caffe, which the tests write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from minichainer.links.caffe._schema import OLD_TYPES, net_parameter, write_blob

NUMBERS = {name: number for number, name in OLD_TYPES.items()}


def layer(kind: str, name: str = 'a', bottom: Any = 'x', top: Any = 'y', blobs: Any = (), **params: Any) -> Any:
    """The description of a layer: its type, names, weights, and the options of its messages as dicts."""
    names = {key: value if isinstance(value, list) else [value] for key, value in (('bottom', bottom), ('top', top))}
    return {'name': name, 'type': kind, **names, 'blobs': blobs, 'params': params}


def write(path: Path, *layers: Any, old: bool = False) -> Path:
    """Writes a network in the format of today, or in that of 2013."""
    net = net_parameter()()
    for given in layers:
        message = (net.layers if old else net.layer).add(name=given['name'], bottom=given['bottom'], top=given['top'])
        message.type = NUMBERS[given['type']] if old else given['type']
        for name, options in given['params'].items():
            _fill(getattr(message, name), options)
        for array in given['blobs']:
            _blob(message.blobs.add(), np.asarray(array, 'f'), old)
    path.write_bytes(net.SerializeToString())
    return path


def _fill(message: Any, options: dict[str, Any]) -> None:
    message.SetInParent()
    for name, value in options.items():
        if isinstance(value, dict):
            _fill(getattr(message, name), value)
        elif isinstance(value, list):
            getattr(message, name).extend(value)
        else:
            setattr(message, name, value)


def _blob(blob: Any, array: np.ndarray, old: bool) -> None:
    if not old:
        write_blob(blob, array)
        return
    blob.num, blob.channels, blob.height, blob.width = (1,) * (4 - array.ndim) + array.shape
    blob.data.append(array.astype('<f4').tobytes())
