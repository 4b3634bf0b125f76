"""The gradient checks of torch, autograd and JAX, applied to functions of the catalogue.

Each function keeps its NumPy forward and its planted gradient; the other tape only calls them. What a rival raises,
whatever it is, counts as an alarm.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from minichainer.differentiate import grad
from minichainer.variable import Variable

#: A check takes a case, whether it may modify memory, and the order; it returns whether it raised an alarm.
Check = Callable[['Counted', int], bool]


class Counted:
    """A case as plain functions of arrays, with its calls counted."""

    def __init__(self, case: Any) -> None:
        self.func = case.func
        self.arrays = [x.copy() for x in case.inputs]
        self.forwards = self.backwards = 0
        self.graphs: list[Graph] = []

    def forward(self, arrays: Any) -> Graph:
        self.forwards += 1
        graph = Graph(self, arrays)
        self.graphs.append(graph)
        return graph


class Graph:
    """One call of the function, and its gradients."""

    def __init__(self, counted: Counted, arrays: Any) -> None:
        self.counted = counted
        self.key = len(counted.graphs)
        self.xs = [Variable(np.asarray(x)) for x in arrays]
        ys = counted.func(*self.xs)
        self.ys = list(ys) if isinstance(ys, tuple) else [ys]

    @property
    def results(self) -> list[Any]:
        return [y.array for y in self.ys]

    def vjp(self, gys: Any) -> list[Any]:
        """Gradients of the inputs, None as zeros."""
        self.counted.backwards += 1
        return self._full(grad(self.ys, self.xs, [Variable(np.asarray(g)) for g in gys]), self.xs)

    def vjp2(self, gys: Any, ggxs: Any) -> list[Any]:
        """Gradients of the inputs and of the upstream gradients, of the gradients."""
        self.counted.backwards += 1
        upstream = [Variable(np.asarray(g)) for g in gys]
        found = grad(self.ys, self.xs, upstream, enable_double_backprop=True)
        kept = [
            (g, Variable(np.asarray(gg)))
            for g, gg in zip(found, ggxs, strict=True)
            if g is not None and g.requires_grad
        ]
        sources = self.xs + upstream
        if not kept:
            return [np.zeros_like(v.array) for v in sources]
        return self._full(grad([g for g, _ in kept], sources, [gg for _, gg in kept]), sources)

    @staticmethod
    def _full(found: Any, sources: Any) -> list[Any]:
        pairs = zip(found, sources, strict=True)
        return [np.zeros_like(v.array) if g is None else np.asarray(g.array) for g, v in pairs]


# --- torch ------------------------------------------------------------------------------------------------------


def torch_checks() -> dict[str, Check]:
    """``gradcheck`` and ``gradgradcheck``, slow and fast; empty where torch is not installed."""
    try:
        import torch
    except ImportError:
        return {}
    torch.set_num_threads(1)

    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, graph: Any, n: int, *tensors: Any) -> Any:
            ctx.graph, ctx.gys = graph, [t.detach().numpy() for t in tensors[n:]]
            return tuple([torch.from_numpy(np.array(g)) for g in graph.vjp(ctx.gys)])

        @staticmethod
        def backward(ctx: Any, *ggxs: Any) -> Any:
            found = ctx.graph.vjp2(ctx.gys, [g.detach().numpy() for g in ggxs])
            return None, None, *[torch.from_numpy(np.array(g)) for g in found]

    class Outer(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, counted: Any, *tensors: Any) -> Any:
            ctx.graph = counted.forward([t.detach().numpy() for t in tensors])
            ctx.save_for_backward(*tensors)
            return tuple([torch.from_numpy(np.array(y)) for y in ctx.graph.results])

        @staticmethod
        def backward(ctx: Any, *gys: Any) -> Any:
            return None, *Inner.apply(ctx.graph, len(ctx.saved_tensors), *ctx.saved_tensors, *gys)

    def check(counted: Counted, order: int, fast: bool) -> bool:
        tensors = [torch.from_numpy(x).requires_grad_() for x in counted.arrays]

        def func(*xs: Any) -> Any:
            return Outer.apply(counted, *xs)

        torch.autograd.gradcheck(func, tensors, fast_mode=fast)
        if order > 1:
            torch.autograd.gradgradcheck(func, tensors, fast_mode=fast)
        return False

    return {
        'torch slow': lambda counted, order: _alarm(check, counted, order, False),
        'torch fast': lambda counted, order: _alarm(check, counted, order, True),
    }


# --- HIPS autograd ----------------------------------------------------------------------------------------------


def autograd_checks() -> dict[str, Check]:
    """``check_grads`` in reverse mode; outputs and gradients are laid end to end, for it takes one array."""
    try:
        import autograd.numpy as anp
        from autograd.extend import defvjp_argnums, primitive
        from autograd.test_util import check_grads
    except ImportError:
        return {}

    def primitives(counted: Counted) -> Any:
        sizes = [x.size for x in counted.arrays]
        shapes = [x.shape for x in counted.arrays]
        graphs: dict[int, Any] = {}

        @primitive
        def value(*xs: Any) -> Any:
            graph = counted.forward(xs)
            flat = np.concatenate([y.ravel() for y in graph.results])
            graphs[id(flat)] = graph, flat
            return flat

        def slope_of(graph: Any) -> Any:
            @primitive
            def slope(*args: Any) -> Any:
                gys = _parts(args[-1], graph.results)
                return np.concatenate([np.ravel(g) for g in graph.vjp(gys)])

            def slope_vjp(argnums: Any, ans: Any, args: Any, kwargs: Any) -> Any:
                def pull(gg: Any) -> Any:
                    gys = _parts(args[-1], graph.results)
                    found = graph.vjp2(gys, _parts(gg, counted.arrays))
                    n = len(counted.arrays)
                    everything = [*found[:n], np.concatenate([g.ravel() for g in found[n:]])]
                    return tuple([everything[i] for i in argnums])

                return pull

            defvjp_argnums(slope, slope_vjp)
            return slope

        def value_vjp(argnums: Any, ans: Any, args: Any, kwargs: Any) -> Any:
            slope = slope_of(graphs[id(getattr(ans, '_value', ans))][0])

            def pull(g: Any) -> Any:
                flat = slope(*args, g)
                ends = np.cumsum([0, *sizes])
                return tuple([anp.reshape(flat[ends[i] : ends[i + 1]], shapes[i]) for i in argnums])

            return pull

        defvjp_argnums(value, value_vjp)
        return value

    def check(counted: Counted, order: int) -> bool:
        argnums = tuple(range(len(counted.arrays)))
        check_grads(primitives(counted), argnums, modes=['rev'], order=order)(*counted.arrays)
        return False

    return {'autograd': lambda counted, order: _alarm(check, counted, order)}


def _parts(flat: Any, like: Any) -> list[Any]:
    """A vector cut into arrays of the shapes of ``like``."""
    ends = np.cumsum([0, *[a.size for a in like]])
    return [np.asarray(flat[a:b], x.dtype).reshape(x.shape) for a, b, x in zip(ends, ends[1:], like, strict=False)]


# --- JAX --------------------------------------------------------------------------------------------------------


def jax_checks() -> dict[str, Check]:
    """``jax.test_util.check_grads`` in reverse mode; its arrays are read-only, so faults in place are none."""
    try:
        import jax
        import jax.numpy as jnp
        from jax.test_util import check_grads
    except ImportError:
        return {}
    jax.config.update('jax_enable_x64', True)

    def wrapped(counted: Counted) -> Any:
        n = len(counted.arrays)

        def slope_of(key: int) -> Any:
            graph = counted.graphs[key]

            @jax.custom_vjp
            def slope(*args: Any) -> Any:
                return tuple([jnp.asarray(g) for g in graph.vjp([np.array(a) for a in args[n:]])])

            def pull(args: Any, ggxs: Any) -> Any:
                found = graph.vjp2([np.array(a) for a in args[n:]], [np.array(g) for g in ggxs])
                return tuple([jnp.asarray(g) for g in found])

            slope.defvjp(lambda *args: (slope(*args), args), pull)
            return slope

        @jax.custom_vjp
        def value(*xs: Any) -> Any:
            return tuple([jnp.asarray(y) for y in counted.forward([np.array(x) for x in xs]).results])

        def forward(*xs: Any) -> Any:
            return value(*xs), (jnp.asarray(len(counted.graphs) - 1), xs)

        def backward(kept: Any, gys: Any) -> Any:
            return slope_of(int(kept[0]))(*kept[1], *gys)

        value.defvjp(forward, backward)
        return value

    def check(counted: Counted, order: int) -> bool:
        check_grads(wrapped(counted), tuple(map(jnp.asarray, counted.arrays)), order, modes=['rev'])
        return False

    return {'JAX': lambda counted, order: _alarm(check, counted, order)}


def _alarm(check: Any, counted: Counted, *args: Any) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            return check(counted, *args)
    except Exception:
        return True
