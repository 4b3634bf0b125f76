"""Link: named parameters and the computation that uses them. Public as ``minichainer.link.Link``."""

from __future__ import annotations

import contextlib
import copy
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy

from minichainer import backend, link_hook
from minichainer._link.parts import (
    SequentialMaker,
    SetByInit,
    copied_persistent,
    difference,
    initialize_again,
    not_initialised,
    shape_and_dtype,
)
from minichainer.device_resident import DeviceResident, DeviceResidentsVisitor
from minichainer.initializers._generate import _get_initializer
from minichainer.initializers.constant import NaN
from minichainer.link_hook import LinkHook
from minichainer.serializer import AbstractSerializer
from minichainer.variable import Parameter

_COPY_MODES = ('share', 'copy', 'init')


class Link(DeviceResident):
    """Building block of a model: parameters, and a ``forward`` method that computes with them.

    Parameters are attributes set inside :meth:`init_scope`. Values that are not trained but belong to the
    model, such as running means, are persistents: :meth:`add_persistent`. Both are saved and moved between
    devices.

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

    __module__ = 'minichainer.link'

    name: str | None
    _params: Any = SetByInit()
    _persistent: Any = SetByInit()
    _local_link_hooks: dict[str, LinkHook] | None
    forward: Any
    _within_init_scope = False

    def __init__(self, **params: Any) -> None:
        super().__init__()
        self.__dict__.update(name=None, _params=set(), _persistent=set(), _local_link_hooks=None)
        for name, value in params.items():
            shape, dtype = shape_and_dtype(value)
            self.add_param(name, shape, dtype=dtype)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            local_hooks = self._local_link_hooks
        except AttributeError:
            raise RuntimeError(not_initialised(type(self))) from None
        if local_hooks or link_hook.active:
            hooks = [*link_hook.get_link_hooks().values(), *(local_hooks or {}).values()]
            return link_hook.call_with_hooks(self, hooks, args, kwargs)
        return self.forward(*args, **kwargs)

    def __setattr__(self, name: str, value: Any) -> None:
        if self._within_init_scope:
            self._adopt(name, value)
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        self._params.discard(name)
        self._persistent.discard(name)
        object.__delattr__(self, name)

    def __str__(self) -> str:
        return f'{type(self).__name__}({", ".join(f"{k}={v}" for k, v in self.printable_specs)})'

    @property
    def printable_specs(self) -> Iterator[tuple[str, Any]]:
        """Names and values shown by ``str(link)``; a subclass yields its constructor's arguments."""
        return iter(())

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
        _ = self._params  # raises where __init__ of Link was not called
        self._within_init_scope = True
        try:
            yield
        finally:
            self._within_init_scope = before

    def _adopt(self, name: str, value: Any) -> None:
        """Makes what is set inside :meth:`init_scope` a part of the link, if it is of a kind that can be."""
        if not isinstance(value, Parameter):
            return
        value.name = name
        if not isinstance(self._device, backend.CpuDevice):
            value.to_device(self._device)
        self._params.add(name)
        self._persistent.discard(name)

    def _check_new_name(self, what: str, name: str) -> None:
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
            dtype: dtype of the NaN that fill it where there is no initializer.
            initializer: an initializer, a number or an array.

        Raises:
            AttributeError: the link has an attribute of that name.
        """
        self._check_new_name('parameter', name)
        initializer = NaN(dtype) if initializer is None else _get_initializer(initializer)
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
        """Makes an attribute that exists a persistent value.

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

    # --- walking ---
    def params(self, include_uninit: bool = True) -> Iterator[Parameter]:
        """The parameters of the link and of the links below it.

        Args:
            include_uninit: also those whose shape is not known yet.
        """
        attributes = self.__dict__
        for name in sorted(self._params):
            param = attributes[name]
            if include_uninit or param.array is not None:
                yield param

    def namedparams(self, include_uninit: bool = True) -> Iterator[tuple[str, Parameter]]:
        """Pairs of path and parameter, such as ``('/l1/W', W)``.

        Args:
            include_uninit: also those whose shape is not known yet.
        """
        attributes = self.__dict__
        for name in sorted(self._params):
            param = attributes[name]
            if include_uninit or param.array is not None:
                yield '/' + name, param

    def links(self, skipself: bool = False) -> Iterator[Link]:
        """The link and all links below it.

        Args:
            skipself: without the link itself.
        """
        if not skipself:
            yield self

    def namedlinks(self, skipself: bool = False) -> Iterator[tuple[str, Link]]:
        """Pairs of path and link; the link itself has the path ``'/'``.

        Args:
            skipself: without the link itself.
        """
        if not skipself:
            yield '/', self

    def children(self) -> Iterator[Link]:
        """The links directly below."""
        return iter(())

    def count_params(self) -> int:
        """How many numbers the parameters have; warns of those whose shape is not known.

        >>> import minichainer as chainer
        >>> chainer.links.Linear(3, 2).count_params()
        8
        """
        size = 0
        for path, param in self.namedparams():
            if param.array is None:
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
        if type(self).params is Link.params:
            self._clear_own_grads()
        else:
            for param in self.params():
                param.cleargrad()

    def _clear_own_grads(self) -> None:
        attributes = self.__dict__
        for name in self._params:
            attributes[name].cleargrad()

    def zerograds(self) -> None:
        """Sets the gradients of all parameters to zeros. Deprecated: :meth:`cleargrads` is faster."""
        warnings.warn('Link.zerograds is deprecated. Use Link.cleargrads instead.', DeprecationWarning, stacklevel=2)
        with warnings.catch_warnings():
            warnings.simplefilter('ignore', DeprecationWarning)
            for param in self.params():
                param.zerograd()

    def addgrads(self, link: Link) -> None:
        """Adds the gradients of another link to its own.

        Args:
            link: a link with the same parameters.

        Raises:
            ValueError: it lacks a parameter that this link has, or the shapes differ.
        """
        for mine, theirs in self._matching_params(link, 'addgrads'):
            mine.addgrad(theirs)

    @property
    def update_enabled(self) -> bool:
        """True if any parameter is updated by an optimizer."""
        return any(param.update_rule is not None and param.update_rule.enabled for param in self.params())

    def enable_update(self) -> None:
        """Lets optimizers update the parameters again, after :meth:`disable_update`."""
        self._set_update_enabled(True)

    def disable_update(self) -> None:
        """Keeps optimizers from updating the parameters; call it after ``optimizer.setup``."""
        self._set_update_enabled(False)

    def _set_update_enabled(self, enabled: bool) -> None:
        for param in self.params():
            if param.update_rule is not None:
                param.update_rule.enabled = enabled

    # --- copies ---
    def copy(self, mode: str = 'share') -> Any:
        """A copy of the link and of the links below it.

        Args:
            mode: ``'share'``: the copies of the parameters have the same arrays, but a gradient of their own;
                ``'copy'``: arrays are copied too; ``'init'``: parameters get new initial values.

        Raises:
            ValueError: another mode.

        >>> import minichainer as chainer
        >>> a = chainer.links.Linear(3, 2)
        >>> a.copy().W.array is a.W.array, a.copy('copy').W.array is a.W.array
        (True, False)
        """
        if mode not in _COPY_MODES:
            raise ValueError(
                f"The 'mode' argument should be either 'init', 'copy', or 'share'. But {mode} was given."
            )
        if mode == 'share':
            clone = self._copied_sharing()
        else:
            clone = copy.deepcopy(self)
            for link in clone.links():
                link._number_copied_children()
        if mode == 'init':
            for param in clone.params(include_uninit=False):
                initialize_again(param)
        clone.name = None
        return clone

    def _number_copied_children(self) -> None:
        """Number the children as those of a new link; only in Sequential this depends on what was done to it."""

    def _copied_sharing(self) -> Any:
        clone = copy.copy(self)
        clone._params, clone._persistent = set(self._params), set(self._persistent)
        clone._local_link_hooks = dict(self._local_link_hooks or {})
        for name in clone._params:
            param = copy.copy(clone.__dict__[name])
            param.grad_var = None  # the gradient array would be shared as well
            clone.__dict__[name] = param
        return clone

    def copyparams(self, link: Link, copy_persistent: bool = True) -> None:
        """Copies the values of another link's parameters into its own arrays.

        Args:
            link: a link with the same parameters; it may have others beside.
            copy_persistent: persistent values as well.

        Raises:
            ValueError: parameters that are missing in ``link`` or have other shapes; all are named, none is
                changed.
        """
        self._matching_params(link, 'copyparams')
        self._copy_values(link, copy_persistent)

    def _copy_values(self, link: Link, copy_persistent: bool) -> None:
        mine, theirs = self.__dict__, link.__dict__
        for name in self._params:
            mine[name].copydata(theirs[name])
        if copy_persistent:
            for name in self._persistent & theirs.keys():
                mine[name] = copied_persistent(mine[name], theirs[name], self.device)

    def _param_pairs(self, link: Any) -> Iterator[tuple[str, Parameter, Any]]:
        """Path, parameter, and what another link has in its place (None where it has nothing)."""
        theirs = getattr(link, '__dict__', {})
        for name in sorted(self._params):
            yield '/' + name, self.__dict__[name], theirs.get(name)

    def _matching_params(self, link: Link, method: str) -> list[tuple[Parameter, Parameter]]:
        pairs = list(self._param_pairs(link))
        problems = [text for text in (difference(*entry) for entry in pairs) if text]
        if problems:
            raise ValueError(
                f'{type(self).__name__}.{method}: the {type(link).__name__} does not fit, '
                'nothing was changed:\n  ' + '\n  '.join(problems)
            )
        return [(mine, theirs) for _, mine, theirs in pairs]

    def repeat(self, n_repeat: int, mode: str = 'init') -> Any:
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
        if mode not in _COPY_MODES:
            raise ValueError(
                f"The 'mode' argument should be either 'init', 'copy', or 'share'. But {mode} was given."
            )
        return SequentialMaker.make(*[self.copy(mode) for _ in range(n_repeat)])

    @classmethod
    def from_params(cls, *args: Any, **kwargs: Any) -> Link:
        """Makes a link of the class from parameters that exist; defined by some subclasses."""
        raise NotImplementedError(f'{cls.__name__} does not implement `from_params`.')

    # --- devices, snapshots, hooks ---
    def device_resident_accept(self, visitor: DeviceResidentsVisitor) -> None:
        """Shows the visitor the link, its parameters and its persistent arrays."""
        super().device_resident_accept(visitor)
        attributes = self.__dict__
        for name in sorted(self._params):
            visitor.visit_variable(attributes[name])
        array_types = backend.get_array_types()
        for name in sorted(self._persistent & attributes.keys()):
            if isinstance(attributes[name], array_types):
                attributes[name] = visitor.visit_array(attributes[name])

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Saves or loads parameters and persistent values, by their names.

        A parameter of unknown shape gets its shape from what is loaded.

        Args:
            serializer: what saves or loads.
        """
        for name in sorted(self._params):
            param = self.__dict__[name]
            data = serializer(name, param.array)
            if param.array is None and data is not None:
                param._begin_with(param.device.send(data).astype(param.dtype))
        for name in sorted(self._persistent):
            self.__dict__[name] = serializer(name, getattr(self, name))

    @property
    def local_link_hooks(self) -> Mapping[str, LinkHook]:
        """The hooks on this link alone, by name."""
        if self._local_link_hooks is None:
            self._local_link_hooks = {}
        return self._local_link_hooks

    def add_hook(self, hook: LinkHook, name: str | None = None) -> Link:
        """Puts a hook on this link alone.

        Args:
            hook: the hook.
            name: by which it is found again; the hook's own by default.

        Returns:
            The link itself.

        Raises:
            TypeError: ``hook`` is no LinkHook.
            KeyError: there is a hook of that name.
        """
        if not isinstance(hook, LinkHook):
            raise TypeError(f'Hook must be of type LinkHook, got {type(hook)}')
        name = hook.name if name is None else name
        hooks: Any = self.local_link_hooks
        if name in hooks:
            raise KeyError(f'Hook {name} already exists in this {type(self).__name__}: pass another name')
        hooks[name] = hook
        hook.added(self)
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
        hooks.pop(name).deleted(self)
