"""There is one way for each thing that every op needs: the source is read and the places are counted."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / 'minichainer'
FUNCTIONS = sorted((PACKAGE / 'functions').rglob('*.py'))
KERNELS = sorted((PACKAGE / 'kernels').rglob('*.py'))
EVERYTHING = sorted(PACKAGE.rglob('*.py'))


def functions_of(path: Path) -> Iterator[tuple[str, ast.AST]]:
    """The functions of a module as ``module.name``, methods as ``module.Class.name``, nested ones apart."""
    module = '.'.join(path.relative_to(PACKAGE).with_suffix('').parts)

    def walk(node: ast.AST, name: str) -> Iterator[tuple[str, ast.AST]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                inner = f'{name}.{child.name}'
                if isinstance(child, ast.FunctionDef):
                    yield inner, child
                yield from walk(child, inner)
            else:
                yield from walk(child, name)

    return walk(ast.parse(path.read_text(encoding='utf-8')), module)


def own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """What a function consists of, without the functions inside of it."""
    for child in ast.iter_child_nodes(function):
        if not isinstance(child, (ast.FunctionDef, ast.ClassDef)):
            yield child
            yield from own_nodes(child)


def targets_of(function: ast.AST) -> Iterator[ast.expr]:
    """What is assigned to in a function."""
    for node in own_nodes(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from target.elts if isinstance(target, ast.Tuple) else [target]
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
            yield node.target


def assembling(path: Path) -> set[str]:
    """The functions that give a node its level: that is what makes it a part of the graph."""
    return {
        name
        for name, function in functions_of(path)
        if any(isinstance(t, ast.Attribute) and t.attr == 'level' for t in targets_of(function))
    }


def handing_over(path: Path) -> set[str]:
    """The functions that write to the table of a backward pass."""
    return {
        name
        for name, function in functions_of(path)
        for t in targets_of(function)
        if isinstance(t, ast.Subscript) and isinstance(t.value, ast.Name) and t.value.id == 'table'
    }


def test_nodes_are_assembled_by_the_recorder_and_two_fast_paths() -> None:
    found = set().union(*map(assembling, EVERYTHING))
    # Programs place nodes by hand: set_creator_node those that were never applied, and they set a rank.
    by_hand = {'_graph_methods.GraphMethods.set_creator_node', 'function_node.FunctionNode.rank'}
    recorder = {'recorder.assemble', 'recorder.record', 'recorder.record_several', 'recorder.of_constants'}
    assert found == {*recorder, 'backprop.OutputNode.__init__', *by_hand}


def test_gradients_are_handed_on_in_one_place() -> None:
    files = [PACKAGE / name for name in ('backprop.py', '_pass_table.py', 'function_node.py')]
    found = set().union(*map(handing_over, [*files, *FUNCTIONS]))
    # _started seeds the table with the gradients of the roots; _enter marks a function whose outputs have gradients;
    # _add adds what nodes have left to the pass.
    assert found == {'backprop.run', 'backprop._started', 'backprop._enter', '_pass_table.Parts._add'}


BRANCHES = re.compile(
    r'\bxp is (not )?(numpy|np)\b|\b(numpy|np) is (not )?xp\b|isinstance\([^()]*, (numpy|np)\.ndarray\)'
)


def lines_with(pattern: re.Pattern[str], paths: list[Path]) -> list[str]:
    return [
        f'{path.relative_to(PACKAGE)}:{number}: {line.strip()}'
        for path in paths
        for number, line in enumerate(path.read_text(encoding='utf-8').splitlines(), 1)
        if pattern.search(line)
    ]


def test_functions_hold_maths_and_never_ask_for_the_array_module() -> None:
    assert lines_with(BRANCHES, FUNCTIONS) == []


def test_kernels_choose_by_their_dispatch() -> None:
    others = [path for path in KERNELS if path.name != '_dispatch.py']
    assert lines_with(re.compile(r'\bxp is (not )?(numpy|np)\b'), others) == []


@pytest.mark.parametrize(
    ('text', 'homes'),
    [
        (r'Invalid operation is performed in', {'functions/_arguments.py', 'utils/type_check.py'}),
        (r"""char == ['"]e['"]""", {'kernels/_dispatch.py', 'kernels/precision.py', 'functions/_precision.py'}),
    ],
    ids=['error of arrays that do not fit', 'float16 computed in float32'],
)
def test_a_sentence_or_a_decision_has_one_home(text: str, homes: set[str]) -> None:
    paths = [*FUNCTIONS, *KERNELS, *sorted((PACKAGE / 'utils').rglob('*.py'))]
    found = {line.partition(':')[0] for line in lines_with(re.compile(text), paths)}
    assert found <= homes


def test_what_is_looked_for_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = tmp_path / 'wrong.py'
    module.write_text(
        'class Node:\n'
        '    def made(self):\n'
        '        self.edges, self.level = (), 1\n'
        'def add(table, edge, gx):\n'
        '    table[edge] += gx\n'
        'def body(xp, x):\n'
        '    return x if xp is numpy else isinstance(x, np.ndarray)\n'
    )
    monkeypatch.setitem(globals(), 'PACKAGE', tmp_path)
    assert assembling(module) == {'wrong.Node.made'}
    assert handing_over(module) == {'wrong.add'}
    assert len(lines_with(BRANCHES, [module])) == 1
