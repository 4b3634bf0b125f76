"""What a training must not pass over in silence: NaN as the best value, misspelled keys and attributes."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import iterators, optimizers
from minichainer.serializers.npz import DictionarySerializer, NpzDeserializer
from minichainer.training import extensions, triggers, updaters

NAN = math.nan

# --- NaN is never best ---

FIRED: dict[str, tuple[Callable[[], Any], list[float], list[int]]] = {
    'min, NaN first': (lambda: triggers.MinValueTrigger('x', (1, 'iteration')), [NAN, 3, 2, 1, 5], [1, 2, 3]),
    'min, NaN within': (lambda: triggers.MinValueTrigger('x', (1, 'iteration')), [3, NAN, 4, 2, NAN, 1], [0, 3, 5]),
    'max, NaN first': (lambda: triggers.MaxValueTrigger('x', (1, 'iteration')), [NAN, NAN, 1, 3, 2], [2, 3]),
    'max, infinities': (
        lambda: triggers.MaxValueTrigger('x', (1, 'iteration')),
        [-math.inf, NAN, 1, math.inf],
        [0, 2, 3],
    ),
    'best': (
        lambda: triggers.BestValueTrigger('x', lambda best, new: new < best, (1, 'iteration')),
        [NAN, 2, 1],
        [1, 2],
    ),
    'best, compares all as better': (
        lambda: triggers.BestValueTrigger('x', lambda best, new: True, (1, 'iteration')),
        [1, NAN, 2],
        [0, 2],
    ),
    'NaN in an interval': (lambda: triggers.MinValueTrigger('x', (2, 'iteration')), [NAN, 0, 3, 3, 2, 2], [3, 5]),
}


@pytest.mark.parametrize(('make', 'values', 'expected'), FIRED.values(), ids=FIRED)
def test_nan_is_never_best(make: Callable[[], Any], values: list[float], expected: list[int], counting: Any) -> None:
    trigger, trainer = make(), counting()
    assert [i for i, value in enumerate(values) if trigger(trainer.step({'x': value}))] == expected


def test_a_nan_that_a_snapshot_has_as_best_is_replaced(counting: Any) -> None:
    trigger = triggers.MinValueTrigger('x', (1, 'iteration'))
    serializer = DictionarySerializer()
    trigger.serialize(serializer)
    trigger.serialize(NpzDeserializer(serializer.target | {'best_value': np.array(NAN)}))
    trainer = counting()
    assert [trigger(trainer.step({'x': value})) for value in (3.0, 4.0, 2.0)] == [True, False, True]


def test_nan_is_no_improvement_for_early_stopping(counting: Any) -> None:
    for mode in ('min', 'max'):
        trigger = triggers.EarlyStoppingTrigger((1, 'iteration'), 'x', patience=2, mode=mode)
        trainer = counting()
        assert [trigger(trainer.step({'x': x})) for x in (NAN, 1.0, NAN, NAN)] == [False, False, False, True]


@pytest.mark.parametrize('mode', ['MAX', 'maximum', 'Min', '', None, 'accuracy'])
def test_early_stopping_knows_three_modes(mode: Any) -> None:
    with pytest.raises(ValueError, match=f"mode must be 'min', 'max' or 'auto', got {mode!r}"):
        triggers.EarlyStoppingTrigger(mode=mode)


# --- attributes of optimizers ---

SHIFTS: dict[str, Callable[[str, Any], Any]] = {
    'ExponentialShift': lambda name, o: extensions.ExponentialShift(name, 0.5, init=0.1, optimizer=o),
    'StepShift': lambda name, o: extensions.StepShift(name, 0.5, 2, init=0.1, optimizer=o),
    'MultistepShift': lambda name, o: extensions.MultistepShift(name, 0.5, [1], 0.1, optimizer=o),
    'InverseShift': lambda name, o: extensions.InverseShift(name, 1, 1, init=0.1, optimizer=o),
    'PolynomialShift': lambda name, o: extensions.PolynomialShift(name, 1, 4, init=0.1, optimizer=o),
    'WarmupShift': lambda name, o: extensions.WarmupShift(name, 0.1, 3, 1.0, optimizer=o),
    'LinearShift': lambda name, o: extensions.LinearShift(name, (1, 0.5), (1, 3), optimizer=o),
}
PUBLIC_SHIFTS = [name for name in dir(extensions) if name.endswith('Shift')]


@pytest.mark.parametrize('name', PUBLIC_SHIFTS)
def test_shifts_name_what_there_is(name: str) -> None:
    make = SHIFTS[name]
    for attribute in ('learning_rate', 'Lr', 'anything'):
        with pytest.raises(AttributeError, match=f"{name}: SGD has no hyperparameter '{attribute}'; it has lr"):
            make(attribute, optimizers.SGD()).initialize(None)
    with pytest.raises(
        AttributeError, match=f"{name}: 'lr' of Adam is computed and cannot be set; .* is alpha, beta1"
    ):
        make('lr', optimizers.Adam()).initialize(None)
    make('lr', optimizers.SGD()).initialize(None)
    make('alpha', optimizers.Adam()).initialize(None)


OURS = [
    kind for kind in vars(optimizers).values() if isinstance(kind, type) and issubclass(kind, chainer.GradientMethod)
]
NAMES = sorted(
    {name for kind in OURS for name in getattr(kind, '_declared_values', ())}
    | {'learning_rate', 'step_size', 'momentum', 'betas', 'epsilon'}
)


@pytest.mark.parametrize('kind', [kind for kind in OURS if kind is not chainer.GradientMethod])
@pytest.mark.parametrize('name', NAMES)
def test_hyperparameters_of_others_are_refused(kind: Any, name: str) -> None:
    link = L.Linear(2, 1)
    optimizer = kind().setup(link)
    its_own = name in optimizer.hyperparam.get_dict()
    for target in (optimizer, optimizer.hyperparam, link.W.update_rule.hyperparam):
        if its_own:
            setattr(target, name, 0.25)
            assert getattr(target, name) == 0.25
            continue
        with pytest.raises(
            AttributeError, match=rf"has no hyperparameter '{name}'; it has|is computed and cannot be set"
        ):
            setattr(target, name, 0.25)
    optimizer.my_own = optimizer.hyperparam.my_own = link.W.update_rule.hyperparam.my_own = 3
    assert link.W.update_rule.hyperparam.my_own == 3


def test_the_names_of_all_hyperparameters_are_known() -> None:
    assert {'eta', 'final_lr', 'gamma', 'amsgrad', 'adabound', 'beta', 'eps_inside_sqrt', 'rho'} <= {*NAMES}
    assert len(NAMES) < 30

    class Mine(chainer.GradientMethod, rule=RuleOfUsers):
        pass

    assert Mine().my_rate == 1
    optimizers.SGD().my_rate = 2  # which is no name of an optimizer of this package


class RuleOfUsers(chainer.optimizer.FormulaRule):
    my_rate = chainer.optimizer.hyperparameter(1, 'one of a user')


def test_classes_of_users_may_have_any_attribute() -> None:
    class Mine(optimizers.SGD):
        def __init__(self) -> None:
            super().__init__()
            self.alpha = 3
            self.hyperparam.momentum = 0.5

    optimizer = Mine().setup(L.Linear(2, 1))
    optimizer.rho = 1
    assert (optimizer.alpha, optimizer.rho, optimizer.hyperparam.momentum) == (3, 1, 0.5)
    plain = chainer.optimizer.Hyperparameter()
    plain.lr = plain.alpha = 1


def test_copies_refuse_them_too() -> None:
    optimizer = pickle.loads(pickle.dumps(optimizers.SGD(0.5).setup(L.Linear(2, 1))))
    assert optimizer.lr == 0.5
    with pytest.raises(AttributeError, match='SGD has no hyperparameter'):
        optimizer.hyperparam.alpha = 1
    old = chainer.optimizer.Hyperparameter()
    old.__setstate__({'_parent': None, 'lr': 0.5})  # of a pickle from before sets knew their owner
    assert old.lr == 0.5


# --- keys that nobody reports ---


MISSPELLED: dict[str, Callable[[], Any]] = {
    'LogReport': lambda: extensions.LogReport(['main/los', 'main/loss'], (1, 'iteration'), filename=None),
    'PrintReport': lambda: extensions.PrintReport(
        ['epoch', 'main/los'], extensions.LogReport(trigger=(1, 'iteration'), filename=None)
    ),
    'PlotReport': lambda: extensions.PlotReport(['main/los'], trigger=(1, 'iteration')),
    'MicroAverage': lambda: extensions.MicroAverage('main/los', 'main/loss', 'ratio'),
}


@pytest.mark.parametrize('name', MISSPELLED)
def test_keys_that_nobody_reports_are_named_at_the_end(make_trainer: Any, name: str) -> None:
    trainer = make_trainer((3, 'iteration'))
    trainer.extend(MISSPELLED[name](), trigger=(1, 'iteration'))
    with pytest.warns(UserWarning, match=rf"{name}: no value was observed for 'main/los'.*main/loss"):
        trainer.run()


def test_nothing_is_said_of_keys_that_come_late_or_before_a_snapshot(make_trainer: Any) -> None:
    def make(stop: int) -> Any:
        trainer = make_trainer((stop, 'iteration'))
        trainer.extend(
            lambda t: chainer.report({'late': 1.0}), name='late', trigger=lambda t: t.updater.iteration == 4
        )
        trainer.extend(extensions.LogReport(['late'], (1, 'iteration'), filename=None))
        return trainer

    whole = make(5)
    whole.run()
    serializer = DictionarySerializer()
    serializer.save(whole)
    resumed = make(7)
    NpzDeserializer(serializer.target).load(resumed)
    resumed.run()


# --- NaN in a log ---


def no_constant(text: str) -> Any:
    raise ValueError(f'{text} is not JSON')


@pytest.mark.parametrize('filename', ['log', 'log.jsonl'])
def test_the_log_is_json_whatever_is_reported(make_trainer: Any, filename: str) -> None:
    trainer = make_trainer((4, 'iteration'))
    values = [1.5, NAN, math.inf, -math.inf]
    trainer.extend(
        lambda t: chainer.report({'x': values[t.updater.iteration - 1]}), name='x', trigger=(1, 'iteration')
    )

    def add(entry: dict[str, Any]) -> None:
        entry.update(text='NaN "Infinity" inf', nested=[NAN, {'a': (math.inf, np.float64(NAN))}])

    log = extensions.LogReport(['x'], (1, 'iteration'), postprocess=add, filename=filename)
    trainer.extend(log, trigger=(1, 'iteration'))
    trainer.run()
    text = Path(trainer.out, filename).read_text()
    rows = [text] if filename == 'log' else [f'[{line}]' for line in text.splitlines()]
    read = [entry for row in rows for entry in json.loads(row, parse_constant=no_constant)]
    assert [entry['x'] for entry in read] == [1.5, None, math.inf, -math.inf]
    assert read[0]['text'] == 'NaN "Infinity" inf' and read[0]['nested'] == [None, {'a': [math.inf, None]}]
    np.testing.assert_array_equal(np.asarray([entry['x'] for entry in read], float), values)
    assert math.isnan(log.log[1]['x']) and log.log[2]['x'] == math.inf
    serializer = DictionarySerializer()
    log.serialize(serializer)
    again = extensions.LogReport(['x'], (1, 'iteration'))
    again.serialize(NpzDeserializer(serializer.target))
    np.testing.assert_array_equal([entry['x'] for entry in again.log], values)


# --- evaluation ---


class Reporting(chainer.Chain):
    """Reports its input's mean, alone or with the number of examples."""

    def __init__(self, is_weighted: bool) -> None:
        super().__init__()
        self.is_weighted = is_weighted

    def forward(self, x: Any) -> None:
        mean = x.mean()
        chainer.report({'loss': (mean, len(x)) if self.is_weighted else mean}, self)


@pytest.mark.parametrize(('is_weighted', 'expected'), [(False, 0.5), (True, 1 / 40)])
def test_evaluator_weighs_batches_alike_unless_weights_are_reported(is_weighted: bool, expected: float) -> None:
    x = np.zeros(40)
    x[-1] = 1
    iterator = iterators.SerialIterator(x, 39, repeat=False, shuffle=False)
    result = extensions.Evaluator(iterator, Reporting(is_weighted))()
    assert result['main/loss'] == pytest.approx(expected)


# --- what is no iterator ---


class DataLoader:
    """Stands for torch's: it can be iterated and has a length, and no indices."""

    dataset: Any = None

    def __iter__(self) -> Any:
        return iter([])

    def __len__(self) -> int:
        return 1


LOADERS = {'DataLoader': DataLoader, 'generator': lambda: (x for x in [])}


@pytest.mark.parametrize('make', LOADERS.values(), ids=LOADERS)
def test_what_can_only_be_iterated_is_refused(make: Callable[[], Any]) -> None:
    model = L.Classifier(L.Linear(2, 2))
    optimizer = optimizers.SGD().setup(model)
    message = (
        r'an iterator of minichainer expected, got an object of type .*SerialIterator\((loader\.)?dataset, batch_size'
    )
    for kind in (updaters.StandardUpdater, updaters.ParallelUpdater):
        arguments = {'devices': {'main': '@numpy'}} if kind is updaters.ParallelUpdater else {}
        with pytest.raises(TypeError, match=f'{kind.__name__}: {message}'):
            kind(make(), optimizer, **arguments)
        with pytest.raises(TypeError, match=f'{kind.__name__}: {message}'):
            kind({'main': make()}, optimizer, **arguments)
    with pytest.raises(TypeError, match=rf'Evaluator: {message}, repeat=False, shuffle=False\)'):
        extensions.Evaluator(make(), model)


class Own:
    """An iterator as programs define them: no subclass of ours."""

    epoch, epoch_detail, previous_epoch_detail, is_new_epoch, repeat = 0, 0.0, 0.0, False, False

    def next(self) -> Any:
        return [(np.ones(2, np.float32), 0)]

    def finalize(self) -> None:
        """Does nothing."""


def test_iterators_of_programs_are_used() -> None:
    model = L.Classifier(L.Linear(2, 2))
    updater = updaters.StandardUpdater(Own(), optimizers.SGD().setup(model))
    updater.update()
    assert updater.iteration == 1


# --- labels ---


def test_soft_targets_are_not_sent_to_a_conversion() -> None:
    x, shares = np.array([[1, -2]], np.float32), np.array([[0.9, 0.2]], np.float32)
    with pytest.raises(chainer.utils.type_check.InvalidType) as caught:
        F.sigmoid_cross_entropy(x, shares)
    assert 'astype' not in str(caught.value)
    assert "F.mean(F.bernoulli_nll(t, x, 'no'))" in str(caught.value)
    loss = F.mean(F.bernoulli_nll(shares, x, 'no'))  # as the message says
    p = 1 / (1 + np.exp(-x))
    np.testing.assert_allclose(loss.array, -np.mean(shares * np.log(p) + (1 - shares) * np.log(1 - p)), rtol=1e-5)


@pytest.mark.parametrize('loss', [F.accuracy, F.hinge, F.select_item, F.binary_accuracy])
def test_no_loss_advises_a_conversion_that_loses_something(loss: Any) -> None:
    x = np.ones((2, 3), np.float32)
    for t in (np.full(2, 0.5, np.float32), np.full((2, 3), 0.5, np.float32)):
        with pytest.raises((chainer.utils.type_check.InvalidType, TypeError)) as caught:
            loss(x, t)
        assert 't.astype' not in str(caught.value)
