"""Functions with static methods, as in ``torch.autograd``: the user's class, and the context of its methods.

Function.apply      makes a node for the application (``_application.py``), and applies it by the recorder
FunctionCtx         what forward and backward get as ``ctx``
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from minichainer.autograd._application import FREED, Application
from minichainer.autograd._arrays import constant, is_array, needs_gradient, only_arrays, raw
from minichainer.configuration import config, using_config
from minichainer.function_node import FunctionNode
from minichainer.variable import Variable, variable_on

__all__ = ['Function', 'FunctionCtx', 'once_differentiable']


class FunctionCtx:
    """What passes from a Function's forward to its backward; attributes of the user's own may be set.

    Arrays belong into :meth:`save_for_backward`, where they are freed with the graph; other values into attributes.

    >>> import numpy as np, minichainer as chainer
    >>> from minichainer.autograd.function import Function
    >>> class Scale(Function):
    ...     @staticmethod
    ...     def forward(ctx, x, k):
    ...         ctx.k = k
    ...         return x * k
    ...     @staticmethod
    ...     def backward(ctx, gy):
    ...         return gy * ctx.k, None
    >>> x = chainer.Variable(np.array(2.))
    >>> Scale.apply(x, 5.).backward()
    >>> x.grad
    array(5.)
    """

    #: What is to be saved, for backward and for forward mode, until the node takes it over.
    _to_save: tuple[tuple[Any, ...], tuple[Any, ...]] | None = ((), ())
    _dirty: tuple[Any, ...] = ()
    _non_differentiable: tuple[Any, ...] = ()
    _materializes = True
    #: Whether ``jvp`` is running, which reads what :meth:`save_for_forward` has saved.
    _is_forward_mode = False

    _node: Callable[[], Application | None]  # set by the node

    def __init__(self, needs_input_grad: Sequence[bool]) -> None:
        self._needs_input_grad = tuple(needs_input_grad)

    @property
    def needs_input_grad(self) -> tuple[bool, ...]:
        """Whether the gradient of each argument of ``apply`` is needed; False for what is not a float Variable."""
        return self._needs_input_grad

    def save_for_backward(self, *tensors: Any) -> None:
        """Saves arrays for backward; call it once, in forward or ``setup_context``.

        Args:
            tensors: Variables, arrays or None. Inputs and outputs keep their places in the graph, so that double
                backprop flows through them; all else is a constant in backward.

        Raises:
            TypeError: one is neither; raised when forward has returned, if the graph is recorded.
        """
        self._to_save = (tensors, (self._to_save or ((), ()))[1])

    def save_for_forward(self, *tensors: Any) -> None:
        """Saves arrays for ``jvp``, like :meth:`save_for_backward`; ``saved_tensors`` returns them there."""
        self._to_save = ((self._to_save or ((), ()))[0], tensors)

    @property
    def saved_tensors(self) -> tuple[Variable | None, ...]:
        """What has been saved, as Variables in the graph.

        Raises:
            RuntimeError: it has been freed with the graph.
        """
        if self._to_save is not None:  # not recorded (yet)
            backward, forward = self._to_save
            chosen = forward if self._is_forward_mode and forward else backward
            return tuple([None if x is None else constant(x) for x in chosen])
        node = self._node()
        if node is None:
            raise RuntimeError(f'saved_tensors: {FREED}')
        return node.saved_variables(self._is_forward_mode)

    def mark_dirty(self, *args: Any) -> None:
        """Declares inputs that forward has changed in place and returns; the same Variables become its outputs.

        Args:
            args: Variables among the inputs, of which none may be a leaf that requires a gradient.
        """
        self._dirty = only_arrays('mark_dirty', args)

    def mark_non_differentiable(self, *args: Any) -> None:
        """Declares outputs (Variables or arrays) that get no gradient; integers need not be declared."""
        self._non_differentiable = only_arrays('mark_non_differentiable', args)

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward gets zeros for outputs without a gradient (True, the default) or None (False)."""
        self._materializes = value


class Function:
    """Base class of a user's differentiable functions, with static methods and ``apply``.

    A subclass defines ``forward(ctx, *args)``, or ``forward(*args)`` and ``setup_context(ctx, inputs, output)``;
    and ``backward(ctx, *grad_outputs)`` for gradients, ``jvp(ctx, *tangents)`` for forward mode. Forward gets
    the arguments of ``apply`` as they are, and computes without a graph. Backward computes on Variables, and so
    can be differentiated too, unless it is marked by :func:`once_differentiable`.

    >>> import numpy as np, minichainer as chainer, minichainer.functions as F
    >>> class Exp(Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         y = F.exp(x)
    ...         ctx.save_for_backward(y)
    ...         return y
    ...     @staticmethod
    ...     def backward(ctx, gy):
    ...         y, = ctx.saved_tensors
    ...         return gy * y
    >>> x = chainer.Variable(np.array([0., 1.]))
    >>> y = Exp.apply(x)
    >>> F.sum(y).backward()
    >>> x.grad.round(3)
    array([1.   , 2.718])
    """

    _node_class: type[Application] = Application

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._node_class = type(cls.__name__, (Application,), {'__module__': cls.__module__})

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Accepts anything, so that a call in the old style reaches the explanation in ``__call__``."""

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raises RuntimeError, which says what to call.

        Args:
            args: anything.
            kwargs: anything.
        """
        name = type(self).__name__
        raise RuntimeError(
            f'{name}: an instance of an autograd Function cannot be called; make its methods static, forward(ctx, '
            f'*args) and backward(ctx, *grad_outputs), and call {name}.apply(*args)'
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Computes the outputs: a Variable, an array, or a tuple; other values are passed on as they are.

        Args:
            args: ``ctx`` and the arguments of ``apply``; without ``ctx`` if :meth:`setup_context` is defined.
            kwargs: arguments that forward takes by keyword only.
        """
        raise NotImplementedError('autograd.Function: define a static method forward(ctx, *args)')

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Saves in ``ctx`` what backward needs; called after a forward without ``ctx``.

        Args:
            ctx: the :class:`FunctionCtx`.
            inputs: the arguments, including defaults.
            output: what forward returned.
        """
        raise NotImplementedError('autograd.Function: define setup_context, or forward(ctx, *args)')

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Computes the gradients of the arguments.

        Args:
            ctx: the :class:`FunctionCtx`.
            grad_outputs: one Variable per output; for an output without a gradient zeros, or None after
                ``ctx.set_materialize_grads(False)``.

        Returns:
            One Variable, array or None per argument of ``apply``; None for those that are not Variables.
        """
        raise NotImplementedError('autograd.Function: define a static method backward(ctx, *grad_outputs), or vjp')

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        """Computes the tangents of the outputs from those of the arguments.

        Args:
            ctx: the :class:`FunctionCtx`.
            tangents: one per argument of ``apply``: a Variable; None for what is not a Variable.

        Returns:
            One Variable, array or None per output.
        """
        raise NotImplementedError('autograd.Function: define a static method jvp(ctx, *tangents) for forward mode')

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Applies the function.

        Args:
            args: Variables, and any other values.
            kwargs: arguments of forward by name; those with a position get it, with defaults before them.

        Returns:
            What forward returned, with Variables in the graph in the place of Variables and arrays.

        Raises:
            NotImplementedError: forward is missing.
            TypeError: a Variable that needs a gradient is given for an argument by keyword only; or a value that is
                not an array has been saved for backward.
            RuntimeError: an input is marked as dirty that may not be changed in place, or is not returned.
        """
        arguments, keywords = cls._bound(args, kwargs)
        for name, value in keywords.items():
            if needs_gradient(value):
                raise TypeError(
                    f'{cls.__name__}: no gradient can reach {name}, which forward takes by keyword only; '
                    'let forward take it by position'
                )
        context = FunctionCtx([needs_gradient(x) for x in arguments])
        return cls._node_class(cls, context, arguments, keywords).applied()

    @classmethod
    def _bound(cls, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of forward by position, and the rest by name."""
        if not kwargs and not cls._has_setup_context():
            return args, kwargs
        context = () if cls._has_setup_context() else (None,)
        bound = inspect.signature(cls.forward).bind(*context, *args, **kwargs)
        bound.apply_defaults()
        return bound.args[len(context) :], bound.kwargs

    @classmethod
    def _has_setup_context(cls) -> bool:
        return cls.setup_context is not Function.setup_context

    @classmethod
    def _derivative(cls) -> Callable[..., Any]:
        """The user's backward, under either name."""
        if cls.vjp is Function.vjp:
            return cls.backward
        if cls.backward is not Function.backward:
            raise RuntimeError(f'{cls.__name__}: backward and vjp are two names of one method; define one of them')
        return cls.vjp


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a ``backward`` that cannot be differentiated itself, for example because it computes on arrays.

    Args:
        backward: the function; it gets and returns what :meth:`Function.backward` does, and runs without a graph.

    Returns:
        A function whose results raise RuntimeError when they are differentiated.

    >>> import numpy as np, minichainer as chainer
    >>> class Square(Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x.array ** 2
    ...     @staticmethod
    ...     @once_differentiable
    ...     def backward(ctx, gy):
    ...         x, = ctx.saved_tensors
    ...         return 2 * x.array * gy.array
    >>> x = chainer.Variable(np.array(3.))
    >>> gx, = chainer.grad([Square.apply(x)], [x], enable_double_backprop=True)
    >>> chainer.grad([gx], [x])
    Traceback (most recent call last):
        ...
    RuntimeError: Square: its backward is marked by once_differentiable, and cannot be differentiated
    """

    @functools.wraps(backward)
    def wrapper(ctx: Any, *grad_outputs: Any) -> Any:
        is_recorded = config.enable_backprop
        with using_config('enable_backprop', False):
            found = backward(ctx, *grad_outputs)
        if not is_recorded:
            return found
        if isinstance(found, tuple):
            return tuple([_marked(ctx, grad_outputs, gx) for gx in found])
        return _marked(ctx, grad_outputs, found)

    return wrapper


def _marked(ctx: Any, grad_outputs: tuple[Any, ...], gx: Any) -> Any:
    """A gradient as the output of a node that depends on all inputs of backward, and raises if it is reached."""
    if not is_array(gx):
        return gx
    node, array = ctx._node(), raw(gx)
    inputs = [variable_on(array, edge) for edge in node._applied_edges()]
    return DifferentiatedOnce(node.label).apply((array, *inputs, *[g for g in grad_outputs if g is not None]))[0]


class DifferentiatedOnce(FunctionNode):
    """Marks a gradient that cannot be differentiated.

    Args:
        name: the label of the function whose gradient it is.
    """

    takes_any_layout = True

    def __init__(self, name: str) -> None:
        self._function_name = name

    def forward(self, inputs: tuple[Any, ...], /) -> tuple[Any, ...]:
        return (inputs[0],)

    def backward(self, target_input_indexes: tuple[int, ...], grad_outputs: tuple[Any, ...], /) -> Any:
        raise RuntimeError(
            f'{self._function_name}: its backward is marked by once_differentiable, and cannot be differentiated'
        )
