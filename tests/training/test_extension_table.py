"""Every public extension has a row, does what Chainer's does, tells of itself, keeps its state, refuses nonsense."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

import minichainer as chainer
from minichainer.serializers.npz import NpzDeserializer
from minichainer.training import extensions
from minichainer.training.extensions import snapshot_writers
from tests.completeness import assert_complete
from tests.training.documented import check_documentation, check_methods
from tests.training.rows_extensions import ROWS, Row, Training, defaults, saved, shown

#: What has no row of its own, and why.
BASES = {
    'snapshot_writers.StandardWriter': 'the base of the writers that follow it',
    'snapshot_writers.QueueWriter': 'the base of the two writers with a queue',
}


def public() -> dict[str, Any]:
    writers = {
        f'snapshot_writers.{name}': value
        for name, value in vars(snapshot_writers).items()
        if inspect.isclass(value) and issubclass(value, snapshot_writers.Writer)
    }
    own = {name: value for name, value in vars(extensions).items() if callable(value) and not name.startswith('_')}
    return {**own, **writers}


PUBLIC = public()


def made(name: str, folder: Path) -> Any:
    return ROWS[name].make(Training(chainer, str(folder)))


def alike(a: Any, b: Any) -> bool:
    """Whether both are the same, numbers to the digits recorded."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(alike(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, float) or isinstance(b, float):
        return a == pytest.approx(b, rel=2e-5)
    return bool(a == b)


def check_effect(row: Row, make: Any = None) -> None:
    assert row.shows, 'an extension is to be seen'
    found = shown(chainer, row, make)
    assert alike(found, row.shows), found


def check_state(row: Row, folder: Path, make: Any = None) -> None:
    """What is saved after four updates is loaded by a new one, which then saves the same."""
    training = Training(chainer, str(folder), stop=4)
    extension = (make or row.make)(training)
    before = saved(chainer, extension)
    training.run(row, extension)
    state = saved(chainer, extension)
    assert set(row.saves) <= set(state)
    assert not row.saves or str(state) != str(before)
    loaded = (make or row.make)(Training(chainer, str(folder)))
    if state:
        loaded.serialize(NpzDeserializer(state))
    assert str(saved(chainer, loaded)) == str(state)


def test_the_table_has_everything_public() -> None:
    names = {*[name.partition(',')[0] for name in ROWS], *BASES}
    assert_complete(names, PUBLIC, 'tests/training/rows_extensions.py: ROWS', 'a Row')


@pytest.mark.parametrize('name', ROWS)
def test_a_training_shows_what_chainers_shows(name: str) -> None:
    check_effect(ROWS[name])


@pytest.mark.parametrize('name', ROWS)
def test_defaults_are_chainers(name: str, tmp_path: Path) -> None:
    assert defaults(made(name, tmp_path)) == ROWS[name].default


@pytest.mark.parametrize('name', [name for name, row in ROWS.items() if 'error' not in row.shows])
def test_state_is_saved_and_loaded(name: str, tmp_path: Path) -> None:
    check_state(ROWS[name], tmp_path)


@pytest.mark.parametrize('name', PUBLIC)
def test_documentation(name: str) -> None:
    check_documentation(PUBLIC[name])


@pytest.mark.parametrize('name', PUBLIC)
def test_public_methods_are_documented(name: str) -> None:
    check_methods(PUBLIC[name])


@pytest.mark.parametrize('name', PUBLIC)
def test_unknown_arguments_are_refused(name: str) -> None:
    parameters = inspect.signature(PUBLIC[name]).parameters.values()
    needed = [None for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    if any(p.name == 'kwds' for p in parameters):  # those of the function that writes
        return
    with pytest.raises(TypeError, match=r'unexpected|takes no arguments|got some'):
        PUBLIC[name](*needed, unheard_of=1)


@pytest.mark.parametrize('name', [n for n, f in PUBLIC.items() if 'trigger' in inspect.signature(f).parameters])
def test_what_is_no_trigger_is_refused(name: str) -> None:
    if name == 'make_extension':  # it only keeps the trigger: Trainer.extend looks at it
        trainer = Training(chainer, '').trainer
        with pytest.raises(TypeError, match='a trigger must be a callable'):
            trainer.extend(extensions.make_extension(trigger=3)(lambda trainer: None))
        return
    needed = [[] for p in inspect.signature(PUBLIC[name]).parameters.values() if p.default is p.empty]
    with pytest.raises(TypeError, match=r"a trigger must be a callable, None or a pair like \(1, 'epoch'\), got 3"):
        PUBLIC[name](*needed, trigger=3)


# --- The tests fail where they should. ---


class NoOp(extensions.StepShift):
    """Multiplies nothing."""

    def __call__(self, trainer: Any) -> None:
        pass


class Late(extensions.StepShift):
    def __call__(self, trainer: Any) -> None:
        if trainer.updater.iteration < 4:
            super().__call__(trainer)


class Forgetful(extensions.StepShift):
    def serialize(self, serializer: Any) -> None:
        pass


class Deaf(extensions.StepShift):
    def serialize(self, serializer: Any) -> None:
        if isinstance(serializer, chainer.serializer.Serializer):
            super().serialize(serializer)


class Undocumented(extensions.StepShift):
    pass


class HalfDocumented(extensions.StepShift):
    """Multiplies an attribute of an optimizer by a factor every few calls.

    Args:
        attr (str): Name of the attribute.
    """


def mutant(kind: Any) -> Any:
    return lambda training: kind('alpha', 0.5, 2)


@pytest.mark.parametrize('kind', [NoOp, Late])
def test_an_extension_that_does_not_do_its_work_is_noticed(kind: Any) -> None:
    with pytest.raises(AssertionError):
        check_effect(ROWS['StepShift'], mutant(kind))


@pytest.mark.parametrize('kind', [Forgetful, Deaf])
def test_an_extension_that_loses_its_state_is_noticed(kind: Any, tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        check_state(ROWS['StepShift'], tmp_path, mutant(kind))


@pytest.mark.parametrize('kind', [NoOp, Undocumented, HalfDocumented])
def test_an_extension_without_documentation_is_noticed(kind: Any) -> None:
    with pytest.raises(AssertionError):
        check_documentation(kind)


def test_an_extension_without_a_row_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extensions, 'NoOp', NoOp, raising=False)
    assert set(public()) - {name.partition(',')[0] for name in ROWS} - set(BASES) == {'NoOp'}
