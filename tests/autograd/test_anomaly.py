"""The contract of the detection of anomalies, and of gradcheck and gradgradcheck."""

from __future__ import annotations

import contextlib
import threading
import traceback

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import autograd
from minichainer.errors import GradientToleranceWarning
from minichainer.function_node import FunctionNode

HERE = __file__


def leaf(value=0.0):
    return autograd.Variable(np.array(value), requires_grad=True)


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all='ignore'):
        yield
    assert not autograd.is_anomaly_enabled()


class Failing(autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        raise IndexError('in backward')


class FailingNode(FunctionNode):
    def forward(self, inputs):
        return (inputs[0] * 1,)

    def backward(self, indexes, gradients):
        raise IndexError('in backward')


class FailingOld(chainer.Function):
    def forward(self, inputs):
        return (inputs[0] * 1,)

    def backward(self, inputs, gradients):
        raise IndexError('in backward')


FAILING = {
    'Function': Failing.apply,
    'FunctionNode': lambda x: FailingNode().apply((x,))[0],
    'old-style': lambda x: FailingOld()(x),
}
NAN = {
    'elementwise': lambda x: F.sqrt(x) * 0,
    'reduction': lambda x: F.sqrt(F.sum(x)) * 0,
    'several outputs': lambda x: F.sqrt(F.separate(F.reshape(x, (1,)))[0]) * 0,
    'checkpoint': lambda x: autograd.checkpoint(lambda v: F.sqrt(v) * 0, x),
}
PASSES = {
    'Variable.backward': lambda y, x: y.backward(),
    'double': lambda y, x: y.backward(create_graph=True),
    'chainer.grad': lambda y, x: chainer.grad([y], [x]),
    'backward': lambda y, x: autograd.backward(y),
    'grad': lambda y, x: autograd.grad(y, x, create_graph=True),
}
MODES = {
    'detect_anomaly': autograd.detect_anomaly,
    'set_detect_anomaly': lambda: autograd.set_detect_anomaly(True),
    'debug mode': lambda: chainer.DebugMode(True),
}


def frames_in(text):
    return [line.split('"')[1] for line in text.splitlines() if line.strip().startswith('File "')]


def notes_of(error, capsys):
    return '\n'.join([str(error), *getattr(error, '__notes__', ()), capsys.readouterr().err])


@pytest.mark.parametrize('kind', NAN)
@pytest.mark.parametrize('run', PASSES)
@pytest.mark.parametrize('mode', MODES)
def test_nan_in_backward_shows_the_users_line(kind, run, mode, capsys):
    x = leaf()
    with MODES[mode]():
        y = NAN[kind](x)  # the line that is shown
        with pytest.raises(RuntimeError, match='NaN is detected') as error:
            PASSES[run](y, x)
    text = str(error.value)
    if mode == 'debug mode' and run in ('double', 'grad'):  # NaN is found in the forward of an op of the gradient
        text = notes_of(error.value, capsys)
    assert 'NAN[kind](x)  # the line' in text or kind == 'checkpoint'
    assert frames_in(text)[-1] == HERE
    assert x.grad is None and y.grad is None


@pytest.mark.parametrize('kind', FAILING)
@pytest.mark.parametrize('run', PASSES)
@pytest.mark.parametrize('mode', MODES)
def test_errors_in_backward_show_the_users_line(kind, run, mode, capsys):
    x = leaf(2.0)
    with MODES[mode]():
        y = FAILING[kind](x)  # the line that is shown
        with pytest.raises(IndexError, match='in backward') as error:
            PASSES[run](y, x)
    text = notes_of(error.value, capsys)
    assert f'in the backward of {y.creator_node.label}' in text
    assert text.count('Stacktrace of the function') == 1
    assert ('Stacktrace of the function' in str(error.value)) == (mode == 'debug mode')
    assert 'FAILING[kind](x)  # the line' in text
    assert frames_in(text)[-1] == HERE
    assert x.grad is None


def test_the_packages_frames_are_not_shown():
    class Model(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.l = L.Linear(1, 1)

        def forward(self, x):
            return F.sqrt(self.l(x) * 0)  # in the model

    with autograd.detect_anomaly(), pytest.raises(RuntimeError, match='in the model') as error:
        F.sum(Model()(np.ones((1, 1), 'f4'))).backward()
    shown = frames_in(str(error.value))
    assert shown[-1] == HERE and str(error.value).count('minichainer/functions') == 0


def test_without_detection_nan_is_a_value_and_errors_have_no_notes():
    x = leaf()
    NAN['elementwise'](x).backward()
    assert np.isnan(x.grad)
    with pytest.raises(IndexError) as error:
        Failing.apply(leaf()).backward()
    assert not getattr(error.value, '__notes__', [])


def test_detection_entered_only_for_backward_names_the_op():
    y = NAN['elementwise'](leaf())
    with autograd.detect_anomaly(), pytest.raises(RuntimeError, match='backward computation of sqrt') as error:
        y.backward()
    assert 'applied here' not in str(error.value)


def test_check_nan_false_shows_tracebacks_only(capsys):
    x = leaf()
    with autograd.detect_anomaly(check_nan=False):
        NAN['elementwise'](x).backward()
        assert np.isnan(x.grad)
        assert autograd.is_anomaly_enabled() and not autograd.is_anomaly_check_nan_enabled()
        y = Failing.apply(x)  # shown
        with pytest.raises(IndexError) as error:
            y.backward()
    assert '# shown' in notes_of(error.value, capsys)


def test_nan_in_forward_is_an_error_in_debug_mode_only():
    x = leaf(-1.0)
    with autograd.detect_anomaly():
        assert np.isnan(F.sqrt(x).array)
    with chainer.DebugMode(True), pytest.raises(RuntimeError, match='forward computation of sqrt'):
        F.sqrt(x)


def test_infinities_are_not_anomalies():
    x = leaf()
    with autograd.detect_anomaly():
        F.sqrt(x).backward()
    assert np.isinf(x.grad)


def test_the_second_order_shows_the_line_of_the_first_backward():
    x = leaf()
    with autograd.detect_anomaly():
        (gx,) = autograd.grad(x**1.5, x, create_graph=True)  # here
        with pytest.raises(RuntimeError, match='# here'):
            autograd.grad(gx * 0, x)


def test_call_block_and_decorator():
    assert not autograd.is_anomaly_enabled()
    autograd.set_detect_anomaly(True)
    assert autograd.is_anomaly_enabled() and autograd.is_anomaly_check_nan_enabled()
    with autograd.set_detect_anomaly(False):
        assert not autograd.is_anomaly_enabled()
    assert autograd.is_anomaly_enabled()
    autograd.set_detect_anomaly(False)
    assert autograd.detect_anomaly()(autograd.is_anomaly_enabled)()
    with autograd.detect_anomaly():
        autograd.set_detect_anomaly(False)
        assert not autograd.is_anomaly_enabled()
    with pytest.raises(KeyError), autograd.detect_anomaly():
        raise KeyError


def test_it_belongs_to_its_thread():
    found = []
    with autograd.detect_anomaly():
        thread = threading.Thread(target=lambda: found.append(autograd.is_anomaly_enabled()))
        thread.start()
        thread.join()
    assert found == [False]


def test_the_error_keeps_its_own_traceback():
    x = leaf(2.0)
    with autograd.detect_anomaly(), pytest.raises(IndexError) as error:
        Failing.apply(x).backward()
    names = [frame.name for frame in traceback.extract_tb(error.value.__traceback__)]
    assert names[-1] == 'backward' and names[0] == 'test_the_error_keeps_its_own_traceback'


# --- gradcheck -----------------------------------------------------------------------------------------------------
def inexact(x):
    """A square whose gradient is wrong by 1e-4 of it."""

    class Inexact(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return 2.0002 * ctx.saved_tensors[0] * g

    return Inexact.apply(x)


@pytest.mark.parametrize('check', [autograd.gradcheck, autograd.gradgradcheck])
@pytest.mark.parametrize('raises', [True, False])
@pytest.mark.parametrize(
    'inputs',
    [
        (autograd.Variable(np.ones(2)),), autograd.Variable(np.ones(2)), (autograd.Variable(np.ones(2, int)),),
        (np.ones(2, int),), (3, 2.0), (), [],
    ],
)  # fmt: skip
def test_inputs_without_any_gradient_are_a_value_error(check, raises, inputs):
    with pytest.raises(ValueError, match='at least one input that requires a gradient'):
        check(lambda *xs: leaf() * 2, inputs, raise_exception=raises)


@pytest.mark.parametrize('check', [autograd.gradcheck, autograd.gradgradcheck])
def test_right_gradients(check):
    x, c = leaf([0.5, 2.0]), autograd.Variable(np.array([3.0, 4.0]))
    assert check(lambda x, c: F.tanh(x) * c, (x, c)) is True
    assert check(F.tanh, x) is True
    assert x.grad is None


def test_wrong_gradients():
    x = leaf([0.5, 2.0])
    wrong = lambda v: inexact(v) + v.detach()  # noqa: E731
    with pytest.raises(autograd.GradcheckError):
        autograd.gradcheck(wrong, x)
    assert autograd.gradcheck(wrong, x, raise_exception=False) is False


@pytest.mark.parametrize(
    ('tolerances', 'passes'),
    [
        ({'atol': 1e-6, 'rtol': 1e-6}, False),
        ({'atol': 1e-2, 'rtol': 0.0}, True),
        ({'atol': 0.0, 'rtol': 1e-2}, True),
        ({'atol': 1e-5, 'rtol': 1e-3}, True),
    ],
)
def test_explicit_tolerances_are_honoured(tolerances, passes):
    with pytest.warns(GradientToleranceWarning) if passes else contextlib.nullcontext():
        assert autograd.gradcheck(inexact, leaf([1.5, 2.0]), raise_exception=False, **tolerances) is passes
