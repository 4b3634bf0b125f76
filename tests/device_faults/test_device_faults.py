"""The device tests fail where device code is made wrong; `make mutation-gpu` prints the table.

The processes bring the stand-in for CuPy with them, so the slow tests need no GPU.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect

import pytest

from tests.device_faults.fault import Fault, verdict
from tests.device_faults.table import DEVICES, FAULTS, KERNELS, TRANSFERS

#: One of each group; the others are slow.
SHORT = [TRANSFERS[0], DEVICES[0], KERNELS[0]]
HARMLESS = Fault('none', 'minichainer.variable', 'class Parameter(', 'class Parameter (', SHORT[1].tests)


def _check(fault: Fault) -> None:
    from tests.kernels import cpp

    if cpp.host().compiler() is None:
        pytest.skip('no C++ compiler')
    found, why = verdict(fault)
    assert found == 'caught', why
    assert 'SyntaxError' not in why and 'NameError' not in why, why


@pytest.mark.gpu
@pytest.mark.parametrize('fault', SHORT, ids=str)
def test_a_fault_is_caught(fault: Fault) -> None:
    _check(fault)


@pytest.mark.slow
@pytest.mark.parametrize('fault', [fault for fault in FAULTS if fault not in SHORT], ids=str)
def test_every_fault_is_caught(fault: Fault) -> None:
    _check(fault)


@pytest.mark.gpu
def test_without_a_fault_the_tests_pass() -> None:
    assert verdict(HARMLESS)[0] == 'survived'


@pytest.mark.gpu
def test_tests_that_there_are_not_are_no_verdict() -> None:
    found, why = verdict(dataclasses.replace(HARMLESS, tests=('tests/no.py',)))
    assert found == 'no verdict' and 'tests/no.py' in why


def test_kinds_differ_and_there_are_enough() -> None:
    assert len({fault.kind for fault in FAULTS}) == len(FAULTS) >= 20


@pytest.mark.parametrize('fault', FAULTS, ids=str)
def test_every_fault_has_its_place(fault: Fault) -> None:
    """Also where the others do not run: the source has changed if this fails."""
    source = inspect.getsource(importlib.import_module(fault.module))
    compile(fault.planted_in(source), fault.module, 'exec')


def test_a_text_that_is_not_there_is_an_error() -> None:
    with pytest.raises(AssertionError, match='not exactly once'):
        Fault('gone', 'minichainer', 'no such text', '', ()).planted_in('source')
