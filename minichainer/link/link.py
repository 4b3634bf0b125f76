"""Links: a Link can be called; a Chain, a ChainList and a Sequential contain other links.

They share a module because each uses the others: :meth:`Link.repeat` makes a :class:`Sequential`, which is a Link.
"""

from __future__ import annotations

import collections.abc
import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

from minichainer import link_hook
from minichainer._unfitting_calls import explain
from minichainer.errors import PositionError
from minichainer.link._calls import InitSignature, check_call, forward_error
from minichainer.link._copies import copied_child
from minichainer.link._summary import summarize
from minichainer.link._tree import tree_as_html
from minichainer.link.parameters import ParameterTree, SetByInit, check_copy_mode, initialize_again, shape_and_dtype
from minichainer.link_hook import LinkHook

if TYPE_CHECKING:
    from typing_extensions import Self

P = ParamSpec('P')
R = TypeVar('R', covariant=True)


class _Called(Protocol[P, R]):
    """The type of ``self`` in a link's call, so that ``link(x)`` has the parameters and result of ``forward``."""

    _local_link_hooks: dict[str, LinkHook] | None

    def forward(self, *args: P.args, **kwargs: P.kwargs) -> R: ...


class Link(ParameterTree):
    """Building block of a model: parameters, and a ``forward`` method that computes with them.

    Parameters are attributes set inside :meth:`init_scope`. Values that belong to the model but are not trained, such
    as running means, are persistent values: :meth:`add_persistent`. Both are saved, and moved between devices.

    Args:
        params: shapes of parameters by name, or pairs of shape and dtype; all NaN. The style of Chainer v1.

    >>> import numpy as np, minichainer as chainer
    >>> class Scale(chainer.Link):
    ...     def __init__(self, size):
    ...         super().__init__()
    ...         with self.init_scope():
    ...             self.w = chainer.Parameter(2., (size,))
    ...     def forward(self, x):
    ...         return x * self.w
    >>> Scale(3)(np.ones(3, np.float32)).array
    array([2., 2., 2.], dtype=float32)
    """

    _local_link_hooks: Any = SetByInit()
    forward: Callable[..., Any]

    __signature__ = InitSignature()

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        if args or kwargs:
            check_call(cls, args, kwargs)
        return super().__new__(cls)

    def __init__(self, **params: Any) -> None:
        super().__init__()
        self.__dict__['_local_link_hooks'] = None
        for name, value in params.items():
            shape, dtype = shape_and_dtype(value)
            self.add_param(name, shape, dtype=dtype)

    def __call__(self: _Called[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Calls ``forward``, and before and after it the hooks of links.

        Args:
            args: what ``forward`` takes.
            kwargs: what ``forward`` takes by name.
        """
        local_hooks = self._local_link_hooks
        if local_hooks or link_hook.active:
            hooks = [*link_hook.get_link_hooks().values(), *(local_hooks or {}).values()]
            result: R = link_hook.call_with_hooks(self, hooks, args, kwargs)
            return result
        try:
            return self.forward(*args, **kwargs)
        except TypeError as error:
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                explain(error)  # from within
                raise
            raise forward_error(self, error, args, kwargs) from None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__call__ is Link.__call__ and hasattr(super(), '__call__'):  # noqa: B004  (not callable())
            cls.__call__ = _call_of_mixin  # type: ignore[method-assign]

    def __str__(self) -> str:
        return self._as_text()

    def __repr__(self) -> str:
        try:
            return self._as_text()
        except (AttributeError, RuntimeError):  # __init__ has not finished
            return object.__repr__(self)

    def _repr_html_(self) -> str:
        """The tree with shapes and numbers of parameters, for notebooks."""
        return tree_as_html(self)

    def _as_text(self) -> str:
        return f'{type(self).__name__}({", ".join(f"{k}={v}" for k, v in self.printable_specs)})'

    def summary(self, *args: Any, **kwargs: Any) -> None:
        """Prints the layers with their outputs, parameters, memory, and the time of forward and backward.

        Memory is that of the arrays that functions keep for backward. Times and memory of a link include those of
        its children. Copies of the link are called, twice; the link itself is not changed, and gets no shapes either.

        Args:
            args: arguments of a call, such as a mini-batch.
            kwargs: keyword arguments of a call.

        >>> import numpy as np, minichainer as chainer, minichainer.links as L
        >>> chainer.Sequential(L.Linear(None, 5), L.Linear(5, 2)).summary(np.ones((4, 3), np.float32))
        layer       output  parameters  memory  forward  backward
        Sequential  (4, 2)          32 ...
          0 Linear  (4, 5)          20 ...
          1 Linear  (4, 2)          12 ...
        <BLANKLINE>
        32 parameters (128 B), as much again for gradients; ... kept from forward to backward
        """
        print(summarize(self, args, kwargs))

    @property
    def printable_specs(self) -> Iterator[tuple[str, Any]]:
        """Names and values shown by ``str(link)``; a subclass yields its constructor's arguments."""
        return iter(())

    def repeat(self, n_repeat: int, mode: str = 'init') -> Sequential:
        """A :class:`~minichainer.Sequential` of copies of the link.

        Args:
            n_repeat: number of copies.
            mode: as for :meth:`copy`.

        >>> import minichainer as chainer
        >>> print(chainer.links.Linear(3, 3).repeat(2))
        Sequential(
          (0): Linear(in_size=3, out_size=3, nobias=False),
          (1): Linear(in_size=3, out_size=3, nobias=False),
        )
        """
        check_copy_mode(mode)
        return Sequential(*[self.copy(mode) for _ in range(n_repeat)])

    @classmethod
    def from_params(cls, *args: Any, **kwargs: Any) -> Link:
        """Makes a link from existing parameters; some subclasses define it.

        Args:
            args: the parameters, Variables.
        """
        raise NotImplementedError(f'{cls.__name__} does not implement `from_params`.')

    def _copied_sharing(self) -> Self:
        clone = super()._copied_sharing()
        clone._local_link_hooks = dict(self._local_link_hooks or {})
        return clone

    # --- hooks ---
    @property
    def local_link_hooks(self) -> Mapping[str, LinkHook]:
        """The hooks of this link alone, by name."""
        if self._local_link_hooks is None:
            self._local_link_hooks = {}
        hooks: Mapping[str, LinkHook] = self._local_link_hooks
        return hooks

    def add_hook(self, hook: LinkHook, name: str | None = None) -> Link:
        """Adds a hook to this link alone.

        Args:
            hook: the hook.
            name: by which it is found again; the hook's own by default.

        Returns:
            The link itself.

        Raises:
            TypeError: ``hook`` is not a LinkHook.
            KeyError: there is a hook of that name.
        """
        if not isinstance(hook, LinkHook):
            raise TypeError(f'Hook must be of type LinkHook, got {type(hook)}')
        name = hook.name if name is None else name
        hooks: Any = self.local_link_hooks
        if name in hooks:
            raise KeyError(f'Hook {name} already exists in this {type(self).__name__}: pass another name')
        try:
            hooks[name] = hook
            hook.added(self)
        except BaseException:
            hooks.pop(name, None)
            raise
        return self

    def delete_hook(self, name: str) -> None:
        """Removes a hook from this link.

        Args:
            name: name of the hook.

        Raises:
            KeyError: there is no such hook.
        """
        hooks: Any = self.local_link_hooks
        if name not in hooks:
            raise KeyError(f'Hook {name} does not exist in this {type(self).__name__}')
        try:
            hooks[name].deleted(self)
        finally:
            hooks.pop(name, None)


def _call_of_mixin(self: Any, *args: Any, **kwargs: Any) -> Any:
    """The call of a link that also derives from a class with a ``__call__``, which takes precedence."""
    following: Any = super(Link, self)
    hooks = [*link_hook.get_link_hooks().values(), *(self._local_link_hooks or {}).values()]
    return link_hook.call_with_hooks(self, hooks, args, kwargs, following.__call__)


class Chain(Link):
    """A link with named child links: the usual base of a model.

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
        """The child with that name: the same as the attribute."""
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
            TypeError: ``link`` is not a link, or ``name`` not a string.
            AttributeError: the chain has an attribute of that name, such as a link registered before.
        """
        self._check_new_name('link', name)
        if not isinstance(link, Link):
            raise TypeError(f'cannot register a non-link object as a child: {name} is of {type(link)}')
        with self.init_scope():
            setattr(self, name, link)

    def _as_text(self) -> str:
        return _listed(self, [(name, str(child)) for name, child in self._named_children()])

    def _copied_sharing(self) -> Self:
        """A copy that shares arrays, with copies of the children."""
        clone = super()._copied_sharing()
        clone._children = set(self._children)
        for name in sorted(clone._children):
            child = copied_child(self.__dict__[name])
            child.name = name
            clone.__dict__[name] = child
        return clone

    def _initialize_again(self) -> None:
        """Draws as Chainer does: for all descendants, and then each child for its own; so seeds mean the same."""
        super()._initialize_again()
        for _, child in self._named_children():
            child._initialize_again()

    def _named_children(self) -> Iterable[tuple[str, Link]]:
        attributes = self.__dict__
        return [(name, attributes[name]) for name in sorted(self._children)]

    def _child_of(self, link: Any, name: str) -> Any:
        return getattr(link, '__dict__', {}).get(name)


class ChainList(Link, collections.abc.MutableSequence):  # type: ignore[type-arg]
    """A link with a list of child links, named by their positions.

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
        """Registers parameters only: links are added by position."""
        super()._adopt(name, value)
        if isinstance(value, Link):
            raise TypeError(
                f'cannot register a new link within a "with chainlist.init_scope():" block: {name}; '
                f'{type(self).__name__} contains its links by position, so use append'
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
            TypeError: ``link`` is not a link.
        """
        self._children.insert(index, self._checked(link))
        self._name_children()

    def add_link(self, link: Link) -> None:
        """Adds a child at the end.

        Args:
            link: the link.

        Raises:
            TypeError: ``link`` is not a link.
        """
        self.append(link)

    def _as_text(self) -> str:
        return _listed(self, [(name, str(child)) for name, child in self._named_children()])

    def copy(self, mode: str = 'share') -> Self:
        """A copy of the list and its descendants, as of :meth:`Link.copy`; it has no name in any mode."""
        clone = super().copy(mode)
        clone.name = None
        return clone

    def _copied_sharing(self) -> Self:
        clone = super()._copied_sharing()
        clone._children = [copied_child(child) for child in self._children]
        clone._name_children()
        return clone

    def _initialize_again(self) -> None:
        for name in sorted(self._params):
            if self.__dict__[name].is_initialized:
                initialize_again(self.__dict__[name])
        for _, child in self._named_children():
            child._initialize_again()

    def _checked(self, link: Any) -> Link:
        if not isinstance(link, Link):
            raise TypeError(
                f'cannot register a non-link object as a child of {type(self).__name__}: got {type(link)}'
                + _instead(type(self).__name__, link)
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


class Sequential(ChainList):
    """A list of layers, each called with the result of the previous one.

    Layers are links or any callables. A tuple returned by a layer is passed on as several arguments. Only the links
    are children. They are numbered as in Chainer, whose snapshots contain these names: an appended link is numbered
    right after the first one, so three links are called in the order ``'/0'``, ``'/2'``, ``'/1'``.

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
        if not isinstance(i, slice) and not -len(new) <= i < len(new):
            raise PositionError(f'{type(self).__name__}: there is no layer {i}, there are {len(new)}; use append')
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
        yield from reversed(self._layers)

    def __contains__(self, item: Any) -> bool:
        return item in self._layers

    def __add__(self, other: Sequential) -> Sequential:
        """A new Sequential with the layers of both."""
        return Sequential(*self, *_checked_sequential(other))

    def __iadd__(self, other: Sequential) -> Sequential:  # type: ignore[override]
        self.extend(_checked_sequential(other))
        return self

    def _as_text(self) -> str:
        return _listed(self, [(i, _described(layer)) for i, layer in enumerate(self._layers)])

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

    def insert(self, i: int, layer: Any) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]  # Chainer's names
        """Inserts a layer.

        Args:
            i: position that it will have.
            layer: a link or another callable.

        Raises:
            IndexError: the position is out of range.
            ValueError: the layer cannot be called.
        """
        if not -len(self) <= i <= len(self):
            raise IndexError(f'Index out of range: {i} in a {type(self).__name__} of {len(self)} layers')
        if isinstance(_checked(layer), Link):
            self._children.insert(self._number_at(i), layer)
        self._layers.insert(i, layer)
        self._name_children()

    def _number_at(self, i: int) -> int:
        """Chainer's number for a link inserted at a position; it counts the functions before the first link."""
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
        """Removes the first layer equal to the given one.

        Args:
            layer: the layer.

        Raises:
            ValueError: it is not there.
        """
        if layer not in self:
            raise ValueError(f'Sequential.remove: {layer} is not among the layers')
        del self[self.index(layer)]

    def remove_by_layer_type(self, type_name: str) -> None:
        """Removes all layers of a class, or all functions with a name; not inside nested layers.

        Args:
            type_name: name of the class or function, such as ``'Linear'`` or ``'relu'``.
        """
        for i in reversed(range(len(self))):
            if _type_name(self[i]) == type_name:
                del self[i]

    def count_by_layer_type(self, type_name: str) -> int:
        """The number of layers of a class, or functions with a name.

        Args:
            type_name: name of the class or function.

        >>> import minichainer as chainer, minichainer.functions as F, minichainer.links as L
        >>> chainer.Sequential(L.Linear(2, 2), F.relu, L.Linear(2, 1)).count_by_layer_type('Linear')
        2
        """
        return sum(_type_name(layer) == type_name for layer in self._layers)

    def count(self, layer: Any) -> int:
        """How many times a layer occurs.

        Args:
            layer: the layer.
        """
        return list(self._layers).count(layer)

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
            return list(self._layers[start:end]).index(layer)
        except ValueError:
            raise ValueError(f'{layer} is not in the layers {start or 0} to {end or len(self)}') from None

    def clear(self) -> None:
        """Removes all layers."""
        del self[:]

    def flatten(self) -> Sequential:
        """A Sequential in which nested Sequentials are replaced by their layers.

        >>> import minichainer as chainer, minichainer.functions as F, minichainer.links as L
        >>> block = chainer.Sequential(L.Linear(2, 2), F.relu)
        >>> len(chainer.Sequential(block, block).flatten())
        4
        """
        flat = Sequential()
        for layer in self._layers:
            flat.extend(layer.flatten() if isinstance(layer, Sequential) else [layer])
        return flat

    def _copied_sharing(self) -> Self:
        clone = super(ChainList, self)._copied_sharing()  # ChainList would copy the children, not the layers
        clone._layers = [copied_child(layer) if isinstance(layer, Link) else layer for layer in self._layers]
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
            ValueError: ``link`` is not a Sequential, or its parameters do not fit; then nothing is changed.
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


def _listed(link: Link, entries: Iterable[tuple[Any, str]]) -> str:
    """The children or layers of a link with their names, one per line."""
    lines = [f'  ({name}): ' + text.replace('\n', '\n  ') + ',\n' for name, text in entries]
    return f'{type(link).__name__}(' + ('\n' + ''.join(lines) if lines else '') + ')'


def _instead(owner: str, link: Any) -> str:
    if isinstance(link, type) and issubclass(link, Link):
        return f'; write {link.__name__}(...)'
    return f'; write {owner}(*links)' if isinstance(link, (list, tuple)) else ''


def _checked(layer: Any) -> Any:
    if isinstance(layer, type) and issubclass(layer, Link):
        name = layer.__name__
        raise TypeError(f'a layer of Sequential must be a link, got the class {name}: write {name}(...)')
    if not callable(layer):
        remedy = ': write Sequential(*layers)' if isinstance(layer, (list, tuple)) else ''
        raise ValueError(f'a layer of Sequential must be callable, got {layer!r}{remedy}')
    return layer


def _checked_sequential(other: Any) -> Sequential:
    if not isinstance(other, Sequential):
        raise ValueError(f'add (+) operator supports only objects of Sequential class, but {type(other)} is given.')
    return other


def _is_lambda(layer: Any) -> bool:
    return getattr(layer, '__name__', '') == '<lambda>'


def _type_name(layer: Any) -> str:
    """The class of a link or the name of a function."""
    name = type(layer).__name__
    return name if isinstance(layer, Link) else getattr(layer, '__name__', name)


def _described(layer: Any) -> str:
    """The layer as text: for a lambda its source line, because its name says nothing."""
    if not _is_lambda(layer):
        return str(layer)
    import inspect

    try:
        return inspect.getsource(layer).strip().rstrip(',')
    except (OSError, TypeError):
        return str(layer)
