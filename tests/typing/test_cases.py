"""Both type checkers accept each line of the cases, but those that say `# error`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.typing.checkers import CHECKERS, Checker

CASES = sorted((Path(__file__).parent / 'cases').glob('*.py'))


@pytest.mark.parametrize('checker', CHECKERS, ids=lambda checker: checker.__name__)
def test_errors_are_where_they_should_be(checker: Checker, tmp_path: Path) -> None:
    files = [Path(shutil.copy(case, tmp_path)) for case in CASES]
    found = checker(*files)
    for file in files:
        lines = file.read_text(encoding='utf-8').splitlines()
        expected = {number for number, line in enumerate(lines, 1) if line.endswith('# error')}
        assert expected and found[file.name].keys() == expected, (file.name, found)
