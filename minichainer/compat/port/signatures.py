"""Whether a function or class of this package takes the arguments of a call."""

from __future__ import annotations

import functools
import inspect

import libcst as cst

from minichainer.compat.port import names


def problem(name: str, call: cst.Call) -> str:
    """What is wrong with the arguments of a call; empty if nothing is, or if it cannot be told.

    Args:
        name: what is called, as Chainer spells it.
        call: the call.
    """
    signature = None if name.endswith('()') or not names.is_chainer(name) else _signature(name)
    if signature is None or any(argument.star for argument in call.args):
        return ''
    kinds = {parameter.kind for parameter in signature.parameters.values()}
    last = name.rpartition('.')[2]
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        given = [argument.keyword.value for argument in call.args if argument.keyword is not None]
        unknown = [keyword for keyword in given if keyword not in signature.parameters]
        if unknown:
            return f'{last} has no argument {unknown[0]}: it has {", ".join(signature.parameters) or "none"}'
    positional = sum(argument.keyword is None for argument in call.args)
    most = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in signature.parameters.values())
    if inspect.Parameter.VAR_POSITIONAL not in kinds and positional > most:
        return f'{last} takes at most {most} arguments without a name, got {positional}'
    return ''


@functools.cache
def _signature(name: str) -> inspect.Signature | None:
    """The signature of a name of Chainer here; None if it has none that is certain."""
    found = names.find(name)
    if not callable(found):
        return None
    try:
        return inspect.signature(found)
    except (TypeError, ValueError):
        return None
