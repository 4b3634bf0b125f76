"""Common operations take few Python calls, and each of these has a reason (``benchmarks/calls.py``)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.calls import REASONS, TARGETS, Hop, reason_key

#: Its hops have reasons by module.
CHECKER = 'check_gradients(F.tanh, x, precise=False)'
COMPREHENSIONS = [f'.<{kind}>' for kind in ('listcomp', 'setcomp', 'dictcomp', 'genexpr')]
needs_full_names = pytest.mark.skipif(
    sys.version_info < (3, 11), reason='before Python 3.11 code does not know the class or function that it is in'
)


COUNT = """
import json
from benchmarks.calls import hops, workloads
print(json.dumps({name: hops(workload) for name, workload in workloads().items()}))
"""


@pytest.fixture(scope='module')
def found() -> dict[str, list[Hop]]:
    """What each workload enters, in a process of its own: other tests fill caches. Of the package in Python."""
    root = Path(__file__).parents[1]
    # Where there is a GPU, functions also look for the device of their arguments.
    environment = {**os.environ, 'MINICHAINER_PURE': '1', 'CUDA_VISIBLE_DEVICES': ''}
    done = subprocess.run(
        [sys.executable, '-c', COUNT], cwd=root, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return {name: [Hop(*hop) for hop in entered] for name, entered in json.loads(done.stdout).items()}


def test_each_workload_has_a_target_or_none(found: dict[str, list[Hop]]) -> None:
    assert list(found) == list(TARGETS)


@pytest.mark.parametrize(('name', 'target'), [(name, target) for name, target in TARGETS.items() if target])
def test_targets_hold(found: dict[str, list[Hop]], name: str, target: int) -> None:
    assert 0 < len(found[name]) <= target, [str(hop) for hop in found[name]]


@needs_full_names
@pytest.mark.parametrize('name', TARGETS)
def test_every_hop_has_a_reason(found: dict[str, list[Hop]], name: str) -> None:
    assert {str(hop) for hop in found[name] if not reason_key(hop)} == set()


@needs_full_names
@pytest.mark.parametrize('name', sorted(TARGETS.keys() - {CHECKER}))
def test_the_reason_is_that_of_the_function(found: dict[str, list[Hop]], name: str) -> None:
    """Not of its class or module; a comprehension has that of the function around it."""
    rest = {hop: str(hop).removeprefix(reason_key(hop)) for hop in found[name]}
    assert {str(hop) for hop, inner in rest.items() if inner not in ('', *COMPREHENSIONS)} == set()


@needs_full_names
def test_no_reason_is_unused(found: dict[str, list[Hop]]) -> None:
    used = {reason_key(hop) for entered in found.values() for hop in entered}
    assert sorted(REASONS.keys() - used) == []
