"""Programs on minichainer."""

from __future__ import annotations

from typing import Any

import numpy as np

import minichainer.functions as F
from minichainer import autograd
from tests.autograd.programs.world import World


class Minichainer(World):
    autograd = autograd
    ops = F

    @property
    def Function(self) -> Any:
        return autograd.Function

    def raw(self, values: Any, dtype: str = 'f8') -> Any:
        return np.array(values, dtype)

    def tensor(self, values: Any, requires_grad: bool = False, dtype: str = 'f8') -> Any:
        return autograd.Variable(self.raw(values, dtype), requires_grad=requires_grad)

    def array(self, x: Any) -> Any:
        return x.array

    def grad_var(self, x: Any) -> Any:
        return x.grad_var

    def set_grad(self, x: Any, values: Any) -> None:
        x.grad = None if values is None else np.array(values, x.dtype)

    def write(self, x: Any, values: Any) -> None:
        x.array[...] = getattr(values, 'array', values)

    def checkpoint(self, function: Any, *args: Any) -> Any:
        return autograd.checkpoint(function, *args)

    def cat(self, xs: Any, axis: int = 0) -> Any:
        return F.concat(tuple(xs), axis)

    def split(self, x: Any, sections: int, axis: int = 0) -> Any:
        """Equal parts."""
        return F.split_axis(x, sections, axis)

    def cumsum(self, x: Any, axis: int = 0) -> Any:
        return F.cumsum(x, axis)

    def cast(self, x: Any, dtype: str) -> Any:
        return F.cast(x, dtype)
