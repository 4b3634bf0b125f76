"""What ``m.name`` means in a derivative rule: the op that is visible under that name where the rule is written.

A name in a user's rule is looked up in the functions and classes around the rule and then in its module, as in
Python, but only ops count: after ``from numpy import exp``, ``m.exp`` is still our op. Otherwise it is the op that
the rule belongs to, by the name of its body, or a function of ``minichainer.functions``. So two modules may each have
an op ``half``, and no op is visible in unrelated rules. A rule may pass ``m`` to a helper in any module: ``m`` still
uses the scope of the rule.

Names are looked up when the op is first applied, so that a rule can name ops that are defined later; undefined names
are reported then. Names found in a module are looked up again after any op has been defined, because a notebook cell
may be run twice. The rules of this package use the registry, :mod:`minichainer.ops`.
"""

from __future__ import annotations

import dis
import functools
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, FunctionType, MethodType
from typing import Any

from minichainer import ops

_PACKAGE = __name__.partition('.')[0]


def publish(function: Callable[..., Any], body: Callable[..., Any]) -> ops.Op:
    """Makes an op of a function, with module and name of the body; ops of this package are registered."""
    if _is_ours(body.__module__):
        return ops.register(body.__name__, function, body)
    return ops.define(function, body)


def _is_ours(module: Any) -> bool:
    return str(module).partition('.')[0] == _PACKAGE


def evaluators_of(rule: Any, own: Callable[[], ops.Op]) -> ops.Evaluators:
    """The ``m`` of a rule; ``own`` returns the op that the rule belongs to."""
    function, place = _function_of(rule)
    if function is None or _is_ours(function.__globals__.get('__name__')):
        return ops.built_in
    return _Scope(function, place, own)


def _function_of(rule: Any) -> tuple[FunctionType | None, int]:
    """The function as written, and the position of ``m`` among its parameters."""
    place = 0
    while True:
        if isinstance(rule, functools.partial):
            place, rule = place + len(rule.args), rule.func
        elif isinstance(rule, MethodType):
            place, rule = place + 1, rule.__func__
        elif hasattr(rule, '__wrapped__'):
            rule = rule.__wrapped__
        elif isinstance(rule, FunctionType):
            return rule, place
        elif isinstance(vars(type(rule)).get('__call__'), FunctionType):
            rule = rule.__call__
        else:
            return None, place


class _Scope(ops.Evaluators):
    """The names visible where a user's rule is written.

    Args:
        function: the rule.
        place: the position of ``m`` among its parameters.
        own: returns the op that the rule belongs to.
    """

    def __init__(self, function: FunctionType, place: int, own: Callable[[], ops.Op]) -> None:
        super().__init__(self._op)
        self._function = function
        self._own = own
        self._names = list(_names_used(function.__code__, function.__code__.co_varnames[place : place + 1]))
        #: The functions and classes around the rule, outermost first, while they may still define ops.
        self._frames = list(_frames_around(function))[::-1]
        self._locals: dict[str, Any] = {}

    def check(self) -> None:
        """Looks up all names in the rule; from then on the ops around it are fixed.

        Raises:
            AttributeError: there is no visible op of some name.
        """
        for frame in self._frames:
            self._locals.update({name: value for name, value in frame.f_locals.items() if ops.op_of(value)})
        for name in self._names:
            self._op(name)
        self._frames = []

    def _op(self, name: str) -> ops.Op:
        """The op that ``m.name`` means; raises AttributeError if there is none."""
        for value in (self._enclosed(name), self._locals.get(name), self._function.__globals__.get(name)):
            op = ops.op_of(value)
            if op is not None:
                return op
        own = self._own()
        if own.function.__name__ == name:
            return own
        op = ops.public(name)
        if op is None:
            raise AttributeError(
                f'a rule of {own.function.__name__} calls m.{name}, but there is no such op: expected one that is '
                'visible where the rule is written, or a function of minichainer.functions'
            )
        return op

    def _enclosed(self, name: str) -> Any:
        """The value of a name that the rule closes over, or None."""
        if name not in self._function.__code__.co_freevars:
            return None
        cell = (self._function.__closure__ or ())[self._function.__code__.co_freevars.index(name)]
        try:
            return cell.cell_contents
        except ValueError:  # not assigned yet
            return None


def _names_used(code: CodeType, parameters: tuple[str, ...]) -> Iterator[str]:
    """The attributes ``m.name`` that code reads from a parameter, also in nested functions."""
    previous: Any = None
    for instruction in dis.get_instructions(code):
        if instruction.opname in ('LOAD_ATTR', 'LOAD_METHOD') and previous.opname.startswith(_LOADS):
            loaded = previous.argval[-1] if isinstance(previous.argval, tuple) else previous.argval
            if loaded in parameters:
                yield instruction.argval
        previous = instruction
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_used(constant, tuple([p for p in parameters if p in constant.co_freevars]))


#: Instructions that load a local variable; some combine two operations, and the load comes last.
_LOADS = ('LOAD_FAST', 'LOAD_DEREF', 'STORE_FAST_LOAD_FAST')


def _frames_around(function: FunctionType) -> Iterator[FrameType]:
    """The running functions and class bodies that enclose a function, innermost first."""
    code, frame = function.__code__, sys._getframe() if '.' in function.__qualname__ else None
    while frame is not None:
        if any(constant is code for constant in frame.f_code.co_consts):
            if frame.f_code.co_name == '<module>':
                return
            yield frame
            code = frame.f_code
        frame = frame.f_back
