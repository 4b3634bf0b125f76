"""The harness sees what is wrong: a recorded case is falsified in one way, and it complains about that."""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.reference import replay
from tests.reference.replay import Case

TANH = next(c.id for c in replay.load('functions') if c.target == 'tanh' and c.spec.get('ggx'))


# Stands before the tests that use the fixture, which keeps the alias for all of them.
def test_the_alias_is_gone_afterwards() -> None:
    with replay.names_of('minichainer'):
        import chainer

        assert chainer.__name__ == 'minichainer'
    assert not [name for name in sys.modules if name.split('.')[0] == 'chainer']


@pytest.fixture(scope='module')
def names() -> Iterator[dict[str, Any]]:
    with replay.names_of('minichainer') as found:
        yield found


def _case(family: str, case_id: str) -> Case:
    return next(case for case in replay.load(family) if case.id == case_id)


@dataclasses.dataclass(frozen=True)
class Falsified(Case):
    """A case whose record says something else about one role."""

    role: str = ''
    change: Any = None

    def array(self, role: str) -> np.ndarray:
        array = super().array(role)
        return self.change(array) if role == self.role else array


def _wrong_element(array: np.ndarray) -> np.ndarray:
    array.flat[-1] += 0.01
    return array


def _nan_element(array: np.ndarray) -> np.ndarray:
    array.flat[0] = np.nan
    return array


@pytest.mark.parametrize('role', ['y0', 'gx0', 'g2x0', 'g2gy0'])
@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (_wrong_element, r'off by .* times the tolerance'),
        (_nan_element, r'off by inf times the tolerance'),
        (lambda a: a.astype('d'), r'float32\(.*\), recorded float64'),
        (lambda a: a[None], r'recorded float32\(1, '),
    ],
    ids=['value', 'nan', 'dtype', 'shape'],
)
def test_a_wrong_array_is_seen(names: dict[str, Any], role: str, change: Any, message: str) -> None:
    case = _case('functions', TANH)
    assert replay.complaints(case, names) == []
    (found,) = replay.complaints(Falsified(case.family, case.spec, case.prelude, role, change), names)
    assert found.startswith(f'{role}: ')
    assert re.search(message, found)


def _with(case: Case, **changes: Any) -> Case:
    return Case(case.family, {**case.spec, **changes}, case.prelude)


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        ({'out': ['tuple', [['V', 0]]]}, 'result'),
        ({'out': ['A', 0]}, 'result'),
        ({'results': ['y0', 'g2x0', 'g2gy0']}, 'gx0: an array, recorded None'),
        ({'raises': 'ValueError'}, 'expected ValueError, nothing was raised'),
        ({'call': 'F.no_such_function(x0)'}, 'AttributeError'),
    ],
    ids=['structure', 'kind', 'extra gradient', 'nothing raised', 'missing function'],
)
def test_a_wrong_record_is_seen(names: dict[str, Any], changes: dict[str, Any], message: str) -> None:
    (found,) = replay.complaints(_with(_case('functions', TANH), **changes), names)
    assert found.startswith(message)


def test_another_exception_is_seen(names: dict[str, Any]) -> None:
    case = _with(_case('functions', TANH), raises='InvalidType', call='F.tanh(no_such_name)')
    assert replay.complaints(case, names) == ["expected InvalidType, NameError: name 'no_such_name' is not defined"]


@pytest.mark.parametrize(
    ('got', 'want', 'expected'),
    [
        (1.0, 1.0, 0.0),
        (np.nan, np.nan, 0.0),
        (np.nan, 1.0, np.inf),
        (np.inf, 1.0, np.inf),
        (np.inf, np.inf, 0.0),
        (1.0 + 2e-3, 1.0, 1.0),
        ([0.01, 1000.0], [0.0, 1000.0], 0.01),
        (3, 4, np.inf),
        (True, True, 0.0),
        (1 + 1j, 1 + 1j, 0.0),
    ],
)
def test_excess(got: Any, want: Any, expected: float) -> None:
    assert replay.excess(got, want, (1e-3, 1e-3)) == pytest.approx(expected, rel=1e-6)
