"""Variable and Parameter: arrays in the graph."""

# The registry finds ops by their names, and has no types of its own.
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import copy
import warnings
import weakref
from typing import TYPE_CHECKING, Any, NoReturn

import numpy

from minichainer import _tangents, backend, backprop, ops
from minichainer._checks import array_types, check_gradient, native, unexpected
from minichainer._device_methods import DeviceMethods
from minichainer._dtype import get_dtype
from minichainer._elsewhere import NamesOfVariables
from minichainer._graph_methods import GraphMethods
from minichainer._inplace import expose, unguard, wrote
from minichainer._leaf_owners import OfGradient, OfResult
from minichainer._misfits import ADDED
from minichainer._names import namespace as _namespace
from minichainer._not_arrays import not_an_array
from minichainer._once import one_at_a_time
from minichainer._operators import Operators
from minichainer._roots import checked_upstream, edges_of, initial_gradient, warn_of_no_graph
from minichainer._tape import Place
from minichainer._text import statistics, variable_repr, variable_str
from minichainer.backends import cuda
from minichainer.backprop import LeafNode, Node
from minichainer.errors import UninitializedParameterError
from minichainer.initializers._generate import generate_array
from minichainer.initializers.constant import Constant, NaN
from minichainer.types import Array
from minichainer.variable_node import VariableNode, view_of

_new, _reference = object.__new__, weakref.ref


class Variable(Place, Operators['Variable'], GraphMethods, DeviceMethods, NamesOfVariables):
    """An array and its place in the graph of computations.

    Args:
        data: a NumPy or CuPy array of any shape and dtype, or None. One of the other byte order, as files bring them,
            is converted once; so ``x.array`` is a copy of it.
        name: shown by graphs and ``repr``.
        grad: gradient to begin with; shape and dtype of ``data``.
        requires_grad: False for a constant, to which no gradient flows.
        layout: None; Chainer's experimental layouts are not supported.

    Raises:
        TypeError: ``data`` is not an array.
        ValueError: ``layout`` is something else.

    >>> import numpy as np, minichainer as chainer
    >>> x = chainer.Variable(np.array([1., 2.], np.float32))
    >>> y = (x * x)[1]
    >>> y.backward()
    >>> x.grad
    array([0., 4.], dtype=float32)
    """

    #: Weak references to the Variables that ``copy.copy`` has made of one another: an array set in one is set in all.
    _sharing: list[weakref.ref[Variable]] | None = None

    def __init__(
        self,
        data: Any = None,
        *,
        name: str | None = None,
        grad: Any = None,
        requires_grad: bool = True,
        layout: None = None,
        **unknown: NoReturn,
    ) -> None:
        if unknown:
            raise unexpected(unknown)
        if layout is not None:
            self.as_layout(layout)
        if type(data) is not numpy.ndarray and data is not None and not isinstance(data, array_types()):
            raise not_an_array(data)
        if data is not None and (type(data) is not numpy.ndarray or not data.dtype.isnative):
            data = native(data)
        self._data = data
        self._node = leaf = LeafNode(data, requires_grad, name)
        leaf.owner = _reference(self)
        if grad is not None:
            self.grad = grad

    # --- the array ---------------------------------------------------------------------------------------------
    @property
    def array(self) -> Array:
        """The array, or None if it is not initialized."""
        data, node = self._data, self._node
        if data is not None and node is not None:
            if node.level:
                expose(data)  # the user may write to it
            elif node.guard.__class__ is int:
                unguard(node, data)
        return self._data

    @array.setter
    def array(self, array: Any) -> None:
        for variable in self._sharers() if self._sharing else (self,):
            variable._set_array(array)

    def _sharers(self) -> list[Variable]:
        """The Variables that share their array with this one, itself included."""
        sharing = self._sharing or [weakref.ref(self)]
        return [variable for variable in [reference() for reference in sharing] if variable is not None]

    def _set_array(self, array: Any) -> None:
        array = native(array)
        is_other, self._data = array is not self._data, array
        node: Any = self.edge
        if isinstance(node, LeafNode):
            node.describe(array)
            if is_other:
                node.guard = 0

    data = array

    @property
    def raw_array(self) -> Array:
        """The array as it is in memory; the same as :attr:`array`, because layouts are not stored."""
        return self.array

    def _known(self, what: str) -> Any:
        """The array; raises UninitializedParameterError if there is none."""
        if self._data is None:
            remedy = 'call its initialize(shape), or call its link once with data, so that its shape is known'
            if not isinstance(self, Parameter):
                remedy = 'it was made without data, as Variable(None); give it an array'
            kind = f'{type(self).__name__} {self.name or ""}'.rstrip()
            raise UninitializedParameterError(f'{what} of an uninitialized {kind}: {remedy}')
        return self._data

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        array = self._data
        return array.shape if array is not None else self._known('shape').shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        array = self._data
        return array.ndim if array is not None else self._known('ndim').ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        array = self._data
        return array.size if array is not None else self._known('size').size

    @property
    def dtype(self) -> numpy.dtype[Any]:
        """Dtype of the array."""
        array = self._data
        return array.dtype if array is not None else self._known('dtype').dtype

    def __len__(self) -> int:
        array = self._known('len()')
        if not array.ndim:
            raise TypeError('len() of a Variable without axes: its shape is ()')
        return len(array)

    @property
    def T(self) -> Variable:
        """The transposed array, with all axes reversed."""
        return ops.transpose(self)

    def item(self) -> Any:
        """The only element as a Python number; waits for the GPU."""
        return self._known('item()').item()

    def transpose(self, *axes: Any) -> Variable:
        """Permutes the axes: ``x.transpose(1, 0)``, ``x.transpose((1, 0))``, or all reversed.

        Args:
            axes: ints, or one tuple or list of them.
        """
        order: Any = axes
        if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))):
            order = axes[0]
        return ops.transpose(self, order or None)

    def reshape(self, *shape: Any) -> Variable:
        """Gives it another shape: ``x.reshape(2, 3)`` or ``x.reshape((2, 3))``; one entry may be -1.

        Args:
            shape: ints, or one tuple or list of them.
        """
        if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
            shape = tuple(shape[0])
        return ops.reshape(self, shape)

    def mean(self, axis: Any = None, *, weights: Any = None, keepdims: bool = False) -> Variable:
        """The (weighted) mean over axes: ``functions.average``.

        Args:
            axis: an int, a tuple of ints, or None for all axes.
            weights: weights of the elements, or None.
            keepdims: whether the axes remain, of length 1.
        """
        return ops.average(self, axis, weights, keepdims)

    def __dlpack__(self, **kwargs: Any) -> Any:
        self._known('DLPack')
        return self.array.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> Any:
        return self._known('DLPack').__dlpack_device__()

    # --- the gradient ------------------------------------------------------------------------------------------
    @property
    def grad(self) -> Array | Any:
        """The gradient array, or None."""
        node = self._node
        grad = None if node is None else node.grad_value
        return grad.array if isinstance(grad, Variable) else grad

    @grad.setter
    def grad(self, grad: Any) -> None:
        if grad is not None:
            grad = native(grad)
            check_gradient(grad, self._data, '')
        self.edge.grad_value = grad

    @property
    def grad_var(self) -> Variable | Any:
        """The gradient as a Variable, or None; with its graph after ``enable_double_backprop``."""
        node = self.edge
        if node.grad_value is not None and not isinstance(node.grad_value, Variable):
            node.grad_value = gradient_without_graph(node.grad_value)
        return node.grad_value

    @grad_var.setter
    def grad_var(self, grad: Any) -> None:
        if grad is not None:
            check_gradient(grad.array, self._data, '')
        self.edge.grad_value = grad

    @property
    def _loss_scale(self) -> Any:
        return self.edge.loss_scale

    @_loss_scale.setter
    def _loss_scale(self, loss_scale: Any) -> None:
        self.edge.loss_scale = loss_scale

    def cleargrad(self) -> None:
        """Sets the gradient to None."""
        self.edge.grad_value = None

    def zerograd(self) -> None:
        """Sets the gradient to zeros. Deprecated in Chainer: :meth:`cleargrad` is faster."""
        warnings.warn('zerograd is deprecated, cleargrad is faster and does the same job', DeprecationWarning, 2)
        self._zero()

    def _zero(self) -> None:
        with cuda.get_device_from_array(self._data):
            self.edge.grad_value = None if self._data is None else self.xp.zeros_like(self._data)

    def addgrad(self, var: Variable) -> None:
        """Adds the gradient of another Variable of the same shape to its own; on its own device.

        Args:
            var: the other Variable.
        """
        other = var.grad_var
        if other is None:
            return
        if self._data is None:
            if not isinstance(self, Parameter):
                raise UninitializedParameterError('addgrad: the target has no array, and is not a Parameter')
            self.initialize(other.shape)
        device = self.device
        moved = device.send(other.array)
        check_gradient(moved, self._data, 'addgrad', ADDED)
        grad = device.send(self.grad)
        with device.create_context():
            self.grad = moved.copy() if grad is None else grad + moved

    def copydata(self, var: Variable) -> None:
        """Copies the array of another Variable into its own; initializes either of them if necessary.

        Args:
            var: the other Variable.
        """
        if var._data is None and self._data is not None and isinstance(var, Parameter):
            var.initialize(self.shape)
        if var._data is None:
            if self._data is not None:
                raise UninitializedParameterError('copydata: the source has no array, and is not a Parameter')
            return
        if self._data is None:
            if not isinstance(self, Parameter):
                raise UninitializedParameterError('copydata: the target has no array to copy into')
            self.initialize(var.shape)
        backend.copyto(self._data, var._data)
        if isinstance(self._node, LeafNode):
            wrote(self._node)

    def backward(
        self,
        retain_grad: bool = False,
        enable_double_backprop: bool = False,
        loss_scale: Any = None,
        *,
        gradient: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool | None = None,
        inputs: Any = None,
    ) -> None:
        """Computes the gradients of everything it was computed from, and adds them to the leaves' ``grad``.

        The first three arguments are Chainer's, the others torch's. Without ``retain_graph=False`` it can be
        repeated.

        Args:
            retain_grad: intermediate Variables keep their gradients too.
            enable_double_backprop: the gradients (``grad_var``) can themselves be differentiated.
            loss_scale: factor of the initial gradient, against underflow in float16; optimizers divide by it.
            gradient: the upstream gradient, a Variable or an array of its shape and dtype; by default its ``grad``,
                or 1 for a scalar.
            retain_graph: False to free what functions have saved: a second backward is then an error.
            create_graph: the same as ``enable_double_backprop``.
            inputs: Variables; gradients are added to those of these alone.

        Raises:
            RuntimeError: it has more than one element and no gradient was given or set; or it does not require one.
            TypeError: an array as first argument.

        >>> import numpy as np, minichainer as chainer
        >>> x = chainer.Variable(np.array(3.))
        >>> (x ** 2).backward()
        >>> x.grad
        array(6.)
        """
        if not isinstance(retain_grad, (bool, int, numpy.bool_)) and retain_grad is not None:
            raise TypeError(
                f'backward: retain_grad must be True or False, got {type(retain_grad).__name__}; give the upstream '
                'gradient by name: y.backward(gradient=gy)'
            )
        node = self.edge
        if not node.level:
            warn_of_no_graph(self)
        double = bool(enable_double_backprop if create_graph is None else create_graph)
        upstream = gradient
        if gradient is not None:
            upstream = checked_upstream(self, gradient)
        elif not self.retains_grad:
            upstream = node.grad_value
        if upstream is None:
            upstream = initial_gradient(self, loss_scale)
        if double and not isinstance(upstream, Variable):
            upstream = Variable(upstream, requires_grad=gradient is None)
        else:
            upstream = _tangents.upstream(upstream, double)
        roots, free = [(node, upstream)], retain_graph is not None and not retain_graph
        if inputs is not None:
            backprop.accumulate_into(edges_of('backward', inputs), roots, double, loss_scale, free)
        else:
            clear, given = gradient is None and not self.retains_grad, node.grad_value
            backprop.propagate(
                roots, bool(retain_grad), double, loss_scale, free, clear=clear, siblings=gradient is None
            )
            if retain_grad and isinstance(given, Variable) and node.grad_value is given._data:
                node.grad_value = given  # the same object as before

    # --- the graph ---------------------------------------------------------------------------------------------
    @staticmethod
    def _constant(array: Any) -> Variable:
        return Variable(array, requires_grad=False)

    @property
    def edge(self) -> Node:
        """The node of the graph for this Variable."""
        node = self._node
        if node is None:  # the result of a computation without a graph
            leaf = LeafNode(self._data, True)
            leaf.owner = OfResult(self)
            node = self._settle(leaf)
        return node

    @property
    def node(self) -> VariableNode:
        """The VariableNode of this Variable."""
        view: VariableNode | None = self._view
        if view is None or view.target is not self._node:
            view = self._view = view_of(self.edge, variable_on, self)
        return view

    @property
    def label(self) -> str:
        """Shape and dtype as text, for drawings of graphs."""
        return self.node.label

    def retain_data(self) -> None:
        """Does nothing: functions keep the arrays that they retain."""

    # --- text and copies ---------------------------------------------------------------------------------------
    def __repr__(self) -> str:
        return variable_repr(self)

    def __str__(self) -> str:
        return variable_str(self)

    def summary(self) -> str:
        """A short text: ``<variable NAME>``."""
        return f'<variable {self.name}>' if self.name else f'<variable at 0x{id(self):x}>'

    def debug_print(self) -> str:
        """Device, shape, dtype and statistics of array and gradient as text."""
        data = self._data
        device = 'CPU' if isinstance(data, numpy.ndarray) else None if data is None else self.device
        lines = [self.summary(), f'- device: {device}', f'- backend: {None if data is None else type(data)}']
        lines += [f'- {name}: {getattr(data, name, None)}' for name in ('shape', 'dtype')]
        lines += [f'- statistics: {statistics(data)}', f'- grad: {statistics(self.grad)}']
        return '\n'.join(lines)

    def __copy__(self) -> Variable:
        self.array  # noqa: B018  (the copy's user can write to it)
        clone = self._copied(lambda value: value)
        sharing = [weakref.ref(variable) for variable in (*self._sharers(), clone)]
        for variable in (*self._sharers(), clone):
            variable._sharing = sharing
        return clone

    def __deepcopy__(self, memo: dict[int, Any]) -> Variable:
        return self._copied(lambda value: copy.deepcopy(value, memo))

    def _copied(self, copied: Any) -> Variable:
        clone = _new(type(self))
        clone.__setstate__({name: copied(value) for name, value in self.__getstate__().items()})
        return clone

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name not in ('_node', '_view', '_sharing')}
        state['_data'] = self._data
        state['_leaf'] = (self.requires_grad, self.name, self.grad)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        requires_grad, name, grad = state.pop('_leaf')
        self._data = native(state.pop('_data'))
        self.__dict__.update(state)
        self._node = leaf = LeafNode(self._data, requires_grad, name)
        leaf.grad_value, leaf.owner = native(grad), _reference(self)


def variable_on(array: Any, node: Node) -> Variable:
    """A Variable for a given node of the graph."""
    variable = _new(Variable)
    variable._data, variable._node = array, node
    return variable


def gradient_without_graph(array: Any) -> Variable:
    """The Variable of a gradient that was computed by a pass without a graph."""
    variable = Variable(array)
    leaf: Any = variable._node
    leaf.owner = OfGradient(variable)
    return variable


def as_variable(obj: Any) -> Variable:
    """The Variable itself, or an array as a Variable without a gradient.

    Args:
        obj: a Variable or an array.

    >>> import numpy as np, minichainer as chainer
    >>> chainer.as_variable(np.ones(2)).requires_grad
    False
    """
    if type(obj) is numpy.ndarray:
        if not obj.dtype.isnative:
            obj = native(obj)
        return variable_on(obj, LeafNode(obj, False))
    return obj if isinstance(obj, Variable) else Variable(obj, requires_grad=False)


def as_array(obj: Any) -> Any:
    """The array of a Variable, or the array itself, converted if it is a ``numpy.matrix``.

    Args:
        obj: a Variable or an array.
    """
    return obj if type(obj) is numpy.ndarray else obj.array if isinstance(obj, Variable) else native(obj)


class Parameter(Variable):
    """A Variable that belongs to a link and is updated by an optimizer.

    Args:
        initializer: an :class:`~minichainer.Initializer`, a number or an array; None for NaN.
        shape: its shape; None to leave that open until :meth:`initialize`, or to take that of an array given as
            initializer.
        name: its name.
        layout: None; Chainer's experimental layouts are not supported.

    Raises:
        ValueError: ``layout`` is something else.

    Its gradient is full of NaN until it is cleared or computed, so that a forgotten ``cleargrads`` shows.

    >>> import minichainer as chainer
    >>> w = chainer.Parameter(0., (2, 3))
    >>> w.shape
    (2, 3)
    """

    initializer: Any = None
    update_rule: Any = None
    #: Initializer of the gradient, used when the shape is known.
    _grad_initializer: Any = None
    #: The device for the array, if it was moved before its shape was known.
    _initial_device: Any = None

    def __init__(
        self, initializer: Any = None, shape: Any = None, name: str | None = None, *, layout: Any = None
    ) -> None:
        self.as_layout(layout)
        if initializer is None:
            initializer = NaN()
        elif numpy.isscalar(initializer):
            initializer = Constant(initializer)
        elif shape is not None and isinstance(initializer, array_types()):
            initializer = Constant(initializer)  # broadcast, and of the default dtype
        if shape is None and isinstance(initializer, array_types()):
            super().__init__(initializer, name=name)
        else:
            super().__init__(name=name)
            self._grad_initializer = NaN(getattr(initializer, 'dtype', None))
        self.initializer = initializer
        if shape is not None:
            self.initialize((shape,) if isinstance(shape, int) else shape)
            self._grad_initializer = None

    @property
    def is_initialized(self) -> bool:
        """Whether its array exists."""
        return self._data is not None

    @property
    def dtype(self) -> numpy.dtype[Any]:
        """Dtype of the array, or the dtype that it will have."""
        if self._data is not None:
            return self._data.dtype
        return get_dtype(getattr(self.initializer, 'dtype', None))

    def initialize(self, shape: Any) -> None:
        """Makes its array of the given shape by its initializer, on its device; another call makes another array.

        The gradient becomes None; or, of a Parameter that was made without a shape, NaN, or what ``cleargrad`` or
        ``zerograd`` have said before.

        If several threads find it uninitialized, one makes the array, and all use that.

        Args:
            shape: a tuple of ints.
        """
        found = self._data
        with one_at_a_time(self):
            if found is None and self._data is not None:
                return
            device = self.device
            try:
                array = generate_array(self.initializer, shape, device.xp, device=device)
            except ValueError as error:
                self._check_initial_values(shape, error)
                raise
            self._begin_with(array)

    def _check_initial_values(self, shape: Any, error: ValueError) -> None:
        """Raises ValueError if an array of initial values does not fit the shape."""
        given = getattr(getattr(self.initializer, 'fill_value', None), 'shape', shape)
        if given != shape:
            name = f'Parameter {self.name or ""}'.rstrip()
            raise ValueError(f'{name}: initial values of shape {given} do not broadcast to {tuple(shape)}') from error

    def _forget_gradient(self) -> None:
        """Its gradient is that of a new Parameter."""
        self._grad_initializer = NaN(getattr(self.initializer, 'dtype', None))
        if self._data is not None:
            self.grad = self.xp.full_like(self._data, numpy.nan)

    def _begin_with(self, array: Any) -> None:
        """Sets its first array, and that of its copies."""
        for parameter in self._sharers() if self._sharing else ():
            if parameter is not self:
                parameter._set_array(array)
        node: Any = self.edge
        node.describe(array)
        initial, device = self._grad_initializer, self.device
        like = array.shape, device.xp, array.dtype
        node.grad_value = None if initial is None else generate_array(initial, *like, device=device)
        self._data = array  # last of all, because other threads test whether it exists

    def _uninitialize(self) -> None:
        """Drops its array and that of its copies, which :meth:`_begin_with` has set."""
        for parameter in self._sharers():
            parameter._set_array(None)
            parameter.edge.grad_value = None

    @property
    def device(self) -> Any:
        """The device of the array, or the device on which it will be made."""
        if self._data is None and self._initial_device is not None:
            return self._initial_device
        return super().device

    def to_device(self, device: Any) -> None:
        """Moves array and gradient to a device; an uninitialized Parameter is made there later.

        Args:
            device: what :func:`~minichainer.get_device` takes.
        """
        super().to_device(device)
        if self._data is None:
            self._initial_device = backend.get_device(device)

    def cleargrad(self) -> None:
        """Sets the gradient to None."""
        node: Any = self._node or self.edge
        node.grad_value = None
        if self._grad_initializer is not None:
            self._grad_initializer = None

    def _zero(self) -> None:
        super()._zero()
        if self._data is None:
            self._grad_initializer = Constant(0)

    def update(self) -> None:
        """Updates its array with its gradient, by its update rule if it has one."""
        if self.update_rule is not None:
            self.update_rule.update(self)


if not TYPE_CHECKING:
    __getattr__ = _namespace(__name__)[0]
