"""minichainer: Chainer's define-by-run API for today's Python."""
from __future__ import annotations

from minichainer import backends, functions, initializers, ops, utils
from minichainer._dtype import get_dtype, mixed16
from minichainer._version import __version__
from minichainer.backend import (
    get_array_types,
    get_cpu_array_types,
    get_device,
    is_arrays_compatible,
    using_device,
)
from minichainer.backends import cuda
from minichainer.configuration import (
    DebugMode,
    config,
    force_backprop_mode,
    global_config,
    is_debug,
    no_backprop_mode,
    set_debug,
    using_config,
)
from minichainer.differentiate import backward, grad
from minichainer.function import Function, FunctionAdapter
from minichainer.function_hook import FunctionHook, get_function_hooks
from minichainer.function_node import FunctionNode
from minichainer.variable import Parameter, Variable, VariableNode, as_array, as_variable
