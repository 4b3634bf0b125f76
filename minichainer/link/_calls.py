"""Calls of constructors of links that do not fit their signatures."""

from __future__ import annotations

import inspect
from typing import Any

from minichainer._names import unknown_arguments


def check_call(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raises TypeError for too many or too few arguments, or unknown or repeated names; says what the signature is.

    For an argument that only Chainer v1 took it is a ValueError, too. Python's own errors do not say the signature,
    and a wrong name is often that of another framework.
    """
    code = getattr(cls.__init__, '__code__', None)
    if code is None:
        return
    count, flags = code.co_argcount - 1, code.co_flags
    names = code.co_varnames[1 : 1 + count + code.co_kwonlyargcount]
    problem = ''
    if len(args) > count and not flags & inspect.CO_VARARGS:
        problem = f'takes at most {count} positional arguments, got {len(args)}'
    elif not flags & inspect.CO_VARKEYWORDS and not kwargs.keys() <= set(names):
        unknown = [name for name in kwargs if name not in names]
        text = f'{cls.__name__}: got an unexpected keyword argument {unknown[0]!r}'
        error = unknown_arguments(text, unknown, names)
        raise type(error)(f'{error}; expected {cls.__name__}{_signature(cls)}')
    elif not kwargs.keys().isdisjoint(names[code.co_posonlyargcount : min(len(args), count)]):
        name = next(name for name in names[: len(args)] if name in kwargs)
        problem = f'got multiple values for argument {name!r}'
    else:
        problem = _missing(names[len(args) : count - len(cls.__init__.__defaults__ or ())], kwargs)
    if problem:
        raise TypeError(f'{cls.__name__}: {problem}; expected {cls.__name__}{_signature(cls)}')


#: Names of the first states of links whose states may be None.
_STATES = (('hx',), ('hx', 'cx'), ('c', 'h'))


def forward_error(link: Any, error: TypeError, args: tuple[Any, ...], kwargs: dict[str, Any]) -> TypeError:
    """What is said about a call that does not fit the parameters of ``forward``: they, and what to write.

    Args:
        link: the link that was called.
        error: Python's own error.
        args: of the call.
        kwargs: of the call.
    """
    try:
        parameters = list(inspect.signature(link.forward).parameters.values())
    except (TypeError, ValueError):
        return error
    names = [parameter.name for parameter in parameters]
    unknown = [name for name in kwargs if name not in names]
    if unknown and all(p.kind is not inspect.Parameter.VAR_KEYWORD for p in parameters):
        return unknown_arguments(str(error), unknown, names)
    return type(error)(f'{error}{_with_states(names, args)}') if names else error


def _with_states(names: list[str], args: tuple[Any, ...]) -> str:
    """What to write if states are missing, or are more than the link has."""
    count = max((len(states) for states in _STATES if tuple(names[: len(states)]) == states), default=0)
    given = sum(x is not None for x in args)
    if not count or given > len(names) - count or not args:
        return ''
    return f'; write ({", ".join(["None"] * count + [n for n in names[count:] if n != "kwargs"])})'


class InitSignature:
    """``__signature__`` of classes: that of ``__init__``, where Python before 3.11 takes that of ``__new__``."""

    def __get__(self, link: Any, cls: Any) -> inspect.Signature:
        if link is not None:
            raise AttributeError('__signature__')
        signature = inspect.signature(cls.__init__)
        return signature.replace(parameters=list(signature.parameters.values())[1:])


def _missing(required: tuple[str, ...], kwargs: dict[str, Any]) -> str:
    missing = [repr(name) for name in required if name not in kwargs]
    return f'missing {", ".join(missing)}' if missing else ''


def _signature(cls: Any) -> str:
    parameters = list(inspect.signature(cls.__init__, follow_wrapped=False).parameters.values())[1:]
    plain = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in parameters]
    return str(inspect.Signature(plain))
