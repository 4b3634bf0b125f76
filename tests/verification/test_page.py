"""The examples of docs/gradient_checking.md do what the page shows."""

from __future__ import annotations

import doctest
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / 'docs' / 'gradient_checking.md'


def test_the_examples_of_the_page():
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    result = doctest.testfile(str(PAGE), module_relative=False, optionflags=flags, encoding='utf-8')
    assert result.attempted > 25 and result.failed == 0
