"""Links that take sizes from the data of the first call: from the right axes, once, and for all threads alike."""

from __future__ import annotations

import copy
import inspect
import io
import multiprocessing
import os
import pickle
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from minichainer import _once, links, variable
from minichainer._dtype import get_dtype, mixed16
from minichainer.configuration import using_config
from minichainer.links.connection import convolution, linear
from minichainer.links.normalization import batch_normalization, sample_normalization
from minichainer.links.rnn import lstm
from minichainer.serializers.npz import load_npz, save_npz
from minichainer.utils.type_check import InvalidType
from minichainer.variable import Parameter
from tests.completeness import assert_complete


def rows(*sizes: int) -> Callable[[int], tuple[Any, ...]]:
    """The arguments for a batch: one array of these sizes for each example."""
    return lambda n: (np.random.RandomState(0).standard_normal((n, *sizes)).astype(np.float32),)


def after(*nones: None, sizes: tuple[int, ...] = (3,)) -> Callable[[int], tuple[Any, ...]]:
    return lambda n: (*nones, *rows(*sizes)(n))


LAZY: dict[str, tuple[Callable[[], Any], Callable[[int], tuple[Any, ...]]]] = {
    'Linear': (lambda: links.Linear(None, 4), rows(2, 3)),
    'Linear short': (lambda: links.Linear(4), rows(3)),
    'Convolution1D': (lambda: links.Convolution1D(None, 4, 3), rows(2, 6)),
    'Convolution2D': (lambda: links.Convolution2D(None, 4, 3), rows(2, 6, 5)),
    'Convolution3D': (lambda: links.Convolution3D(None, 4, 3), rows(2, 4, 5, 3)),
    'ConvolutionND': (lambda: links.ConvolutionND(2, None, 4, 3, groups=2), rows(2, 6, 5)),
    'Deconvolution1D': (lambda: links.Deconvolution1D(None, 4, 3), rows(2, 6)),
    'Deconvolution2D': (lambda: links.Deconvolution2D(None, 4, 3), rows(2, 6, 5)),
    'Deconvolution3D': (lambda: links.Deconvolution3D(None, 4, 3), rows(2, 4, 5, 3)),
    'DeconvolutionND': (lambda: links.DeconvolutionND(2, None, 4, 3), rows(2, 6, 5)),
    'Inception': (lambda: links.Inception(None, 1, 2, 3, 1, 2, 3), rows(2, 6, 5)),
    'InceptionBN': (lambda: links.InceptionBN(None, 1, 2, 3, 1, 2, 'avg', 3), rows(2, 6, 5)),
    'DilatedConvolution2D': (lambda: links.DilatedConvolution2D(None, 4, 3), rows(2, 6, 5)),
    'DepthwiseConvolution2D': (lambda: links.DepthwiseConvolution2D(None, 4, 3), rows(2, 6, 5)),
    'LocalConvolution2D': (lambda: links.LocalConvolution2D(None, 4, None, 3), rows(2, 6, 5)),
    'DeformableConvolution2D': (lambda: links.DeformableConvolution2D(None, 4, 3), rows(2, 6, 5)),
    'MLPConvolution2D': (lambda: links.MLPConvolution2D(None, (4, 2), 3), rows(2, 6, 5)),
    'Maxout': (lambda: links.Maxout(None, 4, 3), rows(2, 3)),
    'SimplifiedDropconnect': (lambda: links.SimplifiedDropconnect(None, 4), lambda n: (*rows(2, 3)(n), False)),
    'Swish': (lambda: links.Swish(None), rows(2, 3)),
    'RMSNormalization': (lambda: links.RMSNormalization(), rows(2, 3)),
    'InstanceNormalization': (lambda: links.InstanceNormalization(), rows(4, 3)),
    'BatchNormalization': (lambda: links.BatchNormalization(axis=(0, 2)), rows(3, 4)),
    'LayerNormalization': (lambda: links.LayerNormalization(), rows(3)),
    'GroupNormalization': (lambda: links.GroupNormalization(2), rows(4, 3)),
    'LSTM': (lambda: links.LSTM(None, 4), rows(3)),
    'LSTM short': (lambda: links.LSTM(4), rows(2, 3)),
    'StatelessLSTM': (lambda: links.StatelessLSTM(None, 4), after(None, None)),
    'StatefulPeepholeLSTM': (lambda: links.StatefulPeepholeLSTM(None, 4), rows(3)),
    'StatefulZoneoutLSTM': (lambda: links.StatefulZoneoutLSTM(None, 4), rows(3)),
    'GRU': (lambda: links.GRU(None, 4), rows(3)),
    'StatefulGRU': (lambda: links.StatefulGRU(None, 4), rows(3)),
    'StatelessGRU': (lambda: links.StatelessGRU(None, 4), lambda n: (np.zeros((n, 4), 'f'), *rows(3)(n))),
    'ChildSumTreeLSTM': (lambda: links.ChildSumTreeLSTM(None, 4), after(None, None)),
    'NaryTreeLSTM': (lambda: links.NaryTreeLSTM(None, 4), after(None, None, None, None)),
}
#: Links with a size that Chainer does not take from data either.
NOT_LAZY = {
    'EmbedID',
    'Bilinear',
    'BatchRenormalization',
    'DecorrelatedBatchNormalization',
    'NegativeSampling',
    'BlackOut',
    'BinaryHierarchicalSoftmax',
    'MultiHeadAttention',
    'TransformerEncoderLayer',
    'TransformerDecoderLayer',
    'StatelessMGU',
    'StatefulMGU',
}
NOT_LAZY |= {name for name in dir(links) if name.startswith('NStep')}

#: Max pooling refuses an empty batch, as in Chainer, before any size is taken.
REFUSES_EMPTY = {'Inception'}

lazy = pytest.mark.parametrize('name', LAZY)


def shapes(link: Any) -> dict[str, Any]:
    found = {path: np.shape(param.array) for path, param in link.namedparams()}
    return {**found, **{path: np.shape(link.__dict__[path]) for path in link._persistent}}


def values(result: Any) -> list[Any]:
    return [y.array for y in (result if isinstance(result, tuple) else (result,))]


def test_the_table_has_all_links() -> None:
    def has_a_size(link: Any) -> bool:
        return bool(
            {'in_size', 'in_channels', 'size', 'left_size', 'n_layers', 'beta_shape'}
            & set(inspect.signature(link).parameters)
        )

    exported = {name: getattr(links, name) for name in links.__all__}
    classes = {name for name, link in exported.items() if inspect.isclass(link) and has_a_size(link)}
    row = 'a row that leaves a size open, or the name to NOT_LAZY'
    lazy = {name.split()[0] for name in LAZY}
    assert_complete(lazy, classes - NOT_LAZY, 'tests/links/test_lazy.py: LAZY', row)


@lazy
def test_an_empty_batch_settles_the_same_sizes(name: str) -> None:
    make, arguments = LAZY[name]
    full, empty = make(), make()
    full(*arguments(2))
    if name in REFUSES_EMPTY:
        with pytest.raises(InvalidType, match=r'x\.size > 0'):
            empty(*arguments(0))
        assert not any(
            param.is_initialized for path, param in empty.namedparams() if path in ('/conv1/W', '/projp/W')
        )
        return
    results = values(empty(*arguments(0)))
    assert shapes(empty) == shapes(full)
    assert all(len(result) == 0 for result in results)
    again = empty.copy('copy')
    if hasattr(again, 'reset_state'):
        again.reset_state()
    assert all(len(result) == 2 for result in values(again(*arguments(2))))


# --- threads ---
N_THREADS = 8


@pytest.fixture
def slow_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every first array takes a while, in which the other threads arrive."""
    for module in (variable, batch_normalization, lstm):
        make = module.generate_array

        def slowly(*args: Any, make: Any = make, **kwargs: Any) -> Any:
            time.sleep(0.002)
            array = make(*args, **kwargs)
            time.sleep(0.002)
            return array

        monkeypatch.setattr(module, 'generate_array', slowly)


def at_once(function: Callable[[], Any]) -> list[Any]:
    """What a function returns or raises in several threads that begin together."""
    barrier, results = threading.Barrier(N_THREADS), []

    def run() -> None:
        barrier.wait()
        try:
            results.append(function())
        except Exception as error:
            results.append(error)

    threads = [threading.Thread(target=run, daemon=True) for _ in range(N_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert not any(thread.is_alive() for thread in threads)
    assert not _once._turns
    return results


def arrays(link: Any) -> dict[str, Any]:
    """The parameters and statistics of a link, and the gradients that it began with."""
    found = {path: param.array for path, param in link.namedparams()}
    found.update({path + ' grad': param.grad for path, param in link.namedparams()})
    found.update({name: link.__dict__[name] for name in link._persistent if name != 'N'})
    return found


@pytest.mark.usefixtures('slow_arrays')
@lazy
def test_all_threads_see_the_same_first_arrays(name: str) -> None:
    make, arguments = LAZY[name]
    link = make()

    def call() -> Any:
        results = values(link(*arguments(2)))
        return {path: id(array) for path, array in arrays(link).items()}, results

    answers = at_once(call)
    kept = {path: id(array) for path, array in arrays(link).items()}
    for answer in answers:
        assert not isinstance(answer, Exception), repr(answer)
        assert answer[0] == kept
        if not hasattr(link, 'reset_state'):
            for result, other in zip(answer[1], answers[0][1], strict=True):
                np.testing.assert_array_equal(result, other)


@pytest.mark.parametrize('attempt', range(5))
def test_all_threads_get_the_answers_of_one_model(attempt: int) -> None:
    """Without any help by sleeping: large weights take long enough."""
    model, x = links.Linear(None, 300), np.ones((2, 2000), np.float32)
    answers = at_once(lambda: model(x).array)
    for answer in answers:
        np.testing.assert_array_equal(answer, model(x).array)


@pytest.mark.usefixtures('slow_arrays')
def test_a_parameter_is_initialized_once_by_threads_and_again_when_asked() -> None:
    param = Parameter(links.Linear(1, 1).W.initializer)

    def initialize() -> Any:
        param.initialize((3, 2))
        return param.array

    assert len({id(array) for array in at_once(initialize)}) == 1
    before = param.array
    param.initialize((3, 2))
    assert param.array is not before


@pytest.mark.parametrize(('failures', 'errors'), [(1, 1), (3, 3), (100, N_THREADS)])
def test_an_initializer_that_raises_leaves_the_next_thread_to_it(failures: int, errors: int) -> None:
    left = [None] * failures

    def initializer(array: Any) -> None:
        time.sleep(0.002)
        if left:
            left.pop()
            raise OSError('no weights')
        array[...] = np.random.standard_normal(array.shape)

    model = links.Linear(None, 3, initialW=initializer)
    answers = at_once(lambda: model(np.ones((1, 2), np.float32)).array)
    good = [answer for answer in answers if isinstance(answer, np.ndarray)]
    assert len(good) == N_THREADS - errors
    assert len({answer.tobytes() for answer in good}) <= 1
    assert model.W.is_initialized == bool(good)


def test_an_initializer_may_use_other_models_and_threads() -> None:
    inner = links.Linear(None, 4)

    def initializer(array: Any) -> None:
        array[...] = at_once_inside(lambda: inner(np.ones((1, 2), np.float32)).array)

    def at_once_inside(function: Callable[[], Any]) -> Any:
        results: list[Any] = []
        thread = threading.Thread(target=lambda: results.append(function()), daemon=True)
        thread.start()
        thread.join(10)
        return results[0]

    outer = links.Linear(None, 1, initialW=initializer)
    assert outer(np.ones((1, 4), np.float32)).shape == (1, 1)


def while_initializing(check: Callable[[Any], Any]) -> Any:
    """What a function of a model returns while another thread is in the model's initializer."""
    inside, done = threading.Event(), threading.Event()

    def initializer(array: Any) -> None:
        inside.set()
        done.wait(20)
        array[...] = 1

    model = links.Linear(None, 3, initialW=initializer)
    thread = threading.Thread(target=lambda: model(np.ones((1, 2), np.float32)), daemon=True)
    thread.start()
    inside.wait(20)
    model.W.initializer = None  # a function inside a test cannot be pickled
    try:
        return check(model)
    finally:
        done.set()
        thread.join(20)
        assert model.W.array.tolist() == [[1, 1]] * 3


@pytest.mark.parametrize(
    'duplicate', [copy.deepcopy, lambda model: model.copy(), lambda model: pickle.loads(pickle.dumps(model))]
)
def test_models_are_copied_and_pickled_while_they_are_initialized(duplicate: Any) -> None:
    assert not while_initializing(lambda model: duplicate(model).W.is_initialized)


@pytest.mark.skipif(not hasattr(os, 'fork'), reason='processes are not forked on this system')
@pytest.mark.filterwarnings('ignore:.*multi-threaded.*fork:DeprecationWarning')
def test_a_forked_process_does_not_wait_for_threads_that_it_does_not_have() -> None:
    def use(model: Any) -> None:
        model.W.initializer = links.Linear(1, 1).W.initializer
        assert model(np.ones((1, 2), np.float32)).shape == (1, 3)

    def check(model: Any) -> Any:
        process = multiprocessing.get_context('fork').Process(target=use, args=(model,), daemon=True)
        process.start()
        process.join(20)
        if process.is_alive():
            process.kill()
        return process.exitcode

    assert while_initializing(check) == 0


@lazy
def test_a_model_that_is_ready_takes_no_lock(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make, arguments = LAZY[name]
    link = make()
    for _ in range(2):  # StatefulGRU uses some of its parameters from the second step on
        link(*arguments(2))

    def refuse(owner: Any) -> Any:
        raise AssertionError('a lock was taken')

    for module in (variable, linear, convolution, batch_normalization, sample_normalization, lstm):
        monkeypatch.setattr(module, 'one_at_a_time', refuse)
    link(*arguments(2))


@pytest.mark.parametrize('dtype', [mixed16, np.float16, np.float64], ids=str)
@pytest.mark.parametrize('row', LAZY)
def test_a_snapshot_fits_a_link_that_has_not_been_called(row: str, dtype: Any) -> None:
    """Its parameters get the dtypes that a call gives them."""
    make, args = LAZY[row]
    with using_config('dtype', dtype):
        called, new = make(), make()
        promised = {name: param.dtype for name, param in new.namedparams()}
        called(*(a.astype(get_dtype()) if isinstance(a, np.ndarray) else a for a in args(5)))
        save_npz(file := io.BytesIO(), called)
        file.seek(0)
        load_npz(file, new)
        for link in (called, new):  # a GRU without a state leaves some parameters without an array
            assert {name: param.dtype for name, param in link.namedparams()} == promised


@lazy
def test_loading_draws_as_a_call_does(name: str) -> None:
    """As in Chainer, so that what draws next, a shuffled iterator for instance, gets the same numbers."""
    make, arguments = LAZY[name]
    called, new, other = make(), make(), make()
    called(*arguments(2))
    shapes_of = {path: param.shape for path, param in called.namedparams() if param.array is not None}
    save_npz(file := io.BytesIO(), called)
    file.seek(0)
    np.random.seed(3)
    load_npz(file, new)
    drawn = np.random.rand()
    np.random.seed(3)
    for path, param in other.namedparams():
        if param.array is None and path in shapes_of:
            param.initialize(shapes_of[path])
    assert np.random.rand() == drawn
