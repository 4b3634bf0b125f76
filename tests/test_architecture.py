"""The rules of docs/design.md about who may import whom, and how long things may get. No exceptions to them.

All imports count, also those inside functions, under TYPE_CHECKING, and of modules that a string names. What cannot
be imported must not be handed upwards in other ways either: nobody sets attributes of what is imported, or methods of
what is handed over.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = 'minichainer'
MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 60
MAX_LINES_OF_TAPE = 900
NATIVE = ROOT / PACKAGE / '_native'

# Each room imports from itself and from those above it; a name stands for the module and all below it that have no
# name of their own here.
ROOMS = [
    '_version _native _frames _misfits _names _former_names _elsewhere _not_arrays _unfitting_calls _widened errors '
    'warnings configuration _dtype types utils _text _lifetimes _locks _once allocator chainerx',
    'backend _backend backends cuda _runtime_info device_resident utils.walker_alias _walker_alias',
    'kernels',
    'initializer initializers',
    '_tape ops backprop variable variable_node recorder differentiate function_node function function_hook link_hook '
    '_checks _device_methods _observers _operators _hooks _grad_fn _graph_methods _inplace _node_parts _push _roots '
    '_leaf_owners _pass_table _saved _forgotten _tangents _trace utils.sparse _sparse memory_layouts '
    'graph_optimizations',
    'functions',
    'verification',
    'gradient_check',
    'serializer reporter',
    'link sequential link_hooks links distribution distributions',
    'optimizer _update_rule optimizer_hooks optimizers serializers function_hooks computational_graph',
    'dataset datasets iterators links.model.vision exporters',
    'training',
    'autograd',
    'testing',
    'doctor __main__',
    'compat _module_paths',
]
RANK = {name: rank for rank, names in enumerate(ROOMS) for name in names.split()}
#: What loads a module that is named by a string.
IMPORTS_BY_STRING = {'import_module', '__import__', 'modules', 'resolve_name', 'run_module'}
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
        self._nodes: dict[str, list[ast.AST]] = {}

    def nodes(self, module: str) -> list[ast.AST]:
        """All nodes of a module's syntax tree."""
        if module not in self._nodes:
            self._nodes[module] = list(ast.walk(self.trees[module]))
        return self._nodes[module]

    @staticmethod
    def _module_name(path: Path, root: Path) -> str:
        parts = path.relative_to(root.parent).with_suffix('').parts
        return '.'.join(parts[:-1] if parts[-1] == '__init__' else parts)

    def is_package(self, module: str) -> bool:
        return self.files[module].name == '__init__.py'

    def imported_names(self, module: str) -> Iterator[tuple[str, int]]:
        """Absolute dotted names that a module imports, `from a import b` as `a.b`, with line numbers."""
        for node in self.nodes(module):
            if isinstance(node, ast.Import):
                yield from ((alias.name, node.lineno) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = self._absolute(module, node)
                yield from ((f'{base}.{alias.name}', node.lineno) for alias in node.names)
        yield from self._imported_by_string(module)

    def _imported_by_string(self, module: str) -> Iterator[tuple[str, int]]:
        """Modules of the package that are named by strings, in a module that imports by strings."""
        nodes = self.nodes(module)
        called = {getattr(node, 'attr', getattr(node, 'id', None)) for node in nodes}
        if not IMPORTS_BY_STRING & called:
            return
        for node in nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                name = node.value.rstrip('.')  # the beginning of an f-string
                if (name in self.files or name == self.package) and name != module:
                    yield name, node.lineno

    def _absolute(self, module: str, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ''
        parts = module.split('.')
        up = node.level - self.is_package(module)
        return '.'.join([*parts[: len(parts) - up], *([node.module] if node.module else [])])

    @functools.cached_property
    def imports(self) -> tuple[Import, ...]:
        """Imports of modules of the package; a name that is no module belongs to the module it comes from."""
        return tuple(dict.fromkeys(self._imports()))

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
        gathering = {i.importer for i in self.imports if i.target.startswith(i.importer + '.')}
        return {module for module in gathering if self.is_package(module)} | {self.package}


def aggregator_imports(tree: Tree) -> list[str]:
    aggregators = tree.aggregators()
    return [
        f'{i}; import the module that defines the name'
        for i in tree.imports
        if i.target in aggregators and not i.target.startswith(i.importer + '.')
    ]


def upward_imports(tree: Tree) -> list[str]:
    found = []
    for i in tree.imports:
        if i.target == tree.package or i.target.startswith(i.importer + '.'):  # a package gathers what it is made of
            continue
        if _rank(i.target, 0) > _rank(i.importer, len(ROOMS)):
            found.append(f'{i}, which is in a room below it')
    return found


def _rank(module: str, default: int) -> int:
    """The room of a module: that of the longest name that it is, or lies below."""
    parts = module.split('.')[1:]
    names = ['.'.join(parts[:n]) for n in range(len(parts), 0, -1)]
    return next((RANK[name] for name in names if name in RANK), default)


def cycles(tree: Tree) -> list[list[str]]:
    """Groups of modules that reach each other by imports (Tarjan's strongly connected components)."""
    graph: dict[str, set[str]] = {module: set() for module in [tree.package, *tree.files]}
    for i in tree.imports:
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


def set_from_outside(tree: Tree) -> list[str]:
    """Attributes that a module sets of what it has imported: nobody who reads the class would find them."""
    found = []
    for module, syntax in tree.trees.items():
        imported = {
            (alias.asname or alias.name).split('.')[0]
            for node in ast.walk(syntax)
            if isinstance(node, (ast.Import, ast.ImportFrom))
            for alias in node.names
        }
        for setting in _settings(syntax):
            name = _first_name(setting.target)
            if name in imported - setting.own:
                text = ast.unparse(setting.target)
                found.append(f'{module}:{setting.target.lineno} sets {text}, of an imported {name}')
    return found


def replaced_methods(tree: Tree) -> list[str]:
    """Functions that take the place of a method of some class of the package, from outside of the class."""
    methods = {
        member.name
        for syntax in tree.trees.values()
        for node in ast.walk(syntax)
        if isinstance(node, ast.ClassDef)
        for member in node.body
        if isinstance(member, ast.FunctionDef) and not member.decorator_list and not member.name.startswith('__')
    }
    found = []
    for module, syntax in tree.trees.items():
        functions = {node.name for node in ast.walk(syntax) if isinstance(node, ast.FunctionDef)}
        for setting in _settings(syntax):
            target, value = setting.target, setting.value
            is_name = isinstance(value, ast.Name) and value.id not in setting.own
            is_function = isinstance(value, ast.Lambda) or (is_name and value.id in functions)
            is_own = _first_name(target) in ('self', 'cls')
            if is_function and not is_own and isinstance(target, ast.Attribute) and target.attr in methods:
                found.append(f'{module}:{target.lineno} sets {ast.unparse(target)}, which is a method')
    return found


@dataclass(frozen=True)
class Setting:
    """``target = value``, ``setattr(target, ...)`` or the like, in a function whose local names are ``own``."""

    target: ast.expr
    value: ast.expr | None
    own: frozenset[str]


def _settings(syntax: ast.AST, own: frozenset[str] = frozenset(), value: ast.expr | None = None) -> Iterator[Setting]:
    """Where attributes are set or deleted."""
    for node in ast.iter_child_nodes(syntax):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield from _settings(node, own | _local_names(node))
            continue
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            yield Setting(node, value, own)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ('setattr', 'delattr'):
            yield Setting(node.args[0], None, own)
        yield from _settings(node, own, node.value if isinstance(node, ast.Assign) else value)


def _local_names(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> set[str]:
    """Arguments of a function, and the names that it assigns."""
    nodes = list(ast.walk(function))
    arguments = {node.arg for node in nodes if isinstance(node, ast.arg)}
    return arguments | {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def _first_name(node: ast.expr) -> str | None:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


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


RULES = [
    aggregator_imports, upward_imports, cycles, cupy_imports, set_from_outside, replaced_methods, long_files,
    long_functions,
]  # fmt: skip


@pytest.fixture(scope='module')
def package() -> Tree:
    return Tree(ROOT / PACKAGE)


def test_every_module_has_a_room(package: Tree) -> None:
    top = {module.split('.')[1] for module in package.files if '.' in module}
    assert top - set(RANK) == set(), 'say in ROOMS, and in docs/design.md, where these belong'
    inside = {f'{package.package}.{name}' for name in RANK if '.' in name}
    assert inside <= set(package.files), 'modules that have rooms of their own exist'


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
    'upward, by a string': (
        upward_imports,
        {
            '__init__.py': '',
            'utils/__init__.py': '',
            'utils/later.py': 'import importlib\nA = {"a": "minichainer.link"}\nm = importlib.import_module(A["a"])',
            'link.py': '',
        },
    ),
    'the root, by a string': (
        aggregator_imports,
        {
            '__init__.py': 'a = 1',
            'link.py': 'def f(name):\n    return __import__(f"minichainer.{name}")',
        },
    ),
    'upward, from a part of a room with a room of its own': (
        upward_imports,
        {
            '__init__.py': '',
            'utils/__init__.py': '',
            'utils/conv.py': 'from minichainer.utils.sparse import a',
            'utils/sparse.py': 'from minichainer.variable import b\na = b',
            'variable.py': 'b = 1',
        },
    ),
    'class that is set in another': (
        set_from_outside,
        {
            '__init__.py': '',
            'link.py': 'class Maker:\n    make = None',
            'sequential.py': 'from minichainer.link import Maker\nclass S:\n    pass\nMaker.make = S',
        },
    ),
    'attribute of a module, by setattr': (
        set_from_outside,
        {
            '__init__.py': '',
            'link.py': '',
            'sequential.py': 'from minichainer import link\ndef f(x):\n    setattr(link, "s", x)',
        },
    ),
    'attribute of a class of an imported module': (
        set_from_outside,
        {'__init__.py': '', 'link.py': 'import numpy as np\ndef f():\n    np.ndarray.x = 1'},
    ),
    'method of what is handed over': (
        replaced_methods,
        {
            '__init__.py': '',
            'function.py': 'class Spec:\n    def error(self):\n        return 1',
            'functions/__init__.py': '',
            'functions/math.py': 'def f(spec):\n    spec.error = lambda: 2',
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
    'utils/__init__.py': (
        'import importlib\nfrom minichainer.utils import conv\na = importlib.import_module(__name__ + ".sparse")'
    ),
    'utils/conv.py': 'from importlib import import_module\ndef f(name):\n    return import_module(name)',
    'utils/sparse.py': 'from minichainer.variable import a',
    'optimizer.py': (
        'from minichainer import link\nclass O:\n    def run(self):\n        self.other = self.run = 1\n'
        'def f(link):\n    link.attribute = 1\n    O().attribute = 2'
    ),
    'links/model/__init__.py': 'from minichainer.links.model.vgg import VGG',
    'links/model/vgg.py': 'import minichainer.links.linear\nVGG = 1',
}


def _lines_of_c(path: Path) -> int:
    """Lines of C that are neither empty nor comments."""
    code = re.sub(r'/\*.*?\*/', '', path.read_text(encoding='utf-8'), flags=re.DOTALL)
    return sum(1 for line in code.splitlines() if line.strip())


def test_the_compiled_tape_stays_small() -> None:
    """What knows of Variables and nodes is in tape*; kernels, and calls of NumPy's loops (loops.c), do not."""
    parts = {path.name: _lines_of_c(path) for path in NATIVE.glob('tape*.[ch]')}
    assert 'tape_pass.c' in parts
    assert sum(parts.values()) < MAX_LINES_OF_TAPE, parts


def test_kernels_know_nothing_of_the_tape() -> None:
    others = {
        path.name: path.read_text(encoding='utf-8')
        for path in NATIVE.glob('*.[ch]')
        if not path.name.startswith('tape')
    }
    assert {'loops.c', 'module.c', 'kernels.h'} <= others.keys()
    assert [name for name, text in others.items() if '"tape.h"' in text] == []


@pytest.mark.parametrize('name', BROKEN)
def test_a_broken_rule_is_found(tmp_path: Path, name: str) -> None:
    rule, files = BROKEN[name]
    assert len(rule(_tree(tmp_path, files))) == 1


@pytest.mark.parametrize('rule', RULES, ids=lambda rule: rule.__name__)
def test_what_is_allowed_is_not_found(tmp_path: Path, rule: object) -> None:
    assert rule(_tree(tmp_path, KEPT)) == []  # type: ignore[operator]
