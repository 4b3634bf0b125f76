"""Levels, dual Variables, and what carries tangents; ``test_forward_ad_table.py`` has the functions."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer import autograd, configuration
from minichainer.autograd import forward_ad, functional
from minichainer.autograd.forward_ad import make_dual, unpack_dual

X, V = np.array([0.5, 1.0, 2.0]), np.array([1.0, -1.0, 3.0])


def leaf(array: Any = X) -> chainer.Variable:
    return autograd.Variable(np.array(array), requires_grad=True)


def tangent(y: chainer.Variable) -> Any:
    """The tangent as an array."""
    found = unpack_dual(y).tangent
    return None if found is None else found.array


# --- levels --------------------------------------------------------------------------------------------------------
def test_outside_of_a_level() -> None:
    with pytest.raises(RuntimeError, match='no level'):
        make_dual(X, V)
    x = leaf()
    assert unpack_dual(x) == (x, None)
    with pytest.raises(RuntimeError, match='no level'):
        forward_ad.exit_dual_level()


def test_levels_are_not_nested() -> None:
    with forward_ad.dual_level():
        with pytest.raises(RuntimeError, match='nested'):
            forward_ad.enter_dual_level()
        with pytest.raises(RuntimeError, match='nested'), forward_ad.dual_level():
            pass
        assert (tangent(make_dual(X, V)) == V).all()


def test_the_end_takes_tangents_away() -> None:
    with forward_ad.dual_level():
        x = make_dual(leaf(), V)
        y, several = x * x, F.split_axis(x, 3, 0)
    with forward_ad.dual_level():
        assert [tangent(z) for z in (x, y, *several)] == [None] * 5


def test_an_exception_ends_the_level() -> None:
    before = configuration.nondefault
    with pytest.raises(ZeroDivisionError), forward_ad.dual_level():
        raise ZeroDivisionError
    assert configuration.nondefault == before
    with forward_ad.dual_level():
        assert configuration.nondefault == before + 1


def test_levels_by_name() -> None:
    level = forward_ad.enter_dual_level()
    x = make_dual(X, V, level=level)
    assert (unpack_dual(x, level=level).tangent.array == V).all()
    forward_ad.exit_dual_level(level=level)
    with forward_ad.dual_level():
        for call in (
            lambda: make_dual(X, V, level=level),
            lambda: unpack_dual(x, level=level),
            lambda: forward_ad.exit_dual_level(level=level),
        ):
            with pytest.raises(RuntimeError, match='level'):
                call()


def test_a_level_belongs_to_its_thread() -> None:
    errors = []

    def other() -> None:
        try:
            make_dual(X, V)
        except RuntimeError as error:
            errors.append(str(error))

    with forward_ad.dual_level():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert len(errors) == 1 and 'no level' in errors[0]


def test_decorator() -> None:
    @forward_ad.dual_level()
    def slope(x: Any) -> Any:
        return tangent(F.exp(make_dual(x, np.ones_like(x))))

    for _ in range(2):
        np.testing.assert_allclose(slope(X), np.exp(X))


# --- make_dual and unpack_dual -------------------------------------------------------------------------------------
BAD = {
    'shape': (RuntimeError, X, np.ones(2)),
    'broadcast': (RuntimeError, X, np.ones(1)),
    'int tensor': (ValueError, np.ones(3, 'i'), V),
    'int tangent': (ValueError, X, np.ones(3, 'i')),
    'complex tangent': (ValueError, X, V.astype('D')),
    'number': (TypeError, X, 1.0),
    'list': (TypeError, [1.0], V),
}


@pytest.mark.parametrize('name', BAD)
def test_bad_arguments(name: str) -> None:
    error, tensor, direction = BAD[name]
    with forward_ad.dual_level(), pytest.raises(error, match='make_dual'):
        make_dual(tensor, direction)


def test_a_dual_variable_gets_no_other_tangent() -> None:
    with forward_ad.dual_level():
        x = make_dual(X, V)
        with pytest.raises(RuntimeError, match='already'):
            make_dual(x, V)


def test_unpack_needs_a_variable() -> None:
    with pytest.raises(TypeError, match='unpack_dual'):
        unpack_dual(X)


def test_a_dual_variable_shares_its_array() -> None:
    with forward_ad.dual_level():
        x = leaf()
        dual = make_dual(x, V)
        assert dual is not x and dual.array is x.array and tangent(x) is None
        primal, direction = unpack_dual(dual)
        assert primal.array is x.array and tangent(primal) is None and direction.array is V
        assert make_dual(X, V.astype('f')).dtype == 'd' and tangent(make_dual(X, V.astype('f'))).dtype == 'd'


def test_gradients_flow_through_primal_and_tangent() -> None:
    x, v = leaf(), leaf(V)
    with forward_ad.dual_level():
        y = make_dual(x, v) ** 3
        primal, direction = unpack_dual(y)
        assert primal.requires_grad and direction.requires_grad
        gx, gv = autograd.grad(F.sum(direction), [x, v])
    np.testing.assert_allclose(gx.array, 6 * X * V)
    np.testing.assert_allclose(gv.array, 3 * X * X)


def test_only_the_tangent_is_recorded() -> None:
    v = leaf(V)
    with forward_ad.dual_level():
        for function, slope in ((F.exp, np.exp(X)), (lambda x: F.matmul(x, x), 2 * X)):
            y = function(make_dual(X, v))
            direction = unpack_dual(y).tangent
            assert not y.requires_grad
            np.testing.assert_allclose(autograd.grad(F.sum(direction), v)[0].array, slope)


# --- what carries tangents -----------------------------------------------------------------------------------------
@pytest.mark.parametrize('mode', [chainer.no_backprop_mode, autograd.no_grad, autograd.inference_mode])
def test_without_recording(mode: Any) -> None:
    with forward_ad.dual_level(), mode():
        y = F.softmax(make_dual(leaf(), V)[None] * 2)
        assert y.creator is None
        np.testing.assert_allclose(tangent(y).sum(), 0, atol=1e-12)
        assert abs(tangent(y)).max() > 0.1


def test_constants_have_none() -> None:
    with forward_ad.dual_level():
        x = make_dual(leaf(), V)
        assert tangent(x.detach()) is None
        assert tangent(chainer.Variable(X) * 2) is None
        assert tangent(F.argmax(x)) is None and tangent(F.floor(x)) is None
        assert tangent(F.cast(x, 'i')) is None
        assert tangent(x * chainer.Variable(X)) is not None


def product(x: Any) -> Any:
    return F.sum(F.exp(x) * x[::-1])


def hessian_product() -> Any:
    x = leaf()
    (gx,) = chainer.grad([product(x)], [x], enable_double_backprop=True)
    return chainer.grad([gx], [x], [chainer.Variable(V)])[0].array


BACKWARD = {
    'chainer.grad': lambda x, y: chainer.grad([y], [x])[0],
    'autograd.grad': lambda x, y: autograd.grad(y, x)[0],
    'create_graph': lambda x, y: autograd.grad(y, x, create_graph=True)[0],
    'only_inputs': lambda x, y: autograd.grad(y, x, only_inputs=False)[0],
    'Variable.backward': lambda x, y: (y.backward(), x.grad_var)[1],
    'inputs': lambda x, y: (y.backward(inputs=[x]), x.grad_var)[1],
    'chainer.backward': lambda x, y: (chainer.backward([y], [chainer.Variable(np.array(1.0))]), x.grad_var)[1],
    'autograd.backward': lambda x, y: (autograd.backward(y), x.grad_var)[1],
}


@pytest.mark.filterwarnings('ignore:grad. only_inputs')
@pytest.mark.parametrize('name', BACKWARD)
def test_gradients_have_tangents(name: str) -> None:
    with forward_ad.dual_level():
        x = leaf()
        gradient = BACKWARD[name](x, product(make_dual(x, V)))
        np.testing.assert_allclose(tangent(gradient), hessian_product())
        assert gradient.requires_grad == (name == 'create_graph')
        assert name == 'create_graph' or isinstance(x.grad, np.ndarray) or x.grad is None


def test_upstream_gradients_have_tangents() -> None:
    with forward_ad.dual_level():
        x, v = leaf(), make_dual(X, V)
        for (g,) in (autograd.grad(x * 3, x, v), chainer.grad([x * 3], [x], [v])):
            np.testing.assert_allclose(tangent(g), 3 * V)


def test_a_pass_without_tangents_is_a_plain_one() -> None:
    with forward_ad.dual_level():
        x = leaf()
        product(x).backward()
        assert type(x.edge.grad_value) is np.ndarray
        assert tangent(x.grad_var) is None


@pytest.mark.parametrize('call', [F.forget, autograd.checkpoint])
def test_recomputation(call: Any) -> None:
    with forward_ad.dual_level():
        x, w = make_dual(leaf(), V), make_dual(X, V)
        np.testing.assert_allclose(tangent(call(lambda x: x * w, x)), 2 * X * V)


def test_links() -> None:
    link = chainer.links.Linear(3, 2)
    with forward_ad.dual_level():
        y = link(make_dual(X[None].astype('f'), V[None].astype('f')))
        np.testing.assert_allclose(tangent(y), V[None].astype('f') @ link.W.array.T, rtol=1e-6)


# --- users' functions ----------------------------------------------------------------------------------------------
class Cube(chainer.FunctionNode):
    def forward(self, inputs: Any) -> Any:
        self.retain_inputs((0,))
        return (inputs[0] ** 3,)

    def backward(self, indexes: Any, gys: Any) -> Any:
        (x,) = self.get_retained_inputs()
        return (3 * x * x * gys[0],)


def test_a_function_node_is_differentiated_twice() -> None:
    for requires_grad in (False, True):
        with forward_ad.dual_level() as level:
            (y,) = Cube().apply((make_dual(autograd.Variable(X, requires_grad=requires_grad), V),))
            np.testing.assert_allclose(tangent(y), 3 * X * X * V)
            assert level.by_double_backward == {'Cube'}


class Power(autograd.Function):
    calls = 0

    @staticmethod
    def forward(ctx: Any, x: Any, n: int) -> Any:
        ctx.n = n
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        return x.array**n

    @staticmethod
    def backward(ctx: Any, gy: Any) -> Any:
        (x,) = ctx.saved_tensors
        return gy * ctx.n * x ** (ctx.n - 1), None

    @staticmethod
    def jvp(ctx: Any, v: Any, n: Any) -> Any:
        Power.calls += 1
        (x,) = ctx.saved_tensors
        return v * ctx.n * x ** (ctx.n - 1)


class Plain(autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.array * 2

    @staticmethod
    def backward(ctx: Any, gy: Any) -> Any:
        return gy * 2


@pytest.mark.parametrize('requires_grad', [False, True])
def test_an_autograd_function_uses_its_jvp(requires_grad: bool) -> None:
    Power.calls = 0
    with forward_ad.dual_level() as level:
        x = autograd.Variable(X, requires_grad=requires_grad)
        y = Power.apply(make_dual(x, V), 3)
        np.testing.assert_allclose(tangent(y), 3 * X * X * V)
        assert Power.calls == 1 and not level.by_double_backward
        if requires_grad:
            (g,) = autograd.grad(F.sum(y), x)
            np.testing.assert_allclose(tangent(g), 6 * X * V)


def test_an_autograd_function_without_jvp() -> None:
    with forward_ad.dual_level(), pytest.raises(NotImplementedError, match='jvp'):
        Plain.apply(make_dual(X, V))
    _, found = functional.jvp(Plain.apply, X, V)
    np.testing.assert_allclose(found.array, 2 * V)


def test_an_old_function_has_no_tangent_and_says_so() -> None:
    class Double(chainer.Function):
        def forward(self, inputs: Any) -> Any:
            return (inputs[0] * 2,)

        def backward(self, inputs: Any, gys: Any) -> Any:
            return (gys[0] * 2,)

    for requires_grad in (False, True):
        with forward_ad.dual_level(), pytest.raises(RuntimeError, match='old-style'):
            Double()(make_dual(autograd.Variable(X, requires_grad=requires_grad), V))


def test_users_ops() -> None:
    twice = F.linear_map(lambda m, gy: gy * 2)(lambda xp, x: x * 2)
    dot = F.primitive(
        lambda xp, a, b: xp.asarray(a @ b), (lambda m, g, b: g * b, lambda m, g, a: g * a), linear_in=('a', 'b')
    )
    with forward_ad.dual_level() as level:
        x = make_dual(X, V)
        np.testing.assert_allclose(tangent(twice(x)), 2 * V)
        np.testing.assert_allclose(tangent(dot(x, x)), 2 * X @ V)
        assert not level.by_double_backward
    with pytest.raises(TypeError, match='linear_in'):
        F.primitive(lambda xp, a: a, (lambda m, g: g,), linear_in=('b',))


# --- functional ----------------------------------------------------------------------------------------------------
def test_a_function_is_called_once_for_a_jacobian() -> None:
    calls = []

    def function(x: Any) -> Any:
        calls.append(x)
        return F.dropout(x, 0.5) * x

    found = functional.jacobian(function, X, vectorize=True, strategy='forward-mode')
    assert len(calls) == 1 and found.shape == (3, 3)


def test_functional_under_a_level() -> None:
    with forward_ad.dual_level():
        _, found = functional.jvp(lambda x: x**3, make_dual(X, V), V)
        np.testing.assert_allclose(found.array, 3 * X * X * V)
        (y,) = [functional.jvp(lambda x: x**3, make_dual(leaf(), V), V, create_graph=True)[1]]
        np.testing.assert_allclose(tangent(y), 6 * X * V * V)


# --- memory --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize('requires_grad', [False, True])
def test_nothing_is_kept(requires_grad: bool) -> None:
    """Recorded tangents refer to their results, at which they stand, until the level ends."""
    gc.disable()
    try:
        with forward_ad.dual_level():
            x = make_dual(autograd.Variable(X, requires_grad=requires_grad), V)
            y = F.softmax(F.tanh(x)[None])
            watched = weakref.ref(y.edge), weakref.ref(y.array)
            del x, y
            assert requires_grad or [reference() for reference in watched] == [None, None]
        assert [reference() for reference in watched] == [None, None]
    finally:
        gc.enable()


def test_a_long_level_does_not_grow() -> None:
    with forward_ad.dual_level() as level:
        x = make_dual(X, V)
        for _ in range(5000):
            F.exp(x)
        assert len(level.places) <= 1001


# --- torch ---------------------------------------------------------------------------------------------------------
PROGRAMS = {
    'polynomial': lambda x, lib: x * x * x - 2 * x,
    'exp of sum': lambda x, lib: lib.exp(lib.sum(x)),
    'softmax': lambda x, lib: lib.softmax(x.reshape((1, 3)), 1),
    'maximum': lambda x, lib: lib.maximum(x, x * x * 1.5),
    'product': lambda x, lib: lib.matmul(x.reshape((3, 1)), x.reshape((1, 3))),
}


@pytest.mark.filterwarnings('ignore::DeprecationWarning')  # from importing parts of torch
@pytest.mark.parametrize('name', PROGRAMS)
def test_equal_to_torch(name: str) -> None:
    torch = pytest.importorskip('torch')
    theirs = torch.autograd.forward_ad
    with theirs.dual_level():
        x = theirs.make_dual(torch.tensor(X), torch.tensor(V))
        expected = theirs.unpack_dual(PROGRAMS[name](x, torch)).tangent.numpy()
    with forward_ad.dual_level():
        np.testing.assert_allclose(tangent(PROGRAMS[name](make_dual(X, V), F)), expected)
