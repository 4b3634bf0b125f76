"""Drawing by Graphviz, if its program ``dot`` is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import warnings
from collections.abc import Callable

#: Seconds after which a notebook gets our own picture.
PATIENCE = 20


def is_installed() -> bool:
    """Whether the program ``dot`` is there."""
    return shutil.which('dot') is not None


def render(path: str, text: str, draw: Callable[[], str]) -> str:
    """Writes a graph to a file in the format that the path ends with; returns the path.

    Args:
        path: the path.
        text: the graph in the DOT language.
        draw: makes the SVG to write if Graphviz is not installed.
    """
    stem, extension = os.path.splitext(path)
    format = extension[1:].lower()
    if not format:
        raise ValueError(f'render: expected a path such as graph.svg, got {path!r}, which does not name a format')
    if format in ('dot', 'gv'):
        return _written(path, text.encode())
    program = shutil.which('dot')
    if program is not None:
        return _written(path, _run(program, text, format, None))
    if format != 'svg':
        path = f'{stem}.svg'
        warnings.warn(
            f'Graphviz is not installed (there is no program dot), so an SVG is written: {path}', stacklevel=3
        )
    return _written(path, draw().encode())


def try_svg(text: str) -> str | None:
    """The SVG of a graph; None if Graphviz is not installed, fails, or takes too long."""
    program = shutil.which('dot')
    if program is None:
        return None
    try:
        return _run(program, text, 'svg', PATIENCE).decode()
    except (OSError, RuntimeError, subprocess.TimeoutExpired):
        return None


def _run(program: str, text: str, format: str, timeout: float | None) -> bytes:
    done = subprocess.run([program, f'-T{format}'], input=text.encode(), capture_output=True, timeout=timeout)
    if done.returncode:
        raise RuntimeError(f'{program} -T{format} failed: {done.stderr.decode(errors="replace").strip()}')
    return done.stdout


def _written(path: str, content: bytes) -> str:
    with open(path, 'wb') as f:
        f.write(content)
    return path
