"""The two file formats as one fixture: how to save and load with each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from minichainer import serializers

SNAPSHOTS = Path(__file__).resolve().parent.parent / 'reference' / 'snapshots'


@dataclass(frozen=True)
class Format:
    """One file format."""

    suffix: str
    save: Callable[..., None]
    load: Callable[..., None]


FORMATS = {
    'npz': Format('.npz', serializers.save_npz, serializers.load_npz),
    'hdf5': Format('.h5', serializers.save_hdf5, serializers.load_hdf5),
}


@pytest.fixture(params=sorted(FORMATS))
def file_format(request: Any) -> Format:
    """``.npz``, and HDF5 where h5py is installed."""
    if request.param == 'hdf5':
        pytest.importorskip('h5py')
    return FORMATS[request.param]


@pytest.fixture
def snapshots() -> Path:
    """The folder of files that Chainer 7.8.1 wrote."""
    return SNAPSHOTS
