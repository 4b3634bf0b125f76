"""What ``install(numpy=True)`` restores, and the extension for cells of IPython."""

from __future__ import annotations

import ast
import builtins
import collections
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from minichainer import compat
from minichainer.compat.rewriting import HELPER

ROOT = Path(__file__).parents[2]
#: A name that NumPy dropped.
FLOAT = 'float'


class Shell:
    """As much of IPython's shell as the extension uses."""

    def __init__(self) -> None:
        self.ast_transformers: list[Any] = []
        self.names: dict[str, Any] = {}

    def run(self, cell: str) -> Any:
        tree: Any = ast.parse(textwrap.dedent(cell))
        for transformer in self.ast_transformers:
            tree = transformer.visit(tree)
        exec(compile(tree, f'<ipython-input-{len(self.names)}>', 'exec'), self.names)
        return self.names.get('result')


@pytest.fixture
def shell() -> Iterator[Shell]:
    shell = Shell()
    compat.load_ipython_extension(shell)
    yield shell
    compat.unload_ipython_extension(shell)
    assert not shell.ast_transformers and not hasattr(builtins, HELPER) and not compat.installed()


def test_cells(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    text = """
        import numpy as np, chainer
        from collections import Iterable
        result = [float(np.array([1.])), list(xrange(2)), {1: 2}.has_key(1), np.int(3), chainer.__version__]
    """
    assert shell.run(text) == [1.0, [0, 1], True, 3, '7.8.1']
    compat.report()
    report = capsys.readouterr().err
    assert '<ipython-input-0>:4: numpy.int, which NumPy 1.24 dropped: write int' in report
    assert 'xrange' in report


def test_a_name_that_an_earlier_cell_defines_stays(shell: Shell) -> None:
    shell.run('def cmp(a, b):\n    return "mine"')
    assert shell.run('result = cmp(1, 2), list(xrange(1))') == ('mine', [0])


def test_the_extension_can_be_loaded_twice(shell: Shell) -> None:
    compat.load_ipython_extension(shell)
    assert len(shell.ast_transformers) == 1


def test_modules_that_are_imported_later(tmp_path: Path) -> None:
    (tmp_path / 'helper.py').write_text('def f():\n    return list(xrange(2)), {1: 2}.has_key(1)\n', encoding='utf-8')
    (tmp_path / 'main.py').write_text(
        textwrap.dedent("""
            import multiprocessing, sys
            import minichainer.compat

            minichainer.compat.install(numpy=True)
            import numpy as np, helper, chainer

            def work(i):
                return np.int(i), helper.f()

            if __name__ == '__main__':
                with multiprocessing.get_context('spawn').Pool(1) as pool:
                    print(work(1), pool.map(work, [2]), chainer.__version__)
        """),
        encoding='utf-8',
    )
    environment = {'PYTHONPATH': str(ROOT), 'PATH': ''}
    done = subprocess.run(
        [sys.executable, 'main.py'], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.stdout == '(1, ([0, 1], True)) [(2, ([0, 1], True))] 7.8.1\n', done.stderr
    assert 'main.py:9: numpy.int, which NumPy 1.24 dropped: write int' in done.stderr
    assert 'helper.py:2: xrange' in done.stderr


def test_install_adds_what_was_not_asked_for_before() -> None:
    assert not hasattr(np, FLOAT) and not hasattr(collections, 'Mapping')
    compat.install('v2')
    try:
        assert not hasattr(np, FLOAT)
        compat.install(numpy=True)
        assert getattr(np, FLOAT) is float
        compat.install('v2', numpy=True)
    finally:
        compat.uninstall()
    assert not hasattr(np, FLOAT) and not hasattr(builtins, HELPER)


def test_the_alias_alone_restores_nothing(alias: None) -> None:
    assert not hasattr(np, FLOAT)
    compat.load_ipython_extension(SimpleNamespace(ast_transformers=[]))
    assert getattr(np, FLOAT) is float
