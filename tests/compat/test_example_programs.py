"""Programs with the imports and idioms of Chainer's own examples run, unchanged and ported."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.compat import example_programs

ROOT = Path(__file__).parents[2]
ROWS = example_programs.rows()
#: Runs each program of a folder with ``--help`` and without, in one process, and prints the exit statuses.
RUN = """
    import contextlib, io, json, sys, unittest
    from pathlib import Path
    from minichainer.compat import run
    from minichainer.compat.program import execute, main_of_script

    def status(path, arguments):
        sys.argv = [str(path), *arguments]
        def start():
            module, code = main_of_script(str(path))
            sys.modules['__main__'] = module
            return module, code
        with contextlib.redirect_stdout(io.StringIO()):
            return execute(start)

    folder, state = sys.argv[1:]
    with run.prepared(run.Options()) if state == 'old' else contextlib.nullcontext():
        paths = sorted(Path(folder).rglob('*.py'))
        found = {f'{path.relative_to(folder)}': [status(path, ['--help']), status(path, [])] for path in paths}
    print(json.dumps(found))
"""


def written(folder: Path) -> Path:
    for name, row in ROWS.items():
        path = folder / f'{name}.py'
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(example_programs.source(*row), encoding='utf-8')
    return folder


def failing(folder: Path, state: str) -> dict[str, list[int]]:
    """The programs that do not end with 0, and their statuses."""
    call = [sys.executable, '-c', textwrap.dedent(RUN), str(folder), state]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, list[int]] = json.loads(done.stdout.splitlines()[-1])
    assert len(found) == len(ROWS) == 55
    return {name: status for name, status in found.items() if status != [0, 0]}


@pytest.fixture(autouse=True)
def _six() -> None:
    pytest.importorskip('six', reason='Chainer requires six, and some of its examples import it')


def test_they_end_with_the_status_that_they_have_with_chainer(tmp_path: Path) -> None:
    assert failing(written(tmp_path), 'old') == {}, 'with Chainer all end with 0'


def test_they_do_so_after_port(tmp_path: Path) -> None:
    pytest.importorskip('libcst', reason='rewriting of programs needs the extra `port`')
    from minichainer.compat.port.command import inspect

    report, changes = inspect([str(written(tmp_path))])
    assert [str(finding) for finding in report.open] == [], 'nothing is left for a person'
    for path, _, new in changes:
        path.write_bytes(new)
    assert 'import chainerx\n' not in ''.join(path.read_text(encoding='utf-8') for path in tmp_path.rglob('*.py'))
    assert failing(tmp_path, 'new') == {}


def test_fifteen_of_them_import_chainerx() -> None:
    assert sum('chainerx' in modules for modules, _ in ROWS.values()) == 15
