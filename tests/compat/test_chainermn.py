"""ChainerMN with one process: scripts with a communicator run, and give the figures of a training without."""

from __future__ import annotations

import importlib
import os
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import training
from minichainer.compat import chainermn
from minichainer.training import extensions


@pytest.fixture
def comm() -> Any:
    return chainermn.create_communicator('naive')


def model(seed: int = 0) -> Any:
    link = L.Classifier(L.Linear(3, 2))
    link.predictor.W.array[...] = np.random.RandomState(seed).rand(2, 3)
    return link


def dataset(count: int = 10) -> Any:
    random = np.random.RandomState(1)
    return chainer.datasets.TupleDataset(random.rand(count, 3).astype('f'), random.randint(0, 2, count).astype('i'))


def test_the_package_is_imported_under_its_name(alias: None) -> None:
    module = importlib.import_module('chainermn')
    assert module is chainermn
    assert module.__version__ == '7.8.1'
    for name in ('communicators', 'datasets', 'extensions.checkpoint', 'functions', 'iterators', 'links', 'nccl'):
        assert importlib.import_module(f'chainermn.{name}').__name__ == f'minichainer.compat.chainermn.{name}'
    assert module.nccl._available is False
    module.global_except_hook.add_hook()


@pytest.mark.parametrize('name', ['naive', 'flat', 'pure_nccl', 'non_cuda_aware', 'hierarchical', 'dummy'])
def test_a_communicator_has_one_process(name: str) -> None:
    comm = chainermn.create_communicator(name)
    assert isinstance(comm, chainermn.CommunicatorBase)
    assert (comm.rank, comm.intra_rank, comm.inter_rank) == (0, 0, 0)
    assert (comm.size, comm.intra_size, comm.inter_size) == (1, 1, 1)
    assert comm.split(0, 0) is comm
    comm.finalize()


def test_wrong_arguments_of_a_communicator() -> None:
    with pytest.raises(ValueError, match=r"expected one of .*naive.* got 'mpi'"):
        chainermn.create_communicator('mpi')
    with pytest.raises(ValueError, match='allreduce_grad_dtype'):
        chainermn.create_communicator('naive', allreduce_grad_dtype=np.float16)
    with pytest.raises(TypeError, match='typo'):
        chainermn.create_communicator('naive', typo=1)
    assert chainermn.create_communicator('pure_nccl', allreduce_grad_dtype=np.float16).size == 1


def test_several_processes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('OMPI_COMM_WORLD_SIZE', '4')
    with pytest.raises(RuntimeError, match=r'4 processes, and only one(.|\n)*without mpiexec'):
        chainermn.create_communicator('naive')


def test_collective_operations_return_what_they_get(comm: Any) -> None:
    x = np.arange(3.0)
    assert comm.bcast(x) is x
    assert comm.gather(x)[0] is comm.allgather(x)[0] is comm.scatter([x]) is comm.alltoall((x,))[0] is x
    np.testing.assert_array_equal(comm.allreduce(x), x)
    assert comm.allreduce(x) is not x, 'a new array, as with several processes'
    assert comm.bcast_obj('a') == comm.allreduce_obj('a') == 'a'
    assert comm.gather_obj('a') == comm.allgather_obj('a') == ['a']
    assert comm.scatter_obj(['a']) == 'a'
    comm.set_config('batched_copy', True)
    assert comm.get_config('batched_copy') is True
    assert comm.get_config() == {'batched_copy': True}


PARTNERS = {
    'send': lambda comm: comm.send(np.ones(1), 1, 0),
    'recv': lambda comm: comm.recv(1, 0),
    'send_obj': lambda comm: comm.send_obj('a', 1),
    'recv_obj': lambda comm: comm.recv_obj(1),
    'function send': lambda comm: chainermn.functions.send(np.ones(1), comm, 1),
    'function recv': lambda comm: chainermn.functions.recv(comm, 1),
    'rnn': lambda comm: chainermn.links.create_multi_node_n_step_rnn(L.NStepLSTM(1, 2, 2, 0.0), comm, rank_in=1),
}


@pytest.mark.parametrize('name', PARTNERS)
def test_what_needs_a_second_process_says_so(name: str, comm: Any) -> None:
    with pytest.raises(RuntimeError, match=r'no process 1.*only one process'):
        PARTNERS[name](comm)


@pytest.mark.parametrize('call', ['bcast', 'gather', 'bcast_obj', 'gather_obj'])
def test_another_root_is_refused(call: str, comm: Any) -> None:
    with pytest.raises(ValueError, match=r'root must be 0.*got 1'):
        getattr(comm, call)(np.ones(1), root=1)


def test_a_wrong_number_of_arrays_is_refused(comm: Any) -> None:
    with pytest.raises(ValueError, match=r'expected one element for each process.*got 2'):
        comm.alltoall((1, 2))


def test_scatter_dataset(comm: Any) -> None:
    whole = list(range(20))
    assert chainermn.scatter_dataset(whole, comm)[:] == whole
    assert chainermn.scatter_index(20, comm) == (0, 20)
    shuffled = chainermn.scatter_dataset(whole, comm, shuffle=True, seed=3)
    assert shuffled[:] == list(np.random.RandomState(3).permutation(20)), 'the order that ChainerMN draws'
    empty = chainermn.datasets.create_empty_dataset(whole)
    assert len(empty) == 20 and empty[3] == ()


def test_iterators_serve_themselves(comm: Any) -> None:
    iterator = chainer.iterators.SerialIterator([1, 2], 1)
    assert chainermn.iterators.create_multi_node_iterator(iterator, comm) is iterator
    assert chainermn.iterators.create_synchronized_iterator(iterator, comm) is iterator


def train(link: Any, optimizer: Any, data: Any, out: Path, *more: Any) -> Any:
    iterator = chainer.iterators.SerialIterator(data, 5, shuffle=False)
    trainer = training.Trainer(training.StandardUpdater(iterator, optimizer), (3, 'epoch'), out=str(out))
    for extension in more:
        trainer.extend(extension)
    trainer.run()
    return link


def test_a_training_gives_the_figures_of_one_without_communicator(comm: Any, tmp_path: Path) -> None:
    data = dataset()
    plain = model()
    expected = train(plain, chainer.optimizers.Adam().setup(plain), data, tmp_path)
    link = model()
    optimizer = chainermn.create_multi_node_optimizer(chainer.optimizers.Adam(), comm)
    optimizer.setup(link)
    optimizer.update()  # sends the parameters, as in ChainerMN
    test = chainer.iterators.SerialIterator(data, 5, repeat=False, shuffle=False)
    evaluator = chainermn.create_multi_node_evaluator(extensions.Evaluator(test, link), comm)
    found = train(link, optimizer, chainermn.scatter_dataset(data, comm), tmp_path, evaluator)
    np.testing.assert_array_equal(found.predictor.W.array, expected.predictor.W.array)


def test_the_first_update_sends_parameters_and_changes_none(comm: Any) -> None:
    link, x = model(), np.ones((2, 3), 'f')
    optimizer = chainermn.create_multi_node_optimizer(chainer.optimizers.SGD(0.1), comm).setup(link)
    before = link.predictor.W.array.copy()
    optimizer.update(link, x, np.array([0, 1], 'i'))
    np.testing.assert_array_equal(link.predictor.W.array, before)
    optimizer.update(link, x, np.array([0, 0], 'i'))
    assert (link.predictor.W.array != before).any()
    assert (optimizer.t, optimizer.lr) == (1, 0.1)
    optimizer.lr = 0.5
    assert optimizer.actual_optimizer.lr == 0.5
    optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(0.1))
    with pytest.raises(ValueError, match='double_buffering'):
        chainermn.create_multi_node_optimizer(chainer.optimizers.SGD(), comm, double_buffering=True)


def test_missing_gradients_become_zeros(comm: Any) -> None:
    link = L.Linear(2, 2)
    link.cleargrads()
    comm.multi_node_mean_grad(link, zero_fill=False)
    assert link.W.grad is None
    comm.allreduce_grad(link, zero_fill=True)
    np.testing.assert_array_equal(link.W.grad, np.zeros((2, 2)))


FUNCTIONS = {
    'allgather': lambda f, comm, x: f.allgather(comm, x)[0],
    'alltoall': lambda f, comm, x: f.alltoall(comm, (x,))[0],
    'bcast': lambda f, comm, x: f.bcast(comm, x),
    'gather': lambda f, comm, x: f.gather(comm, x)[0],
    'scatter': lambda f, comm, x: f.scatter(comm, [x]),
    'pseudo_connect': lambda f, comm, x: f.pseudo_connect(chainer.Variable(np.zeros(1)), x)[0],
    'no connection': lambda f, comm, x: f.pseudo_connect(None, x)[0],
}


@pytest.mark.parametrize('name', FUNCTIONS)
def test_functions_pass_gradients(name: str, comm: Any) -> None:
    x = chainer.Variable(np.array([1.0, 2.0]))
    y = FUNCTIONS[name](chainermn.functions, comm, x)
    np.testing.assert_array_equal(y.array, x.array)
    y.grad = np.array([3.0, 4.0])
    y.backward()
    np.testing.assert_array_equal(x.grad, [3, 4])


def test_the_delegate_variable_gets_zeros() -> None:
    delegate, x = chainer.Variable(np.ones(3)), chainer.Variable(np.ones(2))
    (y,) = chainermn.functions.pseudo_connect(delegate, x)
    F.sum(y).backward()
    np.testing.assert_array_equal(delegate.grad, np.zeros(3))


def test_batch_normalization_over_one_process(comm: Any) -> None:
    x = np.random.RandomState(0).rand(5, 3).astype('f')
    link = chainermn.links.MultiNodeBatchNormalization(3, comm, eps=1e-3)
    assert not link.avg_var.any(), 'ChainerMN begins at 0'
    plain = L.BatchNormalization(3, eps=1e-3, initial_avg_var=0)
    np.testing.assert_array_equal(link(x).array, plain(x).array)
    np.testing.assert_array_equal(link.avg_var, plain.avg_var)
    original = chainer.Sequential(L.Linear(3, 3), L.BatchNormalization(3))
    copied = chainermn.links.create_mnbn_model(original, comm)
    assert type(copied[1]) is chainermn.links.MultiNodeBatchNormalization
    assert type(original[1]) is L.BatchNormalization
    np.testing.assert_array_equal(copied(x).array, original(x).array)


def test_a_chain_of_parts_on_one_process(comm: Any) -> None:
    chain = chainermn.MultiNodeChainList(comm)
    first, second = L.Linear(3, 4), L.Linear(4, 2)
    chain.add_link(first, rank_in=None, rank_out=0)
    chain.add_link(second, rank_in=0, rank_out=None)
    x = np.ones((2, 3), 'f')
    y = chain(x)
    np.testing.assert_array_equal(y.array, second(first(x)).array)
    F.sum(y).backward()
    assert first.W.grad is not None
    with pytest.raises(ValueError, match='only one part'):
        chain.add_link(L.Linear(2, 2))
    other = chainermn.MultiNodeChainList(comm)
    other.add_link(L.Linear(3, 4), rank_out=1)
    with pytest.raises(RuntimeError, match='no process 1'):
        other(x)


def test_recurrent_layers(comm: Any) -> None:
    link = L.NStepLSTM(1, 2, 3, 0.0)
    wrapped = chainermn.links.create_multi_node_n_step_rnn(link, comm)
    xs = [np.ones((4, 2), 'f')]
    h, c, ys, delegate = wrapped(xs)
    expected = link(None, None, xs)
    np.testing.assert_array_equal(ys[0].array, expected[2][0].array)
    assert delegate is None and h.shape == c.shape == (1, 1, 3)
    with pytest.raises(ValueError, match='expected an NStepRNN link, got Linear'):
        chainermn.links.create_multi_node_n_step_rnn(L.Linear(2, 2), comm)


def test_a_generic_evaluator(comm: Any) -> None:
    class Evaluator(chainermn.extensions.GenericMultiNodeEvaluator):
        def calc_local(self, x: Any, t: Any) -> float:
            return float(len(x))

        def aggregate(self, results: Any) -> float:
            return float(sum(results))

    seen: list[float] = []
    iterator = chainer.iterators.SerialIterator(dataset(7), 3, repeat=False, shuffle=False)
    evaluator = Evaluator(comm, iterator, model(), progress_hook=seen.append)
    assert (evaluator(None), evaluator(None)) == (7.0, 7.0)
    assert seen == [3, 3, 1] * 2


def test_checkpoints_are_kept_and_loaded(comm: Any, tmp_path: Path) -> None:
    with pytest.warns(DeprecationWarning, match='extensions.snapshot'):
        checkpointer = chainermn.create_multi_node_checkpointer('run', comm, cp_interval=2, path=str(tmp_path))
    link = L.Linear(2, 2)
    assert checkpointer.get_stats() == 'No stats available'
    for iteration in (1, 2, 10):
        link.W.array[...] = iteration
        checkpointer.save(link, iteration)
    assert sorted(os.listdir(tmp_path)) == ['run.0.10', 'run.0.2']
    assert 'avg=' in checkpointer.get_stats()
    other = L.Linear(2, 2)
    with pytest.warns(DeprecationWarning, match='deprecated'):
        again = chainermn.create_multi_node_checkpointer('run', comm, path=str(tmp_path))
    again.maybe_load(other)
    np.testing.assert_array_equal(other.W.array, np.full((2, 2), 10))
    again.finalize()
    assert os.listdir(tmp_path) == []
    again.maybe_load(other)  # nothing to load
    with pytest.raises(ValueError, match=r"without dots.*'a\.b'"):
        chainermn.extensions.checkpoint.Checkpointer('a.b', comm, 5, None)


def test_a_trainer_saves_and_resumes_checkpoints(comm: Any, tmp_path: Path) -> None:
    with pytest.warns(DeprecationWarning, match='extensions.snapshot'):
        checkpointer = chainermn.create_multi_node_checkpointer('run', comm)
    checkpointer.finalize = lambda: None  # keeps the files
    link = model()
    optimizer = chainermn.create_multi_node_optimizer(chainer.optimizers.SGD(0.1), comm).setup(link)
    iterator = chainer.iterators.SerialIterator(dataset(), 5)
    trainer = training.Trainer(training.StandardUpdater(iterator, optimizer), (4, 'iteration'), out=str(tmp_path))
    trainer.extend(checkpointer, trigger=(2, 'iteration'))
    trainer.run()
    assert sorted(os.listdir(tmp_path)) == ['run.0.2', 'run.0.4']


def test_an_aggregator_of_observations(comm: Any) -> None:
    calls: list[Any] = []

    def total(values: list[list[float]]) -> float:
        calls.append(values)
        return sum(values[0])

    every_second = [False, True] * 2
    aggregator = chainermn.extensions.ObservationAggregator(
        comm, 'loss', 'total', comm_trigger=lambda trainer: every_second.pop(0), aggregator=total
    )
    trainer = types.SimpleNamespace()
    for value in (1.0, 2.0, 3.0, 4.0):
        trainer.observation = {'loss': value}
        aggregator(trainer)
    assert calls == [[[1.0, 2.0]], [[3.0, 4.0]]]
    assert trainer.observation == {'loss': 4.0, 'total': 7.0}


def test_other_extensions(comm: Any) -> None:
    chainermn.extensions.AllreducePersistent(model(), comm)(None)
    trigger = chainermn.extensions.MultiNodeEarlyStoppingTrigger(comm, patience=2, max_trigger=(5, 'epoch'))
    assert trigger.get_training_length() == (5, 'epoch')
    snapshot = extensions.snapshot()
    assert chainermn.extensions.multi_node_snapshot(comm, snapshot, [[0]]) is snapshot
    with pytest.raises(ValueError, match='process 0 is the only one'):
        chainermn.extensions.multi_node_snapshot(comm, snapshot, [[0, 1]])


def test_a_communicator_of_a_program_may_define_what_it_needs() -> None:
    class Mine(chainermn.CommunicatorBase):
        rank, size = 0, 2

    with pytest.raises(NotImplementedError, match='Mine must define bcast_data'):
        Mine().broadcast_data(model())
