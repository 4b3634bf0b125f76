"""Errors that are an InvalidType and of the type that Chainer, or NumPy in it, raises for the same."""

from __future__ import annotations

from typing import Any

from minichainer.errors import GradientShapeError
from minichainer.utils.type_check import InvalidType


class AxesError(InvalidType, ValueError, IndexError):
    """Axes that the array does not have, or a permutation that is not one of them.

    NumPy's error, which is a ValueError and an IndexError, where Chainer leaves it to NumPy; else InvalidType.
    """


class AddedGradientError(GradientShapeError, InvalidType):
    """A gradient is added to one of another shape: InvalidType in Chainer, which adds them by an operator."""

    def __init__(self, text: str) -> None:
        InvalidType.__init__(self, 'the shape of the array', 'another shape', text)

    def __reduce__(self) -> Any:
        return type(self), self.args
