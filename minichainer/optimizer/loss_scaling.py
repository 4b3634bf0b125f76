"""A factor on the loss that prevents underflow of small float16 gradients."""

from __future__ import annotations

import contextlib
import math
import warnings
from typing import Any

from minichainer.backends import cuda
from minichainer.kernels.cuda import gradients


class LossScaling:
    """Loss scaling for an optimizer, with a constant or an adaptive factor.

    From Micikevicius et al., *Mixed precision training*, ICLR 2018, https://arxiv.org/abs/1710.03740
    """

    target: Any = None
    t = 0
    _loss_scale: Any = None
    # The largest finite float16 is 65504: a larger factor would make every gradient infinite.
    _loss_scale_max = 65504
    _loss_scaling_is_dynamic = False
    _loss_scaling_multiplier = 2.0
    _loss_scaling_isnan = False
    _loss_scaling_isnan_ever = False

    def loss_scaling(self, interval: int = 1000, scale: float | None = None) -> None:
        """Scales the loss in ``update(lossfun)``, and divides the gradients by the scale, to prevent underflow.

        Args:
            interval: without ``scale`` the factor adapts: it doubles on each update until a gradient is not
                finite, then halves on those and otherwise doubles every ``interval`` updates.
            scale: a constant factor instead.

        Raises:
            ValueError: ``interval`` is less than 1, or ``scale`` is not positive.
        """
        if scale is not None:
            if scale <= 0:
                raise ValueError(f'loss_scale must be a positive number. Actual: {scale}')
            self._loss_scaling_is_dynamic = False
            self._loss_scaling_isnan = False
            self._loss_scale = scale
            return
        if interval < 1:
            raise ValueError(f'interval must be greater than or equal to 1. Actual: {interval}')
        self._loss_scaling_is_dynamic = True
        self._loss_scaling_isnan_ever = False
        self._loss_scaling_multiplier = math.pow(2.0, 1.0 / interval)
        self._loss_scale = 1.0

    def set_loss_scale(self, loss_scale: float) -> None:
        """Sets a constant factor of the loss; see :meth:`loss_scaling`."""
        self.loss_scaling(scale=loss_scale)

    def _serialize_loss_scale(self, serializer: Any) -> None:
        """Saves or loads the adaptive loss scale; it is not in Chainer's snapshots, and then stays unchanged."""
        if self._loss_scaling_is_dynamic:
            with contextlib.suppress(KeyError):
                ever = serializer('loss_scaling_isnan_ever', self._loss_scaling_isnan_ever)
                scale = serializer('loss_scale', float(self._loss_scale))
                self._loss_scaling_isnan_ever, self._loss_scale = bool(ever), float(scale)

    def check_nan_in_grads(self) -> None:
        """With an adaptive loss scale, records whether a gradient is not finite, and warns with its name."""
        self._loss_scaling_isnan = False
        if not self._loss_scaling_is_dynamic:
            return
        params = list(self.target.namedparams())
        if _are_finite_on_device([param.grad for _, param in params]):
            return
        for name, param in params:
            if param.grad is None or bool(param.xp.isfinite(param.grad).all()):
                continue
            self._loss_scaling_isnan = self._loss_scaling_isnan_ever = True
            warnings.warn(
                f'Non finite number found in param.grad of {name} '
                f'(iteration: {self.t}, loss_scale: {self._loss_scale})',
                stacklevel=3,
            )

    def is_safe_to_update(self) -> bool:
        """Returns whether :meth:`check_nan_in_grads` found only finite gradients; else the update is skipped."""
        return not self._loss_scaling_isnan

    def update_loss_scale(self) -> None:
        """Adapts the loss scale after an update; see :meth:`loss_scaling`."""
        if not self._loss_scaling_is_dynamic:
            return
        if self._loss_scaling_isnan:
            factor = 0.5
        elif self._loss_scaling_isnan_ever:
            factor = self._loss_scaling_multiplier
        else:
            factor = 2.0
        self._loss_scale = max(1, min(self._loss_scale_max, self._loss_scale * factor))


def _are_finite_on_device(grads: list[Any]) -> bool:
    """Whether all gradients are on devices and finite: one value is read of each device, not one of each gradient."""
    held = [(grad,) for grad in grads if grad is not None]
    if not all(isinstance(grad, cuda.ndarray) and grad.dtype.kind == 'f' for (grad,) in held):
        return False
    for device, here in gradients.by_device(held):
        with device:
            if not gradients.are_finite(cuda.cupy, [grad for (grad,) in here]):
                return False
    return True
