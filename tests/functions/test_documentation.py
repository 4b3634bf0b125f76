"""Every function says what it does, what it takes, and shows it; and the page of functions is up to date."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import minichainer.functions as F

ROOT = Path(__file__).resolve().parents[2]

NAMES = sorted(F.__all__)


@pytest.mark.parametrize('name', NAMES)
def test_docstring_has_a_sentence_arguments_and_an_example(name: str) -> None:
    function = getattr(F, name)
    text = inspect.getdoc(function) or ''
    summary, _, rest = text.partition('\n\n')
    assert summary.endswith('.') and len(summary) > 15, f'{name}: the first paragraph is to be a sentence'
    assert re.search(r'^Args:$', rest, re.MULTILINE), f'{name}: Args are missing'
    assert '>>> ' in rest, f'{name}: an example is missing'
    arguments = text.partition('Args:\n')[2].partition('\n\n')[0]
    described = set(re.findall(r'[*\w]+', ' '.join(re.findall(r'^ {4}([*\w, ]+):', arguments, re.MULTILINE))))
    parameters = {p.name for p in inspect.signature(function).parameters.values()}
    assert parameters - {w.lstrip('*') for w in described} - {'kwargs'} == set(), f'{name}: Args lack parameters'


def test_page_of_functions_is_up_to_date() -> None:
    command = [sys.executable, str(ROOT / 'docs' / 'make_functions.py'), '--check']
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
