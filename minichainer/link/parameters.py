"""The contents of a link: named parameters and persistent values, its own and those of its descendants."""

from __future__ import annotations

import contextlib
import copy
import functools
import logging
import warnings
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy

from minichainer import backend
from minichainer._elsewhere import NamesOfLinks
from minichainer._inplace import wrote
from minichainer._misfits import AddedGradientError
from minichainer._tape import native
from minichainer.device_resident import DeviceResident, DeviceResidentsVisitor
from minichainer.errors import UnlikeLinkError
from minichainer.initializers._generate import _get_initializer, generate_array
from minichainer.initializers.constant import NaN
from minichainer.link._copies import copied_once, in_one_call
from minichainer.link._tied import is_each
from minichainer.serializer import AbstractSerializer, Deserializer
from minichainer.variable import Parameter

if TYPE_CHECKING:
    from typing_extensions import Self


#: Programs for Chainer, which says nothing, shall not stop where warnings are errors.
_logger = logging.getLogger('minichainer.link')


class SetByInit:
    """A class attribute in place of state that ``__init__`` sets; raises if ``__init__`` was not called.

    It has no ``__set__``, so the attribute of the instance takes precedence at no cost.
    """

    def __get__(self, link: Any, owner: type) -> Any:
        if link is None:
            return self
        raise RuntimeError(not_initialised(owner))


def not_initialised(cls: type) -> str:
    """The error message for a link whose class does not call ``super().__init__()``."""
    return f'Link.__init__() has not been called: call super().__init__() first in {cls.__name__}.__init__'


class ParameterTree(DeviceResident, NamesOfLinks):
    """Named parameters and persistent values in a tree of objects, which is saved, copied and moved as a whole.

    The base of :class:`minichainer.Link`, which can also be called.
    """

    name: str | None
    _params: Any = SetByInit()
    _persistent: Any = SetByInit()
    _within_init_scope = False

    def __init__(self) -> None:
        super().__init__()
        self.__dict__.update(name=None, _params=set(), _persistent=set())

    def __setattr__(self, name: str, value: Any) -> None:
        if self._within_init_scope:
            self._adopt(name, value)
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        self._params.discard(name)
        self._persistent.discard(name)
        object.__delattr__(self, name)

    # --- what belongs to the link ---
    @property
    def within_init_scope(self) -> bool:
        """True inside ``with link.init_scope():``."""
        return self._within_init_scope

    @contextlib.contextmanager
    def init_scope(self) -> Iterator[None]:
        """Context manager inside which Parameters (in a Chain, also links) set as attributes belong to it.

        >>> import minichainer as chainer
        >>> link = chainer.Link()
        >>> with link.init_scope():
        ...     link.w = chainer.Parameter(0., (2,))
        >>> [name for name, _ in link.namedparams()]
        ['/w']
        """
        before = self._within_init_scope
        _ = self._params  # raises if __init__ of Link was not called
        self._within_init_scope = True
        try:
            yield
        finally:
            self._within_init_scope = before

    def _adopt(self, name: str, value: Any) -> None:
        """Registers a value set inside :meth:`init_scope`, if its type can be part of a link."""
        if not isinstance(value, Parameter):
            return
        value.name = name
        if not isinstance(self._device, backend.CpuDevice):
            value.to_device(self._device)
        self._params.add(name)
        self._persistent.discard(name)

    def _check_new_name(self, what: str, name: str) -> None:
        """Raises an error if a name is not a string, or is already an attribute."""
        if not isinstance(name, str):
            raise TypeError(f'{type(self).__name__}: the name of a {what} must be a string, got {name!r}')
        if name in self.__dict__:
            raise AttributeError(
                f'cannot register a new {what} {name}: attribute exists in this {type(self).__name__}; '
                'delete the old one first (del) or choose another name'
            )

    def add_param(self, name: str, shape: Any = None, dtype: Any = numpy.float32, initializer: Any = None) -> None:
        """Adds a parameter; the same as setting a Parameter inside :meth:`init_scope`.

        Args:
            name: name of the attribute.
            shape: an integer, a tuple, or None to leave it open.
            dtype: dtype of the NaN that fill it if there is no initializer.
            initializer: an initializer, a number or an array; without ``shape`` an array is the parameter's own.

        Raises:
            AttributeError: the link has an attribute of that name.
        """
        self._check_new_name('parameter', name)
        if initializer is None:
            initializer = NaN(dtype)
        elif shape is not None or not isinstance(initializer, backend.get_array_types()):
            initializer = _get_initializer(initializer)
        with self.init_scope():
            setattr(self, name, Parameter(initializer, shape))

    def add_persistent(self, name: str, value: Any) -> None:
        """Adds a value that is saved, copied and moved with the link but not trained.

        Args:
            name: name of the attribute.
            value: an array or a scalar.

        Raises:
            AttributeError: the link has an attribute of that name.
        """
        self._check_new_name('persistent value', name)
        if not isinstance(self._device, backend.CpuDevice) and isinstance(value, backend.get_array_types()):
            value = self._device.send(value)
        self._persistent.add(name)
        self._params.discard(name)
        self.__dict__[name] = value

    def register_persistent(self, name: str) -> None:
        """Makes an existing attribute a persistent value.

        Args:
            name: name of the attribute.

        Raises:
            AttributeError: there is no such attribute.
        """
        if not hasattr(self, name):
            raise AttributeError(
                f'cannot register non-existent attribute {name} as a persistent value of this '
                f'{type(self).__name__}: set it first, or use add_persistent'
            )
        self._persistent.add(name)
        self._params.discard(name)

    # --- traversal ---
    def _named_children(self) -> Iterable[tuple[str, Any]]:
        """Pairs of name and child, in traversal order."""
        return ()

    def _child_of(self, link: Any, name: str) -> Any:
        """The corresponding child of another link; None if it has none."""
        raise NotImplementedError(f'{type(self).__name__} has children and must define _child_of')

    def params(self, include_uninit: bool = True) -> Iterator[Parameter]:
        """The parameters of the link and of its descendants.

        Args:
            include_uninit: also those whose shape is not known yet.
        """
        if native is not None and include_uninit:
            known = native.params(self)
            if known is not None:
                return iter(known)
        attributes, found = self.__dict__, []
        for name in sorted(self._params):
            param = attributes[name]
            if include_uninit or param._data is not None:
                found.append(param)
        for _, child in self._named_children():
            found += child.params(include_uninit)
        return iter(found)

    def namedparams(self, include_uninit: bool = True) -> Iterator[tuple[str, Parameter]]:
        """Pairs of path and parameter, such as ``('/l1/W', W)``.

        Args:
            include_uninit: also those whose shape is not known yet.
        """
        attributes = self.__dict__
        for name in sorted(self._params):
            param = attributes[name]
            if include_uninit or param._data is not None:
                yield '/' + name, param
        for name, child in self._named_children():
            prefix = '/' + name
            for path, param in child.namedparams(include_uninit):
                yield prefix + path, param

    def links(self, skipself: bool = False) -> Iterator[Any]:
        """The link and all its descendants.

        Args:
            skipself: without the link itself.
        """
        if not skipself:
            yield self
        for _, child in self._named_children():
            yield from child.links()

    def namedlinks(self, skipself: bool = False) -> Iterator[tuple[str, Any]]:
        """Pairs of path and link; the link itself has the path ``'/'``.

        Args:
            skipself: without the link itself.
        """
        if not skipself:
            yield '/', self
        for name, child in self._named_children():
            prefix = '/' + name
            yield prefix, child
            for path, link in child.namedlinks(skipself=True):
                yield prefix + path, link

    def children(self) -> Iterator[Any]:
        """The direct children."""
        for _, child in self._named_children():
            yield child

    def count_params(self) -> int:
        """The number of elements of the parameters, of tied ones once; warns of parameters whose shape is not known.

        >>> import minichainer as chainer
        >>> chainer.links.Linear(3, 2).count_params()
        8
        """
        size, counted = 0, set()
        for path, param in self.namedparams():
            if id(param) in counted:
                continue
            counted.add(id(param))
            if param._data is None:
                warnings.warn(
                    f'Parameter {path!r} has not been initialized, so the resulting count will not include '
                    'the number of parameters in it.',
                    stacklevel=2,
                )
            else:
                size += param.size
        return size

    # --- gradients and updates ---
    def cleargrads(self) -> None:
        """Sets the gradients of all parameters to None; called before each backward."""
        if native is not None and native.cleargrads(self):
            return
        if type(self).params is not ParameterTree.params:
            for param in self.params():
                param.cleargrad()
            return
        attributes = self.__dict__  # much faster than nested generators for each level of links
        for name in self._params:
            attributes[name].cleargrad()
        for _, child in self._named_children():
            child.cleargrads()

    def zerograds(self) -> None:
        """Sets the gradients of all parameters to zeros. Deprecated: :meth:`cleargrads` is faster."""
        warnings.warn('Link.zerograds is deprecated. Use Link.cleargrads instead.', DeprecationWarning, stacklevel=2)
        for param in self.params():
            # To suppress a warning makes Python forget which ones it has shown: they would come at each iteration.
            (param._zero if type(param).zerograd is Parameter.zerograd else param.zerograd)()

    def addgrads(self, link: ParameterTree) -> None:
        """Adds the gradients of another link to its own.

        Args:
            link: a link with the same parameters.

        Raises:
            ValueError: it lacks a parameter that this link has (UnlikeLinkError), or the shapes differ.
        """
        pairs = self._matching_params(link, 'addgrads')
        if not is_each():
            pairs = list({(id(mine), id(theirs)): (mine, theirs) for mine, theirs in pairs}.values())
        for mine, theirs in pairs:
            mine.addgrad(theirs)

    @property
    def update_enabled(self) -> bool:
        """True if optimizers update at least one parameter."""
        return any(param.update_rule is not None and param.update_rule.enabled for param in self.params())

    def enable_update(self) -> None:
        """Lets optimizers update the parameters again, after :meth:`disable_update`."""
        self._set_update_enabled(True)

    def disable_update(self) -> None:
        """Keeps optimizers from updating the parameters; before ``optimizer.setup`` it only logs that it cannot."""
        self._set_update_enabled(False)
        params = list(self.params())
        if params and all(param.update_rule is None for param in params):
            _logger.warning(
                '%s.disable_update has no effect before optimizer.setup(model): call it afterwards',
                type(self).__name__,
            )

    def _set_update_enabled(self, enabled: bool) -> None:
        for param in self.params():
            if param.update_rule is not None:
                param.update_rule.enabled = enabled

    # --- copies ---
    def copy(self, mode: str = 'share') -> Self:
        """A copy of the link and its descendants.

        Args:
            mode: ``'share'``: the copies of the parameters share the arrays, but not the gradients;
                ``'copy'``: arrays are copied too; ``'init'``: parameters get new initial values. In each mode a
                parameter or link that the model has several times is copied once.

        Raises:
            ValueError: another mode.

        >>> import minichainer as chainer
        >>> a = chainer.links.Linear(3, 2)
        >>> a.copy().W.array is a.W.array, a.copy('copy').W.array is a.W.array
        (True, False)
        """
        check_copy_mode(mode)
        if mode == 'share':
            clone = in_one_call(self, self._copied_sharing)
        else:
            clone = copy.deepcopy(self)
            for link in clone.links():
                link._number_copied_children()
            for param in clone.params():
                if mode == 'init' or not param.is_initialized:
                    param._forget_gradient()
        if mode == 'init':
            clone._initialize_again()
        return clone

    def _initialize_again(self) -> None:
        """Draws new initial values; a Chain draws more often, because it does in Chainer."""
        for param in self.params(include_uninit=False):
            initialize_again(param)

    def _number_copied_children(self) -> None:
        """Numbers the children like those of a new link; only in Sequential this depends on earlier changes."""

    def _copied_sharing(self) -> Self:
        """A copy whose parameters share arrays, but not gradients."""
        clone = copy.copy(self)
        clone._params, clone._persistent = set(self._params), set(self._persistent)
        for name in clone._params:
            param = clone.__dict__[name]
            clone.__dict__[name] = copied_once(param, functools.partial(_without_gradient, param))
        clone.name = None
        return clone

    def copyparams(self, link: ParameterTree, copy_persistent: bool = True) -> None:
        """Copies the values of another link's parameters into its own arrays.

        Args:
            link: a link with the same parameters, and possibly others.
            copy_persistent: persistent values as well.

        Raises:
            ValueError: parameters that are missing in ``link`` or have other shapes; all are named, none is
                changed.
        """
        self._matching_params(link, 'copyparams')
        self._copy_values(link, copy_persistent)

    def _copy_values(self, link: ParameterTree, copy_persistent: bool) -> None:
        """Copies parameters and persistent values from a link that fits."""
        mine, theirs = self.__dict__, link.__dict__
        for name in self._params:
            mine[name].copydata(theirs[name])
        if copy_persistent:
            for name in self._persistent & theirs.keys():
                mine[name] = copied_persistent(mine[name], theirs[name], self._device)
        for name, child in self._named_children():
            source = self._child_of(link, name)
            if source is not None:
                child.copyparams(source, copy_persistent)

    def _param_pairs(self, link: Any) -> Iterator[tuple[str, Parameter, Any]]:
        """Path, parameter, and the corresponding parameter of another link (None if it has none)."""
        theirs = getattr(link, '__dict__', {})
        for name in sorted(self._params):
            yield '/' + name, self.__dict__[name], theirs.get(name)
        for name, child in self._named_children():
            for path, param, other in child._param_pairs(self._child_of(link, name)):
                yield f'/{name}{path}', param, other

    def _matching_params(self, link: ParameterTree, method: str) -> list[tuple[Parameter, Parameter]]:
        """Pairs of corresponding parameters; ValueError if some do not fit."""
        pairs = list(self._param_pairs(link))
        problems = [text for text in (difference(*entry) for entry in pairs) if text]
        if problems:
            text = f'{type(self).__name__}.{method}: the {type(link).__name__} does not fit, nothing was changed:'
            raise _misfit(method, '\n  '.join([text, *problems]))
        return [(mine, theirs) for _, mine, theirs in pairs]

    # --- devices and snapshots ---
    def __setstate__(self, state: dict[str, Any]) -> None:
        """Takes the contents of a pickle, whose GPU arrays CuPy has put on the current device."""
        self.__dict__.update(state)
        if isinstance(self._device, backend.GpuDevice):
            for name in self._params:
                state[name].to_device(self._device)
            for name in self._persistent & state.keys():
                if isinstance(state[name], backend.get_array_types()):
                    self.__dict__[name] = self._device.send(state[name])

    def device_resident_accept(self, visitor: DeviceResidentsVisitor) -> None:
        """Passes the link, its parameters and its persistent arrays to the visitor."""
        super().device_resident_accept(visitor)
        attributes = self.__dict__
        for name in sorted(self._params):
            visitor.visit_variable(attributes[name])
        array_types = backend.get_array_types()
        for name in sorted(self._persistent & attributes.keys()):
            if isinstance(attributes[name], array_types):
                attributes[name] = visitor.visit_array(attributes[name])
        for _, child in self._named_children():
            child.device_resident_accept(visitor)

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Saves or loads parameters and persistent values by name.

        A parameter of unknown shape gets the shape of the loaded array.

        Args:
            serializer: what saves or loads.
        """
        for name in sorted(self._params):
            param = self.__dict__[name]
            data = serializer(name, param._data)
            if param._data is None and data is not None:
                with param.device.create_context():
                    _draw_unused(param, data.shape)
                    param._begin_with(param.device.send(data).astype(param.dtype))
            elif isinstance(serializer, Deserializer):
                if data is None and serializer.restores:
                    param._uninitialize()
                wrote(param.edge)
        for name in sorted(self._persistent):
            self.__dict__[name] = serializer(name, getattr(self, name))
        for name, child in self._named_children():
            child.serialize(serializer[name])


def _without_gradient(param: Parameter) -> Parameter:
    """A copy that shares the array; it has no gradient, whose array would be shared too."""
    clone = copy.copy(param)
    clone.grad_var = None
    return clone


def check_copy_mode(mode: str) -> None:
    """Raises ValueError for a mode that :meth:`minichainer.Link.copy` does not support."""
    if mode not in ('share', 'copy', 'init'):
        raise ValueError(f"The 'mode' argument should be either 'init', 'copy', or 'share'. But {mode} was given.")


def shape_and_dtype(value: Any) -> tuple[Any, Any]:
    """A shape, or a pair of shape and dtype, as the pair."""
    if isinstance(value, tuple) and len(value) == 2 and not isinstance(value[1], (int, numpy.integer)):
        return value
    return value, numpy.float32


def _draw_unused(param: Parameter, shape: tuple[int, ...]) -> None:
    """Makes initial values that a loaded array replaces, as Chainer does: what draws next gets the same numbers."""
    device = param.device
    with contextlib.suppress(ValueError):  # initial values of another shape
        generate_array(param.initializer, shape, device.xp, device=device)


def initialize_again(param: Parameter) -> None:
    """Draws new initial values; a parameter made from an array gets that array's values."""
    initial: Any = param.initializer
    if isinstance(initial, backend.get_array_types()):
        backend.copyto(param._data, initial)
        wrote(param.edge)
    else:
        param.initialize(param.shape)


def _misfit(method: str, text: str) -> Exception:
    """The error for a link whose parameters do not fit; of the types that it has in Chainer, too."""
    if text.endswith(': missing') or ': missing\n' in text:
        return UnlikeLinkError(text)
    return AddedGradientError(text) if method == 'addgrads' else ValueError(text)


def difference(path: str, mine: Parameter, theirs: Any) -> str:
    """Why one parameter cannot be combined with another; empty if it can."""
    if not isinstance(theirs, Parameter):
        return f'{path}: missing'
    if mine._data is not None and theirs._data is not None and mine.shape != theirs.shape:
        return f'{path}: its shape is {theirs.shape}, expected {mine.shape}'
    return ''


def copied_persistent(mine: Any, theirs: Any, device: backend.Device) -> Any:
    """The value after copying ``theirs``; an array is written in place if the shape allows it.

    Args:
        mine: the value so far.
        theirs: the value to copy.
        device: device of a new array.
    """
    array_types: Any = backend.get_array_types()
    if isinstance(mine, array_types) and isinstance(theirs, array_types) and mine.shape == theirs.shape:
        backend.copyto(mine, theirs)
        return mine
    copied = copy.deepcopy(theirs)
    return device.send(copied) if isinstance(copied, array_types) else copied


if native is not None:
    native.install_links(ParameterTree, Parameter)
