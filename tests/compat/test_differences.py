"""The table of docs/porting.md of what differs on purpose: each row is true, and none is without a test."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import Chain, ChainList, Parameter, Sequential, Variable, errors, initializers
from minichainer.computational_graph import build_computational_graph

PAGE = (Path(__file__).resolve().parents[2] / 'docs' / 'porting.md').read_text(encoding='utf-8')
TABLE = PAGE.partition('### Objects: what differs on purpose')[2]
ROWS = [line.split(' | ')[0].removeprefix('| ') for line in TABLE.splitlines() if re.match(r'\| (?!what \|)', line)]
CHECKS: dict[str, Callable[[], None]] = {}


def row(beginning: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """The test of the row that begins so."""

    def put(check: Callable[[], None]) -> Callable[[], None]:
        (name,) = [text for text in ROWS if text.startswith(beginning)]
        assert name not in CHECKS, name
        CHECKS[name] = check
        return check

    return put


def ones(*shape: int) -> Any:
    return np.ones(shape, np.float32)


class Twice(chainer.FunctionNode):
    def forward(self, inputs: Any) -> Any:
        return (2 * inputs[0],)

    def backward(self, indexes: Any, grad_outputs: Any) -> Any:
        return (2 * grad_outputs[0],)


class Record(chainer.FunctionHook):
    """What a hook sees."""

    def __init__(self) -> None:
        self.forward: list[str] = []
        self.saved: dict[str, list[bool]] = {}

    def forward_preprocess(self, function: Any, in_data: Any) -> None:
        self.forward.append(function.label)

    def backward_preprocess(self, function: Any, in_data: Any, out_grad: Any) -> None:
        self.saved[function.label] = [x is not None for x in in_data]


def seen(y: Variable) -> list[str]:
    nodes = build_computational_graph([y]).nodes
    return [node.label for node in nodes if isinstance(node, chainer.FunctionNode)]


# --- functions ---------------------------------------------------------------------------------------------------
@row('`T()(x)`')
def _() -> None:
    np.testing.assert_array_equal(Twice()(Variable(ones(3)))[0].array, 2 * ones(3))


@row('a backward that returns')
def _() -> None:
    class Wrong(chainer.FunctionNode):
        def forward(self, inputs: Any) -> Any:
            return (inputs[0] * 1,)

        def backward(self, indexes: Any, grad_outputs: Any) -> Any:
            return (Variable(ones(1, 3)),)

    x = Variable(ones(2, 3))
    for graph in (False, True):
        with pytest.raises(ValueError, match='Wrong returned a wrong gradient for input 0'):
            chainer.grad([F.sum(Wrong().apply((x,))[0])], [x], enable_double_backprop=graph)


@row('a gradient that reaches')
def _() -> None:
    x, y, g = Variable(ones(3)), Variable(ones(3)), ones(3)
    z = x + y
    z.grad = g
    z.backward()
    F.sum(x).backward()
    arrays = [x.grad, y.grad, g]
    for i, array in enumerate(arrays):
        assert array.flags.writeable and array.flags.c_contiguous
        assert not any(np.shares_memory(array, other) for other in arrays[:i])
    target = Variable(ones(3))
    target.addgrad(x)
    assert target.grad is not x.grad


@row('`in_data` of hooks')
def _() -> None:
    h = Variable(ones(3)) * 2
    with Record() as record:
        (F.sum(h * h) + F.sum(F.exp(h))).backward()
    assert record.saved['_ * _'] == [True, True] and record.saved['exp'] == [False]


@row('functions that a backward pass')
def _() -> None:
    y = F.sum(F.exp(Variable(ones(3))))
    with Record() as record:
        y.backward()
        assert record.forward == []
        y.backward(enable_double_backprop=True)
    assert 'BroadcastTo' in record.forward


@row('nodes of composed functions')
def _() -> None:
    x, w = Variable(ones(2, 3)), Variable(ones(3))
    for y in (F.selu(x), F.rsqrt(x), F.bias(x, w), F.scale(x, w), F.bernoulli_nll(x, x, 'no')):
        assert len(seen(y)) == 1


@row('functions without an input')
def _() -> None:
    assert F.dropout(ones(3)).creator is None
    with chainer.using_config('record_constants', True):
        assert F.dropout(ones(3)).creator.mask.shape == (3,)


@row('`y.grad` after')
def _() -> None:
    with chainer.using_config('record_constants', True):
        y = F.sum(ones(3))
        y.backward()
    assert y.grad == 1 and y.is_leaf


@row('`node.data` of')
def _() -> None:
    x = Variable(ones(3))
    y = F.exp(F.exp(x))
    first = y.creator.inputs[0]
    assert first.creator.inputs[0].data is x.array and first.data is None


@row('order of `build_computational_graph')
def _() -> None:
    x = Variable(ones(3), name='x')
    graph = build_computational_graph([F.sum(F.exp(x) * 2)])
    labels = ['x: (3), float32', 'exp', '(3), float32', '_ * 2', '(3), float32', 'Sum', 'float32']
    assert [getattr(n, 'name', None) or n.label for n in graph.nodes] == ['x', *labels[1:]]
    assert re.findall('label="(.*?)"', graph.dump()) == labels


# --- Variables ---------------------------------------------------------------------------------------------------
@row('`x.backward()` of a leaf')
def _() -> None:
    with pytest.raises(errors.NoUpstreamError, match=r'set y\.grad'):
        Variable(ones(3)).backward()


@row('`Variable(x, grad=g)`')
def _() -> None:
    with pytest.raises(errors.GradientShapeError):
        Variable(ones(3), grad=ones(4))


@row('a `forward` that returns')
def _() -> None:
    class Total(chainer.FunctionNode):
        def forward(self, inputs: Any) -> Any:
            return (inputs[0].sum(),)

    assert type(Total().apply((ones(3),))[0].array) is np.ndarray


@row('`float(y)`')
def _() -> None:
    y = Variable(np.array(1.5))
    assert (float(y), int(y), f'{y:.2f}') == (1.5, 1, '1.50')


@row('operators of two integer')
def _() -> None:
    x = Variable(np.full(3, 7))
    assert (x * x).dtype == (x + x).dtype == (x // x).dtype == x.dtype
    np.testing.assert_array_equal(F.where(np.array([True, False]), Variable(ones(2)), 3.0).array, [1, 3])


@row('`numpy.matrix`')
def _() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        assert type(Variable(np.matrix([[1.0]])).array) is np.ndarray
    assert errors.MatrixWarning in [w.category for w in caught]
    assert type(Variable(np.ma.array([1.0, 2.0])).array) is np.ndarray
    with pytest.raises(TypeError, match='mask'):
        Variable(np.ma.array([1.0, 2.0], mask=[True, False]))


@row('`Parameter().dtype`')
def _() -> None:
    assert Parameter().dtype == np.float32
    with chainer.using_config('dtype', np.float64):
        assert Parameter().dtype == np.float64


# --- links -------------------------------------------------------------------------------------------------------
@row("hooks of a link's")
def _() -> None:
    link = L.Linear(3, 2).add_hook(chainer.link_hooks.TimerHook())
    clone = link.copy()
    clone.delete_hook('TimerHook')
    assert list(link.local_link_hooks) == ['TimerHook'] and not clone.local_link_hooks


class Counting(initializers.Constant):
    drawn: ClassVar[list[float]] = []

    def __call__(self, array: Any) -> None:
        super().__call__(array)
        self.drawn.append(float(array.flat[0]))


@row("`chain.copy('init')`")
def _() -> None:
    chain = Chain(b=Chain(W=L.Linear(1, 1, True, Counting(2))), a=L.Linear(1, 1, True, Counting(1)))
    Counting.drawn.clear()
    chain.copy('init')
    assert Counting.drawn == [1, 2, 1, 2, 2]


@row('parameters of a ChainList itself')
def _() -> None:
    links = ChainList()
    with links.init_scope():
        links.W = Parameter(initializers.Normal(), (3,))
    assert not np.shares_memory(links.copy('copy').W.array, links.W.array)
    assert not np.allclose(links.copy('init').W.array, links.W.array)


@row('`chainlist[-1] = link`')
def _() -> None:
    links = ChainList(L.Linear(1, 1), L.Linear(1, 1))
    links[-1] = L.Linear(1, 1)
    assert links[1].name == '1'


@row('`ChainList(f)`')
def _() -> None:
    for wrong in (lambda: ChainList(F.relu), lambda: ChainList().append(F.relu)):  # type: ignore[arg-type]
        with pytest.raises(TypeError, match='non-link'):
            wrong()


@row('`repr(link)`')
def _() -> None:
    link = Sequential(L.Linear(3, 2), F.relu)
    assert repr(link) == str(link)


@row('`copyparams`, `addgrads`')
def _() -> None:
    target, source = Chain(a=L.Linear(3, 2), b=L.Linear(3, 2)), Chain(a=L.Linear(3, 2))
    before = target.a.W.array.copy()
    with pytest.raises(errors.UnlikeLinkError, match=r'/b/W: missing\n.*/b/b: missing'):
        target.copyparams(source)
    np.testing.assert_array_equal(target.a.W.array, before)


@row('`link.zerograds()`')
def _() -> None:
    with pytest.warns(DeprecationWarning, match='zerograds is deprecated') as caught:
        L.Linear(3, 2).zerograds()
    assert len(caught) == 1


@row('`load_npz` and the others')
def _() -> None:
    class Counting:
        calls: ClassVar[list[bool]] = []

        def serialize(self, serializer: Any) -> None:
            self.calls.append(isinstance(serializer, chainer.Deserializer))

    file = io.BytesIO()
    np.savez(file, x=1)
    file.seek(0)
    chainer.serializers.load_npz(file, Counting())
    assert Counting.calls == [False, True]


@row('`F.forget` in a pass')
def _() -> None:
    x = Variable(np.array([2.0]))
    (gx,) = chainer.grad([F.forget(lambda v: v * v * v, x)], [x], enable_double_backprop=True)
    assert chainer.grad([gx], [x])[0].array == 12


@row('`check_double_backward` with')
def _() -> None:
    x = np.array([0.3, 0.6], 'e')
    with pytest.raises(ValueError, match='differ in shape or dtype'):
        chainer.gradient_check.check_double_backward(F.exp, x, np.ones(2, 'f'), x, dtype='d', atol=1e-2)


# --- words -------------------------------------------------------------------------------------------------------
@row('means of a `Summary`')
def _() -> None:
    summary = chainer.reporter.Summary()
    summary.add(np.float32(1))
    assert type(summary.compute_mean()) is float


@row('warnings that Chainer')
def _() -> None:
    (line,) = [line for line in TABLE.splitlines() if line.startswith('| warnings')]
    named = re.findall('`([A-Za-z]+Warning)`', line)
    # The others are those of gradient checks, which Chainer does not have in this form.
    own = {name for name in dir(errors) if name.endswith('Warning') and not name.startswith(('Gradient', 'Upstream'))}
    assert set(named) == own


@row('`link.disable_update()`')
def _() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        L.Linear(3, 2).disable_update()


@pytest.mark.parametrize('name', ROWS)
def test_each_row_is_true(name: str) -> None:
    CHECKS[name]()


def test_every_row_has_its_test() -> None:
    assert len(ROWS) > 20 and len(set(ROWS)) == len(ROWS)
    assert CHECKS.keys() == set(ROWS)
