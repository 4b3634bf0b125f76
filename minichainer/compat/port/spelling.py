"""How a module spells a dotted name, with the imports that it has or gets."""

from __future__ import annotations

import re

import libcst as cst

from minichainer.compat.port import names
from minichainer.compat.port.facts import Facts

#: The usual short names of modules: what is imported if a module has none of its own.
_USUAL = {
    'chainer': ('import minichainer as chainer', 'chainer'),
    'chainer.functions': ('import minichainer.functions as F', 'F'),
    'chainer.links': ('import minichainer.links as L', 'L'),
    'chainer.compat.restored': ('from minichainer.compat import restored', 'restored'),
    'chainer.compat.restored_images': ('from minichainer.compat import restored_images', 'restored_images'),
    'chainer.compat.restored_calls': ('from minichainer.compat import restored_calls', 'restored_calls'),
    'chainer.compat.legacy.former': ('from minichainer.compat.legacy import former', 'former'),
    'chainer.compat.legacy.function_classes': (
        'from minichainer.compat.legacy import function_classes',
        'function_classes',
    ),
    'chainer.compat.legacy.defaults': (
        'from minichainer.compat.legacy import defaults as v1_defaults',
        'v1_defaults',
    ),
    'chainer.compat.legacy.volatile': ('from minichainer.compat.legacy import volatile', 'volatile'),
    'chainer.compat.legacy.names': ('from minichainer.compat.legacy import names as v1_names', 'v1_names'),
    'chainer.compat.private': ('from minichainer.compat import private', 'private'),
    'numpy': ('import numpy as np', 'np'),
}
#: Packages whose submodules need no import of their own once the package is imported.
_LOAD_ALL = frozenset(('chainer', 'numpy', 'scipy', 'collections', 'PIL'))
_DOTTED = re.compile(r'(?<![\w.\'"])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+')


class Spelling:
    """Writes dotted names with a module's own imports, and notes which more it needs.

    Args:
        facts: of the module.
    """

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._bound = dict(facts.imported)
        #: Import statements to add.
        self.added: list[str] = []

    def of(self, name: str, instead: str = '') -> str:
        """The spelling of a full dotted name, or of a builtin.

        Args:
            name: as Chainer spells it.
            instead: the spelling of what it replaces. What replaces ``F.x`` gets a short name, too.
        """
        if '.' not in name:
            return name
        root = names.canonical(self._bound.get(instead.partition('.')[0], 'chainer'))
        is_short = root.startswith('chainer.') or name.startswith('chainer.compat.')
        return self._by_import(name, short_only=is_short) or self._with_new_import(name)

    def need(self, module: str) -> None:
        """Adds an import of a module of Chainer, unless there is one.

        Args:
            module: its name.
        """
        statement = f'import {names.ours(module)}'
        if statement not in self.added and module not in self._facts.modules:
            self.added.append(statement)

    def in_expression(self, text: str) -> str:
        """An expression with all its dotted names of ``chainer`` and of modules spelled in this way.

        Args:
            text: the expression.
        """
        return _DOTTED.sub(lambda match: self._known(match.group()), text)

    def _known(self, name: str) -> str:
        """Spells names of modules; others, such as ``self.x``, stay."""
        root = name.partition('.')[0]
        return self.of(name) if root in _ROOTS else name

    def _by_import(self, name: str, short_only: bool = False) -> str:
        """The shortest spelling with what the module imports, or empty."""
        home = name.rpartition('.')[0]
        found = []
        for local, bound in self._bound.items():
            bound = names.canonical(bound)
            is_home = bound == home or name == bound
            if is_home or (
                not short_only and f'{name}.'.startswith(f'{bound}.') and name.partition('.')[0] in _LOAD_ALL
            ):
                found.append(local + name[len(bound) :])
        return min(found, key=lambda text: (text.count('.'), len(text)), default='')

    def _with_new_import(self, name: str) -> str:
        """The spelling with one more import."""
        home = name.rpartition('.')[0]
        statement, local = _USUAL.get(home, ('', ''))
        if not statement and names.is_chainer(name):
            statement, local, home = *_USUAL['chainer'], 'chainer'
        if not statement or local in self._facts.assigned - set(self._bound):
            package = names.ours(home) if names.is_chainer(home) else home
            statement, local = f'import {package}', package
        if statement not in self.added:
            self.added.append(statement)
        self._bound[local] = home
        return local + name[len(home) :]


_ROOTS = frozenset(
    'chainer numpy scipy collections PIL pickle functools importlib math ast itertools builtins os sys io string '
    'urllib inspect html copyreg shlex errno base64 locale asyncio'.split()
)

#: Imports after these are for later code.
_USERS = (cst.FunctionDef, cst.ClassDef, cst.With, cst.For, cst.While)


def with_imports(module: cst.Module, statements: list[str]) -> cst.Module:
    """A module with more import statements, after those that it has at its beginning.

    Args:
        module: the module.
        statements: the statements.
    """
    if not statements:
        return module
    first_use = next((i for i, line in enumerate(module.body) if isinstance(line, _USERS)), len(module.body))
    at = max((i for i, line in enumerate(module.body[:first_use]) if _is_start(line, i)), default=-1) + 1
    new = [cst.parse_statement(statement, config=module.config_for_parsing) for statement in statements]
    body = list(module.body)
    return module.with_changes(body=[*body[:at], *new, *body[at:]])


def _is_start(line: cst.BaseStatement | cst.BaseSmallStatement, index: int) -> bool:
    """Whether a top-level line is an import or the docstring."""
    if not isinstance(line, cst.SimpleStatementLine):
        return False
    if index == 0 and isinstance(line.body[0], cst.Expr):
        return isinstance(line.body[0].value, (cst.SimpleString, cst.ConcatenatedString))
    return any(isinstance(part, (cst.Import, cst.ImportFrom)) for part in line.body)
