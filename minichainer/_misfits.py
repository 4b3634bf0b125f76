"""Errors that are an InvalidType and of the type that Chainer, or NumPy in it, raises for the same."""

from __future__ import annotations

from typing import Any

from minichainer.errors import GradientShapeError, GradientTypeError
from minichainer.utils.type_check import InvalidType


class AxesError(InvalidType, ValueError, IndexError):
    """Axes that the array does not have, or a permutation that is not one of them.

    NumPy's error, which is a ValueError and an IndexError, where Chainer leaves it to NumPy; else InvalidType.
    """


class _Added(InvalidType):
    """An error that is made from its text."""

    def __init__(self, text: str) -> None:
        super().__init__('a gradient of the same kind', 'another one', text)

    def __reduce__(self) -> Any:
        return type(self), self.args


class AddedGradientError(_Added, GradientShapeError):
    """A gradient is added to one of another shape: InvalidType in Chainer, which adds them by an operator."""


class AddedGradientTypeError(_Added, GradientTypeError):
    """A gradient is added to one of another dtype."""


#: The errors of ``addgrad``.
ADDED = AddedGradientError, AddedGradientTypeError
