"""Programs on torch."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
import torch.autograd.forward_ad
import torch.utils.checkpoint

from tests.autograd.programs.world import World


class Torch(World):
    autograd = SimpleNamespace(**vars(torch.autograd), is_grad_enabled=torch.is_grad_enabled)
    Function = torch.autograd.Function
    ops = torch

    def raw(self, values: Any, dtype: str = 'f8') -> Any:
        return torch.tensor(np.array(values, dtype))

    def tensor(self, values: Any, requires_grad: bool = False, dtype: str = 'f8') -> Any:
        return self.raw(values, dtype).requires_grad_(requires_grad)

    def array(self, x: Any) -> Any:
        return x.detach().resolve_conj().resolve_neg().numpy()

    def grad_var(self, x: Any) -> Any:
        return x.grad

    def set_grad(self, x: Any, values: Any) -> None:
        x.grad = None if values is None else torch.tensor(values, dtype=x.dtype)

    def write(self, x: Any, values: Any) -> None:
        with torch.no_grad():
            x.copy_(torch.as_tensor(values, dtype=x.dtype))

    def checkpoint(self, function: Any, *args: Any) -> Any:
        return torch.utils.checkpoint.checkpoint(function, *args, use_reentrant=False)

    def sum(self, x: Any, axis: Any = None) -> Any:
        return torch.sum(x) if axis is None else torch.sum(x, axis)

    def max(self, x: Any, axis: Any = None) -> Any:
        return torch.max(x) if axis is None else torch.amax(x, axis)

    def cat(self, xs: Any, axis: int = 0) -> Any:
        return torch.cat(tuple(xs), axis)

    def split(self, x: Any, sections: int, axis: int = 0) -> Any:
        """Equal parts."""
        return torch.chunk(x, sections, axis)

    def transpose(self, x: Any) -> Any:
        return x.T

    def reshape(self, x: Any, shape: Any) -> Any:
        return torch.reshape(x, shape)

    def cast(self, x: Any, dtype: str) -> Any:
        return x.to(getattr(torch, dtype))
