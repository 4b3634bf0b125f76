"""Runs tests marked ``gpu`` in this process with the fault that is named: ``process.py KIND TEST ...``."""

from __future__ import annotations

import sys

import pytest

from tests.device_faults.fault import plant
from tests.device_faults.table import FAULTS


class Planting:
    """A plugin of pytest, called after pytest has put its own finder of modules first, and before conftest.py."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self) -> None:
        for fault in FAULTS:
            if fault.kind == self.kind:
                plant(fault)


if __name__ == '__main__':
    options = ['-q', '-x', '-p', 'no:cacheprovider', '-m', 'gpu']
    sys.exit(pytest.main([*options, *sys.argv[2:]], plugins=[Planting(sys.argv[1])]))
