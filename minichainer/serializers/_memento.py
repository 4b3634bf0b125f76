"""Undoes a load that has failed halfway, by the protocol of serializers: saves before, and loads that back."""

from __future__ import annotations

import warnings
from typing import Any

import numpy

from minichainer.backends import cuda
from minichainer.serializer import Deserializer, Serializer


class Memento:
    """The state of an object, as far as its ``serialize`` method saves it.

    Values are kept as they are; arrays with a copy of their elements, because loading overwrites them.

    Args:
        obj: any object with a ``serialize`` method.
    """

    def __init__(self, obj: Any) -> None:
        self._obj = obj
        self._values: dict[str, tuple[Any, Any]] = {}
        try:
            obj.serialize(_Recorder(self._values))
        except MemoryError:
            raise
        except Exception as error:
            # An optimizer before its setup, for example: loading raises the same error, or must do without.
            self._error: Exception | None = error
        else:
            self._error = None

    def restore(self) -> None:
        """Gives the object its state back; not what it does not save.

        Raises:
            Exception: the state could not be saved, or loading it has failed.
        """
        if self._error is not None:
            raise self._error
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            self._obj.serialize(_Restorer(self._values))


class _Recorder(Serializer):
    """Notes each value under its path."""

    restores = True

    def __init__(self, values: dict[str, tuple[Any, Any]], path: str = '') -> None:
        self._values = values
        self._path = path

    def __getitem__(self, key: str) -> _Recorder:
        return _Recorder(self._values, f'{self._path}{key.strip("/")}/')

    def __call__(self, key: str, value: Any) -> Any:
        self._values[self._path + key.lstrip('/')] = value, _elements(value)
        return value


def _elements(value: Any) -> Any:
    """A copy of an array in the memory of the CPU; None for anything else."""
    if isinstance(value, numpy.ndarray):
        return value.copy()
    return cuda.to_cpu(value) if isinstance(value, cuda.ndarray) else None


class _Restorer(Deserializer):
    """Gives back what was noted; a value that was not, such as a state that did not exist, is left as it is."""

    restores = True

    def __init__(self, values: dict[str, tuple[Any, Any]], path: str = '') -> None:
        self._values = values
        self._path = path

    def __getitem__(self, key: str) -> _Restorer:
        return _Restorer(self._values, f'{self._path}{key.strip("/")}/')

    def __call__(self, key: str, value: Any) -> Any:
        before, elements = self._values.get(self._path + key.lstrip('/'), (value, None))
        if isinstance(before, cuda.ndarray) and elements is not None:
            before.set(elements)
        elif elements is not None and before.flags.writeable:
            before[...] = elements
        return before
