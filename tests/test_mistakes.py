"""Common mistakes end in an error or a warning that names what is wrong, and what to write instead.

One table: the mistake, a call that makes it, the class of the error or warning, and the words that must be in its
message. The rows' calls use a small model and data; each is run by itself.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import datasets, errors, iterators, optimizers, serializers, training
from minichainer.training import extensions
from minichainer.utils.type_check import InvalidType

X = np.ones((4, 3), 'f')
LABELS = np.array([0, 1, 2, 0], 'i')
IMAGES = np.ones((1, 2, 4, 4), 'f')
ROIS = np.array([[0, 0, 2, 2]], 'f')
WS, BS = [[np.ones((3, 3), 'f')] * 8], [[np.ones(3, 'f')] * 8]
STATE = np.zeros((1, 2, 3), 'f')

Row = tuple[str, Callable[[], Any], type[BaseException], str]
ROWS: list[Row] = []


def row(mistake: str, error: type[BaseException], words: str) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Adds a row whose call needs more than an expression."""

    def add(call: Callable[[], Any]) -> Callable[[], Any]:
        ROWS.append((mistake, call, error, words))
        return call

    return add


# --- dtypes, shapes and kinds of data ------------------------------------------------------------------------------
NARROWER = r'x is float64, the parameters are float32: write x.astype\(np.float32\)'
ROWS += [
    ('float64 data of Linear', lambda: L.Linear(3, 2)(X.astype('d')), InvalidType, NARROWER),
    ('float64 data of Linear without bias', lambda: L.Linear(3, 2, nobias=True)(X.astype('d')),
     errors.DtypeWarning, NARROWER),
    ('float64 data of an LSTM', lambda: L.LSTM(3, 2)(X.astype('d')), InvalidType, NARROWER),
    ('float64 images', lambda: L.Convolution2D(2, 3, 3)(IMAGES.astype('d')), InvalidType, NARROWER),
    ('float64 images without bias', lambda: L.Convolution2D(2, 3, 3, nobias=True)(IMAGES.astype('d')),
     errors.DtypeWarning, NARROWER),
    ('float64 images of a transposed convolution', lambda: L.Deconvolution2D(2, 3, 3)(IMAGES.astype('d')),
     InvalidType, NARROWER),
    ('a list of floats', lambda: L.Linear(3, 2)([[1.0, 2.0, 3.0]]), TypeError, r'list given.*numpy.asarray'),
    ('a list of floats, lazy', lambda: L.Linear(2)([[1.0, 2.0, 3.0]]), TypeError, r'list given.*numpy.asarray'),
    ('an uninitialized Variable', lambda: L.Linear(None, 2)(chainer.Variable()), errors.UninitializedParameterError,
     'Linear: x is a Variable without data.*give it an array'),
    ('an uninitialized Variable, sizes known', lambda: L.Linear(3, 2)(chainer.Variable()),
     errors.UninitializedParameterError, r'Variable\(None\); give it an array'),
    ('None as data', lambda: L.Linear(None, 2)(None), errors.UninitializedParameterError, 'give it an array'),
    ('integers for Linear', lambda: L.Linear(3, 2)(X.astype('i')), InvalidType, 'float x and W.*int32'),
    ('images without a batch axis', lambda: L.Convolution2D(2, 3, 3)(IMAGES[0]), InvalidType, '4 axes'),
    ('a list of images for pooling', lambda: F.max_pooling_2d(IMAGES.tolist(), 2), TypeError,
     r'max_pooling_2d: an array expected as x, got list; write numpy.asarray\(x'),
    ('a list of images for average pooling', lambda: F.average_pooling_2d(IMAGES.tolist(), 2), TypeError, 'got list'),
    ('a list of images for unpooling', lambda: F.unpooling_2d(IMAGES.tolist(), 2), TypeError, 'got list'),
    ('a list of images for convolution', lambda: F.convolution_2d(IMAGES.tolist(), IMAGES), TypeError, 'list given'),
    ('a list of filters', lambda: F.convolution_2d(IMAGES, IMAGES.tolist()), TypeError, 'list given'),
    ('a list of images for deconvolution', lambda: F.deconvolution_2d(IMAGES.tolist(), IMAGES), TypeError,
     'list given'),
    ('a list of regions', lambda: F.roi_pooling_2d(IMAGES, [[0, 0, 0, 2, 2]], 2, 2, 1.0), TypeError,
     'ROIPooling2D: an array expected as rois, got list'),
    ('a list of aligned regions', lambda: F.roi_average_align_2d(IMAGES, ROIS.tolist(), [0], 2, 1.0), TypeError,
     'rois, got list'),
    ('a list of numbers of images', lambda: F.roi_average_align_2d(IMAGES, ROIS, [0], 2, 1.0), TypeError,
     'roi_indices, got list'),
    ('a list for floor', lambda: F.floor([1.5]), TypeError, 'floor: an array expected as x, got list'),
    ('a list as mask', lambda: F.dropout(X, mask=X.tolist()), TypeError, 'dropout: an array expected as mask'),
]  # fmt: skip

# --- labels and losses ---------------------------------------------------------------------------------------------
INTEGERS = r'labels must be integers, not float32: write t.astype\(np.int32\)'
ROWS += [
    ('float labels', lambda: F.softmax_cross_entropy(X, LABELS.astype('f')), InvalidType, INTEGERS),
    ('float labels of a Classifier', lambda: L.Classifier(L.Linear(3, 3))(X, LABELS.astype('f')), InvalidType,
     INTEGERS),
    ('float labels of accuracy', lambda: F.accuracy(X, LABELS.astype('f')), InvalidType, INTEGERS),
    ('float labels of hinge', lambda: F.hinge(X, LABELS.astype('f')), InvalidType, INTEGERS),
    ('float labels of sigmoid_cross_entropy', lambda: F.sigmoid_cross_entropy(X, X), InvalidType, INTEGERS),
    ('labels of shape (n, 1)', lambda: F.softmax_cross_entropy(X, LABELS[:, None]), InvalidType,
     r'one axis too many: write t.reshape\(4\)'),
    ('labels of shape (n, 1) for accuracy', lambda: F.accuracy(X, LABELS[:, None]), InvalidType,
     r'write t.reshape\(4\)'),
    ('one-hot labels', lambda: F.softmax_cross_entropy(X, np.eye(4, 3, dtype='i')), InvalidType,
     r'one-hot: write t.argmax\(axis=1\)'),
    ('labels as a list', lambda: F.softmax_cross_entropy(X, [0, 1, 2, 0]), TypeError,
     r'softmax_cross_entropy: an array expected as t, got list; write numpy.asarray\(t'),
    ('labels as a list for accuracy', lambda: F.accuracy(X, [0, 1, 2, 0]), TypeError, 'as t, got list'),
    ('swapped arguments of a loss', lambda: F.softmax_cross_entropy(LABELS, X), InvalidType,
     r'look swapped: write softmax_cross_entropy\(x, t\)'),
    ('swapped arguments of accuracy', lambda: F.accuracy(LABELS, X), InvalidType,
     r'look swapped: write accuracy\(x, t\)'),
    ('swapped arguments of sigmoid_cross_entropy', lambda: F.sigmoid_cross_entropy(LABELS, X[:, 0]), InvalidType,
     'look swapped'),
    ('integers for mean_squared_error', lambda: F.mean_squared_error(X[:, 0], LABELS), InvalidType,
     r'write x1.astype\(np.float32\)'),
    ('float64 targets', lambda: F.mean_squared_error(X, X.astype('d')),
     InvalidType, r'write x1.astype\(np.float32\)'),
    ('targets of another shape', lambda: F.mean_squared_error(X[:, :1], X[:, 0]), InvalidType,
     r'write x1.reshape\(x0.shape\)'),
    ('Classifier without labels', lambda: L.Classifier(L.Linear(3, 3))(X), TypeError,
     r'Classifier: got the label alone .*call it with both, model\(x, t\)'),
    ('Classifier without a keyword label', lambda: L.Classifier(L.Linear(3, 3), label_key='t')(X), ValueError,
     'Label key "t" is not found'),
    ('backward of several elements', lambda: (chainer.Variable(X) * 2).backward(), RuntimeError, 'functions.sum'),
]  # fmt: skip

# --- what is out of range: the value and its position --------------------------------------------------------------
ROWS += [
    ('a label out of range', lambda: F.softmax_cross_entropy(X, LABELS + 1), IndexError,
     r'labels must be in \[0, 3\) or ignore_label = -1, got 3 at position \[2\] of \[4\]'),
    ('a label out of range, as in Chainer\'s debug mode', lambda: F.softmax_cross_entropy(X, LABELS - 2), ValueError,
     r'got -2 at position \[0\]'),
    ('a label of hinge', lambda: F.hinge(X, LABELS + 5), IndexError, r'got 5 at position \[0\]'),
    ('an index of embed_id', lambda: L.EmbedID(4, 2)(np.array([[1, 7]])), IndexError,
     r'x must be in \[0, 4\), the rows of W, got 7 at position \[0, 1\] of \[1, 2\]'),
    ('an index of select_item', lambda: F.select_item(X, LABELS + 5), IndexError, r'got 5 at position \[0\]'),
    ('an index of permutate', lambda: F.permutate(X, np.array([0, 9, 1, 2])), IndexError, r'got 9 at position \[1\]'),
    ('an index of get_item', lambda: chainer.Variable(X)[[0, 7]], IndexError, 'index 7 is out of bounds'),
    ('a label of CTC', lambda: F.connectionist_temporal_classification([X] * 4, np.array([[1]] * 3 + [[7]]), 0),
     IndexError, r'got 7 at position \[3, 0\]'),
    ('a label of crf1d', lambda: F.crf1d(X[:3], [X], [LABELS + 3]), IndexError, r'at time step 0 .* got 3 at'),
    ('a label of hierarchical softmax', lambda: L.BinaryHierarchicalSoftmax(3, ((0, 1), 2))(X, LABELS + 7),
     IndexError, r'got 7 at position \[0\]'),
    ('a label of negative sampling', lambda: L.NegativeSampling(3, [1, 2, 3], 2)(X, LABELS + 7), IndexError,
     r'or -1, got 7 at position \[0\]'),
    ('a label of BlackOut', lambda: L.BlackOut(3, [1, 2, 3], 2)(X, LABELS + 7), IndexError, r'got 7 at position'),
    ('an image of a region', lambda: F.roi_average_align_2d(IMAGES, ROIS, np.array([3]), 2, 1.0), IndexError,
     r'got 3 at position \[0\]'),
]  # fmt: skip

# --- options -------------------------------------------------------------------------------------------------------
ROWS += [
    ('a list as axis', lambda: F.sum(X, axis=[0, 1]), TypeError, 'tuple of int are required for axis'),
    ('an array as axis', lambda: F.softmax(X, axis=np.array([1])), TypeError, 'int expected as axis, got array'),
    ('an array as ratio', lambda: F.dropout(X, X), TypeError, 'number expected as ratio, got array'),
    ('an array as reduce', lambda: F.softmax_cross_entropy(X, LABELS, reduce=X), ValueError, "one of 'mean', 'no'"),
    ('an array as normalize', lambda: F.softmax_cross_entropy(X, LABELS, X), TypeError,
     'bool expected as normalize, got array'),
    ('an array as ignore_label', lambda: F.softmax_cross_entropy(X, LABELS, ignore_label=LABELS), TypeError,
     'number expected as ignore_label'),
    ('an array as cover_all', lambda: F.max_pooling_2d(IMAGES, 2, cover_all=X), TypeError, 'bool expected'),
    ('an array as keepdims', lambda: F.sum(X, keepdims=X), TypeError, 'bool expected as keepdims'),
    ("another framework's dim", lambda: F.softmax(X, dim=1), TypeError, "'dim'.*did you mean 'axis'"),
    ("another framework's p", lambda: F.dropout(X, p=0.5), TypeError, "'p': did you mean 'ratio'"),
    ('n_layers that is no int', lambda: F.n_step_lstm(1.5, 0, STATE, STATE, WS, BS, [X]), TypeError,
     'NStepLSTM: int expected as n_layers, got 1.5'),
    ('n_layers of 0', lambda: F.n_step_gru(0, 0, STATE, WS, BS, [X]), ValueError, 'at least 1 expected as n_layers'),
    ('n_layers other than the weights', lambda: F.n_step_lstm(2, 0, STATE, STATE, WS, BS, [X]), ValueError,
     r'ws must be a list of 2 lists'),
    ('n_layers of a link', lambda: L.NStepLSTM('1', 3, 4, 0.5), TypeError, 'int expected as n_layers'),
    ('an array in place of a list of sequences', lambda: L.NStepLSTM(1, 3, 4, 0.0)(None, None, X), TypeError,
     'xs must be a list or tuple of sequences'),
    ('a setting that is not there', lambda: chainer.config.trian, AttributeError, "did you mean 'train'"),
    ('swapped arguments of using_config', lambda: chainer.using_config(False, 'train'), TypeError,
     r"write using_config\('train', False\)"),
]  # fmt: skip


# --- links ---------------------------------------------------------------------------------------------------------
class Model(chainer.Chain):
    def __init__(self) -> None:
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        return self.l(x)


class Forgetful(chainer.Chain):
    def __init__(self) -> None:
        pass


class WithAttributes(chainer.Chain):
    """A chain with attributes that are set outside of init_scope."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__()
        for name, value in attributes.items():
            setattr(self, name, value)


def set_up(model: Any, **options: Any) -> Any:
    return optimizers.SGD(**options).setup(model)


OUTSIDE = 'with self.init_scope'
ROWS += [
    ('a link outside of init_scope', lambda: set_up(WithAttributes(l=Model())), errors.UnregisteredWarning,
     rf'WithAttributes.l \(Model\): assign it inside "{OUTSIDE}'),
    ('a parameter outside of init_scope', lambda: set_up(WithAttributes(w=chainer.Parameter(0.0, 3))),
     errors.UnregisteredWarning, r'WithAttributes.w \(Parameter\)'),
    ('links in a list', lambda: set_up(WithAttributes(ls=[Model(), Model()])), errors.UnregisteredWarning,
     'WithAttributes.ls, a list of links: make it a ChainList'),
    ('links in a dict', lambda: set_up(WithAttributes(ls={'a': Model()})), errors.UnregisteredWarning,
     'a dict of links'),
    ('a forgotten super().__init__()', lambda: Forgetful().params(), RuntimeError,
     r'call super\(\).__init__\(\) first in Forgetful.__init__'),
    ('a class in a Sequential', lambda: chainer.Sequential(L.Linear), TypeError,
     r'got the class Linear: write Linear\(...\)'),
    ('a list in a Sequential', lambda: chainer.Sequential([Model()]), ValueError, r'write Sequential\(\*layers\)'),
    ('None in a Sequential', lambda: chainer.Sequential(Model(), None), ValueError, 'must be callable, got None'),
    ('a class in a ChainList', lambda: chainer.ChainList(L.Linear), TypeError, r'write Linear\(...\)'),
    ('a list in a ChainList', lambda: chainer.ChainList([Model()]), TypeError, r'write ChainList\(\*links\)'),
    ('a class as predictor', lambda: L.Classifier(L.Linear), TypeError, r'not a class; write Linear\(...\)'),
    ('initialW of a wrong shape', lambda: L.Linear(4, 3, initialW=np.ones((4, 3))), ValueError,
     r'initialW must broadcast to shape \(3, 4\), got an array of shape \(4, 3\)'),
    ('initialW of a wrong shape, lazy', lambda: L.Linear(None, 3, initialW=np.ones((3, 5)))(X), ValueError,
     r'Parameter W: initial values of shape \(3, 5\) do not broadcast to \(3, 3\)'),
    ('initial_bias of a wrong shape', lambda: L.Linear(4, 3, initial_bias=np.ones(4)), ValueError, 'initial_bias'),
    ("another framework's bias", lambda: L.Linear(4, 3, bias=False), TypeError,
     r"Linear: got an unexpected keyword argument 'bias': did you mean 'nobias'.*expected Linear\(in_size"),
    ("another framework's padding", lambda: L.Convolution2D(3, 4, 3, padding=1), TypeError, "did you mean 'pad'"),
    ('too many arguments', lambda: L.EmbedID(1, 2, 3, 4, 5), TypeError,
     r'EmbedID: takes at most 4 positional arguments, got 5; expected EmbedID\(in_size'),
    ('a missing argument', lambda: L.EmbedID(3), TypeError, "EmbedID: missing 'out_size'; expected EmbedID"),
    ('an argument twice', lambda: L.EmbedID(3, in_size=3), TypeError, "multiple values for argument 'in_size'"),
    ('an argument of a model that takes none', lambda: Model(size=3), TypeError,
     r"Model: got an unexpected keyword argument 'size'; expected Model\(\)"),
]  # fmt: skip

# --- optimizers ----------------------------------------------------------------------------------------------------
ROWS += [
    ('an update before setup', lambda: optimizers.SGD().update(), errors.NotSetUpError,
     r'SGD is used before setup: call its setup\(model\)'),
    ('a hook before setup', lambda: optimizers.Adam().add_hook(chainer.optimizer_hooks.WeightDecay(0.1)),
     errors.NotSetUpError, 'Adam is used before setup'),
    ('setup with a class', lambda: set_up(Model), TypeError, r'got the class Model; write setup\(Model\(...\)\)'),
    ('setup with parameters', lambda: set_up(list(Model().params())), TypeError, 'must be a link, got list'),
    ('lr of Adam', lambda: optimizers.Adam(lr=0.1), TypeError, r"'lr': did you mean 'alpha'\?; expected \(alpha"),
]  # fmt: skip


@row("a setting's name misspelt", errors.UnknownNameWarning, "no setting 'trian'.*did you mean 'train'")
def _() -> None:
    with chainer.using_config('trian', False):
        pass


@row('an assignment to a misspelt setting', errors.UnknownNameWarning, "did you mean 'debug'")
def _() -> None:
    try:
        chainer.config.debg = True
    finally:
        del chainer.config.debg


@row('backward in no_backprop_mode', errors.NoGraphWarning, 'no graph was recorded.*outside of it')
def _() -> None:
    with chainer.no_backprop_mode():
        F.sum(Model()(X)).backward()


# --- training ------------------------------------------------------------------------------------------------------
def data(n: int = 8) -> Any:
    return datasets.TupleDataset(np.ones((n, 3), 'f'), np.zeros(n, 'i'))


def iterator(n: int = 8, **options: Any) -> Any:
    return iterators.SerialIterator(data(n), 4, **options)


def updater(n: int = 8) -> Any:
    return training.updaters.StandardUpdater(iterator(n), set_up(L.Classifier(Model())))


#: Where the trainers of the rows write; a fixture sets it.
out_folder = 'result'


def run(*added: Any, n: int = 8) -> Any:
    trainer = training.Trainer(updater(n), (2, 'epoch'), out=out_folder)
    for extension in added:
        trainer.extend(extension)
    trainer.run(show_loop_exception_msg=False)
    return trainer


ROWS += [
    ('an optimizer in place of an updater', lambda: training.Trainer(set_up(Model())), TypeError,
     r'an updater expected first, got an object of type SGD; write Trainer\(training.updaters.StandardUpdater'),
    ('swapped arguments of StandardUpdater', lambda: training.StandardUpdater(set_up(Model()), iterator()),
     TypeError, r'look swapped: write StandardUpdater\(iterator, optimizer\)'),
    ('a model in place of an optimizer', lambda: training.StandardUpdater(iterator(), Model()), TypeError,
     r'an optimizer expected, got an object of type Model; write optimizers.Adam\(\).setup\(model\)'),
    ('a dataset in place of an iterator', lambda: training.StandardUpdater(data(), set_up(Model())), TypeError,
     'an iterator expected, got an object of type TupleDataset; write iterators.SerialIterator'),
    ('an optimizer without a model', lambda: training.Trainer(training.StandardUpdater(iterator(), optimizers.SGD())),
     RuntimeError, r"optimizer 'main' \(SGD\) has no model; call optimizer.setup\(model\)"),
    ('a number as stop_trigger', lambda: training.Trainer(updater(), 20), TypeError, r"a pair like \(1, 'epoch'\)"),
    ('a swapped stop_trigger', lambda: training.Trainer(updater(), ('epoch', 20)), ValueError,
     "must be either 'epoch' or 'iteration'"),
    ("PrintReport('epoch')", lambda: extensions.PrintReport('epoch'), TypeError,
     r"a list of names expected as entries, got 'epoch'; write \['epoch'\]"),
    ("LogReport('epoch')", lambda: extensions.LogReport('epoch'), TypeError, r"write \['epoch'\]"),
    ('PlotReport with a key that never comes', lambda: run(extensions.PlotReport(['mian/loss'], 'epoch')),
     UserWarning, "no value was observed for 'mian/loss': did you mean 'main/loss'"),
    ('an extension without parentheses', lambda: run(extensions.LogReport), TypeError,
     r'got the class LogReport; write extend\(LogReport\(...\)\)'),
    ('an extension that cannot be called', lambda: run(5), TypeError, 'called with the trainer, got an object of'),
    ('an iterator that repeats in an Evaluator',
     lambda: quietly(lambda: run(extensions.Evaluator(iterator(), L.Classifier(Model())))), ValueError,
     "iterator 'main' repeats, .* never end; make it with repeat=False"),
    ('that, when the Evaluator is made', lambda: extensions.Evaluator(iterator(), Model()), UserWarning,
     'repeat=False'),
    ('swapped arguments of Evaluator', lambda: extensions.Evaluator(Model(), iterator(repeat=False)), TypeError,
     r'look swapped: write Evaluator\(iterator, model\)'),
    ('a dataset in an Evaluator', lambda: extensions.Evaluator(data(), Model()), TypeError,
     'an iterator expected, got an object of type TupleDataset'),
]  # fmt: skip


def quietly(call: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        return call()


# --- datasets and batches ------------------------------------------------------------------------------------------
class Stops(chainer.dataset.DatasetMixin):
    def __len__(self) -> int:
        return 4

    def get_example(self, i: int) -> Any:
        return next(iter([]))


def read(make: Any, **options: Any) -> Any:
    with make(Stops(), 2, repeat=False, shuffle=False, **options) as batches:
        return list(batches)


def moved(before: int, after: int, **options: Any) -> None:
    """Loads the state of an iterator after one batch into that of another dataset."""
    file, old = io.BytesIO(), iterators.SerialIterator(list(range(before)), 4, **options)
    old.next()
    serializers.save_npz(file, old)
    serializers.load_npz(file, iterators.SerialIterator(list(range(after)), 2, **options))


concat = chainer.dataset.concat_examples
STOPPED = 'Stops has raised StopIteration while an example was read'
ROWS += [
    ('an empty dataset', lambda: iterators.SerialIterator([], 2).next(),
     ValueError, 'epoch is empty: list of length 0'),
    ('training with an empty dataset', lambda: run(n=0), ValueError, 'the epoch is empty: TupleDataset of length 0'),
    ('swapped arguments of an iterator', lambda: iterators.SerialIterator(2, [1, 2]), TypeError,
     r'look swapped, write \(dataset, batch_size\)'),
    ('a generator as dataset', lambda: iterators.SerialIterator((i for i in range(3)), 2), TypeError,
     r'a dataset with a length and indices expected, got generator; write list\(dataset\)'),
    ('StopIteration in a dataset', lambda: read(iterators.SerialIterator), RuntimeError, STOPPED),
    ('StopIteration in a thread', lambda: read(iterators.MultithreadIterator), RuntimeError, STOPPED),
    ('StopIteration in a process', lambda: read(iterators.MultiprocessIterator, n_processes=1),
     RuntimeError, STOPPED),
    ('a snapshot of another dataset', lambda: moved(8, 6), ValueError,
     'made with 8 examples in an epoch, the dataset here has 6'),
    ('a snapshot of another dataset in order', lambda: moved(8, 3, shuffle=False), ValueError,
     'made after 4 examples of epoch 0; the dataset here has 3'),
    ('ragged arrays', lambda: concat([np.ones(2), np.ones(3)]), ValueError, r'example 1 has \(3,\); pass padding'),
    ('ragged lists', lambda: concat([[1, 2], [1, 2, 3]]), ValueError, r'example 1 has \(3,\); pass padding'),
    ('ragged elements', lambda: concat([(np.ones(2), 0), (np.ones(3), 0)]), ValueError, 'element 0 of the examples'),
    ('a tuple and an array', lambda: concat([(1, 2), np.ones(2)]), TypeError,
     'example 0 is of type tuple, example 1 of ndarray'),
    ('an array and a tuple', lambda: concat([np.ones(2), (1, 2)]), TypeError, 'example 1 of tuple'),
    ('an array and a list', lambda: concat([np.ones(2), [1.0, 2.0]]), TypeError, r'write numpy.asarray\(x'),
    ('a dict and a tuple', lambda: concat([{'a': 1}, (1,)]), TypeError, 'example 0 is of type dict'),
    ('a number and a text', lambda: concat([1, 'a']), TypeError, 'types number, str cannot form one array'),
    ('a number and None', lambda: concat([1, None]), TypeError, 'types None, number'),
    ('other keys', lambda: concat([{'a': 1}, {'b': 1}]),
     KeyError, r"example 1 has the keys \['b'\], and lacks \['a'\]"),
    ('tuples of other lengths', lambda: concat([(1, 2), (1, 2, 3)]), IndexError, 'a tuple of 2, example 1 of 3'),
    ('too few paddings', lambda: concat([(1, 2), (1, 2)], padding=(0,)),
     IndexError, r'have 2 elements, padding = \(0,\)'),
    ('a missing padding', lambda: concat([{'a': 1, 'b': 1}], padding={'a': 0}),
     KeyError, r"keys \['a', 'b'\], padding"),
    ('an empty batch', lambda: concat([]), ValueError, 'batch is empty'),
]  # fmt: skip

# --- files ---------------------------------------------------------------------------------------------------------
SWAPPED = r'{0}: the arguments look swapped: write {0}\(file, obj\)'
for function in ('save_npz', 'load_npz', 'save_hdf5', 'load_hdf5'):
    call: Any = getattr(serializers, function)
    ROWS.append((f'swapped arguments of {function}', lambda call=call: call(Model(), 'a'), TypeError,
                 SWAPPED.format(function)))  # fmt: skip
    ROWS.append((f'a class for {function}', lambda call=call: call('a', Model), TypeError,
                 r'got the class Model; write Model\(...\)'))  # fmt: skip
ROWS.append(('an array for save_npz', lambda: serializers.save_npz('a', X), TypeError, 'such as a link, got ndarray'))

# --- names and numbers ---------------------------------------------------------------------------------------------
ROWS += [
    ('a misspelt class', lambda: chainer.Chian, AttributeError, "did you mean 'Chain'"),
    ('a misspelt function', lambda: F.softmax_crossentropy, AttributeError, "did you mean 'softmax_cross_entropy'"),
    ('a misspelt distribution', lambda: chainer.distributions.Norml, AttributeError, "did you mean 'Normal'"),
    ('a misspelt function of cuda', lambda: chainer.backends.cuda.to_gppu, AttributeError, "did you mean 'to_gpu'"),
    ('a misspelt check', lambda: chainer.gradient_check.check_bakward, AttributeError, "mean 'check_backward'"),
    ('something of ChainerX', lambda: chainer.chainerx.array, AttributeError, 'ChainerX is not supported'),
    ('float() of several elements', lambda: float(chainer.Variable(X)),
     TypeError, r'one element expected, got shape'),
    ('int() of several elements', lambda: int(chainer.Variable(X)), TypeError, 'one element expected'),
    ('a format for several elements', lambda: f'{chainer.Variable(X):.3f}', TypeError, r'functions.mean\(x\)'),
    ('a truth value', lambda: bool(chainer.Variable(X)), TypeError, 'has no truth value'),
]  # fmt: skip


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(f'{__name__}.out_folder', str(tmp_path / 'result'))


@pytest.mark.parametrize(('call', 'error', 'words'), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_the_mistake_is_named(call: Callable[[], Any], error: type[BaseException], words: str) -> None:
    if issubclass(error, Warning):
        with pytest.warns(error) as caught:
            call()
        text = '\n'.join(str(warning.message) for warning in caught)
    else:
        with pytest.raises(error) as raised:
            call()
        text = str(raised.value)
    assert re.search(words, text, re.DOTALL), text


def test_each_mistake_has_one_row() -> None:
    names = [row[0] for row in ROWS]
    assert sorted(set(names)) == sorted(names)
