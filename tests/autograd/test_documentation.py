"""docs/autograd.md has every name, what it calls "here" is here, and its examples run with the output it shows."""

from __future__ import annotations

import doctest
import importlib
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import minichainer
from minichainer import autograd
from minichainer._hooks import RemovableHandle
from minichainer.autograd.function import FunctionCtx
from minichainer.autograd.profiler import EventList, FunctionEvent, FunctionEventAvg

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / 'docs' / 'autograd.md').read_text(encoding='utf-8')

#: The names of torch's page, with their arguments.
OF_THE_PAGE = {
    'backward': 'tensors grad_tensors retain_graph create_graph grad_variables',
    'grad': 'outputs inputs grad_outputs retain_graph create_graph only_inputs allow_unused',
    'no_grad': '', 'enable_grad': '', 'set_grad_enabled': 'mode',
    'Variable': 'requires_grad',
    'Tensor.backward': 'gradient retain_graph create_graph',
    'Tensor.detach': '', 'Tensor.detach_': '', 'Tensor.grad': '', 'Tensor.is_leaf': '', 'Tensor.register_hook': '',
    'handle.remove': '', 'Tensor.requires_grad': '', 'data': '',
    'Function': '', 'Function.forward': '', 'Function.backward': '', 'Function.apply': '',
    'ctx.save_for_backward': '', 'ctx.saved_tensors': '', 'ctx.needs_input_grad': '',
    'gradcheck': 'eps atol rtol raise_exception check_sparse_nnz',
    'gradgradcheck': 'grad_outputs eps atol rtol gen_non_contig_grad_outputs raise_exception',
    'profiler.profile': 'enabled use_cuda',
    'profile.export_chrome_trace': '', 'profile.key_averages': '', 'profile.table': 'sort_by',
    'profile.total_average': '', 'profile.self_cpu_time_total': '',
    'emit_nvtx': 'enabled', 'load_nvprof': '',
    'EventList': '', 'FunctionEventAvg': '',
    'detect_anomaly': '', 'set_detect_anomaly': 'mode',
}  # fmt: skip
MODULES = 'anomaly_mode function functional grad_mode graph profiler forward_ad'.split()
#: What a first word in the column "here" means; other words are names of the package.
OWNERS = {'handle': RemovableHandle, 'ctx': FunctionCtx}
#: Objects of classes whose attributes are set by ``__init__``.
EXAMPLES: dict[Any, Any] = {
    FunctionEvent: FunctionEvent(0, 'Tanh', 1, 0.0, 4.0),
    FunctionEventAvg: FunctionEventAvg(),
}


# --- the tables of names -------------------------------------------------------------------------------------------
def _rows() -> list[tuple[str, list[str]]]:
    """The first two cells of the rows of the section "Names": a name of torch's, and names here."""
    (section,) = re.findall(r'^## Names\n(.*?)^### Not here', TEXT, flags=re.MULTILINE | re.DOTALL)
    found = []
    for line in section.splitlines():
        if line.startswith('|') and not line.startswith(('|---', '| name |')):
            cells = line.strip('|').split(' | ')
            found.append((cells[0].strip().strip('`'), _complete(re.findall(r'`([^`]+)`', cells[1]))))
    return found


def _complete(names: list[str]) -> list[str]:
    """Names of which some are short: ``.table`` has the owner of the name before it."""
    found: list[str] = []
    for name in names:
        if name.startswith('.') and found:
            owner = found[0] if len(found) == 1 and found[0].endswith('Interval') else found[0].rpartition('.')[0]
            name = owner + name
        found.append(name)
    return found


ROWS = _rows()
HERE = [name for _, names in ROWS for name in names]


def _found(name: str) -> Any:
    """The object of a dotted name; AttributeError if there is none."""
    first, *rest = name.partition('(')[0].removeprefix('minichainer.').split('.')
    value = OWNERS.get(first) or getattr(minichainer, first)
    for part in rest:
        example = EXAMPLES.get(value) if isinstance(value, type) else None
        value = getattr(value if example is None else example, part)
    return value


@pytest.mark.parametrize('name', HERE)
def test_what_is_called_here_is_here(name: str) -> None:
    value = _found(name)
    argument = re.search(r'\((\w+)=\)', name)
    if argument is not None:
        assert argument[1] in inspect.signature(value).parameters


def test_every_row_has_all_cells() -> None:
    assert all(names for _, names in ROWS)
    for table in re.findall(r'(?:^\|[^\n]*\n)+', TEXT, flags=re.MULTILINE):
        assert len({line.count('|') for line in table.splitlines()}) == 1, table


@pytest.mark.parametrize('name', OF_THE_PAGE)
def test_every_name_of_the_page_has_a_row(name: str) -> None:
    places = [i for i, (first, _) in enumerate(ROWS) if first == name]
    assert len(places) >= 1
    for argument in OF_THE_PAGE[name].split():
        owner = ROWS[places[0]][1][0]
        assert (argument, [f'{owner}({argument}=)']) in ROWS


def _public_names() -> Iterator[str]:
    """The public names of the package and of its modules, and the public members of their classes."""
    for name in dir(autograd):
        if not name.startswith('_'):
            yield f'autograd.{name}'
    for module_name in MODULES:
        module = importlib.import_module(f'minichainer.autograd.{module_name}')
        names = getattr(module, '__all__', None) or [
            name
            for name, value in vars(module).items()
            if name[0] != '_' and getattr(value, '__module__', '').startswith(f'minichainer.autograd.{module_name}')
        ]
        yield from (f'autograd.{module_name}.{name}' for name in names if len(name) > 1)


def _members() -> Iterator[str]:
    owners = {
        'autograd.Function': autograd.Function, 'ctx': FunctionCtx, 'autograd.graph.Node': autograd.graph.Node,
        'autograd.profiler.profile': autograd.profiler.profile, 'autograd.profiler.EventList': EventList,
        'autograd.profiler.FunctionEvent': FunctionEvent, 'handle': RemovableHandle,
    }  # fmt: skip
    for name, owner in owners.items():
        for base in owner.__mro__:
            if base.__module__.startswith('minichainer'):
                yield from (f'{name}.{member}' for member in vars(base) if not member.startswith('_'))


@pytest.mark.parametrize('name', sorted({*_public_names(), *_members()}))
def test_every_public_name_has_a_row(name: str) -> None:
    assert name in HERE


def test_names_that_are_not_here_are_not() -> None:
    (section,) = re.findall(r'^### Not here\n(.*?)^## ', TEXT, flags=re.MULTILINE | re.DOTALL)
    names = re.findall(r'`([\w.]+)`', section)
    assert len(names) > 5
    for name in names:
        with pytest.raises(AttributeError):
            _found(f'autograd.{name}')


# --- the examples --------------------------------------------------------------------------------------------------
class _Checker(doctest.OutputChecker):
    """Compares output without times and the percentages that follow from them."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return super().check_output(_timeless(want), _timeless(got), optionflags)


def _timeless(text: str) -> str:
    return re.sub(r'\b\d+\.\d+(us|ms|s|%)(?!\w)', 'TIME', text)


def _sections() -> list[tuple[str, str]]:
    """Titles and texts of the page's sections; those that need what is not there are left out."""
    parts = re.split(r'^## (.+)\n', TEXT, flags=re.MULTILINE)
    sections = [('', parts[0]), *zip(parts[1::2], parts[2::2], strict=True)]
    return sections


def test_examples() -> None:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    runner = doctest.DocTestRunner(_Checker(), optionflags=flags)
    names: dict[str, Any] = {'__name__': '__main__'}
    for title, text in _sections():
        code = re.sub(r'^```.*?^```', '', text, flags=re.MULTILINE | re.DOTALL)
        test = doctest.DocTestParser().get_doctest(code, names, f'autograd.md, {title}', None, None)
        test.globs = names
        runner.run(test, clear_globs=False)
    assert runner.failures == 0
    assert runner.tries > 80


def _programs() -> list[tuple[str, str]]:
    """Programs, and what the page says that they print."""
    return re.findall(
        r'^```python\n(.*?)^```\n(?:(?!```).)*?^```text\n(.*?)^```', TEXT, flags=re.MULTILINE | re.DOTALL
    )


def test_programs(tmp_path: Path) -> None:
    programs = _programs()
    assert len(programs) == TEXT.count('```python') == 1
    for code, output in programs:
        (tmp_path / 'program.py').write_text(code, encoding='utf-8')
        done = subprocess.run(
            [sys.executable, 'program.py'], cwd=tmp_path, env={**os.environ, 'PYTHONPATH': str(ROOT)},
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        printed = (done.stdout + done.stderr).replace(str(tmp_path) + os.sep, '')
        lines = [sorted(filter(None, text.splitlines())) for text in (printed, output)]
        assert lines[0] == lines[1]  # sorted, because Python 3.10 prints notes to stderr


def test_functions_whose_tangents_take_two_passes() -> None:
    table = pytest.importorskip('tests.autograd.test_forward_ad_table')
    (labels,) = re.findall(r'^The others are, by label:\n\n`([^`]+)`', TEXT, flags=re.MULTILINE)
    assert set(labels.split()) == table.BY_DOUBLE_BACKWARD


def test_files_named_in_the_text_exist() -> None:
    named = set(re.findall(r'`((?:docs|tests|benchmarks)/[\w./]*)`', TEXT))
    missing = {name for name in named if not (ROOT / name).exists()}
    assert missing <= set()
