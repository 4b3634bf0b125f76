"""Chainer's node classes, such as ``functions.activation.relu.ReLU``, made of a table when they are first asked for.

A class serves two ends. Nodes that the functions of this package make are instances of it (``isinstance``), by their
names. And it can be instantiated, applied and subclassed: then its forward is the function of the table, and its
backward the gradient of that.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy

from minichainer._locks import lock_of
from minichainer.compat import node_functions
from minichainer.compat.node_table import ATTRIBUTES, LABELS, NAMES, OF_OLD_STYLE, ROWS
from minichainer.compat.private_functions import value_as_text
from minichainer.configuration import config, using_config
from minichainer.differentiate import grad
from minichainer.function_hook import get_function_hooks
from minichainer.function_node import FunctionNode
from minichainer.functions.array.conversion import cast, identity
from minichainer.functions.array.order import swapaxes
from minichainer.functions.math.matmul import batch_matrix_product
from minichainer.functions.math.sparse_matmul import sparse_matmul
from minichainer.functions.noise.dropout import dropout
from minichainer.functions.noise.zoneout import zoneout
from minichainer.utils.sparse import CooMatrix
from minichainer.variable import Variable, as_variable

_ROOT = __name__.partition('.')[0]
_absent: Any = object()
#: Options that are drawn at the first application if they are None.
_DRAWS = frozenset({'mask', 'eps', 'r'})
_ROW = re.compile(r'(?P<path>\S+)\.(?P<name>\w+)\((?P<constructor>.*?)\)(?: < (?P<base>\w+))?: (?P<call>.* -> .*)')


class Row(NamedTuple):
    """What the table says about a class."""

    path: str
    name: str
    constructor: str = '*args, **kwargs'
    base: str | None = None
    #: ``inputs -> call``; empty for classes that are only tested for.
    call: str = ''
    #: What it is called in graphs, if not by its name; braces stand for the constant.
    label: str = ''


@functools.cache
def rows() -> dict[tuple[str, str], Row]:
    """The rows of the table by path of the module and name."""
    found = {}
    for line in filter(None, ROWS.replace('\\\n', '').splitlines()):
        match = _ROW.fullmatch(line)
        assert match is not None, line
        found[match['path'], match['name']] = Row(**match.groupdict())
    for line in filter(None, NAMES.splitlines()):
        path, _, names = line.partition(': ')
        found.update({(path, name): Row(path, name) for name in names.split()})
    for line in filter(None, LABELS.splitlines()):
        cls, _, label = line.partition(' ')
        found[_key(cls)] = found[_key(cls)]._replace(label=label)
    return found


@functools.cache
def attributes() -> dict[tuple[str, str], dict[str, str]]:
    """For each class, its attributes that are computed, and their expressions."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for line in filter(None, ATTRIBUTES.replace('\\\n', '').splitlines()):
        where, _, expression = line.partition(' = ')
        cls, _, name = where.partition(' ')
        found.setdefault(_key(cls), {})[name] = expression
    for cls in OF_OLD_STYLE.split():
        found.setdefault(_key(cls), {})['node'] = 'f'
    return found


def _key(cls: str) -> tuple[str, str]:
    path, _, name = cls.rpartition('.')
    return path, name


_classes: dict[Row, Any] = {}
_making = lock_of(globals(), '_making', threading.RLock)


def node_class(path: str, name: str) -> Any:
    """The class of a row; None if there is no such row.

    Args:
        path: the module below ``functions``.
        name: the name of the class.

    >>> import numpy as np
    >>> ReLU = node_class('activation.relu', 'ReLU')
    >>> ReLU()(np.array([-1., 1.]))[0]
    variable([0., 1.])
    """
    row = rows().get((path, name))
    if row is None:
        return None
    with _making:
        if row not in _classes:
            base = LegacyNode if row.base is None else _base(row.base)
            members = {'row': row, '__module__': f'{_ROOT}.functions.{path}', '__doc__': _doc(row)}
            _classes[row] = NodeClass(name, (base,), members)
        return _classes[row]


def _base(name: str) -> Any:
    return next(node_class(path, other) for path, other in rows() if other == name)


def _doc(row: Row) -> str:
    if not row.call:
        return f'{row.name}: a class of nodes of graphs, to test for; it cannot be instantiated.'
    return f'{row.name}({row.constructor}): the function ``{row.call}`` as a class.'


@functools.cache
def _family(row: Row | None) -> frozenset[str]:
    """The name of a class, and those of classes derived from it in the table."""
    if row is None:
        return frozenset()
    return frozenset([row.name, *[other.name for other in rows().values() if other.base == row.name]])


def name_of(node: Any) -> str:
    """The name of the class that Chainer has for a node of this package; empty for nodes of programs.

    Classes of ops are named as Chainer's. Where one op serves several of these, its label is the name.

    Args:
        node: a FunctionNode, or a class of them.
    """
    cls = node if isinstance(node, type) else type(node)
    if not cls.__module__.startswith(f'{_ROOT}.functions.') or isinstance(cls, NodeClass):
        return ''
    label = '' if isinstance(node, type) else str(node.label)
    return label if label.isidentifier() and label[0].isupper() else cls.__name__


class NodeClass(type):
    """The class of these classes: decides what is an instance."""

    row: Row

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """An instance; raises TypeError for a class that is only tested for."""
        if cls.__module__.startswith(_ROOT) and not cls.row.call:
            raise TypeError(
                f'{cls.__name__} cannot be instantiated: here it only names nodes of the graph\n'
                f'Use the function of {cls.row.path}, or chainer.grad for gradients'
            )
        return super().__call__(*args, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        return super().__instancecheck__(instance) or name_of(instance) in cls._names()

    def __subclasscheck__(cls, subclass: Any) -> bool:
        return super().__subclasscheck__(subclass) or name_of(subclass) in cls._names()

    def _names(cls) -> frozenset[str]:
        """The names of the nodes that are instances; none for a class that a program has derived."""
        return _family(vars(cls).get('row'))


class LegacyNode(FunctionNode, metaclass=NodeClass):
    """Base of Chainer's node classes.

    Forward applies the function of the table to the inputs, and keeps that graph; backward differentiates it. So all
    orders work, and a subclass may replace either.
    """

    row: Row
    takes_any_layout = True
    #: Inputs and outputs of the function: Variables.
    _applied_to: tuple[Variable, ...] = ()
    _results: tuple[Variable, ...] = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        bound = signature_of(type(self)).bind(*args, **kwargs)
        bound.apply_defaults()
        options = bound.arguments
        for name in ('kwargs', 'keywords'):
            options.update(options.pop(name, {}))
        self.options = options

    def __getattr__(self, name: str) -> Any:
        """What old code reads of a function: arguments of the constructor, and arrays computed on the way."""
        options = vars(self).get('options', {})
        expression = attributes().get(self.row[:2], {}).get(name)
        if expression is not None:
            return self._computed(name, expression)
        found = getattr(self._own_node(), name, options.get(name, _absent)) if name[:2] != '__' else _absent
        if found is not _absent:
            return found
        raise AttributeError(f'{type(self).__name__!r} object has no attribute {name!r}', name=name, obj=self)

    def _computed(self, name: str, expression: str) -> Any:
        """An attribute of the table of attributes; there are no inputs before the node is applied."""
        arrays = {'xs': [x.array for x in self._applied_to], 'ys': [y.array for y in self._results]}
        try:
            return eval(expression, {'np': numpy, **vars(node_functions), **self.options, 'f': self, **arrays})
        except LookupError as error:
            text = f'{type(self).__name__!r} object has no attribute {name!r} before it is applied'
            raise AttributeError(text, name=name, obj=self) from error

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        """Applies the node; subclasses of Function gave a Variable if there is one output."""
        outputs = self.apply(inputs, **kwargs)
        return outputs[0] if 'node' in attributes().get(self.row[:2], ()) and len(outputs) == 1 else outputs

    @property
    def label(self) -> str:
        if '{}' in self.row.label:
            return self.row.label.format(value_as_text(self.value))
        return self.row.label or type(self).__name__

    def _own_node(self) -> Any:
        """The node of the first output in the graph inside of it; None if there is none."""
        return self._results[0].creator_node if self._results else None

    def apply(self, inputs: Any) -> tuple[Variable, ...]:
        self._given = tuple([as_variable(x) for x in inputs]) if isinstance(inputs, (tuple, list)) else None
        return super().apply(inputs)

    def forward_cpu(self, inputs: tuple[Any, ...], /) -> tuple[Any, ...]:
        """Computes the outputs, on any device."""
        given = vars(self).pop('_given', None) or [as_variable(x) for x in inputs]
        if type(self).backward is not LegacyNode.backward:  # a subclass may ask for any of them
            self.retain_inputs(range(len(inputs)))
            self.retain_outputs((0,))
        self.options.update({name: value for name, value in vars(self).items() if name in self.options})
        with _unseen(), using_config('enable_backprop', True):
            self._applied_to = tuple(map(_place, given))
            found = call_of(self.row)(*self._applied_to, **self.options)
        self._results = tuple(map(as_variable, found if isinstance(found, (tuple, list)) else (found,)))
        self._keep_draws()
        return tuple([y.array for y in self._results])

    forward_gpu = forward_cpu

    def _keep_draws(self) -> None:
        """Another application, of a copy, takes the same random numbers."""
        for name in _DRAWS & self.options.keys():
            if self.options[name] is None:
                self.options[name] = getattr(self._own_node(), name, None)

    def backward(self, target_input_indexes: tuple[int, ...], grad_outputs: tuple[Any, ...], /) -> Any:
        pairs = [(y, gy) for y, gy in zip(self._results, grad_outputs, strict=True) if gy is not None]
        wanted = [self._applied_to[i] for i in target_input_indexes]
        ys, gys = [y for y, _ in pairs], [gy for _, gy in pairs]
        with _unseen():
            return tuple(grad(ys, wanted, gys, enable_double_backprop=config.enable_backprop))

    def unchain(self) -> None:
        super().unchain()
        self._applied_to = self._results = ()


@contextlib.contextmanager
def _unseen() -> Iterator[None]:
    """No function hooks of this thread: they see the class, not the functions inside of it."""
    hooks = get_function_hooks()
    taken = dict(hooks)
    hooks.clear()
    try:
        yield
    finally:
        hooks.update(taken)


def _place(x: Variable) -> Any:
    """A new node for an input: one input may be given twice, or be computed from another."""
    if x.array is None or x.dtype.kind not in 'fc':
        return x
    return identity(x) if x.requires_grad else Variable(x.array)


@functools.cache
def signature_of(cls: Any) -> inspect.Signature:
    """The signature of a class's constructor."""
    return inspect.signature(eval(f'lambda {cls.row.constructor}: None'))


@functools.cache
def call_of(row: Row) -> Callable[..., Any]:
    """The function of a row, whose keyword arguments are those of the constructor."""
    inputs, _, call = row.call.partition(' -> ')
    star = '' if inputs.startswith('*') or ', *' in inputs else '*, '
    options = f', {star}{row.constructor}' if row.constructor else ''
    functions = importlib.import_module(f'{_ROOT}.functions')
    used = {name: getattr(functions, name) for name in re.findall(r'\w+', call) if name in functions.__all__}
    names = {**vars(node_functions), **used, **_HELPERS}
    return eval(f'lambda {inputs}{options}: {call}', names)  # type: ignore[no-any-return]


def _drawn(x: Any, ratio: float, mask: Any) -> Any:
    """Dropout whatever ``config.train`` is."""
    with using_config('train', True):
        return dropout(x, ratio, mask=mask)


def _zoned_out(h: Any, x: Any, ratio: float) -> Any:
    """Zoneout whatever ``config.train`` is."""
    with using_config('train', True):
        return zoneout(h, x, ratio)


def _coo(data: Any, row: Any, col: Any, shape: Any, order: str) -> CooMatrix:
    """A sparse matrix whose data is a Variable in the graph."""
    matrix = CooMatrix(data.array, row, col, shape, order)
    matrix.data = data
    return matrix


def _coo_product(a: Any, b: Any, transa: bool, transb: bool, transc: bool) -> Variable:
    y = sparse_matmul(a, b, transa, transb)
    return swapaxes(y, -1, -2) if transc else y


def _in_dtype(y: Variable, dtype: Any) -> Variable:
    return y if dtype is None else cast(y, dtype)


def _not_covering(cover_all: bool) -> None:
    if cover_all:
        raise NotImplementedError('AveragePoolingND: cover_all=True is not supported; pad x by functions.pad instead')


_HELPERS = {
    'as_variable': as_variable,
    'batched': batch_matrix_product,
    'coo': _coo,
    'coo_product': _coo_product,
    'drawn': _drawn,
    'in_dtype': _in_dtype,
    'not_covering': _not_covering,
    'zoned_out': _zoned_out,
}
