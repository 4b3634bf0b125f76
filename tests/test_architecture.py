"""The rules of docs/design.md about who may import whom, and how long things may get. No exceptions to them.

All imports count, also those inside functions and under TYPE_CHECKING.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = 'minichainer'
MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 60

# Each room imports from itself and from those above it; a name stands for the module and all below it.
ROOMS = [
    '_version errors configuration _dtype types utils _text _once allocator',
    'backend backends cuda _runtime_info',
    'kernels',
    'initializer initializers',
    'ops backprop variable variable_node differentiate function_node function function_hook link_hook '
    '_checks _observers _operators _sparse',
    'functions',
    'verification',
    'gradient_check',
    'serializer reporter',
    'device_resident link sequential link_hooks links distributions _walker_alias',
    'optimizer _update_rule optimizer_hooks optimizers serializers function_hooks computational_graph',
    'dataset datasets iterators',
    'training',
    'autograd',
    'testing',
    'compat',
]
RANK = {name: rank for rank, names in enumerate(ROOMS) for name in names.split()}
CUPY_PLACES = ('backends.cuda', 'kernels.cuda')
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Import:
    """One import statement, resolved: `importer` loads `target`, a module of the package, at `line`."""

    importer: str
    target: str
    line: int

    def __str__(self) -> str:
        return f'{self.importer}:{self.line} imports {self.target}'


class Tree:
    """The modules below a package folder and the imports between them, by reading the source."""

    def __init__(self, root: Path) -> None:
        self.package = root.name
        self.files = {self._module_name(path, root): path for path in sorted(root.rglob('*.py'))}
        self.sources = {name: path.read_text(encoding='utf-8') for name, path in self.files.items()}
        self.trees = {name: ast.parse(source) for name, source in self.sources.items()}

    @staticmethod
    def _module_name(path: Path, root: Path) -> str:
        parts = path.relative_to(root.parent).with_suffix('').parts
        return '.'.join(parts[:-1] if parts[-1] == '__init__' else parts)

    def is_package(self, module: str) -> bool:
        return self.files[module].name == '__init__.py'

    def imported_names(self, module: str) -> Iterator[tuple[str, int]]:
        """Absolute dotted names that a module imports, `from a import b` as `a.b`, with line numbers."""
        for node in ast.walk(self.trees[module]):
            if isinstance(node, ast.Import):
                yield from ((alias.name, node.lineno) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = self._absolute(module, node)
                yield from ((f'{base}.{alias.name}', node.lineno) for alias in node.names)

    def _absolute(self, module: str, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ''
        parts = module.split('.')
        up = node.level - self.is_package(module)
        return '.'.join([*parts[: len(parts) - up], *([node.module] if node.module else [])])

    def imports(self) -> Iterator[Import]:
        """Imports of modules of the package; a name that is no module belongs to the module it comes from."""
        return iter(dict.fromkeys(self._imports()))

    def _imports(self) -> Iterator[Import]:
        for module in self.files:
            for name, line in self.imported_names(module):
                if name.split('.')[0] != self.package:
                    continue
                while name not in self.files and name != self.package:
                    name = name.rpartition('.')[0]
                yield Import(module, name, line)

    def aggregators(self) -> set[str]:
        """Packages whose __init__ gathers names of the modules below them, and the root."""
        gathering = {i.importer for i in self.imports() if i.target.startswith(i.importer + '.')}
        return {module for module in gathering if self.is_package(module)} | {self.package}


def aggregator_imports(tree: Tree) -> list[str]:
    aggregators = tree.aggregators()
    return [
        f'{i}; import the module that defines the name'
        for i in tree.imports()
        if i.target in aggregators and not i.target.startswith(i.importer + '.')
    ]


def upward_imports(tree: Tree) -> list[str]:
    found = []
    for i in tree.imports():
        if i.importer == tree.package or i.target == tree.package:
            continue
        importer, target = (module.split('.')[1] for module in (i.importer, i.target))
        if RANK.get(target, 0) > RANK.get(importer, len(ROOMS)):
            found.append(f'{i}, which is in a room below it')
    return found


def cycles(tree: Tree) -> list[list[str]]:
    """Groups of modules that reach each other by imports (Tarjan's strongly connected components)."""
    graph: dict[str, set[str]] = {module: set() for module in [tree.package, *tree.files]}
    for i in tree.imports():
        graph[i.importer].add(i.target)
    components = _strongly_connected(graph)
    return [sorted(c) for c in components if len(c) > 1 or c[0] in graph[c[0]]]


def _strongly_connected(graph: dict[str, set[str]]) -> list[list[str]]:
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        number[node] = low[node] = len(number)
        stack.append(node)
        for target in graph[node]:
            if target not in number:
                visit(target)
            if target in stack:
                low[node] = min(low[node], low[target])
        if low[node] == number[node]:
            at = stack.index(node)
            found.append(stack[at:])
            del stack[at:]

    for node in graph:
        if node not in number:
            visit(node)
    return found


def cupy_imports(tree: Tree) -> list[str]:
    allowed = tuple(f'{tree.package}.{place}' for place in CUPY_PLACES)
    return [
        f'{module}:{line} imports {name}'
        for module in tree.files
        for name, line in tree.imported_names(module)
        if name.split('.')[0] in ('cupy', 'cupyx') and not f'{module}.'.startswith(tuple(a + '.' for a in allowed))
    ]


def long_files(tree: Tree) -> list[str]:
    """Files with more code than they should have; docstrings do not count, so that nobody saves on them."""
    found = []
    for module, syntax in tree.trees.items():
        docstrings = sum(_docstring_lines(n) for n in ast.walk(syntax) if isinstance(n, DOCUMENTED))
        lines = tree.sources[module].count('\n') - docstrings
        if lines > MAX_FILE_LINES:
            found.append(f'{module}: {lines} lines without docstrings, at most {MAX_FILE_LINES}')
    return found


def long_functions(tree: Tree) -> list[str]:
    """Functions with more code than they should have, docstrings not counted."""
    found = []
    for module, syntax in tree.trees.items():
        for node in ast.walk(syntax):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                lines = (node.end_lineno or 0) - node.lineno + 1 - _docstring_lines(node)
                if lines > MAX_FUNCTION_LINES:
                    found.append(
                        f'{module}.{node.name}: {lines} lines without docstring, at most {MAX_FUNCTION_LINES}'
                    )
    return found


def _docstring_lines(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    if ast.get_docstring(node) is None:
        return 0
    docstring = node.body[0]
    return (docstring.end_lineno or 0) - docstring.lineno + 1


RULES = [aggregator_imports, upward_imports, cycles, cupy_imports, long_files, long_functions]


@pytest.fixture(scope='module')
def package() -> Tree:
    return Tree(ROOT / PACKAGE)


def test_every_module_has_a_room(package: Tree) -> None:
    top = {module.split('.')[1] for module in package.files if '.' in module}
    assert top - set(RANK) == set(), 'say in ROOMS, and in docs/design.md, where these belong'


@pytest.mark.parametrize('rule', RULES, ids=lambda rule: rule.__name__)
def test_package_keeps_the_rule(package: Tree, rule: object) -> None:
    found = rule(package)  # type: ignore[operator]
    assert not found, '\n    '.join(['', *map(str, found)])


def test_no_package_is_empty(package: Tree) -> None:
    folders = {path.parent for path in package.files.values()}
    empty = [
        f
        for f in folders
        if len(list(f.iterdir())) == 1 and not (f / '__init__.py').read_text(encoding='utf-8').strip()
    ]
    assert empty == [], 'make a room when its first tenant arrives'


# --- the rules themselves, on small packages that break them ---


def _tree(tmp_path: Path, files: dict[str, str]) -> Tree:
    for name, source in files.items():
        path = tmp_path / PACKAGE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding='utf-8')
    return Tree(tmp_path / PACKAGE)


def _lines(count: int) -> Iterable[str]:
    return (f'    x{i} = {i}' for i in range(count))


BROKEN = {
    'root': (
        aggregator_imports,
        {
            '__init__.py': 'from minichainer.variable import a',
            'variable.py': 'a = 1',
            'link.py': 'import minichainer',
        },
    ),
    'name of the root': (
        aggregator_imports,
        {'__init__.py': 'a = 1', 'link.py': 'def f():\n    from minichainer import a'},
    ),
    'aggregator': (
        aggregator_imports,
        {
            '__init__.py': '',
            'functions/__init__.py': 'from minichainer.functions.rectifiers import relu',
            'functions/rectifiers.py': 'relu = 1',
            'link.py': 'from minichainer.functions import relu',
        },
    ),
    'upward': (
        upward_imports,
        {'__init__.py': '', 'backend.py': 'from minichainer import link', 'link.py': ''},
    ),
    'upward, relative': (
        upward_imports,
        {
            '__init__.py': '',
            'functions/__init__.py': '',
            'functions/relu.py': 'from ..links.linear import x',
            'links/__init__.py': '',
            'links/linear.py': 'x = 1',
        },
    ),
    'cycle': (
        cycles,
        {
            '__init__.py': '',
            'ops.py': 'import minichainer.variable',
            'variable.py': 'from minichainer.backprop import a',
            'backprop.py': 'def f():\n    from minichainer import ops',
        },
    ),
    'cupy': (cupy_imports, {'__init__.py': '', 'backends/cudax.py': 'def f():\n    import cupy.random'}),
    'file': (long_files, {'__init__.py': '\n' * (MAX_FILE_LINES + 1)}),
    'function': (long_functions, {'__init__.py': '\n'.join(['def f():', *_lines(MAX_FUNCTION_LINES)])}),
}
KEPT = {
    '__init__.py': 'from minichainer.links import Linear\nfrom minichainer import link',
    'backends/__init__.py': '',
    'backends/cuda.py': 'import cupy',
    'kernels/cuda/conv.py': 'import cupyx',
    'link.py': 'from minichainer.backends import cuda\nfrom minichainer.variable import a',
    'function.py': '"""' + '\n' * MAX_FILE_LINES + '"""\n',
    'variable.py': '\n'.join(['def f():', '    """' + '\n' * MAX_FUNCTION_LINES + '"""', '    return 1', 'a = 1']),
    'links/__init__.py': 'from minichainer.links.linear import Linear\nfrom minichainer.links import model',
    'links/linear.py': 'from minichainer import link\nLinear = 1',
    'links/model/__init__.py': 'from minichainer.links.model.vgg import VGG',
    'links/model/vgg.py': 'import minichainer.links.linear\nVGG = 1',
}


@pytest.mark.parametrize('name', BROKEN)
def test_a_broken_rule_is_found(tmp_path: Path, name: str) -> None:
    rule, files = BROKEN[name]
    assert len(rule(_tree(tmp_path, files))) == 1


@pytest.mark.parametrize('rule', RULES, ids=lambda rule: rule.__name__)
def test_what_is_allowed_is_not_found(tmp_path: Path, rule: object) -> None:
    assert rule(_tree(tmp_path, KEPT)) == []  # type: ignore[operator]
