"""Forward mode: the directional derivative of each result is computed together with the result.

Inside of a :class:`dual_level`, functions of a Variable with a tangent (:func:`make_dual`) give Variables with
tangents. So do backward passes: the gradient of a function of dual Variables has a tangent, a product of the Hessian
with a vector.
"""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import Any, NamedTuple

from minichainer import _tangents
from minichainer._checks import array_types, as_raw
from minichainer._tangents import Level
from minichainer.errors import describe
from minichainer.functions.array.conversion import as_dtype, identity
from minichainer.variable import Variable, as_variable

__all__ = ['UnpackedDualTensor', 'dual_level', 'enter_dual_level', 'exit_dual_level', 'make_dual', 'unpack_dual']


class UnpackedDualTensor(NamedTuple):
    """A Variable without its tangent, and the tangent, a Variable; None if there is none."""

    primal: Variable
    tangent: Variable | None


class dual_level(ContextDecorator):
    """Context manager in which Variables can have tangents; they lose them at the end.

    It returns the level. Its set ``by_double_backward`` has the labels of the functions whose tangents took two
    backward passes, because no direct method is known. Levels cannot be nested.

    Raises:
        RuntimeError: there is a level in this thread already.

    >>> import numpy as np, minichainer.functions as F
    >>> from minichainer.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(np.array([0., 1.]), np.array([1., 10.]))
    ...     forward_ad.unpack_dual(F.exp(x) * x).tangent.array.round(3)
    array([ 1.   , 54.366])
    """

    def __enter__(self) -> Level:
        self._level = Level()
        try:
            _tangents.enter(self._level)
            return self._level
        except BaseException:
            _tangents.abandon(self._level)
            raise

    def __exit__(self, kind: Any, *_: Any) -> None:
        try:
            exit_dual_level(level=self._level)
        except RuntimeError:  # of an exception that ends the block more can be learnt
            if kind is None:
                raise
        except BaseException:  # that of a signal
            _tangents.abandon(self._level)
            raise


def enter_dual_level() -> Level:
    """Begins a level, in which Variables can have tangents, and returns it.

    Raises:
        RuntimeError: there is one in this thread already.

    >>> from minichainer.autograd import forward_ad
    >>> level = forward_ad.enter_dual_level()
    >>> forward_ad.exit_dual_level(level=level)
    """
    return _tangents.enter(Level())


def exit_dual_level(*, level: Level | None = None) -> None:
    """Ends a level: all tangents are gone.

    Args:
        level: what :func:`enter_dual_level` returned; None for the present level.

    Raises:
        RuntimeError: there is no level, or it is another one.
    """
    _tangents.leave(level)


def make_dual(tensor: Any, tangent: Any, *, level: Level | None = None) -> Variable:
    """Returns a Variable that shares the array of another one and has a tangent.

    Gradients flow from it to ``tensor``, and from tangents of results to ``tensor`` and ``tangent``.

    Args:
        tensor: Variable or array of floats.
        tangent: Variable or array of the same shape; it is cast to the same dtype.
        level: the present level; may be left out.

    Raises:
        RuntimeError: there is no level, the shapes differ, or ``tensor`` has a tangent.
        ValueError: one of them is not of floats, or only the tangent is complex.
        TypeError: one of them is neither a Variable nor an array.

    >>> import numpy as np
    >>> from minichainer.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     forward_ad.unpack_dual(forward_ad.make_dual(np.ones(1), np.array([2.])))
    UnpackedDualTensor(primal=variable([1.]), tangent=variable([2.]))
    """
    present = _present(level, 'make_dual')
    if present is None:
        raise RuntimeError('make_dual: there is no level; use it in a block: with forward_ad.dual_level():')
    kinds: Any = (Variable, *array_types())
    for name, value in (('tensor', tensor), ('tangent', tangent)):
        if not isinstance(value, kinds):
            raise TypeError(f'make_dual: {name} must be a Variable or an array, got {type(value).__name__}')
        if value.dtype.kind not in 'fc':
            raise ValueError(f'make_dual: {name} must have a float dtype, got {value.dtype}; cast it first')
    if tensor.shape != tangent.shape:
        raise RuntimeError(
            f'make_dual: the tangent must have the shape of the tensor\nExpect: {describe(as_raw(tensor))}\n'
            f'Actual: {describe(as_raw(tangent))}'
        )
    if tangent.dtype.kind == 'c' and tensor.dtype.kind != 'c':
        raise ValueError(f'make_dual: the tangent of a real tensor must be real, got {tangent.dtype}')
    tensor = as_variable(tensor)
    if tensor.edge._tangent is not None:
        raise RuntimeError('make_dual: the tensor has a tangent already')
    with _tangents.computing():
        dual: Variable = identity(tensor)
        direction = as_dtype(tangent, dual.dtype)
        present.put(dual.edge, direction if direction.requires_grad else as_raw(direction))
    return dual


def unpack_dual(tensor: Any, *, level: Level | None = None) -> UnpackedDualTensor:
    """Returns the value of a Variable without its tangent, and the tangent.

    Args:
        tensor: Variable.
        level: the present level; may be left out.

    Returns:
        The named tuple ``(primal, tangent)``; ``tangent`` is None if there is none, or no level.

    Raises:
        TypeError: ``tensor`` is not a Variable.
        RuntimeError: ``level`` is not the present one.

    >>> import numpy as np
    >>> from minichainer.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(np.array(3.), np.array(1.))
    ...     forward_ad.unpack_dual(x * x).tangent
    variable(6.)
    """
    if not isinstance(tensor, Variable):
        raise TypeError(f'unpack_dual: tensor must be a Variable, got {type(tensor).__name__}')
    if _present(level, 'unpack_dual') is None or tensor.edge._tangent is None:
        return UnpackedDualTensor(tensor, None)
    with _tangents.computing():
        return UnpackedDualTensor(identity(tensor), as_variable(tensor.edge._tangent))


def _present(level: Level | None, what: str) -> Level | None:
    present = _tangents.current()
    if level is not None and level is not present:
        raise RuntimeError(f'{what}: this level is not the present one')
    return present
