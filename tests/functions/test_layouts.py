"""Images may lie in memory with their channels last: no op cares, and nobody outside ever sees it.

The strides of results are unspecified; values, shapes and what users get are not.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import serializers
from tests.functions.checks import Function, bound, close, derivative_of, gradients, upstream_of
from tests.functions.row import Case, Row
from tests.functions.table import CASES

#: For each input in turn, and for the upstream gradients, whether its channels come last in memory.
LAYOUTS = {'channels last': (True,), 'mixed': (True, False), 'mixed the other way': (False, True)}


def channels_last(x: np.ndarray) -> np.ndarray:
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)


def laid_out(arrays: Sequence[np.ndarray], layout: str) -> list[np.ndarray]:
    """The same arrays; those that are images as the layout says, in turn."""
    turns, count, result = LAYOUTS[layout], 0, []
    for array in arrays:
        if array.ndim == 4:
            last = turns[count % len(turns)]
            array, count = channels_last(array) if last else np.ascontiguousarray(array), count + 1
        result.append(array)
    return result


def random(*shape: int, dtype: str = 'd') -> np.ndarray:
    return np.random.RandomState(sum(shape)).uniform(-1, 1, shape).astype(dtype)


def check_layout(function: Function, xs: Sequence[np.ndarray], layout: str, order: int, what: str) -> None:
    """Compares results and gradients with those for C-contiguous arrays, up to an order."""
    arguments = [np.ascontiguousarray(x) for x in xs]
    for level in range(order + 1):
        other = laid_out(arguments, layout)
        results = [[y.array for y in function(*map(chainer.Variable, values))] for values in (arguments, other)]
        for plain, moved in zip(*results, strict=True):
            assert moved.shape == plain.shape and moved.dtype == plain.dtype
            close(moved, plain, 'd', f'{what}: gradients of order {level}' if level else what)
        if level == order:
            break
        gys = upstream_of(function, arguments, seed=level)
        moved_gys = laid_out(gys, 'channels last' if layout == 'mixed the other way' else layout)
        found = [gradients(function, arguments, gys), gradients(function, other, moved_gys)]
        for plain, moved in zip(*found, strict=True):
            assert (plain is None) == (moved is None)
            if plain is not None:
                close(moved, plain, 'd', f'{what}: raw gradients of order {level + 1}')
        function, arguments = derivative_of(function, len(arguments)), [*arguments, *gys]


PLANAR = [pytest.param(row, case, id=name) for name, row, case in CASES if any(len(s) == 4 for s in case.shapes)]


@pytest.mark.parametrize('layout', LAYOUTS)
@pytest.mark.parametrize(('row', 'case'), PLANAR)
def test_every_row_with_images(row: Row, case: Case, layout: str) -> None:
    function, xs = bound(row, case, row.draw(case))
    check_layout(function, xs, layout, min(row.order, 2), f'{row} {case}')


def test_the_table_has_rows_with_images() -> None:
    names = {p.values[0].name for p in PLANAR}
    assert names >= {'convolution_2d', 'deconvolution_2d', 'max_pooling_2d', 'resize_images', 'unpooling_2d', 'shift'}


def _dropped(x: Any) -> Any:
    mask = (np.arange(x.size).reshape(x.shape) % 3 > 0) * 1.5
    return F.dropout(x, 1 / 3, mask=mask)


#: What stands between the layers of a network for images.
BETWEEN_LAYERS: dict[str, tuple[Callable[..., Any], int]] = {
    'relu': (F.relu, 1), 'leaky_relu': (F.leaky_relu, 1), 'sigmoid': (F.sigmoid, 1), 'tanh': (F.tanh, 1),
    'elu': (F.elu, 1), 'softplus': (F.softplus, 1), 'swish': (lambda x: F.swish(x, np.ones(6)), 1),
    'clipped_relu': (lambda x: F.clipped_relu(x, 0.5), 1), 'crelu': (F.crelu, 1),
    'maxout': (lambda x: F.maxout(x, 2), 1), 'softmax': (F.softmax, 1), 'log_softmax': (F.log_softmax, 1),
    'prelu': (lambda x: F.prelu(x, np.full(6, 0.3)), 1), 'dropout': (_dropped, 1),
    'add': (lambda a, b: a + b, 2), 'multiply': (lambda a, b: a * b, 2), 'divide': (lambda a, b: a / (b * b + 1), 2),
    'broadcast': (lambda a, b: a * F.sum(b, axis=(2, 3), keepdims=True), 2),
    'concat': (lambda a, b: F.concat([a, b], axis=1), 2), 'stack': (lambda a, b: F.stack([a, b], axis=2), 2),
    'split': (lambda x: F.split_axis(x, 2, axis=1)[1], 1), 'slices': (lambda x: x[:, ::2, 1:, ::-1], 1),
    'where': (lambda a, b: F.where(np.arange(5) > 2, a, b), 2), 'pad': (lambda x: F.pad(x, 1, 'constant'), 1),
    'flip': (lambda x: F.flip(x, 3), 1), 'transpose': (lambda x: F.transpose(x, (0, 2, 3, 1)), 1),
    'reshape': (lambda x: F.reshape(x, (2, 3, 40)), 1), 'flatten': (F.flatten, 1),
    'mean': (lambda x: F.mean(x, axis=(0, 2, 3)), 1), 'max': (lambda x: F.max(x, axis=(2, 3)), 1),
    'depth2space': (lambda x: F.depth2space(x[:, :4], 2), 1),
    'space2depth': (lambda x: F.space2depth(x[:, :, :, :4], 2), 1),
    'resize': (lambda x: F.resize_images(x, (3, 7)), 1),
    'adaptive': (lambda x: F.adaptive_average_pooling_2d(x, (3, 2)), 1),
    'linear': (lambda x: F.linear(x, np.cos(np.arange(240.0)).reshape(2, 120)), 1),
    'scale': (lambda x: F.scale(x, np.arange(1.0, 7.0), axis=1), 1),
    'bias': (lambda x: F.bias(x, np.arange(1.0, 7.0), axis=1), 1),
}  # fmt: skip


@pytest.mark.parametrize('layout', LAYOUTS)
@pytest.mark.parametrize('name', BETWEEN_LAYERS)
def test_what_stands_between_layers(name: str, layout: str) -> None:
    f, count = BETWEEN_LAYERS[name]
    xs = [np.cos(np.arange(240.0) * (i + 1)).reshape(2, 6, 4, 5) for i in range(count)]
    check_layout(lambda *variables: (f(*variables),), xs, layout, 2, name)


# --- nobody sees it ------------------------------------------------------------------------------------------------
def convolved() -> tuple[chainer.Variable, chainer.Variable]:
    """Images, and a convolution of them that lies in memory with its channels last."""
    x = chainer.Variable(random(2, 3, 5, 6))
    y = F.convolution_2d(x, random(4, 3, 2, 2))
    assert not y.array.flags.c_contiguous
    return x, y


@pytest.mark.parametrize(
    'flat',
    [
        lambda y: F.reshape(y, (2, -1)).array,
        lambda y: F.flatten(y).array,
        lambda y: y.reshape(-1).array,
        lambda y: y.array.ravel(),
        lambda y: y.array.reshape(-1),
        lambda y: y.array.flatten(),
        lambda y: np.array(list(y.array.flat)),
        lambda y: np.frombuffer(y.array.tobytes()),
    ],
    ids=['reshape', 'flatten', 'method', 'ravel', "array's reshape", "array's flatten", 'flat', 'tobytes'],
)
def test_elements_come_in_c_order(flat: Callable[..., Any]) -> None:
    _, y = convolved()
    expected = [y.array[i] for i in np.ndindex(y.shape)]
    np.testing.assert_array_equal(flat(y).reshape(-1), expected)


def test_writing_into_a_result_changes_the_elements_that_were_meant() -> None:
    _, y = convolved()
    before = y.array.copy()
    y.array[1, 2, :, 3] = 7
    y.array[0] += before[1]
    expected = before.copy()
    expected[1, 2, :, 3] = 7
    expected[0] += before[1]
    np.testing.assert_array_equal(y.array, expected)


class Spy(chainer.FunctionNode):
    """A user's function: it views the memory of what it gets as a line, which needs C-contiguous arrays."""

    def __init__(self, seen: list[Any]) -> None:
        self.seen = seen

    def forward(self, inputs: Any) -> Any:
        (x,) = inputs
        self.seen.append(('forward', x.flags.c_contiguous))
        self.retain_inputs((0,))
        return (np.square(x),)

    def backward(self, indexes: Any, gys: Any) -> Any:
        (x,), (gy,) = self.get_retained_inputs(), gys
        self.seen += [('retained', x.array.flags.c_contiguous), ('gradient', gy.array.flags.c_contiguous)]
        return (2 * x * gy,)


class OldSpy(chainer.Function):
    """The same in the style of Chainer's first versions."""

    def __init__(self, seen: list[Any]) -> None:
        self.seen = seen

    def forward(self, inputs: Any) -> Any:
        self.seen.append(('forward', inputs[0].flags.c_contiguous))
        return (np.square(inputs[0]),)

    def backward(self, inputs: Any, gys: Any) -> Any:
        self.seen += [('retained', inputs[0].flags.c_contiguous), ('gradient', gys[0].flags.c_contiguous)]
        return (2 * inputs[0] * gys[0],)


@pytest.mark.parametrize('double', [False, True], ids=['once', 'double backprop'])
@pytest.mark.parametrize('old', [False, True], ids=['FunctionNode', 'Function'])
def test_users_functions_get_contiguous_arrays_and_gradients(old: bool, double: bool) -> None:
    x, y = convolved()
    seen: list[Any] = []
    z = OldSpy(seen)(y) if old else Spy(seen).apply((y,))[0]
    top = F.max_pooling_2d(F.convolution_2d(z, random(2, 4, 2, 2), pad=1), 2)
    top.grad = channels_last(random(*top.shape))
    top.backward(enable_double_backprop=double)
    assert [what for what, _ in seen] == ['forward', 'retained', 'gradient']
    assert all(contiguous for _, contiguous in seen), seen
    assert x.grad is not None and x.grad.shape == x.shape


class Net(chainer.Chain):
    def __init__(self) -> None:
        super().__init__()
        with self.init_scope():
            self.first = L.Convolution2D(3, 4, 3, pad=1)
            self.up = L.Deconvolution2D(4, 5, 2, stride=2)
            self.depthwise = L.Convolution2D(5, 5, 3, groups=5)
            self.last = L.Linear(None, 2)

    def forward(self, x: Any) -> Any:
        h = F.max_pooling_2d(F.relu(self.first(x)), 2)
        h = F.average_pooling_2d(F.relu(self.depthwise(F.tanh(self.up(h)))), 2)
        return self.last(h)


def trained_once(x: np.ndarray) -> Net:
    np.random.seed(0)
    net = Net()
    loss = F.sum(F.square(net(x)))
    net.cleargrads()
    loss.backward()
    return net


def test_parameters_and_their_gradients_are_contiguous_and_do_not_share_memory() -> None:
    x = random(2, 3, 6, 6, dtype='f')
    plain, moved = trained_once(x), trained_once(channels_last(x))
    for (name, p), (_, q) in zip(sorted(plain.namedparams()), sorted(moved.namedparams()), strict=True):
        assert p.array.flags.c_contiguous and p.grad.flags.c_contiguous, name
        assert q.array.flags.c_contiguous and q.grad.flags.c_contiguous, name
        assert not np.shares_memory(p.array, p.grad)
        # Sums over the batch and the image in another order: single precision leaves a few units.
        np.testing.assert_allclose(q.grad, p.grad, rtol=1e-5, atol=1e-5 * abs(p.grad).max(), err_msg=name)


def test_snapshots_are_the_same_whatever_the_layout() -> None:
    x = random(2, 3, 6, 6, dtype='f')
    files = []
    for array in (x, channels_last(x)):
        net = trained_once(array)
        net.first.W.array = np.asfortranarray(net.first.W.array)  # even where a user has assigned such an array
        file = io.BytesIO()
        serializers.save_npz(file, net)
        files.append(np.load(io.BytesIO(file.getvalue())))
    assert sorted(files[0]) == sorted(files[1])
    for name in files[0]:
        np.testing.assert_array_equal(files[0][name], files[1][name])
    restored = Net()
    file.seek(0)
    serializers.load_npz(file, restored)
    np.testing.assert_array_equal(restored.first.W.array, net.first.W.array)
    assert restored.depthwise.W.array.flags.c_contiguous
