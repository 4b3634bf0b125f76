"""A step with functions.forget is the step without it: values, gradients, states of links, random numbers, orders."""

import random
import threading
import tracemalloc

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L


def data(*shape, seed=0):
    return np.random.RandomState(seed).randn(*shape)


def renormalization():
    link = L.BatchRenormalization(3, rmax=3.0, dmax=2.0)
    link.avg_mean[...], link.avg_var[...] = 0.5, 2.0
    return link


class Own(chainer.Link):
    """State of a user's own: an array changed in place, a list, a number, a cell, and stochastic depth."""

    def __init__(self):
        super().__init__()
        self.average, self.log, self.calls, self.cell = np.zeros(3), [], 0, None
        with self.init_scope():
            self.w = chainer.Parameter(np.full(3, 1.5))

    def forward(self, x):
        self.average += x.array.mean(0)
        self.log.append(len(self.log))
        self.calls += 1
        y = F.tanh(x * self.w) * self.average.copy() * self.calls
        if random.random() < 0.5:
            y = y * 2
        if self.cell is not None:
            y = y + self.cell
        self.cell = y * self.w
        return y


class Net(chainer.Chain):
    def __init__(self, **links):
        super().__init__(**links)
        self.inside = lambda f, *xs: f(*xs)  # or forget, for nesting

    def forward(self, x):
        for link in self.children():
            x = self.inside(lambda v, link=link: F.dropout(link(v)), x)
        return x

    def encode(self, x):
        return F.tanh(self(x)), x


def nested():
    net = Net(a=L.BatchNormalization(3), b=renormalization(), c=L.LSTM(3, 3))
    net.inside = F.forget
    return net


def twice(link):
    """A recurrent layer from its state on, so that gradients flow through what a call has left in the link."""
    return lambda x, call: call(link, call(link, x))


ONCE = lambda link: lambda x, call: call(link, x)  # noqa: E731
#: Name: (makes a link or function, how it is called; ``call`` is forget, or calls).
CASES = {
    'dropout': (lambda: F.dropout, ONCE),
    'two draws': (lambda: lambda x: F.zoneout(x, F.dropout(x), 0.3) + F.gumbel_softmax(x, 0.7), ONCE),
    'batch normalization': (lambda: L.BatchNormalization(3), twice),
    'finetuning': (
        lambda: L.BatchNormalization(3),
        lambda link: lambda x, call: call(lambda v: link(v, finetune=True), x),
    ),
    'size from data': (lambda: L.BatchNormalization(axis=0), twice),
    'batch renormalization': (renormalization, twice),
    'decorrelated': (lambda: L.DecorrelatedBatchNormalization(3, groups=1, eps=0.1, dtype='d'), twice),
    'LSTM': (lambda: L.LSTM(3, 3), twice),
    'LSTM from its state': (lambda: L.LSTM(3, 3), lambda link: lambda x, call: call(link, link(x))),
    'StatefulZoneoutLSTM': (lambda: L.StatefulZoneoutLSTM(3, 3), twice),
    'GRU': (lambda: L.StatefulGRU(3, 3), twice),
    'shapes from data, then dropout': (lambda: Net(a=L.Linear(None, 5), b=L.Linear(None, 3)), ONCE),
    'own state': (Own, twice),
    'bound method': (lambda: Net(a=renormalization()), lambda net: lambda x, call: call(net.encode, x)[0]),
    'forward of a link': (renormalization, lambda link: lambda x, call: call(link.forward, x)),
    'classifier': (
        lambda: L.Classifier(L.Linear(3, 4), F.softmax_cross_entropy),
        lambda model: lambda x, call: call(lambda v: model(v, np.arange(5) % 4), x),
    ),
    'nested': (nested, twice),
    'result is an input': (lambda: lambda x: (x, x * x), lambda f: lambda x, call: sum(call(f, x))),
    'an input twice': (lambda: lambda x, y: x * F.exp(y), lambda f: lambda x, call: call(f, x, x)),
    'no_backprop_mode inside': (
        lambda: chainer.no_backprop_mode()(F.tanh),
        lambda f: lambda x, call: call(lambda v: f(v) * v, x),
    ),
    'settings': (
        lambda: F.dropout,
        lambda f: chainer.using_config('train', False)(lambda x, call: call(f, x)),
    ),
}  # fmt: skip


def plainly(f, *xs):
    return f(*xs)


def reached(parts):
    return {name: p for part in parts if isinstance(part, chainer.Link) for name, p in part.namedparams()}


def state_of(part):
    if not isinstance(part, chainer.Link):
        return []
    return [
        entry
        for _, link in part.namedlinks()
        for name, value in sorted(link.__dict__.items())
        if name != '_children' and not isinstance(value, (chainer.Link, set, dict)) and not callable(value)
        for entry in (name, getattr(value, 'array', value))
    ]


def step(name, call, order=1):
    """Everything that is left after a step: value, gradients of input and parameters, states, the next numbers."""
    make, use = CASES[name]
    np.random.seed(1)
    random.seed(1)
    part = make()
    x = chainer.Variable(data(5, 3))
    y = use(part)(F.sin(x), call)
    params = reached([part])
    for p in params.values():
        p.cleargrad()
    weights = data(*y.shape, seed=2) if y.shape else np.array(1.0)
    loss = F.sum(y * weights)
    targets = [x, *params.values()]
    if order == 1:
        loss.backward()
        found = [t.grad for t in targets]
    else:
        first = chainer.grad([loss], targets, enable_double_backprop=True)
        total = sum(F.sum(g * g) for g in first if g is not None)
        found = [*first, *chainer.grad([total], targets)]
        found = [None if g is None else g.array for g in found]
    return [y.array, *found, *state_of(part), np.random.rand(), random.random()]


def assert_same(a, b):
    assert len(a) == len(b)
    for one, other in zip(a, b, strict=True):
        if isinstance(one, (np.ndarray, float)):  # gradients that meet in a parameter may be added in another order
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
        else:
            assert one == other


@pytest.mark.parametrize('order', [1, 2])
@pytest.mark.parametrize('name', CASES)
def test_a_step_is_the_same(name, order):
    with chainer.using_config('dtype', np.dtype('d')):
        assert_same(step(name, plainly, order), step(name, F.forget, order))


def test_arrays_that_functions_update_are_left_as_after_one_call():
    for f, options in ((F.batch_normalization, ()), (F.batch_renormalization, (3.0, 2.0))):
        results = []
        for call in (plainly, F.forget):
            mean, var, x = np.full(3, 0.5), np.full(3, 2.0), chainer.Variable(data(5, 3))
            more = {'update_statistics': True} if options else {}
            one, zero = np.ones(3), np.zeros(3)
            y = call(lambda v: f(v, one, zero, *options, running_mean=mean, running_var=var, **more), x)  # noqa: B023
            y.grad = data(5, 3, seed=1)
            y.backward()
            results.append([x.grad, mean, var])
        assert_same(*results)


# --- what func closes over -----------------------------------------------------------------------------------------
def test_parameters_get_their_gradient_also_where_no_input_needs_one():
    link = L.Linear(3, 2)
    link.cleargrads()
    F.sum(F.forget(link, data(5, 3).astype('f'))).backward()
    np.testing.assert_allclose(link.W.grad, np.tile(data(5, 3).sum(0), (2, 1)), rtol=1e-5)


def test_grad_with_respect_to_what_is_closed_over_and_nothing_beyond_is_done_twice():
    steps = []

    class Counting(chainer.FunctionHook):
        def backward_preprocess(self, function, in_data, out_grad):
            steps.append(function.label)

    w, x = chainer.Parameter(np.array([2.0])), chainer.Variable(np.array([3.0]))
    h = F.exp(w)
    y = F.forget(lambda v: v * h, F.sin(x))
    gh, gw, gx = chainer.grad([y], [h, w, x])
    np.testing.assert_allclose((gh.array, gw.array), (np.sin([3.0]), np.sin([3.0]) * np.exp(2.0)))
    assert w.grad is None
    with Counting():
        F.sum(y).backward()
    np.testing.assert_allclose((w.grad, x.grad), (gw.array, gx.array))
    assert sorted(steps) == ['Forget', 'Sum', '_ * _', 'exp', 'sin']


def test_constants_stay_constants():
    x = chainer.Variable(data(2), requires_grad=False)
    assert not F.forget(F.exp, x).requires_grad
    with chainer.no_backprop_mode():
        assert F.forget(F.exp, chainer.Variable(data(2))).creator is None


def test_an_exception_later_in_the_pass_leaves_every_gradient_and_state():
    class Failing(chainer.FunctionNode):
        def forward(self, inputs):
            return (inputs[0].copy(),)

        def backward(self, indexes, grad_outputs):
            raise ZeroDivisionError

    for failing_again in (False, True):
        link, x = renormalization(), chainer.Variable(data(5, 3).astype('f'))
        link.cleargrads()
        calls = []

        def func(v):
            calls.append(0)  # noqa: B023
            y = link(v)  # noqa: B023
            if failing_again and len(calls) == 2:  # noqa: B023
                raise ZeroDivisionError
            return y

        y = F.forget(func, Failing().apply((x,))[0])
        before, numbers = link.avg_mean.copy(), np.random.get_state()[1].copy()
        with pytest.raises(ZeroDivisionError):
            F.sum(y).backward()
        assert link.gamma.grad is None and x.grad is None and not chainer.config.in_recomputing
        np.testing.assert_array_equal(link.avg_mean, before)
        np.testing.assert_array_equal(np.random.get_state()[1], numbers)


def test_a_function_that_does_something_else_the_second_time_is_an_error():
    results = [[F.exp], [F.exp, F.sin]]
    y = F.forget(lambda v: tuple([f(v) for f in results.pop(0)]), chainer.Variable(data(2)))
    with pytest.raises(RuntimeError, match=r'(?s)forget: func must do the same.*Expect: 1 .*Actual: 2'):
        F.sum(y).backward()


OTHERS = {
    'a factor': (lambda x, n: x * n, 'counter.*1.0 as an element of output 0.*Actual: 2.0'),
    'another function': (lambda x, n: F.cos(x) if n == 1 else F.sin(x), 'as an element of output 0'),
    'a mask': (lambda x, n: x * np.random.default_rng(n).integers(0, 2, x.shape).astype('f'), 'element of output 0'),
    'another order': (lambda x, n: x[::-1] if n == 1 else x * 1, 'element of output 0'),
    'NaN': (lambda x, n: x / (1 if n == 1 else np.float32('nan')), 'Actual: nan in backward'),
    'a shape': (lambda x, n: x if n == 1 else x[:3], r'float32 \(1000,\) as output 0.*Actual: float32 \(3,\)'),
    'a dtype': (lambda x, n: F.cast(x, 'f' if n == 1 else 'd'), 'float32 .* as output 0.*Actual: float64'),
}


@pytest.mark.parametrize('name', OTHERS)
def test_a_second_call_that_computes_something_else_is_an_error(name):
    other, message = OTHERS[name]
    calls = []

    def func(v):
        calls.append(0)
        return other(v * 1, len(calls))

    x = chainer.Variable(np.arange(1, 1001, dtype='f'))
    y = F.forget(func, x)
    with pytest.raises(RuntimeError, match=f'(?s)forget: func must do the same at each call.*{message}'):
        F.sum(y).backward()
    assert x.grad is None


def test_a_second_call_may_differ_by_rounding_and_be_nan_again():
    calls = []

    def func(v):
        calls.append(0)
        return v * np.array([1 + len(calls) * 1e-6, np.nan, np.inf], 'f')

    x = chainer.Variable(np.ones(3, 'f'))
    F.sum(F.forget(func, x)).backward()
    assert x.grad[0] == pytest.approx(1, abs=1e-5)


def test_backward_in_another_thread_sees_the_settings_of_the_first_call():
    seen, results = [], []

    def func(v):
        seen.append((chainer.config.train, chainer.config.dtype, chainer.config.in_recomputing))
        return F.dropout(v)

    x = chainer.Variable(data(5, 3))
    with chainer.using_config('train', False), chainer.using_config('dtype', np.dtype('d')):
        y = F.sum(F.forget(func, x))
    thread = threading.Thread(target=lambda: (y.backward(), results.append(chainer.config.train)))
    thread.start()
    thread.join()
    assert seen == [(False, np.dtype('d'), False), (False, np.dtype('d'), True)] and results == [True]
    np.testing.assert_array_equal(x.grad, np.ones((5, 3)))


# --- memory --------------------------------------------------------------------------------------------------------
def arrays_kept(call, part, count=8, size=1 << 18):
    x = chainer.Variable(np.full((1, size), 0.5, 'f'))
    tracemalloc.start()
    try:
        for _ in range(count):
            x = call(part, x)
        return tracemalloc.get_traced_memory()[0] / (4 * size)
    finally:
        tracemalloc.stop()


class Deep(chainer.Link):
    """Ten results in each call, of which it keeps one as its state and one as what it has computed last."""

    cell = last = None

    def forward(self, x):
        for _ in range(10):
            x = F.tanh(x)
        self.last = x if self.cell is None else F.tanh(x * self.cell)
        self.cell = F.tanh(self.last)
        return self.last


def test_only_what_goes_in_and_out_is_kept():
    assert arrays_kept(plainly, Deep()) > 80
    assert arrays_kept(F.forget, Deep()) < 3 * 8
    assert arrays_kept(F.forget, Deep().forward) < 3 * 8


def test_truncation_releases_what_the_second_call_would_have_needed():
    link, x = L.Linear(1, 1), chainer.Variable(np.ones((1, 1), 'f'))
    link.add_persistent('large', np.zeros(1 << 20))
    tracemalloc.start()
    try:
        y = F.forget(link, x)
        y.unchain_backward()
        assert y.creator is None and tracemalloc.get_traced_memory()[0] < 1 << 20
    finally:
        tracemalloc.stop()
