"""What Chainer v1 defined and later versions do not: classes, links and classes in ``functions``, methods."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from minichainer.backend import copyto
from minichainer.backends import cuda
from minichainer.compat.changes import Changes
from minichainer.compat.legacy import function_classes, volatile
from minichainer.compat.legacy.packages import caffe, cuda_modules, functions, links, root
from minichainer.compat.nodes import LegacyNode
from minichainer.function import FunctionAdapter
from minichainer.link.link import Chain, ChainList, Link
from minichainer.links.rnn import gru
from minichainer.variable import Parameter

#: Links that were in ``functions``.
_LINKS = """
    BatchNormalization Bilinear BinaryHierarchicalSoftmax BlackOut Convolution2D CRF1d Deconvolution2D
    DilatedConvolution2D EmbedID Inception InceptionBN Linear Maxout MLPConvolution2D NegativeSampling Parameter PReLU
    SimplifiedDropconnect
""".split()


def add_part(model: Chain, name: str, value: Any) -> bool:
    """Makes a link a part of a chain, in place of one of this name; False for other values, and in ``init_scope``.

    Args:
        model: the chain.
        name: of the part.
        value: the link.
    """
    if not isinstance(value, Link) or model.within_init_scope:
        return False
    if name in model._children:
        delattr(model, name)
    model.add_link(name, value)
    return True


_ARRAYS = (
    'FunctionSet: got the Function {} with parameter_names, whose arrays no optimizer updates.\n'
    'Write a Link with self.W = chainer.Parameter(W) that calls a function of x and self.W'
)


class FunctionSet(Chain):
    """A model of v1: links by name, and more of them as attributes.

    Args:
        functions: links by name.

    >>> import minichainer.links as L
    >>> model = FunctionSet(l1=L.Linear(3, 2))
    >>> model.l2 = L.Linear(2, 2)
    >>> len(model.parameters)
    4
    """

    def __init__(self, **functions: Any) -> None:
        super().__init__()
        for name, function in functions.items():
            setattr(self, name, function)
            if getattr(function, 'parameter_names', ()):
                warnings.warn(_ARRAYS.format(name), stacklevel=2)

    def __setattr__(self, name: str, value: Any) -> None:
        if not add_part(self, name, value):
            super().__setattr__(name, value)

    def collect_parameters(self) -> FunctionSet:
        """The model itself, for ``optimizer.setup``."""
        return self

    @property
    def parameters(self) -> tuple[Any, ...]:
        """The arrays of the parameters, in the order in which links and parameters were added."""
        return tuple([param.data for param in in_order(self)])

    @parameters.setter
    def parameters(self, values: Iterable[Any]) -> None:
        for param, value in zip(in_order(self), values, strict=True):
            param.data = value

    @property
    def gradients(self) -> tuple[Any, ...]:
        """Their gradients, in the same order."""
        return tuple([param.grad for param in in_order(self)])

    @gradients.setter
    def gradients(self, values: Iterable[Any]) -> None:
        for param, value in zip(in_order(self), values, strict=True):
            param.grad = value

    def copy_parameters_from(self, params: Iterable[Any]) -> None:
        """Copies arrays into the parameters, in the same order.

        Args:
            params: NumPy or CuPy arrays, as :attr:`parameters` gives them.
        """
        for mine, theirs in zip(self.parameters, params, strict=True):
            copyto(mine, theirs)


def in_order(link: Any) -> list[Any]:
    """The parameters of a link and its descendants, in the order in which they were added."""
    found: list[Any] = []
    for value in vars(link).values():
        if isinstance(value, Parameter):
            found.append(value)
        elif isinstance(value, Link):
            found += in_order(value)
    return found + [param for child in (link if isinstance(link, ChainList) else ()) for param in in_order(child)]


class StatelessGRU(gru.StatelessGRU):
    """``links.GRU`` of v1: without state, and called with the sizes in the other order.

    Args:
        n_units: size of the state.
        n_inputs: size of the input; that of the state by default.
        init, inner_init, bias_init: initializers.
    """

    def __init__(
        self, n_units: int, n_inputs: int | None = None, init: Any = None, inner_init: Any = None, bias_init: Any = 0
    ) -> None:
        super().__init__(n_units if n_inputs is None else n_inputs, n_units, init, inner_init, bias_init)


# --- methods -------------------------------------------------------------------------------------------------------
def add_uninitialized_param(link: Any, name: str) -> None:
    if name in vars(link):
        raise AttributeError(f'cannot register a new uninitialized parameter {name}: the attribute exists')
    vars(link).setdefault('_uninitialized_params', set()).add(name)


def has_uninitialized_params(link: Any) -> bool:
    """Whether a parameter of it has no array, or has been announced and not been added."""
    announced = any(vars(one).get('_uninitialized_params', set()) - set(vars(one)) for one in link.links())
    return announced or any(param.data is None for param in link.params())


def cuda_init(device: Any = None) -> None:
    cuda.get_device(0 if device is None else device).use()


def to_gpu_async(array: Any, stream: Any = None) -> Any:
    return cuda.to_gpu(array) if stream is None else cuda.to_gpu(array, stream=stream)


def _flag_module() -> ModuleType:
    module = ModuleType('minichainer.flag', 'The flags of volatile Variables.')
    vars(module).update(Flag=volatile.Flag, ON=volatile.ON, OFF=volatile.OFF, AUTO=volatile.AUTO)
    return module


def call_node(node: LegacyNode, *inputs: Any) -> Any:
    """Functions of v1 returned one output alone, several as a tuple."""
    outputs = node.apply(inputs)
    return outputs[0] if len(outputs) == 1 else outputs


def check_type_forward(node: FunctionAdapter, in_types: Any) -> None:
    """Functions of v1 had their types checked unless they said no."""
    if getattr(node.function, 'type_check_enable', True):
        node.function.check_type_forward(in_types)


_CUPY_FUNCTIONS = ('empty', 'empty_like', 'full', 'full_like', 'ones', 'ones_like', 'zeros', 'zeros_like')


def _of_cupy(name: str) -> Any:
    def make(*args: Any, **kwargs: Any) -> Any:
        return getattr(cuda.cupy, name)(*args, **kwargs)

    return make


def install_nodes(changes: Changes) -> None:
    """Lets objects of node classes be called as v1's functions.

    Args:
        changes: that undo it.
    """
    changes.set(LegacyNode, '__call__', call_node)
    changes.set(FunctionAdapter, 'check_type_forward', check_type_forward)


def install(changes: Changes) -> None:
    """Defines the names.

    Args:
        changes: that undo it.
    """
    for name in _LINKS:
        changes.set(functions, name, getattr(links, name))
    for name, cls in function_classes.CLASSES.items():
        changes.set(functions, name, cls)
    install_nodes(changes)
    changes.set(functions, 'caffe', caffe)
    changes.set(links, 'GRU', StatelessGRU)
    changes.set(Link, 'add_uninitialized_param', add_uninitialized_param)
    changes.set(Link, 'has_uninitialized_params', property(has_uninitialized_params))
    for module in cuda_modules:
        changes.set(module, 'init', cuda_init)
        changes.set(module, 'to_gpu_async', to_gpu_async)
        for name in _CUPY_FUNCTIONS:
            changes.set(module, name, _of_cupy(name))
    for name, value in (
        ('FunctionSet', FunctionSet), ('flag', _flag_module()), ('Flag', volatile.Flag),
        ('ON', volatile.ON), ('OFF', volatile.OFF), ('AUTO', volatile.AUTO),
    ):  # fmt: skip
        changes.set(root, name, value)
