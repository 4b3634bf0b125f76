"""Ops as the compiled tape calls them: programs of NumPy's inner loops, made from the op's own Python code.

The forward body and the array forms of the rules are called once with symbols in the place of arrays. What they do
with these becomes a program, a list of ``(ufunc, operand, operand)``. If they do anything else, such as a comparison,
the op has no program. So a program states nothing of its own; what it computes is compared bit for bit with the
Python form by ``tests/core/test_compiled_tape.py``.

A program works in the memory of its result: the result of a step is an operand of the next one, and of no other.

Of ops without a program the compiled tape does what surrounds the body, and calls that: :func:`_with_body`.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy

from minichainer import ops
from minichainer._tape import native
from minichainer.functions._primitive import Primitive, rule_names
from minichainer.kernels._dispatch import Kernel

#: The numbers of operands: arguments, constants, the result so far.
_CONSTANT, _RESULT = 8, 12
#: Ops by the class names of their nodes.
NAMES = """
    Add Sub Mul Div AddConstant SubFromConstant MulConstant DivFromConstant Neg Absolute
    Exp Log Sqrt Square Tanh ReLU Sin
""".split()


class _NoProgram(Exception):
    """The Python form does something that is not a step of a program."""


class _Trace:
    """The steps of a program that is being made."""

    def __init__(self) -> None:
        self.steps: list[tuple[Any, int, int]] = []
        self.constants: list[float] = []

    def apply(self, ufunc: Any, *operands: Any) -> _Symbol:
        """Adds a step."""
        places = [self._place(operand) for operand in operands]
        self.steps.append((ufunc, places[0], places[1] if len(places) > 1 else -1))
        return _Symbol(self, _RESULT, len(self.steps))

    def _place(self, operand: Any) -> int:
        if isinstance(operand, _Symbol):
            if operand.place == _RESULT and operand.step != len(self.steps):
                raise _NoProgram
            return operand.place
        if type(operand) is not int and type(operand) is not float:
            raise _NoProgram
        self.constants.append(float(operand))
        return _CONSTANT + len(self.constants) - 1

    def program(self, result: Any) -> tuple[list[Any], list[float]]:
        """The program that computes ``result``."""
        is_last = isinstance(result, _Symbol) and result.place == (_RESULT if self.steps else 0)
        if not is_last or result.step != len(self.steps):
            raise _NoProgram
        return self.steps, self.constants


class _Symbol:
    """Stands for an array; the operators of arrays add steps."""

    def __init__(self, trace: _Trace, place: int, step: int = 0) -> None:
        self.trace, self.place, self.step = trace, place, step

    dtype = None
    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise _NoProgram

    def _comparison(self, other: Any) -> Any:
        raise _NoProgram

    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = _comparison

    def __ne__(self, other: Any) -> _Symbol:  # type: ignore[override]
        if other != 0:
            raise _NoProgram
        # As a factor of what is not negative: 1 where it is not 0. The kernel `step` does the same on few numbers.
        return self.trace.apply(numpy.fmin, self.trace.apply(numpy.sign, self), 1)


def _operator(ufunc: Any, swapped: bool = False) -> Any:
    def call(self: _Symbol, *others: Any) -> _Symbol:
        return self.trace.apply(ufunc, *others, self) if swapped else self.trace.apply(ufunc, self, *others)

    return call


for _name, _ufunc in (
    ('add', numpy.add), ('sub', numpy.subtract), ('mul', numpy.multiply), ('truediv', numpy.divide)
):  # fmt: skip
    setattr(_Symbol, f'__{_name}__', _operator(_ufunc))
    setattr(_Symbol, f'__r{_name}__', _operator(_ufunc, swapped=True))
setattr(_Symbol, '__neg__', _operator(numpy.negative))  # noqa: B010


class _Functions:
    """The array module, and the ``m`` of rules, for symbols."""

    def __init__(self, trace: _Trace) -> None:
        self._trace = trace

    def zeros(self, shape: Any, dtype: Any = None) -> float:
        """0 as a constant."""
        if shape != ():
            raise _NoProgram
        return 0.0

    def __getattr__(self, name: str) -> Any:
        ufunc = getattr(numpy, name, None)
        if isinstance(ufunc, numpy.ufunc):
            return lambda *operands: self._trace.apply(ufunc, *operands)
        body = getattr(ops.built_in._find(name), 'body', None)
        if isinstance(body, Kernel):
            return lambda *operands: body.generic(self, *operands)
        raise _NoProgram


def compiled_form(spec: Primitive, cls: Any) -> Any:
    """The op as the compiled tape calls it; None if it does not.

    It takes the arguments of a call. It returns a Variable or a tuple of them, or None where the twin in ``_call.py``
    has to compute.
    """
    if native is None or not spec.body.__module__.startswith('minichainer.'):
        return None
    return compiled_op(spec, cls) or _with_body(spec, cls)


def compiled_op(spec: Primitive, cls: Any) -> Any:
    """The op as programs; None if it has none."""
    if spec.name not in NAMES:
        return None
    arguments = [*spec.arguments, *spec.static_names]
    if not set(spec.kept) <= {*arguments, 'y'} or not spec.elementwise:
        return None
    kept = _places(spec, arguments)
    try:
        gradients = [None if rule is None else _of_rule(spec, rule) for rule in spec.array_rules]
        return native.Op(
            cls, len(spec.arguments), len(spec.static_parameters), _of_forward(spec, arguments), gradients, kept
        )
    except _NoProgram:
        return None


def _places(spec: Primitive, arguments: list[str]) -> list[int]:
    """The numbers of what is saved."""
    return [arguments.index(name) if name in arguments else _RESULT for name in spec.kept]


def _of_forward(spec: Primitive, arguments: list[str]) -> Any:
    trace = _Trace()
    symbols = [_Symbol(trace, place) for place in range(len(arguments))]
    if isinstance(spec.on_numpy, numpy.ufunc):
        return trace.program(trace.apply(spec.on_numpy, *symbols))
    return trace.program(_called(spec.body, trace, symbols))


def _of_rule(spec: Primitive, rule: Any) -> Any:
    """The program of a rule; its operands are the upstream gradient and what is saved."""
    trace = _Trace()
    symbols = [_Symbol(trace, 1 + spec.kept.index(name)) for name in rule_names(rule)]
    return trace.program(_called(rule, trace, [_Symbol(trace, 0), *symbols]))


def _called(function: Any, trace: _Trace, operands: list[Any]) -> Any:
    generic = function.generic if isinstance(function, Kernel) else function
    try:
        return generic(_Functions(trace), *operands)
    except (TypeError, AttributeError, KeyError) as error:
        raise _NoProgram from error


#: Most arguments of an op whose body the compiled tape calls.
_MOST_ARGUMENTS = 8
#: What the arrays of a body must have in common; the compiled tape leaves others to the twin, which checks them.
_ONE_DTYPE, _ONE_SHAPE = 1, 2


def _with_body(spec: Primitive, cls: Any) -> Any:
    """The op with its body and rules in Python; None if it has a residual, or other dtypes or too many arguments."""
    if spec.has_residual or (spec.kinds is not None and 'f' not in spec.kinds):
        return None
    if spec.variadic and spec.has_numpy_form:
        return None
    count = 0 if spec.variadic else len(spec.arguments)
    arguments = [*spec.arguments[:count], *spec.static_names]
    if not set(spec.kept) <= {*arguments, 'y'} or len(arguments) > _MOST_ARGUMENTS:
        return None
    checks = 0 if spec.kinds is None else _ONE_SHAPE if spec.elementwise else _ONE_DTYPE
    names = [spec.static_names] if spec.variadic and spec.static_names else []

    def first(*args: Any, **named: Any) -> Any:
        """The body at the first call, which also looks up the names in the rules."""
        spec.check_names()
        op.body = body
        return body(*args, **named)

    body = functools.partial(spec.body, numpy) if spec.variadic else spec.on_numpy
    arrays = -1 if spec.variadic else count
    op = native.Op(
        cls, arrays, len(spec.static_names), first, [], _places(spec, arguments), checks, spec.several_outputs, *names
    )
    return op
