"""grad_fn: names, edges, hooks and metadata of nodes."""

from __future__ import annotations

from typing import Any

from tests.autograd.programs.world import World


def none_for_leaves_and_constants(w: World) -> Any:
    x, c = w.leaf(2.0), w.tensor(3.0)
    return x.grad_fn is None, c.grad_fn is None, (c * c).grad_fn is None, (x * c).grad_fn is None


def names_contain_the_op(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    ops = {
        'exp': w.exp(x),
        'tanh': w.tanh(x),
        'mul': x * x,
        'add': x + x,
        'sum': w.sum(x),
        'log': w.log(x),
    }
    return [op in y.grad_fn.name().lower() and 'Backward' in y.grad_fn.name() for op, y in ops.items()]


def leaf_accumulates(w: World) -> Any:
    y = w.exp(w.leaf(2.0))
    ((node, index),) = y.grad_fn.next_functions
    return node.name().split('::')[-1], index, list(node.next_functions)


def constants_are_none(w: World) -> Any:
    x, c = w.leaf(2.0), w.tensor(3.0)
    left, right = (x * c).grad_fn.next_functions, (c * x).grad_fn.next_functions
    return [node is None for node, _ in left], [node is None for node, _ in right]


def edges_of_one_op(w: World) -> Any:
    x = w.leaf(2.0)
    y = w.exp(x)
    z = y * w.sin(x)
    nodes = [node for node, _ in z.grad_fn.next_functions]
    return len(nodes), [n in node.name().lower() for node, n in zip(nodes, ('exp', 'sin'), strict=True)]


def same_leaf_same_node(w: World) -> Any:
    x = w.leaf(2.0)
    (a, _), (b, _) = (x * x).grad_fn.next_functions
    (c, _), _ = (x + w.tensor(1.0)).grad_fn.next_functions
    return a == b, a == c


def same_node_each_time(w: World) -> Any:
    x = w.leaf(2.0)
    y = w.exp(x)
    z = y * y
    (a, _), (b, _) = z.grad_fn.next_functions
    return y.grad_fn == y.grad_fn, a == y.grad_fn, a == b


def index_of_an_output(w: World) -> Any:
    parts = w.split(w.leaf([1.0, 2.0, 3.0]), 3)
    edges = [w.exp(part).grad_fn.next_functions[0] for part in parts]
    return [index for _, index in edges], all(node == edges[0][0] for node, _ in edges)


def walk(w: World) -> Any:
    x, c = w.leaf([1.0, 2.0]), w.tensor([3.0, 4.0])
    pending, leaves, constants = [w.sum(w.exp(x * c) * x).grad_fn], 0, 0
    while pending:
        node = pending.pop()
        if node is None:
            constants += 1
        elif node.name().endswith('AccumulateGrad'):
            leaves += 1
        else:
            pending += [child for child, _ in node.next_functions]
    return leaves, constants


def metadata(w: World) -> Any:
    y = w.exp(w.leaf(2.0))
    empty = dict(y.grad_fn.metadata)
    y.grad_fn.metadata['note'] = 'kept'
    return empty, y.grad_fn.metadata['note']


def hook_sees_gradients(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    y = w.sin(x)
    seen = []
    y.grad_fn.register_hook(lambda gxs, gys: seen.append([w.values(gxs), w.values(gys)]))
    w.autograd.backward(y, w.tensor([3.0, 4.0]))
    return seen


def hook_sees_none_for_constants(w: World) -> Any:
    x, c = w.leaf(2.0), w.tensor(3.0)
    y = x * c
    seen = []
    y.grad_fn.register_hook(lambda gxs, gys: seen.append(w.values(gxs)))
    w.autograd.backward(y)
    return seen


def hook_replaces_gradients(w: World) -> Any:
    x, z = w.leaf(2.0), w.leaf(3.0)
    y = x * z
    y.grad_fn.register_hook(lambda gxs, gys: (gxs[0] * 10.0, gxs[1] * 100.0))
    w.autograd.backward(y)
    return w.grad_of(x), w.grad_of(z)


def hook_returns_too_few(w: World) -> Any:
    x, z = w.leaf(2.0), w.leaf(3.0)
    y = x * z
    y.grad_fn.register_hook(lambda gxs, gys: (gxs[0],))
    return w.kind(lambda: w.autograd.backward(y))


def prehook_sees_gradients(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    y = w.sin(x)
    seen = []
    y.grad_fn.register_prehook(lambda gys: seen.append(w.values(gys)))
    w.autograd.backward(y, w.tensor([3.0, 4.0]))
    return seen


def prehook_replaces_gradients(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    y = x * x
    y.grad_fn.register_prehook(lambda gys: (gys[0] * 10.0,))
    w.autograd.backward(w.sum(y))
    return w.grad_of(x)


def order_of_hooks(w: World) -> Any:
    x = w.leaf(2.0)
    y = w.exp(x)
    seen = []
    y.grad_fn.register_hook(lambda gxs, gys: seen.append('node 1'))
    y.grad_fn.register_hook(lambda gxs, gys: seen.append('node 2'))
    y.grad_fn.register_prehook(lambda gys: seen.append('before 1'))
    y.grad_fn.register_prehook(lambda gys: seen.append('before 2'))
    y.register_hook(lambda g: seen.append('tensor'))
    x.register_hook(lambda g: seen.append('leaf'))
    w.autograd.backward(y)
    return seen


def hooks_removed(w: World) -> Any:
    x = w.leaf(2.0)
    y = w.exp(x)
    seen = []
    handles = [
        y.grad_fn.register_hook(lambda gxs, gys: seen.append('after')),
        y.grad_fn.register_prehook(lambda gys: seen.append('before')),
    ]
    w.autograd.backward(y, retain_graph=True)
    for handle in handles:
        handle.remove()
    w.autograd.backward(y)
    return seen


def hook_under_grad(w: World) -> Any:
    x = w.leaf(2.0)
    y = x * x
    z = w.sin(y)
    seen = []
    z.grad_fn.register_hook(lambda gxs, gys: seen.append('sin'))
    y.grad_fn.register_hook(lambda gxs, gys: seen.append('square'))
    w.autograd.grad(z, y)
    return seen


def hook_of_a_node_with_several_outputs(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    a, b = w.split(x, 2)
    seen = []
    a.grad_fn.register_hook(lambda gxs, gys: seen.append([len(gys), w.values(gxs)]))
    w.autograd.backward(a * 2.0 + b * 3.0)
    return seen


def hook_on_an_accumulating_node(w: World) -> Any:
    x = w.leaf(2.0)
    y = w.exp(x)
    seen = []
    ((node, _),) = y.grad_fn.next_functions
    node.register_prehook(lambda gys: seen.append(w.values(gys)[0] > 7.0))
    w.autograd.backward(y)
    return seen


def second_order_node(w: World) -> Any:
    x = w.leaf(2.0)
    (g,) = w.autograd.grad(x * x * x, x, create_graph=True)
    return g.grad_fn is None, len(g.grad_fn.next_functions) > 0


def function_node_has_the_name_of_its_class(w: World) -> Any:
    class Twice(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, factor: float) -> Any:
            return x * factor

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2.0, None

    y = Twice.apply(w.leaf(1.0), 2.0)
    return y.grad_fn.name(), [node is None for node, _ in y.grad_fn.next_functions]
