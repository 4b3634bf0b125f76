"""Truncated backpropagation: what is cut stays cut, gradients stop there, and the memory behind it goes."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import training
from minichainer.training import extensions

LENGTH, STEPS, UNITS = 3, 12, 4


@pytest.fixture(autouse=True)
def _without_collector() -> Iterator[None]:
    """What goes has to go at once: a cycle would keep it until the collector runs."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class Net(chainer.Chain):
    def __init__(self) -> None:
        super().__init__()
        with self.init_scope():
            self.lstm = L.LSTM(2, UNITS)
            self.out = L.Linear(UNITS, 1)
        random = np.random.RandomState(0)
        for _, param in sorted(self.namedparams()):
            param.array[...] = random.uniform(-1, 1, param.shape)

    def forward(self, x: Any) -> Any:
        return F.sum(self.out(self.lstm(x)) ** 2)


def inputs() -> list[Any]:
    random = np.random.RandomState(1)
    return [random.uniform(-1, 1, (2, 2)).astype('f') for _ in range(STEPS)]


class Truncated(training.StandardUpdater):
    """Sums the losses of some steps, then goes back through them, and cuts."""

    def __init__(self, iterator: Any, optimizer: Any, cut: Callable[[Any], None]) -> None:
        super().__init__(iterator, optimizer)
        self.cut = cut
        self.first_steps: list[Any] = []
        self.gradients: list[dict[str, Any]] = []

    def update_core(self) -> None:
        optimizer = self.get_optimizer('main')
        loss: Any = 0
        for step in range(LENGTH):
            (x,) = self.get_iterator('main').next()
            loss = loss + optimizer.target(chainer.Variable(x))
            if step == 0:
                self.first_steps.append(weakref.ref(optimizer.target.lstm.h.creator))
        optimizer.target.cleargrads()
        loss.backward()
        self.cut(loss)
        chainer.report({'loss': loss})
        self.gradients.append({name: p.grad.copy() for name, p in optimizer.target.namedparams()})


def trained(folder: Any, cut: Callable[[Any], None], *added: Any) -> tuple[Truncated, Net]:
    net = Net()
    iterator = chainer.iterators.SerialIterator(inputs(), 1, shuffle=False)
    updater = Truncated(iterator, chainer.optimizers.SGD(0.0).setup(net), cut)
    with chainer.using_config('keep_graph_on_report', True):
        trainer = training.Trainer(updater, (STEPS // LENGTH, 'iteration'), str(folder), extensions=added)
        trainer.run()
    return updater, net


def gradients_of_a_window(window: int) -> dict[str, Any]:
    """By a fresh graph that begins with the numbers of the states alone."""
    net, xs = Net(), inputs()
    for x in xs[: window * LENGTH]:
        net(x)
    if window:
        net.lstm.set_state(*(chainer.Variable(state.array.copy()) for state in (net.lstm.c, net.lstm.h)))
    loss: Any = 0
    for x in xs[window * LENGTH : (window + 1) * LENGTH]:
        loss = loss + net(x)
    net.cleargrads()
    loss.backward()
    return {name: param.grad for name, param in net.namedparams()}


def by_method(loss: Any) -> None:
    loss.unchain_backward()


def not_at_all(loss: Any) -> None:
    pass


EXTENSION = [extensions.unchain_variables]


@pytest.mark.parametrize(
    ('cut', 'added'), [(by_method, []), (not_at_all, EXTENSION)], ids=['unchain_backward', 'extension']
)
def test_gradients_are_those_of_the_window_alone(cut: Any, added: Any, tmp_path: Any) -> None:
    updater, _ = trained(tmp_path, cut, *[make() for make in added])
    for window, found in enumerate(updater.gradients):
        for name, expected in gradients_of_a_window(window).items():
            np.testing.assert_allclose(found[name], expected, rtol=1e-5, atol=1e-6, err_msg=f'{name}, {window}')


@pytest.mark.parametrize(
    ('cut', 'added'), [(by_method, []), (not_at_all, EXTENSION)], ids=['unchain_backward', 'extension']
)
def test_graphs_go_as_they_are_cut(cut: Any, added: Any, tmp_path: Any) -> None:
    updater, net = trained(tmp_path, cut, *[make() for make in added])
    assert [reference() for reference in updater.first_steps] == [None] * (STEPS // LENGTH)
    assert net.lstm.h.creator is None and net.lstm.c.creator is None


def test_without_a_cut_gradients_and_graphs_go_on(tmp_path: Any) -> None:
    """So that the tests above cannot hold by themselves: this is what a cut that does nothing shows."""
    updater, net = trained(tmp_path, not_at_all)
    assert net.lstm.h.creator is not None
    name = '/lstm/upward/W'
    assert np.abs(updater.gradients[-1][name] - gradients_of_a_window(STEPS // LENGTH - 1)[name]).max() > 1e-3
    assert all(reference() is not None for reference in updater.first_steps)


def chain(n: int) -> list[Any]:
    variables = [chainer.Variable(np.array(0.3))]
    for _ in range(n):
        variables.append(F.tanh(variables[-1]))
    return variables


def test_unchain_cuts_at_one_place_only() -> None:
    variables = chain(6)
    variables[3].unchain()
    assert [v.creator is None for v in variables] == [True, False, False, True, False, False, False]
    variables[6].backward(retain_grad=True)
    assert [v.grad is not None for v in variables] == [False] * 3 + [True] * 4
    variables[2].backward()
    assert variables[0].grad is not None


def test_unchain_backward_cuts_everywhere_behind() -> None:
    variables = chain(6)
    variables[4].unchain_backward()
    assert [v.creator is None for v in variables] == [True] * 5 + [False] * 2
    variables[6].backward(retain_grad=True)
    assert [v.grad is not None for v in variables] == [False] * 4 + [True] * 3


def test_unchain_backward_cuts_branches_and_leaves_what_does_not_lead_here() -> None:
    x = chainer.Variable(np.array(0.3))
    a = F.exp(x)
    b, aside = F.sin(a), F.cos(a)
    joined = b * F.tanh(x)
    joined.unchain_backward()
    assert a.creator is None and b.creator is None and joined.creator is None
    assert aside.creator is not None
    aside.backward()
    assert (a.grad is not None, x.grad) == (True, None)


@pytest.mark.parametrize('cut', ['unchain', 'unchain_backward'])
def test_what_is_behind_a_cut_is_given_back(cut: str) -> None:
    x = chainer.Variable(np.array(0.3))
    h = F.exp(x)
    creators = [weakref.ref(h.creator)]
    for _ in range(3):
        h = F.tanh(h)
        creators.append(weakref.ref(h.creator))
    getattr(h, cut)()
    assert [reference() for reference in creators[:-1]] == [None] * 3  # the last one is a leaf's node now
