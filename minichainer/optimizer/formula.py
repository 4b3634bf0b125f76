"""Update rules that are one elementwise formula, evaluated in blocks that stay in the cache."""

from __future__ import annotations

import functools
import threading
from typing import Any

import numpy as np

from minichainer.backend import get_array_module
from minichainer.optimizer.hyperparameters import Hyperparameter
from minichainer.optimizer.rule import UpdateRule
from minichainer.variable import Parameter

# Bytes per operand and block. A formula passes over its operands about ten times; at this size they stay in
# L2, and the fixed cost of the calls is a few per cent (benchmarks/optimizers.py).
BLOCK_BYTES = 1 << 17

_FLOAT32 = np.dtype(np.float32)
_local = threading.local()


def _scratch() -> dict[Any, list[np.ndarray]]:
    return _local.__dict__


def block_size(dtype: np.dtype[Any]) -> int:
    """Return the number of elements in a block."""
    return BLOCK_BYTES // dtype.itemsize


def temporaries(dtype: np.dtype[Any], count: int) -> list[np.ndarray]:
    """Return ``count`` scratch blocks of this thread."""
    held: list[np.ndarray] = _scratch().setdefault(dtype, [])
    while len(held) < count:
        held.append(np.empty(block_size(dtype), dtype))
    return held[:count]


class ElementwiseRule(UpdateRule):
    """An update rule stated once, as a formula on blocks of elements.

    The formula is evaluated on the arrays of one parameter, block by block, or on many small parameters
    gathered into one block: with the same result, bit for bit. float16 is computed in float32 and rounded
    when it is stored.

    A subclass gives :attr:`state_names`, :attr:`temporaries`, :meth:`coefficients` and :meth:`formula`; with
    ``groupable = True`` in its own body it says that nothing else about it matters, so that its parameters
    may be updated together. A class derived from it is updated one parameter at a time, whatever it
    overrides.

    Args:
        parent_hyperparam (Hyperparameter): the defaults.
        given: values for this rule alone; None leaves the parent's.

    """

    is_elementwise = True
    state_names: tuple[str, ...] = ()
    temporaries = 1
    #: What else, beside hyperparameters and ``t``, the coefficients of this rule depend on.
    group_token: Any = None

    def __init__(self, parent_hyperparam: Hyperparameter | None = None, **given: Any) -> None:
        super().__init__(parent_hyperparam)
        for name, value in given.items():
            if value is not None:
                setattr(self.hyperparam, name, value)

    def coefficients(self, hyperparam: Hyperparameter, dtype: np.dtype[Any]) -> tuple[float | None, ...]:
        """Return the numbers of the formula for update number :attr:`t`; ``dtype`` is what it computes in."""
        raise NotImplementedError(f'{type(self).__name__} does not define coefficients')

    @staticmethod
    def formula(xp: Any, coefficients: Any, temporaries: Any, param: Any, grad: Any, *states: Any) -> None:
        """Change ``param`` and ``states`` in place, never ``grad``; ``temporaries`` are free to use."""
        raise NotImplementedError('an ElementwiseRule must define formula')

    def init_state(self, param: Parameter) -> None:
        """Make every state a zero array of the parameter's shape and dtype."""
        xp = get_array_module(param.array)
        for name in self.state_names:
            self._state[name] = xp.zeros(param.array.shape, param.array.dtype)

    def operands(self, hyperparam: Hyperparameter, dtype: np.dtype[Any]) -> tuple[np.ndarray | None, ...]:
        """Return the coefficients as 0-d arrays, which NumPy combines faster with arrays than Python numbers."""
        values = self.coefficients(hyperparam, dtype)
        try:
            return tuple([None if value is None else _operand(value, dtype) for value in values])
        except TypeError:
            return tuple(None if value is None else _checked_operand(self, value, dtype) for value in values)

    def update_core_cpu(self, param: Parameter) -> None:
        """Apply the formula to ``param.array`` in place; nothing happens without a gradient."""
        if param.grad is not None:
            dtype = computing_dtype(self, param.array.dtype)
            self.apply(param, self.operands(self.hyperparam, dtype), dtype)

    def apply(self, param: Parameter, operands: Any, dtype: np.dtype[Any]) -> None:
        """Apply the formula with given operands to the NumPy arrays of a parameter."""
        arrays = [param.array, param.grad, *self.states_for(param)]
        if not param.array.flags.writeable:
            raise ValueError(
                f'{type(self).__name__}: {_called(param)} has a read-only array, but updates are made in '
                'place; give it a writable copy: param.array = param.array.copy()'
            )
        apply_in_blocks(self, operands, dtype, arrays)

    def update_core_gpu(self, param: Parameter) -> None:
        """Apply the formula to whole CuPy arrays; nothing happens without a gradient."""
        if param.grad is None:
            return
        xp = get_array_module(param.array)
        dtype = computing_dtype(self, param.array.dtype)
        arrays = [param.array, param.grad, *self.states_for(param)]
        working = [array.astype(dtype, copy=False) for array in arrays]
        scratch = [xp.empty(param.array.shape, dtype) for _ in range(self.temporaries)]
        coefficients = tuple(
            None if value is None else float(value) for value in self.coefficients(self.hyperparam, dtype)
        )
        self.formula(xp, coefficients, scratch, *working)
        for index, (array, result) in enumerate(zip(arrays, working, strict=True)):
            if result is not array and index != 1:
                array[...] = result

    def states_for(self, param: Parameter) -> list[Any]:
        """Return the states in the order of :attr:`state_names`; a state that is missing begins at zero.

        Raises:
            ValueError: a state or the gradient has another shape than the parameter.

        """
        array, state = param.array, self._state
        if state is None:
            state = self._state = {}
        for name in self.state_names:
            if name not in state:
                state[name] = get_array_module(array).zeros(array.shape, array.dtype)
        states = [state[name] for name in self.state_names]
        for name, other in zip(('grad', *self.state_names), (param.grad, *states), strict=True):
            if other.shape != array.shape:
                what = 'the gradient' if name == 'grad' else f"state '{name}'"
                raise ValueError(
                    f'{type(self).__name__}: {_called(param)} has shape {array.shape}, {what} has shape '
                    f'{other.shape}; after a parameter changed its shape, call optimizer.setup(model) again, '
                    'and load only snapshots of the same model'
                )
        return states


def computing_dtype(rule: UpdateRule, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return what a parameter is updated in: its own dtype in native byte order, float32 for float16."""
    if dtype.kind not in 'fc':
        raise TypeError(f'{type(rule).__name__}: only floating point parameters can be updated, got {dtype}')
    if dtype.char == 'e':
        return _FLOAT32
    return dtype if dtype.isnative else dtype.newbyteorder('=')


def apply_in_blocks(rule: ElementwiseRule, operands: Any, dtype: np.dtype[Any], arrays: list[np.ndarray]) -> None:
    """Apply the rule's formula to a parameter, its gradient and states, all but the gradient in place."""
    flat = [array.reshape(-1) for array in arrays]
    if all(array.dtype == dtype for array in flat):
        apply_in_place(rule, operands, dtype, flat)
    else:
        _converted(rule, operands, dtype, flat)
    for index, (array, result) in enumerate(zip(arrays, flat, strict=True)):
        if index != 1 and not array.flags.c_contiguous:
            array[...] = result.reshape(array.shape)


def apply_in_place(rule: ElementwiseRule, operands: Any, dtype: np.dtype[Any], flat: list[np.ndarray]) -> None:
    """Apply the rule's formula to one-dimensional arrays of the dtype it computes in, block by block."""
    scratch = temporaries(dtype, rule.temporaries)
    formula, size = rule.formula, scratch[0].size
    for start in range(0, flat[0].size, size):
        blocks = [array[start : start + size] for array in flat]
        count = blocks[0].size
        formula(np, operands, scratch if count == size else [t[:count] for t in scratch], *blocks)


def _converted(rule: ElementwiseRule, operands: Any, dtype: np.dtype[Any], flat: list[np.ndarray]) -> None:
    scratch = temporaries(dtype, rule.temporaries + len(flat))
    size = block_size(dtype)
    for start in range(0, flat[0].size, size):
        blocks = [array[start : start + size] for array in flat]
        working = [t[: blocks[0].size] for t in scratch]
        copies = working[rule.temporaries :]
        for copy, block in zip(copies, blocks, strict=True):
            copy[...] = block
        rule.formula(np, operands, working[: rule.temporaries], *copies)
        for index, (copy, block) in enumerate(zip(copies, blocks, strict=True)):
            if index != 1:
                block[...] = copy


def check_eps(rule: UpdateRule, eps: float, dtype: np.dtype[Any]) -> None:
    """Raise ValueError if ``eps``, which guards a division, becomes zero in the dtype of the computation."""
    if eps and not dtype.type(eps):
        name = type(rule).__name__.removesuffix('Rule')
        raise ValueError(
            f'eps of {name} optimizer is too small for {dtype.name} ({eps}); the smallest is '
            f'{np.finfo(dtype).smallest_subnormal}'
        )


@functools.lru_cache(maxsize=256)
def _operand(value: float, dtype: np.dtype[Any]) -> np.ndarray:
    operand = np.array(value, dtype)
    operand.flags.writeable = False
    return operand


def _checked_operand(rule: UpdateRule, value: Any, dtype: np.dtype[Any]) -> np.ndarray:
    """Convert what cannot be a key of the cache: a 0-d array, or an error."""
    if np.ndim(value):
        raise TypeError(
            f'{type(rule).__name__}: hyperparameters must be numbers, got an array of shape {np.shape(value)}'
            '; for another value per parameter set param.update_rule.hyperparam'
        )
    return np.array(value, dtype)


def _called(param: Parameter) -> str:
    return f"parameter '{param.name}'" if param.name else 'the parameter'
