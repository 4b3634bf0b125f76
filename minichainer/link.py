"""Models are built of links: a Link has parameters, a Chain and a ChainList have links."""

from __future__ import annotations

import collections.abc
from collections.abc import Iterable, Iterator
from typing import Any

from minichainer._link.base import Link
from minichainer._link.parts import SetByInit
from minichainer.device_resident import DeviceResidentsVisitor
from minichainer.serializer import AbstractSerializer
from minichainer.variable import Parameter

__all__ = ['Chain', 'ChainList', 'Link']


class _Composite(Link):
    """A link with links below it; subclasses keep ``_children`` and say how each child is named."""

    def _named_children(self) -> Iterable[tuple[str, Link]]:
        """Pairs of name and child, in the order in which they are walked."""
        raise NotImplementedError

    def _child_of(self, link: Any, name: str) -> Any:
        """The child of another link in the place of the own child of that name; None where there is none."""
        raise NotImplementedError

    def __str__(self) -> str:
        lines = []
        for name, child in self._named_children():
            lines.append(f'  ({name}): ' + str(child).replace('\n', '\n  ') + ',\n')
        return f'{type(self).__name__}(' + ('\n' + ''.join(lines) if lines else '') + ')'

    def params(self, include_uninit: bool = True) -> Iterator[Parameter]:
        attributes = self.__dict__
        for name in sorted(self._params):
            param = attributes[name]
            if include_uninit or param.array is not None:
                yield param
        for _, child in self._named_children():
            yield from child.params(include_uninit)

    def namedparams(self, include_uninit: bool = True) -> Iterator[tuple[str, Parameter]]:
        yield from super().namedparams(include_uninit)
        for name, child in self._named_children():
            prefix = '/' + name
            for path, param in child.namedparams(include_uninit):
                yield prefix + path, param

    def links(self, skipself: bool = False) -> Iterator[Link]:
        if not skipself:
            yield self
        for _, child in self._named_children():
            yield from child.links()

    def namedlinks(self, skipself: bool = False) -> Iterator[tuple[str, Link]]:
        if not skipself:
            yield '/', self
        for name, child in self._named_children():
            prefix = '/' + name
            yield prefix, child
            for path, link in child.namedlinks(skipself=True):
                yield prefix + path, link

    def children(self) -> Iterator[Link]:
        for _, child in self._named_children():
            yield child

    def cleargrads(self) -> None:
        if type(self).params is not _Composite.params:
            super().cleargrads()
            return
        self._clear_own_grads()
        for _, child in self._named_children():
            child.cleargrads()

    def _copy_values(self, link: Link, copy_persistent: bool) -> None:
        super()._copy_values(link, copy_persistent)
        for name, child in self._named_children():
            source = self._child_of(link, name)
            if source is not None:
                child.copyparams(source, copy_persistent)

    def _param_pairs(self, link: Any) -> Iterator[tuple[str, Parameter, Any]]:
        yield from super()._param_pairs(link)
        for name, child in self._named_children():
            for path, mine, theirs in child._param_pairs(self._child_of(link, name)):
                yield f'/{name}{path}', mine, theirs

    def device_resident_accept(self, visitor: DeviceResidentsVisitor) -> None:
        super().device_resident_accept(visitor)
        for _, child in self._named_children():
            child.device_resident_accept(visitor)

    def serialize(self, serializer: AbstractSerializer) -> None:
        super().serialize(serializer)
        for name, child in self._named_children():
            child.serialize(serializer[name])


class Chain(_Composite):
    """A link with named links below it: the usual base of a model.

    Args:
        links: links by name; setting attributes inside :meth:`~Link.init_scope` does the same.

    >>> import numpy as np, minichainer as chainer
    >>> import minichainer.functions as F, minichainer.links as L
    >>> class MLP(chainer.Chain):
    ...     def __init__(self):
    ...         super().__init__()
    ...         with self.init_scope():
    ...             self.l1 = L.Linear(None, 5)
    ...             self.l2 = L.Linear(5, 2)
    ...     def forward(self, x):
    ...         return self.l2(F.relu(self.l1(x)))
    >>> MLP()(np.ones((4, 3), np.float32)).shape
    (4, 2)
    """

    _children: Any = SetByInit()

    def __init__(self, **links: Link) -> None:
        super().__init__()
        self.__dict__['_children'] = set()
        for name, link in links.items():
            self.add_link(name, link)

    def __getitem__(self, name: str) -> Any:
        """The child of that name: the same as the attribute."""
        return getattr(self, name)

    def _adopt(self, name: str, value: Any) -> None:
        super()._adopt(name, value)
        if isinstance(value, Link):
            self._check_new_name('link', name)
            value.name = name
            self._children.add(name)

    def __delattr__(self, name: str) -> None:
        self._children.discard(name)
        super().__delattr__(name)

    def add_link(self, name: str, link: Link) -> None:
        """Adds a child; the same as setting it inside :meth:`~Link.init_scope`.

        Args:
            name: name of the attribute.
            link: the link.

        Raises:
            TypeError: ``link`` is no link, or ``name`` no string.
            AttributeError: the chain has an attribute of that name, such as a link registered before.
        """
        self._check_new_name('link', name)
        if not isinstance(link, Link):
            raise TypeError(f'cannot register a non-link object as a child: {name} is of {type(link)}')
        with self.init_scope():
            setattr(self, name, link)

    def copy(self, mode: str = 'share') -> Any:
        clone = super().copy(mode)
        if mode == 'share':
            clone._children = set(self._children)
            for name in clone._children:
                child = self.__dict__[name].copy(mode)
                child.name = name
                clone.__dict__[name] = child
        return clone

    def _named_children(self) -> Iterable[tuple[str, Link]]:
        attributes = self.__dict__
        return [(name, attributes[name]) for name in sorted(self._children)]

    def _child_of(self, link: Any, name: str) -> Any:
        return getattr(link, '__dict__', {}).get(name)


class ChainList(_Composite, collections.abc.MutableSequence):  # type: ignore[type-arg]
    """A link with a list of links below it, named by their positions.

    Args:
        links: the links.

    It is a list: indexing, slices, ``append``, ``insert``, ``del`` and the like. An empty one is false.

    >>> import minichainer as chainer, minichainer.links as L
    >>> layers = chainer.ChainList(L.Linear(3, 4), L.Linear(4, 2))
    >>> layers.append(L.Linear(2, 1))
    >>> [name for name, _ in layers.namedlinks(skipself=True)]
    ['/0', '/1', '/2']
    """

    _children: Any = SetByInit()

    def __init__(self, *links: Link) -> None:
        super().__init__()
        self.__dict__['_children'] = []
        for link in links:
            self.add_link(link)

    def _adopt(self, name: str, value: Any) -> None:
        super()._adopt(name, value)
        if isinstance(value, Link):
            raise TypeError(
                f'cannot register a new link within a "with chainlist.init_scope():" block: {name}; '
                f'{type(self).__name__} has its links by position, so use append'
            )

    def __getitem__(self, index: Any) -> Any:
        """The child at a position, or a list of children for a slice."""
        return self._children[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(index, slice):
            value = [self._checked(link) for link in value]
            self._children[index] = value
        else:
            self._children[index] = self._checked(value)
        self._name_children()

    def __delitem__(self, index: Any) -> None:
        del self._children[index]
        self._name_children()

    def __iter__(self) -> Iterator[Link]:
        return iter(self._children)

    def __len__(self) -> int:
        return len(self._children)

    def insert(self, index: int, link: Link) -> None:
        """Inserts a child.

        Args:
            index: position that it will have.
            link: the link.

        Raises:
            TypeError: ``link`` is no link.
        """
        self._children.insert(index, self._checked(link))
        self._name_children()

    def add_link(self, link: Link) -> None:
        """Adds a child at the end.

        Args:
            link: the link.

        Raises:
            TypeError: ``link`` is no link.
        """
        self.append(link)

    def copy(self, mode: str = 'share') -> Any:
        clone = super().copy(mode)
        if mode == 'share':
            clone._children = [child.copy(mode) for child in self._children]
            clone._name_children()
        return clone

    def _checked(self, link: Any) -> Link:
        if not isinstance(link, Link):
            raise TypeError(
                f'cannot register a non-link object as a child of {type(self).__name__}: got {type(link)}'
            )
        return link

    def _name_children(self) -> None:
        for position, child in enumerate(self._children):
            child.name = str(position)

    def _named_children(self) -> Iterable[tuple[str, Link]]:
        return [(str(position), child) for position, child in enumerate(self._children)]

    def _child_of(self, link: Any, name: str) -> Any:
        children = getattr(link, '_children', None)
        position = int(name)
        return children[position] if isinstance(children, list) and position < len(children) else None
