"""The part of Variable that concerns its place in the graph: Chainer's and torch's methods, and hooks."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from minichainer._grad_fn import GradFn, view_of_function
from minichainer._hooks import RemovableHandle, hooks_of_edge
from minichainer.backprop import LeafNode, Node
from minichainer.variable_node import all_before, cut, rank_of

if TYPE_CHECKING:
    from typing_extensions import Self


class GraphMethods:
    """The part of Variable that concerns its place in the graph."""

    if TYPE_CHECKING:
        _data: Any
        array: Any
        _node: Node | None
        edge: Any
        node: Any

        @staticmethod
        def _constant(array: Any) -> Any: ...

    @property
    def name(self) -> str | None:
        """Its name, or None."""
        return None if self._node is None else self._node.name

    @name.setter
    def name(self, name: str | None) -> None:
        edge: Any = self.edge
        edge.name = name

    @property
    def requires_grad(self) -> bool:
        """Whether it gets gradients; of a leaf it can be set."""
        return self._node is None or self._node.requires_grad

    @requires_grad.setter
    def requires_grad(self, requires_grad: bool) -> None:
        self.requires_grad_(requires_grad)

    @property
    def is_leaf(self) -> bool:
        """Whether no function in the graph made it."""
        return self._node is None or self._node.edges is None

    @property
    def grad_fn(self) -> GradFn | None:
        """A view of the function that made it (:class:`~minichainer._grad_fn.GradFn`); None for a leaf."""
        return None if self.is_leaf else view_of_function(self._node, self._constant)

    @property
    def rank(self) -> int:
        """The length of the longest path to it from a leaf."""
        return 0 if self._node is None else rank_of(self._node)

    @property
    def creator(self) -> Any:
        """The FunctionNode, or old-style Function, that made it; None for a leaf."""
        creator = self.creator_node
        return getattr(creator, 'function', creator)

    @creator.setter
    def creator(self, creator: Any) -> None:
        self.set_creator(creator)

    @property
    def creator_node(self) -> Any:
        """The FunctionNode that made it; None for a leaf."""
        # `node` is held from now on, so that the function's `outputs` refers to it.
        return None if self._node is None else self.node.creator_node

    @creator_node.setter
    def creator_node(self, creator_node: Any) -> None:
        self.set_creator_node(creator_node)

    def set_creator(self, gen_func: Any) -> None:
        """Makes it an output of an old-style Function or a FunctionNode."""
        self.set_creator_node(getattr(gen_func, 'node', gen_func))

    def set_creator_node(self, fnode: Any) -> None:
        """Makes it the output of a function with one output; None makes it a leaf."""
        if fnode is None:
            cut(self.edge)
            return
        if fnode.output_count != 1:
            raise ValueError(f'set_creator_node: {fnode.label} has {fnode.output_count} outputs, expected one')
        self._node = fnode
        if fnode.edges is None:  # not applied
            fnode.edges, fnode.level = (), max(fnode.level, 1)
        if self._data is not None:
            fnode.shape, fnode.dtype = self._data.shape, self._data.dtype

    def unchain(self) -> None:
        """Disconnects it from the function that made it, so that it becomes a leaf."""
        if self._node is not None:
            cut(self._node)

    def unchain_backward(self) -> None:
        """Removes all functions before it from the graph, for truncated backpropagation in time."""
        for node in all_before([self.edge]):
            cut(node)

    def detach(self) -> Any:
        """A constant with the same array, outside of the graph.

        >>> import numpy as np, minichainer as chainer
        >>> y = chainer.Variable(np.ones(2)) * 2
        >>> z = y.detach()
        >>> z.requires_grad, z.array is y.array
        (False, True)
        """
        return self._constant(self.array)  # read as users do, because they can write to it

    def detach_(self) -> Self:
        """Makes it a constant outside of the graph; results that were computed from it keep their graph."""
        if self.is_leaf:
            self.edge.requires_grad = False
        else:
            grad = self.edge.grad_value
            self._node = LeafNode(self.array, False, self.name)
            self._node.grad_value, self._node.owner = grad, weakref.ref(self)
        return self

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Sets whether it gets gradients.

        Raises:
            RuntimeError: it is the result of a function, or its dtype has no derivatives.
        """
        if self.is_leaf:
            self._check_differentiable(requires_grad)
            self.edge.requires_grad = bool(requires_grad)
        elif not requires_grad:
            raise RuntimeError(
                'requires_grad can be changed for leaves only, and this is the result of '
                f'{self.grad_fn}; use detach() for a constant'
            )
        return self

    def _check_differentiable(self, requires_grad: bool) -> None:
        if requires_grad and self._data is not None and self._data.dtype.kind not in 'fc':
            raise RuntimeError(f'only float and complex Variables can require a gradient, got {self._data.dtype}')

    # --- hooks -------------------------------------------------------------------------------------------------
    def register_hook(self, hook: Callable[[Any], Any]) -> RemovableHandle:
        """Adds a hook that is called whenever a gradient with respect to this Variable is computed.

        Hooks are called in the order in which they were added, in passes of any kind and order.

        Args:
            hook: ``hook(grad)`` gets a Variable, which it must not modify; it returns None, or a Variable or array
                that replaces the gradient.

        Returns:
            A handle with a method ``remove``, which also works as a context manager.

        Raises:
            RuntimeError: the Variable does not require a gradient.

        >>> import numpy as np, minichainer as chainer
        >>> v = chainer.Variable(np.zeros(3))
        >>> with v.register_hook(lambda grad: grad * 2):
        ...     v.backward(gradient=np.array([1., 2., 3.]))
        >>> v.grad
        array([2., 4., 6.])
        """
        self._expect_gradient('register_hook')
        return RemovableHandle(self.edge, 'gradient', hook, self._constant)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Any], None]) -> RemovableHandle:
        """Adds a hook that is called after a gradient has been added to the ``grad`` of this leaf.

        Args:
            hook: ``hook(variable)``, gets this Variable.

        Returns:
            A handle with a method ``remove``, which also works as a context manager.

        Raises:
            RuntimeError: the Variable is not a leaf, or does not require a gradient.
        """
        self._expect_gradient('register_post_accumulate_grad_hook')
        if not self.is_leaf:
            raise RuntimeError('register_post_accumulate_grad_hook: expected a leaf, got a result of a function')
        if not callable(hook):
            raise TypeError(f'a hook must be callable, got {type(hook).__name__}')
        this = weakref.ref(self)

        def call() -> None:
            variable = this()
            if variable is not None:
                hook(variable)

        call.__qualname__ = getattr(hook, '__qualname__', type(hook).__name__)
        return RemovableHandle(self.edge, 'accumulated', call, self._constant)

    def retain_grad(self) -> None:
        """Lets passes add the gradient of this intermediate Variable to its ``grad``; leaves have that anyway.

        Raises:
            RuntimeError: the Variable does not require a gradient.
        """
        self._expect_gradient('retain_grad')
        if not self.is_leaf:
            hooks_of_edge(self._node, self._constant).retains = True

    @property
    def retains_grad(self) -> bool:
        """Whether it is an intermediate Variable for which :meth:`retain_grad` was called."""
        hooks = None if self._node is None else self._node._hooks
        return hooks is not None and hooks.retains

    def _expect_gradient(self, method: str) -> None:
        if not self.requires_grad:
            raise RuntimeError(f'{method}: the Variable does not require a gradient, so none is computed')
