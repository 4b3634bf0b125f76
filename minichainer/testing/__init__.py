"""Tools for testing functions, links and extensions, with pytest and unittest."""

import typing

from minichainer._names import namespace as _namespace
from minichainer.gradient_check import assert_allclose
from minichainer.testing import attr as attr
from minichainer.testing import backend as backend
from minichainer.testing import condition as condition
from minichainer.testing import parameterized as parameterized
from minichainer.testing.backend import BackendConfig, inject_backend_tests
from minichainer.testing.distribution_case import distribution_unittest
from minichainer.testing.function_case import FunctionTestCase, FunctionTestError
from minichainer.testing.helper import assert_warns, patch, with_requires, without_requires
from minichainer.testing.link_case import (
    InitializerArgument,
    LinkInitializersTestCase,
    LinkTestCase,
    LinkTestError,
)
from minichainer.testing.matrix import generate_matrix
from minichainer.testing.parameterized import (
    from_pytest_parameterize,
    parameterize,
    parameterize_pytest,
    product,
    product_dict,
)
from minichainer.testing.random import fix_random, generate_seed
from minichainer.testing.runner import run_module
from minichainer.testing.serializer import save_and_load, save_and_load_hdf5, save_and_load_npz
from minichainer.testing.training import get_trainer_with_mock_updater
from minichainer.testing.unary_math import unary_math_function_unittest

__all__ = [
    'BackendConfig',
    'FunctionTestCase',
    'FunctionTestError',
    'InitializerArgument',
    'LinkInitializersTestCase',
    'LinkTestCase',
    'LinkTestError',
    'assert_allclose',
    'assert_warns',
    'distribution_unittest',
    'fix_random',
    'from_pytest_parameterize',
    'generate_matrix',
    'generate_seed',
    'get_trainer_with_mock_updater',
    'inject_backend_tests',
    'parameterize',
    'parameterize_pytest',
    'patch',
    'product',
    'product_dict',
    'run_module',
    'save_and_load',
    'save_and_load_hdf5',
    'save_and_load_npz',
    'unary_math_function_unittest',
    'with_requires',
    'without_requires',
]

if not typing.TYPE_CHECKING:
    __getattr__, __dir__ = _namespace(__name__, ['attr', 'backend', 'condition', 'parameterized'])
