"""What ``y.grad_fn`` returns: a view of a node of the graph, with torch's names.

FunctionNode gets no methods for this, because its subclasses own their names.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from minichainer._hooks import RemovableHandle, hooks_of_edge
from minichainer._lifetimes import removing
from minichainer.backprop import OutputNode
from minichainer.variable_node import creator_of

#: The views in use, by the ``id`` of their node.
_views: dict[int, weakref.ref[GradFn]] = {}


class GradFn:
    """The backward of a function in the graph, or the accumulation of a leaf's gradient.

    Args:
        node: the node of the graph.
        as_constant: makes a Variable of an array.

    >>> import numpy as np, minichainer as chainer
    >>> x = chainer.Variable(np.ones(2))
    >>> y = x * x
    >>> y.grad_fn.name(), [f.name() for f, _ in y.grad_fn.next_functions]
    ('MulBackward', ['AccumulateGrad', 'AccumulateGrad'])
    """

    __slots__ = ('__weakref__', '_as_constant', '_node')

    def __init__(self, node: Any, as_constant: Callable[[Any], Any]) -> None:
        self._node, self._as_constant = node, as_constant

    @property
    def node(self) -> Any:
        """The FunctionNode; for the accumulation of a gradient, the leaf's node."""
        return self._node

    def name(self) -> str:
        """The class name of the function and 'Backward'; 'AccumulateGrad' for a leaf."""
        if self._node.edges is None:
            return 'AccumulateGrad'
        return f'{type(getattr(self._node, "function", self._node)).__name__}Backward'

    @property
    def next_functions(self) -> tuple[tuple[GradFn | None, int], ...]:
        """For each input, the GradFn that gets its gradient and the number of its output; (None, 0) for constants."""
        return tuple([self._next(edge) for edge in self._node.edges or ()])

    def _next(self, edge: Any) -> tuple[GradFn | None, int]:
        if not edge.requires_grad:
            return None, 0
        return view_of_function(edge, self._as_constant), edge.index if isinstance(edge, OutputNode) else 0

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for whatever users attach to the node."""
        hooks = hooks_of_edge(self._node, self._as_constant)
        if hooks.metadata is None:
            hooks.metadata = {}
        return hooks.metadata

    def register_prehook(self, hook: Callable[[tuple[Any, ...]], Any]) -> RemovableHandle:
        """Adds a hook that is called before each backward of this function.

        Args:
            hook: ``hook(grad_outputs)`` gets a tuple of Variables (or None), returns another one or None.

        Returns:
            A handle with a method ``remove``, which also works as a context manager.
        """
        return RemovableHandle(self._node, 'before', hook, self._as_constant)

    def register_hook(self, hook: Callable[[tuple[Any, ...], tuple[Any, ...]], Any]) -> RemovableHandle:
        """Adds a hook that is called after each backward of this function.

        Args:
            hook: ``hook(grad_inputs, grad_outputs)`` gets tuples of Variables (or None), returns other gradients of
                the inputs or None.

        Returns:
            A handle with a method ``remove``, which also works as a context manager.
        """
        return RemovableHandle(self._node, 'after', hook, self._as_constant)

    def __repr__(self) -> str:
        return f'<{self.name()} at 0x{id(self._node):x}>'


def view_of_function(edge: Any, as_constant: Callable[[Any], Any]) -> GradFn:
    """The GradFn for an edge: of the function whose output it is, or of the leaf. It is one object while in use."""
    node = creator_of(edge) or edge
    reference = _views.get(id(node))
    view = None if reference is None else reference()
    if view is None:
        view = GradFn(node, as_constant)
        _views[id(node)] = weakref.ref(view, removing(_views, id(node)))
    return view
