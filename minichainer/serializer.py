"""The protocol for saving and loading objects: they pass each value, with a name, through a serializer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy

from minichainer.errors import DamagedSnapshotError as DamagedSnapshotError
from minichainer.errors import EntryTypeError as EntryTypeError
from minichainer.errors import MissingEntryError as MissingEntryError
from minichainer.errors import SnapshotError as SnapshotError


def decoded(text: Any, kind: type) -> Any:
    """A value that was saved as a text in JSON.

    Args:
        text: the text.
        kind: the class that the value must have.

    Raises:
        ValueError: the text is not JSON, or of another class.
    """
    value = json.loads(str(text))
    if not isinstance(value, kind):
        raise ValueError(f'expected a {kind.__name__} as JSON, got {str(text)[:50]!r}')
    return value


class AbstractSerializer:
    """The interface of serializers and deserializers.

    An object that can be saved defines ``serialize(self, serializer)`` and writes
    ``self.x = serializer('x', self.x)`` for each value and ``self.part.serialize(serializer['part'])`` for
    each part; the same lines save and load.
    """

    #: Whether it keeps or restores the state from before a load, to undo one that fails. Then what had no value gets
    #: none again.
    restores = False

    def __getitem__(self, key: str) -> AbstractSerializer:
        """The serializer of a part.

        Args:
            key: name of the part.
        """
        raise NotImplementedError(f'{type(self).__name__} must define __getitem__')

    def __call__(self, key: str, value: Any) -> Any:
        """Saves or loads one value.

        Args:
            key: name of the value.
            value: the value to save; when loading the present one, into which arrays are loaded in place.

        Returns:
            The value to use from now on.
        """
        raise NotImplementedError(f'{type(self).__name__} must define __call__')


class Serializer(AbstractSerializer):
    """Base class for saving.

    >>> import minichainer as chainer
    >>> class Names(chainer.Serializer):
    ...     def __getitem__(self, key):
    ...         return self
    ...     def __call__(self, key, value):
    ...         print(key)
    ...         return value
    >>> Names().save(chainer.links.Linear(3, 2))
    W
    b
    """

    def save(self, obj: Any) -> None:
        """Saves an object by its ``serialize`` method.

        Args:
            obj: the object.
        """
        obj.serialize(self)


def check_object(call: str, file: Any, obj: Any) -> None:
    """Raises TypeError unless ``obj`` can be saved or loaded, for swapped arguments above all.

    Args:
        call: name of the function.
        file: its first argument.
        obj: its second argument.
    """
    if isinstance(obj, type):
        raise TypeError(f'{call}: an object expected, got the class {obj.__name__}; write {obj.__name__}(...)')
    if hasattr(obj, 'serialize') or (isinstance(obj, dict) and call.startswith('save_')):
        return
    if hasattr(file, 'serialize'):
        raise TypeError(f'{call}: the arguments look swapped: write {call}(file, obj), the file first')
    raise TypeError(f'{call}: an object with a method serialize expected, such as a link, got {type(obj).__name__}')


def save_any(serializer: Serializer, obj: Any) -> None:
    """Saves an object with a method ``serialize``, or a dict of arrays by their names.

    Args:
        serializer: what saves.
        obj: the object.

    Raises:
        TypeError: a name is not a text, or a value cannot be saved.
    """
    if hasattr(obj, 'serialize'):
        serializer.save(obj)
        return
    for name, value in obj.items():
        if not isinstance(name, str):
            raise TypeError(f'cannot save a dict with the name {name!r}: names must be texts')
        serializer(name, None if _is_none(value) else value)


def _is_none(value: Any) -> bool:
    """Whether a value is None as the target of a ``DictionarySerializer`` has it."""
    return getattr(value, 'dtype', None) is numpy.dtype('O') and value.shape == () and value[()] is None


class Deserializer(AbstractSerializer):
    """Base class for loading."""

    def load(self, obj: Any) -> None:
        """Loads an object by its ``serialize`` method.

        Args:
            obj: the object, changed in place.
        """
        obj.serialize(self)

    def full_name(self, key: str) -> str:
        """The name of an entry in the whole snapshot, for errors.

        Args:
            key: its name in this part.
        """
        return key

    def refuse(self, description: str, problems: Sequence[Exception]) -> None:
        """Raises an error that names all problems, or collects them, if the whole load does that at its end.

        Args:
            description: what the snapshot does not fit.
            problems: the errors of the entries; if there are none, nothing happens.

        Raises:
            SnapshotError: there are problems; of the class of all of them, if that is one.
        """
        if problems:
            raise misfit(description, problems)


def misfit(description: str, problems: Sequence[Exception], advice: str = '') -> SnapshotError:
    """One error for all entries that do not fit an object.

    Args:
        description: what the snapshot does not fit.
        problems: the errors of the entries.
        advice: what to do.
    """
    lines = [f'the snapshot does not fit the {description}:', *('  ' + _text(problem) for problem in problems)]
    return _common_class(problems)('\n'.join([*lines, advice] if advice else lines))


def _text(error: Exception) -> str:
    return str(error.args[0]) if error.args else type(error).__name__


def _common_class(problems: Sequence[Exception]) -> type[SnapshotError]:
    if any(isinstance(problem, DamagedSnapshotError) for problem in problems):
        return DamagedSnapshotError
    if all(isinstance(problem, KeyError) for problem in problems):
        return MissingEntryError
    return SnapshotError
