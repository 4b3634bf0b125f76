"""minichainer.link_hooks: spectral normalization, weight standardization, and the timer."""

from __future__ import annotations

import io
import pickle
import time
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import link_hooks
from minichainer.gradient_check import check_gradients
from minichainer.link_hooks import SpectralNormalization, TimerHook, WeightStandardization
from minichainer.utils.type_check import InvalidType

X = np.random.RandomState(0).randn(2, 3).astype('f')


def weight_seen(link: Any, *args: Any) -> Any:
    """The weight with which a link computes."""
    seen: list[Any] = []

    class Spy(chainer.LinkHook):
        name = 'Spy'

        def forward_preprocess(self, call: Any) -> None:
            seen.append(call.link.W.array.copy())

    link.add_hook(Spy())
    link(*args)
    link.delete_hook('Spy')
    return seen[0]


def test_what_is_public() -> None:
    assert link_hooks.__all__ == ['SpectralNormalization', 'TimerHook', 'WeightStandardization']


# --- both hooks of weights -----------------------------------------------------------------------------------------
HOOKS = {'spectral': SpectralNormalization, 'standard': WeightStandardization}
each_hook = pytest.mark.parametrize('make', HOOKS.values(), ids=HOOKS)


@each_hook
def test_the_weight_is_replaced_and_put_back(make: Any) -> None:
    link = L.Linear(3, 4)
    W, before = link.W, link.W.array.copy()
    link.add_hook(make())
    assert not np.allclose(weight_seen(link, X), before)
    assert link.W is W
    np.testing.assert_array_equal(W.array, before)


@each_hook
def test_the_weight_is_put_back_after_an_error(make: Any) -> None:
    link = L.Linear(3, 4).add_hook(make())
    W = link.W
    with pytest.raises(InvalidType):
        link(np.ones((2, 5), 'f'))
    assert link.W is W
    link(X)


@each_hook
def test_gradients(make: Any) -> None:
    with chainer.using_config('dtype', np.dtype('d')), chainer.using_config('train', False):
        link = L.Linear(3, 4).add_hook(make())
        if make is SpectralNormalization:  # u is taken for constant, so it must have converged
            hook: Any = link.local_link_hooks['SpectralNormalization']
            hook.n_power_iteration, hook.eps = 200, 0
        assert check_gradients(link, X.astype('d'), params=tuple(link.params()), seed=0)


@each_hook
def test_second_order(make: Any) -> None:
    link = L.Linear(3, 2).add_hook(make())
    link.cleargrads()
    x = chainer.Variable(X)
    (gx,) = chainer.grad([F.sum(link(x) ** 2)], [x], enable_double_backprop=True)
    F.sum(gx**2).backward()
    assert link.W.grad is not None and np.all(np.isfinite(link.W.grad))


@each_hook
def test_sizes_from_data(make: Any) -> None:
    link = L.Convolution2D(None, 4, 3).add_hook(make())
    x = np.random.randn(2, 3, 5, 5).astype('f')
    link(x)
    assert link.W.shape == (4, 3, 3, 3)
    assert ('W_u' in link._persistent) is (make is SpectralNormalization)


@each_hook
def test_it_is_added_to_links_only(make: Any) -> None:
    with pytest.raises(NotImplementedError, match='not supposed to be used as context manager'), make():
        pass  # pragma: no cover


@each_hook
@pytest.mark.parametrize(
    'link', [L.Linear(3, 4, nobias=True), chainer.Chain(W=L.Linear(3, 4))], ids=['none', 'a link']
)
def test_a_link_without_the_weight_is_refused(make: Any, link: Any) -> None:
    name = 'b' if isinstance(link, L.Linear) else 'W'
    with pytest.raises(ValueError, match=f"Weight '{name}' does not exist!"):
        link.add_hook(make(weight_name=name))


@each_hook
def test_copies_and_pickles(make: Any) -> None:
    link = L.Linear(3, 4).add_hook(make())
    with chainer.using_config('train', False):
        expected = link(X).array
        for other in (link.copy('copy'), pickle.loads(pickle.dumps(link))):
            np.testing.assert_array_equal(other(X).array, expected)


SHARING: dict[str, tuple[Any, Any]] = {
    'spectral': (lambda: L.Linear(3, 4).add_hook(SpectralNormalization()), X),
    'spectral, lazy': (lambda: L.Linear(None, 4).add_hook(SpectralNormalization(use_gamma=True)), X),
    'BatchNormalization': (lambda: L.BatchNormalization(3), X),
    'BatchNormalization, lazy': (lambda: L.BatchNormalization(axis=0), X),
    'BatchRenormalization': (lambda: L.BatchRenormalization(3), X),
    'DecorrelatedBatchNormalization': (lambda: L.DecorrelatedBatchNormalization(3, groups=1), X),
}


@pytest.mark.parametrize('name', SHARING)
def test_copies_share_what_training_changes(name: str) -> None:
    """As in Chainer: arrays of a copy are the same objects, whichever of the two is called."""
    make, x = SHARING[name]
    link = make()
    link(x)
    arrays = {
        key: value for key, value in link.__dict__.items() if key in link._persistent and hasattr(value, 'shape')
    }
    assert arrays
    clone, before = link.copy(), {key: value.copy() for key, value in arrays.items()}
    for called in (clone, link):
        called(2 * x)
        assert all(link.__dict__[key] is clone.__dict__[key] is value for key, value in arrays.items())
    assert arrays and all((value != before[key]).any() for key, value in arrays.items())


@each_hook
def test_recomputation(make: Any) -> None:
    """Values, gradients and statistics are those of a call that saves its results."""
    found = []
    for call in (lambda link, x: link(x), F.forget):
        np.random.seed(0)
        link = L.Linear(3, 4).add_hook(make())
        x = chainer.Variable(X)
        F.sum(call(link, x) ** 2).backward()
        found.append([x.grad, link.W.grad, link.__dict__.get('W_u', 0)])
    for plain, again in zip(*found, strict=True):
        np.testing.assert_allclose(again, plain, rtol=1e-5)


@each_hook
@pytest.mark.parametrize('args', [{'weight_name': 1}, {'name': 1}, {'eps': 'x'}])
def test_wrong_arguments(make: Any, args: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=f'{make.__name__}: .* expected as {next(iter(args))}'):
        make(**args)


# --- spectral normalization ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ('make', 'inputs', 'axis'),
    [
        (lambda: L.Linear(3, 4), (X,), 0),
        (lambda: L.Convolution2D(3, 4, 2), (np.ones((1, 3, 4, 4), 'f'),), 0),
        (lambda: L.Deconvolution2D(3, 4, 2), (np.ones((1, 3, 4, 4), 'f'),), 1),
        (lambda: L.DeconvolutionND(1, 3, 4, 2), (np.ones((1, 3, 4), 'f'),), 1),
        (lambda: L.EmbedID(5, 3), (np.array([1, 2]),), 0),
    ],
)
def test_the_largest_singular_value_becomes_one(make: Any, inputs: Any, axis: int) -> None:
    link = make().add_hook(SpectralNormalization(n_power_iteration=300))
    W = weight_seen(link, *inputs)
    assert link.W_u.shape == (W.shape[axis],)
    matrix = np.moveaxis(W, axis, 0).reshape(W.shape[axis], -1)
    assert np.linalg.svd(matrix, compute_uv=False)[0] == pytest.approx(1, rel=1e-3)


def test_factor_and_gamma() -> None:
    link = L.Linear(3, 4)
    largest = np.linalg.svd(link.W.array, compute_uv=False)[0]
    before = link.W.array.copy()
    link.add_hook(SpectralNormalization(n_power_iteration=300, use_gamma=True, factor=2))
    assert link.gamma.array == pytest.approx(largest, rel=1e-5)
    np.testing.assert_allclose(weight_seen(link, X), 2 * before, rtol=1e-3)
    assert [name for name, _ in link.namedparams()] == ['/W', '/b', '/gamma']
    link.delete_hook('SpectralNormalization')
    assert [name for name, _ in link.namedparams()] == ['/W', '/b'] and not hasattr(link, 'W_u')


def test_u_changes_in_training_only() -> None:
    link = L.Linear(3, 4).add_hook(SpectralNormalization())
    before = link.W_u.copy()
    with chainer.using_config('train', False):
        link(X)
    np.testing.assert_array_equal(link.W_u, before)
    link(X)
    assert not np.allclose(link.W_u, before)


@pytest.mark.parametrize(
    ('args', 'error'),
    [
        ({'n_power_iteration': 0}, AssertionError), ({'n_power_iteration': 'x'}, TypeError),
        ({'use_gamma': 'x'}, TypeError), ({'factor': 'x'}, TypeError),
    ],
)  # fmt: skip
def test_wrong_arguments_of_spectral_normalization(args: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match='SpectralNormalization: .* expected as ' + next(iter(args))):
        SpectralNormalization(**args)


def test_a_weight_without_axes_is_refused() -> None:
    with pytest.raises(ValueError, match=r'must have an axis 0, that of outputs, got shape \(\)'):
        L.PReLU().add_hook(SpectralNormalization())


@pytest.mark.parametrize('use_gamma', [False, True])
def test_a_weight_without_outputs_is_refused(use_gamma: bool) -> None:
    link = L.Linear(3, 4)
    link.W.array = np.empty((0, 3), 'f')
    with pytest.raises(ValueError, match=r'expected W.shape\[0\] > 0, got shape \(0, 3\)'):
        link.add_hook(SpectralNormalization(use_gamma=use_gamma))


def test_the_vectors_are_those_of_the_largest_singular_value() -> None:
    hook = SpectralNormalization(n_power_iteration=300)
    link = L.Linear(3, 4).add_hook(hook)
    link(X)
    _, singular_values, vh = np.linalg.svd(link.W.array)
    np.testing.assert_allclose(np.abs(hook.v), np.abs(vh[0]), rtol=1e-3, atol=1e-4)
    assert link.W_u @ link.W.array @ hook.v == pytest.approx(singular_values[0], rel=1e-4)


# --- weight standardization ----------------------------------------------------------------------------------------
@pytest.mark.parametrize('dtype', ['e', 'f', 'd'])
def test_each_output_has_mean_0_and_variance_1(dtype: str) -> None:
    with chainer.using_config('dtype', np.dtype(dtype)):
        link = L.Convolution2D(3, 4, 2, initialW=chainer.initializers.Normal(2)).add_hook(
            WeightStandardization(eps=0)
        )
    W = weight_seen(link, np.ones((1, 3, 4, 4), dtype)).reshape(4, -1)
    assert W.dtype == dtype
    precision = 1e-2 if dtype == 'e' else 1e-5
    np.testing.assert_allclose(W.astype('d').mean(1), 0, atol=precision)
    np.testing.assert_allclose(W.astype('d').std(1), 1, rtol=precision)


def test_a_negative_eps_is_refused() -> None:
    with pytest.raises(ValueError, match=r'WeightStandardization: .*eps, got -1'):
        WeightStandardization(eps=-1)


# --- the timer -----------------------------------------------------------------------------------------------------
class Sleeping(chainer.Link):
    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds

    def forward(self, x: Any) -> Any:
        time.sleep(self.seconds)
        if x is None:
            raise ValueError('no x')
        return x


def test_times_of_links_and_those_below_them() -> None:
    hook = TimerHook()
    model = chainer.Sequential(Sleeping(0.02), Sleeping(0.01))
    with hook:
        model(X)
        model(X)
    names = [name for name, _ in hook.call_history]
    assert names == ['Sleeping', 'Sleeping', 'Sequential'] * 2
    summary = hook.summary()
    assert {name: record['occurrence'] for name, record in summary.items()} == {'Sleeping': 4, 'Sequential': 2}
    assert 0.06 <= summary['Sleeping']['elapsed_time'] <= summary['Sequential']['elapsed_time'] < 1
    assert hook.total_time() == pytest.approx(summary['Sequential']['elapsed_time'])


def test_a_hook_of_one_link_and_an_error() -> None:
    hook, link = TimerHook(), Sleeping(0)
    link.add_hook(hook)
    with pytest.raises(ValueError, match='no x'):
        link(None)
    link(X)
    assert [name for name, _ in hook.call_history] == ['Sleeping', 'Sleeping'] and hook._running == []


def report(hook: TimerHook, **args: Any) -> str:
    file = io.StringIO()
    hook.print_report(file=file, **args)
    return file.getvalue()


HEADER = 'LinkName  ElapsedTime  Occurrence\n'


def test_report() -> None:
    hook = TimerHook()
    assert report(hook) == HEADER
    hook.call_history = [('Linear', 2.0), ('Convolution2D', 0.01), ('Linear', 0.5)]
    assert report(hook).splitlines() == [
        '     LinkName  ElapsedTime  Occurrence',
        '       Linear      2.50sec           2',
        'Convolution2D      0.01sec           1',
    ]
    assert '      10.00ms  ' in report(hook, unit='auto_foreach')
    assert '2500000.00us' in report(hook, unit='us')
    with pytest.raises(KeyError, match=r"unit must be one of 'auto', 'auto_foreach', 'sec', .* got 'min'"):
        report(hook, unit='min')


def test_report_on_the_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    TimerHook().print_report()
    assert capsys.readouterr().out == HEADER
