"""Small training programs made from a seed, as data, which `program_runs` builds with Chainer or with this package.

A program is a dict of numbers and Python expressions over the names of `program_parts.names_of`. To look at one:

    python -m tests.training.random_programs 7
"""

from __future__ import annotations

import json
import random
import re
import sys
import zlib
from typing import Any

#: What programs do not have, because it differs on purpose: mostly faults of Chainer that are not repeated here.
LEFT_OUT = {
    'a shuffled iterator that reads ahead': 'Chainer draws the order of the next epoch when a thread gets there',
    'a MultithreadIterator that is saved before the end': 'Chainer loses the mini-batch that it has read ahead',
    'extensions of a lower priority than the snapshot': 'a resumed run calls those that were pending',
    'extensions of a lower priority than one that fails': 'a run that goes on calls them; Chainer leaves them out',
    'extensions that fail before training': 'Chainer does not finalize the others then',
    'a bias before a normalization': 'its gradient is rounding alone, which optimizers divide by its size',
    'a batch normalization of one example': 'so are the gradients behind it',
    'squares of gradients in float16': 'they underflow, and rounding decides the step',
    'MSVAG in float32': 'differences of squares that are nearly equal',
    'different initializers of unknown shapes': 'the order in which Chainer loads is that of a set',
    'copies of a Sequential with lambdas': 'Chainer cannot pickle them',
    'an LSTM in a Sequential': 'its state is not reset, and does not fit the next batch size',
    'calls of unchain_variables': 'Chainer makes none unless graphs are kept',
    'a MicroAverage of Variables': 'a TypeError in Chainer',
    'FailOnNonNumber before training': 'a TypeError in Chainer if a parameter has no array yet',
    'SMORMS3 of a parameter of shape ()': 'Chainer makes its states float64',
    'WeightDecay of a rule with a loss scale': 'Chainer multiplies it by the scale once more',
    'a ProgressBar, and an end that is a function': 'an AttributeError in Chainer, which loses the length',
    'NaN in a log': 'null in its file (docs/porting.md, section 5)',
}

#: Patterns of what Chainer's snapshots do not contain, so that its resumed runs are not the unbroken ones.
OTHERWISE_RESUMED = {
    'MSVAG': 'the powers of beta are not saved',
    'MultistepShift': 'begins with its first value, which holds until the next call',
    'WarmupShift': 'begins with its first value, and forgets where it ends',
    'ParameterStatistics': 'its interval begins again',
    'MicroAverage': 'its sums become integers',
    r'Shift\(.*(Once|ManualSchedule)Trigger': 'is not initialized if its trigger has finished, so its value is lost',
}

#: Hyperparameters of each optimizer with the range of their values; the first one is what shifts change.
OPTIMIZERS: dict[str, dict[str, Any]] = {
    'SGD': {'lr': (0.01, 0.3)},
    'MomentumSGD': {'lr': (0.01, 0.1), 'momentum': (0.5, 0.9)},
    'CorrectedMomentumSGD': {'lr': (0.01, 0.1), 'momentum': (0.5, 0.9)},
    'NesterovAG': {'lr': (0.01, 0.1), 'momentum': (0.5, 0.9)},
    'AdaGrad': {'lr': (0.001, 0.1), 'eps': (1e-4, 1e-3)},
    'AdaDelta': {'rho': (0.5, 0.95), 'eps': (1e-4, 1e-3)},
    'Adam': {
        'alpha': (0.001, 0.1),
        'beta1': (0.5, 0.9),
        'beta2': (0.9, 0.999),
        'eta': (0.5, 1.0),
        'weight_decay_rate': (0.01, 0.1),
        'amsgrad': (False, True),
        'adabound': (False, True),
    },
    'AdamW': {'alpha': (0.001, 0.1), 'eta': (0.5, 1.0), 'weight_decay_rate': (0.01, 0.1)},
    'AMSGrad': {'alpha': (0.001, 0.1), 'beta2': (0.9, 0.999)},
    'AdaBound': {'alpha': (0.001, 0.1), 'final_lr': (0.05, 0.2), 'gamma': (0.001, 0.1)},
    'AMSBound': {'alpha': (0.001, 0.1), 'final_lr': (0.05, 0.2), 'beta1': (0.5, 0.9)},
    'MSVAG': {'lr': (0.01, 0.1), 'beta': (0.5, 0.9)},
    'RMSprop': {'lr': (0.001, 0.05), 'alpha': (0.9, 0.99), 'eps': (1e-4, 1e-3), 'eps_inside_sqrt': (False, True)},
    'RMSpropGraves': {'lr': (1e-4, 0.01), 'alpha': (0.9, 0.95), 'momentum': (0.5, 0.9)},
    'SMORMS3': {'lr': (0.001, 0.05)},
}
HOOKS = [
    'H.WeightDecay(.03)',
    'H.Lasso(.01)',
    'H.GradientClipping(.5)',
    'H.GradientHardClipping(-.2, .1)',
    'H.GradientNoise(.1)',
    'H.GradientLARS()',
    'H.GradientLARS(threshold=.1, weight_decay=.01, eps=1e-6)',
    'hook("each", each=True)',
    'hook("all", each=False)',
]
#: What happens before an iteration, beside the update itself.
MIDWAY = [
    'first.disable_update()',
    'first.enable_update()',
    'setattr(optimizer, "{rate}", optimizer.{rate} * .5)',
    'optimizer.add_hook(H.WeightDecay(.02), "late")',
    'optimizer.remove_hook("h0")',
    'optimizer.setup(model)',
    'optimizer.new_epoch()',
    'optimizer.use_cleargrads(False)',
    'optimizer.reallocate_cleared_grads()',
    'model.cleargrads()',
    'model.copy("copy")',
    'model.copy("init")',
    'next(model.params()).update_rule.add_hook(H.WeightDecay(.05))',
    'setattr(next(model.params()).update_rule, "enabled", False)',
    'setattr(next(model.params()).update_rule.hyperparam, "{rate}", .04)',
]
INITIAL = [
    '',
    '',
    'initialW=I.HeNormal()',
    'initialW=I.Uniform(.3)',
    'initialW=I.Orthogonal()',
    'initialW=I.Normal(.2)',
]
ACTIVATIONS = [
    'F.relu(h)',
    'F.tanh(h)',
    'F.sigmoid(h)',
    'F.elu(h)',
    'F.softplus(h)',
    'F.dropout(h, .3)',
    'F.dropout(h)',
]
EVENT_TRIGGERS = [
    '(1, "epoch")',
    '(1, "iteration")',
    '(2, "iteration")',
    '(3, "iteration")',
    '(.5, "epoch")',
    '(1.5, "epoch")',
    '(.3, "epoch")',
    'T.IntervalTrigger(.7, "epoch")',
    'T.IntervalTrigger(2.5, "iteration")',
    'T.ManualScheduleTrigger([2, 3, 7], "iteration")',
    'T.ManualScheduleTrigger([.3, .9, 1.4], "epoch")',
    'T.OnceTrigger()',
    'T.OnceTrigger(True)',
    'T.MinValueTrigger("main/loss", (1, "iteration"))',
    'T.MaxValueTrigger("main/loss", (2, "iteration"))',
    'T.BestValueTrigger("main/loss", lambda best, new: new < best, (1, "epoch"))',
    'T.TimeTrigger(1000)',
    'lambda trainer: trainer.updater.iteration % 3 == 1',
]
LOG_TRIGGERS = ['(1, "iteration")', '(2, "iteration")', '(3, "iteration")', '(1, "epoch")', '(.5, "epoch")']
SHIFTS = [
    'ExponentialShift("{rate}", .7)',
    'ExponentialShift("{rate}", .7, init=.1, target=.03)',
    'InverseShift("{rate}", .3, .7, init=.1)',
    'LinearShift("{rate}", (.1, .01), (2, 5))',
    'MultistepShift("{rate}", .5, [2, 4], .1)',
    'PolynomialShift("{rate}", .5, 8, init=.1)',
    'StepShift("{rate}", .5, 2)',
    'WarmupShift("{rate}", .001, 4, .1)',
]


class Maker(random.Random):
    """Draws the parts of a program."""

    def maybe(self, chance: float) -> bool:
        return self.random() < chance

    def number(self, low: float, high: float) -> float:
        return round(low + (high - low) * self.random(), 4)

    def arguments(self, *options: str) -> str:
        """Each option with an even chance, as the rest of a list of arguments."""
        return ''.join(f', {option}' for option in options if self.maybe(0.5))

    def layers(self, size: int) -> list[str]:
        """Links, called with ``h``, and expressions of ``h``; three outputs."""
        found: list[str] = []
        for _ in range(self.choice([1, 1, 2])):
            units, normalized = self.choice([2, 3, 4]), self.maybe(0.25)
            given = self.maybe(0.5)
            options = [self.choice(INITIAL), 'nobias=True' if normalized or self.maybe(0.15) else '']
            if 'Uniform' in options[0] and not given:
                options[0] = ''
            arguments = [str(size) if given else 'None', str(units), *filter(None, options)]
            found.append(f'L.Linear({", ".join(arguments)})')
            size = units
            if normalized:
                found.append(
                    self.choice(['L.BatchNormalization({})', 'L.BatchNormalization({}, decay=.7)']).format(size)
                )
            found.append(self.choice(ACTIVATIONS))
            if self.maybe(0.25):
                found.append(
                    self.choice(['L.PReLU()', 'L.Scale(1, ({},))', 'L.Bias(1, ({},))', 'L.Swish(({},))']).format(size)
                )
        if self.maybe(0.12):
            found.append(f'L.Linear({size}, {size}).add_hook(chainer.link_hooks.SpectralNormalization())')
        if self.maybe(0.15):
            found.append(f'L.LSTM({self.choice([str(size), "None"])}, {size})')
        return [*found, 'L.Linear(None, 3)']

    def optimizer(self, dtype: str) -> tuple[str, str]:
        """The expression, and the name of the attribute that shifts change."""
        name = self.choice(list(OPTIMIZERS)[: 4 if dtype == 'float16' else None])
        arguments = []
        for key, (low, high) in OPTIMIZERS[name].items():
            if self.maybe(0.6):
                value = self.choice([low, high]) if isinstance(low, bool) else self.number(low, high)
                arguments.append(f'{key}={value}')
        return f'O.{name}({", ".join(arguments)})', next(iter(OPTIMIZERS[name]))

    def hooks(self, only_decay: bool) -> list[str]:
        """Arguments of ``optimizer.add_hook``."""
        chosen = (
            ['H.WeightDecay(.03)']
            if only_decay
            else [self.choice(HOOKS) for _ in range(self.choice([0, 1, 1, 2, 3]))]
        )
        timings = ['', '', ', timing="pre"', '' if only_decay else ', timing="post"']
        return [f'{each}, "h{i}"{self.choice(timings)}' for i, each in enumerate(chosen)]

    def iterator(self, n: int) -> str:
        """The iterator of the training data."""
        size = self.choice([1, 2, 3, 4, 5, n, n + 3])
        if self.maybe(0.15):
            sampler = self.choice(['shuffle=False', 'order_sampler=lambda order, at: order[::-1]'])
            return f'iterators.MultithreadIterator(data, {size}, {sampler}, n_threads={self.choice([1, 2])})'
        extra = [
            '',
            '',
            '',
            ', shuffle=False',
            ', shuffle=True',
            ', order_sampler=lambda order, at: np.roll(order, 2)',
        ]
        return f'iterators.SerialIterator(data, {size}{self.choice(extra)})'

    def extension(self, i: int, rate: str) -> tuple[str, str]:
        """An expression and the arguments of `extend` after it."""
        kind = self.choice(['call', 'call', 'class', 'log', 'print', 'eval', 'eval', 'shift', 'shift', 'own', 'save'])
        options = self.arguments(
            f'trigger={self.choice(EVENT_TRIGGERS)}',
            f'priority={self.choice([-50, 0, 50, 99, 100, 101, 200, 300, 301])}',
        )
        if self.maybe(0.2):
            options += f', name="n{self.choice([0, 1])}"'
        if self.maybe(0.1) and kind not in ('own', 'save'):
            options += ', call_before_training=True'
        return getattr(self, f'_{kind}')(i, rate), options

    def _call(self, i: int, rate: str) -> str:
        return self.choice([f'said("said{i}")', f'said("said{i}")', f'reporting("{self.choice("vw")}")'])

    def _class(self, i: int, rate: str) -> str:
        return f'Counting("counting{i}", {self.choice([1, 150, 250])}, {self.choice(LOG_TRIGGERS)})'

    def _log(self, i: int, rate: str) -> str:
        keys = self.choice(['None', 'None', '["main/loss", "epoch"]', '["main/loss", "iteration", "lr"]'])
        extra = self.choice(
            ['', '', f', filename="log{i}"', ', filename=None', ', filename="log_{iteration}"', ', postprocess=mark']
        )
        return f'E.LogReport({keys}, {self.choice(LOG_TRIGGERS)}{extra})'

    def _print(self, i: int, rate: str) -> str:
        keys = self.choice(['["epoch", "iteration", "main/loss"]', '["iteration", "lr", "main/loss"]'])
        return f'E.PrintReport({keys}, log_report=E.LogReport(trigger={self.choice(LOG_TRIGGERS)}), out=paper)'

    def _eval(self, i: int, rate: str) -> str:
        size, shuffle = self.choice([2, 3, 7]), self.choice(['False', 'False', 'True'])
        extra = self.choice(['', '', ', eval_hook=lambda e: events.append("eval_hook")', ', device=-1'])
        return f'evaluator(iterators.SerialIterator(data, {size}, repeat=False, shuffle={shuffle}), "e{i}"{extra})'

    def _shift(self, i: int, rate: str) -> str:
        return 'E.' + self.choice(SHIFTS).format(rate=rate)

    def _own(self, i: int, rate: str) -> str:
        return self.choice(
            [
                'E.observe_lr()',
                'E.observe_value("at", lambda t: t.updater.epoch_detail)',
                'E.ParameterStatistics(model, statistics={"s": lambda x: x.sum()}, trigger=(2, "iteration"))',
                'E.ParameterStatistics(net, statistics={"s": lambda x: abs(x).max()}, report_grads=False)',
                'E.MicroAverage("main/total", "main/size", "ratio", (2, "iteration"))',
                'E.FailOnNonNumber()',
                'E.unchain_variables()',
                'E.DumpGraph("main/loss", filename="graph.dot")',
                'E.ProgressBar((20, "iteration"), 2, out=io.StringIO())',
            ]
        )

    def _save(self, i: int, rate: str) -> str:
        target = self.choice(['model', 'optimizer', 'net'])
        return f'E.snapshot_object({target}, "{self.choice(["part_{.updater.iteration}", "part"])}")'

    def stop(self, steps: int) -> str:
        """The end of the first run."""
        early = (
            'T.EarlyStoppingTrigger(check_trigger=(2, "iteration"), monitor="main/loss", patience=1, max_trigger={})'
        )
        plain = self.choice(
            [f'({steps}, "iteration")', f'({steps}, "iteration")', f'({self.number(0.4, 2.2)}, "epoch")']
        )
        if self.maybe(0.1):
            return early.format(plain)
        return f'lambda trainer: trainer.updater.iteration >= {steps}' if self.maybe(0.1) else plain


def make_program(seed: int) -> dict[str, Any]:
    """The program of a seed."""
    draw = Maker(seed)
    dtype = draw.choice(['float64'] * 6 + ['float32'] * 3 + ['float16'])
    size, n, steps = draw.choice([2, 3]), draw.choice([5, 7, 8, 10]), draw.choice([3, 4, 5, 6, 7])
    optimizer, rate = draw.optimizer(dtype)
    scaling = (
        draw.choice(['loss_scaling()', 'loss_scaling(interval=2)', 'set_loss_scale(16.)']) if draw.maybe(0.12) else ''
    )
    program = {
        'seed': seed,
        'dtype': dtype,
        'mixed': dtype == 'float16' and draw.maybe(0.5),
        'shape': [n, size],
        'data': draw.choice(['list', 'tuples', 'dicts', 'part', 'transformed', 'joined']),
        'task': draw.choice(['classes', 'numbers']),
        'form': draw.choice(['chain', 'chain', 'list', 'sequential']),
        'layers': draw.layers(size),
        'optimizer': optimizer,
        'scaling': scaling,
        'single': draw.maybe(0.08),
        'hooks': draw.hooks(bool(scaling)),
        'iterator': draw.iterator(n),
        'kind': draw.choice(['trainer', 'trainer', 'trainer', 'loop']),
        'steps': steps,
        'saved': draw.choice(range(1, steps + 1)),
        'more': draw.choice([1, 2, 3]),
        'midway': [
            [draw.choice(range(1, steps + 1)), draw.choice(MIDWAY).format(rate=rate)]
            for _ in range(draw.choice([0, 0, 1, 2]))
        ],
    }
    program.update(_loop(draw) if program['kind'] == 'loop' else _trainer(draw, steps, rate))
    _leave_out(program)
    if 'Multithread' in program['iterator'] or program.get('fails') == program['saved']:
        program['saved'] = steps
    return program


def _leave_out(program: dict[str, Any]) -> None:
    """Removes what `LEFT_OUT` names, where single parts of a program do not show it."""
    text = json.dumps(program)
    midway = program['midway']
    if program['form'] == 'sequential':
        program['layers'] = [layer for layer in program['layers'] if 'LSTM' not in layer]
    if program['form'] == 'sequential':
        midway = [each for each in midway if 'copy' not in each[1]]
    if program['scaling']:
        midway = [each for each in midway if 'update_rule.add_hook' not in each[1]]
    program['midway'] = midway
    if not is_resumed_alike(program) or 'snapshot_object' in text:
        program['fails'] = 0
    if 'BatchNormalization' in text:
        program['iterator'] = re.sub(r'\(data, 1\b', '(data, 4', program['iterator'])
    if 'ProgressBar' in text and 'lambda' in program['stop']:
        program['stop'] = f'({program["steps"]}, "iteration")'
    if 'MSVAG' in text:
        program['dtype'] = 'float64'
    if 'SMORMS3' in text:
        program['layers'] = [layer.replace('L.PReLU()', 'F.relu(h)') for layer in program['layers']]


def _loop(draw: Maker) -> dict[str, Any]:
    return {
        'step': draw.choice(['update', 'backward', 'accumulate']),
        'clear': draw.choice(['cleargrads', 'zerograds']),
    }


def _trainer(draw: Maker, steps: int, rate: str) -> dict[str, Any]:
    log = (f'E.LogReport(trigger={draw.choice(LOG_TRIGGERS)})', '')
    chosen = [draw.extension(i, rate) for i in range(draw.choice([1, 2, 3, 4]))]
    chosen.insert(draw.choice(range(len(chosen) + 1)), log)
    return {
        'updater': draw.choice(
            ['', '', '', ', loss_func=lambda *a, **k: model(*a, **k) * 2', ', auto_new_epoch=False']
        ),
        'stop': draw.stop(steps),
        'extensions': [list(each) for each in chosen],
        'fails': draw.choice(range(1, steps)) if steps > 1 and draw.maybe(0.1) else 0,
        'snapshot': draw.choice(['', 'filename="saved_{.updater.iteration}"', 'filename="saved"', 'n_retains=2']),
        'load': draw.choice(['', '', 'strict=False']),
    }


def is_resumed_alike(program: dict[str, Any]) -> bool:
    """Whether a run that goes on from Chainer's file does here what it does there."""
    parts = [program['optimizer'], *(''.join(each) for each in program.get('extensions', []))]
    return not any(re.search(pattern, part) for pattern in OTHERWISE_RESUMED for part in parts)


def checksum(program: dict[str, Any]) -> int:
    """Tells a program from another one that a changed generator makes of the same seed."""
    return zlib.crc32(json.dumps(program, sort_keys=True).encode())


if __name__ == '__main__':
    print(json.dumps(make_program(int(sys.argv[1])), indent=1))
