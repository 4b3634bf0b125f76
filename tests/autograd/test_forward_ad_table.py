"""Forward mode over every case of every row of the table of functions, and how the tangents are computed."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
from minichainer.autograd import forward_ad
from tests.functions import checks
from tests.functions.checks import bound, close, upstream_of
from tests.functions.numeric import signed
from tests.functions.over_cases import over_cases
from tests.functions.row import Case, Row
from tests.functions.table import CASES

Arrays = list[np.ndarray]
#: The labels of functions without a direct method.
BY_DOUBLE_BACKWARD = set(
    """
    AbsoluteError BatchInv BatchL2NormSquared BatchNormalization CReLU ConnectionistTemporalClassification Contrastive
    CrossCovariance Cumprod DeCov Eigh FixedBatchNormalization GroupNormalization Hinge HuberLoss
    InstanceNormalization Inv InverseSquareRoots LSTM LayerNormalization LocalResponseNormalization LogSoftmax
    MaxPoolingND MeanAbsoluteError MeanSquaredError NStepBiGRU NStepBiLSTM NStepBiRNNReLU NStepBiRNNTanh NStepGRU
    NStepLSTM NStepRNNReLU NStepRNNTanh NegativeSamplingFunction NormalizeL2 Pad PadSequence Prod QR RMSNorm SLSTM SVD
    ScaledDotProductAttention SigmoidCrossEntropy Softmax SoftmaxCrossEntropy SpatialTransformerSampler SquaredError
    TreeLSTM Triplet cholesky det norm slogdet solve
    """.split()
)


def over_rows(order: int, now: int = 99) -> Any:
    """Runs a test for the rows that are differentiable so often: some cases now, all of them in the long run."""
    pairs = [(row, case) for _, row, case in CASES if row.order >= order]
    return over_cases(pairs, is_later=lambda row, number: number >= now)


def directions(xs: Sequence[np.ndarray]) -> Arrays:
    rng = np.random.RandomState(3)
    return [signed(x.shape, rng, x.dtype.char) for x in xs]


def pushed(function: Any, xs: Arrays, vs: Arrays, requires_grad: bool) -> tuple[list[Any], set[str]]:
    """Tangents of the outputs as Variables or None, and the labels of functions that were differentiated twice."""
    with forward_ad.dual_level() as level:
        duals = [
            forward_ad.make_dual(chainer.Variable(x, requires_grad=requires_grad), v)
            for x, v in zip(xs, vs, strict=True)
        ]
        return [forward_ad.unpack_dual(y).tangent for y in function(*duals)], level.by_double_backward


def product(us: Sequence[Any], vs: Sequence[Any]) -> tuple[float, float]:
    """The sum of products, and of their absolute values; a missing array is zero."""
    pairs = [(u.astype('d'), v.astype('d')) for u, v in zip(us, vs, strict=True) if u is not None and v is not None]
    return sum(float((u * v).sum()) for u, v in pairs), sum(float(abs(u * v).sum()) for u, v in pairs)


class _Watching(chainer.FunctionHook):
    """A hook that does nothing: ops then take their general form."""

    name = 'watching'


@pytest.mark.parametrize('how', ['constant', 'watched', 'recorded'])
@over_rows(1, now=2)
def test_tangents_are_adjoint_to_gradients(row: Row, case: Case, how: str) -> None:
    """For upstream gradients u and directions v, <u, J v> is <J^T u, v>."""
    function, xs = bound(row, case, row.draw(case))
    us, vs = upstream_of(function, xs), directions(xs)
    with _Watching() if how == 'watched' else contextlib.nullcontext():
        tangents, twice = pushed(function, xs, vs, how == 'recorded')
    assert twice <= BY_DOUBLE_BACKWARD
    forward, size = product(us, [None if t is None else t.array for t in tangents])
    backward, other_size = product(checks.gradients(function, xs, us), vs)
    assert abs(forward - backward) <= 1e-10 * max(size, other_size, 1.0)


@over_rows(1, now=2)
def test_tangents_have_shapes_and_dtypes_of_results(row: Row, case: Case) -> None:
    for dtype in row.dtypes:
        function, xs = bound(row, case, row.draw(case, dtype))
        results = function(*[chainer.Variable(x) for x in xs])
        tangents, _ = pushed(function, xs, directions(xs), False)
        for t, y in zip(tangents, results, strict=True):
            assert t is None or (t.shape == y.shape and t.dtype == y.dtype)


def test_which_functions_are_differentiated_twice() -> None:
    """All others are elementwise, linear, reductions, or made of such."""
    found: set[str] = set()
    for _, row, case in CASES:
        if row.order >= 1:
            function, xs = bound(row, case, row.draw(case))
            found |= pushed(function, xs, directions(xs), False)[1]
    assert found == BY_DOUBLE_BACKWARD


@over_rows(1, now=2)
def test_one_moving_input_is_a_part_of_all(row: Row, case: Case) -> None:
    """Tangents are linear in the directions: the sum over inputs that move alone is that of all together."""
    function, xs = bound(row, case, row.draw(case))
    if len(xs) < 2:
        return
    vs = directions(xs)
    together, _ = pushed(function, xs, vs, False)
    totals: list[Any] = [0.0] * len(together)
    for i, (x, v) in enumerate(zip(xs, vs, strict=True)):
        with forward_ad.dual_level():
            inputs = [chainer.Variable(other, requires_grad=False) for other in xs]
            inputs[i] = forward_ad.make_dual(x, v)
            found = [forward_ad.unpack_dual(y).tangent for y in function(*inputs)]
        totals = [total if t is None else total + t.array for total, t in zip(totals, found, strict=True)]
    for t, total in zip(together, totals, strict=True):
        close(np.asarray(total), np.zeros(np.shape(total)) if t is None else t.array, 'd', f'{row} {case}')


@over_rows(2)
def test_forward_over_reverse_is_reverse_over_reverse(row: Row, case: Case) -> None:
    """The tangents of gradients are what the gradients' own gradients give, for symmetric second derivatives."""
    function, xs = bound(row, case, row.draw(case))
    us, vs = upstream_of(function, xs), directions(xs)
    leaves = [chainer.Variable(x) for x in xs]
    found = chainer.grad(function(*leaves), leaves, [chainer.Variable(u) for u in us], enable_double_backprop=True)
    chosen = [(g, chainer.Variable(v)) for g, v in zip(found, vs, strict=True) if g is not None and g.requires_grad]
    expected = chainer.grad([g for g, _ in chosen], leaves, [v for _, v in chosen])
    with forward_ad.dual_level():
        leaves = [chainer.Variable(x) for x in xs]
        duals = [forward_ad.make_dual(x, v) for x, v in zip(leaves, vs, strict=True)]
        found = chainer.grad(function(*duals), leaves, [chainer.Variable(u) for u in us])
        tangents = [None if g is None else forward_ad.unpack_dual(g).tangent for g in found]
    for x, t, e in zip(xs, tangents, expected, strict=True):
        zero = np.zeros_like(x)
        actual, desired = [zero if g is None else g.array for g in (t, e)]
        scale = max(np.abs(desired).max(initial=0.0), 1.0)
        np.testing.assert_allclose(actual, desired, rtol=1e-8, atol=1e-9 * scale, err_msg=f'{row} {case}')
