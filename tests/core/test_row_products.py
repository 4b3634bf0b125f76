"""Weights that are used many times in a pass: their gradients are computed from all uses together, when it ends."""

from __future__ import annotations

import threading
import tracemalloc

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import autograd
from minichainer._pass_table import Parts
from minichainer.backends import cuda

IDS = np.array([[1, 3, 1], [0, 1, 4], [4, 4, -2], [2, 0, 1], [-5, 3, 3], [1, 2, 2]], 'i')


@pytest.fixture
def added(monkeypatch):
    """How many parts passes have added at once, each time."""
    counts, add = [], Parts._add

    def counted(parts, leaf):
        counts.extend(map(len, parts.waiting[leaf].values()))
        add(parts, leaf)

    monkeypatch.setattr(Parts, '_add', counted)
    return counts


def weight(size=192, dtype='f'):
    return chainer.Parameter((np.random.RandomState(1).randn(size, size) / size**0.5).astype(dtype))


def recurrent(W, steps=6):
    """The sum over the steps of h = tanh(h W)."""
    h, total = chainer.Variable(np.random.RandomState(0).randn(3, W.shape[0]).astype(W.dtype)), 0
    for _ in range(steps):
        h = F.tanh(F.linear(h, W))
        total = total + F.sum(h)
    return total


def looked_up(W, steps=6):
    """The sum of the squares of rows of W."""
    return sum((F.sum(F.embed_id(ids, W) ** 2) for ids in IDS[:steps]), start=0)


def ignoring(W, steps=6):
    return sum((F.sum(F.embed_id(ids, W, ignore_label=3) ** 2) for ids in IDS[:steps]), start=0)


def tied(W, steps=6):
    """One matrix for words and for what they predict."""
    return sum((F.sum(F.linear(F.tanh(F.embed_id(ids, W)), W)) for ids in IDS[:steps]), start=0)


def by_differentiable_pass(build, dtype='d', steps=6):
    """The gradient by a differentiable pass, which computes it at each use."""
    W = weight(dtype=dtype)
    (found,) = chainer.grad([build(W, steps)], [W], enable_double_backprop=True)
    return found.array


def by_backward(y, W):
    y.backward()
    return W.grad


def by_grad(y, W):
    return chainer.grad([y], [W])[0].array


builds = pytest.mark.parametrize('build', [recurrent, looked_up, ignoring, tied])
deferring = pytest.mark.skipif(cuda.available, reason='where CuPy is, passes are watched')


@deferring
@pytest.mark.parametrize(
    ('build', 'count'), [(recurrent, [5]), (looked_up, [5]), (ignoring, [5]), (tied, [5, 6])]
)  # fmt: skip
def test_all_uses_but_the_first_are_added_together(added, build, count):
    build(weight()).backward()
    assert sorted(added) == count


@pytest.mark.parametrize('build', [recurrent, looked_up])
def test_a_single_use_is_computed_at_once(added, build):
    build(weight(), 1).backward()
    assert added == []


def test_small_products_are_computed_one_by_one(added):
    recurrent(weight(64)).backward()
    assert added == []


@deferring
def test_lstm_by_step(added):
    link, embed = L.LSTM(96, 96), L.EmbedID(7, 96)
    F.sum(sum(link(embed(ids)) for ids in np.arange(15, dtype='i').reshape(5, 3) % 7)).backward()
    assert sorted(added) == [3, 4, 4]  # the first step has no state


@builds
@pytest.mark.parametrize('how', [by_backward, by_grad])
@pytest.mark.parametrize('dtype', ['e', 'f', 'd'])
def test_gradients_agree_with_those_of_double_backprop(build, how, dtype):
    W = weight(dtype=dtype)
    found = how(build(W), W)
    assert found.dtype == dtype
    assert found.flags.c_contiguous
    assert found.base is None
    rtol = {'e': 2e-2, 'f': 1e-5, 'd': 1e-12}[dtype]
    np.testing.assert_allclose(found, by_differentiable_pass(build), rtol=rtol, atol=rtol)


@pytest.mark.parametrize(
    'build',
    [
        lambda W, _: recurrent(W) + F.sum(W * W),
        lambda W, _: F.sum(W * W) + recurrent(W),
        lambda W, _: F.sum(W * W) + looked_up(W) + F.sum(F.tanh(F.tanh(W))) + F.sum(F.exp(W)),
        lambda W, _: recurrent(F.tanh(W)),
        lambda W, _: looked_up(F.tanh(W)) + looked_up(W),
        lambda W, _: recurrent(F.tanh(W)) + recurrent(W),
        lambda W, _: F.sum(F.linear(W, W)) + recurrent(W),
        lambda W, _: F.sum(F.linear(W, W)) + F.sum(F.linear(W, W)) + looked_up(W),
        lambda W, _: recurrent(W.T),
        lambda W, _: recurrent(W) + F.sum(F.linear(np.zeros((0, 192), W.dtype), W)),
        lambda W, _: looked_up(W) + F.sum(F.embed_id(np.zeros((0,), 'i'), W)),
        lambda W, _: looked_up(W) + F.sum(F.embed_id(np.full((2, 3, 4), 2, 'b'), W)),
        lambda W, _: recurrent(W) + F.sum(F.linear(np.ones((192, 4), W.dtype).T, W) * 2),
        lambda W, _: F.sum(F.transpose(F.embed_id(IDS[0], W)) * 2) + F.sum(F.transpose(F.embed_id(IDS[1], W)) ** 2),
        lambda W, _: F.forget(recurrent, W) + recurrent(W),
        lambda W, _: F.forget(looked_up, W) + looked_up(W),
        lambda W, _: recurrent(W) + F.sum(F.linear(np.ones((4, 192), W.dtype), W, np.ones(192, W.dtype))),
    ],
    ids=[
        'decay', 'decay first', 'decay of embeddings', 'not a leaf', 'embeddings of both', 'both', 'by itself',
        'by itself twice', 'transposed', 'no rows', 'no ids', 'ids of any shape', 'strided', 'strided gradients',
        'forget', 'forget embeddings', 'bias',
    ],
)  # fmt: skip
def test_other_uses_of_the_weight(build):
    W = weight(dtype='d')
    build(W, 6).backward()
    np.testing.assert_allclose(W.grad, by_differentiable_pass(build), rtol=1e-10)


@builds
def test_gradients_add_to_what_is_there(build):
    W = weight(dtype='d')
    build(W).backward()
    once = W.grad
    kept = once.copy()
    build(W).backward()
    np.testing.assert_allclose(W.grad, 2 * kept, rtol=1e-12)
    np.testing.assert_array_equal(once, kept)


def test_upstream_gradients_stay_as_they_were():
    W = weight(dtype='d')
    y, gy = F.embed_id(IDS, W), np.ones((*IDS.shape, 192))
    z = F.embed_id(IDS[:1], W)
    chainer.backward([y, z], [chainer.Variable(gy), chainer.Variable(gy[:1])])
    np.testing.assert_array_equal(gy, 1)


@builds
def test_the_first_gradient_may_belong_to_someone_else(build):
    W, gW = weight(dtype='d'), np.ones((192, 192))
    chainer.backward([W, build(W)], [chainer.Variable(gW), chainer.Variable(np.ones(()))])
    np.testing.assert_array_equal(gW, 1)
    np.testing.assert_allclose(W.grad, 1 + by_differentiable_pass(build), rtol=1e-10)


# --- what watches a pass sees whole gradients at once -------------------------------------------------------------
@builds
def test_hooks_see_whole_gradients(added, build):
    W, seen = weight(dtype='d'), []
    W.register_hook(lambda g: seen.append(g.array.copy()))
    build(W).backward()
    assert added == []
    assert len(seen) == 1
    np.testing.assert_allclose(seen[0], by_differentiable_pass(build), rtol=1e-10)


@builds
def test_hooks_of_functions(added, build):
    W, kinds = weight(dtype='d'), []

    class Hook(chainer.FunctionHook):
        name = 'kinds'

        def backward_postprocess(self, function, in_data, out_grad):
            kinds.append(type(out_grad[0]))

    y = build(W)
    with Hook():
        y.backward()
    assert added == []
    assert len(set(kinds)) == 1
    np.testing.assert_allclose(W.grad, by_differentiable_pass(build), rtol=1e-10)


@builds
@pytest.mark.parametrize('how', [{'retain_grad': True}, {'enable_double_backprop': True}])
def test_watched_and_differentiable_passes_compute_at_once(added, build, how):
    W = weight(dtype='d')
    build(W).backward(**how)
    assert added == []
    np.testing.assert_allclose(W.grad, by_differentiable_pass(build), rtol=1e-10)


def test_nan_is_found_at_its_step():
    W = weight()
    with chainer.using_config('debug', True), np.errstate(all='ignore'):
        y = sum(F.sum(F.sqrt(F.linear(np.zeros((1, 192), 'f'), W))) for _ in range(3))
        with pytest.raises(RuntimeError, match='NaN'):
            y.backward()


# --- what else a pass can be ---------------------------------------------------------------------------------------
@builds
def test_passes_in_threads(build):
    W, found = weight(dtype='d'), []

    def run():
        for _ in range(20):
            found.append(by_grad(build(W), W))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 80
    for gradient in found:
        np.testing.assert_allclose(gradient, by_differentiable_pass(build), rtol=1e-10)


class Nested(chainer.FunctionNode):
    """The identity; its backward runs a pass of its own to the same weight."""

    def __init__(self, W, build):
        self.W, self.build = W, build

    def forward(self, inputs):
        return (inputs[0].copy(),)

    def backward(self, indexes, gys):
        with chainer.force_backprop_mode():
            self.build(self.W).backward()
        return gys


@builds
def test_nested_passes(build):
    W = weight(dtype='d')
    y = F.sum(Nested(W, build).apply((F.tanh(W),))[0]) + build(W)
    y.backward()
    expected = 2 * by_differentiable_pass(build) + 1 - np.tanh(W.array) ** 2
    np.testing.assert_allclose(W.grad, expected, rtol=1e-10)


class Accumulating(chainer.FunctionNode):
    """Twice its input; adds its gradient to what has reached the input itself."""

    def __init__(self, seen):
        self.seen = seen

    def forward(self, inputs):
        return (2 * inputs[0],)

    def backward_accumulate(self, indexes, gys, present):
        self.seen.append(None if present[0] is None else present[0].array.copy())
        return (2 * gys[0] if present[0] is None else present[0] + 2 * gys[0],)


@builds
def test_backward_accumulate_beside_parts(build):
    W = weight(dtype='d')
    early = F.sum(Accumulating([]).apply((W,))[0])
    for y in (build(W) + early, early + build(W)):
        W.cleargrad()
        y.backward()
        np.testing.assert_allclose(W.grad, 2 + by_differentiable_pass(build), rtol=1e-10)


def test_backward_accumulate_sees_whole_sums():
    W, seen = weight(dtype='d'), []
    last = F.sum(Accumulating(seen).apply((W,))[0])
    h = F.tanh(chainer.Variable(np.random.RandomState(0).randn(3, 192)))  # so products have higher levels
    for _ in range(4):
        h = F.linear(h, W)
    (above,) = chainer.grad([F.sum(h)], [W], enable_double_backprop=True)
    (F.sum(h) + last * 0).backward()
    np.testing.assert_allclose(seen[0], above.array, rtol=1e-10)
    np.testing.assert_allclose(W.grad, above.array, rtol=1e-10)


@builds
def test_loss_scale(build):
    W = weight(dtype='d')
    y = build(W)
    y.backward(loss_scale=4.0)
    np.testing.assert_allclose(W.grad, 4 * by_differentiable_pass(build), rtol=1e-10)


@builds
def test_freeing_passes(build):
    W = weight(dtype='d')
    y = build(W)
    autograd.backward(y, retain_graph=False)
    np.testing.assert_allclose(W.grad, by_differentiable_pass(build), rtol=1e-10)
    with pytest.raises(RuntimeError):
        autograd.backward(y)


@builds
def test_saved_tensors_hooks(build):
    W, packed = weight(dtype='d'), []

    def pack(x):
        packed.append(x)
        return len(packed) - 1

    with autograd.graph.saved_tensors_hooks(pack, lambda place: packed[place]):
        y = build(W)
    y.backward()
    np.testing.assert_allclose(W.grad, by_differentiable_pass(build), rtol=1e-10)


@builds
def test_forward_mode_over_reverse(build):
    """The derivative of the gradient in a direction agrees with differences of gradients."""
    direction = np.random.RandomState(3).randn(192, 192)
    W = weight(dtype='d')
    with autograd.forward_ad.dual_level():
        dual = autograd.forward_ad.make_dual(W, direction)
        (gradient,) = chainer.grad([build(dual)], [dual])
        tangent = autograd.forward_ad.unpack_dual(gradient).tangent
    sides = []
    for step in (1e-6, -1e-6):
        V = chainer.Parameter(W.array + step * direction)
        sides.append(by_grad(build(V), V))
    np.testing.assert_allclose(tangent.array, (sides[0] - sides[1]) / 2e-6, rtol=1e-5, atol=1e-7)


def test_weight_standardization():
    with chainer.using_config('dtype', np.float64):  # elements of 100 cancel to 1e-4
        link = L.Linear(192, 192, nobias=True)
    link.add_hook(chainer.link_hooks.WeightStandardization())
    x = np.random.RandomState(0).randn(3, 192)

    def gradient(**how):
        link.cleargrads()
        F.sum(F.tanh(link(F.tanh(link(link(x)))))).backward(**how)
        return link.W.grad if isinstance(link.W.grad, np.ndarray) else link.W.grad.array

    np.testing.assert_allclose(gradient(), gradient(enable_double_backprop=True), rtol=1e-9, atol=1e-10)


def test_an_error_leaves_gradients_as_they_were():
    class Fails(chainer.FunctionNode):
        def forward(self, inputs):
            return (inputs[0].copy(),)

        def backward(self, indexes, gys):
            raise ZeroDivisionError

    W = weight()
    (h,) = Fails().apply((chainer.Variable(np.ones((3, 192), 'f')),))
    for _ in range(4):
        h = F.linear(h, W)
    with pytest.raises(ZeroDivisionError):
        F.sum(h).backward()
    assert W.grad is None


def test_gradients_of_large_embeddings_are_not_made_again(added):
    """Parts need the memory of their rows: 20 lookups in 4 MB take one gradient of 4 MB."""
    W = chainer.Parameter(np.zeros((20000, 50), 'f'))
    y = sum((F.sum(F.embed_id(np.arange(i, i + 10, dtype='i'), W) * 2) for i in range(20)), start=0)
    y.backward()  # imports SciPy's sparse matrices
    W.cleargrad()
    tracemalloc.start()
    y.backward()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(W.grad[:20, 0], [2 * min(i + 1, 10) for i in range(20)])
    if added:
        assert peak <= 1.2 * W.array.nbytes


# --- sizes ---------------------------------------------------------------------------------------------------------
def test_rounding_errors_are_those_of_single_products():
    exact = by_differentiable_pass(recurrent, steps=100)
    W = weight()
    recurrent(W, 100).backward()
    single = by_differentiable_pass(recurrent, 'f', 100)
    assert abs(W.grad - exact).max() <= 1.5 * abs(single - exact).max()


@pytest.mark.parametrize('dtype', ['e', 'f', 'd'])
@pytest.mark.parametrize('ignore_label', [None, 3])
def test_many_rows(added, dtype, ignore_label):
    """Enough for sums by a sparse matrix, and more than a leaf collects."""
    rng = np.random.RandomState(0)
    W, ids = chainer.Parameter(np.zeros((30, 40), dtype)), rng.randint(-30, 30, (30, 50))
    weights = rng.randint(-4, 5, (30, 50, 40)).astype(dtype)
    sum((F.sum(F.embed_id(i, W, ignore_label) * w) for i, w in zip(ids, weights, strict=True)), start=0).backward()
    expected = np.zeros((30, 40))
    kept = np.full(ids.shape, True) if ignore_label is None else ids != ignore_label
    np.add.at(expected, ids[kept], weights[kept])
    np.testing.assert_array_equal(W.grad, expected)
    assert cuda.available or added == [8, 8, 8, 5]


@deferring
def test_few_rows_are_kept():
    """Gradients of 256 x 256 and rows of 16: without a bound, 400 uses would keep 400 gradients of rows."""
    size, steps = 256, 400
    W = weight(size)
    xs = [chainer.Variable(np.ones((16, size), 'f')) for _ in range(steps)]
    y = sum((F.sum(F.tanh(F.linear(x, W))) for x in xs), start=0)
    tracemalloc.start()
    y.backward()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    inputs = steps * 16 * size * 4  # the gradients of xs, which are leaves
    assert peak <= inputs + 8 * W.array.nbytes
