"""The description of an op: forward body, derivative rule, fast form, and what they need from a call."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy

from minichainer import ops
from minichainer._names import unknown_arguments
from minichainer.backend import get_array_module
from minichainer.backends import number_arrays
from minichainer.functions._arguments import Arguments
from minichainer.functions._scope import evaluators_of
from minichainer.kernels._dispatch import Kernel
from minichainer.kernels.gathering import common_shape
from minichainer.variable import Variable, variable_on

Rule = Callable[..., Any]
_ndarray = numpy.ndarray
_KINDS = {'f': 'float', 'i': 'int', 'u': 'unsigned int', 'b': 'bool', 'c': 'complex'}


class Primitive:
    """An op with a forward body and a derivative.

    The names in rules are looked up when the op is first applied: see :mod:`~._scope`.

    Args:
        body: ``body(xp, *arrays, *static)`` on raw arrays. Static parameters may be keyword-only, and must be where
            the number of arrays varies (``*xs``).
        rules: the derivative: one rule, or None, for each array; or one callable for all arrays.
        fast: array forms of the rules, or of some: one, or None, for each array; or one callable for all arrays.
        name: class name of the node; by default the body's name in camel case.
        label: the label in graphs: text, or ``label(*static)``; the class name by default.
        kinds: allowed dtype kinds of the arrays, whose dtypes must then agree; None if the op checks them itself.
        elementwise: the arrays are broadcast together.
        several_outputs: the body returns a tuple of arrays.
        mixed: called with the arguments of a binary op if one is not a Variable.
        on_numpy: replaces the body on NumPy arrays: a kernel, a function, or the name of a NumPy function.
        attributes: attributes of nodes that old code reads: ``{name: function of the node}``.
        linear_in: names of arrays, in groups separated by blanks; see :func:`~minichainer.functions.primitive`.
        is_linear: it is a linear map of its only array.
    """

    #: The op itself.
    op: ops.Op
    #: Whether the op is called in a short form without hooks, and a copy of that for profiles.
    has_short_form = False
    short_form: Callable[..., Any] | None = None
    #: The function that applies the op, before anything is wrapped around it.
    call: Callable[..., Any]
    #: Whether it reduces one array over axes: its static parameters are ``axis`` and ``keepdims``.
    reduces = False
    #: Whether forward mode has a short form of it.
    is_direct = False
    #: How it is called in forward mode; made at the first such call.
    plan: Any = None

    def __init__(
        self,
        body: Any,
        rules: Sequence[Rule | None] | Rule,
        *,
        fast: Sequence[Rule | None] | Rule | None = None,
        name: str | None = None,
        label: Any = None,
        kinds: str | None = None,
        elementwise: bool = False,
        several_outputs: bool = False,
        mixed: Callable[..., Variable] | None = None,
        on_numpy: Any = None,
        attributes: dict[str, Callable[[Any], Any]] | None = None,
        linear_in: Sequence[str] = (),
        is_linear: bool = False,
    ) -> None:
        self.body, self.kinds, self.elementwise, self.mixed = body, kinds, elementwise, mixed
        self.several_outputs = several_outputs
        #: Whether the arrays may be complex: the op is a holomorphic function of each of them.
        self.takes_complex = elementwise and 'c' in (kinds or '')
        self.joint = callable(rules)
        self.rules: list[Rule | None] = [rules] if callable(rules) else list(rules)
        self.fast: list[Rule | None] = [fast] if callable(fast) else list(fast or [None] * len(self.rules))
        #: Whether one fast form computes all gradients.
        self.joint_fast = callable(fast)
        self.attributes = attributes or {}
        self.name = name or ''.join(part.capitalize() for part in body.__name__.split('_'))
        self._label = label or self.name
        self._read_signature()
        self._compute = _called(body, self.static_parameters)
        self.on_numpy = self._body_on_numpy(on_numpy)
        #: Whether it has another body on NumPy arrays, which takes static values by place.
        self.has_numpy_form = on_numpy is not None
        #: The ``m`` of each rule.
        self.evaluators = [evaluators_of(rule, lambda: self.op) for rule in self.rules]
        #: Whether the names in the rules have not been looked up yet.
        self.is_new = any(evaluators is not ops.built_in for evaluators in self.evaluators)
        self._plan_saving()
        self._plan_array_forms()
        #: Groups of arrays, by number, in which the op is linear together.
        self.linear_groups = [[0]] if is_linear else self._numbered(linear_in)
        #: Whether it is linear in each of any number of arrays, not in all at once.
        self.is_product = self.variadic and len(linear_in) == 1 and linear_in[0].startswith('each ')
        #: By the number of an array, how the gradients of many applications are added, and from which size on: see
        #: :func:`~minichainer.functions._define.added_together`.
        self.adders: dict[int, tuple[Callable[..., None], int]] = {}
        #: Whether it has no derivative at all.
        self.has_no_rules = not any(self.rules)

    def _body_on_numpy(self, given: Any) -> Callable[..., Any]:
        if given is None:
            return functools.partial(self._compute, numpy)
        if isinstance(given, Kernel):
            return functools.partial(given.body_for(numpy), numpy)
        return getattr(numpy, given) if isinstance(given, str) else given  # type: ignore[no-any-return]

    def _numbered(self, linear_in: Sequence[str]) -> list[list[int]]:
        """The groups of ``linear_in`` as places of the arrays."""
        try:
            return [
                [self.arguments.index(name) for name in group.removeprefix('each ').split()] for group in linear_in
            ]
        except ValueError:
            raise TypeError(f'{self.body.__name__}: linear_in must name arrays, got {linear_in}') from None

    def _read_signature(self) -> None:
        """Splits the body's parameters into arrays and static parameters."""
        parameters = self.parameters = list(inspect.signature(self.body).parameters.values())[1:]
        #: Whether the op takes any number of arrays.
        self.variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        if self.joint:
            count = sum(p.kind is not p.KEYWORD_ONLY and p.default is p.empty for p in parameters)
        else:
            count = len(self.rules)
        if count > len(parameters):
            raise TypeError(f'{self.body.__name__}: {count} rules for {len(parameters)} arguments after xp')
        self.arguments = [p.name for p in parameters[:count]]
        self.static_parameters = parameters[count:]
        self.static_names = tuple([p.name for p in self.static_parameters])
        #: The default values of the last static parameters.
        self.defaults = tuple([p.default for p in self.static_parameters if p.default is not p.empty])

    def _plan_saving(self) -> None:
        """Determines what is saved, and where Variables for rules come from."""
        wanted = [rule_names(rule) for rule in self.rules]
        fast = [rule_names(form) for form in self.fast]
        everything = [*self.arguments, 'y', *[p.name for p in self.static_parameters], 'residual']
        asked = {name for names in (*wanted, *fast) for name in names}
        if 'y' in self.arguments and 'y' in asked:
            raise TypeError(f'{self.body.__name__}: y in a rule is the result, so an array must not be named y')
        #: Whether the body also returns intermediate results: ``(y, residual)``.
        self.has_residual = 'residual' in asked
        named = wanted[0] if len(wanted) == 1 and not any(fast) else everything  # the order of a single rule
        self.kept = [n for n in named if n in everything and n in asked]
        #: Selects what is saved from ``(*arrays, y, *static, residual)``.
        self.pick = _picker([everything.index(n) for n in self.kept])
        #: Selects the saved inputs, if nothing else is saved.
        self.input_picker = None
        if set(self.kept) <= set(self.arguments):
            self.input_picker = _picker([self.arguments.index(n) for n in self.kept])
        #: Selects the saved static values, if nothing else is saved.
        self.static_picker = None
        if self.kept and set(self.kept) <= set(self.static_names):
            self.static_picker = _picker([self.static_names.index(n) for n in self.kept])
        self.variable_getters = [[self._variable_getter(n) for n in names] for names in wanted]
        #: Pairs of the place of a saved array and the number of its argument; None if it saves any number of them.
        self.input_places: tuple[tuple[int, int], ...] | None = None
        if self.variadic:
            self.input_places = None if set(self.arguments) & set(self.kept) else ()
        else:
            pairs = [(i, self.arguments.index(n)) for i, n in enumerate(self.kept) if n in self.arguments]
            self.input_places = tuple(pairs)
        #: For each rule, the places of the saved values that it reads.
        self.read_by_rules = self._places(wanted)

    def _plan_array_forms(self) -> None:
        """Chooses the functions that compute gradients on raw arrays: fast forms, or else rules."""
        forms: list[tuple[Any, ops.Evaluators | ops.Modules]]
        if self.joint_fast:
            forms = [(self.fast[0], ops.modules)]
        else:
            triples = zip(self.fast, self.rules, self.evaluators, strict=True)
            forms = [(rule, m) if form is None else (form, ops.modules) for form, rule, m in triples]
        self.array_rules = [rule for rule, _ in forms]
        #: Their first argument: the array module, or ops bound to it.
        self.array_evaluators = [evaluators for _, evaluators in forms]
        names = [rule_names(rule) for rule in self.array_rules]
        self.getters = [[self._getter(n) for n in wanted] for wanted in names]
        #: For each of these, the places of the saved values that it reads.
        self.read_by_forms = self._places(names)
        #: For each, whether it needs only the saved values.
        self.needs_saved_only = [set(wanted) <= set(self.kept) for wanted in names]

    def _places(self, names: list[list[str]]) -> list[set[int]]:
        return [{self.kept.index(n) for n in wanted if n in self.kept} for wanted in names]

    def check_names(self) -> None:
        """Raises AttributeError where a rule names an op that does not exist."""
        for evaluators in self.evaluators:
            evaluators.check()
        self.is_new = False

    def label(self, static: tuple[Any, ...]) -> str:
        """The label in graphs, hooks and errors."""
        return self._label if isinstance(self._label, str) else self._label(*static)

    # --- forward -----------------------------------------------------------------------------------------------
    def keep(self, arrays: Sequence[Any], y: Any, static: tuple[Any, ...], residual: Any = None) -> tuple[Any, ...]:
        """The arrays and static values that the rules and the fast form need."""
        return self.pick(((tuple(arrays),) if self.variadic else tuple(arrays)) + (y, *static, residual))

    def compute(self, arrays: Sequence[Any], static: tuple[Any, ...]) -> tuple[Any, Any]:
        """Checks the inputs; returns the result, an array or a tuple of arrays, and the residual."""
        self.check(arrays, static)
        is_plain = not number_arrays.in_use and arrays and type(arrays[0]) is _ndarray
        xp = numpy if is_plain else get_array_module(*arrays)
        y = self._compute(xp, *arrays, *static)
        if number_arrays.in_use:
            y = number_arrays.result_of(xp, y)
        y, residual = y if self.has_residual else (y, None)
        return (y if isinstance(y, tuple) else self.as_result(y, arrays[0].dtype)), residual

    def as_result(self, y: Any, dtype: Any) -> Any:
        """A body's result as an array; an elementwise op of floats keeps their dtype even if NumPy changes it."""
        if isinstance(y, numpy.generic):
            y = numpy.asarray(y)
        return y.astype(dtype, copy=False) if self.elementwise and dtype.kind == 'f' and y.dtype.kind != 'c' else y

    # --- checks ------------------------------------------------------------------------------------------------
    def check(self, arrays: Sequence[Any], static: tuple[Any, ...]) -> None:
        """Raises InvalidType if arrays differ in dtype, have a wrong dtype kind, or do not broadcast together."""
        if self.kinds is None:
            return
        dtype = arrays[0].dtype
        differing = [x for x in arrays if x.dtype is not dtype]
        for name, x in zip(self.arguments[1:], arrays[1:], strict=False) if differing else ():
            if x.dtype != dtype and not (self.takes_complex and 'c' in (x.dtype.kind, dtype.kind)):
                found = f'{dtype} != {x.dtype}'
                raise self._arguments(static).misfit(f'{self.arguments[0]}.dtype == {name}.dtype', found)
        if dtype.kind not in self.kinds:
            raise self.wrong_kind(dtype, static)
        if self.elementwise and len(arrays) > 1:
            self.check_shapes(arrays, static)

    def check_shapes(self, arrays: Sequence[Any], static: tuple[Any, ...]) -> None:
        """Raises InvalidType if the shapes do not broadcast together."""
        shapes = [x.shape for x in arrays]
        if shapes.count(shapes[0]) == len(shapes):
            return
        try:
            common_shape(*shapes)
        except ValueError:
            found = ' and '.join(map(str, shapes))
            raise self._arguments(static).misfit('shapes that can be broadcast together', found) from None

    def wrong_kind(self, dtype: Any, static: tuple[Any, ...]) -> Exception:
        """The error for an unsupported dtype: TypeError for bools where ints are allowed, else InvalidType."""
        wanted = ' or '.join(_KINDS[kind] for kind in self.kinds or '')
        remedy = '; convert it first, for example by x.astype(numpy.float32)'
        error = self._arguments(static).misfit(f'{self.arguments[0]}.dtype of kind {wanted}', f'{dtype}{remedy}')
        return TypeError(str(error)) if dtype.kind == 'b' and 'i' in (self.kinds or '') else error

    def _arguments(self, static: tuple[Any, ...]) -> Arguments:
        return Arguments(self.label(static))

    # --- the arguments of a call -------------------------------------------------------------------------------
    def bound(self, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments of a call in parameter order, with defaults filled in."""
        if tuple(named) == self.static_names and (self.variadic or len(args) == len(self.arguments)):
            return (*args, *named.values())
        count = len(args) if self.variadic else len(self.arguments)
        for argument in () if self.variadic else self.arguments[len(args) :]:
            if argument not in named:
                raise TypeError(f'{self.body.__name__}() missing argument {argument!r}')
            args = (*args, named.pop(argument))
        return (*args[:count], *self.static_values(args[count:], named))

    def static_values(self, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """The values of the static parameters in a call."""
        parameters = self.static_parameters
        missing = len(parameters) - len(args)
        if not named and 0 < missing <= len(self.defaults):
            return args + self.defaults[-missing:]
        if len(named) == missing and tuple(named) == self.static_names[len(args) :]:
            return (*args, *named.values())
        name = self.body.__name__
        if len(args) > len(parameters):
            raise TypeError(f'{name}() takes {len(parameters)} arguments beside its arrays, {len(args)} were given')
        values = list(args)
        for parameter in parameters[len(args) :]:
            value = named.pop(parameter.name, parameter.default)
            if value is inspect.Parameter.empty:
                raise TypeError(f'{name}() missing argument {parameter.name!r}')
            values.append(value)
        if named:
            known = [parameter.name for parameter in self.parameters]
            raise unknown_arguments(f'{name}() got unexpected arguments {sorted(named)}', named, known)
        return tuple(values)

    # --- arguments of rules ------------------------------------------------------------------------------------
    def _getter(self, name: str) -> Callable[[Any], Any]:
        if name in self.kept:
            place = self.kept.index(name)
            return lambda node: node.saved[place]
        return self._plain_getter(name)

    def _variable_getter(self, name: str) -> Callable[[Any], Any]:
        """A function of a node that returns a rule's parameter, with saved arrays as Variables."""
        if name not in self.kept:
            return self._plain_getter(name)
        place = self.kept.index(name)
        if name == 'y':
            return lambda node: node.outputs_as_variables(node.saved[place])
        if name not in self.arguments:
            return lambda node: node.saved[place]
        if self.variadic:
            return lambda node: tuple(map(variable_on, node.saved[place], node.edges))
        index = self.arguments.index(name)
        return lambda node: variable_on(node.saved[place], node.edges[index])

    def _plain_getter(self, name: str) -> Callable[[Any], Any]:
        """A function of a node that returns a rule's parameter which is not saved."""
        argument, _, what = name.rpartition('_')
        if argument in self.arguments and what in ('shape', 'dtype'):
            if self.variadic:
                return lambda node: tuple([getattr(edge, what) for edge in node.edges])
            index = self.arguments.index(argument)
            return lambda node: getattr(node.edges[index], what)
        if name == 'wanted':
            return lambda node: node.wanted_inputs
        if name == 'given':
            return lambda node: node.given_outputs
        raise TypeError(
            f'rule of {self.body.__name__}: unknown parameter {name!r}; expected one of '
            f'{[*self.arguments, "y", *[p.name for p in self.static_parameters]]}, <argument>_shape, '
            '<argument>_dtype, residual, wanted, given'
        )


def _called(body: Callable[..., Any], static: Sequence[inspect.Parameter]) -> Callable[..., Any]:
    """The body as a function of positional arguments."""
    names = [p.name for p in static if p.kind is p.KEYWORD_ONLY]
    if not names:
        return body

    count = len(names)
    if count == 1:
        (name,) = names
        return lambda *args: body(*args[:-1], **{name: args[-1]})

    def call(*args: Any) -> Any:
        return body(*args[:-count], **dict(zip(names, args[-count:], strict=True)))

    return call


def _picker(places: list[int]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """A function that selects some elements of a tuple as a tuple."""
    if len(places) > 1:
        return operator.itemgetter(*places)
    if places:
        (place,) = places
        return operator.itemgetter(slice(place, place + 1))
    return lambda values: ()


def rule_names(rule: Rule | None, first: int = 2) -> list[str]:
    """The names of what a rule needs: its parameters after ``m`` (or ``xp``) and ``gy``."""
    if rule is None:
        return []
    if type(rule) is FunctionType and not rule.__dict__ and not rule.__code__.co_kwonlyargcount:
        return list(rule.__code__.co_varnames[first : rule.__code__.co_argcount])  # 20 times cheaper, at import
    return list(inspect.signature(rule).parameters)[first:]
