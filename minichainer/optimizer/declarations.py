"""Declarations of hyperparameters and states in the class of an update rule, one line each.

Everything else follows from them: the arguments of the rule and of its optimizer with defaults,
``inspect.signature`` and ``help``, the attributes ``optimizer.lr`` and ``rule.m``, the arrays of the state, and the
entries of a snapshot.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Mapping
from typing import Any, TypeVar

from minichainer._names import argument_advice
from minichainer.backend import get_array_module
from minichainer.optimizer.hyperparameters import HyperparameterProxy

KEYWORD = inspect.Parameter.POSITIONAL_OR_KEYWORD
VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
Declared = TypeVar('Declared')


def hyperparameter(default: Any, doc: str) -> Any:
    r"""Declares a hyperparameter of an update rule, as an attribute of its class.

    It becomes an argument of the rule after ``parent_hyperparam``, and of the optimizer defined by ``class
    Name(GradientMethod, rule=NameRule)``, in the order of the declarations.

    Args:
        default: the value where none is given.
        doc: a description for the ``Args`` of both docstrings: begins in lower case, without a full stop.

    Returns:
        Descriptor: ``rule.lr`` is ``rule.hyperparam.lr``, and ``optimizer.lr`` is ``optimizer.hyperparam.lr``.

    An optimizer whose steps have one size, in the direction of a running sum of gradients:

    >>> import inspect
    >>> import numpy as np, minichainer as chainer
    >>> from minichainer.optimizer import FormulaRule, GradientMethod, hyperparameter, state
    >>> class SignRule(FormulaRule):
    ...     '''Update rule of Sign.'''
    ...     lr = hyperparameter(0.1, 'size of a step')
    ...     decay = hyperparameter(0.5, 'how much of the sum remains from one update to the next')
    ...     m = state()
    ...     @staticmethod
    ...     def formula(xp, coefficients, temporaries, param, grad, m):
    ...         lr, decay = coefficients
    ...         step, = temporaries
    ...         m *= decay
    ...         m += grad
    ...         xp.sign(m, step)
    ...         step *= lr
    ...         param -= step
    >>> class Sign(GradientMethod, rule=SignRule):
    ...     '''Steps of equal size.'''
    ...     lr: float  # for type checkers
    ...     decay: float
    >>> print(inspect.signature(Sign))
    (lr=0.1, decay=0.5)
    >>> model = chainer.Link()
    >>> with model.init_scope():
    ...     model.w = chainer.Parameter(np.ones(2, np.float32))
    >>> optimizer = Sign(lr=0.5).setup(model)
    >>> model.w.grad = np.array([3, -4], np.float32)
    >>> optimizer.update()
    >>> model.w.array, model.w.update_rule.m
    (array([0.5, 1.5], dtype=float32), array([ 3., -4.], dtype=float32))
    """
    return DeclaredHyperparameter(default, doc)


class DeclaredHyperparameter(HyperparameterProxy):
    """The descriptor made by :func:`hyperparameter`, in the class of a rule and of its optimizer."""

    def __init__(self, default: Any, doc: str) -> None:
        super().__init__('')
        self.default = default
        self.text = doc

    def __set_name__(self, owner: type, name: str) -> None:
        super().__init__(name)
        self.__doc__ = f'Alias to ``self.hyperparam.{name}``: {self.text}.'


def state(initial: float = 0, *, when: str | None = None) -> Any:
    """Declares an array that an update rule keeps between updates, as an attribute of its class.

    It has the shape, dtype and device of the parameter, and is saved and loaded with the optimizer under the name of
    the attribute. See :func:`hyperparameter` for an example.

    Args:
        initial: its elements before the first update.
        when: name of a hyperparameter; the state is kept only where that is true.

    Returns:
        Descriptor: ``rule.m`` is ``rule.state['m']``.
    """
    return DeclaredState(initial, when)


class DeclaredState:
    """The descriptor made by :func:`state`."""

    name = ''

    def __init__(self, initial: float, when: str | None) -> None:
        self.initial = initial
        self.when = when

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name
        self.__doc__ = f"Alias to ``self.state['{name}']``."

    def __get__(self, rule: Any, owner: type | None = None) -> Any:
        if rule is None:
            return self
        if self.name not in (rule.state or ()):
            raise AttributeError(f"{type(rule).__name__}: state '{self.name}' is made at the first update")
        return rule.state[self.name]

    def __set__(self, rule: Any, value: Any) -> None:
        rule.state[self.name] = value

    def array_for(self, array: Any) -> Any:
        """Returns the initial state of a parameter."""
        return get_array_module(array).full(array.shape, self.initial, array.dtype)


def declared(cls: type, kind: type[Declared]) -> dict[str, Declared]:
    """Returns the declarations of one kind in a class and its bases, in order."""
    found: dict[str, Declared] = {}
    for base in reversed(cls.__mro__):
        found.update((name, value) for name, value in vars(base).items() if isinstance(value, kind))
    return found


def check_names(cls: type) -> None:
    """Raises TypeError if a declaration of a class would hide another attribute of its bases."""
    kinds = (DeclaredHyperparameter, DeclaredState)
    for name in [name for name, value in vars(cls).items() if isinstance(value, kinds)]:
        for base in cls.__mro__[1:]:
            hidden = vars(base).get(name, inspect.get_annotations(base).get(name))
            if hidden is not None and not isinstance(hidden, kinds):
                raise TypeError(f"{cls.__name__}: '{name}' is an attribute of {base.__name__}; declare another name")


def bound(
    cls: type, arguments: Mapping[str, Any], values: tuple[Any, ...], named: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns the declared arguments by name, with defaults for those not given."""
    if not values and not named:
        return dict(arguments)
    try:
        given = signature_of(arguments).bind(*values, **named)
    except TypeError as error:
        unknown = [name for name in named if name not in arguments]
        remedy = argument_advice(unknown[0], arguments) if unknown else _of_parameters(values)
        raise TypeError(f'{cls.__name__}: {error}{remedy}; expected {inspect.signature(cls)}') from None
    return {**arguments, **given.arguments}


def _of_parameters(values: tuple[Any, ...]) -> str:
    """What to write if the first argument is what other frameworks give to an optimizer: the parameters."""
    if not values or isinstance(values[0], (int, float)) or not hasattr(values[0], '__iter__'):
        return ''
    return ': the parameters are given by optimizer.setup(model)'


def signature_of(arguments: Mapping[str, Any]) -> inspect.Signature:
    """Returns the signature of a callable with these arguments and defaults."""
    return inspect.Signature([inspect.Parameter(name, KEYWORD, default=value) for name, value in arguments.items()])


class DeclaredSignature:
    """The ``__signature__`` of classes whose ``__init__`` takes declared hyperparameters as ``*values, **named``."""

    def __get__(self, instance: object, cls: Any) -> inspect.Signature:
        _, *parameters = inspect.signature(cls.__init__).parameters.values()
        own = [parameter for parameter in parameters if parameter.kind not in VARIABLE]
        if len(own) == len(parameters):
            return inspect.Signature(own)
        taken = {parameter.name for parameter in own}
        more = signature_of({name: value for name, value in cls._arguments.items() if name not in taken})
        return inspect.Signature(sorted([*own, *more.parameters.values()], key=lambda parameter: parameter.kind))


def add_args(cls: type, lines: Mapping[str, str]) -> None:
    """Inserts a section ``Args`` into the docstring of a class, before its example."""
    if cls.__doc__ is None or 'Args:' in cls.__doc__:
        return
    text, mark, example = inspect.cleandoc(cls.__doc__).partition('\n\n>>> ')
    wrap = textwrap.TextWrapper(110, initial_indent='    ', subsequent_indent='        ', break_long_words=False)
    section = '\n'.join(['\n\nArgs:', *(wrap.fill(f'{name}: {doc}.') for name, doc in lines.items())])
    before, raises, after = text.partition('\n\nRaises:')
    cls.__doc__ = before + section + raises + after + mark + example
