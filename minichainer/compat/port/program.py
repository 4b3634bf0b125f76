"""What all files of a program say together: which of its functions take an argument, and what it uses of Chainer."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Iterator
from typing import NamedTuple

#: Methods that run when an object is called.
CALLS = ('__call__', 'forward')
#: Stands for ``**kwargs`` among the names of arguments, if the function does not pass them on.
ANY = '**'
#: What v1 had that takes an argument that is gone: functions, classes whose objects take it, and classes.
_FUNCTIONS = {
    'train': 'dropout zoneout n_step_lstm n_step_bilstm n_step_gru n_step_bigru n_step_rnn n_step_birnn'.split(),
    'deterministic': 'convolution_2d deconvolution_2d'.split(),
}
_LINKS = {
    'test': 'BatchNormalization InceptionBN VGG16Layers ResNet50Layers ResNet101Layers ResNet152Layers'.split(),
    'train': (
        'NStepLSTM NStepBiLSTM NStepGRU NStepBiGRU NStepRNNReLU NStepRNNTanh NStepBiRNNReLU NStepBiRNNTanh '
        'CaffeFunction GoogLeNet'
    ).split(),
    'deterministic': 'Convolution2D Deconvolution2D'.split(),
    'bias': 'Linear Convolution2D Deconvolution2D DilatedConvolution2D'.split(),
}
#: Arguments of which no function of any later version has one of the same name.
ONLY_V1 = frozenset(('use_cudnn', 'wscale'))


class Class(NamedTuple):
    """A class: its bases, and the arguments of its methods."""

    bases: list[str]
    methods: dict[str, frozenset[str]]


class Program:
    """The files of a program, as far as they can be read as Python 3.

    Args:
        texts: the sources.
    """

    def __init__(self, texts: Iterable[bytes | str]) -> None:
        #: The arguments of each definition of a name, methods among them.
        self.functions: dict[str, list[frozenset[str]]] = {}
        self.classes: dict[str, Class] = {}
        #: Attributes that it sets or defines.
        self.stored: set[str] = set()
        self._plain: dict[str, frozenset[str]] = {}
        self._read: set[str] = set()
        #: Names that are read other than to be called, and texts, which ``getattr`` may turn into names.
        self._values: set[str] = set()
        for text in texts:
            with warnings.catch_warnings():
                warnings.simplefilter('ignore')  # about escapes in old texts
                self._add(ast.parse(text))

    def _add(self, tree: ast.Module) -> None:
        called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        methods: set[int] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                own = [part for part in node.body if isinstance(part, ast.FunctionDef)]
                methods.update(map(id, own))
                self._add_class(node, {part.name: _arguments(part) for part in own})
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.functions.setdefault(node.name, []).append(_arguments(node))
                self._plain.update({} if id(node) in methods else {node.name: _arguments(node)})
            self.stored.update(_stored(node))
            for name in _names(node):
                self._read.add(name)
                self._values.update(() if id(node) in called else (name,))

    def _add_class(self, node: ast.ClassDef, methods: dict[str, frozenset[str]]) -> None:
        """Adds a class to those of the same name: which of them is meant is not known."""
        bases, others = self.classes.get(node.name, Class([], {}))
        together = {name: others.get(name, frozenset()) | methods.get(name, frozenset()) for name in others | methods}
        self.classes[node.name] = Class([*bases, *map(_last, node.bases)], together)

    def takes(self, name: str, keyword: str) -> bool:
        """Whether a function or method of this name, or the class, takes an argument.

        Args:
            name: without what is before its last dot.
            keyword: the name of the argument.
        """
        made = self._method(name, ('__init__',), set())
        return any(_has(arguments, keyword) for arguments in [*self.functions.get(name, []), made or frozenset()])

    def objects_take(self, name: str, keyword: str) -> bool:
        """Whether objects of a class of the program take an argument when they are called.

        Args:
            name: of the class.
            keyword: the name of the argument.
        """
        return _has(self._method(name, CALLS, set()) or frozenset(), keyword)

    def _method(self, name: str, methods: tuple[str, ...], seen: set[str]) -> frozenset[str] | None:
        """The arguments of a method of a class or of its bases; None if the program does not define it."""
        if name in seen or name not in self.classes:
            return None
        own = next((self.classes[name].methods[m] for m in methods if m in self.classes[name].methods), None)
        found = (self._method(base, methods, seen | {name}) for base in self.classes[name].bases)
        return own if own is not None else next((one for one in found if one is not None), None)

    def is_function(self, name: str) -> bool:
        """Whether a class of the program derives from Function, or from nothing.

        Args:
            name: of the class.
        """
        return self._derives_from_function(name, frozenset())

    def _derives_from_function(self, name: str, seen: frozenset[str]) -> bool:
        if name not in self.classes or name in seen:
            return name in ('Function', 'FunctionNode', 'object')
        return all(self._derives_from_function(base, seen | {name}) for base in self.classes[name].bases)

    def may_be_own(self, keyword: str, inside: str) -> bool:
        """Whether something of the program that is called under a name that nobody sees may take an argument.

        Args:
            keyword: the name of the argument.
            inside: the class around the call, of which what it calls is not an object.
        """
        objects = any(self.objects_take(name, keyword) for name in self.classes if name != inside)
        functions = (name for name, arguments in self._plain.items() if _has(arguments, keyword))
        return objects or any(name in self._values for name in functions)

    def may_be_chainers(self, keyword: str) -> bool:
        """Whether something that the program has of Chainer, and that v1 gave this argument, may be called unseen.

        Args:
            keyword: the name of the argument.
        """
        functions = self._values.intersection(_FUNCTIONS.get(keyword, ()))
        return keyword in ONLY_V1 or bool(functions or self._read.intersection(_LINKS.get(keyword, ())))


def _has(arguments: frozenset[str], keyword: str) -> bool:
    return keyword in arguments or ANY in arguments


def _arguments(node: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
    """The names of the arguments of a function."""
    every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    takes_any = node.args.kwarg is not None and not _passes_on(node, node.args.kwarg.arg)
    return frozenset(argument.arg for argument in every) | ({ANY} if takes_any else set())


def _passes_on(node: ast.AST, name: str) -> bool:
    """Whether a function calls something with ``**name``, which has to take the arguments."""
    calls = (part for part in ast.walk(node) if isinstance(part, ast.Call))
    given = (keyword.value for call in calls for keyword in call.keywords if keyword.arg is None)
    return any(isinstance(value, ast.Name) and value.id == name for value in given)


def _last(node: ast.AST) -> str:
    """The last part of a dotted name."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ''


def _stored(node: ast.AST) -> Iterator[str]:
    """What a node gives a value to: an attribute, a name, a function."""
    if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
        yield _last(node)
    elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, ast.arg):
        yield node.arg


def _names(node: ast.AST) -> Iterator[str]:
    """What a node reads: a name, an attribute, a text, what an import renames, or what ``getattr`` may find."""
    if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
        yield _last(node)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.ImportFrom):
        yield from (alias.name for alias in node.names if alias.asname)
    elif isinstance(node, ast.Call) and _last(node.func) == 'getattr' and _asks_a_module(node):
        for table in (_FUNCTIONS, _LINKS):
            yield from (name for row in table.values() for name in row)


def _asks_a_module(call: ast.Call) -> bool:
    """Whether a call is ``getattr(F, name)`` with a name that only a run knows."""
    is_open = len(call.args) > 1 and not isinstance(call.args[1], ast.Constant)
    return is_open and _last(call.args[0]) in ('F', 'L', 'functions', 'links', 'chainer')
