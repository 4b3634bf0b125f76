"""Saving and loading: snapshots as ``.npz`` and HDF5 files, which Chainer can also read and write."""

import typing

from minichainer._names import namespace as _namespace
from minichainer.serializers.hdf5 import HDF5Deserializer, HDF5Serializer, load_hdf5, save_hdf5
from minichainer.serializers.npz import DictionarySerializer, NpzDeserializer, load_npz, save_npz

__all__ = [
    'DictionarySerializer',
    'HDF5Deserializer',
    'HDF5Serializer',
    'NpzDeserializer',
    'load_hdf5',
    'load_npz',
    'save_hdf5',
    'save_npz',
]

if not typing.TYPE_CHECKING:
    __getattr__, __dir__ = _namespace(__name__)
