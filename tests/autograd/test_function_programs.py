"""Small programs with autograd.Function: their results and kinds of errors, also in torch where that is installed."""

from __future__ import annotations

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer.autograd.function import Function, once_differentiable
from tests.autograd.making import double, make, twice

try:
    import torch
except ImportError:
    torch = None


class Ours:
    """What the programs below need, by minichainer."""

    Function, once_differentiable = Function, staticmethod(once_differentiable)
    exp, sum = staticmethod(F.exp), staticmethod(F.sum)

    @staticmethod
    def var(values, needs=True, dtype='float64'):
        return chainer.Variable(np.array(values, dtype), requires_grad=needs)

    @staticmethod
    def grad(y, x, create_graph=False):
        return chainer.grad([F.sum(y)], [x], enable_double_backprop=create_graph)[0]

    @staticmethod
    def add_in_place(x, number):
        x.array[...] += number

    @staticmethod
    def cast(x, dtype):
        return chainer.Variable(x.array.astype(dtype), requires_grad=False)

    @staticmethod
    def no_grad():
        return chainer.no_backprop_mode()

    @staticmethod
    def detach(x):
        return chainer.Variable(x.array, requires_grad=False)

    @staticmethod
    def value(x):
        return x.array.tolist() if isinstance(x, chainer.Variable) else x


class Torchs:
    """The same by torch."""

    if torch is not None:
        Function = torch.autograd.Function
        once_differentiable = staticmethod(torch.autograd.function.once_differentiable)
        exp, sum = staticmethod(torch.exp), staticmethod(torch.sum)

    @staticmethod
    def var(values, needs=True, dtype='float64'):
        return torch.tensor(values, dtype=getattr(torch, dtype), requires_grad=needs)

    @staticmethod
    def grad(y, x, create_graph=False):
        return torch.autograd.grad(y.sum(), x, create_graph=create_graph, retain_graph=True)[0]

    @staticmethod
    def add_in_place(x, number):
        x.add_(number)

    @staticmethod
    def cast(x, dtype):
        return x.detach().to(getattr(torch, dtype))

    @staticmethod
    def no_grad():
        return torch.no_grad()

    @staticmethod
    def detach(x):
        return x.detach()

    @staticmethod
    def value(x):
        return x.tolist() if isinstance(x, torch.Tensor) else x


# --- programs: name -> (program, its result or the kind of its error) ----------------------------------------------
PROGRAMS = {}


def program(expected):
    def add(function):
        PROGRAMS[function.__name__] = (function, expected)
        return function

    return add


def gradient_of(t, forward, backward, *others, x=(1.0, 2.0), **methods):
    """The gradient of a Function with respect to its first argument."""
    x = t.var(x)
    return t.value(t.grad(make(forward, backward, t.Function, **methods).apply(x, *others), x))


def gradient_of_first_output(t, forward, backward):
    x = t.var([1.0, 2.0])
    return t.value(t.grad(make(forward, backward, t.Function).apply(x)[0], x))


def result_of(t, forward, *args, backward=double, **kwargs):
    found = make(forward, backward, t.Function).apply(*args, **kwargs)
    return [t.value(y) for y in found] if isinstance(found, (tuple, list)) else t.value(found)


@program([2.0, 2.0])
def ordinary(t):
    return gradient_of(t, twice, double)


@program([2.0, 2.0])
def by_the_name_vjp(t):
    return gradient_of(t, twice, None, vjp=double)


@program(RuntimeError)
def backward_and_vjp(t):
    return gradient_of(t, twice, double, vjp=double)


@program(NotImplementedError)
def without_backward(t):
    return gradient_of(t, twice, None)


@program(NotImplementedError)
def without_forward(t):
    return type('Made', (t.Function,), {}).apply(t.var([1.0]))


@program(NotImplementedError)
def the_base_class(t):
    return t.Function.apply(t.var([1.0]))


@program(RuntimeError)
def instance_called(t):
    return make(twice, double, t.Function)()(t.var([1.0]))


@program(RuntimeError)
def old_style(t):
    class Old(t.Function):
        def __init__(self, k):
            self.k = k

        def forward(self, x):
            return x * self.k

    return Old(3)(t.var([1.0]))


@program(RuntimeError)
def too_few_gradients(t):
    return gradient_of(t, twice, double, t.var([1.0, 1.0]))


@program(RuntimeError)
def too_few_gradients_for_numbers(t):
    return gradient_of(t, twice, double, 3)


@program(RuntimeError)
def empty_gradients(t):
    return gradient_of(t, twice, lambda ctx, g: ())


@program(RuntimeError)
def too_many_gradients(t):
    return gradient_of(t, twice, lambda ctx, g: (g, g))


@program([1.0, 1.0])
def trailing_nones(t):
    return gradient_of(t, twice, lambda ctx, g: (g, None, None))


@program(RuntimeError)
def list_of_gradients(t):
    return gradient_of(t, twice, lambda ctx, g: [g, g], t.var([1.0, 1.0]))


@program(RuntimeError)
def gradient_for_a_number(t):
    return gradient_of(t, twice, lambda ctx, g: (g, g), 3)


@program([1.0, 1.0])
def gradient_for_a_constant_is_ignored(t):
    return gradient_of(t, twice, lambda ctx, g: (g, t.var([1.0] * 5)), t.var([1.0, 1.0], needs=False))


@program(RuntimeError)
def gradient_is_a_float(t):
    return gradient_of(t, twice, lambda ctx, g: 2.0)


@program(RuntimeError)
def gradient_is_a_string(t):
    return gradient_of(t, twice, lambda ctx, g: (g, 's'), t.var([1.0, 1.0], needs=False))


@program(RuntimeError)
def gradient_of_wrong_shape(t):
    return gradient_of(t, twice, lambda ctx, g: t.var([1.0] * 5))


@program(RuntimeError)
def gradient_of_smaller_shape(t):
    return gradient_of(t, twice, lambda ctx, g: t.var([1.0]))


@program(RuntimeError)
def gradient_without_axes(t):
    return gradient_of(t, twice, lambda ctx, g: t.var(1.0))


@program([3.0, 3.0])
def gradient_of_broadcast_shape_is_summed(t):
    return gradient_of(t, twice, lambda ctx, g: t.var([[1.0, 1.0]] * 3))


@program([[5.0], [5.0]])
def gradient_summed_over_kept_axes(t):
    return gradient_of(t, twice, lambda ctx, g: t.var([[1.0] * 5] * 2), x=[[1.0], [2.0]])


@program([1.0, 1.0])
def gradient_of_other_dtype_is_cast(t):
    return gradient_of(t, twice, lambda ctx, g: t.cast(g, 'float32'))


@program([1.0, 1.0])
def integer_gradient_is_cast(t):
    return gradient_of(t, twice, lambda ctx, g: t.cast(g, 'int64'))


@program(RuntimeError)
def complex_gradient_of_a_real_input(t):
    return gradient_of(t, twice, lambda ctx, g: t.cast(g, 'complex128'))


@program([[2.0, 4.0], 3, 's', None])
def other_values_pass(t):
    return result_of(t, lambda ctx, x: (x * 2, 3, 's', None), t.var([1.0, 2.0]))


@program(3)
def only_another_value(t):
    return result_of(t, lambda ctx, x: 3, t.var([1.0, 2.0]))


@program(None)
def nothing_returned(t):
    return result_of(t, lambda ctx, x: None, t.var([1.0, 2.0]))


@program([])
def empty_tuple_returned(t):
    return result_of(t, lambda ctx, x: (), t.var([1.0, 2.0]))


@program([None, None])
def gradients_of_other_values_are_none(t):
    seen = []
    gradient_of_first_output(t, lambda ctx, x: (x * 2, 3, 's'), lambda ctx, *g: (seen.extend(g[1:]), g[0])[1])
    return seen


@program([True, True])
def one_tuple_stays_a_tuple(t):
    x = t.var([1.0])
    made = make(lambda ctx, x: (x * 2,), double, t.Function).apply(x)
    return [isinstance(made, tuple), len(made) == 1]


@program([False, True])
def an_input_returned_is_a_new_variable(t):
    x = t.var([1.0])
    y = make(lambda ctx, x: x, double, t.Function).apply(x)
    return [y is x, y.requires_grad]


@program([4.0, 4.0])
def one_output_twice(t):
    x = t.var([1.0, 2.0])

    def forward(ctx, x):
        y = x * 2
        return y, y

    a, b = make(forward, lambda ctx, g, h: g + h, t.Function).apply(x)
    return t.value(t.grad(a + 3 * b, x))


@program([[1.0, 1.0], [0.0, 0.0]])
def missing_gradients_are_zeros(t):
    seen = []
    gradient_of_first_output(t, lambda ctx, x: (x * 2, x * 3), lambda ctx, *g: (seen.extend(g), g[0])[1])
    return [t.value(g) for g in seen]


@program([[1.0, 1.0], None])
def missing_gradients_are_none_if_asked(t):
    seen = []

    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    gradient_of_first_output(t, forward, lambda ctx, *g: (seen.extend(g), g[0])[1])
    return [t.value(g) for g in seen]


@program([False, True, [0.0, 0.0]])
def non_differentiable_output(t):
    x, seen = t.var([1.0, 2.0]), []

    def forward(ctx, x):
        y, z = x * 3, x * 2
        ctx.mark_non_differentiable(y)
        return y, z

    y, z = make(forward, lambda ctx, g, h: (seen.append(t.value(g)), h)[1], t.Function).apply(x)
    t.grad(z, x)
    return [y.requires_grad, z.requires_grad, *seen]


@program([False, True, 0])
def integer_output_is_non_differentiable(t):
    x, seen = t.var([1.0, 2.0]), []
    forward, backward = (lambda ctx, x, n: (n, x * 2)), (lambda ctx, g, h: (seen.append(t.value(g)), (h, None))[1])
    n, y = make(forward, backward, t.Function).apply(x, t.var(3, needs=False, dtype='int64'))
    t.grad(y, x)
    return [n.requires_grad, y.requires_grad, *seen]


@program(RuntimeError)
def non_differentiable_number(t):
    return result_of(t, lambda ctx, x: (ctx.mark_non_differentiable(3), x * 2)[1], t.var([1.0]))


@program(TypeError)
def saving_a_number(t):
    return result_of(t, lambda ctx, x: (ctx.save_for_backward(3.0), x * 2)[1], t.var([1.0]))


@program([2.0])
def saving_a_number_without_a_graph(t):
    return result_of(t, lambda ctx, x: (ctx.save_for_backward(3.0), x * 2)[1], t.var([1.0], needs=False))


@program([[1.0, 2.0], None])
def saved_values(t):
    seen = []

    def backward(ctx, g):
        seen.extend(ctx.saved_tensors)
        return g

    gradient_of(t, lambda ctx, x: (ctx.save_for_backward(x, None), x * 2)[1], backward)
    return [t.value(x) for x in seen]


@program(1)
def saving_again_replaces(t):
    seen = []

    def forward(ctx, x):
        ctx.save_for_backward(x, x)
        ctx.save_for_backward(x)
        return x * 2

    gradient_of(t, forward, lambda ctx, g: (seen.append(len(ctx.saved_tensors)), g)[1])
    return seen[0]


@program([True, True, False, False])
def needs_input_grad(t):
    seen = []
    made = make(lambda ctx, *args: (seen.extend(ctx.needs_input_grad), args[0] * 2)[1], double, t.Function)
    made.apply(t.var([1.0]), t.var([1.0]), 3, t.var([1.0], needs=False))
    return seen


@program(KeyError)
def errors_of_forward_pass(t):
    def forward(ctx, x):
        raise KeyError('mine')

    return result_of(t, forward, t.var([1.0]))


@program(ZeroDivisionError)
def errors_of_backward_pass(t):
    return gradient_of(t, twice, lambda ctx, g: 1 // 0)


@program([3.0, 6.0])
def argument_by_name(t):
    return result_of(t, lambda ctx, x, k=2: x * k, t.var([1.0, 2.0]), k=3)


@program([True, False])
def argument_by_name_has_a_position(t):
    seen = []
    make(lambda ctx, x, k=2: (seen.extend(ctx.needs_input_grad), x)[1], double, t.Function).apply(t.var([1.0]), k=3)
    return seen


@program(TypeError)
def wrong_arguments(t):
    return result_of(t, lambda ctx, x: x, t.var([1.0]), 2, 3)


@program([3.0, 3.0])
def setup_context(t):
    def setup(ctx, inputs, output):
        ctx.k = inputs[1]

    return gradient_of(t, lambda x, k=2: x * k, lambda ctx, g: (g * ctx.k, None), 3, setup_context=setup)


@program([2.0, 2.0])
def setup_context_gets_defaults(t):
    def setup(ctx, inputs, output):
        ctx.k = inputs[1]

    return gradient_of(t, lambda x, k=2: x * k, lambda ctx, g: (g * ctx.k, None), setup_context=setup)


@program([True, False])
def dirty_input_becomes_the_output(t):
    x = t.var([1.0, 2.0])
    h = x * 1

    def forward(ctx, h):
        t.add_in_place(h, 1)
        ctx.mark_dirty(h)
        return h

    y = make(forward, double, t.Function).apply(h)
    return [y is h, t.value(t.grad(h, x)) != [2.0, 2.0]]


@program([[2.0, 3.0], [2.0, 2.0], [1.0, 1.0]])
def dirty_constant_gets_a_gradient(t):
    x, w = t.var([1.0, 2.0], needs=False), t.var([1.0, 1.0])

    def forward(ctx, x, w):
        t.add_in_place(x, 1)
        ctx.mark_dirty(x)
        ctx.save_for_backward(w)
        return x

    y = make(forward, lambda ctx, g: (g, 2 * ctx.saved_tensors[0] * g), t.Function).apply(x, w)
    return [t.value(y), t.value(t.grad(x, w)), t.value(w)]


@program(RuntimeError)
def dirty_leaf(t):
    return result_of(t, lambda ctx, x: (ctx.mark_dirty(x), x)[1], t.var([1.0]))


@program([False, [2.0]])
def dirty_leaf_without_a_graph(t):
    x = t.var([1.0])

    def forward(ctx, x):
        t.add_in_place(x, 1)
        ctx.mark_dirty(x)
        return x

    with t.no_grad():
        y = make(forward, double, t.Function).apply(x)
    return [y is x, t.value(y)]


@program(RuntimeError)
def dirty_input_not_returned(t):
    return result_of(t, lambda ctx, x: (ctx.mark_dirty(x), x * 2)[1], t.var([1.0]) * 1)


@program(RuntimeError)
def dirty_number(t):
    return result_of(t, lambda ctx, x: (ctx.mark_dirty(3), x * 2)[1], t.var([1.0]))


def square(t, backward):
    forward = lambda ctx, x: (ctx.save_for_backward(x), x * x)[1]  # noqa: E731
    return make(forward, backward, t.Function)


@program([6.0, 12.0])
def double_backward_through_an_input(t):
    x = t.var([1.0, 2.0])
    y = square(t, lambda ctx, g: g * ctx.saved_tensors[0] ** 2 * 3).apply(x)
    return t.value(t.grad(t.grad(y, x, create_graph=True), x))


@program([1.0, 1.0])
def third_derivative_through_an_output(t):
    x = t.var([0.0, 0.0])
    forward = lambda ctx, x: (lambda y: (ctx.save_for_backward(y), y)[1])(t.exp(x))  # noqa: E731
    y = make(forward, lambda ctx, g: g * ctx.saved_tensors[0], t.Function).apply(x)
    g = t.grad(t.grad(y, x, create_graph=True), x, create_graph=True)
    return t.value(t.grad(g, x))


@program([1.0, 1.0])
def saved_dirty_input_stands_at_the_output(t):
    x = t.var([0.0, 0.0])
    h = x + 0

    def forward(ctx, h):
        t.add_in_place(h, 1)  # e to the power of 0
        ctx.mark_dirty(h)
        ctx.save_for_backward(h)
        return h

    y = make(forward, lambda ctx, g: g * ctx.saved_tensors[0], t.Function).apply(h)
    return t.value(t.grad(t.grad(y, x, create_graph=True), x))


@program([2.0, 4.0])
def a_detached_input_is_a_constant(t):
    x = t.var([1.0, 2.0])
    forward = lambda ctx, x: (ctx.save_for_backward(t.detach(x)), x * x)[1]  # noqa: E731
    y = make(forward, lambda ctx, g: g * ctx.saved_tensors[0], t.Function).apply(x)
    return t.value(t.grad(t.grad(y, x, create_graph=True) + x * x, x))


@program(RuntimeError)
def differentiating_twice_what_is_once_differentiable(t):
    x = t.var([1.0, 2.0])
    y = square(t, t.once_differentiable(lambda ctx, g: g * ctx.saved_tensors[0] * 2)).apply(x)
    g = t.grad(y * y, x, create_graph=True)
    return t.sum(g).backward()


@program([2.0, 4.0])
def once_differentiable_once(t):
    x = t.var([1.0, 2.0])
    return t.value(t.grad(square(t, t.once_differentiable(lambda ctx, g: g * ctx.saved_tensors[0] * 2)).apply(x), x))


@program([False, False, True])
def backward_is_recorded_on_demand(t):
    x, seen = t.var([1.0, 2.0]), []

    def backward(ctx, g):
        (s,) = ctx.saved_tensors
        made = g * s
        seen.append(recorded(made))
        return made

    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = x * 2
        seen.append(recorded(y))
        return y

    def recorded(y):
        return (y.creator if hasattr(y, 'creator') else y.grad_fn) is not None

    y = make(forward, backward, t.Function).apply(x)
    t.grad(y, x)
    t.grad(y, x, create_graph=True)
    return seen


@program([4.0, 4.0])
def nested_in_forward(t):
    inner = make(twice, double, t.Function)
    return gradient_of(t, lambda ctx, x: inner.apply(inner.apply(x)), lambda ctx, g: 4 * g)


@program([24.0])
def nested_in_backward(t):
    cube = make(lambda ctx, x: (ctx.save_for_backward(x), x * x * x)[1],
                lambda ctx, g: 3 * g * square_.apply(ctx.saved_tensors[0]), t.Function)  # fmt: skip
    square_ = square(t, lambda ctx, g: 2 * g * ctx.saved_tensors[0])
    x = t.var([4.0])
    return t.value(t.grad(t.grad(cube.apply(x), x, create_graph=True), x))


@program([1.0])
def without_variables(t):
    return result_of(t, lambda ctx, k: t.var([k], needs=False), 1.0)


@program([False, [2.0]])
def without_a_graph(t):
    with t.no_grad():
        y = make(twice, double, t.Function).apply(t.var([1.0], needs=False))
    return [y.requires_grad, t.value(y)]


def outcome(run, t):
    try:
        return run(t)
    except Exception as error:
        return type(error)


@pytest.mark.parametrize('name', PROGRAMS)
def test_program(name):
    run, expected = PROGRAMS[name]
    assert outcome(run, Ours) == expected


@pytest.mark.filterwarnings('ignore::DeprecationWarning', 'ignore::UserWarning')
@pytest.mark.skipif(torch is None, reason='torch is not installed')
@pytest.mark.parametrize('name', PROGRAMS)
def test_program_in_torch(name):
    run, expected = PROGRAMS[name]
    assert outcome(run, Torchs) == expected
