"""What updaters of several copies of a model share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from minichainer import backend
from minichainer.dataset.convert import call_converter, call_with


def differentiate(
    model: Any, loss_func: Callable[..., Any] | None, converter: Callable[..., Any], batch: list[Any], device: Any,
    loss_scale: float | None = None,
) -> None:  # fmt: skip
    """Adds the gradients of the loss of some examples to those of a model, on its device."""
    with backend.using_device(device):
        arrays = call_converter(converter, batch, device)
        loss = call_with(loss_func or model, arrays)
        loss.backward(loss_scale=loss_scale)


def as_device(specifier: Any) -> Any:
    """A device; integers mean a GPU, or the CPU if negative."""
    if isinstance(specifier, int):
        specifier = '@numpy' if specifier < 0 else f'@cupy:{specifier}'
    return backend.get_device(specifier)


def main_first(names: Iterable[str]) -> list[str]:
    """The names in their order, but with ``'main'`` in front."""
    return sorted(names, key=lambda name: name != 'main')


def is_initialized(model: Any) -> bool:
    """Whether all parameters have arrays."""
    return all(param.is_initialized for param in model.params())
