"""Saving an object and loading it again."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import Any

from minichainer.serializers.hdf5 import load_hdf5, save_hdf5
from minichainer.serializers.npz import load_npz, save_npz

__all__ = ['save_and_load', 'save_and_load_hdf5', 'save_and_load_npz']


def save_and_load(
    src: Any, dst: Any, filename: str, saver: Callable[[str, Any], Any], loader: Callable[[str, Any], Any]
) -> None:
    """Saves one object and loads the file into another.

    Args:
        src: What is saved.
        dst: What it is loaded into.
        filename: Name of the file, which lies in a temporary folder of its own.
        saver: Called with the path and ``src``.
        loader: Called with the path and ``dst``.

    Source: documentation of ``chainer.testing.save_and_load``.

    >>> import minichainer.links as L
    >>> from minichainer import serializers, testing
    >>> one, other = L.Linear(2, 2), L.Linear(2, 2)
    >>> testing.save_and_load(one, other, 'model.npz', serializers.save_npz, serializers.load_npz)
    >>> bool((one.W.array == other.W.array).all())
    True
    """
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, filename)
        saver(path, src)
        loader(path, dst)


def save_and_load_npz(src: Any, dst: Any) -> None:
    """Saves one object as ``.npz`` and loads the file into another.

    Args:
        src: What is saved: a Link, an Optimizer, a Trainer.
        dst: What it is loaded into.

    Source: documentation of ``chainer.testing.save_and_load_npz``.

    >>> import minichainer.links as L
    >>> from minichainer import testing
    >>> one, other = L.Linear(2, 2), L.Linear(2, 2)
    >>> testing.save_and_load_npz(one, other)
    >>> bool((one.W.array == other.W.array).all())
    True
    """
    save_and_load(src, dst, 'tmp.npz', save_npz, load_npz)


def save_and_load_hdf5(src: Any, dst: Any) -> None:
    """Saves one object as HDF5 and loads the file into another; needs h5py.

    Args:
        src: What is saved: a Link, an Optimizer, a Trainer.
        dst: What it is loaded into.

    Source: documentation of ``chainer.testing.save_and_load_hdf5``.

    >>> import minichainer.links as L
    >>> from minichainer import testing
    >>> one, other = L.Linear(2, 2), L.Linear(2, 2)
    >>> testing.save_and_load_hdf5(one, other)
    >>> bool((one.W.array == other.W.array).all())
    True
    """
    save_and_load(src, dst, 'tmp.h5', save_hdf5, load_hdf5)
