"""Primitives with several outputs: what their rules get where some outputs have no gradient, or nobody holds them."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer.function_hooks import TimerHook
from minichainer.functions import primitive

X = np.array([1.0, 2.0])
SEEN: list[Any] = []


def _rule(m: Any, gy: Any, given: tuple[bool, ...]) -> Any:
    SEEN.append((type(gy), len(gy), given))
    return sum(gy[1:], gy[0])


def _copies(xp: Any, x: Any, count: int) -> tuple[Any, ...]:
    return tuple([x.copy() for _ in range(count)])


copies = primitive(_copies, (_rule,), name='Copies', several_outputs=True)


@pytest.mark.parametrize('double', [False, True])
@pytest.mark.parametrize(('count', 'used'), [(1, (True,)), (3, (False, True, False)), (2, (True, True))])
def test_gy_is_a_tuple_and_given_says_which_outputs_have_a_gradient(
    count: int, used: tuple[bool, ...], double: bool
) -> None:
    SEEN.clear()
    x = chainer.Variable(X)
    ys = [y for y, is_used in zip(copies(x, count), used, strict=True) if is_used]
    gys = [chainer.Variable(np.ones(2)) for _ in ys]
    (gx,) = chainer.grad(ys, [x], gys, enable_double_backprop=double)
    assert len(SEEN) == 1 and SEEN[0] == (tuple, count, used)
    np.testing.assert_array_equal(gx.array, [sum(used)] * 2)


def test_an_input_of_broadcast_whose_output_is_not_used_has_no_gradient() -> None:
    x, z = chainer.Variable(X), chainer.Variable(np.ones((3, 1)))
    y, _ = F.broadcast(x, z)
    F.sum(y).backward()
    assert z.grad is None
    np.testing.assert_array_equal(x.grad, [3, 3])


def test_the_second_derivative_flows_through_an_output_that_was_dropped() -> None:
    def squares(xp: Any, x: Any) -> tuple[Any, Any]:
        return x * x, 2 * x

    op = primitive(squares, (lambda m, gy, y: gy[0] * y[1] + gy[1] * 2,), name='Squares', several_outputs=True)
    x = chainer.Variable(X)
    y = op(x)[0]
    (gx,) = chainer.grad([F.sum(y)], [x], enable_double_backprop=True)
    (ggx,) = chainer.grad([F.sum(gx)], [x])
    np.testing.assert_array_equal(ggx.array, [2, 2])


def test_eigenvalues_alone_have_a_gradient_where_two_are_equal() -> None:
    a = chainer.Variable(np.eye(3))
    F.sum(F.eigh(a)[0]).backward()
    np.testing.assert_allclose(a.grad, np.eye(3), atol=1e-15)


@pytest.mark.parametrize('in_full', [False, True], ids=['short form', 'with a hook'])
def test_both_forms_of_the_call_record_the_same(in_full: bool) -> None:
    x = chainer.Variable(X)
    with TimerHook() if in_full else nullcontext():
        y, z = copies(x * 2, 2)
    node = y.creator
    assert z.creator is node and node.output_count == 2 and node.rank == 1 and (y.rank, z.rank) == (2, 2)
    assert [out() for out in node.outputs] == [y.node, z.node]
    assert y.node.get_variable() is y and (y.node.shape, y.node.dtype) == ((2,), np.dtype('d'))
    del y
    assert node.outputs[0]() is None
    assert not copies(X, 2)[1].requires_grad


def test_outputs_that_are_scalars_become_arrays() -> None:
    op = primitive(lambda xp, x: (x.sum(), x), (lambda m, gy: gy[0] + gy[1],), name='Mixed', several_outputs=True)
    y, _ = op(chainer.Variable(X))
    assert isinstance(y.array, np.ndarray) and y.shape == ()


@pytest.mark.parametrize('in_full', [False, True], ids=['short form', 'with a hook'])
@pytest.mark.parametrize('body', [lambda xp, x: [x, x], lambda xp, x: (x, 'text')], ids=['list', 'text'])
def test_outputs_must_be_a_tuple_of_arrays(body: Any, in_full: bool) -> None:
    op = primitive(body, (lambda m, gy: gy[0],), name='Faulty', several_outputs=True)
    with TimerHook() if in_full else nullcontext(), pytest.raises(TypeError, match='Faulty'):
        op(chainer.Variable(X))


def test_a_modified_input_is_noticed() -> None:
    op = primitive(lambda xp, x: (x * x, x + x), (lambda m, gy, x: gy[0] * 2 * x,), name='Two', several_outputs=True)
    x = chainer.Variable(X.copy())
    y, _ = op(x)
    x.array[0] = 5
    y.grad = np.ones(2)
    with pytest.warns(chainer.errors.InplaceWarning, match='argument x'):
        y.backward()


def test_zeros_for_outputs_without_a_gradient_do_not_share_memory_with_gradients_of_leaves() -> None:
    op = primitive(lambda xp, x, y, z: (x + 0, y + 0, z + 0), lambda m, gy: gy, name='Three', several_outputs=True)
    leaves = [chainer.Variable(X.copy()) for _ in range(3)]
    z = op(*leaves)[2]
    z.grad = np.ones(2)
    z.backward()
    leaves[0].grad[0] = 7
    np.testing.assert_array_equal(leaves[1].grad, [0, 0])
    np.testing.assert_array_equal(leaves[2].grad, [1, 1])
