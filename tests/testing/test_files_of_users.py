"""What passes in Chainer 7.8.1 passes here, and what fails there fails here: test files as people write them.

With ``CHAINER_PYTHON``, the path of an interpreter that has Chainer 7.8.1, Chainer itself runs them, too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.testing import outcomes
from tests.testing.files_of_links import LINKS
from tests.testing.files_of_right_functions import RIGHT
from tests.testing.files_of_users import File
from tests.testing.files_of_wrong_functions import WRONG_ONES
from tests.testing.files_with_other_tools import OTHER_FILES

FILES = {**RIGHT, **WRONG_ONES, **LINKS, **OTHER_FILES}
#: An interpreter that has Chainer 7.8.1, to compare the table with.
CHAINER_PYTHON = os.environ.get('CHAINER_PYTHON', '')
SEEDS = 5


def others(found: dict) -> dict:
    """The tests that did not just pass."""
    return {name: count for name, count in found.items() if count}


def expected(file: File) -> dict:
    return others({**file.fails, **file.here})


def test_no_name_is_used_twice() -> None:
    assert len(FILES) == sum(map(len, (RIGHT, WRONG_ONES, LINKS, OTHER_FILES)))
    assert all(bool(file.here) == bool(file.why) for file in FILES.values())


@pytest.mark.parametrize('name', FILES)
def test_file(name: str) -> None:
    once = {test: min(count, 1) if count != 'skip' else count for test, count in expected(FILES[name]).items()}
    assert others(outcomes.failures(FILES[name].text, 'minichainer', 1)) == once


@pytest.mark.slow
@pytest.mark.parametrize('name', FILES)
def test_file_on_five_seeds(name: str) -> None:
    assert others(outcomes.failures(FILES[name].text, 'minichainer', SEEDS)) == expected(FILES[name])


@pytest.mark.skipif(not CHAINER_PYTHON, reason='CHAINER_PYTHON does not name an interpreter that has Chainer 7.8.1')
def test_chainer_itself() -> None:
    texts = json.dumps({name: file.text for name, file in FILES.items()})
    command = [CHAINER_PYTHON, '-W', 'ignore', str(Path(outcomes.__file__)), 'chainer', str(SEEDS)]
    done = subprocess.run(command, input=texts, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    found = {name: others(tests) for name, tests in json.loads(done.stdout).items()}
    assert found == {name: others(file.fails) for name, file in FILES.items()}


def test_a_file_that_does_not_import() -> None:
    assert outcomes.outcomes('import no_such_module', 'minichainer', 0) == {'import': 'ModuleNotFoundError'}
    assert 'test_file_of_a_user' not in sys.modules
