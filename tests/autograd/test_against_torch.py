"""Programs give the same results and kinds of exceptions in torch and in minichainer."""

from __future__ import annotations

import importlib.util
import json
from typing import Any

import pytest

from tests.autograd.programs.pending import PENDING
from tests.autograd.programs.table import all_programs, recorded, run
from tests.autograd.programs.world import Raised, difference

PROGRAMS = all_programs()
RECORDED = recorded()


@pytest.mark.parametrize('name', PROGRAMS)
def test_minichainer_gives_what_torch_gives(name: str, request: pytest.FixtureRequest) -> None:
    from tests.autograd.programs.minichainer_world import Minichainer

    if name in PENDING:
        request.applymarker(pytest.mark.xfail(reason=PENDING[name], strict=True))
    found = difference(RECORDED[name], run(PROGRAMS[name], Minichainer(), strict=True))
    assert found is None, found


@pytest.mark.parametrize('name', PROGRAMS)
def test_torch_gives_what_is_recorded(name: str) -> None:
    if importlib.util.find_spec('torch') is None:
        pytest.skip('torch is not installed')
    from tests.autograd.programs.torch_world import Torch

    found = difference(RECORDED[name], json.loads(json.dumps(run(PROGRAMS[name], Torch(), strict=False))))
    assert found is None, found


def test_each_program_is_recorded_and_nothing_else() -> None:
    assert list(RECORDED) == list(PROGRAMS)
    assert set(PENDING) <= set(PROGRAMS)
    assert len(PROGRAMS) >= 170


@pytest.mark.parametrize(
    ('expected', 'got', 'equal'),
    [
        ([1.0, [2.0]], (1.0, (2.0 + 1e-12,)), True),
        ([1.0, [2.0]], [1.0, [2.0001]], False),
        ([1.0], [1.0, 2.0], False),
        ([], None, False),
        (None, [], False),
        (1.0, True, False),
        (False, 0, False),
        (float('nan'), float('nan'), True),
        (float('inf'), float('nan'), False),
        ('RuntimeError', Raised(RuntimeError), True),
        ('RuntimeError', Raised(NotImplementedError), True),
        ('NotImplementedError', Raised(RuntimeError), False),
        ('RuntimeError', Raised(type('Both', (ValueError, RuntimeError), {})), True),
        ('RuntimeError', Raised(TypeError), False),
        ('RuntimeError', 'nothing', False),
        ('nothing', Raised(RuntimeError), False),
    ],
)
def test_differences_are_found(expected: Any, got: Any, equal: bool) -> None:
    assert (difference(expected, got) is None) is equal
