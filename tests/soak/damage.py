"""Ways to damage a file, and objects whose whole state is compared after loading one."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import iterators, optimizers, training
from minichainer.serializer import SnapshotError
from minichainer.serializers import DictionarySerializer
from minichainer.training import extensions, triggers


def flip(content: bytes, rng: random.Random) -> bytes:
    """One bit."""
    at = rng.randrange(len(content))
    return content[:at] + bytes([content[at] ^ (1 << rng.randrange(8))]) + content[at + 1 :]


def flip_several(content: bytes, rng: random.Random) -> bytes:
    """Up to five bits, in the structures at the beginning or the end."""
    damaged = bytearray(content)
    for _ in range(rng.randrange(1, 6)):
        distance = rng.randrange(min(len(content), 600))
        damaged[rng.choice([distance, -1 - distance])] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def cut(content: bytes, rng: random.Random) -> bytes:
    """The end is missing."""
    return content[: rng.randrange(len(content))]


def hole(content: bytes, rng: random.Random) -> bytes:
    """Zeros where blocks were not written, as after a power failure."""
    start = rng.randrange(len(content))
    size = rng.choice([1, 8, 64, 512, 4096])
    return content[:start] + bytes(len(content[start : start + size])) + content[start + size :]


def noise(content: bytes, rng: random.Random) -> bytes:
    """Other bytes in some place."""
    start, size = rng.randrange(len(content)), rng.choice([1, 4, 32, 256])
    return content[:start] + rng.randbytes(len(content[start : start + size])) + content[start + size :]


def without(content: bytes, rng: random.Random) -> bytes:
    """Bytes are missing in the middle."""
    start = rng.randrange(len(content))
    return content[:start] + content[start + rng.choice([1, 16, 512]) :]


def twice(content: bytes, rng: random.Random) -> bytes:
    """Bytes occur twice."""
    start = rng.randrange(len(content))
    return content[: start + rng.choice([1, 16, 512])] + content[start:]


def swapped(content: bytes, rng: random.Random) -> bytes:
    """Two blocks have changed places."""
    size = rng.choice([16, 512])
    first, second = sorted(rng.randrange(max(1, len(content) - size)) for _ in range(2))
    damaged = bytearray(content)
    damaged[first : first + size], damaged[second : second + size] = (
        content[second : second + size],
        content[first : first + size],
    )
    return bytes(damaged[: len(content)])


DAMAGES: list[Callable[[bytes, random.Random], bytes]] = [
    flip, flip_several, cut, hole, noise, without, twice, swapped
]  # fmt: skip


class Model(chainer.Chain):
    """Parameters of several dtypes, persistent values of several kinds, one part of unknown shape."""

    def __init__(self, seed: int, lazy: bool = False) -> None:
        super().__init__()
        rng = np.random.RandomState(seed)
        with self.init_scope():
            self.l1 = L.Linear(None if lazy else 4, 5)
            self.bn = L.BatchNormalization(5)
            self.l2 = L.Linear(5, 3)
            self.half = chainer.Parameter(rng.standard_normal(4).astype(np.float16))
        for _, param in sorted(self.namedparams()):
            if param.is_initialized:
                param.array[...] = rng.uniform(-0.5, 0.5, param.shape)
        self.add_persistent('steps', seed)
        self.add_persistent('rate', seed / 2)
        self.add_persistent('flag', seed > 1)
        self.add_persistent('mean', rng.standard_normal((2, 2)))
        self.add_persistent('text', f'größe {seed}')

    def forward(self, x: Any) -> Any:
        return self.l2(F.relu(self.bn(self.l1(x))))


def make_trainer(seed: int, out: Any, stop: int) -> training.Trainer:
    rng = np.random.RandomState(7)
    data = chainer.datasets.TupleDataset(
        rng.standard_normal((20, 4)).astype(np.float32), rng.randint(0, 3, 20).astype(np.int32)
    )
    model = L.Classifier(Model(seed))
    sampler = iterators.ShuffleOrderSampler(np.random.RandomState(seed))
    iterator = iterators.SerialIterator(data, 8, order_sampler=sampler)
    updater = training.updaters.StandardUpdater(iterator, optimizers.Adam(0.01).setup(model))
    trainer = training.Trainer(updater, (stop, 'iteration'), str(out))
    trainer.extend(extensions.LogReport(trigger=(2, 'iteration')))
    trainer.extend(extensions.ExponentialShift('alpha', 0.9), trigger=(2, 'iteration'))
    best = triggers.MinValueTrigger('main/loss', (2, 'iteration'))
    trainer.extend(lambda trainer: None, name='best', trigger=best)
    once = triggers.ManualScheduleTrigger([2, 4], 'iteration')
    trainer.extend(lambda trainer: None, name='scheduled', trigger=once)
    return trainer


def make_optimizer(seed: int) -> Any:
    """An Adam after some updates, so that it has states."""
    optimizer = optimizers.Adam().setup(Model(1))
    rng = np.random.RandomState(seed)
    for _ in range(seed):
        for _, param in sorted(optimizer.target.namedparams()):
            param.grad = rng.standard_normal(param.shape).astype(param.dtype)
        optimizer.update()
    return optimizer


#: By kind: makes the object that is saved, and the one into which damaged files are loaded.
MAKERS: dict[str, Callable[[int, Path], Any]] = {
    'link': lambda seed, folder: Model(seed),
    'lazy link': lambda seed, folder: Model(seed, lazy=seed != 1),
    'optimizer': lambda seed, folder: make_optimizer(seed),
    'new optimizer': lambda seed, folder: make_optimizer(seed if seed == 1 else 0),
    'trainer': lambda seed, folder: _trained(seed, folder),
    'new trainer': lambda seed, folder: _trained(seed, folder) if seed == 1 else make_trainer(seed, folder, 5),
}


def _trained(seed: int, folder: Path) -> training.Trainer:
    trainer = make_trainer(seed, folder / str(seed), 3 + seed)
    trainer.run()
    return trainer


def state_of(obj: Any) -> dict[str, Any]:
    """All that an object saves."""
    serializer = DictionarySerializer()
    serializer.save(obj)
    return {
        name: value.copy() for name, value in serializer.target.items() if not name.endswith('_snapshot_elapsed_time')
    }


def same(found: dict[str, Any], expected: dict[str, Any]) -> bool:
    """Whether two states are equal, bit for bit."""
    return found.keys() == expected.keys() and all(
        found[name].dtype == value.dtype
        and found[name].shape == value.shape
        and (found[name].tobytes() == value.tobytes() if not value.dtype.hasobject else found[name][()] is value[()])
        for name, value in expected.items()
    )


def save_uncompressed(file: Any, obj: Any) -> None:
    chainer.serializers.save_npz(file, obj, compression=False)


def load_lenient(file: Any, obj: Any) -> None:
    chainer.serializers.load_npz(file, obj, strict=False)


FORMATS: dict[str, tuple[Callable[..., None], Callable[..., None]]] = {
    'npz': (chainer.serializers.save_npz, chainer.serializers.load_npz),
    'npz, uncompressed': (save_uncompressed, chainer.serializers.load_npz),
    'npz, not strict': (chainer.serializers.save_npz, load_lenient),
    'hdf5': (chainer.serializers.save_hdf5, chainer.serializers.load_hdf5),
}


def check_loading(kind: str, file_format: str, folder: Path, seeds: range) -> dict[str, int]:
    """Loads damaged files; each must give the right values, or SnapshotError and an unchanged object.

    Returns how many files had which of these outcomes.
    """
    save, load = FORMATS[file_format]
    file = folder / 'file'
    saved = MAKERS[kind](1, folder)
    save(file, saved)
    content, expected = file.read_bytes(), state_of(saved)
    target = MAKERS[kind](2, folder)
    before = state_of(target)
    assert not same(before, expected)
    outcomes = {'refused': 0, 'right': 0}
    for seed in seeds:
        damage = DAMAGES[seed % len(DAMAGES)]
        file.write_bytes(damage(content, random.Random(seed)))
        try:
            load(file, target)
        except SnapshotError as error:
            outcomes['refused'] += 1
            missing = isinstance(error, KeyError)
            assert not missing and same(state_of(target), before), (seed, damage.__name__)
        else:
            outcomes['right'] += 1
            assert same(state_of(target), expected), (seed, damage.__name__)
            target = MAKERS[kind](2, folder)
            before = state_of(target)
    return outcomes
