"""Programs give the same results and kinds of exceptions in torch and in minichainer."""

from __future__ import annotations

import importlib.util
import json

import pytest

from tests.autograd.programs.pending import PENDING
from tests.autograd.programs.table import all_programs, recorded, run
from tests.autograd.programs.world import difference

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
