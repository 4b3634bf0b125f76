"""Private methods that programs of Chainer's time replace in subclasses of extensions and triggers are called."""

from __future__ import annotations

from typing import Any

import pytest

from minichainer.training import extensions, triggers

KEY = 'main/loss'
#: The class, its arguments, and the methods, each of which is called within two iterations.
ROWS: list[tuple[Any, tuple[Any, ...], tuple[str, ...]]] = [
    (extensions.ExponentialShift, ('alpha', 0.1), ('_update_value', '_get_optimizer')),
    (
        extensions.LinearShift,
        ('alpha', (1.0, 0.1), (0, 2)),
        ('_update_value', '_get_optimizer', '_compute_next_value'),
    ),
    (extensions.StepShift, ('alpha', 0.1, 1), ('_update_value', '_get_optimizer')),
    (extensions.MultistepShift, ('alpha', 0.1, [1], 1.0), ('_update_value', '_get_optimizer')),
    (extensions.PolynomialShift, ('alpha', 1.0, 2), ('_update_value', '_get_optimizer')),
    (extensions.InverseShift, ('alpha', 1.0, 2), ('_update_value', '_get_optimizer')),
    (extensions.WarmupShift, ('alpha', 0.1, 1, 1.0), ('_update_value', '_get_optimizer')),
    (extensions.LogReport, (None, (1, 'iteration')), ('_init_summary',)),
    (extensions.PlotReport, ([KEY], 'iteration', (1, 'iteration')), ('_init_summary',)),
]
CASES = [pytest.param(*row[:2], name, id=f'{row[0].__name__}.{name}') for row in ROWS for name in row[2]]


def counting(kind: Any, name: str, calls: list[str]) -> Any:
    """A subclass that replaces a method by one that counts."""

    def method(self: Any, *args: Any) -> Any:
        calls.append(name)
        return getattr(super(Counting, self), name)(*args)

    class Counting(kind):  # type: ignore[misc]
        pass

    setattr(Counting, name, method)
    return Counting


@pytest.mark.parametrize(('kind', 'args', 'name'), CASES)
def test_methods_of_extensions(make_trainer: Any, kind: Any, args: tuple[Any, ...], name: str) -> None:
    trainer, calls = make_trainer((2, 'iteration')), []
    trainer.extend(counting(kind, name, calls)(*args), name='replaced', trigger=(1, 'iteration'))
    trainer.run()
    assert len(calls) >= 2


def test_a_rate_that_a_subclass_bounds(make_trainer: Any) -> None:
    class Bounded(extensions.ExponentialShift):
        def _update_value(self, optimizer: Any, value: float) -> None:
            setattr(optimizer, self._attr, max(value, 0.25))
            self._last_value = value

    trainer = make_trainer((3, 'iteration'))
    trainer.extend(Bounded('alpha', 0.1, init=1.0), name='bounded', trigger=(1, 'iteration'))
    trainer.run()
    assert trainer.updater.get_optimizer('main').alpha == 0.25


def test_rows_of_a_table(make_trainer: Any, capsys: Any) -> None:
    class Short(extensions.PrintReport):
        def _print(self, observation: dict[str, Any]) -> None:
            self._out.write('it {}\n'.format(observation['iteration']))

    trainer = make_trainer((2, 'iteration'))
    trainer.extend(extensions.LogReport(trigger=(1, 'iteration'), filename=None))
    trainer.extend(Short(['iteration']), trigger=(1, 'iteration'))
    trainer.run()
    assert capsys.readouterr().out.splitlines()[1:] == ['it 1', 'it 2']


@pytest.mark.parametrize(
    ('kind', 'args'), [(triggers.MinValueTrigger, ()), (triggers.BestValueTrigger, (lambda best, new: new < best,))]
)
def test_intervals_of_triggers(make_trainer: Any, kind: Any, args: tuple[Any, ...]) -> None:
    trainer, calls = make_trainer((2, 'iteration')), []
    trigger = counting(kind, '_init_summary', calls)(KEY, *args, trigger=(1, 'iteration'))
    trainer.extend(lambda t: None, name='something', trigger=trigger)
    trainer.run()
    assert len(calls) == 3


def test_early_stopping(make_trainer: Any) -> None:
    calls: list[str] = []

    class Stopping(counting(triggers.EarlyStoppingTrigger, '_init_summary', calls)):  # type: ignore[misc]
        def _stop_condition(self) -> bool:
            return len(calls) > 2

    stop = Stopping(monitor=KEY, check_trigger=(1, 'iteration'), max_trigger=(9, 'iteration'))
    trainer = make_trainer(stop)
    trainer.run()
    assert trainer.updater.iteration == 2


def test_snapshots(make_trainer: Any) -> None:
    calls: list[str] = []
    saving = counting(type(extensions.snapshot()), '_make_snapshot', calls)
    trainer = make_trainer((2, 'iteration'))
    extension = extensions.snapshot(filename='one')
    extension.__class__ = saving
    trainer.extend(extension, trigger=(1, 'iteration'))
    trainer.run()
    assert len(calls) == 2
