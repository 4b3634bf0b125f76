"""Private functions of Chainer's modules about packages, names, files and graphs, for the rows of
:mod:`minichainer.compat.private_table`."""

from __future__ import annotations

import copy as copy
import functools
import importlib
import importlib.util
import io
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from minichainer._runtime_info import print_runtime_info
from minichainer._version import __version__
from minichainer.backend import CpuDevice as CpuDevice
from minichainer.backend import GpuDevice as GpuDevice
from minichainer.backend import get_array_types, get_cpu_array_types, is_arrays_compatible
from minichainer.backends import cuda
from minichainer.configuration import config as config
from minichainer.configuration import mixed16 as mixed16
from minichainer.device_resident import DeviceResident
from minichainer.distributions._densities import bernoulli_log_density_by_any_logit, checked_bernoulli_log_density
from minichainer.distributions.location_scale import Laplace
from minichainer.function_node import FunctionNode
from minichainer.functions.arithmetic import add
from minichainer.link.link import Link
from minichainer.serializers.npz import DictionarySerializer
from minichainer.utils.type_check import eval as number  # noqa: F401, a name of expressions
from minichainer.variable import Parameter, Variable, as_array, as_variable

_ROOT = __name__.partition('.')[0]
_is_scalar: Callable[[Any], bool] = np.isscalar  # which narrows types too far
array_types, cpu_array_types = get_array_types, get_cpu_array_types
#: Whether a library is used, for each setting and each level that a function asks for.
LEVELS = {
    '==always': {'always': True, 'auto': False, 'never': False},
    '>=auto': {'always': True, 'auto': True, 'never': False},
}


def at(path: str) -> Any:
    """A module below this package."""
    return importlib.import_module(f'{_ROOT}.{path}')


# --- packages of others --------------------------------------------------------------------------------------------


def installed(package: str) -> bool:
    """Whether a package can be imported."""
    return import_error(package) is None


@functools.cache
def import_error(package: str) -> ImportError | None:
    """Why a package cannot be imported; None if it can."""
    try:
        importlib.import_module(package)
    except ImportError as error:
        return error
    return None


def check_installed(package: str) -> None:
    """Raises if a package cannot be imported."""
    error = import_error(package)
    if error is not None:
        raise ImportError(f'{package} cannot be imported: {error}') from error


def warn_unless_installed(package: str) -> None:
    """Warns if a package cannot be imported."""
    if not installed(package):
        warnings.warn(f'{package} is not installed, so nothing is plotted: pip install {package}', stacklevel=3)


def runs(args: Sequence[str]) -> bool:
    """Whether a command runs and returns 0."""
    try:
        return not subprocess.run(args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode
    except OSError:
        return False


class RuntimeInfo:
    """The versions of libraries: ``str`` gives what :func:`print_runtime_info` prints."""

    cuda_info = ideep_version = None
    chainerx_available = False

    def __init__(self) -> None:
        self.chainer_version: str = getattr(sys.modules.get('chainer'), '__version__', __version__)
        self.numpy_version = np.__version__

    def __str__(self) -> str:
        text = io.StringIO()
        print_runtime_info(text)
        return f'Chainer: {self.chainer_version}\n{text.getvalue()}'


class TestCase(NamedTuple):
    """What Chainer kept for a class of tests."""

    klass: type
    module_name: str | None
    class_name: str | None


class TestCases:
    """What Chainer's ``parameterize`` made of a class of tests; here it gives a class, not an instance of this.

    Args:
        cases: for each class of tests, a TestCase.
    """

    def __init__(self, cases: Sequence[TestCase]) -> None:
        self.cases = list(cases)


# --- devices, settings and names -----------------------------------------------------------------------------------


def device_or_current(device: Any) -> Any:
    """The CUDA device that a number, a device, or None names."""
    if device is None or isinstance(device, cuda.Device):
        return cuda.Device() if device is None else device
    if not isinstance(device, (int, np.integer)) or device < 0:
        raise ValueError(f'expected a CUDA device or its number, got {device!r}')
    return cuda.Device(int(device))


def is_overridden(resident: DeviceResident, name: str) -> bool:
    """Whether a class replaces ``to_cpu`` and the like."""
    return getattr(type(resident), name) is not getattr(DeviceResident, name)


def print_attributes(obj: Any, keys: Sequence[str], file: Any) -> None:
    """Writes attributes in two columns."""
    width = max(map(len, keys))
    file.write(''.join(f'{key.ljust(width)} {getattr(obj, key)}\n' for key in keys))


def object_of_name(fullname: str) -> Any:
    """The object of a dotted name, whose first part is a module that is loaded."""
    root, *parts = fullname.split('.')
    if root not in sys.modules:
        raise RuntimeError(f'the module {root!r} is not loaded')
    return functools.reduce(getattr, parts, sys.modules[root])


def shortened(text: str, longest: int) -> str:
    """A text without its middle, if it is too long."""
    kept = longest - 3
    return text if len(text) <= longest else f'{text[: kept // 2]}...{text[len(text) - (kept - kept // 2) :]}'


def described(instance: Any, **values: Any) -> str:
    """A ``repr`` that tells some values."""
    cls = type(instance)
    return f'<{cls.__module__}.{cls.__qualname__} {" ".join(f"{name}={value}" for name, value in values.items())}>'


def raise_with_cause(kind: type[Exception], message: str, cause: Exception) -> None:
    """Raises an error whose message tells another one, from the place of that one."""
    error = kind(f'{message}\n\n(caused by)\n{type(cause).__name__}: {cause}\n')
    raise error.with_traceback(cause.__traceback__) from None


def check_one_kind_of_array(arrays: Sequence[Any], label: str | None = None) -> None:
    """Raises TypeError if arrays are on different kinds of devices."""
    if not is_arrays_compatible(arrays):
        where = '' if label is None else f' of {label}'
        raise TypeError(f'forward{where}: expected arrays of one kind, got {", ".join(str(type(x)) for x in arrays)}')


# --- files ---------------------------------------------------------------------------------------------------------


def snapshot_files(fmt: str, path: str) -> list[tuple[float, str]]:
    """Files that begin and end as a format does, each with its time of modification, the oldest first."""
    start, end = fmt.partition('{')[0], fmt.rpartition('}')[2]
    names = [name for name in os.listdir(path) if name.startswith(start) and name.endswith(end)]
    return sorted((os.stat(os.path.join(path, name)).st_mtime, name) for name in names)


def latest_snapshot(fmt: str, path: str) -> str | None:
    """The newest of these files."""
    found = snapshot_files(fmt, path)
    return found[-1][1] if found else None


def stale_snapshots(fmt: str, path: str, n_retains: int = 0, **kwargs: int) -> Iterator[str]:
    """All of these files but the newest ``n_retains``."""
    found = snapshot_files(fmt, path)
    yield from (name for _, name in found[: max(len(found) - kwargs.get('num_retain', n_retains), 0)])


def words_of(url: str) -> list[str]:
    """The words of a text that is downloaded, with ``<eos>`` for the ends of lines."""
    with open(at('dataset').cached_download(url), encoding='utf-8') as file:
        return [word for line in file for word in [*line.split(), '<eos>']]


def serialized(obj: Any) -> dict[str, Any]:
    """The arrays of an object by path."""
    serializer = DictionarySerializer()
    serializer.save(obj)
    return dict(serializer.target)


# --- graphs --------------------------------------------------------------------------------------------------------


def value_as_text(value: Any) -> str:
    """A constant in a label: negative numbers in parentheses."""
    value = value.array if isinstance(value, Variable) else value
    if isinstance(value, array_types()):
        return 'constant array'
    if not _is_scalar(value):
        raise ValueError(f'expected a Variable, an array or a number, got {type(value).__name__}')
    return f'({value})' if value < 0 else str(value)


def operand(x: Any, value: Any) -> Any:
    """The second operand of an operator, in the dtype of the first."""
    if isinstance(value, Variable):
        return value
    if not _is_scalar(value) and not isinstance(value, array_types()):
        raise TypeError(f'expected a number, an array or a Variable, got {type(value).__name__}')
    return np.asarray(value, x.dtype)[()] if _is_scalar(value) else value.astype(x.dtype, copy=False)


def sum_in_place(grads: list[Any]) -> Any:
    """The sum of gradients, which becomes the only one of the list; None if there are none."""
    if len(grads) > 1:
        grads[:] = [add(*grads)]
    return grads[0] if grads else None


def taken_gradient(node: Any) -> Any:
    """The gradient of a leaf, which is removed."""
    variable = node.get_variable_or_none()
    if variable is None:
        return None
    grad, variable.grad_var = variable.grad_var, None
    return grad


def call_for_variables(function: Any, xs: Any) -> tuple[Any, ...]:
    """The results of a function, which must be Variables."""
    found = function(*xs)
    outputs = found if isinstance(found, tuple) else (found,)
    for i, y in enumerate(outputs):
        if not isinstance(y, Variable):
            raise RuntimeError(f'expected Variables, got {type(y).__name__} as result {i}')
    return outputs


def created_variable(data: Any, name: str | None, grad: Any, requires_grad: bool, device: Any) -> Variable:
    """A Variable on a device."""
    variable = Variable(data, name=name, grad=grad, requires_grad=requires_grad)
    variable.to_device(device)
    return variable


def recovered_parameter(*state: Any) -> Parameter:
    """The parameter of a pickle of Chainer: data, name, gradient, perhaps its validity, initializer, rule, device."""
    data, name, grad, *_, initializer, update_rule, device = state
    parameter = Parameter(initializer=initializer, name=name)
    if data is not None:
        parameter.array, parameter.grad = data, grad
    parameter.update_rule = update_rule
    parameter.to_device(device)
    return parameter


def variables_in(x: Any) -> tuple[Any, ...]:
    """The Variables in nested lists, and parameters of links in them."""
    if isinstance(x, (list, tuple)):
        return tuple([variable for item in x for variable in variables_in(item)])
    return (x,) if isinstance(x, Variable) else tuple(x.params(include_uninit=True)) if isinstance(x, Link) else ()


class XLogX(FunctionNode):
    """x log x, which is 0 at 0; a gradient at 0 is 0, with a warning."""

    def __init__(self, logx: Any = None) -> None:
        self._logx = logx

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        (x,) = inputs
        self.retain_inputs((0,))
        return (x * np.log(np.where(x > 0, x, 1)).astype(x.dtype),)

    def backward(self, indexes: Any, grad_outputs: Any) -> Any:
        (x,) = self.get_retained_inputs()
        F = at('functions')
        if (x.array == 0).any():
            warnings.warn('the gradient of x log x at 0 is minus infinity; 0 is taken', RuntimeWarning, stacklevel=2)
        positive = x.array > 0
        log = F.log(F.where(positive, x, np.ones_like(x.array)))
        return (grad_outputs[0] * (log + 1) * positive.astype(x.dtype),)


def modified_xlogx(x: Any) -> Variable:
    """x log x, also at 0."""
    return XLogX().apply((x,))[0]


def bernoulli_log_prob(logit: Any, x: Any, binary_check: bool = False) -> Variable:
    """The logarithm of the probability of x; minus infinity where it is not 0 or 1, if that is checked."""
    density: Any = checked_bernoulli_log_density if binary_check else bernoulli_log_density_by_any_logit
    return density(as_variable(x), as_variable(logit))  # type: ignore[no-any-return]


def standard_laplace(method: str) -> Any:
    """A method of the Laplace distribution around 0 whose scale is 1."""

    def function(x: Any) -> Variable:
        zeros = np.zeros_like(as_array(x))
        return getattr(Laplace(zeros, zeros + 1), method)(x)  # type: ignore[no-any-return]

    function.__name__ = f'_laplace_{method}'
    return function
