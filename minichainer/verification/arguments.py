"""What the user passes to a check: options, inputs and parameters, validated, as a flat list of named leaves."""

from __future__ import annotations

import copy
import dataclasses
import functools
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from minichainer._checks import native
from minichainer.backend import get_array_types
from minichainer.backends._plain import plain
from minichainer.configuration import config
from minichainer.utils.sparse import CooMatrix
from minichainer.variable import Variable
from minichainer.verification.complex_numbers import is_complex, joined, parts
from minichainer.verification.random_states import FIXED


class _Default(float):
    """A default value: prints and compares as its number, but can be told from the same number given by the user."""

    __slots__ = ()


def default(value: float) -> float:
    """The default value of an argument."""
    return _Default(value)


def given(value: float | None) -> float | None:
    """The value if the user has given it, None for a default."""
    return None if value is None or isinstance(value, _Default) else float(value)


#: Whether a check refuses all that it finds, or accepts what Chainer's own check accepts.
STRICT, CHAINER = 'strict', 'chainer'

#: Who asks, and so how a verdict is spelled: ``check_gradients``, torch's names, Chainer's names.
REPORT, TORCH_STYLE, CHAINER_STYLE = 'report', 'torch', 'chainer'

#: The relative error that the first differences of floats confirm.
TEN_DIGITS = 1e-10


@dataclasses.dataclass
class Options:
    """The options of a check; see :func:`~minichainer.gradient_check.check_gradients`."""

    order: int = 1
    dtype: Any = None
    eps: float | None = None
    atol: float | None = None
    rtol: float | None = None
    nondet_tol: float = 0.0
    check_undefined_grad: bool = True
    check_grad_dtypes: bool = True
    full_jacobian: bool = False
    conditions: bool = True
    subgradient: bool = False
    precise: bool | None = None
    tangent: Any = None
    max_failures: int = 64
    seed: int | None = None
    non_contiguous: bool = False
    fixed_upstream: tuple[bool, ...] = ()
    check_backward_ad: bool = True
    check_forward_ad: bool = False
    check_rev_over_rev: bool = True
    check_fwd_over_rev: bool = False
    check_batched_grad: bool = False
    check_batched_forward_grad: bool = False
    strictness: str | None = None
    strict: bool | None = None
    style: str = REPORT
    needs_input: bool = False
    random: str | None = None
    title: str = 'check_gradients'
    explains_success: bool = True

    def __post_init__(self) -> None:
        for name in ('eps', 'atol', 'rtol', 'nondet_tol'):
            value = getattr(self, name)
            if value is not None:
                _require_number(name, value, positive=name == 'eps')
        _require_count('order', self.order)
        _require_count('max_failures', self.max_failures)
        self._check_modes()
        self.dtype = _float_dtype(self.dtype)
        self.eps = None if self.eps is None else given(self.eps)
        self._given_atol = None if self.atol is None else given(self.atol)
        self._given_rtol = None if self.rtol is None else given(self.rtol)
        if self.tangent is not None:
            _require_callables(self.tangent)
        self.seed = _seed(self.seed)
        self.strictness = _strictness(self.strictness)
        for name in ('strict', 'precise'):
            value = getattr(self, name)
            if value not in (None, True, False):
                raise TypeError(f'{name} must be True, False or None, got {value!r}')
            setattr(self, name, value if value is None else bool(value))
        if self.random not in (None, FIXED):
            raise ValueError(f'random must be {FIXED!r} or None, got {self.random!r}')

    def _check_modes(self) -> None:
        """Raises ValueError for modes that leave nothing to check, or need another one."""
        for forward, backward in (
            ('check_forward_ad', 'check_backward_ad'),
            ('check_fwd_over_rev', 'check_rev_over_rev'),
        ):
            if not getattr(self, forward) and not getattr(self, backward):
                raise ValueError(f'nothing to check: {forward} and {backward} are both False')
        needs = {'check_batched_grad': 'check_backward_ad', 'check_batched_forward_grad': 'check_forward_ad'}
        if self.order == 1 and self.check_fwd_over_rev:
            raise ValueError('check_fwd_over_rev=True needs order=2: it checks the tangents of gradients')
        if self.order > 1:
            needs['check_batched_grad'] = 'check_rev_over_rev'
        for name, needed in needs.items():
            if getattr(self, name) and not getattr(self, needed):
                raise ValueError(f'{name}=True needs {needed}=True')
        if self.order > 1 and not self.check_backward_ad:
            raise ValueError(f'order={self.order} needs check_backward_ad=True: it differentiates the backward pass')

    def checks_forward_mode(self, order: int) -> bool:
        """Whether tangents are checked: those of the function, or from the second order on those of gradients."""
        return self.check_forward_ad if order == 1 else self.check_fwd_over_rev

    def checks_backward(self, order: int) -> bool:
        """Whether backward is checked: that of the function, or from the second order on that of gradients."""
        return self.check_backward_ad if order == 1 else self.check_rev_over_rev

    @property
    def follows_chainer(self) -> bool:
        """Whether the check was called by one of Chainer's names."""
        return self.style == CHAINER_STYLE

    @property
    def extra(self) -> tuple[float, float]:
        """The tolerances that the caller gave for single elements; with a step, the defaults of other frameworks."""
        if self.eps is not None:
            return _or(self.atol, 1e-5), _or(self.rtol, 1e-3)
        return self._given_atol or 0.0, self._given_rtol or 0.0

    @property
    def precise_first(self) -> bool:
        """Whether slopes at 50 digits come before differences of floats, whose first ten digits are known.

        By torch's names they follow only in doubt, unless the caller asks for more digits.
        """
        asked = self._given_atol is not None or self._given_rtol is not None
        return self.style != TORCH_STYLE or (asked and self.extra[1] < TEN_DIGITS)

    @property
    def has_modes(self) -> bool:
        """Whether more than backward is checked: forward mode or batches."""
        batched = self.check_batched_grad or self.check_batched_forward_grad
        return batched or self.check_forward_ad or self.check_fwd_over_rev

    def tolerances(self) -> str:
        """The step and the tolerances that apply, as arguments."""
        atol, rtol = self.extra
        texts = [f'eps={self.eps}'] if self.eps is not None else []
        return ', '.join([*texts, *[f'{k}={v}' for k, v in (('atol', atol), ('rtol', rtol)) if v]])

    def shown(self) -> str:
        """The options that differ from their defaults, as arguments to paste."""
        values = {name: getattr(self, name) for name in _SHOWN}
        values |= {'atol': self._given_atol, 'rtol': self._given_rtol}
        texts = [f'{k}={_argument(v)}' for k, v in values.items() if v != _SHOWN[k] and v is not None]
        return ', '.join([*texts, f'seed={self.seed}'])


_HIDDEN = (
    'seed', 'conditions', 'tangent', 'title', 'fixed_upstream', 'non_contiguous', 'explains_success', 'style',
    'needs_input',
)  # fmt: skip
#: The defaults of the options that a report shows where they differ.
_SHOWN = {f.name: f.default for f in dataclasses.fields(Options) if f.name not in _HIDDEN} | {'strictness': STRICT}


def _argument(value: Any) -> str:
    return f'{value.name!r}' if isinstance(value, np.dtype) else repr(value)


def _or(value: float | None, other: float) -> float:
    return other if value is None else float(value)


def _require_number(name: str, value: Any, positive: bool) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f'{name} must be a number, not {type(value).__name__}')
    if positive and not 0 < value < float('inf'):
        raise ValueError(f'eps, the step of the finite difference, must be positive and finite, got {value!r}')
    if not value >= 0:
        raise ValueError(f'{name} must not be negative or NaN, got {value!r}')


def _require_count(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f'{name} must be an integer, not {type(value).__name__}')
    if value < 1:
        raise ValueError(f'{name} must be at least 1, got {value}')


def _float_dtype(dtype: Any) -> Any:
    if dtype is None:
        return None
    dtype = np.dtype(dtype)
    if dtype.kind != 'f':
        raise ValueError(f'`dtype` is allowed only float type, not {dtype}')
    return dtype


def _require_callables(tangent: Any) -> None:
    for t in tangent if isinstance(tangent, (tuple, list)) else (tangent,):
        if t is not None and not callable(t):
            raise TypeError(f'tangent must be a function of a direction, or one per input, not {type(t).__name__}')


@functools.cache
def process_seed() -> int:
    """The default seed: random, but the same for all checks of a process, so that a repeated check says the same."""
    return int.from_bytes(os.urandom(4), 'little')


def _seed(seed: Any) -> int:
    """The given seed, or that of the process."""
    if seed is None:
        return process_seed()
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise TypeError(f'seed must be an integer, not {type(seed).__name__}')
    if seed < 0:
        raise ValueError(f'seed must not be negative, got {seed}')
    return int(seed)


def _strictness(value: str | None) -> str:
    """The given strictness, or that of the configuration."""
    if value is None:
        return str(config.gradcheck_strictness)
    if value not in (STRICT, CHAINER):
        raise ValueError(f'strictness must be {STRICT!r} or {CHAINER!r}, got {value!r}')
    return value


_arrays = get_array_types()


@dataclasses.dataclass(eq=False)
class Leaf:
    """An array that the checked function depends on: an input, an upstream gradient or a parameter.

    Attributes:
        name: Position, path or parameter name, for a failure.
        label: The same for a message, such as ``inputs[0]``.
        array: Its value; the check only reads it. The parts of complex numbers, as :func:`.parts` gives them.
        differentiable: Whether it is perturbed and its gradient compared.
        must_be_none: Whether backward must return None for it (``no_grads``).
        requires_grad: Whether the function gets a Variable that requires a gradient.
        parameter: The Variable that holds this array, for parameters.
        hidden: Whether the function uses it although the user has not passed it: only its dtype is changed.
        is_complex: Whether the function gets complex numbers.
    """

    name: int | str
    label: str
    array: Any
    differentiable: bool
    must_be_none: bool = False
    requires_grad: bool = True
    parameter: Variable | None = None
    hidden: bool = False
    is_complex: bool = False

    @property
    def value(self) -> Any:
        """The array as the function gets it."""
        return joined(self.array) if self.is_complex else self.array

    def variable(self, array: Any) -> Variable:
        """A Variable for the function, with the value ``array`` for this leaf."""
        if self.is_complex:
            array = joined(array)
        if self.parameter is None:
            return Variable(array) if self.requires_grad else Variable(array, requires_grad=False)
        self.parameter.array = array
        return self.parameter


def is_float(array: Any) -> bool:
    """Whether this is a real floating-point array."""
    return array is not None and array.dtype.kind == 'f'


def has_gradient(array: Any) -> bool:
    """Whether this is a real or complex floating-point array."""
    return array is not None and array.dtype.kind in 'fc'


def arrays_in(value: Any, path: str = '') -> Iterator[tuple[str, Any]]:
    """The arrays and Variables in nested tuples, lists and dicts, each with its path, such as ``0.b[1]``.

    A sparse matrix has one, of the values of its stored entries: gradients exist only there.
    """
    if isinstance(value, (Variable, *_arrays)):
        yield path, value
    elif isinstance(value, CooMatrix):
        yield path, value.data._data
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from arrays_in(item, f'{path}.{key}' if path else str(key))
    elif isinstance(value, (tuple, list)):
        for i, item in enumerate(value):
            yield from arrays_in(item, f'{path}[{i}]')


def rebuilt(value: Any, replacements: Iterator[Any]) -> Any:
    """The same containers, with each array or Variable replaced by the next replacement."""
    if isinstance(value, (Variable, *_arrays)):
        return next(replacements)
    if isinstance(value, CooMatrix):
        matrix = copy.copy(value)
        matrix.data = next(replacements)
        return matrix
    if isinstance(value, dict):
        return {key: rebuilt(item, replacements) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        items = [rebuilt(item, replacements) for item in value]
        return type(value)(*items) if hasattr(value, '_fields') else type(value)(items)
    return value


def input_leaves(inputs: Sequence[Any], flags: Sequence[bool] | None) -> list[Leaf]:
    """The leaves of the arguments of a function; ``flags`` (``no_grads``) has one entry per argument."""
    return [
        _leaf(path if path != str(i) else i, value, flags is not None and bool(flags[i]))
        for i, argument in enumerate(inputs)
        for path, value in arrays_in(argument, str(i))
    ]


def _leaf(name: int | str, value: Any, must_be_none: bool) -> Leaf:
    """The leaf for one input array or Variable."""
    label = f'inputs[{name}]' if isinstance(name, int) else f'inputs {name}'
    array = value._data if isinstance(value, Variable) else value
    if array is None:
        raise ValueError(f'{label} is a Variable without an array: give it one before the check')
    array = array if type(array) is np.ndarray else plain(array)
    array = array if array.dtype.isnative else native(array)
    wanted = not isinstance(value, Variable) or value.requires_grad
    floating = has_gradient(array) and wanted
    checked = floating and not must_be_none
    return Leaf(name, label, parts(array), checked, must_be_none, floating, is_complex=is_complex(array))


def parameter_leaves(params: Sequence[Any], names: dict[int, str]) -> list[Leaf]:
    """Parameters as leaves; ``names`` maps the id of a parameter to its path in a link."""
    leaves = []
    for i, p in enumerate(params):
        if not isinstance(p, Variable):
            raise TypeError(f'params[{i}] must be a Variable or Parameter, not {type(p).__name__}')
        name = names.get(id(p)) or p.name or f'params[{i}]'
        label = name if name == f'params[{i}]' else f'params[{i}] ({name})'
        if p._data is None:
            raise ValueError(f'{label} is not initialized: call the link once, or initialize it, before the check')
        checked = has_gradient(p._data) and p.requires_grad
        leaves.append(Leaf(name, label, parts(p._data), checked, parameter=p, is_complex=is_complex(p._data)))
    return leaves


def hidden_leaves(params: Sequence[Any], dtype: Any) -> list[Leaf]:
    """Leaves for the parameters that the user has not passed and whose dtype must follow the inputs."""
    if not params:
        return []
    others = [(p, parts(p._data)) for p in params]
    return [
        Leaf('', '', x, False, requires_grad=False, parameter=p, hidden=True, is_complex=is_complex(p._data))
        for p, x in others
        if is_float(x) and x.dtype != dtype
    ]


def flags_of(no_grads: Any, inputs: Sequence[Any]) -> list[bool] | None:
    """Validates ``no_grads``, one flag per argument."""
    if no_grads is None:
        return None
    if not isinstance(no_grads, (tuple, list)):
        raise TypeError(f'no_grads must be a tuple or list of bool, not {type(no_grads).__name__}')
    if len(no_grads) != len(inputs):
        raise ValueError(
            f'no_grads: one flag expected for each of the {len(inputs)} inputs.\n'
            f'Actual: {len(no_grads)} != {len(inputs)}'
        )
    return [bool(flag) for flag in no_grads]


def parameters_passed(func: Any, params: Any) -> tuple[list[Any], dict[int, str]]:
    """The parameters, each once, and the paths of those that belong to the link ``func``."""
    named = getattr(func, 'namedparams', None)
    pairs = list(named()) if named is not None else []
    names = {id(p): name for name, p in reversed(pairs)}
    if not isinstance(params, str):
        return each_once(as_tuple(params)), names
    if params != 'all':
        raise ValueError(f'params must be Variables or "all", not {params!r}')
    if named is not None:
        return each_once([p for _, p in pairs]), names
    if not hasattr(func, 'params'):
        raise TypeError(
            f'params="all" needs a Link as func, but {name_of(func)} is a {type(func).__name__}: '
            'pass the parameters themselves, such as params=tuple(link.params())'
        )
    return each_once(func.params()), names


def each_once(params: Iterable[Any]) -> list[Any]:
    """The parameters without repetitions: a tied one is a single leaf, with all that its uses add to its gradient."""
    return list({id(p): p for p in params}.values())


def name_of(func: Any) -> str:
    """The name of a function in messages."""
    return getattr(func, '__name__', None) or type(func).__name__


def as_tuple(value: Any) -> tuple[Any, ...]:
    """A list or tuple as a tuple, anything else as a tuple of one."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def describe_arrays(arrays: Sequence[Any]) -> str:
    """Shapes and dtypes in one line, such as ``(2, 3):float32, None``."""
    texts = ('None' if a is None else f'{tuple(a.shape)}:{a.dtype}' for a in arrays)
    return ', '.join(texts) or '(nothing)'


def check_pairs(outputs: Sequence[Any], grad_outputs: Sequence[Any], check_dtype: bool = True) -> None:
    """Raises ValueError unless each output has an upstream gradient of its shape (and dtype), or None."""
    lists = (
        f'Output shapes and dtypes         : {describe_arrays(outputs)}\n'
        f'Output gradient shapes and dtypes: {describe_arrays(grad_outputs)}'
    )
    if len(outputs) != len(grad_outputs):
        raise ValueError(f'Output gradients must be as many as the outputs, or None in their place.\n{lists}')
    for y, gy in zip(outputs, grad_outputs, strict=True):
        if gy is None:
            continue
        if y is None or y.shape != gy.shape or (check_dtype and y.dtype != gy.dtype):
            raise ValueError(f'Outputs and their gradients differ in shape or dtype.\n{lists}')


def check_grad_grads(what: str, arrays: Sequence[Any], grads_what: str, grad_grads: Sequence[Any]) -> None:
    """Raises ValueError unless each array has a second upstream gradient of its shape and dtype, or None."""
    try:
        check_pairs(arrays, grad_grads)
    except ValueError as error:
        raise ValueError(f'{grads_what} must have an array (or None) for each entry of {what}.\n{error}') from None
    for i, (x, gg) in enumerate(zip(arrays, grad_grads, strict=True)):
        if gg is not None and not has_gradient(x):
            raise ValueError(f'{grads_what}[{i}] must be None, because {what}[{i}] ({x.dtype}) has no gradient')
