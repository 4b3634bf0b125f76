"""Hooks under their names from Chainer v3."""

from __future__ import annotations

import warnings
from typing import Any

from minichainer import optimizer_hooks


def make_deprecation_message(module_name: str) -> str:
    """Returns the warning for a hook used under its name from Chainer v3.

    Args:
        module_name: the name of the hook.
    """
    return (
        f'chainer.optimizer.{module_name} is deprecated from v4. Use chainer.optimizer_hooks.{module_name} instead.'
    )


class _Moved:
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(make_deprecation_message(type(self).__name__), DeprecationWarning, stacklevel=2)
        super().__init__(*args, **kwargs)


class WeightDecay(_Moved, optimizer_hooks.WeightDecay):
    """Deprecated name of :class:`minichainer.optimizer_hooks.WeightDecay`."""


class Lasso(_Moved, optimizer_hooks.Lasso):
    """Deprecated name of :class:`minichainer.optimizer_hooks.Lasso`."""


class GradientClipping(_Moved, optimizer_hooks.GradientClipping):
    """Deprecated name of :class:`minichainer.optimizer_hooks.GradientClipping`."""


class GradientNoise(_Moved, optimizer_hooks.GradientNoise):
    """Deprecated name of :class:`minichainer.optimizer_hooks.GradientNoise`."""


class GradientHardClipping(_Moved, optimizer_hooks.GradientHardClipping):
    """Deprecated name of :class:`minichainer.optimizer_hooks.GradientHardClipping`."""
