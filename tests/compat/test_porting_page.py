"""docs/porting.md: its code runs, its table of rewritings and its sample output are what the tools give."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip('libcst', reason='rewriting of programs needs the extra `port`')

from minichainer.compat.__main__ import main
from minichainer.compat.port.rewriter import rewrite

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / 'docs' / 'porting.md').read_text(encoding='utf-8')
BLOCKS = re.findall(r'^```python\n(.*?)^```', PAGE, flags=re.MULTILINE | re.DOTALL)
HEAD = """
import chainer, collections, json, random, scipy.misc
import chainer.functions as F, chainer.links as L
import numpy as np
from chainer import Variable, cuda
from PIL import Image
optimizer = chainer.optimizers.SGD()
"""
#: Rows of the table of rewritings in which both cells are code.
ROWS = re.findall(r'^\| (`[^|\n]+`) \| (`[^`|\n]+`(?:, `[^`|\n]+`)*)(?:[:.] [^|\n]*)? \|$', PAGE, flags=re.MULTILINE)


@pytest.mark.parametrize('code', BLOCKS, ids=range(len(BLOCKS)))
def test_code_runs(code: str) -> None:
    done = subprocess.run([sys.executable, '-c', code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_the_table_is_found() -> None:
    assert len(BLOCKS) == 2
    assert len(ROWS) >= 13


@pytest.mark.parametrize(('before', 'after'), ROWS, ids=[before for before, _ in ROWS])
def test_table(before: str, after: str) -> None:
    for old, new in zip(re.findall('`(.+?)`', before), re.findall('`(.+?)`', after), strict=True):
        ported = rewrite(old if 'import' in old else f'{HEAD}{old}\n')[0].decode()
        assert ported.strip().endswith(new)


def test_sample_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path('model.py').write_text('import chainer.functions as F\nF.maxout2(F.relu(1))\n', encoding='utf-8')
    assert main(['check', '.']) == 1
    command = '$ python -m minichainer.compat check .\n'
    assert PAGE.partition(command)[2].startswith(capsys.readouterr().out)
