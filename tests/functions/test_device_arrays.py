"""What works on NumPy only, found by reading the source: devices are rare where tests run.

CuPy has ``reduce``, ``accumulate`` and ``outer`` of few ufuncs, and ``at`` of few others; an array
that NumPy makes of a number lies on the host, and meets those on a device in an error.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2] / 'minichainer'
FILES = [path for room in ('functions', 'kernels') for path in sorted((ROOT / room).rglob('*.py'))]
#: The ufuncs whose ``at`` CuPy has.
HAVE_AT = {'add', 'subtract', 'maximum', 'minimum', 'bitwise_and', 'bitwise_or', 'bitwise_xor'}
MAKERS = {'asarray', 'array', 'full', 'zeros', 'ones', 'empty'}


def _is_array_module(node: ast.expr) -> bool:
    """``xp``, or ``self.xp`` and the like."""
    return (isinstance(node, ast.Name) and node.id == 'xp') or (isinstance(node, ast.Attribute) and node.attr == 'xp')


def methods_of_ufuncs(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Calls such as ``xp.logaddexp.reduce(...)``, with line numbers."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in ('reduce', 'accumulate', 'outer', 'reduceat', 'at'):
            ufunc = node.value
            of_module = isinstance(ufunc, ast.Attribute) and _is_array_module(ufunc.value)
            if of_module and (node.attr != 'at' or ufunc.attr not in HAVE_AT):
                yield node.lineno, f'{ufunc.attr}.{node.attr}'


def host_variables(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Functions in which an array that NumPy makes becomes a Variable, at once or by way of a name."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            made = {
                target.id
                for node in ast.walk(function)
                if isinstance(node, ast.Assign) and _by_numpy(node.value)
                for target in node.targets
                if isinstance(target, ast.Name)
            }
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and getattr(node.func, 'id', '') in ('as_variable', 'Variable'):
                    for argument in node.args[:1]:
                        if _by_numpy(argument) or (isinstance(argument, ast.Name) and argument.id in made):
                            yield node.lineno, function.name


def _by_numpy(node: ast.expr) -> bool:
    if isinstance(node, ast.IfExp):  # a numpy.generic is the result of NumPy's arithmetic, which was on the host
        return not _asks_for_generic(node.test) and (_by_numpy(node.body) or _by_numpy(node.orelse))
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in MAKERS
        and getattr(node.func.value, 'id', '') == 'numpy'
    )


def _asks_for_generic(test: ast.expr) -> bool:
    return ast.unparse(test).endswith(', numpy.generic)')


@pytest.mark.parametrize('path', FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_is_asked_of_an_array_module_that_cupy_lacks(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding='utf-8'))
    assert list(methods_of_ufuncs(tree)) == []
    assert list(host_variables(tree)) == []


@pytest.mark.parametrize(
    'source',
    [
        'xp.logaddexp.reduce(x)', 'self.xp.maximum.accumulate(x)', 'xp.multiply.at(x, i, y)',
        'def f(x):\n    return as_variable(numpy.asarray(x))',
        'def f(x, y):\n    if x:\n        y = numpy.full((), x, y.dtype)\n    return Variable(y)',
        'def f(x):\n    return as_variable(numpy.asarray(x) if numpy.isscalar(x) else x)',
    ],
)  # fmt: skip
def test_it_finds(source: str) -> None:
    tree = ast.parse(source)
    assert [*methods_of_ufuncs(tree), *host_variables(tree)]


@pytest.mark.parametrize('source', ['xp.add.at(x, i, y)', 'numpy.add.reduce(x)', 'as_variable(xp.asarray(x))'])
def test_it_leaves_alone(source: str) -> None:
    tree = ast.parse(f'def f(x):\n    return {source}')
    assert not [*methods_of_ufuncs(tree), *host_variables(tree)]
