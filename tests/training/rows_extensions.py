"""One row for each public extension: how to make it, and what a short training shows of it in Chainer 7.8.1.

The training runs in whichever package it is given, so the figures can be recorded anew where Chainer is installed:

    python -c "import chainer; from tests.training import rows_extensions as r; r.record(chainer)"
"""

from __future__ import annotations

import io
import json
import math
import os
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class Row:
    """How to make an extension, and what is seen of it."""

    #: Function of the training, see below.
    make: Callable[[Any], Any]
    #: What the training shows of it in Chainer.
    shows: dict[str, Any]
    #: Default name, trigger and priority in Chainer.
    default: tuple[str, Any, int]
    #: Keys of what Chainer saves of it; ours may be more.
    saves: list[str] = field(default_factory=list)
    #: Done to the training at its third update.
    disturbance: Callable[[Any], None] = lambda training: None
    #: Whether reported Variables keep their graphs.
    graphs: bool = False


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Training:
    """Five updates on 20 examples in batches of 8, which is two epochs; every number follows from the seeds."""

    def __init__(self, chainer: Any, folder: str, stop: int = 5) -> None:
        self.chainer, self.folder, self.stop = chainer, folder, stop
        self.extensions = chainer.training.extensions
        self.writers = chainer.training.extensions.snapshot_writers
        self.out = Terminal()
        links = chainer.links
        hidden = chainer.Sequential(links.Linear(4, 5), chainer.functions.relu, links.Linear(5, 3))
        self.model = links.Classifier(hidden)
        random = np.random.RandomState(0)
        for _, param in sorted(self.model.namedparams()):
            param.array[...] = random.uniform(-0.5, 0.5, param.shape)
        self.optimizer = chainer.optimizers.Adam(0.05).setup(self.model)
        updater = chainer.training.updaters.StandardUpdater(self._batches(20, 8, True), self.optimizer)
        self.trainer = chainer.training.Trainer(updater, (stop, 'iteration'), folder)
        self.evaluation = self._batches(7, 4, False)

    def _batches(self, n: int, size: int, repeat: bool) -> Any:
        random = np.random.RandomState(1)
        x, t = random.standard_normal((n, 4)).astype('f'), random.randint(0, 3, n).astype('i')
        data = self.chainer.datasets.TupleDataset(x, t)
        return self.chainer.iterators.SerialIterator(data, size, repeat=repeat, shuffle=False)

    def run(self, row: Row, extension: Any = None) -> dict[str, Any]:
        """Adds the extension, trains, and returns what was to be seen."""
        seen: dict[str, Any] = {'reports': {}, 'alpha': [], 'cut': []}

        def spy(trainer: Any) -> None:
            now = trainer.updater.iteration
            for key, value in trainer.observation.items():
                value = getattr(value, 'array', value)
                seen['reports'].setdefault(key, {})[now] = float(value)
            seen['alpha'].append(self.optimizer.alpha)
            seen['cut'].append(getattr(trainer.observation['main/loss'], 'creator', None) is None)

        def disturb(trainer: Any) -> None:
            self.chainer.report({'hits': trainer.updater.iteration % 3, 'tries': 2.0})
            if trainer.updater.iteration == 3:
                row.disturbance(self)

        self.trainer.extend(disturb, priority=1000, trigger=(1, 'iteration'))
        if extension is not None:
            self.trainer.extend(extension, name='made')
        self.trainer.extend(spy, priority=-50, trigger=(1, 'iteration'))
        with self.chainer.using_config('keep_graph_on_report', row.graphs):
            try:
                self.trainer.run(show_loop_exception_msg=False)
            except RuntimeError as error:
                seen['error'] = type(error).__name__
        seen['text'] = _lines(self.out.getvalue())
        seen['files'] = {
            re.sub(r'^cg\.(svg|png)$', 'cg.picture', name): _content(os.path.join(self.folder, name))
            for name in sorted(os.listdir(self.folder))
        }
        return seen


def _lines(text: str) -> list[str]:
    """What was written to the terminal, without moves of the cursor, lines that are blanked, and speeds."""
    lines = re.sub('\x1b\\[[0-9]*[A-Z]', '', text).splitlines()
    return [line.rstrip() for line in lines if line.strip() and 'iters/sec' not in line]


def _content(path: str) -> Any:
    """The entries of a log, the mean of a saved parameter, or which kind of file it is."""
    with open(path, 'rb') as f:
        data = f.read()
    if data.startswith(b'PK'):
        with np.load(path, allow_pickle=True) as arrays:
            return {key: float(arrays[key].mean()) for key in sorted(arrays) if re.search('/0/W$', key)}
    if data.startswith(b'digraph'):
        return sorted(re.findall(r'label="(\w+)",shape="record"', data.decode()))
    if os.path.basename(path) in ('cg.png', 'cg.svg'):
        return 'picture'
    if data.startswith(b'\x89PNG'):
        return 'PNG'
    return [{k: v for k, v in entry.items() if k != 'elapsed_time'} for entry in json.loads(data)]


def shown(chainer: Any, row: Row, make: Any = None) -> dict[str, Any]:
    """What the training shows with the extension and not without."""
    kinds: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as without, tempfile.TemporaryDirectory() as with_it:
        plain = Training(chainer, without).run(row)
        training = Training(chainer, with_it)
        for kind, seen in training.run(row, (make or row.make)(training)).items():
            if kind in ('reports', 'files'):
                seen = {key: value for key, value in seen.items() if key not in plain[kind]}
            if seen and seen != plain.get(kind):
                kinds[kind] = seen
    return kinds


def saved(chainer: Any, extension: Any) -> dict[str, Any]:
    """The arrays that a snapshot holds of it."""
    serializer = chainer.serializers.DictionarySerializer()
    if hasattr(extension, 'serialize'):
        extension.serialize(serializer)
    return dict(serializer.target)


def defaults(extension: Any) -> tuple[str, Any, int]:
    trigger = extension.trigger
    return extension.default_name, 'callable' if callable(trigger) else trigger, extension.priority


def record(chainer: Any) -> None:
    """Prints the figures of a package for each row."""
    import pprint

    for name, row in ROWS.items():
        with tempfile.TemporaryDirectory() as folder:
            made = row.make(Training(chainer, folder))
        print(f'--- {name}: default={defaults(made)!r}, saves={sorted(saved(chainer, made))!r}')
        pprint.pprint(shown(chainer, row), width=110, compact=True)


def _spoil(training: Any) -> None:
    training.model.predictor[2].b.array[1] = math.nan


def _subclass(t: Any) -> Any:
    class Telling(t.chainer.training.Extension):  # type: ignore[misc]
        trigger = 2, 'iteration'

        def initialize(self, trainer: Any) -> None:
            t.out.write(f'begin {trainer.updater.iteration}\n')

        def __call__(self, trainer: Any) -> None:
            t.out.write(f'call {trainer.updater.iteration}\n')

        def on_error(self, trainer: Any, exc: Exception, tb: Any) -> None:
            t.out.write('error\n')

        def finalize(self) -> None:
            t.out.write('end\n')

    return Telling()


def _function(t: Any) -> Any:
    @t.chainer.training.make_extension(
        trigger=(2, 'iteration'),
        priority=250,
        initializer=lambda trainer: t.out.write('begin\n'),
        finalizer=lambda: t.out.write('end\n'),
    )
    def telling(trainer: Any) -> None:
        t.out.write(f'call {trainer.updater.iteration}\n')

    return telling


def _own_writer(t: Any) -> Any:
    class Own(t.writers.Writer):  # type: ignore[misc]
        def __call__(self, filename: str, outdir: str, target: Any) -> None:
            self.save(filename, outdir, target, t.chainer.serializers.save_npz, compression=False)

    return t.extensions.snapshot_object(t.model, 'own', writer=Own())


def _fail(training: Any) -> None:
    raise RuntimeError('the third update fails')


PERIODS = (2, 'iteration')
LOG = [
    {'main/loss': 1.17524, 'main/accuracy': 0.25, 'hits': 1.0, 'tries': 2.0, 'epoch': 1, 'iteration': 3},
    {'main/loss': 1.00091, 'main/accuracy': 0.5, 'hits': 1.5, 'tries': 2.0, 'epoch': 2, 'iteration': 5},
]
LOG_STATE = ['_log', '_summary/_names', '_trigger/previous_epoch_detail', '_trigger/previous_iteration']
# A file for each snapshot of the model, and what they hold after the third and the fifth update.
EACH = 'model_{.updater.iteration}'
MODEL = {3: {'predictor/0/W': 0.0589042}, 5: {'predictor/0/W': 0.0637636}}
TRAINER = {n: {'updater/model:main/predictor/0/W': model['predictor/0/W']} for n, model in MODEL.items()}


def _shift(
    name: str, arguments: tuple[Any, ...], alpha: list[float], saves: Sequence[str] = ('_last_value', '_t')
) -> Row:
    """An extension that shifts an attribute of the optimizer."""
    default = name, (1, 'iteration'), 100
    return Row(lambda t: getattr(t.extensions, name)('alpha', *arguments), {'alpha': alpha}, default, list(saves))


def _saving(make: Callable[[Any], Any], files: dict[str, Any], **more: Any) -> Row:
    """An extension that takes snapshots."""
    return Row(make, {'files': files}, ('_Snapshot', (1, 'epoch'), -100), **more)


def _writer(name: str, file: str, files: dict[str, Any], **options: Any) -> Row:
    """A writer of snapshots of the model."""

    def make(t: Any) -> Any:
        return t.extensions.snapshot_object(t.model, file, writer=getattr(t.writers, name)(**options))

    return _saving(make, files)


def _dumped(make: Callable[[Any], Any]) -> Row:
    """The first loss keeps its graph, which is written; Chainer writes a picture only if Graphviz is installed."""
    cut = [False, True, True, True, True]
    nodes = ['LinearFunction', 'LinearFunction', 'ReLU', 'SoftmaxCrossEntropy']
    files = {'cg.dot': nodes, 'cg.picture': 'picture'}
    return Row(
        make, {'files': files, 'cut': cut}, ('dump_graph', 'callable', 100), ['_flag_called', '_original_flag']
    )


# Chainer 7.8.1 could not be asked three things: it was without matplotlib; its ProgressBar writes to the standard
# output whatever `out` is; its ThreadWriter does not copy, so that the file may hold what was trained later. There
# stand the same text, and the numbers of its SimpleWriter.
ROWS: dict[str, Row] = {
    'Evaluator': Row(
        lambda t: t.extensions.Evaluator(t.evaluation, t.model),
        {'reports': {'made/main/loss': {3: 1.18659, 5: 1.18832}, 'made/main/accuracy': {3: 0.291667, 5: 0.291667}}},
        ('validation', (1, 'epoch'), 300),
    ),
    'LogReport': Row(
        lambda t: t.extensions.LogReport(),
        {'files': {'log': LOG}},
        ('LogReport', (1, 'iteration'), 100),
        LOG_STATE,
    ),
    'LogReport, keys': Row(
        lambda t: t.extensions.LogReport(['main/loss'], PERIODS, filename='l{iteration}'),
        {
            'files': {
                'l2': [{'main/loss': 1.21524, 'epoch': 0, 'iteration': 2}],
                'l4': [
                    {'main/loss': 1.21524, 'epoch': 0, 'iteration': 2},
                    {'main/loss': 1.04187, 'epoch': 1, 'iteration': 4},
                ],
            }
        },
        ('LogReport', (1, 'iteration'), 100),
        LOG_STATE,
    ),
    'PrintReport': Row(
        lambda t: t.extensions.PrintReport(
            ['epoch', 'iteration', 'main/loss'], t.extensions.LogReport(filename=None), t.out
        ),
        {
            'text': [
                'epoch       iteration   main/loss',
                '1           3           1.17524',
                '2           5           1.00091',
            ],
            'files': {'log': LOG},
        },
        ('PrintReport', (1, 'iteration'), 100),
        [f'_log_report/{key}' for key in LOG_STATE],
    ),
    'DumpGraph': _dumped(lambda t: t.extensions.DumpGraph('main/loss')),
    'dump_graph': _dumped(lambda t: t.extensions.dump_graph('main/loss', out_name='cg.dot')),
    'PlotReport': Row(
        lambda t: t.extensions.PlotReport(['main/loss'], trigger=PERIODS, filename='plot.png'),
        {'files': {'plot.png': 'PNG'}},
        ('PlotReport', (1, 'iteration'), 100),
        ['_plot_plot.png'],
    ),
    'VariableStatisticsPlot': Row(
        lambda t: t.extensions.VariableStatisticsPlot(t.model, max_sample_size=3, trigger=PERIODS),
        {'files': {'statistics.png': 'PNG'}},
        ('VariableStatisticsPlot', (1, 'iteration'), 100),
    ),
    'ProgressBar': Row(
        lambda t: t.extensions.ProgressBar(update_interval=2, out=t.out),
        {
            'text': [
                '     total [####################..............................] 40.00%',
                'this epoch [########################################..........] 80.00%',
                '         2 iter, 0 epoch / 5 iterations',
                '     total [########################################..........] 80.00%',
                'this epoch [##############################....................] 60.00%',
                '         4 iter, 1 epoch / 5 iterations',
            ]
        },
        ('ProgressBar', (1, 'iteration'), 100),
    ),
    'MicroAverage': Row(
        lambda t: t.extensions.MicroAverage('hits', 'tries', 'ratio', PERIODS),
        {'reports': {'ratio': {2: 0.75, 4: 0.25}}},
        ('MicroAverage', (1, 'iteration'), 200),
        ['_denominator', '_numerator'],
    ),
    'ParameterStatistics': Row(
        lambda t: t.extensions.ParameterStatistics(
            t.model.predictor[0],
            {'mean': lambda x: x.mean(), 'ends': lambda x: np.sort(x)[[0, -1]]},
            prefix='p',
            trigger=PERIODS,
        ),
        {
            'reports': {
                'p/0/W/data/mean': {2: 0.0628118, 4: 0.0598404},
                'p/0/W/data/ends/0': {2: -0.499166, 4: -0.557798},
                'p/0/W/data/ends/1': {2: 0.520278, 4: 0.565583},
                'p/0/W/grad/mean': {2: 0.0011825, 4: -0.00114969},
                'p/0/W/grad/ends/0': {2: -0.0978877, 4: -0.060577},
                'p/0/W/grad/ends/1': {2: 0.0687142, 4: 0.0998674},
                'p/0/b/data/mean': {2: 0.0888299, 4: 0.0684406},
                'p/0/b/data/ends/0': {2: -0.415312, 4: -0.377762},
                'p/0/b/data/ends/1': {2: 0.411627, 4: 0.357926},
                'p/0/b/grad/mean': {2: 0.0313996, 4: -0.0135659},
                'p/0/b/grad/ends/0': {2: -0.0438182, 4: -0.0894503},
                'p/0/b/grad/ends/1': {2: 0.103657, 4: 0.0331778},
            }
        },
        ('parameter_statistics', (1, 'iteration'), 300),
    ),
    'ExponentialShift': _shift('ExponentialShift', (0.5, None, 0.005), [0.025, 0.0125, 0.00625, 0.005, 0.005]),
    'InverseShift': _shift('InverseShift', (0.9, 0.5), [0.0362738, 0.0298807, 0.0259938, 0.0233126, 0.0213201]),
    'LinearShift': _shift('LinearShift', ((1, 2), (1, 5)), [1, 1.25, 1.5, 1.75, 2]),
    'MultistepShift': _shift(
        'MultistepShift', (0.5, [1, 3], 8.0), [4.0, 4.0, 2.0, 2.0, 2.0], saves=['_current_step', '_t']
    ),
    'PolynomialShift': _shift('PolynomialShift', (2, 4), [0.028125, 0.0125, 0.003125, 0.0, 0.0]),
    'StepShift': _shift('StepShift', (0.5, 2), [0.05, 0.025, 0.025, 0.0125, 0.0125]),
    'WarmupShift': _shift('WarmupShift', (0.01, 3, 1), [0.34, 0.67, 1.0, 1.0, 1.0]),
    'FailOnNonNumber': Row(
        lambda t: t.extensions.FailOnNonNumber(),
        {'alpha': [0.05, 0.05], 'cut': [True, True], 'error': 'RuntimeError'},
        ('FailOnNonNumber', (1, 'iteration'), 100),
        disturbance=_spoil,
    ),
    'unchain_variables': Row(
        lambda t: t.extensions.unchain_variables(),
        {'cut': [True, True, True, True, True]},
        ('unchain_variables', 'callable', 0),
        graphs=True,
    ),
    'observe_lr': Row(
        lambda t: t.extensions.observe_lr(observation_key='rate'),
        {'reports': {'rate': {3: 0.0101005, 5: 0.00862494}}},
        ('_observe_value', (1, 'epoch'), 300),
    ),
    'observe_value': Row(
        lambda t: t.extensions.observe_value('twice', lambda trainer: 2 * trainer.updater.iteration),
        {'reports': {'twice': {3: 6.0, 5: 10.0}}},
        ('_observe_value', (1, 'epoch'), 300),
    ),
    'snapshot': _saving(
        lambda t: t.extensions.snapshot(filename='trainer_{.updater.iteration}'),
        {'trainer_3': TRAINER[3], 'trainer_5': TRAINER[5]},
    ),
    'snapshot, one kept': _saving(
        lambda t: t.extensions.snapshot(filename='trainer_{.updater.iteration}', n_retains=1),
        {'trainer_5': TRAINER[5]},
    ),
    'snapshot, condition': _saving(
        lambda t: t.extensions.snapshot(
            filename='trainer_{.updater.iteration}', condition=lambda: t.trainer.updater.iteration > 3
        ),
        {'trainer_5': TRAINER[5]},
    ),
    'snapshot, on error': _saving(
        lambda t: t.extensions.snapshot(filename='failed', snapshot_on_error=True),
        {'failed': TRAINER[3]},
        disturbance=_fail,
    ),
    'snapshot_object': _saving(
        lambda t: t.extensions.snapshot_object(t.model, EACH),
        {'model_3': MODEL[3], 'model_5': MODEL[5]},
    ),
    'Extension': Row(_subclass, {'text': ['begin 0', 'call 2', 'call 4', 'end']}, ('Telling', (2, 'iteration'), 100)),
    'Extension, on error': Row(
        _subclass,
        {'text': ['begin 0', 'call 2', 'error', 'end']},
        ('Telling', (2, 'iteration'), 100),
        disturbance=_fail,
    ),
    'make_extension': Row(
        _function, {'text': ['begin', 'call 2', 'call 4', 'end']}, ('telling', (2, 'iteration'), 250)
    ),
    'snapshot_writers.Writer': _saving(_own_writer, {'own': MODEL[5]}),
    'snapshot_writers.SimpleWriter': _writer('SimpleWriter', 'simple', {'simple': MODEL[5]}, compression=False),
    'snapshot_writers.ThreadWriter': _writer('ThreadWriter', EACH, {'model_3': MODEL[3], 'model_5': MODEL[5]}),
    'snapshot_writers.ProcessWriter': _writer('ProcessWriter', 'process', {'process': MODEL[5]}),
    'snapshot_writers.ThreadQueueWriter': _writer(
        'ThreadQueueWriter', EACH, {'model_3': MODEL[3], 'model_5': MODEL[5]}
    ),
    'snapshot_writers.ProcessQueueWriter': _writer('ProcessQueueWriter', 'process', {'process': MODEL[5]}),
}
