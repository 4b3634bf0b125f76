"""Private members of Chainer's classes that tests and tools use, while the alias is installed.

A program may set an attribute of the same name.
"""

from __future__ import annotations

import ast
import contextlib
import functools
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy

from minichainer.compat.changes import Changes
from minichainer.variable import Variable

#: Module, class, name, and an expression of ``self`` that is evaluated when the attribute is read, or a literal. What
#: begins with ``def`` is a method, or a static method if its first argument is not ``self``.
ROWS = """
distribution Distribution _is_gpu self.xp is not numpy
function_node FunctionNode _local_function_hooks self.local_function_hooks
function_node FunctionNode _impl_name type(self).__name__
function_node FunctionNode _n_local_function_hooks len(self.local_function_hooks)
functions.evaluation.binary_accuracy BinaryAccuracy ignore_label -1
functions.evaluation.binary_accuracy BinaryAccuracy __call__ def self, *inputs: self.apply(inputs)[0]
functions.evaluation.r2_score R2_score __call__ def self, *inputs: self.apply(inputs)[0]
iterators.multithread_iterator MultithreadIterator _repeat self.repeat
iterators.serial_iterator SerialIterator _repeat self.repeat
link.link Link _n_local_link_hooks len(self.local_link_hooks)
link_hooks.spectral_normalization SpectralNormalization _prepare_parameters def self, link, *xs: self.prepare(link)
links.connection.convolution Convolution2D cudnn_fast False
links.connection.convolution Convolution2D x_layout None
links.normalization.batch_normalization BatchNormalization _highprec_dtype self._dtype
optimizer.base Optimizer _check_set_up def self: self._set_up_hooks() and None
optimizer.base Optimizer _hookable hooks_of(self._hooks)
optimizer.base Optimizer _post_update_hooks self._set_up_hooks().post
optimizer.base Optimizer _pre_update_hooks self._set_up_hooks().pre
optimizer.rule UpdateRule _hookable hooks_of(self._hooks)
optimizer.rule UpdateRule _post_update_hooks hooks_of(self._hooks)._post_update_hooks
optimizer.rule UpdateRule _pre_update_hooks hooks_of(self._hooks)._pre_update_hooks
optimizer.rule UpdateRule update_core_chainerx def self, param: self.update_core_cpu(param)
training.triggers.early_stopping_trigger EarlyStoppingTrigger already_warning False
training.updaters.standard_updater StandardUpdater loss_scale self._loss_scale
variable Variable _chainerx_fallback_array None
variable Variable _chainerx_grad_cache None
variable Variable _chainerx_nobp_array_cache None
variable Variable _clear_chainerx def self: None
variable Variable _device self.device
variable Variable _ensure_grad_var_up_to_date def self: None
variable Variable _get_array def self: self.array
variable Variable _get_grad def self: self.grad
variable Variable _grad self.grad
variable Variable _grad_valid True
variable Variable _grad_var self.grad_var
variable Variable _has_chainerx_array False
variable Variable _init_unchecked def *args, **kwargs: unchecked(*args, **kwargs)
variable Variable _layout None
variable Variable _requires_grad self.requires_grad
variable Variable _set_grad def self, grad: setattr(self, 'grad', grad)
variable_node VariableNode _creator_node self.creator_node
variable_node VariableNode _layout None
variable_node VariableNode _rank self.rank
variable_node VariableNode _requires_grad self.requires_grad
"""


class Read:
    """An attribute that is computed, unless the object has one of this name.

    Args:
        read: its function of the object.

    >>> class Point:
    ...     twice = Read(lambda self: 2 * self.x)
    >>> point = Point()
    >>> point.x = 3
    >>> point.twice
    6
    >>> point.twice = 7
    >>> point.twice
    7
    """

    def __init__(self, read: Callable[[Any], Any]) -> None:
        self.read = read

    def __get__(self, owner: Any, cls: type) -> Any:
        return self if owner is None else self.read(owner)


def unchecked(
    data: Any = None,
    device: Any = None,
    name: str | None = None,
    grad: Any = None,
    grad_valid: bool = True,
    requires_grad: bool = True,
    is_chainerx_array: Any = None,
    node: Any = None,
    layout: Any = None,
) -> Any:
    """A Variable; the one of a node, if that is given."""
    if node is not None:
        return node.get_variable()
    return Variable(data, name=name, grad=grad, requires_grad=requires_grad)


def hooks_of(hooks: Any) -> SimpleNamespace:
    """The hooks of an optimizer or of an update rule."""
    pre, post = ({}, {}) if hooks is None else (hooks.pre, hooks.post)
    return SimpleNamespace(_pre_update_hooks=pre, _post_update_hooks=post)


@functools.cache
def rows() -> dict[str, list[tuple[str, str, str]]]:
    """For each module of this package, classes, names and expressions."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for line in ROWS.strip().splitlines():
        module, cls, name, expression = line.split(' ', 3)
        found.setdefault(module, []).append((cls, name, expression))
    return found


def add(module: ModuleType, changes: Changes) -> None:
    """Gives the classes that a module defines the members of the table.

    Args:
        module: a module of this package, loaded.
        changes: what undoes it.
    """
    for cls, name, expression in rows().get(module.__name__.partition('.')[2], ()):
        owner = vars(module).get(cls)
        if owner is not None and name not in vars(owner):
            changes.set(owner, name, _member(expression))


def _member(expression: str) -> Any:
    with contextlib.suppress(SyntaxError, ValueError):
        return ast.literal_eval(expression)
    names = {'hooks_of': hooks_of, 'unchecked': unchecked, 'numpy': numpy}
    if not expression.startswith('def '):
        return Read(eval(f'lambda self: {expression}', names))
    function = eval(f'lambda {expression.removeprefix("def ")}', names)
    return function if expression.startswith('def self') else staticmethod(function)
