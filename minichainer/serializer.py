"""The protocol for saving and loading objects: they pass each value, with a name, through a serializer."""

from __future__ import annotations

from typing import Any


class SnapshotError(KeyError, ValueError):
    """A snapshot cannot be read, or does not fit the object.

    It is a KeyError and a ValueError, which Chainer raises for a missing entry and for a wrong shape, because one
    error names all entries that do not fit.
    """

    def __str__(self) -> str:
        # KeyError shows the repr of its argument, where line breaks are unreadable.
        return str(self.args[0]) if self.args else ''


class AbstractSerializer:
    """The interface of serializers and deserializers.

    An object that can be saved defines ``serialize(self, serializer)`` and writes
    ``self.x = serializer('x', self.x)`` for each value and ``self.part.serialize(serializer['part'])`` for
    each part; the same lines save and load.
    """

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
    if hasattr(obj, 'serialize'):
        return
    if hasattr(file, 'serialize'):
        raise TypeError(f'{call}: the arguments look swapped: write {call}(file, obj), the file first')
    raise TypeError(f'{call}: an object with a method serialize expected, such as a link, got {type(obj).__name__}')


class Deserializer(AbstractSerializer):
    """Base class for loading."""

    def load(self, obj: Any) -> None:
        """Loads an object by its ``serialize`` method.

        Args:
            obj: the object, changed in place.
        """
        obj.serialize(self)
