"""minichainer: Chainer's define-by-run API (Variable, Link, Function) for NumPy, CuPy and today's Python.

In the order in which a newcomer should read it: data (``Variable``, ``Parameter``), functions (``functions``,
``FunctionNode``, ``grad``), models (``Link``, ``Chain``, ``links``), training (``optimizers``, ``training``,
``serializers``), checks (``gradient_check``), and settings (``config``).
"""

import typing

# settings and devices
from minichainer import backend as backend
from minichainer import backends as backends

# functions and their gradients
from minichainer import functions as functions

# models
from minichainer import initializers as initializers
from minichainer import links as links

# training
from minichainer import utils as utils
from minichainer._dtype import get_dtype as get_dtype
from minichainer._module_paths import install as _install_module_paths
from minichainer._names import namespace as _namespace
from minichainer._version import __version__ as __version__
from minichainer.allocator import tune_allocator as tune_allocator
from minichainer.backend import get_array_types as get_array_types
from minichainer.backend import get_cpu_array_types as get_cpu_array_types
from minichainer.backend import get_device as get_device
from minichainer.backend import is_arrays_compatible as is_arrays_compatible
from minichainer.backend import using_device as using_device
from minichainer.backends import cuda as cuda
from minichainer.backends.cuda import should_use_cudnn as should_use_cudnn
from minichainer.backends.cuda import should_use_cudnn_tensor_core as should_use_cudnn_tensor_core
from minichainer.configuration import DebugMode as DebugMode
from minichainer.configuration import config as config
from minichainer.configuration import force_backprop_mode as force_backprop_mode
from minichainer.configuration import get_compute_mode as get_compute_mode
from minichainer.configuration import global_config as global_config
from minichainer.configuration import is_debug as is_debug
from minichainer.configuration import mixed16 as mixed16
from minichainer.configuration import no_backprop_mode as no_backprop_mode
from minichainer.configuration import set_debug as set_debug
from minichainer.configuration import using_config as using_config
from minichainer.device_resident import DeviceResident as DeviceResident
from minichainer.differentiate import backward as backward
from minichainer.differentiate import grad as grad
from minichainer.function import Function as Function
from minichainer.function import FunctionAdapter as FunctionAdapter
from minichainer.function_hook import FunctionHook as FunctionHook
from minichainer.function_hook import get_function_hooks as get_function_hooks
from minichainer.function_node import FunctionNode as FunctionNode
from minichainer.initializer import Initializer as Initializer
from minichainer.link.link import Chain as Chain
from minichainer.link.link import ChainList as ChainList
from minichainer.link.link import Link as Link
from minichainer.link.link import Sequential as Sequential
from minichainer.link_hook import LinkHook as LinkHook
from minichainer.reporter import DictSummary as DictSummary
from minichainer.reporter import Reporter as Reporter
from minichainer.reporter import Summary as Summary
from minichainer.reporter import get_current_reporter as get_current_reporter
from minichainer.reporter import report as report
from minichainer.reporter import report_scope as report_scope
from minichainer.serializer import AbstractSerializer as AbstractSerializer
from minichainer.serializer import Deserializer as Deserializer
from minichainer.serializer import Serializer as Serializer

# data
from minichainer.variable import Parameter as Parameter
from minichainer.variable import Variable as Variable
from minichainer.variable import as_array as as_array
from minichainer.variable import as_variable as as_variable

if typing.TYPE_CHECKING:
    from minichainer import autograd as autograd
    from minichainer import chainerx as chainerx
    from minichainer import computational_graph as computational_graph
    from minichainer import dataset as dataset
    from minichainer import datasets as datasets
    from minichainer import distributions as distributions
    from minichainer import exporters as exporters
    from minichainer import function_hooks as function_hooks
    from minichainer import gradient_check as gradient_check
    from minichainer import graph_optimizations as graph_optimizations
    from minichainer import iterators as iterators
    from minichainer import memory_layouts as memory_layouts
    from minichainer import optimizer as optimizer
    from minichainer import optimizer_hooks as optimizer_hooks
    from minichainer import optimizers as optimizers
    from minichainer import sequential as sequential
    from minichainer import serializers as serializers
    from minichainer import testing as testing
    from minichainer import training as training
    from minichainer import verification as verification
    from minichainer import warnings as warnings
    from minichainer._runtime_info import print_runtime_info as print_runtime_info
    from minichainer.distribution import Distribution as Distribution
    from minichainer.distribution import cross_entropy as cross_entropy
    from minichainer.distribution import kl_divergence as kl_divergence
    from minichainer.distribution import register_kl as register_kl
    from minichainer.gradient_check import gradcheck as gradcheck
    from minichainer.gradient_check import gradgradcheck as gradgradcheck
    from minichainer.graph_optimizations.static_graph import static_graph as static_graph
    from minichainer.graph_optimizations.static_graph_utilities import static_code as static_code
    from minichainer.optimizer import GradientMethod as GradientMethod
    from minichainer.optimizer import Optimizer as Optimizer
    from minichainer.optimizer import UpdateRule as UpdateRule

_install_module_paths()

#: Set to True to silence the warnings of experimental features.
disable_experimental_feature_warning = False

#: Chainer's marker of ChainerX fallbacks; ChainerX does not exist here.
Fallback = None

_MODULES = """
    autograd backend backends chainerx computational_graph configuration cuda dataset datasets device_resident
    distribution distributions errors exporters function function_hook function_hooks function_node functions
    gradient_check graph_optimizations initializer initializers iterators link link_hook link_hooks links
    memory_layouts optimizer optimizer_hooks optimizers reporter sequential serializer serializers testing training
    types utils variable verification warnings
""".split()
#: Names of the root whose modules are loaded at the first access.
_LATER = {
    'Distribution': 'distribution',
    'GradientMethod': 'optimizer',
    'Optimizer': 'optimizer',
    'UpdateRule': 'optimizer',
    'cross_entropy': 'distribution',
    'gradcheck': 'gradient_check',
    'gradgradcheck': 'gradient_check',
    'kl_divergence': 'distribution',
    'print_runtime_info': '_runtime_info',
    'register_kl': 'distribution',
    'static_code': 'graph_optimizations.static_graph_utilities',
    'static_graph': 'graph_optimizations.static_graph',
}

if not typing.TYPE_CHECKING:
    __getattr__, __dir__ = _namespace(__name__, _MODULES, _LATER)
