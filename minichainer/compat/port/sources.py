"""The files of a program: modules, notebooks, and files in Python 2."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

SUFFIXES = ('.py', '.ipynb')
#: Folders that are not the program.
SKIPPED_FOLDERS = frozenset('.git .hg .svn .tox .venv venv __pycache__ node_modules .ipynb_checkpoints'.split())

#: What a syntax error says, or what stands in its line, if the file is in Python 2.
_PYTHON_2 = re.compile(
    r"Missing parentheses in call to '(?:print|exec)'|multiple exception types must be parenthesized|"
    r'leading zeros in decimal integer|^\s*print\s+\S|^\s*print\s*>>|^\s*except\s+[\w.]+\s*,\s*\w+\s*:|'
    r'^\s*raise\s+[\w.]+\s*,|<>|`|\b0[0-7]+\b|\bur[\'"]|\b\d+[lL]\b|^\s*exec\s+\S',
    re.MULTILINE,
)


class SourceError(Exception):
    """A file that cannot be read as Python.

    Args:
        line: where.
        message: why, and what to do.
    """

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


def files(paths: Iterable[str]) -> Iterator[Path]:
    """The Python files and notebooks that paths name or contain.

    Raises:
        FileNotFoundError: a path does not exist.
    """
    for path in map(Path, paths):
        if path.is_dir():
            found = (file for file in path.rglob('*') if file.suffix in SUFFIXES and file.is_file())
            yield from sorted(f for f in found if not SKIPPED_FOLDERS.intersection(f.relative_to(path).parts))
        elif path.exists():
            yield path
        else:
            raise FileNotFoundError(f'{path} does not exist: expected a file or folder')


class Source:
    """The text of one file, which can be replaced.

    Args:
        path: the file.
        python2: whether to convert Python 2, if fissix is installed.

    Raises:
        SourceError: it is not Python 3, or cannot be decoded.
    """

    def __init__(self, path: Path, python2: bool = False) -> None:
        self.path = path
        self.original = path.read_bytes()
        self._notebook = _Notebook(self.original) if path.suffix == '.ipynb' else None
        text: bytes | str = self.original if self._notebook is None else self._notebook.source()
        self.text, self.converted = _as_python3(text, python2)

    def replaced(self, text: bytes) -> bytes:
        """The bytes of the file with another source."""
        return text if self._notebook is None else self._notebook.replaced(text.decode())

    def where(self, line: int) -> tuple[str, int]:
        """The name of the file, or of the cell of a notebook, and the line in it."""
        return (str(self.path), line) if self._notebook is None else self._notebook.where(str(self.path), line)


def _as_python3(text: bytes | str, python2: bool) -> tuple[bytes | str, bool]:
    """The source, and whether it was converted from Python 2."""
    try:
        _parse(text)
        return text, False
    except SyntaxError as error:
        line, message = error.lineno or 1, str(error.msg)
        was = (error.text or '').rstrip('\n')
    except ValueError as error:
        raise SourceError(1, f'this is not a text in Python: {error}') from error
    if not _PYTHON_2.search(f'{message}\n{was}'):
        raise SourceError(line, f'syntax error: {message}: {was.strip()}')
    if not python2:
        raise SourceError(line, f'this file is in Python 2 ({was.strip()}): skipped; --py2 converts it')
    if importlib.util.find_spec('fissix') is None:
        raise SourceError(
            line, f'this file is in Python 2 ({was.strip()}): --py2 needs fissix: pip install libcst fissix'
        )
    return _converted(text, line), True


def _parse(text: bytes | str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # about the program's escape sequences
        ast.parse(text)


def _converted(text: bytes | str, line: int) -> str:
    """Python 2 as Python 3."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        refactor = importlib.import_module('fissix.refactor')
        tool = refactor.RefactoringTool(refactor.get_fixers_from_package('fissix.fixes'))
        source = text if isinstance(text, str) else text.decode()
        try:
            converted = str(tool.refactor_string(source.rstrip('\n') + '\n', 'program'))
            _parse(converted)
        except Exception as error:
            raise SourceError(line, f'fissix could not convert this file from Python 2: {error}') from error
    return converted


class _Notebook:
    """The code cells of a notebook as one source, with a line before each cell."""

    _CELL = '# cell {} of the notebook'
    _MAGIC = 'pass  # magic: '
    _IS_MAGIC = re.compile(r'^(\s*)([%!?].*|.*\?)$', re.MULTILINE)

    def __init__(self, content: bytes) -> None:
        try:
            self._content: Any = json.loads(content)
            cells = self._content['cells']
        except (ValueError, KeyError, TypeError) as error:
            raise SourceError(1, f'this is not a notebook of version 4: {error}') from error
        self._cells = [cell for cell in cells if cell['cell_type'] == 'code']

    def source(self) -> str:
        """All code, with magic commands commented out."""
        parts = []
        for number, cell in enumerate(self._cells):
            text = self._IS_MAGIC.sub(rf'\1{self._MAGIC}\2', ''.join(cell['source']))
            parts.append(f'{self._CELL.format(number)}\n{text.rstrip(chr(10))}\n')
        return ''.join(parts)

    def replaced(self, source: str) -> bytes:
        """The notebook with other code."""
        for number, cell in enumerate(self._cells):
            _, _, rest = source.partition(self._CELL.format(number) + '\n')
            text = rest.partition(self._CELL.format(number + 1) + '\n')[0].replace(self._MAGIC, '')
            cell['source'] = text.removesuffix('\n').splitlines(keepends=True)
        return (json.dumps(self._content, indent=1, ensure_ascii=False) + '\n').encode()

    def where(self, path: str, line: int) -> tuple[str, int]:
        """The cell, counted from 1 among code cells, and the line in it."""
        for number, cell in enumerate(self._cells, 1):
            length = ''.join(cell['source']).rstrip('\n').count('\n') + 2
            if line <= length:
                return f'{path}[{number}]', max(1, line - 1)
            line -= length
        return path, line
