"""A small training whose every number is a function of the seeds, and a trainer that only counts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minichainer import datasets, iterators
from minichainer.functions.activation.rectifiers import relu
from minichainer.link import Chain
from minichainer.links.connection.linear import Linear
from minichainer.links.model.classifier import Classifier
from minichainer.optimizers.adam import Adam
from minichainer.training.trainer import Trainer
from minichainer.training.updaters.standard_updater import StandardUpdater


class MLP(Chain):
    def __init__(self) -> None:
        super().__init__()
        with self.init_scope():
            self.l1 = Linear(4, 5)
            self.l2 = Linear(5, 3)

    def forward(self, x: Any) -> Any:
        return self.l2(relu(self.l1(x)))


def make_model(seed: int = 0) -> Classifier:
    model = Classifier(MLP())
    random = np.random.RandomState(seed)
    for _, param in sorted(model.namedparams()):
        param.array[...] = random.uniform(-0.5, 0.5, param.shape)
    return model


def make_data(n: int = 20) -> datasets.TupleDataset:
    random = np.random.RandomState(1)
    x = random.standard_normal((n, 4)).astype(np.float32)
    return datasets.TupleDataset(x, random.randint(0, 3, n).astype(np.int32))


@pytest.fixture
def make_trainer(tmp_path: Path) -> Callable[..., Trainer]:
    """Makes a trainer of 20 examples in batches of 8, that is 2 or 3 iterations an epoch."""

    def make(stop: Any = (2, 'epoch'), out: Any = tmp_path / 'out', seed: int = 2, **kwargs: Any) -> Trainer:
        sampler = iterators.ShuffleOrderSampler(np.random.RandomState(seed))
        iterator = iterators.SerialIterator(make_data(), 8, order_sampler=sampler)
        updater = StandardUpdater(iterator, Adam(0.05).setup(make_model()), **kwargs)
        return Trainer(updater, stop, str(out))

    return make


@pytest.fixture
def evaluation() -> Any:
    """An iterator over validation data, which ends."""
    return iterators.SerialIterator(make_data(7), 4, repeat=False, shuffle=False)


class CountingUpdater:
    """Stands for an updater where only the count matters."""

    def __init__(self, per_epoch: int, optimizer: Any = None) -> None:
        self.iteration = 0
        self.per_epoch = per_epoch
        self.optimizer = optimizer

    @property
    def epoch(self) -> int:
        return self.iteration // self.per_epoch

    @property
    def epoch_detail(self) -> float:
        return self.iteration / self.per_epoch

    @property
    def previous_epoch_detail(self) -> float:
        return (self.iteration - 1) / self.per_epoch

    def get_optimizer(self, name: str) -> Any:
        return self.optimizer


class CountingTrainer:
    """Stands for a trainer where only the count, the time and the observation matter."""

    def __init__(self, per_epoch: int = 4, optimizer: Any = None) -> None:
        self.updater = CountingUpdater(per_epoch, optimizer)
        self.observation: dict[str, Any] = {}
        self.elapsed_time = 0.0
        self.is_before_training = False

    def step(self, observation: dict[str, Any] | None = None, seconds: float = 0.0) -> CountingTrainer:
        self.updater.iteration += 1
        self.observation = observation or {}
        self.elapsed_time += seconds
        return self


@pytest.fixture
def counting() -> type[CountingTrainer]:
    return CountingTrainer
