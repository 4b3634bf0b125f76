"""Generated pages are up to date, and what pages name exists."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_coverage_page_is_up_to_date() -> None:
    command = [sys.executable, str(ROOT / 'docs' / 'make_coverage.py'), '--check']
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_texts_agree_with_the_page_of_devices_on_what_has_run() -> None:
    page = (ROOT / 'docs' / 'gpu.md').read_text(encoding='utf-8')
    runs = re.findall(r'^\| (\d{4}-\d\d-\d\d) \|.*\d passed', page, re.MULTILINE)
    assert runs, 'no run is listed'
    denial = re.compile(
        r'no gpu\s+has|has\s+(not|never)\s+run\s+on a (device|gpu)|have\s+not run on a device', re.IGNORECASE
    )
    paths = [ROOT / 'README.md', *(ROOT / 'docs').glob('*.md'), *(ROOT / 'minichainer').rglob('*.py')]
    assert [path.name for path in paths if denial.search(path.read_text(encoding='utf-8'))] == []
    functions = (ROOT / 'docs' / 'functions.md').read_text(encoding='utf-8')
    assert f'last on {max(runs)} (`gpu.md`)' in functions


def test_commands_named_in_the_texts_exist() -> None:
    makefile = (ROOT / 'Makefile').read_text(encoding='utf-8')
    targets = set(re.findall(r'^([a-z-]+):', makefile, flags=re.MULTILINE))
    texts = [ROOT / 'README.md', ROOT / 'CHANGELOG.md', *(ROOT / 'docs').glob('*.md')]
    named = {name for path in texts for name in re.findall(r'`make ([a-z-]+)`', path.read_text(encoding='utf-8'))}
    assert named - targets == set()


def test_every_command_explains_itself() -> None:
    makefile = (ROOT / 'Makefile').read_text(encoding='utf-8')
    targets = set(re.findall(r'^([a-z-]+):', makefile, flags=re.MULTILINE)) - {'help'}
    explained = set(re.findall(r"@echo 'make ([a-z-]+) ", makefile))
    assert targets == explained


#: What texts do not say, and what they say instead: see docs/style.md.
PHRASES = {
    'is no array': 'is not an array',
    'version 0.2 and what follows it': 'version 0.2 plus unreleased changes',
    'but for': 'except for',
    'the only door': 'is used through it only',
    'stands at the node': 'is stored on the node',
    'what is not certain': 'uncertain places',
    'behind a seam': 'behind an interface',
    'are no kink': 'are not kinks',
    'on one place off': 'shifts by one position',
    'that nobody holds': 'that is not referenced',
}
PHRASE = re.compile(rf'(?<!there )\b(?:{"|".join(PHRASES)})\b')


def test_texts_are_plain_english() -> None:
    pages = [ROOT / 'README.md', ROOT / 'CONTRIBUTING.md', ROOT / 'SECURITY.md', *(ROOT / 'docs').glob('*.md')]
    texts = [path for path in [*pages, *(ROOT / 'minichainer').rglob('*.py')] if path.name != 'style.md']
    found = [
        f'{path.relative_to(ROOT)}: {phrase!r}; write {PHRASES[phrase]!r}, or reword it'
        for path in texts
        for phrase in PHRASE.findall(path.read_text(encoding='utf-8'))
    ]
    assert found == []
