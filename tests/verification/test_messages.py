"""What people see: messages word by word, and from the shell."""

from __future__ import annotations

import io
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import minichainer
import minichainer.functions as F
from minichainer.configuration import config
from minichainer.errors import GradientToleranceWarning
from minichainer.function_node import FunctionNode
from minichainer.gradient_check import check_gradients, main
from minichainer.link.link import Link
from minichainer.links.connection.linear import Linear
from minichainer.links.rnn.lstm import LSTM  # noqa: F401
from minichainer.variable import Parameter
from minichainer.verification.progress import Progress
from minichainer.verification.reporting.explanation import numbers
from minichainer.verification.reporting.message import share
from tests.verification.planting import node, square, uniform

# Upstream gradients of ones make the numbers in the messages easy to check.
pytestmark = pytest.mark.filterwarnings('ignore::minichainer.errors.UpstreamGradientWarning')

X = np.array([[1.0, -2.0], [0.5, 4.0]])
HALF = square(lambda x, gy: x * gy)
P = Parameter(np.array([3.0, -1.0]), name='scale')


def _first_wrong(x, gy):
    gx = 2 * x * gy
    gx[0, 0] *= 1.5
    return gx


SNAPSHOTS = {
    'pass': (
        lambda: check_gradients(F.tanh, X, seed=1),
        """
        check_gradients passed for tanh: the gradients are right, to #e-16 at 50 digits.
        # calls of the function, 10 backward passes; seed 1
        Replay: minichainer.gradient_check.check_gradients(F.tanh, X, seed=1)
        """,
    ),
    'pass by differences': (
        lambda: check_gradients(F.tanh, X, precise=False, seed=1),
        """
        check_gradients passed for tanh: the gradients are right.
        # calls of the function, 10 backward passes; seed 1
        Replay: minichainer.gradient_check.check_gradients(F.tanh, X, precise=False, seed=1)
        """,
    ),
    'factor': (
        lambda: check_gradients(HALF, X, grad_outputs=np.ones((2, 2)), seed=1, rtol=1e-5),
        """
        check_gradients failed for planted: a gradient is wrong.
        output 0, inputs[0] (2, 2) float64: 4 of 4 elements are wrong
          factor: backward gives 0.5 times the gradient
          index   numeric  backward  error / tolerance
          (0, 0)  2        1         5e+04
          (0, 1)  -4       -2        5e+04
          (1, 0)  1        0.5       5e+04
          (1, 1)  8        4         5e+04
        # calls of the function, # backward passes; seed 1
        Replay: minichainer.gradient_check.check_gradients(HALF, X, rtol=1e-05, seed=1)
        """,
    ),
    'kink': (
        lambda: check_gradients(F.absolute, np.array([1.0, 0.0]), grad_outputs=np.ones(2), seed=1),
        """
        check_gradients nondifferentiable for absolute: the function is not differentiable at this point.
        output 0, inputs[0] (2,) float64: 1 of 2 elements is at a kink
          kink: the slopes from the left and from the right differ
          index  left slope  right slope  backward  error / tolerance
          (1,)   -1          1            0
        Move the inputs away from the kink, or pass subgradient=True to accept any value between the two slopes.
        # calls of the function, # backward passes; seed 1
        Replay: minichainer.gradient_check.check_gradients(F.absolute, np.array([1.0, 0.0]), seed=1)
        """,
    ),
    'one wrong': (
        lambda: check_gradients(square(_first_wrong), X, grad_outputs=np.ones((2, 2)), seed=1, rtol=1e-5),
        """
        check_gradients failed for planted: a gradient is wrong.
        output 0, inputs[0] (2, 2) float64: 1 of 4 elements is wrong
          #
          index   numeric  backward  error / tolerance
          (0, 0)  2        3         #
        # calls of the function, # backward passes; seed 1
        Replay: minichainer.gradient_check.check_gradients(planted, X, rtol=1e-05, seed=1)
        """,
    ),
    'a number': (
        lambda: check_gradients(HALF, np.array(3.0), grad_outputs=np.array(1.0), seed=1, rtol=1e-5),
        """
        check_gradients failed for planted: a gradient is wrong.
        output 0, inputs[0] () float64: the only element is wrong
          factor: #
          index  numeric  backward  error / tolerance
          ()     6        3         #
        # calls of the function, # backward passes; seed 1
        Replay: minichainer.gradient_check.check_gradients(HALF, np.array(3.0), rtol=1e-05, seed=1)
        """,
    ),
    'four pairs': (
        lambda: check_gradients(lambda *xs: [HALF(x) for x in xs], (X, 2 * X, 3 * X, 4 * X), seed=1),
        """
        check_gradients failed for <lambda>: a gradient is wrong.
        output #, inputs[#] (2, 2) float64: 4 of 4 elements are wrong
          factor: #
          index #
          #
          #
          and 2 more
        output #, inputs[#] (2, 2) float64: 4 of 4 elements are wrong
          factor: #
          index #
          #
          #
          and 2 more
        output #, inputs[#] (2, 2) float64: 4 of 4 elements are wrong
          factor: #
          index #
          #
          #
          and 2 more
        1 more pair of output and input is affected.
        # calls of the function, # backward passes; seed 1
        Replay: minichainer.gradient_check.check_gradients(func, inputs, seed=1)
        """,
    ),
    'parameter': (
        lambda: check_gradients(lambda x: x * P.array, X, params=P, seed=1),
        """
        check_gradients failed for <lambda>: a gradient is wrong.
        output 0, params[0] (scale) (2,) float64: 2 of 2 elements are wrong
          missing: backward gives None, but the function depends on this input
          index  numeric       backward  error / tolerance
          #
          #
        # calls of the function, # backward passes; seed 1
        Replay: minichainer.gradient_check.check_gradients(func, X, params=P, seed=1)
        """,
    ),
    'not finite': (
        lambda: check_gradients(F.log, np.array([0.0, 1.0]), seed=1),
        """
        check_gradients not_finite for log: the function is not finite at this point.
        output 0
          not finite: output 0 is -inf at (0,) (1 of 2 elements); check the inputs against the domain of the function
        1 call of the function, 0 backward passes; seed 1
        Replay: minichainer.gradient_check.check_gradients(F.log, np.array([0.0, 1.0]), seed=1)
        """,
    ),
}


@pytest.mark.parametrize('name', SNAPSHOTS)
def test_messages(name):
    make, expected = SNAPSHOTS[name]
    lines = [line[8:] for line in expected.strip('\n').splitlines()][:-1]
    actual = make().message.splitlines()
    assert len(actual) == len(lines), '\n'.join(actual)
    for line, pattern in zip(actual, lines, strict=True):
        assert re.fullmatch(re.escape(pattern).replace(r'\#', r'.+?'), line), f'{line!r} is not {pattern!r}'


# How many elements are wrong of how many, whether all are known, and the text
SHARES = {
    (1, 1, 'fail', True): 'the only element is wrong',
    (1, 12, 'fail', True): '1 of 12 elements is wrong',
    (2, 12, 'fail', True): '2 of 12 elements are wrong',
    (1, 12, 'fail', False): 'at least 1 of 12 elements is wrong',
    (1, 2, 'nondifferentiable', True): '1 of 2 elements is at a kink',
    (2, 2, 'nondifferentiable', True): '2 of 2 elements are at a kink',
}


@pytest.mark.parametrize('case', SHARES)
def test_singular_and_plural(case):
    assert share(*case) == SHARES[case]


def test_numbers_that_differ_look_different():
    factor = 1 + 1e-12
    wrong = square(lambda x, gy: 2 * factor * x * gy)
    with pytest.warns(GradientToleranceWarning, match='measured -4, backward -4.000000000004'):
        assert check_gradients(wrong, X, grad_outputs=np.ones((2, 2)), eps=1e-3, seed=0)
    assert numbers(2.0, 2.0 * factor) == ['2', '2.000000000002']
    assert numbers(None, -0.0, float('nan'), float('inf')) == ['None', '0', 'nan', 'inf']
    assert numbers(0.1, 0.1 + 2**-54)[0] != numbers(0.1, 0.1 + 2**-54)[1]


@pytest.mark.parametrize(
    'wrong', [lambda x, gy: x * gy, lambda x, gy: 2 * x * gy * (x > 0), lambda x, gy: 2 * x * abs(gy)]
)
@pytest.mark.parametrize('size', [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_messages_for_large_arrays_fit_one_screen(wrong, size):
    report = check_gradients(square(wrong), uniform(size, size), max_failures=10)
    lines = report.message.splitlines()
    assert not report and len(lines) <= 24 and max(map(len, lines)) <= 118
    assert f'({size}, {size})' in report.message


def test_the_replay_line_repeats_the_report():
    x = X + 1
    reports = [
        check_gradients(HALF, X, order=2, rtol=1e-4),
        check_gradients(HALF, (x,), precise=False),
        check_gradients(F.matmul, (x, X), nondet_tol=1e-9),
        check_gradients(HALF, np.array([1.0, 2.0], 'f'), seed=3),
        check_gradients(F.dropout, x, random='fixed'),
    ]
    for report in reports:
        line = report.message.partition('Replay: ')[2]
        again = eval(line, {**globals(), 'x': x, 'minichainer': minichainer})
        assert again.to_dict() == report.to_dict()


def test_the_replay_line_names_what_it_can():
    link, xs = Linear(2, 2), (X, X)
    reports = {
        "link, np.array([[1.0, -2.0], [0.5, 4.0]], dtype='float32'), params='all'": check_gradients(
            link, X.astype('f'), params='all'
        ),
        'func, X': check_gradients(lambda x: x, xs[0]),
        'func, X, params=P': check_gradients(lambda x: x * P, X, params=P),
        'F.add, (X, X)': check_gradients(F.add, xs),
        'F.sum, inputs': check_gradients(F.sum, np.ones(9)),
        'F.sum, (np.array([1.5]), 0)': check_gradients(F.sum, (np.array([1.5]), 0)),
    }
    for words, report in reports.items():
        line = ' '.join(report.message.partition('Replay: ')[2].split())
        assert line == f'minichainer.gradient_check.check_gradients({words}, seed={report.seed})'


def test_a_wrong_pair_of_many_is_named():
    wrong = node(lambda x, w: (x * w, x + w), lambda xs, a, b: (_sum(xs[1], a, b), _sum(2 * xs[0], a, b)))
    report = check_gradients(wrong, (X, X + 1))
    assert {(f.output, f.input) for f in report.failures} == {(0, 1)}
    assert 'output 0, inputs[1] (2, 2) float64' in report.message


def _sum(x, a, b):
    return sum((g for g in (None if a is None else x * a, b) if g is not None), start=0 * x)


def test_swapped_inputs_are_recognised():
    swapped = node(lambda x, w: x * x * w, lambda xs, gy: (xs[0] * xs[0] * gy, 2 * xs[0] * xs[1] * gy))
    causes = [f.cause for f in check_gradients(swapped, (X, X + 1)).failures]
    assert causes and all(c.startswith('swapped inputs: what backward gives for inputs[') for c in causes)


# From the shell

ROOT = Path(__file__).resolve().parents[2]


def test_the_command():
    command = [sys.executable, '-W', 'error', '-m', 'minichainer.gradient_check']
    arguments = ['minichainer.functions:tanh', '--shape', '3,4', '--seed', '1']
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert done.returncode == 0 and done.stdout.startswith('check_gradients passed for tanh'), done.stderr


def test_the_command_fails_for_a_wrong_gradient(monkeypatch, capsys):
    monkeypatch.setattr(F, 'tanh', HALF)
    assert main(['minichainer.functions:tanh', '--shape', '2,2', '--order', '2', '--dtype', 'float32']) == 1
    assert 'factor: backward gives 0.5 times the gradient' in capsys.readouterr().out


# Importable by the commands below
class Power(FunctionNode):
    def __init__(self, exponent, factor=1.0):
        self.exponent, self.factor = exponent, factor

    def forward(self, inputs):
        self.retain_inputs((0,))
        return (inputs[0] ** self.exponent,)

    def backward(self, indexes, grad_outputs):
        (x,) = self.get_retained_inputs()
        return (self.factor * self.exponent * x ** (self.exponent - 1) * grad_outputs[0],)


class Cube(Power):
    def __init__(self):
        super().__init__(3)


class Scale(Link):
    """A link whose parameter has a wrong gradient if ``factor`` is not 1."""

    def __init__(self, size, factor=1.0):
        super().__init__()
        with self.init_scope():
            self.w = Parameter(np.ones(size, config.dtype))
        self.factor = factor

    def forward(self, x):
        return x * square(lambda w, gy: self.factor * 2 * w * gy)(self.w)


COMMANDS = {
    'node': (['Cube', '--shape', '3'], 0, 'passed for Cube'),
    'node twice': (['Cube', '--shape', '3', '--order', '2'], 0, 'passed for Cube'),
    'arguments': (['Power', '--shape', '3', '--init', '2'], 0, 'passed for Power'),
    'names': (['Power', '--shape', '3', '--init', '2, factor=-1.0'], 1, 'failed for Power'),
    'link': (['Scale', '--shape', '2,4', '--init', '4'], 0, 'passed for Scale'),
    'float32 link': (['Scale', '--shape', '2,4', '--init', 'size=4', '--dtype', 'float32'], 0, 'passed for Scale'),
    'parameter': (['Scale', '--shape', '2,4', '--init', '(4,), factor=3'], 1, 'params[0] (/w) (4,) float64'),
    'object': (['LINK', '--shape', '2,4'], 0, 'passed for Scale'),
    'state': (['LSTM', '--shape', '2,4', '--init', '4, 3'], 0, 'passed for LSTM'),
}
LINK = Scale(4)


@pytest.mark.parametrize('name', COMMANDS)
def test_commands_about_classes(name, capsys, monkeypatch):
    (target, *arguments), status, text = COMMANDS[name]
    monkeypatch.setitem(sys.modules, 'planted_module', sys.modules[__name__])
    assert main([f'planted_module:{target}', *arguments, '--seed', '1']) == status
    assert text in capsys.readouterr().out


WRONG_COMMANDS = {
    'class without arguments': (
        ['minichainer.links:Linear', '--shape', '2'],
        'it is Linear(in_size, out_size=None, nobias=False, initialW=None, initial_bias=None) and cannot be made',
    ),
    'unknown name': (['minichainer.links:Linear', '--shape', '2', '--init', '3, n=2'], "with --init '3, n=2'"),
    'no literal': (['minichainer.links:Linear', '--shape', '2', '--init', '3, f(1)'], 'expected numbers, strings'),
    'no arguments': (['minichainer.links:Linear', '--shape', '2', '--init', '3,,'], 'expected numbers, strings'),
    'unpacked': (['minichainer.links:Linear', '--shape', '2', '--init', '**{}'], 'expected numbers, strings'),
    'no class': (['minichainer.functions:tanh', '--shape', '2', '--init', '3'], 'and this is not one'),
    'no function': (['minichainer.variable:Variable', '--shape', '2'], 'func must be callable'),
    'nothing': ([], 'at least one --shape'),
    'no name': (['minichainer.functions', '--shape', '2'], 'expected module:name'),
    'no module': (['no_such_module:f', '--shape', '2'], 'No module named'),
    'no such function': (['minichainer.functions:no_such', '--shape', '2'], 'no_such'),
    **{
        f'shape {text!r}': (
            ['minichainer.functions:tanh', f'--shape={text}'],
            f'lengths such as 3,4 or 3 or (), got {text!r}',
        )
        for text in ('3,x', '-3', '2 3', '[2,3]', '3,,4', '3.0', '(2', ',', '²')
    },
    'order': (['minichainer.functions:tanh', '--shape', '2', '--order', '0'], 'order must be at least 1, got 0'),
    'rtol': (['minichainer.functions:tanh', '--shape', '2', '--rtol=-1'], 'rtol must not be negative or NaN, got -1'),
    'seed': (['minichainer.functions:tanh', '--shape', '2', '--seed=-1'], 'seed must not be negative, got -1'),
    'range': (
        ['minichainer.functions:tanh', '--shape', '2', '--low', '3'],
        'two numbers in ascending order, got 3.0',
    ),
    'no range': (['minichainer.functions:tanh', '--shape', '2', '--low', 'nan'], 'ascending order, got nan and 1.0'),
    'too few inputs': (
        ['minichainer.functions:matmul', '--shape', '2'],
        "one --shape (missing a required argument: 'b')",
    ),
    'too many inputs': (
        ['minichainer.functions:tanh', *['--shape', '2'] * 3],
        '3 times --shape (too many positional',
    ),
    'two modes': (['minichainer.functions:tanh', '--shape', '2', '--train', '--test'], 'not allowed with argument'),
}


@pytest.mark.parametrize('name', WRONG_COMMANDS)
def test_wrong_commands(name, capsys):
    arguments, message = WRONG_COMMANDS[name]
    with pytest.raises(SystemExit) as error:
        main(arguments)
    assert error.value.code == 2 and message in capsys.readouterr().err


@pytest.mark.parametrize(
    ('text', 'shape'), [('3,4', (3, 4)), ('(3, 4)', (3, 4)), ('3,', (3,)), ('()', ()), ('', ()), ('0', (0,))]
)
def test_shapes(text, shape, capsys, monkeypatch):
    seen = []
    monkeypatch.setattr(F, 'tanh', lambda x: seen.append(x.shape) or x)
    main(['minichainer.functions:tanh', '--shape', text])
    assert set(seen) == {shape}


def test_replay_is_the_command(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, 'planted_module', sys.modules[__name__])
    arguments = ['minichainer.links:Linear', '--shape', '2,3', '--init', '3, 2', '--order', '2']
    before = np.random.get_state()[1].copy()
    main(arguments)
    first = capsys.readouterr().out
    assert (np.random.get_state()[1] == before).all()
    (line,) = [line for line in first.splitlines() if line.startswith('Replay: ')]
    seed = re.search(r'; seed (\d+)', first)[1]
    command = "python -m minichainer.gradient_check minichainer.links:Linear --shape 2,3 --init '3, 2' --order 2"
    assert line == f'Replay: {command} --seed {seed}'
    main(shlex.split(line)[4:])
    assert capsys.readouterr().out == first, 'the parameters of the link are drawn from the same seed'


@pytest.mark.parametrize(('mode', 'seen'), [('--train', True), ('--test', False), ('--shape=()', True)])
def test_train_and_test_mode(mode, seen, capsys, monkeypatch):
    modes = set()
    monkeypatch.setattr(F, 'tanh', lambda x, y=None: modes.add(config.train) or x)
    main(['minichainer.functions:tanh', '--shape', '2', mode])
    assert modes == {seen} and config.train
    assert main(['minichainer.functions:dropout', '--shape', '9', '--test']) == 0
    assert main(['minichainer.functions:dropout', '--shape', '9', '--train']) == 1


# Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_shows_on_a_terminal_after_a_while_and_goes_away():
    stream, times = Terminal(), iter([1.0, 2.0, 5.0, 5.1, 6.0])
    progress = Progress('Gradient check of f', stream, lambda: next(times))
    for steps in (1, 33, 65, 97, 129):
        progress.look(steps)
    shown = stream.getvalue()
    assert (
        shown
        == '\rGradient check of f: 65 calls of the function, 4 s\rGradient check of f: 129 calls of the function, 5 s'
    )
    progress.finish()
    assert stream.getvalue().endswith(' \r')


def test_progress_is_silent_elsewhere():
    stream, times = io.StringIO(), iter([1.0, 9.0])
    progress = Progress('Gradient check of f', stream, lambda: next(times))
    for steps in (1, 33):
        progress.look(steps)
    progress.finish()
    assert stream.getvalue() == ''
