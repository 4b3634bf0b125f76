"""What the documentation of a public class or function has to have."""

from __future__ import annotations

import inspect
import re
from typing import Any


def check_documentation(documented: Any) -> None:
    """A sentence of its own, a description of each argument, and an example."""
    text = inspect.getdoc(documented) or ''
    summary, _, rest = text.partition('\n\n')
    assert documented.__doc__ and summary.endswith('.') and len(summary) > 15, 'the first paragraph is a sentence'
    names = [p.name for p in inspect.signature(documented).parameters.values() if p.name != 'kwargs']
    arguments = rest.partition('Args:\n')[2].partition('\n\n')[0]
    described = re.findall(r'^ {4}(\w+)(?: \(.*?\))?:', arguments, re.MULTILINE)
    assert set(names) <= set(described), f'described are {described} of {names}'
    assert '>>> ' in rest, 'an example is missing'


def check_methods(documented: Any) -> None:
    """A docstring for each public method that is its own."""
    methods = {key: value for key, value in vars(documented).items() if inspect.isfunction(value)}
    public = {key for key in methods if not key.startswith('_')} | ({'__call__'} & set(methods))
    assert [key for key in sorted(public) if not methods[key].__doc__] == []
