"""What an error says to do works: each call of the tables fails, and its message, followed word for word, mends it.

A row has a program of one line, the values of its names, and how a message is followed. Nothing of a remedy is in the
table: it is taken from the message.
"""

from __future__ import annotations

import ast
import functools
import io
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import iterators, optimizers, training
from minichainer._unfitting_calls import explain
from minichainer.functions import accuracy, softmax_cross_entropy
from minichainer.gradient_check import check_gradients
from minichainer.training import extensions

#: What every program can name.
NAMES = {
    'np': np, 'numpy': np, 'chainer': chainer, 'F': F, 'L': L, 'accuracy': accuracy,
    'softmax_cross_entropy': softmax_cross_entropy, 'training': training, 'functions': F, 'extensions': extensions,
    'iterators': iterators, 'optimizers': optimizers, 'check_gradients': check_gradients,
}  # fmt: skip
ROOT = Path(chainer.__file__).parent
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


class InALink(chainer.Link):
    """Where calls of functions that do not fit are explained."""

    def forward(self, call: str, names: dict[str, Any]) -> Any:
        return eval(call, names)


IN_A_LINK = InALink()


def fails(call: str, names: dict[str, Any]) -> str | None:
    """The message of the error in a call; None if it works."""
    try:
        IN_A_LINK(call, names)
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


# --- everything else that says what to write -----------------------------------------------------------------------
def value_of(name: str) -> Follow:
    """``write ['epoch']``: that is the value of an argument."""

    def follow(call: str, message: str) -> tuple[list[str], str]:
        (remedy,) = quoted(message, 'write')
        return [f'{name} = {remedy}'], call

    return follow


def called(arguments: str = '') -> Follow:
    """``write Linear(...)``: the class in the call is called, with the arguments of the row in place of the dots."""

    def follow(call: str, message: str) -> tuple[list[str], str]:
        remedy = next(quoted(message, 'write'))
        name = remedy[: remedy.rindex('(')].rpartition('(')[2]
        return [], re.sub(rf'\b{name}\b(?!\()', f'{name}({arguments})', call)

    return follow


def swapped(call: str, message: str) -> tuple[list[str], str]:
    """``write (dataset, batch_size)`` or ``write Evaluator(iterator, model)``: the arguments in that order."""
    remedy = next(quoted(message, 'write'))
    return [], call[: call.index('(')] + remedy[remedy.index('(') :]


def dots_for(arguments: str) -> Follow:
    """``write Trainer(updater, ...)``: the call with the arguments of the row in place of the dots."""
    return lambda call, message: ([], swapped(call, message)[1].replace('...', arguments))


def instead_after(word: str) -> Follow:
    """Like "instead", after another word than "write"."""
    return lambda call, message: ([], next(quoted(message, word)))


def block(call: str, message: str) -> tuple[list[str], str]:
    """``write "with minichainer.using_device(device):"``."""
    return [re.findall(r'write "(with .*:)"', message)[0] + ' pass'], 'None'


def after(word: str) -> Follow:
    """Like "argument", after another word than "write"."""

    def follow(call: str, message: str) -> tuple[list[str], str]:
        remedies = list(quoted(message, word))
        return [f'{_subject(remedy, call)} = {remedy}' for remedy in remedies], call

    return follow


def first(call: str, message: str) -> tuple[list[str], str]:
    """``call optimizer.setup(model) first``: before the call."""
    return [next(quoted(message.replace(' first', ''), 'call'))], call


IMAGES = np.ones((1, 3, 8, 8), 'f')
PLAIN, TRAINED = L.Linear(3, 2), L.Linear(3, 2)


def a_trainer() -> Any:
    updater = training.updaters.StandardUpdater(iterators.SerialIterator(DATA, 2), optimizers.SGD().setup(PLAIN))
    return training.Trainer(updater, (1, 'epoch'))


ROWS += [
    # arrays
    *[
        Row(f'{name}(x)', instead, {name: getattr(F, name), 'x': X})
        for name in ('concat', 'stack', 'hstack', 'vstack', 'dstack', 'pad_sequence', 'transpose_sequence')
    ],
    Row('L.Linear(3, 2)(x)', argument, {'x': X.astype('d')}),
    Row('L.Convolution2D(3, 4, 3)(x)', argument, {'x': IMAGES.astype('d')}),
    Row('L.Convolution2D(3, 4, 3)(x)', argument, {'x': IMAGES[0]}),
    Row('L.ConvolutionND(1, 3, 4, 3)(x)', argument, {'x': IMAGES[0, :, 0]}),
    Row('L.Convolution2D(3, 4, 3)(x)', argument, {'x': IMAGES.transpose(0, 2, 3, 1)}),
    Row('L.Convolution1D(3, 4, 3)(x)', argument, {'x': np.ones((1, 8, 3), 'f')}),
    Row('F.max_pooling_2d(x, 2)', argument, {'x': IMAGES[0]}),
    Row('L.EmbedID(4, 3)(x)', argument, {'x': LABELS.astype('f')}),
    Row('L.EmbedID(4, 3)(x)', argument, {'x': LABELS.astype('B')}),
    Row('L.EmbedID(4, 3)(x)', argument, {'x': [1, 2]}),
    Row('F.softmax_cross_entropy(x, t)', argument, {'x': X, 't': LABELS.tolist()}),
    Row('F.accuracy(x, t)', argument, {'x': X, 't': LABELS.tolist()}),
    Row('F.max_pooling_2d(x, 2)', argument, {'x': IMAGES.tolist()}),
    Row('F.dropout(x, mask=mask)', argument, {'x': X, 'mask': X.tolist()}),
    Row('F.relu(x)', after('by'), {'x': X.tolist()}),
    Row('F.relu(x)', after('by'), {'x': LABELS}),
    Row('F.sum(x, axis)', argument, {'x': X, 'axis': [0, 1]}),
    Row('L.NStepLSTM(1, 3, 4, 0.)(None, None, xs)', argument, {'xs': np.ones((2, 5, 3), 'f')}),
    Row('chainer.dataset.concat_examples([a, x])', argument, {'a': X, 'x': X.tolist()}),
    Row('chainer.distributions.Normal(loc, scale)', argument, {'loc': 1, 'scale': X[0]}),
    Row('check_gradients(F.exp, x)', value_of('x'), {'x': 1.0}),
    Row('check_gradients(F.exp, x)', value_of('x'), {'x': [1.0, 2.0]}),
    # data
    Row('chainer.iterators.SerialIterator(batch_size, dataset)', swapped, {'dataset': DATA, 'batch_size': 2}),
    Row('chainer.iterators.SerialIterator(dataset, 2)', argument, {'dataset': set(DATA)}),
    Row('chainer.datasets.split_dataset(dataset, split_at)', argument, {'dataset': DATA, 'split_at': 0.8}),
    Row('chainer.datasets.split_dataset(dataset, split_at)', argument, {'dataset': DATA, 'split_at': '3'}),
    Row('chainer.datasets.split_dataset(dataset, split_at)', argument, {'dataset': DATA, 'split_at': 3.0}),
    # classes, lists and swapped arguments
    Row('chainer.Parameter(chainer.initializers.Normal, (2,))', called(), {}),
    Row('L.Linear(3, 2, initialW=chainer.initializers.Normal)', called(), {}),
    Row('L.Classifier(L.Linear)', called('3, 2'), {}),
    Row('chainer.ChainList(L.Linear)', called('3, 2'), {}),
    Row('chainer.Sequential(L.Linear)', called('3, 2'), {}),
    Row('chainer.optimizers.SGD().setup(L.Linear)', called('3, 2'), {}),
    Row('chainer.serializers.save_npz(path, L.Linear)', called('3, 2'), {'path': io.BytesIO()}),
    Row('chainer.ChainList(links)', instead, {'links': [PLAIN, PLAIN], 'ChainList': chainer.ChainList}),
    Row('chainer.Sequential(layers)', instead, {'layers': [F.relu, PLAIN], 'Sequential': chainer.Sequential}),
    Row('chainer.serializers.save_npz(obj, file)', swapped, {'file': io.BytesIO(), 'obj': PLAIN}),
    Row('chainer.using_config(False, "train")', instead, {'using_config': chainer.using_config}),
    Row('chainer.get_device(name)', instead, {'name': 'cpu', 'get_device': chainer.get_device}),
    Row('device.__enter__()', block, {'device': chainer.get_device('@numpy'), 'minichainer': chainer}),
    # training
    Row('training.updaters.StandardUpdater(optimizer, iterator)', swapped, {
        'iterator': iterators.SerialIterator(DATA, 2), 'optimizer': optimizers.SGD().setup(PLAIN)}),
    Row('training.updaters.StandardUpdater(dataset, optimizer)', value_of('dataset'), {
        'dataset': DATA, 'batch_size': 2, 'optimizer': optimizers.SGD().setup(PLAIN)}),
    Row('training.updaters.StandardUpdater(iterator, model)', value_of('model'), {
        'iterator': iterators.SerialIterator(DATA, 2), 'model': PLAIN}),
    Row('training.updaters.StandardUpdater(loader, optimizer)', value_of('loader'), {
        'loader': map(int, DATA), 'dataset': DATA, 'batch_size': 2, 'optimizer': optimizers.SGD().setup(PLAIN)}),
    Row('extensions.Evaluator(model, iterator)', swapped, {
        'iterator': iterators.SerialIterator(DATA, 2, repeat=False), 'model': PLAIN}),
    Row('extensions.Evaluator(dataset, model)', value_of('dataset'), {
        'dataset': DATA, 'batch_size': 2, 'model': PLAIN}),
    Row('extensions.Evaluator(dataset, model)', value_of('dataset'), {
        'dataset': chainer.datasets.TupleDataset(DATA), 'batch_size': 2, 'model': PLAIN}),
    Row('training.Trainer(optimizer, (1, "epoch"))', dots_for('(1, "epoch")'), {
        'iterator': iterators.SerialIterator(DATA, 2), 'optimizer': optimizers.SGD().setup(PLAIN)}),
    Row('extensions.PrintReport(entries)', value_of('entries'), {'entries': 'epoch'}),
    Row('trainer.extend(extensions.PrintReport)', called('["epoch"]'), {'trainer': a_trainer()}),
    Row('training.Trainer(training.updaters.StandardUpdater(iterator, optimizer))', first, {
        'iterator': iterators.SerialIterator(DATA, 2), 'optimizer': optimizers.SGD(), 'model': PLAIN}),
    # what says "by", "pass", "give", "use" or "call"
    Row('y.backward()', after('by'), {'y': chainer.Variable(X) * 2}),
    Row('float(x)', after('by'), {'x': chainer.Variable(X)}),
    Row('F.zeta(x, q)', after('example'), {'x': chainer.Variable(X * X + 2), 'q': X * X + 1}),
    Row('F.relu(x)', after('by'), {'x': np.ma.masked_array(X, X > 0)}),
    Row('model(x)', instead_after('both,'), {'model': L.Classifier(L.Linear(3, 3)), 'x': X, 't': LABELS}),
    Row('chainer.dataset.concat_examples(batch)', keyword('chainer.dataset.concat_examples'),
        {'batch': [X, X[:2]]}),
    Row('chainer.dataset.concat_examples(batch)', keyword('chainer.dataset.concat_examples'),
        {'batch': [X.tolist(), X[:2].tolist()]}),
    Row('trainer.extend(f)', keyword('trainer.extend'), {'trainer': a_trainer(), 'f': functools.partial(print, 3)}),
    Row('chainer.optimizers.SGD().setup(m).add_hook(f)', keyword('chainer.optimizers.SGD().setup(m).add_hook'),
        {'m': PLAIN, 'f': functools.partial(print, 3)}),
    Row('chainer.utils.sparse.to_coo(x)', lambda call, message: (['x = x.array'], call), {'x': chainer.Variable(X)}),
    Row('bool(x)', lambda call, message: ([], message.rpartition(', ')[2]),
        {'x': chainer.Variable(np.array(1.0))}),
    Row('chainer.Variable(X)[i]', lambda call, message: ([], call.replace('[i]', message.rpartition('x')[2])),
        {'X': X, 'i': chainer.Variable(LABELS)}),
]  # fmt: skip


# --- arguments that are not arrays, not one dataset, or more than the call takes ------------------------------------
SEQUENCES = np.ones((2, 5, 3), 'f')


def named(call: str, message: str) -> tuple[list[str], str]:
    """``write keepdims=True``: the last argument of the call, which was given by position."""
    remedy = next(quoted(f'pass {message.rpartition("write ")[2]}', 'pass'))
    tree = ast.parse(call, mode='eval')
    assert isinstance(tree.body, ast.Call)
    tree.body.args.pop()
    return [], f'{ast.unparse(tree)[:-1]}, {remedy})'


def opposite(call: str, message: str) -> tuple[list[str], str]:
    """``write decay=1 - momentum``: that in place of the argument."""
    (remedy,) = re.findall(r'write (\w+=1 - (\w+))', message)
    return [], call.replace(f'{remedy[1]}={remedy[1]}', remedy[0])


def layer(call: str, message: str) -> tuple[list[str], str]:
    """``write lambda x: F.dropout(x, 0.5)``: the layer that the call of a function stood for."""
    remedy = next(quoted(message, 'write'))
    return [], re.sub(r'F\.\w+\([\d.]+\)', remedy, call)


ROWS += [
    *[
        Row(f'{call}(x)', argument, {'l': link, 'x': SEQUENCES})
        for call, link in [
            ('l', L.LSTM(3, 2)),
            ('l', L.StatefulGRU(3, 2)),
            ('l', L.StatefulPeepholeLSTM(3, 2)),
            ('l', L.Maxout(3, 2, 2)),
            ('l', L.Highway(3)),
            ('l', chainer.Sequential(L.Linear(3, 2), F.relu)),
        ]
    ],
    Row('l(None, None, x)', argument, {'l': L.StatelessLSTM(3, 2), 'x': SEQUENCES}),
    Row('L.Classifier(l)(x, t)', argument, {'l': L.Linear(3, 2), 'x': SEQUENCES, 't': np.zeros((2, 5), 'i')}, 2),
    Row('F.softmax_cross_entropy(x, t)', argument, {'x': X, 't': LABELS.reshape(2, 2)}),
    Row('F.accuracy(y, t)', argument, {'y': X, 't': LABELS.reshape(2, 2)}),
    Row('concat(x, y)', instead, {'concat': F.concat, 'x': X, 'y': X}),
    Row('stack(x, y)', instead, {'stack': F.stack, 'x': X, 'y': X}),
    Row('L.BatchNormalization(3, momentum=momentum)', opposite, {'momentum': 0.1}),
    Row('F.batch_normalization(x, x[0], x[0], momentum=momentum)', opposite, {'x': X, 'momentum': 0.1}),
    Row('F.mean(x, 1, True)', named, {'x': X}),
    Row('F.convolution_2d(x, W, 1)', named, {'x': IMAGES, 'W': np.ones((4, 3, 3, 3), 'f')}),
    Row('F.deconvolution_2d(x, W, 2)', named, {'x': IMAGES, 'W': np.ones((3, 4, 3, 3), 'f')}),
    *[
        Row(f'chainer.Sequential(F.relu, {call})(x)', layer, {'x': X})
        for call in ('F.dropout(0.5)', 'F.leaky_relu(0.1)', 'F.softmax(1)', 'F.elu(1.0)')
    ],
    *[
        Row('l(x)', argument, {'l': PLAIN, 'x': dataset})
        for dataset in (chainer.datasets.TupleDataset(X, LABELS), chainer.datasets.TransformDataset(X, abs))
    ],
    *[
        Row(f'F.{loss}(x0, x1)', instead, {'x0': X, 'x1': LABELS})
        for loss in ('mean_squared_error', 'mean_absolute_error', 'absolute_error', 'squared_error')
    ],
    Row('F.squared_error(x0, x1)', argument, {'x0': X, 'x1': X.astype('d')}),
    Row('PLAIN(x)', argument, {'PLAIN': PLAIN, 'x': X.astype('i')}),
    Row('L.Convolution2D(3, 4, 3)(x)', argument, {'x': IMAGES.astype('B')}),
    Row('L.Deconvolution2D(3, 4, 3)(x)', argument, {'x': IMAGES.astype('B')}),
    Row('L.Deconvolution2D(3, 4, 3)(x)', argument, {'x': IMAGES[0]}),
    Row('F.softmax_cross_entropy(x, t, class_weight=class_weight)', argument,
        {'x': X, 't': LABELS, 'class_weight': [1, 1, 1]}),
    Row('optimizer.update(loss)', instead, {
        'optimizer': optimizers.SGD().setup(TRAINED), 'loss': F.sum(TRAINED(X))}),
    Row('chainer.optimizers.SGD().setup(L.Linear(3, 2)).add_hook(chainer.optimizer_hooks.WeightDecay)',
        called('0.1'), {}),
    *[
        Row('iterators.SerialIterator(x, t, batch_size)', swapped, {'x': x, 't': t, 'batch_size': 2})
        for x, t in [(X, LABELS), (X.tolist(), LABELS.tolist())]
    ],
    *[
        Row(f'rnn({xs})', swapped, {'rnn': getattr(L, f'NStep{kind}')(1, 3, 4, 0.0), 'xs': [X, X]})
        for kind, xs in [
            ('LSTM', 'xs'), ('BiLSTM', 'xs'), ('GRU', 'xs'), ('GRU', 'None, None, xs'), ('RNNTanh', 'xs'),
        ]
    ],
    Row('l(x)', swapped, {'l': L.StatelessLSTM(3, 2), 'x': X}),
    Row('setattr(v, "grad", grad)', argument, {'v': chainer.Variable(np.ones((), 'f')), 'grad': np.float32(1)}),
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


# --- names of arguments ---------------------------------------------------------------------------------------------
def renamed(call: str, message: str) -> tuple[list[str], str]:
    """``unexpected keyword argument 'dim': did you mean 'axis'?``, or the sentence of Python 3.13: renames it."""
    wrong, right = re.findall(r"'(\w+)'(?:\])?(?:: did|\. Did) you mean '(\w+)'", message)[0]
    return [], re.sub(rf'\b{wrong}=', f'{right}=', call)


def removed(call: str, message: str) -> tuple[list[str], str]:
    """ "leave it out": the call without its last argument."""
    assert ': leave it out' in message
    return [], re.sub(r', \w+=\w+\)$', ')', call)


def as_tuple(call: str, message: str) -> tuple[list[str], str]:
    """``give shape as one tuple, as in F.reshape(x, (2, 3))``."""
    (example,) = re.findall(r'as one tuple, as in (F.*?\)\));', message)
    first = len(ast.parse(example, mode='eval').body.args) - 1  # type: ignore[attr-defined]
    tree: Any = ast.parse(call, mode='eval').body
    tree.args[first:] = [ast.Tuple(tree.args[first:], ast.Load())]
    return [], ast.unparse(tree)


def declared(call: str, message: str) -> tuple[list[str], str]:
    """``write beta1=betas[0], beta2=betas[1]``: in place of the argument."""
    remedy = next(quoted(message.replace('write', 'pass').partition('; expected')[0], 'pass'))
    return [], re.sub(r'betas=betas', remedy, call)


IMAGE_NAMES = {'x': IMAGES, 'W': np.ones((4, 3, 3, 3), 'f')}
ROWS += [
    *[Row(f'F.{name}(x, dim=1)', renamed, {'x': X}) for name in (
        'sum', 'max', 'min', 'argmax', 'argmin', 'mean', 'average', 'prod', 'softmax', 'log_softmax', 'normalize',
        'logsumexp', 'cumsum', 'cumprod', 'flip', 'expand_dims', 'separate', 'crelu')],
    *[Row(f'F.{name}([x, x], dim=1)', renamed, {'x': X}) for name in ('concat', 'stack')],
    Row('F.sum(x, 1, keepdim=True)', renamed, {'x': X}),
    *[Row(f'F.{kind}_pooling_{n}d(x, kernel_size=2)', renamed, {'x': np.ones((1, 1, *[4] * n), 'f')})
      for kind in ('max', 'average') for n in (1, 2, 3)],
    *[Row(f'F.{kind}_pooling_2d(x, 2, padding=1)', renamed, IMAGE_NAMES) for kind in ('max', 'average')],
    Row('F.max_pooling_2d(x, 2, ceil_mode=True)', renamed, IMAGE_NAMES),
    *[Row(f'F.convolution_2d(x, W, {name}=1)', renamed, IMAGE_NAMES) for name in ('padding', 'strides', 'dilation')],
    Row('F.convolution_2d(x, W, bias=x[0, 0, 0, :4])', renamed, IMAGE_NAMES),
    Row('F.deconvolution_2d(x, W[:3], padding=1)', renamed, IMAGE_NAMES),
    *[Row(f'L.{name}(3, 4, kernel_size=3)', renamed, {}) for name in (
        'Convolution1D', 'Convolution2D', 'Convolution3D', 'Deconvolution2D', 'DilatedConvolution2D')],
    Row('L.Linear(3, 2, bias_initializer=0)', renamed, {}),
    Row('L.Linear(3, units=2)', renamed, {}),
    Row('F.transpose(x, perm=(1, 0))', renamed, {'x': X}),
    Row('F.leaky_relu(x, negative_slope=.1)', renamed, {'x': X}),
    Row('F.softmax_cross_entropy(x, t, weight=x[0])', renamed, {'x': X, 't': LABELS}),
    Row('F.softmax_cross_entropy(x, t, ignore_index=0)', renamed, {'x': X, 't': LABELS}),
    Row('F.softmax_cross_entropy(x, t, reduction="no")', renamed, {'x': X, 't': LABELS}),
    Row('F.dropout(x, p=0.5)', renamed, {'x': X}),
    *[Row(f'F.{name}(x, inplace=True)', removed, {'x': X}) for name in (
        'relu', 'leaky_relu', 'dropout', 'sigmoid', 'elu')],
    *[Row(f'optimizers.{name}({argument_name}=0.1)', renamed, {}) for name, argument_name in [
        ('Adam', 'lr'), ('Adam', 'learning_rate'), ('SGD', 'learning_rate'), ('MomentumSGD', 'learning_rate'),
        ('AdamW', 'weight_decay'), ('RMSprop', 'learning_rate'), ('Adam', 'beta_1'), ('AdaGrad', 'epsilon'),
    ]],
    Row('optimizers.Adam(betas=betas)', declared, {'betas': (0.9, 0.99)}),
    Row('optimizers.SGD(nesterov=True)', instead, {}),
    Row('optimizers.SGD(momentum=momentum)', instead, {'momentum': 0.9}),
    *[Row(f'iterators.{name}(x, batchsize=2)', renamed, {'x': X}) for name in (
        'SerialIterator', 'MultithreadIterator', 'MultiprocessIterator')],
    Row('iterators.MultithreadIterator(x, 2, num_workers=2)', renamed, {'x': X}),
    Row('iterators.MultiprocessIterator(x, 2, num_workers=2)', renamed, {'x': X}),
    Row('iterators.SerialIterator(dataset, batch_size, num_workers=num_workers)', instead,
        {'dataset': X, 'batch_size': 2, 'num_workers': 2}),
    Row('using_config(train=train)', instead, {'using_config': chainer.using_config, 'train': False}),
    *[Row(f'training.triggers.IntervalTrigger({unit!r}, 10)', swapped, {}) for unit in ('epoch', 'iteration')],
    Row('training.triggers.ManualScheduleTrigger("epoch", 10)', swapped, {}),
    *[Row(f'np.{name}(x)', instead_after('here:'), {'x': chainer.Variable(X + 2)}) for name in (
        'tanh', 'exp', 'log', 'sqrt', 'sin', 'cos', 'log1p')],
    Row('F.reshape(x, 2, 6)', as_tuple, {'x': X}),
    Row('F.transpose(x, 1, 0)', as_tuple, {'x': X}),
    Row('F.broadcast_to(x, 2, 4, 3)', as_tuple, {'x': X}),
    Row('F.tile(x, 2, 2)', as_tuple, {'x': X}),
    *[Row(f'F.{name}(x, x)', as_tuple, {'x': X}) for name in ('hstack', 'vstack', 'dstack')],
    *[Row(f'F.{name}(x, x, x)', as_tuple, {'x': X}) for name in ('concat', 'stack')],
]  # fmt: skip


@pytest.mark.parametrize(
    ('call', 'words'),
    [
        ('F.dropout(x, 0.5, training=True)', "write chainer.using_config('train', training)"),
        ('optimizers.SGD(weight_decay=0.1)', 'add_hook(chainer.optimizer_hooks.WeightDecay(weight_decay))'),
        ('optimizers.SGD(L.Linear(3, 2).params(), lr=0.1)', 'the parameters are given by optimizer.setup(model)'),
        ('L.Linear(3, 2, activation="relu")', 'apply the function to the result'),
    ],
)
def test_what_is_said_in_another_way(call: str, words: str) -> None:
    message = fails(call, {**NAMES, 'x': X})
    assert message is not None and words in message


class Model(chainer.Chain):
    def forward(self, x: Any) -> Any:
        return F.sum(x, dim=1)  # type: ignore[call-arg]


def test_calls_are_explained_where_errors_pass() -> None:
    optimizer = optimizers.SGD().setup(PLAIN)
    for call in (lambda: Model()(X), lambda: optimizer.update(lambda: F.sum(X, dim=1))):  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="'dim': did you mean 'axis'") as caught:
            call()
        explain(caught.value)
        assert str(caught.value).count('did you mean') == 1


def test_old_programs_are_told_where_errors_are_shown(tmp_path: Path) -> None:
    program = tmp_path / 'program.py'
    program.write_text('import numpy as np, chainer.functions as F\nF.sum(np.ones(3), dim=0)')
    run = [sys.executable, '-m', 'minichainer.compat', 'run', str(program)]
    ran = subprocess.run(run, capture_output=True, text=True, check=False)
    assert ran.returncode == 1 and "'dim': did you mean 'axis'?; expected sum(x, axis=None" in ran.stderr


def test_the_signature_of_a_class_is_not_that_of_its_call() -> None:
    message = fails('L.Classifier(L.Linear(3, 3))(x, t=t, y=t)', {**NAMES, 'x': X, 't': LABELS})
    assert message is not None and "argument 't'" in message and 'in_size' not in message


def test_functions_of_programs_are_not_explained() -> None:
    names = {'X': X}
    exec('def sum(x): return x\ndef call(): return sum(X, dim=1)', names)
    with pytest.raises(TypeError) as caught:
        names['call']()  # type: ignore[operator]
    explain(caught.value)
    assert str(caught.value) == "sum() got an unexpected keyword argument 'dim'"


# --- remedies that would not help are not given ---------------------------------------------------------------------
@pytest.mark.parametrize(
    ('call', 'values', 'words'),
    [
        ('L.ConvolutionND(3, 3, 4, 3)(x)', {'x': np.ones((2, 3, 8, 8), 'f')}, 'x[None]'),
        ('L.Convolution2D(3, 4, 3)(x)', {'x': np.ones((2, 8, 8), 'f')}, 'x[None]'),
        ('L.Deconvolution2D(3, 4, 3)(x)', {'x': np.ones((4, 8, 8), 'f')}, 'x[None]'),
        ('L.StatelessGRU(3, 2)(x)', {'x': X}, 'write'),
        ('L.Linear(3, 2)(x)', {'x': X.astype('d')}, 'scalar of NumPy'),
        ('F.concat([x, y])', {'x': X, 'y': X.astype('d')}, 'scalar of NumPy'),
        ('chainer.Variable(x) + chainer.Variable(y)', {'x': X, 'y': X.astype('d')}, 'scalar of NumPy'),
        ('F.mean_squared_error(x0, x1)', {'x0': X, 'x1': np.zeros((4, 2), 'f')}, 'write'),
    ],
)
def test_what_would_not_help_is_not_said(call: str, values: dict[str, Any], words: str) -> None:
    message = fails(call, {**NAMES, **values})
    assert message is not None and words not in message


@pytest.mark.parametrize(
    'call', ['L.Linear(3, 2)(x)', 'F.concat([y, x])', 'F.mean_squared_error(y, x)', 'chainer.Variable(y) + x']
)
def test_products_with_scalars_of_numpy_are_explained(call: str) -> None:
    wide = np.multiply(X, np.sqrt(2.0), dtype='d')
    message = fails(call.replace('+ x', '+ chainer.Variable(x)'), {**NAMES, 'x': wide, 'y': X})
    assert message is not None
    assert ('scalar of NumPy' in message) == (np.lib.NumpyVersion(np.__version__) >= '2.0.0')


def test_both_are_said_where_shapes_and_dtypes_differ() -> None:
    message = fails('F.mean_squared_error(x0, x1)', {**NAMES, 'x0': X, 'x1': LABELS[:2]})
    assert message is not None and 'the shapes must be equal; write x1.astype(np.float32)' in message


@pytest.mark.parametrize('kind', ['LSTM', 'BiGRU', 'RNNTanh', 'RNNReLU'])
@pytest.mark.parametrize('xs', [[X[:, :2]], [X, X[:2, :2]]])
def test_sequences_of_another_size_are_named(kind: str, xs: list[Any]) -> None:
    link = getattr(L, f'NStep{kind}')(1, 3, 4, 0.0)
    states = [None] * link.n_cells
    message = fails('link(*states, xs)', {'link': link, 'states': states, 'xs': xs})
    assert message is not None and f'got {xs[-1].shape} as xs[{len(xs) - 1}]' in message.replace('Actual:', 'got')


def test_types_of_gradients_are_named_once() -> None:
    message = fails('setattr(v, "grad", [1.0])', {'v': chainer.Variable(X)})
    assert message is not None and message.count('ndarray') == 1


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


# --- no sentence is forgotten --------------------------------------------------------------------------------------
#: Modules whose sentences are followed by tests of their own, or are not about code that can be written.
ELSEWHERE = {
    '_names': 'above: also test_what_is_said_in_another_way',
    '_forgotten': 'above: test_what_forward_should_retain',
    'serializers._other_files': 'tests/serializers/test_other_files.py',
    'compat.usage': 'tests/compat/test_run.py', 'compat.rewriting': 'tests/compat/test_removed.py',
    'compat.port.rules': 'tests/compat/port', 'compat.promotion': 'tests/compat/test_run.py',
    'compat.private_modules': 'a program to write', 'verification.command': 'an option of the command line',
    'links.theano': 'a program to write', 'training._folder': 'a verb: "cannot write"',
    'backends.number_arrays': 'a verb: "cannot write"', 'testing.link_case': 'tests/testing: what None stands for',
    'training.extensions._snapshot': 'tests/training/test_snapshot.py, with paths',
    'verification.reporting.hints': 'above, and tests/verification',
    'functions._label_advice': 'above: the parts of their sentences vary',
}  # fmt: skip


def sentences() -> Iterator[tuple[str, str]]:
    """The module and the text, without its values, of each string in the package that says what to write."""
    for path in sorted(ROOT.rglob('*.py')):
        module = '.'.join(path.relative_to(ROOT).with_suffix('').parts).removesuffix('.__init__')
        tree = ast.parse(path.read_text(encoding='utf-8'))
        left_out = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        left_out |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # documentation
        for node in ast.walk(tree):
            text = '' if id(node) in left_out else _text(node)
            if re.search(r'\bwrite \S', text) and '\n' not in text:
                yield module, text


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        return ''.join(_text(part) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return '\0'
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ''


def test_every_sentence_that_says_what_to_write_is_in_the_tables() -> None:
    messages = '\n'.join(fails(row.call, {**NAMES, **row.values}) or '' for row in ROWS)
    found = list(sentences())
    missing = [
        f'{module}: {text}'
        for module, text in found
        if module not in ELSEWHERE and not re.search('.*'.join(map(re.escape, text.split('\0'))), messages)
    ]
    assert missing == []
    assert len(found) > 50 and ELSEWHERE.keys() <= {module for module, _ in found}
