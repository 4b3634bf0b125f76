"""All programs: each public function of a module of programs is one, and returns plain Python data."""

from __future__ import annotations

import importlib
import inspect
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.autograd.programs.world import World

THEMES = (
    'roots grads freeing modes decorators variables hooks accumulate_hooks nodes higher functions contexts inplace '
    'functional forward saved checks complex_numbers ops'
).split()
RECORDED = Path(__file__).with_name('recorded.json')


def all_programs() -> dict[str, Callable[[World], Any]]:
    """Programs by name, as in ``hooks.order``."""
    found = {}
    for theme in THEMES:
        module = importlib.import_module(f'tests.autograd.programs.{theme}')
        for name, value in vars(module).items():
            if inspect.isfunction(value) and value.__module__ == module.__name__ and name[0] != '_':
                found[f'{theme}.{name}'] = value
    return found


def recorded() -> dict[str, Any]:
    """What torch returned, by the names of programs."""
    return json.loads(RECORDED.read_text(encoding='utf-8'))  # type: ignore[no-any-return]


def run(program: Callable[[World], Any], world: World, *, strict: bool) -> Any:
    """The result of a program; warnings are errors if strict, and no mode may be left behind."""
    with warnings.catch_warnings():
        warnings.simplefilter('error' if strict else 'ignore')
        result = program(world)
    assert world.autograd.is_grad_enabled(), 'the program leaves recording off'
    return result
