"""The nodes of ops that are defined by rules, and what is known of such an op."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy

from minichainer import ops
from minichainer._checks import array_types
from minichainer.backend import get_array_module
from minichainer.backprop import Node, is_wanted
from minichainer.function_node import FunctionNode
from minichainer.functions._checks import invalid
from minichainer.utils.array import sum_to as sum_to_shape
from minichainer.variable import Variable, as_variable, variable_on

Rule = Callable[..., Any]
_ndarray = numpy.ndarray
_arrays = array_types()


class DefinedNode(FunctionNode):
    """The node of an op made by one of the decorators."""

    spec: Spec
    takes_any_layout = True
    #: Values of the static parameters.
    static: tuple[Any, ...] = ()

    @property
    def label(self) -> str:
        return self.spec.label(self.static)

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        return (self.spec.compute(inputs, self.static),)

    def keep(self, arrays: Sequence[Any], outputs: Sequence[Any]) -> tuple[Any, ...]:
        return self.spec.keep(arrays, outputs[0], self.static)

    def input_arrays(self) -> tuple[Any, ...]:
        kept = dict(zip(self.spec.kept, self.saved, strict=True)) if self.saved else {}
        return tuple(kept.get(name) for name in self.spec.arguments)

    def backward(self, target_input_indexes: tuple[int, ...], grad_outputs: tuple[Any, ...]) -> Any:
        return tuple([self._gradient_variable(i, grad_outputs[0]) for i in target_input_indexes])

    def _gradient_variable(self, index: int, gy: Variable) -> Variable | None:
        rule = self.spec.rules[index]
        if rule is None:
            return None
        gx = rule(ops, gy, *[get(self) for get in self.spec.variable_getters[index]])
        if not isinstance(gx, (Variable, *_arrays)):
            raise TypeError(f'a rule of {self.label} returned {type(gx).__name__}\nExpect: a Variable')
        return self.conform(as_variable(gx), self._applied_edges()[index])

    def pullback(self, gradient: Any, wanted: Container[Node] | None, table: Any) -> Sequence[Any]:
        m = ops.on_numpy if type(gradient) is _ndarray else ops.raw(get_array_module(gradient))
        spec = self.spec
        return [
            rule(m, gradient, *[get(self) for get in getters]) if rule is not None and is_wanted(edge, wanted) else None
            for edge, rule, getters in zip(self._applied_edges(), spec.rules, spec.getters, strict=True)
        ]

    def conform(self, gx: Any, edge: Node) -> Any:
        """Gives a gradient, an array or a Variable, the dtype and the shape of the place that it is for.

        Raises:
            TypeError: a rule has returned something else.
            ValueError: a rule has returned a shape that does not fit.
        """
        if isinstance(gx, numpy.generic):
            gx = numpy.asarray(gx)
        if gx is None and self.spec.rules[self._applied_edges().index(edge)] is None:
            return None
        if not isinstance(gx, (*_arrays, Variable)):
            raise TypeError(f'a rule of {self.label} returned {type(gx).__name__}\nExpect: an array')
        if gx.shape != edge.shape:
            if not reaches(edge.shape, gx.shape):
                raise ValueError(f'a rule of {self.label} returned a wrong gradient\nExpect: shape {edge.shape}\n'
                                 f'Actual: shape {gx.shape}')  # fmt: skip
            gx = (ops.sum_to if isinstance(gx, Variable) else sum_to_shape)(gx, edge.shape)
        if gx.dtype != edge.dtype:
            gx = ops.cast(gx, edge.dtype) if isinstance(gx, Variable) else gx.astype(edge.dtype)
        return gx


def reaches(shape: tuple[int, ...], wide: tuple[int, ...]) -> bool:
    """Whether broadcasting leads from one shape to another."""
    lead = len(wide) - len(shape)
    return lead >= 0 and all(new in (1, old) for old, new in zip(wide[lead:], shape, strict=True))


_KINDS = {'f': 'float', 'i': 'int', 'u': 'unsigned int', 'b': 'bool', 'c': 'complex'}


class Spec:
    """What a decorator knows of its op.

    Args:
        body: ``body(xp, *arrays, *static)`` on raw arrays.
        rules: a derivative rule, or None, for each array argument.
        name: class name of the node.
        label: text, or ``label(*static)``.
        kinds: dtype kinds of the arrays.
        elementwise: the arrays are broadcast together.
        mixed: called with the arguments of a binary op where one is no Variable.
        on_numpy: what the body is on NumPy arrays: a function, or the name of one of NumPy's.
    """

    def __init__(
        self,
        body: Any,
        rules: Sequence[Rule | None],
        name: str | None,
        label: Any,
        kinds: str,
        elementwise: bool,
        mixed: Callable[..., Any] | None = None,
        on_numpy: Any = None,
    ) -> None:
        parameters = self.parameters = list(inspect.signature(body).parameters.values())[1:]
        if len(rules) > len(parameters):
            raise TypeError(f'{body.__name__}: {len(rules)} rules for {len(parameters)} arguments after xp')
        self.body = body
        self.rules = rules
        self.kinds = kinds
        self.elementwise = elementwise
        self.mixed = mixed
        if isinstance(on_numpy, str):
            on_numpy = getattr(numpy, on_numpy)
        self.on_numpy = functools.partial(body, numpy) if on_numpy is None else on_numpy
        self.arguments = [p.name for p in parameters[: len(rules)]]
        self.static_parameters = parameters[len(rules) :]
        self.name = name or ''.join(part.capitalize() for part in body.__name__.split('_'))
        self._label = label or self.name
        wanted = [rule_names(rule) for rule in rules]
        if 'y' in self.arguments and any('y' in names for names in wanted):
            raise TypeError(f'{body.__name__}: y in a rule is the result, so no array argument may be named y')
        static = [p.name for p in self.static_parameters]
        everything = [*self.arguments, 'y', *static]
        named = wanted[0] if len(wanted) == 1 else everything  # the order that a single rule wants
        self.kept = [n for n in named if n in everything and any(n in names for names in wanted)]
        self._pick = _picker([everything.index(n) for n in self.kept])
        self.getters = [[self._getter(n) for n in names] for names in wanted]
        self.variable_getters = [[self._variable_getter(n) for n in names] for names in wanted]
        #: For each rule, whether it is called with exactly what is saved.
        self.takes_saved = [names == self.kept for names in wanted]
        #: For each rule, whether it needs nothing but what is saved.
        self.needs_saved_only = [set(names) <= set(self.kept) for names in wanted]

    def label(self, static: tuple[Any, ...]) -> str:
        """What graphs, hooks and errors show."""
        return self._label if isinstance(self._label, str) else self._label(*static)

    def keep(self, arrays: Sequence[Any], y: Any, static: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arrays and static values that the rules need."""
        return self._pick((*arrays, y, *static))

    def compute(self, arrays: Sequence[Any], static: tuple[Any, ...]) -> Any:
        """The result as an array, after the inputs have been checked."""
        first = arrays[0]
        if len(arrays) > 1:
            self.check_dtypes(arrays, static)
            if self.elementwise:
                self.check_shapes(arrays, static)
        elif first.dtype.kind not in self.kinds:
            raise self.wrong_kind(first.dtype, static)
        y = self.body(numpy if type(first) is _ndarray else get_array_module(*arrays), *arrays, *static)
        return y if type(y) is _ndarray and not self.elementwise else self.as_result(y, first.dtype)

    def as_result(self, y: Any, dtype: Any) -> Any:
        """A body's result as an array; an elementwise op of floats keeps their dtype whatever NumPy makes of it."""
        if isinstance(y, numpy.generic):
            y = numpy.asarray(y)
        return y.astype(dtype, copy=False) if self.elementwise and dtype.kind == 'f' else y

    def check_dtypes(self, arrays: Sequence[Any], static: tuple[Any, ...]) -> None:
        """Raises InvalidType where operands differ in dtype, or are of a kind that the op does not take."""
        dtype = arrays[0].dtype
        for name, x in zip(self.arguments, arrays, strict=True):
            if x.dtype != dtype:
                raise self._misfit(f'{self.arguments[0]}.dtype == {name}.dtype', f'{dtype} != {x.dtype}', static)
        if dtype.kind not in self.kinds:
            raise self.wrong_kind(dtype, static)

    def check_shapes(self, arrays: Sequence[Any], static: tuple[Any, ...]) -> None:
        """Raises InvalidType where shapes cannot be broadcast together."""
        shapes = [x.shape for x in arrays]
        try:
            numpy.broadcast_shapes(*shapes)
        except ValueError:
            expected = 'shapes that can be broadcast together'
            raise self._misfit(expected, ' and '.join(map(str, shapes)), static) from None

    def wrong_kind(self, dtype: Any, static: tuple[Any, ...]) -> Exception:
        """The error for an array of a dtype that the op does not take."""
        wanted = ' or '.join(_KINDS[kind] for kind in self.kinds)
        remedy = '; convert it first, for example by x.astype(numpy.float32)'
        return self._misfit(f'{self.arguments[0]}.dtype of kind {wanted}', f'{dtype}{remedy}', static)

    def _misfit(self, expected: str, actual: str, static: tuple[Any, ...]) -> Exception:
        return invalid(expected, actual, f'Invalid operation is performed in: {self.label(static)} (Forward)')

    def bound(self, args, kwargs):
        n = len(self.rules)
        arrays = self.arrays_of(args, kwargs) if len(args) < n else args
        return (*arrays[:n], *self.static_values(arrays[n:], kwargs))

    def check(self, arrays, static):
        if len(arrays) > 1:
            self.check_dtypes(arrays, static)
            if self.elementwise:
                self.check_shapes(arrays, static)
        elif arrays[0].dtype.kind not in self.kinds:
            raise self.wrong_kind(arrays[0].dtype, static)

    def arrays_of(self, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """The array arguments of a call in which some are named; takes those out of ``named``."""
        name = self.body.__name__
        for argument in self.arguments[len(args) :]:
            if argument not in named:
                raise TypeError(f'{name}() missing argument {argument!r}')
            args = (*args, named.pop(argument))
        if named and not self.static_parameters:
            raise TypeError(f'{name}() got unexpected arguments {sorted(named)}')
        return args

    def static_values(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Values of the static parameters from a call's further arguments."""
        parameters = self.static_parameters
        if not kwargs and len(args) == len(parameters):
            return args
        name = self.body.__name__
        if len(args) > len(parameters):
            raise TypeError(f'{name}() takes {len(parameters)} arguments beside its arrays, {len(args)} were given')
        values = list(args)
        for parameter in parameters[len(args) :]:
            value = kwargs.pop(parameter.name, parameter.default)
            if value is inspect.Parameter.empty:
                raise TypeError(f'{name}() missing argument {parameter.name!r}')
            values.append(value)
        if kwargs:
            raise TypeError(f'{name}() got unexpected arguments {sorted(kwargs)}')
        return tuple(values)

    def _getter(self, name: str) -> Callable[[Any], Any]:
        if name in self.kept:
            place = self.kept.index(name)
            return lambda node: node.saved[place]
        return self._plain_getter(name)

    def _variable_getter(self, name: str) -> Callable[[Any], Any]:
        if name not in self.kept:
            return self._plain_getter(name)
        place = self.kept.index(name)
        if name == 'y':
            return lambda node: variable_on(node.saved[place], node)
        if name not in self.arguments:
            return lambda node: node.saved[place]
        index = self.arguments.index(name)
        return lambda node: variable_on(node.saved[place], node.edges[index])

    def _plain_getter(self, name: str) -> Callable[[Any], Any]:
        argument, _, what = name.rpartition('_')
        if argument in self.arguments and what in ('shape', 'dtype'):
            index = self.arguments.index(argument)
            return lambda node: getattr(node.edges[index], what)
        raise TypeError(
            f'rule of {self.body.__name__}: unknown parameter {name!r}; expected one of '
            f'{[*self.arguments, "y", *[p.name for p in self.static_parameters]]}, or <argument>_shape, '
            '<argument>_dtype'
        )


def _picker(places: list[int]) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """The function that picks some elements of a tuple as a tuple."""
    if len(places) > 1:
        return operator.itemgetter(*places)
    if places:
        (place,) = places
        return lambda values: (values[place],)
    return lambda values: ()


def rule_names(rule: Rule | None) -> list[str]:
    """What a rule needs: its parameters after ``m`` and ``gy``."""
    if rule is None:
        return []
    if not hasattr(rule, '__signature__') and hasattr(rule, '__code__') and not rule.__code__.co_kwonlyargcount:
        return list(rule.__code__.co_varnames[2 : rule.__code__.co_argcount])  # 20 times cheaper, at import
    return list(inspect.signature(rule).parameters)[2:]
