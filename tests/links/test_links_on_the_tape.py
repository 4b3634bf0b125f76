"""The compiled tape finds the parameters of links and clears their gradients as its twin in Python does."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.links as L
from minichainer.link import Chain, ChainList, Link, parameters
from minichainer.variable import Parameter

needs_tape = pytest.mark.skipif(parameters.native is None, reason='the compiled tape was not built')


class Counting(Link):
    """A link with methods of its own, which says when they are called."""

    def __init__(self) -> None:
        super().__init__()
        self.called: list[str] = []
        with self.init_scope():
            self.w = Parameter(np.ones(2, 'f'))


class WithItsOwnCleargrads(Counting):
    def cleargrads(self) -> None:
        self.called.append('cleargrads')


class WithItsOwnParams(Counting):
    def params(self, include_uninit: bool = True) -> Iterator[Parameter]:
        self.called.append('params')
        return iter([self.w, self.w])


class ClearingParameter(Parameter):
    def cleargrad(self) -> None:
        self.grad = np.full(2, 7, 'f')


def nested() -> Chain:
    return Chain(
        b=ChainList(L.Linear(2, 3), L.Linear(3, 1, nobias=True)),
        a=L.Linear(2, 2),
        c=Link(**{name: (1,) for name in 'hgfedcba'}),
    )


def with_method_of_its_class(child: Any) -> Chain:
    return Chain(a=L.Linear(2, 2), b=child)


def with_method_of_an_object() -> Chain:
    model = nested()
    model.a.params = lambda include_uninit=True: iter([model.a.b])
    model.a.cleargrads = lambda: None
    return model


def with_other_parameters() -> Chain:
    model = Chain(a=L.Linear(2, 2), b=L.Linear(None, 2))
    with model.init_scope():
        model.p = ClearingParameter(np.ones(2, 'f'))
        model.q = Parameter(np.ones(2, 'f'))
    model.q.cleargrad = lambda: None
    return model


def with_a_lazy_parameter() -> Chain:
    return Chain(a=L.Linear(None, 2), b=L.Linear(2, 2))


def with_one_link_twice() -> ChainList:
    layer = L.Linear(2, 2)
    return ChainList(layer, L.Linear(2, 1), layer)


def without_anything() -> Chain:
    return Chain()


MODELS: list[Callable[[], Any]] = [
    nested, with_method_of_an_object, with_other_parameters, with_a_lazy_parameter, with_one_link_twice,
    without_anything,
    lambda: with_method_of_its_class(WithItsOwnCleargrads()), lambda: with_method_of_its_class(WithItsOwnParams()),
]  # fmt: skip


def outcome(make: Callable[[], Any]) -> list[Any]:
    """Names of parameters in the order of ``params``, what is cleared, and what was called."""
    model = make()
    names = {id(param): path for path, param in model.namedparams()}
    for param in model.params(False):
        param.grad = np.ones(param.shape, 'f')
    found = [names.get(id(param)) for param in model.params()]
    model.cleargrads()
    grads = [repr(param.grad) for _, param in model.namedparams()]
    return [found, grads, [link.called for link in model.links() if isinstance(link, Counting)]]


@pytest.mark.parametrize('make', MODELS)
def test_links_are_walked_as_by_the_twin(make: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    found = outcome(make)
    assert found[0] or make is without_anything
    monkeypatch.setattr(parameters, 'native', None)
    assert found == outcome(make)


@needs_tape
@pytest.mark.parametrize(('make', 'here'), [(nested, True), (with_method_of_an_object, False)])
def test_what_is_found_here(make: Callable[[], Any], here: bool) -> None:
    model = make()
    assert (parameters.native.params(model) is not None) == here
    assert (parameters.native.cleargrads(model) is True) == here


def test_a_link_without_init_says_so() -> None:
    class Forgetful(Link):
        def __init__(self) -> None:
            pass

    for call in (lambda: list(Forgetful().params()), Forgetful().cleargrads):
        with pytest.raises(RuntimeError, match=r'call super\(\).__init__\(\) first in Forgetful'):
            call()


def test_an_error_of_a_parameter_is_raised() -> None:
    class Failing(Parameter):
        def cleargrad(self) -> None:
            raise ZeroDivisionError

    model = nested()
    with model.init_scope():
        model.failing = Failing(np.ones(2, 'f'))
    with pytest.raises(ZeroDivisionError):
        model.cleargrads()


def test_a_link_that_contains_itself_is_an_error() -> None:
    model = ChainList()
    model.append(model)
    for call in (lambda: list(model.params()), model.cleargrads):
        with pytest.raises(RecursionError):
            call()


def test_a_lazy_parameter_needs_no_gradient_after_clearing() -> None:
    model = with_a_lazy_parameter()
    model.cleargrads()
    model.a(np.ones((1, 2), 'f'))
    assert model.a.W.grad is None


@needs_tape
def test_walks_leave_nothing_behind() -> None:
    model = nested()
    held = [model, *model.links(), *model.params(), model.a._params]

    def counts() -> list[int]:
        return [*map(sys.getrefcount, held), len(gc.get_objects())]

    gc.collect()
    before = counts()
    for _ in range(500):
        list(model.params())
        model.cleargrads()
    gc.collect()
    assert np.abs(np.subtract(counts(), before)).max() < 50


def test_clearing_is_seen_by_those_who_hold_the_node() -> None:
    x = chainer.Parameter(np.ones(2, 'f'))
    node = x.node
    model = Link()
    with model.init_scope():
        model.x = x
    x.grad = np.ones(2, 'f')
    model.cleargrads()
    assert x.grad is None and node.grad is None
