"""Functions that change gradients just before an update: decay, clipping, noise, layer-wise rates.

Add one by ``optimizer.add_hook(hook)`` for all parameters, or by ``param.update_rule.add_hook(hook)`` for one (if it
has ``call_for_each_param``). Gradients are changed in place. If they are multiplied by a loss scale (see
:meth:`~minichainer.Optimizer.loss_scaling`), these hooks take it into account, so that updates do not depend on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from minichainer._names import namespace
from minichainer.backend import get_array_module
from minichainer.backends import cuda
from minichainer.errors import check_numbers
from minichainer.kernels.cuda import gradients
from minichainer.kernels.updates import add_scaled, add_scaled_sign
from minichainer.link._tied import each_once

__all__ = [
    'GradientClipping',
    'GradientHardClipping',
    'GradientLARS',
    'GradientNoise',
    'Lasso',
    'WeightDecay',
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = namespace(__name__)


class _ForEachParameter:
    """A hook that changes one gradient at a time, or on a device many in a launch."""

    name: str
    call_for_each_param = True
    timing = 'pre'

    def __call__(self, rule: Any, param: Any) -> None:
        raise NotImplementedError

    def _change_on_device(self, params: list[gradients.Changed]) -> None:
        """Changes gradients of the current device."""
        raise NotImplementedError

    def _factor_of(self, param: Any) -> float:
        """The factor of what is added to the gradient."""
        return _scale_of(param)

    def call_together(self, params: list[Any]) -> list[Any]:
        """Changes gradients that are on devices, and returns the other parameters, for which to call the hook.

        Args:
            params: parameters of a model.
        """
        if type(self) not in _TOGETHER:
            return params
        changed = [(param.grad, param._data, self._factor_of(param)) for param in params if _is_on_device(param)]
        for device, here in gradients.by_device(changed):
            with device:
                self._change_on_device(here)
        return [param for param in params if not _is_on_device(param)]


class WeightDecay(_ForEachParameter):
    r"""Weight decay: :math:`g \leftarrow g + \lambda w`, the gradient of :math:`\lambda / 2 \sum w^2`.

    With adaptive methods this is not the same as decaying the weights themselves; see
    :class:`~minichainer.optimizers.AdamW` for that.

    Args:
        rate: coefficient :math:`\lambda` of the decay.

    Attributes:
        timing: 'pre', called before the update.

    >>> import numpy as np, minichainer as chainer
    >>> param = chainer.Parameter(np.array([1, -2], np.float32))
    >>> param.grad = np.zeros(2, np.float32)
    >>> chainer.optimizer_hooks.WeightDecay(0.5)(None, param)
    >>> param.grad
    array([ 0.5, -1. ], dtype=float32)
    """

    name = 'WeightDecay'

    def __init__(self, rate: float) -> None:
        check_numbers(type(self).__name__, rate=rate)
        self.rate = rate

    def __call__(self, rule: Any, param: Any) -> None:
        """Adds the decay to the gradient of a parameter.

        Args:
            rule: the update rule of the parameter.
            param: the parameter; without a gradient nothing is done.
        """
        array, grad = param._data, param.grad
        if array is not None and grad is not None:
            rate = self.rate * _scale_of(param)
            if not add_scaled(array, rate, grad):
                grad += rate * array

    def _change_on_device(self, params: list[gradients.Changed]) -> None:
        gradients.change('decay', params, self.rate)


class Lasso(_ForEachParameter):
    r"""L1 regularisation: :math:`g \leftarrow g + \lambda \, \mathrm{sign}(w)`.

    Args:
        rate: coefficient :math:`\lambda` of the penalty :math:`\lambda \sum |w|`.

    Attributes:
        timing: 'pre', called before the update.

    >>> import numpy as np, minichainer as chainer
    >>> param = chainer.Parameter(np.array([1, -2], np.float32))
    >>> param.grad = np.zeros(2, np.float32)
    >>> chainer.optimizer_hooks.Lasso(0.5)(None, param)
    >>> param.grad
    array([ 0.5, -0.5], dtype=float32)
    """

    name = 'Lasso'

    def __init__(self, rate: float) -> None:
        check_numbers(type(self).__name__, rate=rate)
        self.rate = rate

    def __call__(self, rule: Any, param: Any) -> None:
        """Adds the decay to the gradient of a parameter.

        Args:
            rule: the update rule of the parameter.
            param: the parameter; without a gradient nothing is done.
        """
        array, grad = param._data, param.grad
        if array is not None and grad is not None:
            rate = self.rate * _scale_of(param)
            if not add_scaled_sign(array, rate, grad):
                grad += rate * get_array_module(array).sign(array)

    def _change_on_device(self, params: list[gradients.Changed]) -> None:
        gradients.change('lasso', params, self.rate)


class GradientClipping:
    r"""Scales all gradients by one factor, :math:`g \leftarrow g \min(1, c / \|g\|)` with the norm of all of them.

    From Pascanu, Mikolov, Bengio, *On the difficulty of training recurrent neural networks*, ICML 2013.

    Args:
        threshold: the largest L2 norm :math:`c` of all gradients taken as one vector. Gradients within it stay
            as they are. If one element is NaN, so is the norm, and then all gradients are.

    Attributes:
        timing: 'pre', called before the update.

    >>> import numpy as np, minichainer as chainer
    >>> model = chainer.Link()
    >>> with model.init_scope():
    ...     model.w = chainer.Parameter(np.zeros(2, np.float32))
    >>> optimizer = chainer.optimizers.SGD(lr=1).setup(model)
    >>> optimizer.add_hook(chainer.optimizer_hooks.GradientClipping(1))
    >>> model.w.grad = np.array([3, 4], np.float32)
    >>> optimizer.update()
    >>> model.w.grad
    array([0.6, 0.8], dtype=float32)
    """

    name = 'GradientClipping'
    timing = 'pre'

    def __init__(self, threshold: float) -> None:
        check_numbers(type(self).__name__, threshold=threshold)
        self.threshold = threshold

    def __call__(self, opt: Any) -> None:
        """Scales all gradients, if their norm is larger than the threshold.

        Args:
            opt: the optimizer, whose ``target`` has the gradients.
        """
        params = [param for param in each_once(opt.target.params()) if param.grad is not None]
        if params and all(isinstance(p.grad, cuda.ndarray) and p.grad.dtype.kind == 'f' for p in params):
            self._clip_on_devices([(param.grad, _scale_of(param)) for param in params])
            return
        norm = math.sqrt(sum(_squared_norm(param.grad) / _scale_of(param) ** 2 for param in params))
        if not norm <= self.threshold:  # also if the norm is NaN
            for param in params:
                _multiply(param.grad, self.threshold / norm)

    def _clip_on_devices(self, scaled: list[tuple[Any, float]]) -> None:
        """Clips gradients of one device or of several, without waiting."""
        found = gradients.by_device(scaled)
        if len(found) > 1:
            gradients.clip_on_devices(cuda.cupy, found, self.threshold)
            return
        with found[0][0]:
            gradients.clip(cuda.cupy, scaled, self.threshold)


class GradientHardClipping(_ForEachParameter):
    """Clips every element of the gradient to ``[lower_bound, upper_bound]``.

    Args:
        lower_bound: smallest value left in a gradient.
        upper_bound: largest value left in a gradient.

    Attributes:
        timing: 'pre', called before the update.

    >>> import numpy as np, minichainer as chainer
    >>> param = chainer.Parameter(np.zeros(3, np.float32))
    >>> param.grad = np.array([-5, 0.5, 5], np.float32)
    >>> chainer.optimizer_hooks.GradientHardClipping(-1, 2)(None, param)
    >>> param.grad
    array([-1. ,  0.5,  2. ], dtype=float32)
    """

    name = 'GradientHardClipping'

    def __init__(self, lower_bound: float, upper_bound: float) -> None:
        check_numbers(type(self).__name__, lower_bound=lower_bound, upper_bound=upper_bound)
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound

    def __call__(self, rule: Any, param: Any) -> None:
        """Clips the gradient of a parameter.

        Args:
            rule: the update rule of the parameter.
            param: the parameter; without a gradient nothing is done.
        """
        grad = param.grad
        if grad is not None:
            lower, upper = (bound * _scale_of(param) for bound in (self.lower_bound, self.upper_bound))
            with np.errstate(over='ignore'):  # a bound that float16 cannot represent exceeds all elements
                get_array_module(grad).clip(grad, lower, upper, out=grad)

    def _change_on_device(self, params: list[gradients.Changed]) -> None:
        gradients.change('hard_clip', params, self.lower_bound, self.upper_bound)


def exponential_decay_noise(xp: Any, shape: tuple[int, ...], dtype: Any, hook: Any, opt: Any) -> Any:
    """Draws normal noise of variance ``hook.eta / (1 + opt.t) ** 0.55``, which vanishes during training.

    From Neelakantan et al., *Adding gradient noise improves learning for very deep networks*, 2015,
    https://arxiv.org/abs/1511.06807

    Args:
        xp: numpy or cupy; draws from its global generator.
        shape: shape of the noise.
        dtype: dtype of the noise.
        hook: the :class:`GradientNoise`, for its ``eta``.
        opt: the update rule, for ``t``, the number of updates.

    """
    return xp.random.normal(0, _deviation(hook, opt), shape).astype(dtype)


def _deviation(hook: Any, opt: Any) -> float:
    return math.sqrt(hook.eta / (1 + opt.t) ** 0.55)


class GradientNoise(_ForEachParameter):
    """Adds random noise to the gradient.

    Args:
        eta: scale of the noise; the paper selects it from 0.01, 0.3 and 1.
        noise_func: ``noise_func(xp, shape, dtype, hook, rule)`` returns the noise; by default
            normal noise of variance ``eta / (1 + t) ** 0.55`` (Neelakantan et al., 2015,
            https://arxiv.org/abs/1511.06807).

    Attributes:
        timing: 'pre', called before the update.

    >>> import numpy as np, minichainer as chainer
    >>> param = chainer.Parameter(np.zeros(2, np.float32))
    >>> param.grad = np.ones(2, np.float32)
    >>> constant = lambda xp, shape, dtype, hook, rule: xp.full(shape, hook.eta, dtype)
    >>> chainer.optimizer_hooks.GradientNoise(0.5, constant)(None, param)
    >>> param.grad
    array([1.5, 1.5], dtype=float32)
    """

    name = 'GradientNoise'

    def __init__(self, eta: float, noise_func: Callable[..., Any] = exponential_decay_noise) -> None:
        check_numbers(type(self).__name__, eta=eta)
        self.eta = eta
        self.noise_func = noise_func

    def __call__(self, rule: Any, param: Any) -> None:
        """Adds noise to the gradient of a parameter.

        Args:
            rule: the update rule of the parameter.
            param: the parameter; without a gradient nothing is done.
        """
        grad = param.grad
        if grad is not None:
            noise = self.noise_func(get_array_module(grad), grad.shape, grad.dtype, self, rule)
            grad += _scale_of(param) * noise

    def call_together(self, params: list[Any]) -> list[Any]:
        """Changes gradients that are on devices, and returns the other parameters, for which to call the hook.

        Args:
            params: parameters of a model; all are returned if the noise is not the usual one.
        """
        return super().call_together(params) if self.noise_func is exponential_decay_noise else params

    def _factor_of(self, param: Any) -> float:
        return _scale_of(param) * _deviation(self, param.update_rule)

    def _change_on_device(self, params: list[gradients.Changed]) -> None:
        gradients.add_noise(cuda.cupy, [(grad, factor) for grad, _, factor in params])


class GradientLARS(_ForEachParameter):
    r"""Layer-wise adaptive rate scaling: scales each gradient to the size of its parameter.

    The gradient becomes :math:`g + \lambda w` and, where the L2 norm of the parameter exceeds ``threshold``,

    .. math:: \frac{\|w\|}{\|g\| + \lambda \|w\| + \epsilon} (g + \lambda w).

    From You, Gitman, Ginsburg, *Large batch training of convolutional networks*, 2017,
    https://arxiv.org/abs/1708.03888

    Args:
        threshold: the gradients of parameters of a norm up to this are decayed but not rescaled.
        weight_decay: coefficient :math:`\lambda` of the decay.
        eps: avoids division by zero.

    Attributes:
        timing: 'pre', called before the update.

    >>> import numpy as np, minichainer as chainer
    >>> param = chainer.Parameter(np.array([3, 4], np.float64))
    >>> param.grad = np.array([0, 2], np.float64)
    >>> chainer.optimizer_hooks.GradientLARS()(None, param)
    >>> param.grad
    array([0., 5.])
    """

    name = 'GradientLARS'

    def __init__(self, threshold: float = 0.01, weight_decay: float = 0.0, eps: float = 1e-9) -> None:
        check_numbers(type(self).__name__, threshold=threshold, weight_decay=weight_decay, eps=eps)
        self.threshold = threshold
        self.weight_decay = weight_decay
        self.eps = eps

    def __call__(self, rule: Any, param: Any) -> None:
        """Scales the gradient of a parameter.

        Args:
            rule: the update rule of the parameter.
            param: the parameter; without a gradient nothing is done.
        """
        array, grad = param._data, param.grad
        if array is None or grad is None:
            return
        if _is_on_device(param):  # numbers would be read
            with grad.device:
                self._change_on_device([(grad, array, _scale_of(param))])
            return
        scale, norm = _scale_of(param), math.sqrt(_squared_norm(array))
        divisor = self.eps + math.sqrt(_squared_norm(grad)) / scale + self.weight_decay * norm
        grad += self.weight_decay * scale * array
        if not norm <= self.threshold:  # also if the norm is NaN
            _multiply(grad, norm / divisor)

    def _change_on_device(self, params: list[gradients.Changed]) -> None:
        gradients.scale_layers(cuda.cupy, params, self.threshold, self.weight_decay, self.eps)


#: Hooks that have a kernel for many gradients; a subclass may do something else.
_TOGETHER = frozenset([WeightDecay, Lasso, GradientHardClipping, GradientLARS, GradientNoise])


def _is_on_device(param: Any) -> bool:
    """Whether gradient and parameter are CuPy arrays of floats, alike in device, dtype and shape."""
    array, grad = param._data, param.grad
    if not isinstance(grad, cuda.ndarray) or not isinstance(array, cuda.ndarray) or grad.dtype.kind != 'f':
        return False
    same: bool = grad.dtype == array.dtype and grad.shape == array.shape and grad.device == array.device
    return same


def _multiply(grad: Any, factor: float) -> None:
    """Multiplies in place by a number that may not be representable in float16."""
    if grad.dtype.char in 'fd':
        grad *= factor
    else:
        grad[...] = grad.astype(np.promote_types(grad.dtype, np.float32), copy=False) * factor


def _scale_of(param: Any) -> float:
    """The loss scale that still multiplies the gradient of the parameter; 1 after its rule has divided by it."""
    scale: float | None = param._loss_scale
    return 1 if scale is None else scale


def _squared_norm(array: Any) -> float:
    """Sum of squares, in float64 if the array's own dtype may overflow."""
    flat = array.ravel()
    if flat.dtype.kind == 'f' and flat.dtype.itemsize > 2:
        with np.errstate(over='ignore'):
            total = float(flat.dot(flat))
        if math.isfinite(total):
            return total
    wide = abs(flat).astype(np.float64)
    return float(wide.dot(wide))
