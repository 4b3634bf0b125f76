"""The states of the random number generators that a training draws from."""

from __future__ import annotations

import contextlib
import json
import random
from collections.abc import Iterator
from typing import Any

import numpy

from minichainer import backend
from minichainer.backends import cuda
from minichainer.iterators._random_state import is_generator, set_state, state_as_text
from minichainer.serializer import Serializer, decoded


class RandomStates:
    """Saves and restores the generators of a trainer.

    These are the global ones of NumPy, :mod:`random` and CuPy, and the attributes of links, optimizers, iterators,
    their datasets and samplers, of extensions, of the updater, and of initializers that have not been used yet.

    Args:
        trainer: the trainer.
    """

    def __init__(self, trainer: Any) -> None:
        self._trainer = trainer
        #: What was loaded, until the run begins.
        self._loaded: dict[str, str] = {}
        self._seeds = _GpuSeeds()

    def serialize(self, serializer: Any) -> None:
        """Saves the states and gives CuPy new seeds, or restores the states of the others."""
        if getattr(serializer, 'restores', False):
            self._loaded = serializer('loaded', self._loaded)
            self._seeds.state = serializer('seeds', self._seeds.state)
            self._set(serializer('now', self._states()))
        elif isinstance(serializer, Serializer):
            if not self._loaded:
                self._seeds.renew(self._trainer)
            states = {**self._states(), 'cupy': json.dumps(self._seeds.state), **self._loaded}
            serializer('random', json.dumps(states))
        else:
            with contextlib.suppress(KeyError):  # missing in snapshots of Chainer and of early versions
                self._load(decoded(serializer('random', '{}'), dict))

    def resume(self) -> None:
        """Sets what was loaded once more, because other code may have drawn since; CuPy gets its seeds."""
        if self._loaded:
            self._set(self._loaded)
            self._seeds.use(self._trainer)
        self._loaded = {}

    def _load(self, states: dict[str, str]) -> None:
        try:
            self._set(states)
            self._seeds.state = _seeds_of(states.get('cupy', 'null'))
        except LookupError as error:
            raise ValueError(f'the random states lack {error}') from error
        self._loaded = states

    def _states(self) -> dict[str, str]:
        return {name: state_as_text(generator) for name, generator in _generators(self._trainer)}

    def _set(self, states: dict[str, str]) -> None:
        for name, generator in _generators(self._trainer):
            if name in states:
                set_state(generator, states[name])


class _GpuSeeds:
    """Seeds for CuPy, whose generators cannot be saved: a number drawn from it at first, and a count of snapshots."""

    def __init__(self) -> None:
        self.state: tuple[int, int] | None = None

    def renew(self, trainer: Any) -> None:
        """Goes on to the next seed."""
        if not _gpus(trainer):
            return
        base, count = self.state or (int(cuda.cupy.random.randint(1 << 31)), 0)
        self.state = base, count + 1
        self.use(trainer)

    def use(self, trainer: Any) -> None:
        """Seeds the generator of each GPU that has a model."""
        for device in _gpus(trainer) if self.state else ():
            with backend.using_device(device):
                cuda.cupy.random.seed(_mixed(*self.state, device.device.id))  # type: ignore[misc]


def _seeds_of(text: str) -> tuple[int, int] | None:
    state = json.loads(text)
    if state is None:
        return None
    base, count = state
    return int(base), int(count)


def _mixed(*numbers: int) -> int:
    """A seed of 32 bits that depends on all of the numbers."""
    return int(numpy.random.SeedSequence(numbers).generate_state(1)[0])


def _gpus(trainer: Any) -> list[Any]:
    """The GPUs with models."""
    targets = [optimizer.target for optimizer in trainer.updater.get_all_optimizers().values()]
    models = getattr(trainer.updater, '_models', None)
    targets += models.values() if isinstance(models, dict) else ()
    devices = {target.device for target in targets if isinstance(target.device, cuda.GpuDevice)}
    return sorted(devices, key=lambda device: int(device.device.id))


def _generators(trainer: Any) -> Iterator[tuple[str, Any]]:
    """The generators that can be saved, by unique names."""
    yield 'numpy', numpy.random
    yield 'python', random
    for owner, obj in _owners(trainer):
        for attribute, value in getattr(obj, '__dict__', {}).items():
            if is_generator(value):
                yield f'{owner}/{attribute}', value


def _owners(trainer: Any) -> Iterator[tuple[str, Any]]:
    """The objects that may have generators of their own."""
    updater = trainer.updater
    yield 'updater', updater
    yield from _parts_of_iterators('updater', updater)
    for name, optimizer in updater.get_all_optimizers().items():
        yield f'optimizer:{name}', optimizer
        for path, link in optimizer.target.namedlinks():
            yield f'model:{name}{path}', link
        for path, param in optimizer.target.namedparams():
            if not param.is_initialized:
                yield f'model:{name}{path}/initializer', param.initializer
    for name, entry in trainer._extensions.items():
        yield f'extension:{name}', entry.extension
        yield from _parts_of_iterators(f'extension:{name}', entry.extension)


def _parts_of_iterators(owner: str, obj: Any) -> Iterator[tuple[str, Any]]:
    iterators = getattr(obj, '_iterators', None)
    for name, iterator in iterators.items() if isinstance(iterators, dict) else ():
        for part in ('dataset', 'order_sampler'):
            yield f'{owner}/iterator:{name}/{part}', getattr(iterator, part, None)
        yield f'{owner}/iterator:{name}', iterator
