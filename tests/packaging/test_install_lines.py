"""Lines that say what to install work for every way of having the package: also from a clone that is not installed.

No index needs to have minichainer, and a shell needs to take the line as it is: zsh refuses brackets without quotes.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
METADATA = (ROOT / 'pyproject.toml').read_text(encoding='utf-8')
EXTRAS = set(re.findall(r'^(\w+) = \[', METADATA.partition('[project.optional-dependencies]')[2], re.MULTILINE))
#: What the metadata names, CuPy's packages for drivers, which tests/backends/test_cuda_state.py tests, and what
#: Chainer's exporter needs, which is no part of this package.
LIBRARIES = set(re.findall(r'"([\w-]+)(?:\[ctk\])?[<>=]', METADATA)) | {'cupy-cuda11x', 'onnx'}
LINE = re.compile(r"pip install ((?:--?[\w-]+ |'[^']+'|\"[^\"]+\"|[\w./\[\]<>=-]+)+)")


def texts() -> Iterator[tuple[str, str]]:
    """The strings and docstrings of the sources, and the pages."""
    for folder in ('minichainer', 'examples'):
        for path in sorted((ROOT / folder).rglob('*.py')):
            for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield path.name, node.value
    for path in (ROOT / 'README.md', *sorted((ROOT / 'docs').glob('*.md'))):
        yield path.name, path.read_text(encoding='utf-8')


FOUND = sorted({(name, line.rstrip('.')) for name, text in texts() for line in LINE.findall(text)})


@pytest.mark.parametrize(('name', 'line'), FOUND)
def test_every_line_can_be_followed(name: str, line: str) -> None:
    assert '[' not in re.sub(r"'[^']*'|\"[^\"]*\"", '', line), 'quotes are missing around the brackets'
    for what in shlex.split(line):
        extras = set(re.findall(r'\w+', what.partition('[')[2])) if what.startswith('.') else set()
        is_known = what.startswith(('-', '.')) or re.split(r'[\[<>=]', what)[0] in LIBRARIES
        assert is_known and extras <= EXTRAS, f'{name}: {what}'


def test_lines_are_found() -> None:
    assert {'README.md', 'picture.py', '_hdf5_entries.py', 'gpu.md'} <= {name for name, _ in FOUND}
