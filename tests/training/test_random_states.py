"""Whatever draws random numbers during a training: a resumed run draws the same as the unbroken one."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import minichainer.functions as F
import minichainer.links as L
from minichainer import Chain, initializers, iterators, optimizers, training
from minichainer.configuration import config
from minichainer.reporter import report
from minichainer.serializer import SnapshotError
from minichainer.serializers import load_hdf5, load_npz, save_hdf5, save_npz
from minichainer.training import _random_states, extensions
from tests.soak.damage import same, state_of
from tests.training.conftest import make_data


class Source:
    """Where random numbers come from, by the name of a generator."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.own: Any = {
            'NumPy': lambda: None,  # modules cannot be sent to processes
            'Python': lambda: None,
            'RandomState': lambda: np.random.RandomState(0),
            'PCG64': lambda: np.random.default_rng(0),
            'MT19937': lambda: np.random.Generator(np.random.MT19937(0)),
            'Philox': lambda: np.random.Generator(np.random.Philox(0)),
            'SFC64': lambda: np.random.Generator(np.random.SFC64(0)),
            'Random': lambda: random.Random(0),
        }[kind]()

    def draw(self) -> float:
        source = {'NumPy': np.random, 'Python': random}.get(self.kind, self.own)
        return float(source.normalvariate(0, 1) if hasattr(source, 'normalvariate') else source.normal())


SOURCES = ['NumPy', 'Python', 'RandomState', 'PCG64', 'MT19937', 'Philox', 'SFC64', 'Random']


class Noisy(Chain, Source):
    """A model that draws; one part of it gets its shape, and initial values, from the third mini-batch on."""

    def __init__(self, kind: str = 'NumPy', rng: Any = None) -> None:
        Chain.__init__(self)
        Source.__init__(self, kind)
        self.calls = 0
        with self.init_scope():
            self.l1 = L.Linear(4, 3, initialW=0.1)
            self.late = L.Linear(None, 3, initialW=initializers.Normal(0.1, rng=rng))

    def forward(self, x: Any) -> Any:
        self.calls += bool(config.train)
        y = F.dropout(self.l1(x), 0.3) + F.gaussian(np.zeros((1, 3), 'f'), np.zeros((1, 3), 'f')) * 0.1
        y = y + np.float32(0.1 * self.draw())
        return y if self.calls < 3 else y + self.late(x)

    def serialize(self, serializer: Any) -> None:
        super().serialize(serializer)
        self.calls = int(serializer('calls', self.calls))


class NoisyData(Source):
    """A dataset that draws."""

    def __len__(self) -> int:
        return 20

    def __getitem__(self, index: int) -> Any:
        x, t = make_data()[index]
        return x + np.float32(0.1 * self.draw()), t


class NoisyExtension(training.Extension, Source):
    """An extension that draws."""

    def __call__(self, trainer: Any) -> None:
        report({'noise': self.draw()})


def plain_iterator(data: Any, kind: str) -> Any:
    return iterators.SerialIterator(data, 8)


def private_order(data: Any, kind: str) -> Any:
    own = Source(kind).own
    return iterators.SerialIterator(data, 8, order_sampler=iterators.ShuffleOrderSampler(own))


class OwnOrder(Source):
    """A sampler that does not serialize itself."""

    def __call__(self, order: Any, position: int) -> Any:
        keys = [self.draw() for _ in order]
        return np.argsort(keys)


#: By name: iterator, kinds of sources of dataset, model and extension.
CASES = {
    **{f'model, {kind}': (plain_iterator, 'NumPy', kind, 'NumPy') for kind in SOURCES},
    **{f'dataset, {kind}': (plain_iterator, kind, 'NumPy', 'NumPy') for kind in SOURCES},
    **{f'extension, {kind}': (plain_iterator, 'NumPy', 'NumPy', kind) for kind in SOURCES},
    **{f'order, {kind}': (private_order, 'NumPy', 'NumPy', 'NumPy') for kind in SOURCES[2:7]},
    'own sampler': (
        lambda data, kind: iterators.SerialIterator(data, 8, order_sampler=OwnOrder('PCG64')),
        'NumPy', 'NumPy', 'NumPy',
    ),
    'threads': (lambda data, kind: iterators.MultithreadIterator(make_data(), 8), 'NumPy', 'Python', 'NumPy'),
    'processes, NumPy': (
        lambda data, kind: iterators.MultiprocessIterator(data, 8, n_processes=2, n_prefetch=2),
        'NumPy', 'NumPy', 'NumPy',
    ),
    'processes, Python': (
        lambda data, kind: iterators.MultiprocessIterator(data, 8, n_processes=3, maxtasksperchild=2),
        'Python', 'NumPy', 'NumPy',
    ),
}  # fmt: skip


def make_trainer(case: str, out: Path, stop: int, seed: int = 0) -> training.Trainer:
    np.random.seed(seed)
    random.seed(seed)
    make_iterator, dataset, model, extension = CASES[case]
    kind = case.split(', ')[-1]
    classifier = L.Classifier(Noisy(model, rng=np.random.RandomState(0) if kind == 'RandomState' else None))
    iterator = make_iterator(NoisyData(dataset), kind)
    updater = training.StandardUpdater(iterator, optimizers.Adam(0.05).setup(classifier))
    trainer = training.Trainer(updater, (stop, 'iteration'), str(out), tune_allocator=False)
    trainer.extend(NoisyExtension(extension), priority=-100)
    sampler = iterators.ShuffleOrderSampler(np.random.default_rng(0))
    validation = iterators.SerialIterator(make_data(7), 4, repeat=False, order_sampler=sampler)
    trainer.extend(extensions.Evaluator(validation, classifier), trigger=(2, 'iteration'))
    trainer.extend(extensions.snapshot(durable=False), trigger=(1, 'iteration'))
    trainer.extend(NoisyExtension('NumPy'), name='behind', priority=-200)
    trainer.extend(extensions.LogReport(trigger=(1, 'iteration')), priority=-300)
    return trainer


def result(trainer: Any) -> dict[str, Any]:
    return {name: value for name, value in state_of(trainer).items() if 'LogReport/_log' not in name}


def disturb(seed: int) -> None:
    np.random.seed(seed)
    random.seed(seed)


@pytest.mark.parametrize('case', CASES)
def test_a_resumed_run_draws_the_same(case: str, tmp_path: Path) -> None:
    whole = make_trainer(case, tmp_path, 6)
    whole.run()
    for at in (2, 5):
        rest = make_trainer(case, tmp_path / 'rest', 6, seed=at)
        disturb(2 * at)
        load_npz(tmp_path / f'snapshot_iter_{at}', rest)
        disturb(3 * at)
        rest.run()
        assert same(result(rest), result(whole)), at


def test_hdf5_keeps_the_states_too(tmp_path: Path) -> None:
    pytest.importorskip('h5py', reason='HDF5 files need h5py')
    trainer, other = (make_trainer('model, PCG64', tmp_path / str(seed), 3, seed) for seed in (0, 1))
    trainer.run()
    save_hdf5(tmp_path / 'file', trainer)
    saved = str(result(trainer)['random'])
    expected = np.random.rand(), random.random()
    load_hdf5(tmp_path / 'file', other)
    assert (np.random.rand(), random.random()) == expected
    assert str(result(other)['random']) == saved  # until the run begins, it is what was loaded


def test_snapshots_without_states_are_loaded(tmp_path: Path) -> None:
    """Those of Chainer and of early versions; then random numbers go on after the initial values of the late part."""
    trainer = make_trainer('model, NumPy', tmp_path, 3)
    trainer.run()
    with np.load(tmp_path / 'snapshot_iter_3') as npz:
        entries = {name: npz[name] for name in npz if name not in ('random', 'progress', 'observation')}
    with open(tmp_path / 'old', 'wb') as file:
        np.savez(file, **entries)
    resumed = make_trainer('model, NumPy', tmp_path / 'rest', 5, seed=1)
    np.random.seed(7)
    load_npz(tmp_path / 'old', resumed)
    expected = np.random.RandomState(7)
    expected.normal(size=(3, 4))
    assert np.random.rand() == expected.rand()
    resumed.run()
    assert resumed.updater.iteration == 5


def test_a_load_that_fails_changes_no_generator(tmp_path: Path) -> None:
    trainer, other = (make_trainer('model, PCG64', tmp_path / str(seed), 3, seed) for seed in (0, 1))
    trainer.run()
    save_npz(tmp_path / 'good', trainer)
    with np.load(tmp_path / 'good') as npz:
        entries = {name: npz[name] for name in npz}
    name = 'updater/model:main/predictor/l1/W'
    entries[name] = np.zeros((1, 2, 3), 'f')
    with open(tmp_path / 'bad', 'wb') as file:
        np.savez(file, **entries)
    before = state_of(other)
    with pytest.raises(SnapshotError, match=name):
        load_npz(tmp_path / 'bad', other)
    assert same(state_of(other), before)
    np.random.seed(3)
    expected = make_trainer('model, PCG64', tmp_path / 'new', 3, 1)
    np.random.seed(3)
    expected.run()
    np.random.seed(3)
    random.seed(1)
    other.run()
    assert same(result(other), result(expected))


# --- CuPy, whose states cannot be read ---


class Gpu:
    """Stands for a GPU, with what CuPy draws on it."""

    current: Gpu

    def __init__(self, number: int) -> None:
        self.device = SimpleNamespace(id=number)
        self.generator = np.random.RandomState(number)
        self.drawn: list[float] = []

    @contextlib.contextmanager
    def using(self) -> Iterator[None]:
        Gpu.current = self
        yield

    def draw(self) -> float:
        self.drawn.append(self.generator.rand())
        return self.drawn[-1]


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> list[Gpu]:
    """Two GPUs that have models."""
    found = [Gpu(0), Gpu(1)]
    module = SimpleNamespace(
        randint=lambda n: Gpu.current.generator.randint(n), seed=lambda n: Gpu.current.generator.seed(n)
    )
    monkeypatch.setattr(_random_states, '_gpus', lambda trainer: found)
    monkeypatch.setattr(_random_states, 'cuda', SimpleNamespace(cupy=SimpleNamespace(random=module)))
    monkeypatch.setattr(_random_states, 'backend', SimpleNamespace(using_device=lambda device: device.using()))
    Gpu.current = found[0]
    return found


def test_each_snapshot_reseeds_every_gpu_also_in_the_unbroken_run(gpus: list[Gpu], tmp_path: Path) -> None:
    def make(out: str, stop: int) -> training.Trainer:
        trainer = make_trainer('model, NumPy', tmp_path / out, stop)
        trainer.extend(lambda trainer: [gpu.draw() for gpu in gpus], name='gpu', priority=400)
        trainer.extend(lambda trainer: [gpu.draw() for gpu in gpus], name='gpu after the snapshot', priority=-150)
        return trainer

    make('whole', 8).run()
    whole = [list(gpu.drawn) for gpu in gpus]
    assert whole[0] != whole[1] and len({*whole[0], *whole[1]}) == 2 * 8 * 2
    for at in (1, 5):
        for number, gpu in enumerate(gpus):
            gpu.generator.seed(100 + number)
            gpu.drawn.clear()
        rest = make('rest', 8)
        load_npz(tmp_path / 'whole' / f'snapshot_iter_{at}', rest)
        rest.run()
        # The second draw of the iteration comes after the snapshot.
        assert [gpu.drawn for gpu in gpus] == [drawn[2 * at - 1 :] for drawn in whole]


def test_without_a_gpu_cupy_is_not_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_random_states.cuda, 'cupy', None)
    monkeypatch.setattr(_random_states.cuda, 'available', False)
    trainer = make_trainer('model, NumPy', tmp_path, 2)
    trainer.run()
    assert trainer._random_states._seeds.state is None
