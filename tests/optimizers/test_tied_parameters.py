"""A parameter that a model has several times: one update for each pass, or Chainer's one for each time."""

from __future__ import annotations

import copy
import itertools
import logging
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
from minichainer import optimizer_hooks as hooks
from minichainer import optimizers
from minichainer.link import Chain, ChainList, _tied
from minichainer.optimizer import GradientMethod
from minichainer.variable import Parameter
from tests.optimizers.models import link_of

OPTIMIZERS = [
    value for value in vars(optimizers).values() if isinstance(value, type) and issubclass(value, GradientMethod)
]
HOOKS: list[Any] = [
    None, hooks.WeightDecay(0.1), hooks.Lasso(0.1), hooks.GradientClipping(0.5), hooks.GradientLARS(),
    hooks.GradientHardClipping(-0.1, 0.1),
    hooks.GradientNoise(0.1, lambda xp, shape, dtype, hook, rule: xp.full(shape, 0.5, dtype)),
]  # fmt: skip


def numbers(size: int, seed: int) -> np.ndarray:
    return np.random.RandomState(seed).uniform(0.5, 1, size).astype('f')


def tied(size: int) -> Chain:
    """W is in two links, and one link with V is in two places."""
    W, inner = Parameter(numbers(size, 0)), link_of(V=Parameter(numbers(3, 1)))
    return Chain(a=link_of(W=W), b=link_of(U=Parameter(numbers(4, 2)), W=W), c=inner, d=ChainList(inner))


def untied(size: int) -> Chain:
    """The same parameters, each once."""
    return Chain(
        a=link_of(W=Parameter(numbers(size, 0))),
        b=link_of(U=Parameter(numbers(4, 2))),
        c=link_of(V=Parameter(numbers(3, 1))),
    )


def trained(model: Chain, optimizer: Any, hook: Any, steps: int = 3) -> list[np.ndarray]:
    """The parameters after some steps, and the states of their rules."""
    optimizer.setup(model)
    if hook is not None:
        optimizer.add_hook(hook)
    for step in range(steps):
        model.cleargrads()
        for k, param in enumerate((model.a.W, model.b.U, model.c.V)):
            param.grad = numbers(param.size, 10 * step + k)
        optimizer.update()
    params = model.a.W, model.b.U, model.c.V
    assert [param.update_rule.t for param in params] == [steps] * 3
    states = [param.update_rule.state or {} for param in params]
    return [*[p.array for p in params], *[np.asarray(s[name]) for s in states for name in sorted(s)]]


@pytest.mark.parametrize('optimizer', OPTIMIZERS, ids=lambda o: o.__name__)
@pytest.mark.parametrize('hook', HOOKS, ids=lambda h: type(h).__name__)
@pytest.mark.parametrize('size', [5, 9000])
def test_an_update_changes_a_tied_parameter_once(optimizer: Any, hook: Any, size: int) -> None:
    found, expected = (trained(model, optimizer(), hook) for model in (tied(size), untied(size)))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize('path', ['W', 'link'])
def test_float32_updates_and_loss_scaling(path: str) -> None:
    W = Parameter(np.ones(3, np.float16))
    first = link_of(W=W)
    model = ChainList(first, link_of(W=W) if path == 'W' else first)
    optimizer = optimizers.SGD(0.5)
    optimizer.use_fp32_update()
    optimizer.setup(model)
    optimizer.loss_scaling(scale=4.0)
    optimizer.update(lambda: chainer.functions.sum(W) * 1.0)
    np.testing.assert_array_equal(W.array, 0.5)


def test_hooks_see_a_tied_parameter_once() -> None:
    model, seen = tied(4), []

    def hook(rule: Any, param: Any) -> None:
        seen.append(param)

    hook.call_for_each_param = True  # type: ignore[attr-defined]
    trained(model, optimizers.SGD(), hook, steps=1)
    assert [id(p) for p in seen] == [id(p) for p in (model.a.W, model.b.U, model.c.V)]


# --- as in Chainer -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(('optimizer', 'value'), [(optimizers.SGD(0.1), 0.8), (optimizers.Adam(0.1), 0.8)])
def test_each_time(optimizer: Any, value: float) -> None:
    W = Parameter(np.ones(3, 'f'))
    with chainer.using_config('tied_parameters', 'each'):
        optimizer.setup(ChainList(link_of(W=W), link_of(W=W)))
        W.grad = np.ones(3, 'f')
        optimizer.update()
    assert W.update_rule.t == 2
    np.testing.assert_allclose(W.array, value, 1e-5)


def test_under_the_alias() -> None:
    program = (
        'import minichainer.compat; minichainer.compat.install(); import chainer, numpy as np; '
        'e, o = (chainer.links.Linear(2, 2, initialW=1, nobias=True) for _ in "eo"); o.W = e.W; '
        'model = chainer.Sequential(e, o); optimizer = chainer.optimizers.SGD(.1).setup(model); '
        'e.W.grad = np.ones((2, 2), "f"); optimizer.update(); print(e.W.array.astype(float).round(3).tolist())'
    )
    done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == '[[0.8, 0.8], [0.8, 0.8]]'
    assert done.stderr.strip() == (
        'SGD.setup: /0/W and /1/W are one parameter, which an update changes 2 times, as in Chainer '
        "(chainer.config.tied_parameters = 'once' changes that)"
    )


# --- what is said, counted and added --------------------------------------------------------------------------------
def test_setup_says_once_which_are_tied(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(_tied, '_said', set())
    monkeypatch.setattr(logging.getLogger(_tied.__name__), 'warning', said.append)
    for _ in range(2):
        optimizers.Adam().setup(tied(2))
        optimizers.Adam().setup(untied(2))
    assert said == [
        'Adam.setup: /a/W and /b/W are one parameter, which an update changes once',
        'Adam.setup: /c/V and /d/0/V are one parameter, which an update changes once',
    ]


def test_count_params_counts_once() -> None:
    assert tied(5).count_params() == untied(5).count_params() == 12


def test_addgrads_adds_once() -> None:
    one, other = tied(2), tied(2)
    for model, seed in ((one, 1), (other, 2)):
        for param in model.params():
            param.grad = numbers(param.size, seed)
    one.addgrads(other)
    for param in one.params():
        np.testing.assert_array_equal(param.grad, numbers(param.size, 1) + numbers(param.size, 2))


def test_params_yields_each_time_as_in_chainer() -> None:
    assert [path for path, _ in tied(2).namedparams()] == ['/a/W', '/b/U', '/b/W', '/c/V', '/d/0/V']
    assert len(list(itertools.chain(tied(2).params()))) == 5


# --- copies ---


def structure(model: chainer.Link) -> list[int]:
    """Which parameters and links of a model are the same: for each path, where its value appears first."""
    values = [value for _, value in (*model.namedparams(), *model.namedlinks())]
    return [next(i for i, other in enumerate(values) if other is value) for value in values]


def tied_in_a_sequence() -> Chain:
    inner = link_of(V=Parameter(numbers(3, 1)))
    layers = chainer.Sequential(inner, link_of(W=inner.V), inner)
    return Chain(layers=layers, first=inner, copied=CopiesTwice(inner))


class CopiesTwice(Chain):
    """A model with a ``copy`` of its own, which copies a child once more."""

    def __init__(self, inner: chainer.Link) -> None:
        super().__init__(inner=inner)
        self.other: Any = None

    def copy(self, mode: str = 'share') -> Any:
        clone = super().copy(mode)
        clone.other = [self.inner.copy(mode)]
        return clone


COPIES = {
    'share': lambda model: model.copy('share'),
    'copy': lambda model: model.copy('copy'),
    'init': lambda model: model.copy('init'),
    'copy of a copy': lambda model: model.copy().copy(),
    'repeat': lambda model: model.repeat(2)[1],
    'repeat and share': lambda model: model.repeat(2, 'share')[1],
    'deepcopy': copy.deepcopy,
}


@pytest.mark.parametrize('make', [lambda: tied(3), tied_in_a_sequence], ids=['chain', 'sequence'])
@pytest.mark.parametrize('name', COPIES)
def test_what_is_tied_is_tied_in_a_copy(name: str, make: Any) -> None:
    model = make()
    clone = COPIES[name](model)
    assert structure(clone) == structure(model)
    assert clone.count_params() == model.count_params()
    assert not {*map(id, model.params())} & {*map(id, clone.params())}
    shares = name in ('share', 'copy of a copy', 'repeat and share')
    for one, other in zip(model.params(), clone.params(), strict=True):
        assert (one.array is other.array) == shares


def test_one_update_of_a_copy_changes_a_tied_parameter_once() -> None:
    model, apart = tied(5), untied(5)
    expected = trained(apart, optimizers.Adam(), None)
    found = trained(model.copy(), optimizers.Adam(), None)
    assert all(map(np.array_equal, found, expected))


def test_two_copies_have_parameters_of_their_own() -> None:
    model = tied(3)
    one, other = model.copy(), model.copy()
    assert one.a.W is not other.a.W and one.c is not other.c


def test_a_copy_that_a_child_makes_for_itself_is_another_one() -> None:
    clone = tied_in_a_sequence().copy()
    assert clone.copied.inner is clone.first
    assert clone.copied.other[0] is not clone.first and clone.copied.other[0].V is not clone.first.V


def test_copies_are_made_anew_after_an_exception(monkeypatch: Any) -> None:
    model = tied(3)
    with monkeypatch.context() as broken:
        broken.setattr(Parameter, '__copy__', lambda self: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            model.copy()
    assert model.c.copy() is not model.c.copy()
    assert model.copy().a is not model.copy().a


def test_copies_are_untied_where_updates_change_tied_parameters_each_time() -> None:
    """The figures of old programs are those of Chainer, which unties them."""
    with chainer.using_config('tied_parameters', 'each'):
        clone = tied(3).copy()
    assert clone.a.W is not clone.b.W and clone.a.W.array is clone.b.W.array
    assert clone.c is not clone.d[0]
