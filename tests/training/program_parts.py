"""What the expressions of `random_programs` name: data, models, extensions; and what is recorded of them."""

from __future__ import annotations

import importlib
import io
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

#: Entries that depend on the time of day.
TIMES = ('elapsed_time', '_snapshot_elapsed_time')


def names_of(chainer: Any) -> dict[str, Any]:
    """The names that expressions of programs use."""
    training = chainer.training
    importlib.import_module(f'{chainer.__name__}.link_hooks')
    return {
        'chainer': chainer,
        'np': np,
        'io': io,
        'F': chainer.functions,
        'L': chainer.links,
        'O': chainer.optimizers,
        'H': chainer.optimizer_hooks,
        'I': chainer.initializers,
        'E': training.extensions,
        'T': training.triggers,
        'iterators': chainer.iterators,
        'training': training,
    }


def data_of(program: dict[str, Any], chainer: Any, nudge: float = 0.0) -> Any:
    """The examples, times ``1 + nudge``."""
    random, (n, size), datasets = np.random.RandomState(program['seed']), program['shape'], chainer.datasets
    x = (random.randn(n, size) * (1 + nudge)).astype(program['dtype'])
    numbers = random.randn(n, 3).astype(program['dtype'])
    t = numbers if program['task'] == 'numbers' else random.randint(0, 3, n).astype('i')
    both = datasets.TupleDataset(x, t)
    makers: dict[str, Callable[[], Any]] = {
        'list': lambda: [both[i] for i in range(n)],
        'tuples': lambda: both,
        'dicts': lambda: datasets.DictDataset(x=x, t=t),
        'part': lambda: datasets.split_dataset_random(both, n - 1, seed=3)[0],
        'transformed': lambda: datasets.TransformDataset(both, lambda pair: (pair[0] * 2, pair[1])),
        'joined': lambda: datasets.ConcatenatedDataset(both, both[:2]),
    }
    return makers[program['data']]()


def net_of(program: dict[str, Any], chainer: Any, evaluated: Callable[[str], Any]) -> Any:
    """The layers of a program as one link."""
    layers = [evaluated(text if text.startswith('L.') else f'lambda h: {text}') for text in program['layers']]
    if program['form'] == 'sequential':
        return chainer.Sequential(*layers)

    class Net(chainer.Chain if program['form'] == 'chain' else chainer.ChainList):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            for layer in layers:
                if hasattr(layer, 'reset_state'):
                    layer.reset_state()
                x = layer(x)
            return x

    links = [layer for layer in layers if isinstance(layer, chainer.Link)]
    if program['form'] == 'list':
        return Net(*links)
    net = Net()
    with net.init_scope():
        for i, link in enumerate(links):
            setattr(net, f'l{i}', link)
    return net


def model_of(program: dict[str, Any], chainer: Any, net: Any) -> Any:
    """A net with its loss."""
    functions = chainer.functions
    if program['task'] == 'classes' and program['data'] != 'dicts':
        return chainer.links.Classifier(net)
    loss_of = functions.mean_squared_error if program['task'] == 'numbers' else functions.softmax_cross_entropy

    class Model(chainer.Chain):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            with self.init_scope():
                self.predictor = net

        def forward(self, x: Any, t: Any) -> Any:
            loss = loss_of(self.predictor(x), t)
            chainer.report({'loss': loss, 'total': float(loss.array) * len(x), 'size': len(x)}, self)
            return loss

    return Model()


def extensions_of(chainer: Any, names: dict[str, Any]) -> dict[str, Any]:
    """Extensions and hooks of optimizers that tell when they are called."""
    events, training = names['events'], chainer.training

    def said(name: str) -> Any:
        @training.make_extension(
            initializer=lambda trainer: events.append([f'{name} begins', trainer.updater.iteration]),
            finalizer=lambda: events.append([f'{name} ends']),
            on_error=lambda trainer, error, where: events.append([f'{name} error', trainer.updater.iteration]),
        )
        def call(trainer: Any) -> None:
            events.append([name, trainer.updater.iteration])

        return call

    def reporting(name: str) -> Any:
        def call(trainer: Any) -> None:
            chainer.report({name: trainer.updater.iteration * 0.5})
            events.append([name, sorted(trainer.observation)])

        return call

    def failing(at: int) -> Any:
        def call(trainer: Any) -> None:
            if trainer.updater.iteration == at and ['fails', at] not in events:
                events.append(['fails', at])
                raise ValueError('planned')

        return call

    def evaluator(iterator: Any, name: str, **options: Any) -> Any:
        made = training.extensions.Evaluator(iterator, names['model'], **options)
        made.name = name
        return made

    def mark(stats: dict[str, Any]) -> None:
        stats['marked'] = len(stats)

    return {
        'said': said,
        'reporting': reporting,
        'failing': failing,
        'evaluator': evaluator,
        'mark': mark,
        'hook': lambda name, each: _hook(events, name, each),
        'Counting': lambda name, priority, trigger: _counting(training, events, name, priority, trigger),
    }


def _hook(events: list[Any], name: str, each: bool) -> Any:
    """A hook of an optimizer, called for the optimizer or for each parameter."""

    class Hook:
        call_for_each_param = each
        timing = 'pre'

        def __call__(self, what: Any, param: Any = None) -> None:
            events.append([name, what.t, param.name if each else len(list(what.target.params()))])

    Hook.name = name  # type: ignore[attr-defined]
    return Hook()


def _counting(training: Any, events: list[Any], name: str, rank: int, when: Any) -> Any:
    """An extension with a state."""

    class Counting(training.Extension):  # type: ignore[misc]
        count, priority, trigger = 0, rank, when

        def initialize(self, trainer: Any) -> None:
            events.append([f'{name} begins', self.count])

        def __call__(self, trainer: Any) -> None:
            self.count += 1
            events.append([name, self.count])

        def finalize(self) -> None:
            events.append([f'{name} ends', self.count])

        def serialize(self, serializer: Any) -> None:
            self.count = int(serializer('count', self.count))

        def on_error(self, trainer: Any, error: Any, where: Any) -> None:
            events.append([f'{name} error', type(error).__name__])

    made = Counting()
    made.name = name
    return made


def tokens(text: str) -> list[list[Any]]:
    """Numbers and words of each line of a text."""
    return [[_number(word) for word in line.replace('\33[J', '').split()] for line in text.split('\n')]


def _number(word: str) -> Any:
    try:
        return float(word)
    except ValueError:
        return word


def figure(array: Any) -> float:
    """One number of an array that depends on all its elements; -1 of none."""
    if array is None:
        return -1.0
    values = np.asarray(array, 'd').ravel()
    return float(values @ np.cos(np.arange(values.size)))


def plain(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry of a log; times are 0, and null is NaN."""
    known = {key: math.nan if value is None else value for key, value in entry.items()}
    values = {key: value if isinstance(value, (int, str)) else float(value) for key, value in known.items()}
    return {key: 0.0 if key in TIMES else value for key, value in values.items()}


def entries_of(path: Path) -> dict[str, list[Any]]:
    """The entries of an npz file: kind or dtype, shape, values; times are 0."""
    with np.load(path, allow_pickle=True) as file:
        return {key: _entry(file[key] * 0 if key.endswith(TIMES) else file[key]) for key in sorted(file.files)}


def _entry(array: np.ndarray) -> list[Any]:
    values = array.ravel().tolist()
    if array.dtype.kind != 'U':
        return [array.dtype.str, list(array.shape), values]
    return ['U', list(array.shape), [_text(each) for each in values]]


def _text(text: str) -> Any:
    """A text in a file; what a log contains."""
    return [plain(entry) for entry in json.loads(text)] if text.startswith('[{') else text


def write_entries(path: Path, entries: dict[str, list[Any]]) -> None:
    """Writes what `entries_of` has read."""
    arrays = {}
    for key, (dtype, shape, values) in entries.items():
        texts = [json.dumps(each) if isinstance(each, list) else each for each in values]
        arrays[key] = np.array(texts, dtype).reshape(shape)
    with path.open('wb') as file:
        np.savez(file, **arrays)


def differences(got: Any, expected: Any, tolerance: tuple[float, float], path: str = '') -> Iterator[str]:
    """What differs between two structures of lists and dicts, whose floats may differ by a tolerance."""
    if isinstance(expected, dict) and isinstance(got, dict):
        for key in expected.keys() ^ got.keys():
            yield f'{path}/{key}: only {"recorded" if key in expected else "here"}'
        for key in expected.keys() & got.keys():
            yield from differences(got[key], expected[key], tolerance, f'{path}/{key}')
    elif isinstance(expected, list) and isinstance(got, list):
        for i in range(min(len(expected), len(got))):
            yield from differences(got[i], expected[i], tolerance, f'{path}/{i}')
        if len(got) != len(expected):
            yield f'{path}: got {len(got)} entries, expected {len(expected)}'
    elif not _same(got, expected, *tolerance):
        yield f'{path}: got {got}, expected {expected}'


def _same(got: Any, expected: Any, relative: float, absolute: float) -> bool:
    if not isinstance(got, float) or not isinstance(expected, float):
        return bool(got == expected)
    if got == expected or (math.isnan(got) and math.isnan(expected)):
        return True
    return abs(got - expected) <= relative * abs(expected) + absolute
