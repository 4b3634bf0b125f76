"""Makes links from the shells of a pickle."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from minichainer.compat.files.shells import Shell
from minichainer.link.link import Chain, ChainList, Link
from minichainer.serializer import SnapshotError
from minichainer.variable import Parameter

_HERE = __name__.partition('.')[0]
#: Where classes of links are looked for, whatever module the pickle names.
_HOMES = [f'{_HERE}.{home}' for home in ('links', 'link', 'sequential')]
_RENAMED = {'FunctionSet': 'Chain'}
#: Attributes of links that are not the user's.
_INTERNAL = frozenset(
    '_params _persistent _children _cpu _device _device_id _within_init_scope _Link__init_done _local_link_hooks '
    'name _overridden_to_methods _initial_avg_mean _initial_avg_var _highprec_dtype cudnn_fast x_layout '
    '_dtype'.split()
)


def _linear(state: Mapping[str, Any], shape: tuple[int, ...]) -> tuple[Any, ...]:
    return shape[1], shape[0]


def _convolution(state: Mapping[str, Any], shape: tuple[int, ...]) -> tuple[Any, ...]:
    channels = shape[1] * int(state.get('groups', 1))
    return channels, shape[0], shape[2:], state.get('stride', 1), state.get('pad', 0)


def _deconvolution(state: Mapping[str, Any], shape: tuple[int, ...]) -> tuple[Any, ...]:
    return shape[0], shape[1] * int(state.get('groups', 1)), shape[2:], state.get('stride', 1), state.get('pad', 0)


#: Arguments of the constructor, from the saved attributes and the shape of the first array.
_ARGUMENTS: dict[str, Callable[[Mapping[str, Any], tuple[int, ...]], tuple[Any, ...]]] = {
    'Linear': _linear,
    'Convolution2D': _convolution,
    'Deconvolution2D': _deconvolution,
    'BatchNormalization': lambda state, shape: (shape,),
    'EmbedID': lambda state, shape: shape,
    'LSTM': lambda state, shape: (shape[1], shape[0] // 4),
    'PReLU': lambda state, shape: (shape,),
}


def build(shell: Shell, classes: Mapping[str, Callable[..., Any]]) -> Any:
    """A link with the parameters, persistent values and attributes of a shell.

    Args:
        shell: from a pickle.
        classes: the user's classes by name.

    Raises:
        SnapshotError: a class is not known.
    """
    cls: Any = classes.get(shell.name) or _class(shell)
    arrays = {name: array for name, array in shell.entries() if getattr(array, 'shape', None) is not None}
    if cls.__name__ in _ARGUMENTS and cls.__module__.startswith(_HERE):
        return _made(cls, shell, arrays)
    link: Any = cls.__new__(cls)
    _base(cls).__init__(link)
    for name, value in shell.state.items():
        if name not in _INTERNAL and not isinstance(value, Shell):
            vars(link)[name] = value
    _add_values(link, shell)
    for name, part in shell.parts():
        child = build(part, classes)
        link.add_link(child) if isinstance(link, ChainList) else link.add_link(name, child)
    return link


def _class(shell: Shell) -> Any:
    name = _RENAMED.get(shell.name, shell.name)
    if shell.module.partition('.')[0] in ('chainer', _HERE):
        for home in _HOMES:
            found = getattr(importlib.import_module(home), name, None)
            if isinstance(found, type):
                return found
    raise SnapshotError(
        f'the pickle has a {shell.module}.{shell.name}, which is not a link of minichainer: give your own classes as '
        f'classes={{{shell.name!r}: {shell.name}}}, or make the model and load(file, model, unsafe=True)'
    )


def _base(cls: Any) -> Any:
    return next(base for base in (Chain, ChainList, Link) if issubclass(cls, base))


def _made(cls: Any, shell: Shell, arrays: Mapping[str, Any]) -> Any:
    """A link of this package, made by its constructor."""
    first = arrays.get('W', arrays.get('avg_mean', arrays.get('upward/W')))
    if first is None:
        raise SnapshotError(f'the pickle has a {shell.name} without parameters, which cannot be made')
    keywords: dict[str, Any] = {'nobias': True} if cls.__name__[-2:] != 'ID' and _lacks_bias(shell, arrays) else {}
    link = cls(*_ARGUMENTS[cls.__name__](shell.state, first.shape), **keywords)
    for name, value in shell.state.items():
        if name in vars(link) and name not in _INTERNAL and not isinstance(value, Shell) and name not in arrays:
            vars(link)[name] = value
    for name, parameter in link.namedparams():
        if name[1:] in arrays:
            parameter.array = arrays[name[1:]]
    for name in link._persistent:
        if name in arrays:
            value = arrays[name]
            vars(link)[name] = value if value.ndim else value[()]
    return link


def _lacks_bias(shell: Shell, arrays: Mapping[str, Any]) -> bool:
    return shell.name in ('Linear', 'Convolution2D', 'Deconvolution2D') and 'b' not in arrays


def _add_values(link: Any, shell: Shell) -> None:
    """Parameters and persistent values of a link of a user."""
    persistent = set(shell.state.get('_persistent', ()))
    for name, value in shell.values():
        vars(link).pop(name, None)
        if name in persistent:
            link.add_persistent(name, value)
        elif value is not None:
            with link.init_scope():
                setattr(link, name, Parameter(value))
