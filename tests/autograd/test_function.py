"""The contract of autograd.Function, line by line."""

from __future__ import annotations

import gc
import types
import weakref

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer import autograd
from minichainer.autograd.function import Function, FunctionCtx, once_differentiable
from minichainer.errors import InplaceError
from tests.autograd.making import CubeOnArrays, Exp, ExpInPlace, ExpOnArrays, SinCos, as_list, double, make, twice


# --- arguments and results -----------------------------------------------------------------------------------------
def test_forward_gets_arguments_as_they_are():
    seen = []
    x, array, other = chainer.Variable(np.ones(2)), np.ones(2)[::1], object()
    make(lambda ctx, *args: (seen.extend(args), x.array * 1)[1], double).apply(x, array, other, None)
    assert all(a is b for a, b in zip(seen, [x, array, other, None], strict=True))


def test_integers_never_need_a_gradient():
    n, x, seen = chainer.Variable(np.array([1, 2])), chainer.Variable(np.ones(2)), []
    made = make(lambda ctx, n, x: (seen.extend(ctx.needs_input_grad), x * n.array)[1], lambda ctx, g: (g, g))
    y = made.apply(n, x)
    y.grad = np.ones(2)
    y.backward()
    assert seen == [False, True]
    assert n.grad is None and x.grad.tolist() == [1, 1]
    assert not make(lambda ctx, n: n * 1.5, double).apply(n).requires_grad


@pytest.mark.parametrize(
    'result', [np.float32(3), np.array(3, np.float32), chainer.Variable(np.array(3, np.float32))]
)
def test_outputs_become_variables(result):
    y = make(lambda ctx, x: result, lambda ctx, g: g * 2).apply(chainer.Variable(np.array(1, np.float32)))
    assert isinstance(y, chainer.Variable) and isinstance(y.array, np.ndarray)
    assert y is not result and y.dtype == np.float32 and y.creator.label == 'Made'


def test_a_numpy_scalar_is_saved_as_the_output_that_it_is():
    def forward(ctx, x):
        y = np.exp(x.array).sum()
        ctx.save_for_backward(y)
        return y

    x = chainer.Variable(np.array(0.5))
    y = make(forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(x)
    (gx,) = chainer.grad([y], [x], enable_double_backprop=True)
    assert chainer.grad([gx], [x])[0].array == np.exp(0.5)


def test_gradients_may_be_arrays_or_numpy_scalars():
    x = chainer.Variable(np.array(2.0))
    make(twice, lambda ctx, g: (g.array * 3).sum()).apply(x).backward()
    assert x.grad == 3


def test_none_is_no_gradient():
    x, w = chainer.Variable(np.array(2.0)), chainer.Variable(np.array(2.0))
    make(twice, lambda ctx, g: (None, g)).apply(x, w).backward()
    assert x.grad is None and w.grad == 1


def test_a_raw_array_that_is_saved_as_an_argument_is_a_constant():
    x = chainer.Variable(np.array([1.0, 2.0]))
    made = make(
        lambda ctx, x, a: (ctx.save_for_backward(a), x * a)[1], lambda ctx, g: (g * ctx.saved_tensors[0], None)
    )
    (gx,) = chainer.grad([F.sum(made.apply(x, x.array) * x)], [x], enable_double_backprop=True)
    assert chainer.grad([F.sum(gx)], [x])[0].array.tolist() == [2, 4]  # of a * x * x, with a = x a constant


def test_keyword_only_arguments():
    def forward(ctx, x, *, k):
        ctx.k = k
        return x * k

    x = chainer.Variable(np.array(1.0))
    made = make(forward, lambda ctx, g: g * ctx.k)
    made.apply(x, k=3).backward()
    assert x.grad == 3
    with pytest.raises(TypeError, match='no gradient can reach k'):
        made.apply(x, k=x)


def test_under_chainers_mode_nothing_is_recorded():
    x = chainer.Variable(np.ones(2))
    with chainer.no_backprop_mode():
        y = Exp.apply(x)
    assert y.creator is None


def test_the_graph_shows_the_users_class():
    x = chainer.Variable(np.ones(2))
    y = Exp.apply(x)
    node = y.creator
    assert (type(node).__name__, node.label, node.inputs) == ('Exp', 'Exp', (x.node,))
    assert node.outputs[0]() is y.node
    assert node.output_data[0] is y.array and node.input_arrays() == (None,)


def test_function_hooks_see_it():
    seen = []

    class Hook(chainer.FunctionHook):
        name = 'seen'

        def forward_preprocess(self, function, in_data):
            seen.append(('forward', function.label, len(in_data)))

        def backward_preprocess(self, function, in_data, out_grad):
            seen.append(('backward', function.label, len(in_data)))

    x = chainer.Variable(np.array(1.0))
    with Hook():
        CubeOnArrays.apply(x).backward()
    assert [call for call in seen if call[1] == 'CubeOnArrays'] == [
        ('forward', 'CubeOnArrays', 1),
        ('backward', 'CubeOnArrays', 1),
    ]


def test_debug_mode_names_it():
    made = make(lambda ctx, x: x.array * np.nan, double)
    with chainer.using_config('debug', True), pytest.raises(RuntimeError, match='forward computation of Made'):
        made.apply(chainer.Variable(np.array(-1.0)))


def test_inherited_methods_are_used_and_named_by_the_subclass():
    assert ExpOnArrays.apply(chainer.Variable(np.ones(1))).creator.label == 'ExpOnArrays'


# --- saved arrays --------------------------------------------------------------------------------------------------
def test_saved_arrays_are_in_the_node_only():
    x = chainer.Variable(np.ones(2))
    extra, seen = np.full(2, 3.0), []

    def forward(ctx, x):
        y = x * 2
        ctx.save_for_backward(x, None, y, extra)
        seen.append(ctx)
        return y

    y = make(forward, double).apply(x)
    node, (ctx,) = y.creator, seen
    assert [a is b for a, b in zip(node.saved, [x.array, y.array, extra], strict=True)] == [True] * 3
    saved = ctx.saved_tensors
    assert saved[1] is None
    assert saved[0].node is x.node and saved[2].node is y.node and not saved[3].requires_grad
    assert set(vars(ctx)) == {'_node', '_needs_input_grad', '_to_save', '_dirty', '_non_differentiable'}
    assert ctx._to_save is None and ctx._dirty == ctx._non_differentiable == ()


def test_saved_arrays_that_are_freed_raise():
    seen = []
    y = make(lambda ctx, x: (seen.append(ctx), ctx.save_for_backward(x), x * 2)[2], double).apply(
        chainer.Variable(np.ones(2))
    )
    y.creator.saved = ()
    with pytest.raises(RuntimeError, match='retain_graph=True'):
        _ = seen[0].saved_tensors
    del y
    with pytest.raises(RuntimeError, match='freed'):
        _ = seen[0].saved_tensors


def test_places_of_several_outputs_survive_their_variables():
    x = chainer.Variable(np.array([0.5, 1.0]))
    sin = SinCos.apply(x)[0]  # the second output is freed, and saved
    (gx,) = chainer.grad([F.sum(sin)], [x], enable_double_backprop=True)
    np.testing.assert_allclose(chainer.grad([F.sum(gx)], [x])[0].array, -np.sin(x.array))


def test_non_differentiable_saved_output_is_a_constant():
    def forward(ctx, x):
        y, mask = x * 2, x > 0 if isinstance(x, np.ndarray) else x.array * 1.0
        ctx.mark_non_differentiable(mask)
        ctx.save_for_backward(mask)
        return y, mask

    x = chainer.Variable(np.array([1.0, 2.0]))
    y, mask = make(forward, lambda ctx, g, _: g * ctx.saved_tensors[0] * x).apply(x)
    (gx,) = chainer.grad([F.sum(y)], [x], enable_double_backprop=True)
    assert chainer.grad([F.sum(gx)], [x])[0].array.tolist() == mask.array.tolist()


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def keeps_everything(ctx, x):
    y = x * 2
    ctx.save_for_backward(x, y)
    ctx.save_for_forward(x, y)
    ctx.x, ctx.y = x, y
    return y


def two_outputs(ctx, x):
    y = x.array * 2
    ctx.save_for_backward(x, y)
    return y, x.array * 3


def changes_in_place(ctx, x):
    x.array[...] *= 2
    ctx.mark_dirty(x)
    ctx.save_for_backward(x)
    return x


@pytest.mark.usefixtures('no_collector')
@pytest.mark.parametrize('forward', [keeps_everything, two_outputs, changes_in_place])
@pytest.mark.parametrize('passes', [0, 1, 2])
def test_no_reference_cycles(forward, passes):
    seen = []
    leaf = chainer.Variable(np.ones(2))

    def saving(ctx, x):
        seen.append(weakref.ref(ctx))
        return forward(ctx, x)

    results = as_list(make(saving, lambda ctx, *gs: 2 * gs[0] + 0 * ctx.saved_tensors[0]).apply(leaf * 1))
    if passes:
        (gx,) = chainer.grad([F.sum(results[0])], [leaf], enable_double_backprop=passes > 1)
        del gx
    seen += [weakref.ref(y.array) for y in results] + [weakref.ref(results[0].creator)]
    assert all(reference() is not None for reference in seen)
    del results
    assert [reference() for reference in seen] == [None] * len(seen)


@pytest.mark.usefixtures('no_collector')
def test_arguments_that_are_not_saved_are_freed():
    x = chainer.Variable(np.ones(2)) * 1
    array = np.ones(2)
    references = [weakref.ref(x.array), weakref.ref(array)]
    y = make(lambda ctx, x, a: x * 2, lambda ctx, g: (2 * g, None)).apply(x, array)
    del x, array
    assert [reference() for reference in references] == [None, None]
    assert y.creator is not None


@pytest.mark.usefixtures('no_collector')
def test_without_a_graph_nothing_is_kept():
    with chainer.no_backprop_mode():
        x = chainer.Variable(np.ones(2))
        y = Exp.apply(x)
    reference = weakref.ref(y.array)
    del y
    assert reference() is None


# --- mark_dirty ----------------------------------------------------------------------------------------------------
def test_dirty_input_has_the_place_of_the_output():
    x = chainer.Variable(np.array([1.0, 2.0]))
    h = x * 3
    before = h.creator
    y = ExpInPlace.apply(h)
    assert y is h and h.creator.label == 'ExpInPlace' and h.rank == 2
    assert h.creator.inputs[0].creator is before
    assert h.creator.outputs[0]() is h.node
    y.grad = np.ones(2)
    y.backward()
    np.testing.assert_allclose(x.grad, 3 * np.exp([3.0, 6.0]))


def test_dirty_input_among_several_outputs():
    def forward(ctx, x, w):
        x.array[...] *= 2
        ctx.mark_dirty(x)
        return w * 3, x

    x, w = chainer.Variable(np.ones(2)), chainer.Variable(np.ones(2))
    h = x * 1
    y, dirty = make(forward, lambda ctx, gy, gx: (2 * gx, 3 * gy)).apply(h, w)
    assert dirty is h and h.creator is y.creator
    gradients = chainer.grad([F.sum(y * h)], [x, w])
    assert [g.array.tolist() for g in gradients] == [[6, 6], [6, 6]]


class Tri(Function):
    """Three times its input, in place."""

    @staticmethod
    def forward(ctx, x):
        x.array[...] *= 3
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 3


VIEWS = {
    'getitem': lambda h: h[1:],
    'reshape': lambda h: F.reshape(h, (3, 1)),
    'method': lambda h: h.reshape(3, 1),
    'transpose': lambda h: h.reshape(3, 1).T,
    'expand_dims': lambda h: F.expand_dims(h, 0),
    'split_axis': lambda h: F.split_axis(h, [1], 0)[1],
    'separate': lambda h: F.separate(h)[0],
    'flip': lambda h: h[::-1],
    'view of a view': lambda h: h[1:][1:],
}
#: What also refers to the memory of a Variable.
REFERENCES = {**VIEWS, 'detach': lambda h: h.detach(), 'array': lambda h: h.array, 'part': lambda h: h.array[:1]}


def numbers():
    return chainer.Variable(np.array([1.0, 2.0, 5.0]))


@pytest.mark.parametrize('view', VIEWS)
def test_a_view_of_a_variable_is_not_changed_in_place(view):
    h = numbers() * 1
    with pytest.raises(RuntimeError, match=r'Tri: forward changes an input in place, float64 .*pass a copy'):
        Tri.apply(VIEWS[view](h))


@pytest.mark.parametrize('reference', REFERENCES)
def test_a_variable_with_a_view_is_not_changed_in_place(reference):
    h = numbers() * 1
    held = REFERENCES[reference](h)
    with pytest.raises(RuntimeError, match=r'Tri: forward changes an input in place, float64 \(3,\).*pass a copy'):
        Tri.apply(h)
    del held


@pytest.mark.parametrize('view', VIEWS)
def test_a_view_of_memory_that_nothing_else_uses_may_be_changed(view):
    x, expected = numbers(), numbers()
    y = Tri.apply(VIEWS[view](x * 1))
    F.sum(y * y).backward()
    F.sum((VIEWS[view](expected) * 3) ** 2).backward()
    np.testing.assert_array_equal(x.grad, expected.grad)


def test_a_result_in_memory_of_its_own_may_be_changed():
    """Results of convolutions are views of arrays with channels last, which nothing else uses."""
    x = chainer.Variable(np.ones((1, 2, 3, 3)))
    h = F.convolution_2d(x, np.ones((4, 2, 1, 1)))
    assert h.array.base is not None
    y = Tri.apply(h)
    F.sum(y * y).backward()
    np.testing.assert_array_equal(x.grad, np.full(x.shape, 2 * 4 * 9 * 2))


@pytest.mark.parametrize(
    'save',
    [
        lambda ctx, x: setattr(ctx, 'y', x.array),
        lambda ctx, x: ctx.save_for_backward(x.array),
        lambda ctx, x: ctx.save_for_backward(x, x.array),
        lambda ctx, x: ctx.save_for_forward(x.array),
    ],
)
def test_the_function_itself_may_save_it(save):
    def forward(ctx, x):
        array = x.array
        array *= 3
        save(ctx, x)
        ctx.mark_dirty(x)
        return x, x.array

    x = numbers()
    y, _ = make(forward, lambda ctx, g, _: g * 3).apply(x * 1)
    F.sum(y).backward()
    np.testing.assert_array_equal(x.grad, [3, 3, 3])


def test_a_result_that_its_function_saves_is_left_to_the_check_of_saved_arrays():
    x = numbers()
    y = Tri.apply(F.tanh(x))
    with pytest.raises(InplaceError):
        autograd.backward(F.sum(y))


def test_without_a_graph_or_a_gradient_anything_may_be_changed():
    with chainer.no_backprop_mode():
        h = numbers() * 1
        assert Tri.apply(h[1:]).array.tolist() == [6, 15]
    c = chainer.Variable(np.array([1.0, 2.0]), requires_grad=False)
    assert Tri.apply(c[1:]).array.tolist() == [6]
    assert c.array.tolist() == [1, 6]


# --- once_differentiable -------------------------------------------------------------------------------------------
def squares(ctx, x):
    ctx.save_for_backward(x)
    return x.array**2


@pytest.mark.parametrize('as_tuple', [False, True])
def test_second_differentiation_raises_wherever_it_is_reached(as_tuple):
    """Also where torch omits the term silently, because the upstream gradient is a constant."""

    @once_differentiable
    def backward(ctx, g):
        gx = 2 * g.array * ctx.saved_tensors[0].array
        return (gx, None) if as_tuple else gx

    x = chainer.Variable(np.array([1.0, 2.0]))
    (gx,) = chainer.grad([F.sum(make(squares, backward).apply(x))], [x], enable_double_backprop=True)
    assert gx.array.tolist() == [2, 4]
    with pytest.raises(RuntimeError, match='Made: its backward is marked by once_differentiable'):
        chainer.grad([F.sum(gx + x * x)], [x])


def test_once_differentiable_keeps_the_name_and_runs_without_a_graph():
    seen = []

    @once_differentiable
    def backward(ctx, g):
        """Mine."""
        seen.append(chainer.config.enable_backprop)

    x = chainer.Variable(np.array(1.0))
    y = make(squares, backward).apply(x)
    assert chainer.grad([y], [x], enable_double_backprop=True) == [None]
    assert (seen, backward.__name__, backward.__doc__) == ([False], 'backward', 'Mine.')


# --- jvp -----------------------------------------------------------------------------------------------------------
TANGENTS = {
    'exp': (Exp.apply, [[0.5, -1.0]]),
    'exp on arrays': (ExpOnArrays.apply, [[0.5, -1.0]]),
    'two outputs': (SinCos.apply, [[0.5, -1.0]]),
}


@pytest.mark.parametrize('name', TANGENTS)
def test_tangents_agree_with_gradients(name):
    func, (tangent,) = TANGENTS[name]
    x = chainer.Variable(np.array([0.3, 0.7]))
    outputs = as_list(func(x))
    tangents = outputs[0].creator.jvp_of([np.array(tangent)])
    for y, t in zip(outputs, tangents, strict=True):
        (gx,) = chainer.grad([F.sum(y)], [x])
        np.testing.assert_allclose(t.array, gx.array * tangent)


def jvp_of(jvp, tangents, forward=lambda ctx, x, k, w: x * w, arguments=None):
    given = arguments or (chainer.Variable(np.ones(2)), 3, chainer.Variable(np.ones(2)))
    return make(forward, double, jvp=jvp).apply(*given).creator.jvp_of(tangents)


def test_tangents_have_a_place_for_every_argument():
    seen = []
    found = jvp_of(lambda ctx, *t: (seen.extend(t), t[0])[1], [np.full(2, 5.0), None])
    assert [None if t is None else t.array.tolist() for t in seen] == [[5, 5], None, [0, 0]]
    assert found[0].array.tolist() == [5, 5]


def test_tangents_stay_none_if_asked():
    seen = []

    def forward(ctx, x, k, w):
        ctx.set_materialize_grads(False)
        return x * w

    assert jvp_of(lambda ctx, *t: seen.extend(t[1:]), [np.ones(2), None], forward) == [None]
    assert seen == [None, None]


@pytest.mark.parametrize('is_recorded', [True, False])
def test_jvp_reads_what_is_saved_for_forward(is_recorded):
    seen, x = [], chainer.Variable(np.full(2, 2.0), requires_grad=is_recorded)

    class Made(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.k, nodes[:] = 3, [ctx._node()]
            ctx.save_for_forward(x)
            ctx.save_for_backward(None, x)
            return x * 3

        @staticmethod
        def jvp(ctx, t):
            seen.append((len(ctx.saved_tensors), ctx.saved_tensors[0].array.tolist()))
            return t.array * ctx.k

        @staticmethod
        def backward(ctx, g):
            seen.append(len(ctx.saved_tensors))
            return 3 * g

    nodes = []
    y = Made.apply(x)
    (tangent,) = nodes[0].jvp_of([np.ones(2)])
    assert tangent.array.tolist() == [3, 3]
    assert seen == [(1, [2, 2])]
    if is_recorded:
        chainer.grad([F.sum(y)], [x])
        assert seen[1] == 2


@pytest.mark.parametrize(
    ('jvp', 'kind', 'text'),
    [
        (lambda ctx, *t: (t[0], t[0]), RuntimeError, 'wrong number of tangents'),
        (lambda ctx, *t: (), RuntimeError, 'wrong number of tangents'),
        (lambda ctx, *t: 3, RuntimeError, 'Actual: int'),
        (lambda ctx, *t: np.ones(5), RuntimeError, r'Actual: shape \(5,\)'),
        (lambda ctx, *t: 1 // 0, ZeroDivisionError, 'division'),
    ],
)
def test_wrong_tangents(jvp, kind, text):
    with pytest.raises(kind, match=text):
        jvp_of(jvp, [np.ones(2), None])


def test_without_jvp():
    with pytest.raises(NotImplementedError, match='jvp') as caught:
        make(twice, double).apply(chainer.Variable(np.ones(2))).creator.jvp_of([np.ones(2)])
    assert isinstance(caught.value, RuntimeError)


# --- messages ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ('backward', 'text'),
    [
        (lambda ctx, g: (g, g, g), 'Expect: 2, one per argument of apply\nActual: 3'),
        (lambda ctx, g: (g, g), 'gradient for argument 1, which is not a Variable'),
        (lambda ctx, g: (2.0, None), 'argument 0\nExpect: Variable, array or None\nActual: float'),
        (lambda ctx, g: (np.ones(5), None), r'Actual: shape \(5,\), dtype float64'),
    ],
)
def test_messages_name_the_function_and_what_was_got(backward, text):
    y = make(twice, backward).apply(chainer.Variable(np.ones(2)), 3)
    y.grad = np.ones(2)
    with pytest.raises(RuntimeError, match=text) as caught:
        y.backward()
    assert 'Made' in str(caught.value)


def test_an_instance_explains_static_methods():
    with pytest.raises(RuntimeError, match=r'make its methods static.*Exp\.apply\(\*args\)'):
        Exp(1, k=2)(np.ones(2))


def test_the_context_takes_any_attribute_of_a_node():
    names = ['shape', 'dtype', 'level', 'edges', 'name', 'saved', 'inputs', 'label']

    def forward(ctx, x):
        for name in names:
            setattr(ctx, name, name)
        return x * 2

    def backward(ctx, g):
        assert isinstance(ctx, FunctionCtx) and [getattr(ctx, name) for name in names] == names
        return g * 2

    x = chainer.Variable(np.array(1.0))
    make(forward, backward).apply(x).backward()
    assert x.grad == 2


def test_saved_tensors_cannot_be_set():
    ctx = FunctionCtx([True])
    with pytest.raises(AttributeError):
        ctx.saved_tensors = ()
    assert isinstance(FunctionCtx.saved_tensors, property) and isinstance(Function.apply, types.MethodType)
