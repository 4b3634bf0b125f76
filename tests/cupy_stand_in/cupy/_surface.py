"""Names and signatures of the real CuPy, as ``surface.py`` read them; ``CUPY_STAND_IN=13`` takes those of CuPy 13."""

from __future__ import annotations

import inspect
import json
import os
import re
from pathlib import Path
from typing import Any

_VERSION = os.environ.get('CUPY_STAND_IN', '14')
SURFACE: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parent.parent / f'surface-{_VERSION}.json').read_text(encoding='utf-8')
)
MAJOR = int(SURFACE['version'].split('.')[0])
#: Whether Python's numbers are weak and NumPy's are not, as in NumPy 2; before, the values of both decided.
NEP_50 = MAJOR >= 14


def names(module: str) -> dict[str, dict[str, Any]]:
    """The public names of a module of CuPy, with their kinds and signatures."""
    return {name: entry for name, entry in SURFACE['modules'].get(module, {}).items() if isinstance(entry, dict)}


def signature(entry: dict[str, Any]) -> inspect.Signature | None:
    """The signature of a function; None where CuPy tells none. Of a default, only that there is one is known."""
    if entry.get('params') is None:
        return None
    empty = inspect.Parameter.empty
    return inspect.Signature(
        [
            inspect.Parameter(name, inspect._ParameterKind(kind), default=None if optional else empty)
            for name, kind, optional in entry['params']
        ]
    )


def method_signature(name: str) -> inspect.Signature | None:
    """The signature of a method of ``cupy.ndarray``, from the first line of its docstring."""
    found = re.search(r'\w\((.*)\)', SURFACE['ndarray'][name].get('doc', ''))
    if found is None:
        return None
    parameters = []
    for text in found[1].split(', ')[1:]:
        declared, _, default = text.partition('=')
        kind = inspect.Parameter.VAR_POSITIONAL if declared[0] == '*' else inspect.Parameter.POSITIONAL_OR_KEYWORD
        empty = inspect.Parameter.empty
        parameters.append(inspect.Parameter(declared.split()[-1].strip('*'), kind, default=default or empty))
    return inspect.Signature(_keyword_only_after_varargs(parameters))


def _keyword_only_after_varargs(parameters: list[inspect.Parameter]) -> list[inspect.Parameter]:
    """What follows ``*args`` can be given by name alone."""
    found, behind = [], False
    for parameter in parameters:
        found.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) if behind else parameter)
        behind = behind or parameter.kind is inspect.Parameter.VAR_POSITIONAL
    return found


def bind(function: str, known: inspect.Signature | None, args: Any, kwargs: Any) -> None:
    """Raises CuPy's TypeError unless the arguments fit the signature."""
    if known is None:
        return
    try:
        known.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f'{function}() {error}') from None
