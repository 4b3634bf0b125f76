"""Who raised an error: the package, what it calls, or the code of a row around the function."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import minichainer as chainer
from minichainer import backend

PACKAGE = Path(chainer.__file__).parent
TESTS = Path(__file__).parents[1]


@functools.cache
def _lines_that_raise(path: str) -> frozenset[int]:
    """Line numbers of the ``raise`` and ``assert`` statements of a file."""
    tree = ast.parse(Path(path).read_text(encoding='utf-8'))
    statements = [node for node in ast.walk(tree) if isinstance(node, (ast.Raise, ast.Assert))]
    return frozenset(n for s in statements for n in range(s.lineno, (s.end_lineno or s.lineno) + 1))


def _places(error: BaseException) -> list[tuple[str, int]]:
    """File and line of each step on the way to the error, outermost first."""
    places, step = [], error.__traceback__
    while step is not None:
        places.append((step.tb_frame.f_code.co_filename, step.tb_lineno))
        step = step.tb_next
    return places


def _in_package(path: str) -> bool:
    return Path(path).is_relative_to(PACKAGE)


def is_ours(error: BaseException) -> bool:
    """Whether a statement of the package raises the error, and not something that the package has called."""
    path, line = _places(error)[-1]
    return _in_package(path) and line in _lines_that_raise(path)


def is_the_rows(error: BaseException) -> bool:
    """Whether it comes from the row's own code around the function, or below it, which takes what its cases have."""
    ours_or_rows = [path for path, _ in _places(error) if _in_package(path) or Path(path).is_relative_to(TESTS)]
    if ours_or_rows[-1] == backend.__file__:  # the wrapper of on_device_of_arguments, where there is a GPU
        ours_or_rows.pop()
    return not _in_package(ours_or_rows[-1])
