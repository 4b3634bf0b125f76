"""What an error says to do works: each call of the tables fails, and its message, followed word for word, mends it.

A row has a program of one line, the values of its names, and how a message is followed. Nothing of a remedy is in the
table: it is taken from the message.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import optimizers
from minichainer.functions import accuracy, softmax_cross_entropy

#: What every program can name.
NAMES = {
    'np': np, 'numpy': np, 'chainer': chainer, 'F': F, 'L': L, 'accuracy': accuracy,
    'softmax_cross_entropy': softmax_cross_entropy,
}  # fmt: skip
X = np.linspace(-1, 1, 12, dtype='f').reshape(4, 3)
LABELS = np.array([0, 1, 2, 0], 'i')
ONE_HOT = np.eye(3, dtype='i')[LABELS]
SHARES = np.full((4, 3), 1 / 3, 'f')
FLAGS = np.array([[1, 1, 0], [0, 0, 0], [1, 1, 1], [0, 1, 0]], 'i')

#: The lines that a message adds to a program, and the program as it changes it.
Follow = Callable[[str, str], tuple[list[str], str]]


class Row(NamedTuple):
    call: str
    follow: Follow
    values: dict[str, Any]
    steps: int = 1


# --- following a message -------------------------------------------------------------------------------------------
def quoted(message: str, word: str) -> Iterator[str]:
    """The expressions after a word of a message, each as long as it can be read as Python."""
    for found in re.finditer(rf'\b{word} ', message):
        rest = message[found.end() :].partition('\n')[0]
        ends = [end for end in range(len(rest), 0, -1) if _is_code(rest[:end], word)]
        if ends:
            yield rest[: ends[0]]


def _is_code(text: str, word: str) -> bool:
    """Whether a text is an expression or, after "pass", arguments."""
    try:
        parsed = ast.parse(f'f({text})' if word == 'pass' else text, mode='eval').body
    except SyntaxError:
        return False
    return text[-1] not in ' ,' and not (isinstance(parsed, ast.Tuple) and text[0] != '(')


def argument(call: str, message: str) -> tuple[list[str], str]:
    """``write t.astype(np.int32)``: the argument t becomes that."""
    remedies = list(quoted(message, 'write'))
    return [f'{_subject(remedy, call)} = {remedy}' for remedy in remedies], call


def _subject(remedy: str, call: str) -> str:
    """The first name in a remedy that the program has too, other than a module."""
    names = {node.id for node in ast.walk(ast.parse(call)) if isinstance(node, ast.Name)} - NAMES.keys()
    found = [node for node in ast.walk(ast.parse(remedy)) if isinstance(node, ast.Name) and node.id in names]
    return min(found, key=lambda node: node.col_offset).id


def instead(call: str, message: str) -> tuple[list[str], str]:
    """``write F.r2_score(y, t)``: that is the whole call."""
    (remedy,) = quoted(message, 'write')
    return [], remedy


def keyword(function: str) -> Follow:
    """``pass n_batch_axes=2``: the call of the function gets that argument."""

    def follow(call: str, message: str) -> tuple[list[str], str]:
        remedy = next(quoted(message, 'pass'))
        tree = ast.parse(call, mode='eval')
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        (meant,) = [node for node in calls if ast.unparse(node.func) == function]
        added = ast.parse(f'f({remedy})', mode='eval').body
        assert isinstance(added, ast.Call) and added.keywords
        meant.keywords += added.keywords
        return [], ast.unparse(tree)

    return follow


def fails(call: str, names: dict[str, Any]) -> str | None:
    """The message of the error in a call; None if it works."""
    try:
        eval(call, names)
    except Exception as error:
        return str(error)
    return None


# --- labels and losses ---------------------------------------------------------------------------------------------
ROWS = [
    *[
        Row(f'F.{loss}(x, t)', argument, {'x': X, 't': t})
        for loss, t in [
            ('softmax_cross_entropy', LABELS.astype('f')),
            ('softmax_cross_entropy', LABELS.astype('f')[:, None]),
            ('softmax_cross_entropy', LABELS[:, None]),
            ('softmax_cross_entropy', ONE_HOT),
            ('softmax_cross_entropy', ONE_HOT == 1),
            ('softmax_cross_entropy', LABELS == 1),
            ('hinge', LABELS.astype('f')),
            ('hinge', LABELS.astype('B')),
            ('hinge', LABELS[:, None]),
            ('hinge', ONE_HOT),
            ('hinge', ONE_HOT == 1),
            ('hinge', ONE_HOT.astype('f')),
            ('sigmoid_cross_entropy', FLAGS == 1),
            ('sigmoid_cross_entropy', FLAGS.astype('f')),
            ('sigmoid_cross_entropy', FLAGS.astype('B')),
            ('sigmoid_cross_entropy', ONE_HOT == 1),
            ('sigmoid_cross_entropy', FLAGS.reshape(12)),
            ('sigmoid_cross_entropy', FLAGS.reshape(12) == 1),
        ]
    ],
    *[
        Row(f'F.{loss}(x, t)', instead, {'x': X, 't': t})
        for loss, t in [
            ('softmax_cross_entropy', FLAGS),
            ('softmax_cross_entropy', FLAGS == 1),
            ('sigmoid_cross_entropy', LABELS),
            ('sigmoid_cross_entropy', LABELS == 1),
            ('sigmoid_cross_entropy', LABELS.astype('f')),
            ('sigmoid_cross_entropy', abs(X)),
        ]
    ],
    Row('F.softmax_cross_entropy(x, t)', instead, {'x': X[:, :1], 't': FLAGS[:, :1]}),
    Row('F.softmax_cross_entropy(t, x)', instead, {'x': X, 't': LABELS}),
    Row('F.softmax_cross_entropy(x, t)', argument, {'x': X.astype('i'), 't': LABELS}),
    *[
        Row('F.accuracy(y, t)', argument, {'y': X, 't': t})
        for t in (LABELS.astype('f'), LABELS[:, None], ONE_HOT, ONE_HOT == 1, ONE_HOT.astype('f'))
    ],
    *[
        Row('F.accuracy(y, t)', instead, {'y': y, 't': t})
        for y, t in [
            (X, FLAGS), (X, FLAGS.astype('f')), (X, X * 2), (X[:, :1], X[:, :1] * 2), (X[:, :1], FLAGS[:, :1]),
        ]
    ],
    Row('F.accuracy(t, x)', instead, {'x': X, 't': LABELS}),
    *[
        Row(f'L.Classifier(m, F.{loss})(x, t)', keyword('L.Classifier'), {'m': L.Linear(3, n), 'x': X, 't': t})
        for loss, n, t in [
            ('mean_squared_error', 1, X[:, :1]),
            ('mean_squared_error', 1, ONE_HOT[:, :1].astype('f')),
            ('mean_squared_error', 3, ONE_HOT.astype('f')),
            ('mean_absolute_error', 3, X),
            ('sigmoid_cross_entropy', 3, FLAGS),
            ('sigmoid_cross_entropy', 3, ONE_HOT),
        ]
    ],
    *[
        Row('L.Classifier(m)(x, t)', argument, {'m': L.Linear(3, 3), 'x': X, 't': t})
        for t in (LABELS.astype('f'), LABELS[:, None], ONE_HOT, ONE_HOT == 1, ONE_HOT.astype('f'))
    ],
    Row('L.Classifier(m)(x, t)', keyword('L.Classifier'), {'m': L.Linear(3, 3), 'x': X, 't': SHARES}),
    Row('F.mean_squared_error(x0, x1)', argument, {'x0': X[:, :1], 'x1': X[:, 0]}),
    Row('F.mean_squared_error(x0, x1)', argument, {'x0': X, 'x1': X.astype('d')}),
    Row('F.mean_squared_error(x0, x1)', argument, {'x0': X[:, 0], 'x1': LABELS}),
    Row('F.mean_squared_error(x0, x1)', argument, {'x0': X[:, :1], 'x1': LABELS}),
]  # fmt: skip

# --- shapes --------------------------------------------------------------------------------------------------------
ROWS += [
    *[
        Row('l(x)', keyword('l'), {'l': link, 'x': np.ones(shape, 'f')})
        for link, shape in [
            (L.Linear(4, 3), (2, 5, 4)),
            (L.Linear(4, 3, nobias=True), (2, 3, 5, 4)),
            (L.Linear(20, 3), (2, 3, 5, 4)),
        ]
    ],
    Row('F.linear(x, W)', keyword('F.linear'), {'x': np.ones((2, 5, 4), 'f'), 'W': np.ones((3, 4), 'f')}),
    *[
        Row('model.summary()', instead, {'model': model, 'x': X})
        for model in (
            L.Linear(3, 2),
            chainer.Sequential(F.relu, L.Linear(None, 2)),
            L.Classifier(L.Linear(3, 2)).predictor,
        )
    ],
    Row('l(x)', argument, {'l': L.Linear(3, 2), 'x': X[0]}),
    Row('l(x)', argument, {'l': L.Linear(None, 2), 'x': X[0]}),
    Row('F.linear(x, W)', argument, {'x': X[0], 'W': X}),
]

# --- texts and None as numbers -------------------------------------------------------------------------------------
DATA = list(range(20))


def hyperparameters() -> Iterator[Row]:
    """Every number of every optimizer, as a text and as None."""
    for name in dir(optimizers):
        kind = getattr(optimizers, name)
        for argument_name, default in getattr(kind, '_arguments', {}).items():
            if not isinstance(default, bool):
                call = f'updated(chainer.optimizers.{name}({argument_name}={argument_name}))'
                yield Row(call, argument, {argument_name: str(default), 'updated': updated})
                yield Row(call, left_out, {argument_name: None, 'updated': updated})


def updated(optimizer: Any = None, hook: Any = None) -> None:
    """Updates a small model once."""
    model = L.Linear(3, 2)
    optimizer = (optimizer or optimizers.SGD()).setup(model)
    if hook is not None:
        optimizer.add_hook(hook)
    optimizer.update(lambda: F.sum(model(X)))


def left_out(call: str, message: str) -> tuple[list[str], str]:
    """ "leave it out": the call that has a keyword argument is made without it."""
    assert 'leave it out for ' in message
    return [], re.sub(r'\w+=\w+', '', call)


ROWS += [
    *hyperparameters(),
    Row('setattr(optimizer, "lr", lr)', argument, {'optimizer': optimizers.SGD(), 'lr': '0.1'}),
    Row('setattr(chainer.optimizers.SGD().setup(link).target.W.update_rule.hyperparam, "lr", lr)', argument,
        {'link': L.Linear(3, 2), 'lr': '0.1'}),
    *[
        Row(f'chainer.iterators.{name}(data, batch_size)', argument, {'data': DATA, 'batch_size': '3'})
        for name in ('SerialIterator', 'MultithreadIterator', 'MultiprocessIterator')
    ],
    Row('next(chainer.iterators.SerialIterator(data, batch_size))', argument, {'data': DATA, 'batch_size': 3.0}),
    Row('chainer.iterators.MultithreadIterator(data, 2, n_threads=n_threads)', argument,
        {'data': DATA, 'n_threads': '2'}),
    *[
        Row(f'chainer.iterators.MultiprocessIterator(data, 2, {name}={name})', argument, {'data': DATA, name: '2'})
        for name in ('n_processes', 'n_prefetch', 'shared_mem', 'maxtasksperchild')
    ],
    *[
        Row(f'updated(hook=chainer.optimizer_hooks.{name}({argument_name}={argument_name}))', argument,
            {argument_name: '0.1', 'updated': updated})
        for name, argument_name in {
            'WeightDecay': 'rate', 'Lasso': 'rate', 'GradientClipping': 'threshold', 'GradientNoise': 'eta',
            'GradientLARS': 'threshold',
        }.items()
    ],
    Row('updated(hook=chainer.optimizer_hooks.GradientHardClipping(low, upper_bound))', argument,
        {'low': -1, 'upper_bound': '2', 'updated': updated}),
    Row('chainer.training.triggers.IntervalTrigger(period, "epoch")', argument, {'period': '2'}),
    Row('chainer.training.triggers.IntervalTrigger(period, "epoch")', argument, {'period': '0.5'}),
    *[
        Row(f'chainer.training.extensions.{call}', argument, values)
        for call, values in [
            ('ExponentialShift("lr", rate)', {'rate': '0.5'}),
            ('StepShift("lr", gamma, 3)', {'gamma': '0.5'}),
            ('StepShift("lr", 0.5, step)', {'step': '3'}),
            ('MultistepShift("lr", gamma, [3], 1.)', {'gamma': '0.5'}),
            ('InverseShift("lr", 1., power)', {'power': '2'}),
            ('PolynomialShift("lr", rate, 3)', {'rate': '0.5'}),
            ('WarmupShift("lr", 0.1, warmup_iter, 1.)', {'warmup_iter': '3'}),
        ]
    ],
    *[
        Row(call, argument, {'x': X, 'images': np.ones((1, 1, 4, 4), 'f'), name: value})
        for call, name, value in [
            ('F.dropout(x, ratio)', 'ratio', '0.5'),
            ('F.leaky_relu(x, slope)', 'slope', '0.1'),
            ('F.softmax(x, axis)', 'axis', '1'),
            ('F.max_pooling_2d(images, ksize)', 'ksize', '2'),
            ('L.Linear(in_size, 2)', 'in_size', '3'),
            ('L.Linear(in_size, 2)', 'in_size', 3.0),
            ('L.Convolution2D(3, 4, ksize)', 'ksize', '3'),
            ('L.EmbedID(3, out_size)', 'out_size', '4'),
            ('L.BatchNormalization(3, decay=decay)', 'decay', '0.9'),
            ('L.BatchNormalization(3, eps=eps)', 'eps', '1e-5'),
            ('L.NStepLSTM(n_layers, 3, 4, 0.)', 'n_layers', '1'),
        ]
    ],
]  # fmt: skip


@pytest.mark.parametrize('row', ROWS, ids=lambda row: row.call)
def test_the_call_works_when_its_message_is_followed(row: Row) -> None:
    call, names = row.call, {**NAMES, **row.values}
    for _ in range(row.steps):
        message = fails(call, names)
        assert message is not None, f'{call} does not fail'
        lines, call = row.follow(call, message)
        assert lines or call != row.call, f'no remedy in: {message}'
        for line in lines:
            exec(line, names)
    assert fails(call, names) is None, f'{message}\nthen {"; ".join([*lines, call])}: {fails(call, names)}'


# --- backward functions that want what forward has not kept --------------------------------------------------------
NODE = """
class Forgetful(chainer.FunctionNode):
    def forward(self, inputs):
        {}
        x, w = inputs
        return np.tanh(x * w),

    def backward(self, indexes, grad_outputs):
        {}
        return g * w, g * x

def call():
    x, w = chainer.Variable(X), chainer.Variable(X)
    y, = Forgetful().apply((x, w))
    F.sum(y).backward()
"""
OLD = (
    NODE.replace('FunctionNode', 'Function')
    .replace('indexes, grad_outputs', 'inputs, gradients')
    .replace('Forgetful().apply((x, w))', 'Forgetful()(x, w),')
)
STATIC = """
class Forgetful(autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = F.exp(x)
        {}
        return y

    @staticmethod
    def backward(ctx, gy):
        {}
        return gy * y

def call():
    F.sum(Forgetful.apply(chainer.Variable(X))).backward()
"""
INPUTS = '(x, w), (g,) = self.get_retained_inputs(), grad_outputs'
BOTH = '(x, w), (y,) = self.get_retained_inputs(), self.get_retained_outputs(); g = grad_outputs[0] * (1 - y * y)'


@pytest.mark.parametrize(
    ('source', 'kept', 'wanted'),
    [
        (NODE, '', INPUTS),
        (NODE, '', 'x, w = self.get_retained_inputs(); g, = grad_outputs'),
        (NODE, '', 'x, w = [self.get_retained_inputs()[i] for i in (0, 1)]; g, = grad_outputs'),
        (NODE, 'self.retain_outputs((0,))', INPUTS),
        (NODE, 'self.retain_inputs((0,))', INPUTS),
        (NODE, 'self.retain_inputs((0, 1))', BOTH),
        (NODE, 'self.retain_outputs((0,))', BOTH),
        (NODE, 'self.retain_inputs((0, 1))', 'y = self.get_retained_outputs()[0]; g = x = w = y'),
        (OLD, '', 'y = self.output_data[0]; g = x = gradients[0] * (1 - y * y); w = 1'),
        (OLD, 'self.retain_inputs((0, 1))', 'y, = self.output_data; g = x = y * y; w = 1'),
        (STATIC, '', 'y, = ctx.saved_tensors'),
        (STATIC, '', 'y = ctx.saved_tensors[0]'),
    ],
)  # fmt: skip
def test_what_forward_should_retain(source: str, kept: str, wanted: str) -> None:
    names = {**NAMES, 'autograd': chainer.autograd, 'X': X}
    exec(source.format(kept, wanted), names)
    with pytest.raises((ValueError, IndexError, TypeError)) as caught:
        names['call']()
    remedies = list(quoted(str(caught.value), 'in forward, write'))
    assert len(remedies) == 1 and str(caught.value).endswith(remedies[0])
    assert caught.value.__cause__ is not None
    remedy = remedies[0].replace('...', 'y')  # what backward reads of ctx has no name there
    exec(source.format(f'{kept}; {remedy}'.lstrip('; '), wanted), names)
    names['call']()


@pytest.mark.parametrize('wanted', ['x, w = (); g = 1', 'x, w = self.get_retained_inputs(); g, h = grad_outputs'])
def test_other_errors_of_backward_stay(wanted: str) -> None:
    names = {**NAMES, 'X': X}
    exec(NODE.format('self.retain_inputs((0, 1))', wanted), names)
    with pytest.raises(ValueError, match=r'^not enough values to unpack \(expected 2, got [01]\)$'):
        names['call']()
