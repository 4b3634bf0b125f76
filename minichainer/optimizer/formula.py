"""Update rules that are one formula, evaluated in blocks that stay in the cache."""

from __future__ import annotations

import functools
import threading
from itertools import repeat
from typing import Any, ClassVar

import numpy as np

from minichainer.backend import get_array_module
from minichainer.kernels.updates import compiled_update
from minichainer.optimizer.hyperparameters import Hyperparameter
from minichainer.optimizer.rule import UpdateRule
from minichainer.variable import Parameter

# Bytes per operand and block. A formula reads its operands about ten times; blocks of this size stay in L2, and the
# fixed cost of the calls is a few per cent (benchmarks/optimizers.py).
BLOCK_BYTES = 1 << 17

# The methods through which an update reaches the formula. If a class overrides one, its parameters are updated one at
# a time.
STEPS = ('update', '_update', 'update_core', 'update_core_cpu')

_FLOAT32 = np.dtype(np.float32)


class _Scratch(threading.local):
    """Scratch blocks by dtype, separate for each thread."""

    def __init__(self) -> None:
        self.blocks: dict[np.dtype[Any], list[np.ndarray]] = {}


_local = _Scratch()


class FormulaRule(UpdateRule):
    """An update rule defined by one formula on the elements of a parameter, its gradient and its states.

    A subclass declares hyperparameters and states, and defines :meth:`formula`, and if necessary :meth:`coefficients`
    and :attr:`temporaries`. The formula is evaluated on the arrays of one parameter, block by block, or on many small
    parameters gathered into one block; the results are identical. float16 is computed in float32 and rounded when it
    is stored.

    Args:
        parent_hyperparam: the set in which values that are not given are looked up.
        values: the declared hyperparameters for this rule alone, in their order; None leaves the parent's value.
        named: the same by name.

    >>> import numpy as np, minichainer as chainer
    >>> class DecayRule(chainer.optimizer.FormulaRule):
    ...     rate = chainer.optimizer.hyperparameter(0.5, 'part of the parameter that is taken away')
    ...     @staticmethod
    ...     def formula(xp, coefficients, temporaries, param, grad):
    ...         rate, = coefficients
    ...         step, = temporaries
    ...         xp.multiply(param, rate, step)
    ...         param -= step
    >>> param = chainer.Parameter(np.ones(2, np.float32))
    >>> param.update_rule = DecayRule()
    >>> param.grad = np.zeros(2, np.float32)
    >>> param.update()
    >>> param.array
    array([0.5, 0.5], dtype=float32)
    """

    is_elementwise = True
    #: Whether each element is updated independently. If not, for example if the formula takes a norm, the formula
    #: gets whole parameters.
    elementwise = True
    #: Number of scratch arrays for the formula.
    temporaries = 1
    #: What the coefficients depend on besides hyperparameters and ``t``; hashable.
    group_token: Any = None
    #: Whether parameters of this class of rules may be gathered.
    groupable: ClassVar[bool] = False
    #: The same on devices.
    groupable_on_device: ClassVar[bool] = False
    #: A formula for elements that changes states and leaves a direction in the first temporary, if the update is
    #: ``param -= rate * norm(param) / norm(direction) * direction``, where the rate is the last coefficient and the
    #: ratio is 1 if one norm is zero. Parameters on a device are then updated together.
    direction: Any = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = all(getattr(cls, step) is getattr(FormulaRule, step) for step in STEPS)
        if 'formula' in cls.__dict__ and 'direction' not in cls.__dict__:
            cls.direction = None
        cls.groupable = cls.elementwise and own
        cls.groupable_on_device = (cls.elementwise or cls.direction is not None) and own

    def coefficients(self, hyperparam: Hyperparameter, dtype: np.dtype[Any]) -> tuple[float | None, ...]:
        """Returns the coefficients of the formula for update number :attr:`t`; ``dtype`` is the dtype of the
        computation.

        By default these are the declared hyperparameters. They may depend on ``hyperparam``, :attr:`t` and
        :attr:`group_token`.

        Args:
            hyperparam: the hyperparameters, as attributes.
            dtype: dtype of the computation.
        """
        return tuple(map(getattr, repeat(hyperparam), self._arguments))

    # With ** beside * type checkers let a subclass name its states.
    @staticmethod
    def formula(
        xp: Any, coefficients: Any, temporaries: Any, param: Any, grad: Any, *states: Any, **none: Any
    ) -> None:
        """Changes ``param`` and ``states`` in place, but not ``grad``; ``temporaries`` are scratch arrays.

        Args:
            xp: NumPy or CuPy.
            coefficients: what :meth:`coefficients` returns, as 0-d arrays.
            temporaries: as many arrays to compute in as the class declares.
            param: array of the parameter.
            grad: its gradient.
            states: arrays of the declared states.
        """
        raise NotImplementedError('a FormulaRule must define formula')

    def operands(self, coefficients: tuple[Any, ...], dtype: np.dtype[Any]) -> tuple[np.ndarray | None, ...]:
        """Returns the coefficients as 0-d arrays, which NumPy combines with arrays faster than Python numbers.

        Args:
            coefficients: numbers, or None.
            dtype: their dtype.
        """
        try:
            return tuple(map(_operand, coefficients, repeat(dtype)))
        except TypeError:
            return tuple([_checked_operand(self, value, dtype) for value in coefficients])

    def update_core_cpu(self, param: Parameter) -> None:
        """Applies the formula to ``param.array`` in place; does nothing without a gradient."""
        if param.grad is not None:
            dtype = computing_dtype(type(self).__name__, param._data.dtype)
            self.apply(param, self.coefficients(self.hyperparam, dtype), dtype)

    def apply(self, param: Parameter, coefficients: tuple[Any, ...], dtype: np.dtype[Any]) -> None:
        """Applies the formula to the NumPy arrays of a parameter.

        Args:
            param: the parameter.
            coefficients: what :meth:`operands` returns.
            dtype: dtype of the computation.
        """
        states = self.states_for(param)
        arrays = [param._data, param.grad, *states]
        if not param._data.flags.writeable:
            raise ValueError(
                f'{type(self).__name__}: {_called(param)} has a read-only array, but updates are made in '
                'place; give it a writable copy: param.array = param.array.copy()'
            )
        update = compiled_update(self.formula, dtype, coefficients, len(states))
        if update is None or not update[0](param.grad, param._data, *states, *update[1]):
            apply_in_blocks(self, self.operands(coefficients, dtype), dtype, arrays)

    def update_core_gpu(self, param: Parameter) -> None:
        """Applies the formula to whole CuPy arrays; does nothing without a gradient."""
        if param.grad is None:
            return
        xp = get_array_module(param._data)
        dtype = computing_dtype(type(self).__name__, param._data.dtype)
        arrays = [param._data, param.grad, *self.states_for(param)]
        working = [array.astype(dtype, copy=False) for array in arrays]
        scratch = [xp.empty(param._data.shape, dtype) for _ in range(self.temporaries)]
        coefficients = tuple(
            None if value is None else float(value) for value in self.coefficients(self.hyperparam, dtype)
        )
        self.formula(xp, coefficients, scratch, *working)
        for index, (array, result) in enumerate(zip(arrays, working, strict=True)):
            if result is not array and index != 1:
                array[...] = result

    def states_for(self, param: Parameter) -> list[Any]:
        """Returns the states in the order of their declarations; missing ones get their initial values.

        Args:
            param: the parameter.

        Raises:
            ValueError: a state or the gradient has another shape than the parameter.
        """
        array, state = param._data, self._state
        if state is None:
            state = self._state = {}
        names = self._kept_states(self.hyperparam)
        for name in names:
            if name not in state:
                state[name] = self._declared_states[name].array_for(array)
        states = [state[name] for name in names]
        for name, other in zip(('grad', *names), (param.grad, *states), strict=True):
            if other.shape != array.shape:
                what = 'the gradient' if name == 'grad' else f"state '{name}'"
                raise ValueError(
                    f'{type(self).__name__}: {_called(param)} has shape {array.shape}, {what} has shape '
                    f'{other.shape}; after changing the shape of a parameter, call optimizer.setup(model) again, '
                    'and load only snapshots of the same model'
                )
        return states


@functools.lru_cache(maxsize=256)
def computing_dtype(name: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Returns the dtype of the computation for a parameter: its own in native byte order, float32 for float16."""
    if dtype.kind not in 'fc':
        raise TypeError(f'{name}: only floating point parameters can be updated, got {dtype}')
    if dtype.char == 'e':
        return _FLOAT32
    return dtype if dtype.isnative else dtype.newbyteorder('=')


def block_size(dtype: np.dtype[Any]) -> int:
    """Returns the number of elements in a block."""
    return BLOCK_BYTES // dtype.itemsize


def _scratch(rule: FormulaRule, dtype: np.dtype[Any], count: int, size: int) -> list[np.ndarray]:
    """Returns ``count`` scratch arrays of ``size`` elements; blocks are cached for each thread."""
    if not rule.elementwise:
        return [np.empty(size, dtype) for _ in range(count)]
    held = _local.blocks.setdefault(dtype, [])
    while len(held) < count:
        held.append(np.empty(block_size(dtype), dtype))
    return [block[:size] for block in held[:count]]


def apply_in_blocks(rule: FormulaRule, operands: Any, dtype: np.dtype[Any], arrays: list[np.ndarray]) -> None:
    """Applies the rule's formula to a parameter, its gradient and states, block by block."""
    flat = [array.reshape(-1) for array in arrays]
    if all(array.dtype == dtype for array in flat):
        apply_in_place(rule, operands, dtype, flat)
    else:
        _converted(rule, operands, dtype, flat)
    for index, (array, result) in enumerate(zip(arrays, flat, strict=True)):
        if index != 1 and not array.flags.c_contiguous:
            array[...] = result.reshape(array.shape)


def apply_in_place(rule: FormulaRule, operands: Any, dtype: np.dtype[Any], flat: list[np.ndarray]) -> None:
    """Applies the rule's formula in place to 1-d arrays of the dtype of the computation, block by block."""
    total, size = flat[0].size, block_size(dtype)
    if total <= size or not rule.elementwise:
        rule.formula(np, operands, _scratch(rule, dtype, rule.temporaries, total), *flat)
        return
    scratch = _scratch(rule, dtype, rule.temporaries, size)
    for start in range(0, total, size):
        blocks = [array[start : start + size] for array in flat]
        count = blocks[0].size
        rule.formula(np, operands, scratch if count == size else [t[:count] for t in scratch], *blocks)


def _converted(rule: FormulaRule, operands: Any, dtype: np.dtype[Any], flat: list[np.ndarray]) -> None:
    """Applies the rule's formula to 1-d arrays of other dtypes, through copies of blocks."""
    total = flat[0].size
    size = min(block_size(dtype), total) if rule.elementwise else total
    for start in range(0, total, size or 1):
        blocks = [array[start : start + size] for array in flat]
        scratch = _scratch(rule, dtype, rule.temporaries + len(flat), blocks[0].size)
        copies = scratch[rule.temporaries :]
        for copy, block in zip(copies, blocks, strict=True):
            copy[...] = block
        rule.formula(np, operands, scratch[: rule.temporaries], *copies)
        for index, (copy, block) in enumerate(zip(copies, blocks, strict=True)):
            if index != 1:
                block[...] = copy


@functools.lru_cache(maxsize=256)
def check_eps(name: str, eps: float, dtype: np.dtype[Any]) -> None:
    """Raises ValueError if ``eps``, which avoids division by zero, becomes zero in the dtype of the computation."""
    if eps and not dtype.type(eps):
        raise ValueError(
            f'eps of {name.removesuffix("Rule")} optimizer is too small for {dtype.name} ({eps}); the '
            f'smallest is {np.finfo(dtype).smallest_subnormal}'
        )


@functools.lru_cache(maxsize=256)
def _operand(value: float | None, dtype: np.dtype[Any]) -> np.ndarray | None:
    if value is None:
        return None
    operand = np.array(value, dtype)
    operand.flags.writeable = False
    return operand


def _checked_operand(rule: UpdateRule, value: Any, dtype: np.dtype[Any]) -> np.ndarray | None:
    """Converts a value that cannot be a key of the cache: a 0-d array; raises an error for anything else."""
    if np.ndim(value):
        raise TypeError(
            f'{type(rule).__name__}: hyperparameters must be numbers, got an array of shape {np.shape(value)}'
            '; for a separate value per parameter set param.update_rule.hyperparam'
        )
    return None if value is None else np.array(value, dtype)


def _called(param: Parameter) -> str:
    return f"parameter '{param.name}'" if param.name else 'the parameter'
