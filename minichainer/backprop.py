"""The graph's nodes and the backward pass over them. Nothing here uses ops or Variables.

An edge of the graph is a node: a :class:`LeafNode`, a function with one output (the function is its own edge), or
an :class:`OutputNode`, one of several outputs of a function. Every node has

``edges``    the nodes to which its gradient flows; None for a leaf and after ``unchain``
``level``    0 for a leaf, else one more than the highest level among its edges, set when the function is applied;
             backward goes from high to low (Chainer's order, so hooks see functions in the same order)
``requires_grad``, ``shape``, ``dtype``, ``name``   those of the array
``grad_value``  the stored gradient: None, an array, or a Variable
``_hooks``   None, or the hooks of a Variable's gradient and of a function's backward (:mod:`minichainer._hooks`)
``owner``    of a leaf: None, or a weak reference to its Variable (:mod:`minichainer._leaf_owners`)
``guard``    of a leaf: when the package wrote to its array, or that a user can (:mod:`minichainer._inplace`)
``_tangent`` in forward mode, the directional derivative: None, an array, or a Variable

A pass owns a table ``{node: gradient}``, which is also its set of visited nodes. So passes may nest and run in
several threads, and an exception leaves every ``.grad`` unchanged: leaves are written once, at the end.
"""

from __future__ import annotations

import operator
import weakref
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Sequence
from time import perf_counter_ns
from typing import Any

import numpy

from minichainer import _inplace, _tangents, _trace, configuration
from minichainer._checks import as_raw
from minichainer._leaf_owners import check_ends
from minichainer._locks import lock_of
from minichainer._observers import add_application, observers
from minichainer._pass_table import UNSHARED, Parts, Stored, StoredVariables, references, take_own
from minichainer._tape import native
from minichainer.backend import copied
from minichainer.backends import cuda

_ndarray = numpy.ndarray
_commit_lock = lock_of(globals(), '_commit_lock')
#: References to the hooks of nodes, in all threads, as long as these exist: empty where no node has any.
hooked: dict[int, weakref.ref[Any]] = {}


class Node:
    """The target of an edge of the graph."""

    __slots__ = ()

    edges: tuple[Node, ...] | None
    level: int
    requires_grad: bool
    shape: Any
    dtype: Any
    name: str | None
    grad_value: Any
    loss_scale: Any
    view: Any
    _hooks: Any
    _tangent: Any

    def pullback(self, gradient: Any, wanted: Container[Node] | None, table: Any) -> Sequence[Any]:
        """The gradient arrays of the edges in an ordinary (first-order) pass.

        Args:
            gradient: the upstream gradient, an array; for a function with several outputs a list of them, None for
                an output without.
            wanted: the nodes that need a gradient; None for all that require one.
            table: what has reached the nodes so far, for a user's ``backward_accumulate``; in a pass that nothing
                watches :class:`~minichainer._pass_table.Parts`, where gradients of leaves may be left.

        Returns:
            One array per edge, of its shape and dtype; None if there is none, or it is not wanted or left.
        """
        raise NotImplementedError

    def pullback_variables(self, gradient: Any, wanted: Container[Node] | None, table: Any) -> Sequence[Any]:
        """The same in a differentiable pass: the gradients are Variables, and their computation is recorded."""
        raise NotImplementedError


def is_wanted(edge: Node, wanted: Container[Node] | None) -> bool:
    """Whether a pass needs the gradient of this node."""
    if wanted is None:
        return edge.level > 0 or edge.requires_grad
    return edge in wanted


class LeafNode(Node):
    """The node of a Variable that no function made."""

    __slots__ = (
        'requires_grad', 'shape', 'dtype', 'name', 'grad_value', 'loss_scale', 'view', '_hooks', '_tangent', 'guard',
        'owner', '__weakref__',
    )  # fmt: skip

    edges = None
    level = 0

    def __init__(self, array: Any, requires_grad: bool, name: str | None = None) -> None:
        self.requires_grad = requires_grad
        self.name = name
        self.grad_value = self.loss_scale = self.view = self._hooks = self._tangent = None
        self.owner: Any = None
        self.guard: Any = 0
        self.shape, self.dtype = (None, None) if array is None else (array.shape, array.dtype)

    def describe(self, array: Any) -> None:
        """Sets shape and dtype to those of ``array``; both are None while there is none."""
        self.shape, self.dtype = (None, None) if array is None else (array.shape, array.dtype)


class OutputNode(Node):
    """One of several outputs of a function; collects the gradient of that output."""

    __slots__ = (
        'edges', 'level', 'index', 'shape', 'dtype', 'name', 'grad_value', 'loss_scale', 'view', '_hooks', '_tangent',
        '__weakref__',
    )  # fmt: skip

    requires_grad = True

    def __init__(self, edges: tuple[Any], level: int, index: int, kind: tuple[Any, Any]) -> None:
        self.edges = edges  # its function
        self.level = level
        self.index = index
        self.shape, self.dtype = kind
        self.name = self.grad_value = self.loss_scale = self.view = self._hooks = self._tangent = None


def run(
    roots: Iterable[tuple[Node, Any]], variables: bool = False, wanted: Container[Node] | None = None,
    ends: Container[Node] | None = None, keep: Any = None, watchers: Sequence[Any] = (), free: bool = False,
    strict: bool = False, stored: Stored | None = None,
) -> tuple[dict[Node, Any], dict[Node, Any], dict[Node, Any]]:  # fmt: skip
    """Runs a backward pass: the only place that adds the gradients computed by nodes to their edges.

    Nodes are visited level by level, from high to low, and within a level in the order in which gradients reach them,
    as in Chainer. Levels without nodes cost nothing. A node runs on the device of its gradient.

    The first gradient of an edge may belong to someone else and is kept by reference; the second makes a new array,
    which the pass owns; later ones are added to it in place.

    Args:
        roots: nodes and their gradients: arrays, or Variables in a differentiable pass; those of one node add up.
        variables: how the gradients come about is recorded in the graph.
        wanted: the nodes that need a gradient; None for all that require one.
        ends: nodes at which gradients stop, as at leaves.
        keep: the nodes whose gradients are kept; ``all`` for all of them, None for none.
        watchers: called as ``watcher(node, gradient, table)`` before each step; each returns None or a function
            to be called after the step.
        free: free what each node has saved after its step.
        strict: a saved array that was modified is an error, whatever ``config.check_inplace`` is.
        stored: notes the outputs of functions whose gradients were set by the program, which are used where the pass
            computes none; None to use none.

    Returns:
        The gradients of the leaves (and ends), of the nodes in ``keep``, and of nodes whose ``retain_grad`` was
        called. Hooks of leaves (and ends) have not been called yet.
    """
    table, buckets, parts = _started(roots, ends)
    owned: set[Node] = set()
    watch = _watch(variables, wanted, keep, watchers)
    if native is not None and watch is None and not (variables or strict):
        native.run(buckets, table, owned, wanted, ends, free, parts, stored)
    exposed, now, level = _inplace.exposed, _inplace.clock[0], -1
    while buckets:
        if level not in buckets:
            level = max(buckets)
        for node in buckets.pop(level):
            gradient = table.pop(node, None)
            if gradient is None:  # here a second time: a user's backward_accumulate had emptied its place
                continue
            if gradient is _AT_OUTPUTS:
                gradient = node.take_from_outputs(table, watch, stored)
            elif watch is not None:
                gradient = watch.arrived(node, gradient)
            prints = node._prints
            if exposed or (prints is not None and prints is not now):
                _inplace.check(node, variables, wanted, strict)
            done = None
            if watch is not None:
                found, done = watch.step(node, gradient, table)
            elif variables:
                found = node.pullback_variables(gradient, wanted, table)
            else:
                found = node.pullback(gradient, wanted, parts)
            place = -1
            for edge in node.edges:
                place += 1
                gx = found[place]
                if gx is None:
                    continue
                present = table.get(edge)
                if present is None:
                    table[edge] = gx
                    if edge.edges is not None and (ends is None or edge not in ends):
                        if edge.__class__ is OutputNode:
                            _enter(edge, table, buckets)
                        else:
                            buckets[edge.level].append(edge)
                elif edge not in owned:
                    table[edge] = _sum_of(present, gx)
                    if not variables:
                        owned.add(edge)
                else:
                    _added(present, gx)
            if done is not None:
                done()
            if free:
                node._free()
        level -= 1
    if parts.waiting:
        parts.complete()
    return (table, {}, {}) if watch is None else (table, *watch.finished())


def _started(
    roots: Iterable[tuple[Node, Any]], ends: Container[Node] | None
) -> tuple[dict[Node, Any], defaultdict[int, list[Any]], Parts]:
    """The table with the gradients of the roots, the nodes to visit by level, and what collects parts."""
    parts = Parts()
    table: dict[Node, Any] = {}
    parts.table = table
    buckets: defaultdict[int, list[Any]] = defaultdict(list)
    for node, gradient in roots:
        if node in table:
            table[node] = _sum_of(table[node], gradient)
        elif gradient is not None:
            table[node] = gradient
            if node.edges is not None and (ends is None or node not in ends):
                _enter(node, table, buckets)
    return table, buckets, parts


def _watch(variables: bool, wanted: Container[Node] | None, keep: Any, watchers: Sequence[Any]) -> Any:
    """What watches a pass; None if nothing does."""
    trace = _trace.current() if configuration.nondefault else None
    if watchers or keep is not None or cuda.several or hooked:
        return _Watch(variables, wanted, keep, watchers, trace)
    return None if trace is None else _Clock(variables, wanted, trace)


class _Watch:
    """What a pass does at each step beside the step itself: hooks, devices, gradients that are kept."""

    def __init__(
        self, variables: bool, wanted: Container[Node] | None, keep: Any, watchers: Sequence[Any], trace: Any
    ) -> None:
        self._variables, self._wanted, self._keep, self._watchers = variables, wanted, keep, watchers
        self._trace = trace
        self._kept: dict[Node, Any] = {}
        self._retained: dict[Node, Any] = {}

    def arrived(self, node: Any, gradient: Any) -> Any:
        """The gradient of a node, as its hooks replace it; keeps it if asked to."""
        hooks = node._hooks  # a hook may remove itself
        if hooks is not None:
            gradient = hooks.on_gradient(gradient, self._variables)
            if hooks.retains:
                self._retained[node] = gradient
        if self._keep is all or (self._keep is not None and node in self._keep):
            self._kept[node] = gradient
        return gradient

    def step(self, node: Any, gradient: Any, table: dict[Node, Any]) -> tuple[Any, Callable[[], None]]:
        """The gradients of a node's edges, computed on the device of its gradient; and what to call afterwards."""
        device = cuda.get_device_from_array(*map(as_raw, gradient if type(gradient) is list else [gradient]))
        with device:
            after = [watcher(node, gradient, table) for watcher in self._watchers]
            try:
                found = self._found(node, gradient, table)
            except Exception as error:
                add_application(error, node)
                raise

        def done() -> None:
            with device:
                for call in filter(None, after):
                    call()

        return found, done

    def _found(self, node: Any, gradient: Any, table: dict[Node, Any]) -> Any:
        hooks = node._hooks
        if hooks is None or not (hooks.before or hooks.after):
            return self._pulled_back(node, gradient, table)
        gradient = hooks.on_upstream(gradient, self._variables)
        return hooks.on_found(self._pulled_back(node, gradient, table), gradient, self._variables)

    def _pulled_back(self, node: Any, gradient: Any, table: dict[Node, Any]) -> Any:
        pullback = node.pullback_variables if self._variables else node.pullback
        if self._trace is None:
            return pullback(gradient, self._wanted, table)
        return self._trace.backward(node, gradient, lambda: pullback(gradient, self._wanted, table))

    def finished(self) -> tuple[dict[Node, Any], dict[Node, Any]]:
        """Ends the pass: returns the gradients to keep, and those that Variables retain."""
        return self._kept, self._retained


class _Clock:
    """What a pass does at each step where nothing but times are asked for; a short form of :class:`_Watch`."""

    def __init__(self, variables: bool, wanted: Container[Node] | None, trace: Any) -> None:
        self._variables, self._wanted, self._rows = variables, wanted, trace.rows

    def arrived(self, node: Any, gradient: Any) -> Any:
        """The gradient of a node."""
        return gradient

    def step(self, node: Any, gradient: Any, table: dict[Node, Any]) -> tuple[Any, None]:
        """The gradients of a node's edges; notes how long that took."""
        pullback = node.pullback_variables if self._variables else node.pullback
        begin = perf_counter_ns()
        found = pullback(gradient, self._wanted, table)
        end = perf_counter_ns()
        self._rows.append(('backward', f'{node.__class__.__name__}Backward', begin, end, node._seq))
        return found, None

    def finished(self) -> tuple[dict[Node, Any], dict[Node, Any]]:
        """Nothing is kept."""
        return {}, {}


#: Stands in the table for the gradient of a function with several outputs, which hold the gradients themselves.
_AT_OUTPUTS: Any = object()


def _enter(node: Any, table: dict[Node, Any], buckets: defaultdict[int, list[Any]]) -> None:
    """Schedules the visit of a node that a gradient has reached; for one of several outputs, of its function."""
    if node.__class__ is OutputNode:
        (node,) = node.edges  # type: ignore[misc]
        if node in table:
            return
        table[node] = _AT_OUTPUTS
    buckets[node.level].append(node)


def _sum_of(present: Any, gradient: Any) -> Any:
    if hasattr(gradient, 'edge'):  # a Variable: the sum belongs to the graph of gradients, whatever the mode is
        with configuration.using_config('enable_backprop', True):
            return present + gradient
    total = _on_its_device(operator.add, present, gradient) if cuda.several else present + gradient
    return numpy.asarray(total) if isinstance(total, numpy.generic) else total  # NumPy returns scalars for 0-d sums


def _on_its_device(add: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    with cuda.get_device_from_array(as_raw(x)):
        return add(x, y)


def reachable(roots: Iterable[Node], ends: Container[Node] = ()) -> set[Node]:
    """All nodes that gradients of ``roots`` can reach, including ``roots``; nothing beyond ``ends``."""
    reached: set[Node] = set()
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        if node not in reached:
            reached.add(node)
            if node.edges is not None and node not in ends:
                waiting += node.edges
    return reached


def leaves_of(roots: Iterable[Node]) -> list[Node]:
    """All leaves that gradients of ``roots`` can reach."""
    return [node for node in reachable(roots) if node.edges is None and node.requires_grad]


def between(outputs: Iterable[Node], inputs: Iterable[Node], ends: Container[Node] = ()) -> set[Node]:
    """The nodes on paths from ``inputs`` to ``outputs``, including both; nothing beyond ``ends``."""
    reached = reachable(outputs, ends)
    on_path = reached.intersection(inputs)
    for node in sorted(reached, key=lambda node: (node.level, node.__class__ is OutputNode)):
        if node.edges is not None and node not in ends and not on_path.isdisjoint(node.edges):
            on_path.add(node)
    return on_path


def commit_arrays(table: dict[Node, Any], loss_scale: Any = None) -> None:
    """Ends an ordinary pass: adds the gradients of the leaves to their ``.grad``; empties the table."""
    with _commit_lock:
        while table:  # take_own inlined, because this runs once per parameter
            leaf, gradient = table.popitem()
            if gradient is None:
                continue
            if references(gradient) > UNSHARED or gradient.base is not None or not gradient.flags.c_contiguous:
                gradient = copied(gradient)
            present = leaf.grad_value
            leaf.grad_value = gradient if present is None else _added(gradient, as_raw(present))
            leaf.loss_scale = loss_scale


def _added(total: Any, gradient: Any) -> Any:
    # In place: the pass owns the total; the user may own the gradient, which may be the one in a leaf.
    if cuda.several:
        return _on_its_device(operator.iadd, total, gradient)
    total += gradient
    return total


def commit_variables(table: dict[Node, Any], loss_scale: Any = None) -> None:
    """Ends a differentiable pass like :func:`commit_arrays`.

    Sums are ops, which call the hooks of users, so no lock is held meanwhile: if another thread has added to a
    gradient before they are stored, all are made again.
    """
    found = {leaf: gradient for leaf, gradient in table.items() if gradient is not None}
    while True:
        present = {leaf: leaf.grad_value for leaf in found}
        totals = {leaf: g if present[leaf] is None else _sum_of(present[leaf], g) for leaf, g in found.items()}
        with _commit_lock:
            if all(leaf.grad_value is value for leaf, value in present.items()):
                for leaf, total in totals.items():
                    leaf.grad_value, leaf.loss_scale = total, loss_scale
                return


def propagate(
    roots: list[tuple[Node, Any]],
    retain_grad: bool = False,
    variables: bool = False,
    loss_scale: Any = None,
    free: bool = False,
    strict: bool = False,
    clear: bool = True,
    siblings: bool = True,
) -> None:
    """Runs a whole pass from ``roots`` to the leaves, and adds the gradients to their ``.grad``.

    Args:
        roots: nodes and their gradients: arrays, or Variables in a differentiable pass.
        retain_grad: also keep the gradients of nodes that are not leaves.
        variables: make the pass differentiable.
        loss_scale: noted in the leaves, for optimizers.
        free: free what functions have saved.
        strict: as for :func:`run`.
        clear: drop the gradients of the roots, which were the upstream gradients.
        siblings: where a function has several outputs and the pass reaches only some, use the gradients that were set
            at the others, and drop them, as Chainer does.
    """
    if configuration.nondefault and not variables and _tangents.carries():
        _tangents.carrying(propagate, locals())
        return
    stored = None if not siblings else StoredVariables() if variables else Stored()
    keep_ = all if retain_grad else None
    table, kept, retained = run(roots, variables, None, None, keep_, observers(), free, strict, stored)
    if strict:
        check_ends(table)
    if hooked:  # before anything is stored, because they may raise
        hook_gradients(table, variables, retained)
    leaves = before_accumulation(table, variables) if hooked else []
    for root, _ in roots if clear else ():
        root.grad_value = None
    for output in stored or ():
        output.grad_value = None
    keep({node: kept[node] for node in kept if node not in retained} if retained else kept)
    if retained:
        accumulate(retained, variables)
    accumulate(table, variables, loss_scale, leaves)


def gradients_of(
    targets: Sequence[Node],
    roots: list[tuple[Node, Any]],
    retain_grad: bool = False,
    variables: bool = False,
    ends: Iterable[Node] = (),
    free: bool = False,
    strict: bool = False,
) -> list[Any]:
    """The gradients of some nodes, computed along the paths to them only; no ``.grad`` changes.

    Args:
        targets: the nodes whose gradients are wanted.
        roots: nodes and their gradients: arrays, or Variables in a differentiable pass.
        retain_grad: store the gradients of intermediate nodes.
        variables: make the pass differentiable.
        ends: places beyond which no gradient goes; their hooks are not called.
        free: free what functions have saved.
        strict: as for :func:`run`.

    Returns:
        An array or Variable for each target; None for a target that no output depends on.
    """
    if configuration.nondefault and not variables and _tangents.carries():
        return _tangents.carrying(gradients_of, locals())
    ends = set(ends)
    wanted = between([node for node, _ in roots], targets, ends)
    leading_on = {x for x in targets if x.level and _leads_on(x, wanted)}
    passing = ends.union([x for x in targets if x not in leading_on])
    if strict and wanted.isdisjoint([node for node, _ in roots]):
        check_ends(leaves_of([node for node, _ in roots]))
    beside = {node: gradient for node, gradient in roots if node not in wanted}
    roots = [(node, gradient) for node, gradient in roots if node in wanted]
    keep_ = all if retain_grad else leading_on or None
    table, kept, retained = run(roots, variables, wanted, passing, keep_, observers(), free, strict)
    if hooked:
        hook_gradients(table, variables, retained, ends)
    accumulate(retained, variables)
    kept.update(table)
    if retain_grad:
        keep({node: gradient for node, gradient in {**beside, **kept}.items() if node.level})
    table.clear()  # a second reference would cost a copy
    if not variables:
        kept = {node: take_own(kept, node) for node in dict.fromkeys(targets) if node in kept}
    return [kept.get(node) for node in targets]


def gradients_of_leaves(
    leaves: Sequence[Node], roots: list[tuple[Node, Any]], wanted: Container[Node], variables: bool = False
) -> list[Any]:
    """The gradients of leaves; for who runs several passes over one graph, and has found ``wanted`` once.

    Args:
        leaves: the leaves whose gradients are wanted.
        roots: nodes and their gradients: arrays, or Variables in a differentiable pass.
        wanted: the nodes on the paths to them, at least those from these roots; see :func:`between`.
        variables: make the pass differentiable.

    Returns:
        As :func:`gradients_of`.
    """
    if configuration.nondefault and not variables and _tangents.carries():
        return _tangents.carrying(gradients_of_leaves, locals())
    roots = [root for root in roots if root[0] in wanted]
    table, _, retained = run(roots, variables, wanted, None, None, observers() if configuration.nondefault else ())
    if hooked:
        hook_gradients(table, variables, retained)
    if not variables:
        table = {leaf: take_own(table, leaf) for leaf in leaves if leaf in table}
    return [*map(table.get, leaves)]


def gradients_and_others(
    targets: Sequence[Node], roots: list[tuple[Node, Any]], variables: bool, free: bool, strict: bool
) -> list[Any]:
    """The gradients of some nodes; those of all other leaves are added to their ``.grad``.

    The arguments are those of :func:`gradients_of`.
    """
    if configuration.nondefault and not variables and _tangents.carries():
        return _tangents.carrying(gradients_and_others, locals())
    table, kept, retained = run(roots, variables, None, None, set(targets), observers(), free, strict)
    if hooked:
        hook_gradients(table, variables, retained)
    kept.update({node: table.pop(node) for node in dict.fromkeys(targets) if node in table})
    leaves = before_accumulation(table, variables) if hooked else []
    accumulate(retained, variables)
    accumulate(table, variables, leaves=leaves)
    if not variables:
        kept = {node: take_own(kept, node) for node in list(kept)}
    return [kept.get(node) for node in targets]


def _leads_on(node: Node, wanted: Container[Node]) -> bool:
    """Whether gradients flow from a node to others that need one."""
    return node.edges is not None and any([edge in wanted for edge in node.edges])


def accumulate_into(
    targets: Sequence[Node],
    roots: list[tuple[Node, Any]],
    variables: bool = False,
    loss_scale: Any = None,
    free: bool = False,
    strict: bool = False,
) -> None:
    """Adds gradients to the ``.grad`` of some nodes alone; the arguments are those of :func:`gradients_of`."""
    if configuration.nondefault and not variables and _tangents.carries():
        _tangents.carrying(accumulate_into, locals())
        return
    found = gradients_of(targets, roots, False, variables, (), free, strict)
    given = zip(targets, found, strict=True)
    table = {node: gradient for node, gradient in given if gradient is not None and not _has_retained(node)}
    accumulate(table, variables, loss_scale, before_accumulation(table, variables) if hooked else [])


def _has_retained(node: Node) -> bool:
    """Whether passes store the gradient of a node, because its ``retain_grad`` was called."""
    return node.edges is not None and node._hooks is not None and node._hooks.retains


def accumulate(table: dict[Node, Any], variables: bool, loss_scale: Any = None, leaves: Iterable[Any] = ()) -> None:
    """Ends a pass: adds gradients to the ``.grad`` of nodes, and calls the hooks that follow.

    Args:
        table: nodes and their gradients.
        variables: these are Variables.
        loss_scale: noted in the nodes.
        leaves: what :func:`before_accumulation` has returned.
    """
    (commit_variables if variables else commit_arrays)(table, loss_scale)
    for hooks, gradient in leaves:
        hooks.on_accumulated(gradient, variables)


def hook_gradients(
    found: dict[Node, Any], variables: bool, retained: dict[Node, Any], ends: Container[Node] = ()
) -> None:
    """Calls the hooks of gradients at which a pass has ended, and puts what they return in their place."""
    for node, gradient in tuple(found.items()):
        hooks = node._hooks
        if hooks is not None and node not in ends:
            found[node] = hooks.on_gradient(gradient, variables)
            if hooks.retains and node.edges is not None:
                retained[node] = found[node]


def before_accumulation(found: dict[Node, Any], variables: bool) -> list[tuple[Any, Any]]:
    """Calls the hooks that precede the accumulation of leaves' gradients; returns hooks and gradients for later."""
    called = []
    for leaf, gradient in tuple(found.items()):
        hooks = leaf._hooks
        if hooks is not None and leaf.edges is None:
            found[leaf] = hooks.on_upstream(gradient, variables)
            called.append((hooks, found[leaf]))
    return called


def keep(gradients: dict[Node, Any]) -> None:
    """Stores the gradients of nodes that are not leaves."""
    for node, gradient in gradients.items():
        if not isinstance(gradient, list):  # the gradients of a function's outputs are stored at the outputs
            node.grad_value = gradient
