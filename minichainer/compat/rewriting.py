"""The rewriting of a program's source when it is imported, and what the rewritten code calls.

Two mechanisms restore what was dropped. *Names of modules* (``np.int``, ``collections.Iterable``) get a module
``__getattr__``, see ``names.py``: it sees every kind of access, ``from`` imports and ``getattr`` included, costs
nothing for names that exist, and is removed with one assignment. *Calls, methods and names of Python 2* cannot be
restored that way: types of C take no attributes, and ``numpy.array`` exists, it only refuses what it used to take.
They are rewritten in the program's own source, in place, so that lines, columns and tracebacks stay those of files:

    np.array(rows)      __minichainer_compat__.call(np.array)(rows)
    a.tostring()        __minichainer_compat__.attribute(a, 'tostring')()
    'loss %f' % loss    __minichainer_compat__.format('loss %f', loss)
    xrange(3)           __minichainer_compat__.builtin('xrange')(3)
    a[i] = -1           a[i] = __minichainer_compat__.fitting(a, -1)
    exec(text)          exec(__minichainer_compat__.code(text, 'exec'))

Each of these first does what the program says, and changes something only if that fails.
"""

from __future__ import annotations

import ast
import builtins
import copy
import functools
import importlib
import math
import sys
from collections.abc import Callable
from typing import Any

from minichainer.compat.removed import Removed, by_name, rows
from minichainer.compat.usage import Usage, caller

HELPER = '__minichainer_compat__'
#: The modules of this room that define stand-ins.
_STAND_INS = ('minichainer.compat.restored', 'minichainer.compat.restored_images')
#: Functions of ``math`` take the number of an array as ``float`` does.
_OF_MATH = [name for name in vars(math) if callable(getattr(math, name)) and not name.startswith('_')]

_CALLS = {row.last for row in rows() if row.kind == 'call' and row.restore} | set(_OF_MATH)
_METHODS = {row.last for row in rows() if row.kind == 'method' and row.restore}
#: Built-in functions that take a text of the program.
_EXECUTE = ('exec', 'eval', 'compile')
_BUILTINS = {row.name for row in rows() if row.kind == 'builtin'}


def stand_in(row: Removed) -> Any:
    """The object that restores a name; AttributeError with the advice if there is none."""
    if not row.restore:
        raise AttributeError(f'{row.name}: {row.since} dropped it; write {row.instead}')
    for module in _STAND_INS:
        defined = vars(importlib.import_module(module))
        if row.restore in defined:
            return defined[row.restore]
    return resolved(row.restore)


def resolved(dotted: str) -> Any:
    """The object of a dotted name: a module, a built-in, or an attribute of one.

    >>> resolved('collections.abc.Iterable').__name__
    'Iterable'
    """
    parts = dotted.split('.')
    found = getattr(builtins, parts[0], None) or importlib.import_module(parts[0])
    for i, part in enumerate(parts[1:], 2):
        try:
            found = getattr(found, part)
        except AttributeError:
            found = importlib.import_module('.'.join(parts[:i]))
    return found


class Runtime:
    """What rewritten code calls.

    Args:
        usage: notes what was used.
        unsafe_pickles: whether ``numpy.load`` reads arrays of objects, as before NumPy 1.16.3.
    """

    def __init__(self, usage: Usage, unsafe_pickles: bool = False) -> None:
        self._usage, self._unsafe_pickles = usage, unsafe_pickles
        self._changed: dict[int, Callable[..., Any]] = {}
        for name in _OF_MATH:
            self._change(getattr(math, name), by_name()['float'])

    def add_calls(self, module: str) -> None:
        """Finds the functions of a module, which has been imported, whose calls have changed."""
        for row in rows():
            owner = row.owner or 'builtins'
            if row.kind == 'call' and row.restore and owner == module:
                self._change(getattr(sys.modules[module], row.last), row)
        if module == 'numpy' and self._unsafe_pickles:
            row = by_name()['numpy.load']._replace(restore='load_with_pickles')
            self._change(sys.modules[module].load, row)

    def _change(self, function: Any, row: Removed) -> None:
        change: Any = stand_in(row)
        self._changed[id(function)] = functools.partial(change, function, functools.partial(self._note, row))

    def _note(self, row: Removed) -> None:
        self._usage.note(row, *caller())

    def call(self, function: Any) -> Any:
        """The function; or what also takes the arguments that it took."""
        return self._changed.get(id(function), function)

    def attribute(self, value: Any, name: str) -> Any:
        """An attribute; or a method that the object's class had."""
        try:
            return getattr(value, name)
        except AttributeError:
            row = _method_of(value, name)
            if row is None:
                raise
            self._note(row)
        if row.restore.startswith('x.'):
            return getattr(value, row.restore[2:])
        return functools.partial(stand_in(row), value)

    def format(self, text: str, values: Any) -> str:
        """``text % values``."""
        from minichainer.compat.restored import formatted

        return formatted(text, values, functools.partial(self._note, by_name()['float']))

    def fitting(self, array: Any, number: Any) -> Any:
        """A negative number that is assigned to elements of an array."""
        from minichainer.compat.promotion import fitting

        return fitting(array, number, self._usage)

    def tree(self, text: Any, mode: str) -> Any:
        """A text that is compiled, as a rewritten tree, which gets its file from the call around it."""
        if not isinstance(text, (str, bytes)):
            return text
        try:
            return rewrite(compile(text, '<string>', mode, ast.PyCF_ONLY_AST, dont_inherit=True))
        except (SyntaxError, ValueError):
            return text  # the error has the place where it is executed

    def code(self, text: Any, mode: str) -> Any:
        """A text that is executed, as rewritten code."""
        tree: Any = self.tree(text, mode)
        is_text = isinstance(tree, (str, bytes)) or tree is text
        return tree if is_text else compile(tree, '<string>', mode, dont_inherit=True)

    def builtin(self, name: str) -> Any:
        """A built-in function of Python 2; or what has its name in the module, as from an earlier cell."""
        defined = sys._getframe(1).f_globals
        if name in defined:
            return defined[name]
        row = by_name()[name]
        try:
            found = _execfile if name == 'execfile' else stand_in(row)
        except AttributeError as error:
            raise NameError(str(error), name=name) from None
        self._note(row)
        return found


def _execfile(filename: str, *namespaces: dict[str, Any]) -> None:
    """Runs a file in the namespace of the caller, or in others."""
    frame = sys._getframe(1)
    with open(filename, 'rb') as file:
        exec(compiled(file.read(), filename), *(namespaces or (frame.f_globals, frame.f_locals)))


def _method_of(value: Any, name: str) -> Removed | None:
    """The row of a method that the class of an object had."""
    for row in rows():
        if row.kind == 'method' and row.last == name and isinstance(value, _loaded_type(row.owner)):
            return row
    return None


def _loaded_type(dotted: str) -> Any:
    """The class of a dotted name; no class if its module is not loaded."""
    module, _, name = dotted.rpartition('.')
    return getattr(sys.modules.get(module or 'builtins'), name, ())


class _Rewriter(ast.NodeTransformer):
    def __init__(self, bound: set[str]) -> None:
        self._bound = bound

    def visit_Call(self, node: ast.Call) -> ast.AST:
        called = node.func
        self.generic_visit(node)
        if isinstance(called, (ast.Name, ast.Attribute)) and _last(called) in _CALLS:
            node.func = _helper('call', node.func)
        elif isinstance(called, ast.Name) and called.id in _EXECUTE and called.id not in self._bound and node.args:
            mode = _mode_of(node, called.id)
            method = 'tree' if called.id == 'compile' else 'code'
            node.args[0] = _helper(method, node.args[0], mode, at=node.args[0]) if mode is not None else node.args[0]
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if node.attr in _METHODS and isinstance(node.ctx, ast.Load):
            return _helper('attribute', node.value, ast.Constant(node.attr), at=node)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        text = node.left
        if isinstance(node.op, ast.Mod) and isinstance(text, ast.Constant) and isinstance(text.value, str):
            return _helper('format', text, node.right, at=node)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        target, value = node.targets[0], node.value
        is_negative = isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub)
        if is_negative and len(node.targets) == 1 and isinstance(target, ast.Subscript) and _is_path(target.value):
            node.value = _helper('fitting', copy.deepcopy(target.value), value, at=value)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in _BUILTINS and node.id not in self._bound:
            return _helper('builtin', ast.Constant(node.id), at=node)
        return node


def _mode_of(node: ast.Call, function: str) -> ast.Constant | None:
    """The mode of a text that is executed; None if it is not known, or if the text may see no built-in functions."""
    if function == 'exec':
        return ast.Constant('exec')
    if function == 'eval':
        return ast.Constant('eval') if len(node.args) == 1 else None
    mode = node.args[2] if len(node.args) == 3 and not node.keywords else None
    return ast.Constant(mode.value) if isinstance(mode, ast.Constant) else None


def _is_path(node: ast.expr) -> bool:
    """Whether an expression is a name or attributes of one, so that reading it twice does nothing."""
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and _is_path(node.value))


def _last(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr


def _helper(method: str, *args: ast.expr, at: ast.expr | None = None) -> ast.Call:
    function = ast.Attribute(ast.Name(HELPER, ast.Load()), method, ast.Load())
    call = ast.Call(function, list(args), [])
    place = at or args[0]
    for node in (function.value, function, call, *[arg for arg in args if not hasattr(arg, 'lineno')]):
        ast.copy_location(node, place)
    return call


def _bound_names(tree: ast.AST) -> set[str]:
    """The names that a module binds anywhere: by assignment, definition, argument or import."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).partition('.')[0])
    return names


def compiled(source: bytes | str, file: str) -> Any:
    """The code of a file of the program, rewritten.

    Args:
        source: its text.
        file: its path, for tracebacks.

    Raises:
        SyntaxError: it is not Python 3.

    >>> compiled('print(3)', 'train.py').co_filename
    'train.py'
    """
    tree = compile(source, file, 'exec', ast.PyCF_ONLY_AST, dont_inherit=True)
    return compile(rewrite(tree), file, 'exec', dont_inherit=True)


def rewrite(tree: Any) -> Any:
    """A syntax tree of the program, rewritten in place.

    Args:
        tree: of a module, an expression or a cell.
    """
    return _Rewriter(_bound_names(tree)).visit(tree)
