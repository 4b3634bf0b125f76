"""gradcheck, gradgradcheck, detect_anomaly and set_detect_anomaly."""

from __future__ import annotations

from typing import Any

from tests.autograd.programs.world import World


def _wrong(w: World, factor: float) -> Any:
    """exp with a gradient that is wrong by a factor."""

    class Wrong(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = w.exp(x)
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (y,) = ctx.saved_tensors
            return g * y * factor

    return Wrong.apply


def right(w: World) -> Any:
    x = w.leaf([0.5, -1.5])
    return [w.autograd.gradcheck(f, (x,)) for f in (w.exp, w.tanh, w.sin, lambda t: t * t)]


def one_tensor_as_inputs(w: World) -> Any:
    return w.autograd.gradcheck(w.exp, w.leaf([0.5, -1.5]))


def several_inputs_and_outputs(w: World) -> Any:
    x, y = w.leaf([0.5, -1.5]), w.leaf([[1.0], [2.0]])
    return w.autograd.gradcheck(lambda a, b: (a * b, w.sum(a), w.exp(b)), (x, y))


def constants_among_inputs(w: World) -> Any:
    x, c = w.leaf([0.5, -1.5]), w.tensor([1.0, 2.0])
    return w.autograd.gradcheck(lambda a, b: a * b, (x, c))


def numbers_among_inputs(w: World) -> Any:
    return w.autograd.gradcheck(lambda a, n: a * n, (w.leaf([0.5, -1.5]), 3.0))


def wrong(w: World) -> Any:
    x = w.leaf([0.5, -1.5])
    return [
        w.kind(lambda: w.autograd.gradcheck(_wrong(w, 1.5), (x,))),
        w.autograd.gradcheck(_wrong(w, 1.5), (x,), raise_exception=False),
        w.autograd.gradcheck(_wrong(w, 1.0), (x,), raise_exception=False),
    ]


def tolerances(w: World) -> Any:
    x = w.leaf([0.5, 1.5])
    with w.quiet():  # a warning names the size of an error that the tolerances accept
        return [
            w.autograd.gradcheck(_wrong(w, 1.01), (x,), raise_exception=False),
            w.autograd.gradcheck(_wrong(w, 1.01), (x,), rtol=0.1, raise_exception=False),
            w.autograd.gradcheck(_wrong(w, 1.01), (x,), atol=1.0, raise_exception=False),
        ]


def _two_outputs(w: World, materialize: bool, rule: Any) -> Any:
    """x * x and 3 * x, with a rule for both."""

    class Two(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            ctx.set_materialize_grads(materialize)
            return x * x, x * 3.0

        @staticmethod
        def backward(ctx: Any, a: Any, b: Any) -> Any:
            return rule(*ctx.saved_tensors, a, b)

    return Two.apply


def _careful(x: Any, a: Any, b: Any) -> Any:
    if a is None:
        return None if b is None else 3 * b
    return 2 * x * a if b is None else 2 * x * a + 3 * b


def undefined_gradients(w: World) -> Any:
    """Whether None among upstream gradients is asked for makes no difference to these."""
    x = w.leaf([0.5, 1.5])
    functions = [
        _two_outputs(w, True, lambda x, a, b: 2 * x * a + 3 * b),
        _two_outputs(w, False, _careful),
        _two_outputs(w, True, lambda x, a, b: 2.5 * x * a + 3 * b),
        _two_outputs(w, True, lambda x, a, b: 2 * x * a),
    ]
    return [
        w.autograd.gradcheck(f, (x,), check_undefined_grad=asked, fast_mode=fast, raise_exception=False)
        for f in functions
        for asked in (True, False)
        for fast in (False, True)
    ]


def undefined_gradients_of_second_order(w: World) -> Any:
    x = w.leaf([0.5, 1.5])
    functions = [_two_outputs(w, True, lambda x, a, b: 2 * x * a + 3 * b), _two_outputs(w, False, _careful)]
    return [
        w.autograd.gradgradcheck(f, (x,), check_undefined_grad=asked, raise_exception=False)
        for f in functions
        for asked in (True, False)
    ]


def _cast(w: World, dtype: str, factor: float) -> Any:
    """The square with a gradient of another dtype, which the graph converts."""

    class Cast(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return w.cast(factor * x * g, dtype)

    return Cast.apply


def dtypes_of_gradients(w: World) -> Any:
    x = w.leaf([0.3, -0.7])
    with w.quiet():  # a warning names the digits
        return [
            w.autograd.gradcheck(
                _cast(w, dtype, factor), (x,), check_grad_dtypes=False, fast_mode=fast, raise_exception=False
            )
            for dtype in ('float64', 'float32', 'float16')
            for factor in (2.0, 2.2, -2.0)
            for fast in (False, True)
        ]


def nothing_requires_a_gradient(w: World) -> Any:
    c = w.tensor([0.5, 1.5])
    return [
        w.kind(lambda: w.autograd.gradcheck(w.exp, (c,))),
        w.kind(lambda: w.autograd.gradcheck(w.exp, (c,), raise_exception=False)),
    ]


def second_order(w: World) -> Any:
    x = w.leaf([0.5, -1.5])
    return [w.autograd.gradgradcheck(f, (x,)) for f in (w.exp, w.tanh, lambda t: t * t * t)]


def second_order_with_grad_outputs(w: World) -> Any:
    x, v = w.leaf([0.5, -1.5]), w.leaf([1.0, 2.0])
    return w.autograd.gradgradcheck(w.exp, (x,), (v,))


def second_order_wrong(w: World) -> Any:
    class Wrong(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = w.exp(x)
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (y,) = ctx.saved_tensors
            return g * y.detach()

    x = w.leaf([0.5, -1.5])
    return [
        w.autograd.gradcheck(Wrong.apply, (x,)),
        w.kind(lambda: w.autograd.gradgradcheck(Wrong.apply, (x,))),
        w.autograd.gradgradcheck(Wrong.apply, (x,), raise_exception=False),
    ]


def inputs_are_as_before(w: World) -> Any:
    x = w.leaf([0.5, -1.5])
    w.autograd.gradcheck(w.exp, (x,))
    return w.values(x), w.grad_of(x), x.requires_grad


def anomaly_nan(w: World) -> Any:
    x = w.leaf([0.0])
    with w.quiet(), w.autograd.detect_anomaly():
        y = w.sum(w.sqrt(x) * 0.0)
        return w.kind(lambda: w.autograd.backward(y)), w.grad_of(x)


def no_anomaly(w: World) -> Any:
    x = w.leaf([4.0])
    with w.quiet(), w.autograd.detect_anomaly():
        w.autograd.backward(w.sum(w.sqrt(x)))
    return w.grad_of(x)


def anomaly_not_asked_for(w: World) -> Any:
    x = w.leaf([0.0])
    with w.quiet():
        w.autograd.backward(w.sum(w.sqrt(x) * 0.0))
    return w.grad_of(x)


def anomaly_without_nan_check(w: World) -> Any:
    x = w.leaf([0.0])
    with w.quiet(), w.autograd.detect_anomaly(check_nan=False):
        w.autograd.backward(w.sum(w.sqrt(x) * 0.0))
    return w.grad_of(x)


def infinity_is_no_anomaly(w: World) -> Any:
    x = w.leaf([0.0])
    with w.quiet(), w.autograd.detect_anomaly():
        w.autograd.backward(w.sum(w.sqrt(x)))
    return w.grad_of(x)


def anomaly_under_grad(w: World) -> Any:
    x = w.leaf([0.0])
    with w.quiet(), w.autograd.detect_anomaly():
        return w.kind(lambda: w.autograd.grad(w.sum(w.sqrt(x) * 0.0), x))


def anomaly_in_a_function(w: World) -> Any:
    class Fails(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, how: str) -> Any:
            ctx.how = how
            return x * 1.0

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            if ctx.how == 'raise':
                raise KeyError('in backward')
            return g * float('nan'), None

    x = w.leaf([1.0])
    with w.quiet(), w.autograd.detect_anomaly():
        return [w.kind(lambda how=how: w.autograd.backward(Fails.apply(x, how))) for how in ('raise', 'nan')]


def set_detect_anomaly_in_with(w: World) -> Any:
    x, found = w.leaf([0.0]), []
    with w.quiet():
        for mode in (True, False):
            with w.autograd.set_detect_anomaly(mode):
                y = w.sum(w.sqrt(x) * 0.0)
                found.append(w.kind(lambda y=y: w.autograd.backward(y)))
        found.append(w.kind(lambda: w.autograd.backward(w.sum(w.sqrt(x) * 0.0))))
    return found


def set_detect_anomaly_as_a_call(w: World) -> Any:
    x, found = w.leaf([0.0]), []
    with w.quiet():
        try:
            for mode in (True, False):
                w.autograd.set_detect_anomaly(mode)
                found.append(w.kind(lambda: w.autograd.backward(w.sum(w.sqrt(x) * 0.0))))
        finally:
            w.autograd.set_detect_anomaly(False)
    return found


def anomaly_ends_with_an_exception(w: World) -> Any:
    x = w.leaf([0.0])

    def fail() -> None:
        with w.autograd.detect_anomaly():
            raise KeyError('inside')

    with w.quiet():
        return w.kind(fail), w.kind(lambda: w.autograd.backward(w.sum(w.sqrt(x) * 0.0)))
