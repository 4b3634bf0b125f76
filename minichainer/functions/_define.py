"""How ops are defined: one rule, two evaluators.

A derivative rule is one line, ``lambda m, gy, y: gy - gy * y * y``. An ordinary backward pass evaluates it on raw
arrays, where ``m`` gives the ops' forward bodies; double backprop evaluates it on Variables, where ``m`` gives the
differentiable ops. So the same line serves first, second and any order. The names of the rule's parameters say what
it needs: the op's own arguments (``x``), its result ``y``, a static parameter, or ``x_shape`` and ``x_dtype`` of an
argument; only arrays that a rule names are saved. :mod:`minichainer.functions._scope` explains the names after
``m.``.

There are four decorators: :func:`elementwise`; :func:`linear_map`; :func:`~minichainer.functions._reduce.reduction`;
and :func:`primitive` for everything else: several arrays or outputs, and fused ops with a fast form of their rule.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, Protocol, TypeAlias, TypedDict, overload

from minichainer.functions._call import caller
from minichainer.functions._node import PrimitiveNode, pullback_of
from minichainer.functions._primitive import Primitive, Rule
from minichainer.functions._scope import publish
from minichainer.variable import Variable

if TYPE_CHECKING:
    from typing_extensions import Unpack

P = ParamSpec('P')
#: ``body(xp, *arrays, *static)``, on raw arrays.
Body: TypeAlias = Callable[Concatenate[Any, P], Any]


class Op(Protocol[P]):
    """An op made from a body: a function of the same parameters without ``xp``."""

    __name__: str
    node_class: type[PrimitiveNode]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Variable: ...


class SeveralOp(Protocol[P]):
    """An op with several outputs."""

    __name__: str
    node_class: type[PrimitiveNode]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> tuple[Variable, ...]: ...


def elementwise(
    *rules: Rule | None,
    fast: Sequence[Rule | None] | None = None,
    name: str | None = None,
    label: Any = None,
    kinds: str = 'f',
    mixed: Callable[..., Any] | None = None,
    on_numpy: str | Callable[..., Any] | None = None,
) -> Callable[[Body[P]], Op[P]]:
    """Makes a differentiable op of a function that acts element by element, with broadcasting.

    Args:
        rules: one derivative rule per array argument, None where there is no derivative;
            ``rule(m, gy, ...)`` returns the gradient of that argument.
        fast: array forms of the rules, as for :func:`primitive`.
        name: class name of its node; the function's name in camel case by default.
        label: what graphs and hooks show, a string or ``label(*static)``; the class name by default.
        kinds: dtype kinds that it takes.
        mixed: for an op of two arrays, called instead if an argument is not a Variable; by default an
            array becomes a constant.
        on_numpy: what the body is on NumPy arrays: a kernel, a function, or the name of one of NumPy's; saves calls.

    The decorated function is ``body(xp, *arrays, *static)`` on raw arrays, ``xp`` being numpy or cupy.

    >>> import numpy as np, minichainer as chainer
    >>> from minichainer.functions import elementwise
    >>> @elementwise(lambda m, gy, x, k: gy * 2 * k * x * m.cos(k * x * x))
    ... def chirp(xp, x, k=1.):
    ...     return xp.sin(k * x * x)
    >>> x = chainer.Variable(np.array([0., 1.]))
    >>> y = chirp(x, k=2.)
    >>> y.grad = np.ones(2)
    >>> y.backward()
    >>> x.grad.round(4)
    array([ 0.    , -1.6646])
    """
    return lambda body: _op(
        Primitive(
            body, rules, fast=fast, name=name, label=label, kinds=kinds, elementwise=True, mixed=mixed,
            on_numpy=on_numpy,
        )
    )  # fmt: skip


def linear_map(
    adjoint: Rule,
    name: str | None = None,
    label: Any = None,
    kinds: str = 'fiubc',
    on_numpy: str | Callable[..., Any] | None = None,
) -> Callable[[Body[P]], Op[P]]:
    """Makes a differentiable op of a linear map of one array, by its adjoint.

    Args:
        adjoint: ``adjoint(m, gy, ...)``; it may name ``x_shape``, ``x_dtype`` and static parameters.
        name: as in :func:`elementwise`.
        label: as in :func:`elementwise`.
        kinds: dtype kinds that it takes; all by default.
        on_numpy: as in :func:`elementwise`.

    Raises:
        TypeError: the rule needs the argument or the result, so the map is not linear; use :func:`primitive`.

    >>> import numpy as np
    >>> from minichainer.functions import linear_map
    >>> @linear_map(lambda m, gy: m.reverse(gy))
    ... def reverse(xp, x):
    ...     return x[::-1]
    >>> reverse(np.arange(3.))
    variable([2., 1., 0.])
    """

    def define(body: Body[P]) -> Op[P]:
        spec = Primitive(body, (adjoint,), name=name, label=label, kinds=kinds, on_numpy=on_numpy, is_linear=True)
        if not {*spec.arguments, 'y'}.isdisjoint(spec.kept):
            raise TypeError(f'{body.__name__}: the rule of a linear map needs neither its argument nor its result; '
                            'use primitive for a map that is not linear')  # fmt: skip
        op: Op[P] = _op(spec)
        return op

    return define


class _Options(TypedDict, total=False):
    """Common parameters of the overloads of :func:`primitive`, for type checkers."""

    fast: Rule | Sequence[Rule | None] | None
    name: str | None
    label: Any
    kinds: str | None
    on_numpy: str | Callable[..., Any] | None
    attributes: dict[str, Callable[[Any], Any]] | None
    linear_in: Sequence[str]


@overload
def primitive(
    forward: Body[P],
    rule: Rule | Sequence[Rule | None] = (),
    *,
    several_outputs: Literal[False] = False,
    **options: Unpack[_Options],
) -> Op[P]: ...


@overload
def primitive(
    forward: Body[P],
    rule: Rule | Sequence[Rule | None] = (),
    *,
    several_outputs: Literal[True],
    **options: Unpack[_Options],
) -> SeveralOp[P]: ...


@overload
def primitive(
    forward: None = None,
    rule: Rule | Sequence[Rule | None] = (),
    *,
    several_outputs: Literal[False] = False,
    **options: Unpack[_Options],
) -> Callable[[Body[P]], Op[P]]: ...


@overload
def primitive(
    forward: None = None,
    rule: Rule | Sequence[Rule | None] = (),
    *,
    several_outputs: Literal[True],
    **options: Unpack[_Options],
) -> Callable[[Body[P]], SeveralOp[P]]: ...


def primitive(
    forward: Callable[..., Any] | None = None,
    rule: Rule | Sequence[Rule | None] = (),
    *,
    fast: Rule | Sequence[Rule | None] | None = None,
    name: str | None = None,
    label: Any = None,
    kinds: str | None = None,
    several_outputs: bool = False,
    on_numpy: str | Callable[..., Any] | None = None,
    attributes: dict[str, Callable[[Any], Any]] | None = None,
    linear_in: Sequence[str] = (),
) -> Any:
    """Makes a differentiable op of any function of arrays: ``op = primitive(forward, rule, fast=...)``.

    Called without ``forward``, it is a decorator of it.

    Args:
        forward: ``forward(xp, *arrays, *static)``, on raw arrays; with as many arrays as there are rules or, where
            there is one rule for all, as there are parameters without a default. It returns an array, or a tuple.
        rule: the derivative, at every order. A tuple has one rule (or None) per array,
            ``rule(m, gy, ...)``; a single callable returns the gradients of all arrays, as a tuple where there are
            several. ``gy`` is a tuple where there are several outputs, with zeros for outputs without a gradient.
            Further parameters name what it needs: arguments, the result ``y``, ``x_shape``, ``x_dtype``, ``wanted``
            (for each array, whether its gradient is needed), ``given`` (for each of several outputs, whether it has
            an upstream gradient), ``residual``.
        fast: ``fast(xp, gy, ...)``, the gradients computed on raw arrays where that is quicker than the rule; one for
            all arrays, or a tuple as for ``rule``, with None where the rule is evaluated. It is used in ordinary
            backward. With one, the rule may be written in differentiable functions alone.
        name: class name of the node; by default the function's name in camel case.
        label: what graphs and hooks show, a string or ``label(*static)``; the class name by default.
        kinds: dtype kinds that it takes, with one dtype for all arrays; None where it checks its arguments itself.
        several_outputs: ``forward`` returns a tuple.
        on_numpy: what ``forward`` is on NumPy arrays, without ``xp``: a function, or the name of one of NumPy's.
        attributes: what can be read from the op's nodes, ``{name: function of the node}``.
        linear_in: for forward mode, groups of arrays in which the op is linear together, given the others:
            ``('a', 'b')`` for a product, ``('x b', 'W b')`` for ``x @ W + b``; for any number of arrays ``('xs',)``
            if it is linear in all at once, ``('each xs',)`` for a product. Tangents are then computed by the op.

    Where ``rule`` or ``fast`` names ``residual``, ``forward`` returns a pair: the result, and what it has computed on
    the way. In a rule that must be a constant, such as a mask; what depends on the inputs is for ``fast`` alone.

    A fused kernel with its own backward on arrays:

    >>> import numpy as np, minichainer as chainer
    >>> from minichainer.functions import primitive
    >>> def forward(xp, x):
    ...     e = xp.exp(-x * x)
    ...     return x * e, e
    >>> def rule(m, gy, x):
    ...     return gy * m.exp(-x * x) * (1 - 2 * x * x)
    >>> def fast(xp, gy, x, residual):
    ...     return gy * residual * (1 - 2 * x * x)
    >>> bump = primitive(forward, rule, fast=fast, name='Bump')
    >>> x = chainer.Variable(np.array([0., 1.]))
    >>> gx, = chainer.grad([bump(x)], [x], [chainer.Variable(np.ones(2))], enable_double_backprop=True)
    >>> gx.array.round(4)
    array([ 1.    , -0.3679])
    """

    def define(body: Callable[..., Any]) -> Any:
        return _op(
            Primitive(
                body, rule, fast=fast, name=name, label=label, kinds=kinds, several_outputs=several_outputs,
                on_numpy=on_numpy, attributes=attributes, linear_in=linear_in,
            )
        )  # fmt: skip

    return define if forward is None else define(forward)


def bilinear_map(
    *rules: Rule | None, name: str | None = None, label: Any = None, kinds: str = 'f'
) -> Callable[[Body[P]], Op[P]]:
    """Deprecated name of :func:`primitive` with one rule per array.

    Args:
        rules: one rule for each array; None where there is no gradient.
        name: the op's name in errors; by default its function's.
        label: the node's label in graphs.
        kinds: kinds of dtypes that it takes, letters of ``numpy.dtype.kind``.

    Returns:
        Decorator that makes the op of its body.

    Raises:
        TypeError: the rules do not fit the body's arguments.

    >>> import warnings, numpy as np, minichainer.functions as F
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter('ignore', DeprecationWarning)
    ...     @F.bilinear_map(lambda m, g, b: g * b, lambda m, g, a: g * a)
    ...     def product(xp, a, b):
    ...         return a * b
    >>> product(np.array([2.]), np.array([3.]))
    variable([6.])
    """
    warnings.warn('bilinear_map is deprecated: use primitive(rule=(...), ...)', DeprecationWarning, stacklevel=2)
    return primitive(rule=rules, name=name, label=label, kinds=kinds)


def added_together(op: Any, argument: str, least: int = 0) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Declares how to add the gradients of many applications of an op to a sum, for a leaf that is used many times.

    The decorated function is ``add(total, gy, ...)``: it changes ``total``, a NumPy array. The other parameters name
    what it needs, of what rules save; each is a sequence with a value for each application.

    Args:
        op: the op.
        argument: whose gradient.
        least: gradients with fewer elements are computed one by one.
    """

    def define(add: Callable[..., None]) -> Callable[..., None]:
        spec = op.node_class.spec
        spec.adders[spec.arguments.index(argument)] = add, least
        return add

    return define


def _op(spec: Primitive) -> Any:
    """Makes the node class and the function of an op."""
    attributes: dict[str, Any] = {
        'spec': spec,
        'is_elementwise': spec.elementwise,
        '_input_places': spec.input_places,
        '__module__': spec.body.__module__,
        **{name: property(read) for name, read in spec.attributes.items()},
    }
    pullback = pullback_of(spec)
    if pullback is not None:
        attributes['pullback'] = pullback
    cls = type(spec.name, (PrimitiveNode,), attributes)
    return _published(spec, cls, caller(spec, cls))


def _published(spec: Primitive, cls: type[PrimitiveNode], call: Any) -> Any:
    """Sets the op's name, signature and docstring, and registers it for rules."""
    body = spec.body
    for attribute in ('__name__', '__qualname__', '__module__', '__doc__'):
        setattr(call, attribute, getattr(body, attribute))
    signature = inspect.Signature([p.replace(annotation=p.empty) for p in spec.parameters])
    call.__signature__ = signature
    call.node_class = cls
    spec.op = publish(call, body)
    return call
