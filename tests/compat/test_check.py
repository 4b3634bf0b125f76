"""``compat check``: names used, names missing, exit status, JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip('libcst', reason='the check of programs needs the extra `port`')

from minichainer.compat.__main__ import main

FINE = """
import chainer
import chainer.functions as F
y = F.relu(F.relu(x)) + chainer.Variable(z, volatile=True)
"""
#: Source; exit status; a line of the report.
CASES = {
    'fine': (FINE, 0, 'names of Chainer: 4 used, 0 missing'),
    'what port rewrites': (FINE, 0, 'places that `port --write` rewrites: 3, in 1 files'),
    'missing': ('import chainer\nchainer.nothing\n', 1, 'names of Chainer: 2 used, 1 missing'),
    'missing, where': ('import chainer\nchainer.nothing\n', 1, 'a.py:2: missing (name): minichainer has no nothing'),
    'for a person': ('import chainercv\n', 1, 'places for a person: 1'),
    'chainerx': ('import chainerx\nx is chainerx\n', 0, 'places that `port --write` rewrites: 1, in 1 files'),
    'chainerx, its names': ('import chainerx\nchainerx.ones(3)\n', 1, 'names of Chainer: 2 used, 1 missing'),
    'syntax error': ('def f(:\n', 1, 'files that cannot be read: 1'),
    'Python 2': ('print 1\n', 1, 'a.py:1: error (source): this file is in Python 2 (print 1): skipped'),
    'no Chainer': ('print(1)\n', 0, 'names of Chainer: 0 used, 0 missing'),
}


@pytest.mark.parametrize(('source', 'status', 'line'), CASES.values(), ids=CASES)
def test_check(source: str, status: int, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / 'a.py'
    path.write_text(source, encoding='utf-8')
    assert main(['check', str(tmp_path)]) == status
    assert line in capsys.readouterr().out
    assert path.read_text(encoding='utf-8') == source


def test_names_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / 'a.py').write_text(FINE, encoding='utf-8')
    assert main(['check', '--names', str(tmp_path)]) == 0
    assert 'chainer.functions.relu 2\n' in capsys.readouterr().out
    assert main(['check', '--json', str(tmp_path)]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report['names'] == {
        'chainer': 1, 'chainer.Variable': 1, 'chainer.functions': 1, 'chainer.functions.relu': 2
    }  # fmt: skip
    assert report['counts']['missing'] == 0


def test_missing_path(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['check', 'no/such/path']) == 2
    assert 'no/such/path does not exist' in capsys.readouterr().err


def test_without_libcst(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import sys

    for name in [name for name in sys.modules if name.startswith(('libcst', 'minichainer.compat.port.'))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, 'libcst', None)
    assert main(['check', str(tmp_path)]) == 2
    assert 'pip install libcst' in capsys.readouterr().err
