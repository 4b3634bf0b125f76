"""Sequential: a model whose layers are called one after the other."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import Any

from minichainer._link.base import Link
from minichainer._link.parts import SequentialMaker, SetByInit
from minichainer.link import ChainList


class Sequential(ChainList):
    """A list of layers, each called with the result of the one before.

    Layers are links or any callables. A layer that returns a tuple passes it on as several arguments. Only the
    links are children. They are numbered as in Chainer, whose snapshots have these names: a link that is
    appended comes right after the first one, so three of them are, in the order in which they are called,
    ``'/0'``, ``'/2'``, ``'/1'``.

    Args:
        layers: the layers.

    >>> import numpy as np, minichainer as chainer
    >>> import minichainer.functions as F, minichainer.links as L
    >>> model = chainer.Sequential(L.Linear(3, 5), F.relu, L.Linear(5, 2))
    >>> model(np.ones((4, 3), np.float32)).shape
    (4, 2)
    >>> [name for name, _ in model.namedparams()]
    ['/0/W', '/0/b', '/1/W', '/1/b']
    """

    _layers: Any = SetByInit()

    def __init__(self, *layers: Any) -> None:
        super().__init__()
        self.__dict__['_layers'] = []
        self.extend(layers)

    def forward(self, *x: Any) -> Any:
        """The result of the last layer.

        Args:
            x: arguments of the first layer.

        Raises:
            RuntimeError: there is no layer.
        """
        if not self._layers:
            raise RuntimeError(f'{type(self).__name__} does not have any layer.')
        args: Any = x
        for layer in self._layers:
            args = layer(*args) if isinstance(args, tuple) else layer(args)
        return args

    def __len__(self) -> int:
        return len(self._layers)

    def __getitem__(self, i: Any) -> Any:
        """The layer at a position, or a list of layers for a slice."""
        return self._layers[i]

    def __setitem__(self, i: Any, layer: Any) -> None:
        new = list(self._layers)
        new[i] = [_checked(entry) for entry in layer] if isinstance(i, slice) else _checked(layer)
        if isinstance(i, slice):
            self.clear()
            self.extend(new)
        elif layer is not self._layers[i]:
            i %= len(self)
            del self[i]
            self.insert(i, layer)

    def __delitem__(self, i: Any) -> None:
        for layer in self._layers[i] if isinstance(i, slice) else [self._layers[i]]:
            if isinstance(layer, Link):
                self._children.remove(layer)
        del self._layers[i]
        self._name_children()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._layers)

    def __reversed__(self) -> Iterator[Any]:
        return reversed(self._layers)

    def __contains__(self, item: Any) -> bool:
        return item in self._layers

    def __add__(self, other: Sequential) -> Sequential:
        """A new Sequential with the layers of both."""
        return Sequential(*self, *_checked_sequential(other))

    def __iadd__(self, other: Sequential) -> Sequential:  # type: ignore[override]
        self.extend(_checked_sequential(other))
        return self

    def __str__(self) -> str:
        lines = [f'  ({i}): ' + _described(layer).replace('\n', '\n  ') for i, layer in enumerate(self._layers)]
        return f'{type(self).__name__}(' + ('\n' + ''.join(line + ',\n' for line in lines) if lines else '') + ')'

    def __reduce_ex__(self, protocol: Any) -> Any:
        if any(_is_lambda(layer) for layer in self._layers):
            raise ValueError(
                f'This {type(self).__name__} has a lambda function as a layer, which cannot be pickled: '
                'use a named function or functools.partial instead'
            )
        return super().__reduce_ex__(protocol)

    def __copy__(self) -> Sequential:
        return self._with_attributes(
            {**self.__dict__, '_layers': list(self._layers), '_children': list(self._children)}
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> Sequential:
        clone = self._with_attributes({})
        memo[id(self)] = clone
        clone.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return clone

    def append(self, layer: Any) -> None:
        """Adds a layer at the end.

        Args:
            layer: a link or another callable.

        Raises:
            ValueError: it cannot be called.
        """
        self.insert(len(self), layer)

    def add_link(self, link: Any) -> None:
        """The same as :meth:`append`.

        Args:
            link: a link or another callable.
        """
        self.append(link)

    def insert(self, i: int, layer: Any) -> None:
        """Inserts a layer.

        Args:
            i: position that it will have.
            layer: a link or another callable.

        Raises:
            IndexError: there is no such position.
            ValueError: the layer cannot be called.
        """
        if not -len(self) <= i <= len(self):
            raise IndexError(f'Index out of range: {i} in a {type(self).__name__} of {len(self)} layers')
        if isinstance(_checked(layer), Link):
            self._children.insert(self._number_at(i), layer)
        self._layers.insert(i, layer)
        self._name_children()

    def _number_at(self, i: int) -> int:
        """Number of a link that is inserted at a position: Chainer's, which counts the functions before the first."""
        if i in (0, -len(self)):
            return 0
        before = (position for position, layer in enumerate(self._layers[:i]) if isinstance(layer, Link))
        return next(before, 0) + 1

    def extend(self, sequential: Iterable[Any]) -> None:
        """Adds layers at the end.

        Args:
            sequential: the layers.
        """
        for layer in [_checked(layer) for layer in sequential]:
            self.append(layer)

    def pop(self, i: int = -1) -> Any:
        """Removes a layer and returns it.

        Args:
            i: its position.
        """
        layer = self[i]
        del self[i]
        return layer

    def remove(self, layer: Any) -> None:
        """Removes the first layer that is the given one.

        Args:
            layer: the layer.

        Raises:
            ValueError: it is not there.
        """
        if layer not in self:
            raise ValueError(f'Sequential.remove: {layer} is not among the layers')
        del self[self.index(layer)]

    def remove_by_layer_type(self, type_name: str) -> None:
        """Removes all layers of a class, or all functions of a name; not those inside other layers.

        Args:
            type_name: name of the class or function, such as ``'Linear'`` or ``'relu'``.
        """
        for i in reversed(range(len(self))):
            if _type_name(self[i]) == type_name:
                del self[i]

    def count_by_layer_type(self, type_name: str) -> int:
        """How many layers are of a class, or are functions of a name.

        Args:
            type_name: name of the class or function.

        >>> import minichainer as chainer, minichainer.functions as F, minichainer.links as L
        >>> chainer.Sequential(L.Linear(2, 2), F.relu, L.Linear(2, 1)).count_by_layer_type('Linear')
        2
        """
        return sum(_type_name(layer) == type_name for layer in self._layers)

    def count(self, layer: Any) -> int:
        """How many times a layer is there.

        Args:
            layer: the layer.
        """
        return self._layers.count(layer)

    def index(self, layer: Any, start: int | None = None, end: int | None = None) -> int:
        """Position of a layer, counted from ``start``.

        Args:
            layer: the layer.
            start: where to begin to look.
            end: where to stop.

        Raises:
            ValueError: it is not there.
        """
        try:
            return self._layers[start:end].index(layer)
        except ValueError:
            raise ValueError(f'{layer} is not in the layers {start or 0} to {end or len(self)}') from None

    def clear(self) -> None:
        """Removes all layers."""
        del self[:]

    def flatten(self) -> Sequential:
        """A Sequential with the layers of the Sequentials inside put in their places.

        >>> import minichainer as chainer, minichainer.functions as F, minichainer.links as L
        >>> block = chainer.Sequential(L.Linear(2, 2), F.relu)
        >>> len(chainer.Sequential(block, block).flatten())
        4
        """
        flat = Sequential()
        for layer in self._layers:
            flat.extend(layer.flatten() if isinstance(layer, Sequential) else [layer])
        return flat

    def copy(self, mode: str = 'share') -> Any:
        clone = super(ChainList, self).copy(mode)  # ChainList would copy the children, not the layers
        if mode == 'share':
            clone._layers = [layer.copy(mode) if isinstance(layer, Link) else layer for layer in self._layers]
            clone._number_copied_children()
        return clone

    def _number_copied_children(self) -> None:
        layers = self._layers
        self.__dict__.update(_layers=[], _children=[])
        self.extend(layers)

    def copyparams(self, link: Any, copy_persistent: bool = True) -> None:
        """Copies the parameters of another Sequential with the same layers into its own arrays.

        Args:
            link: the other.
            copy_persistent: persistent values as well.

        Raises:
            ValueError: ``link`` is no Sequential, or its parameters do not fit; then nothing is changed.
        """
        if not isinstance(link, Sequential):
            raise ValueError(
                f'Objects other than Sequential object cannot be copied to a Sequential object: got {type(link)}'
            )
        super().copyparams(link, copy_persistent)

    def _with_attributes(self, attributes: dict[str, Any]) -> Sequential:
        clone = object.__new__(type(self))
        clone.__dict__.update(attributes)
        return clone


def _checked(layer: Any) -> Any:
    if not callable(layer):
        raise ValueError(f'a layer of Sequential must be callable, got {layer!r}')
    return layer


def _checked_sequential(other: Any) -> Sequential:
    if not isinstance(other, Sequential):
        raise ValueError(f'add (+) operator supports only objects of Sequential class, but {type(other)} is given.')
    return other


def _is_lambda(layer: Any) -> bool:
    return getattr(layer, '__name__', '') == '<lambda>'


def _type_name(layer: Any) -> str:
    """Class of a link, name of a function."""
    name = type(layer).__name__
    return name if isinstance(layer, Link) else getattr(layer, '__name__', name)


def _described(layer: Any) -> str:
    """The layer in words; the source line of a lambda, whose name says nothing."""
    if not _is_lambda(layer):
        return str(layer)
    import inspect

    try:
        return inspect.getsource(layer).strip().rstrip(',')
    except (OSError, TypeError):
        return str(layer)


SequentialMaker.make = Sequential
