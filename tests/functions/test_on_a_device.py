"""Every case of the table of functions on a GPU: derivatives of second order and of forward mode, as on the CPU.

Values and gradients of first order are compared in test_table.py, whose tests run on each array module.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
from minichainer.autograd import forward_ad
from minichainer.backends import cuda
from tests.functions import checks
from tests.functions.checks import bound, close, upstream_of
from tests.functions.numeric import signed
from tests.functions.over_cases import over_cases
from tests.functions.row import Case, Row
from tests.functions.table import CASES

pytestmark = pytest.mark.gpu


def over_rows(order: int) -> Any:
    """Runs a test for every case of the rows that are differentiable so often."""
    return over_cases((row, case) for _, row, case in CASES if row.order >= order)


def on_device(arrays: Sequence[np.ndarray]) -> list[Any]:
    return [cuda.to_gpu(array) for array in arrays]


def directions(xs: Sequence[Any]) -> list[np.ndarray]:
    rng = np.random.RandomState(3)
    return [signed(x.shape, rng, x.dtype.char) for x in xs]


def assert_close(found: Sequence[Any], expected: Sequence[Any], xs: Sequence[Any], what: str) -> None:
    """Arrays of the device against those of the host; a missing one is zero."""
    for x, f, e in zip(xs, found, expected, strict=True):
        if f is None or e is None:
            for one in (f, e):
                assert one is None or not checks.on_cpu(one).any(), what
            continue
        assert isinstance(f, type(x)) and f.dtype == e.dtype and f.shape == e.shape, what
        close(f, e, 'd', what)


@over_rows(2)
def test_second_order(row: Row, case: Case) -> None:
    arrays = row.draw(case)
    found: list[Any] = []
    for place in (on_device, list):
        function, xs = bound(row, case, place(arrays))
        gys = upstream_of(function, xs, seed=1)
        derivative, arguments = checks.derivative_of(function, len(xs)), [*xs, *_sent(function, xs, gys)]
        found.append(checks.gradients(derivative, arguments, upstream_of(derivative, arguments, seed=2)))
    function, xs = bound(row, case, on_device(arrays))
    places = [*xs, *_sent(function, xs, upstream_of(function, xs, seed=1))]
    assert_close(*found, places, f'{row} {case}')


def _sent(function: Any, xs: Sequence[Any], gys: Sequence[np.ndarray]) -> list[Any]:
    """Upstream gradients where the outputs live."""
    with chainer.no_backprop_mode():
        ys = function(*[chainer.Variable(x) for x in xs])
    return [y.device.send(gy) for y, gy in zip(ys, gys, strict=True)]


@over_rows(0)
def test_on_another_than_the_current_device(row: Row, case: Case) -> None:
    """Nothing is computed on the current device, nor made there."""
    if cuda.cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip('one GPU only')
    second = chainer.get_device('@cupy:1')
    function, xs = bound(row, case, [second.send(array) for array in row.draw(case)])
    with chainer.no_backprop_mode():
        ys = function(*[chainer.Variable(x) for x in xs])
    assert row.name == 'copy' or all(y.device == second for y in ys)
    if row.order:
        gys = [y.device.send(gy) for y, gy in zip(ys, upstream_of(function, xs), strict=True)]
        for gradients in (checks.gradients(function, xs, gys), checks.differentiable_gradients(function, xs, gys)):
            assert all(g is None or g.device.id == 1 for g in gradients)


@over_rows(1)
def test_forward_mode(row: Row, case: Case) -> None:
    arrays = row.draw(case)
    found: list[Any] = []
    outputs: list[Any] = []
    for place in (on_device, list):
        function, xs = bound(row, case, place(arrays))
        vs = place(directions(xs))
        with forward_ad.dual_level():
            duals = [forward_ad.make_dual(chainer.Variable(x), v) for x, v in zip(xs, vs, strict=True)]
            ys = [forward_ad.unpack_dual(y) for y in function(*duals)]
        found.append([_array(y.tangent) for y in ys])
        outputs = [y.primal.array for y in ys] if place is on_device else outputs
    assert_close(*found, outputs, f'{row} {case}')


def _array(x: Any) -> Any:
    return None if x is None else x.array
