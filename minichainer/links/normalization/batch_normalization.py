"""Batch normalization and renormalization with parameters and running statistics."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy

from minichainer._dtype import get_dtype
from minichainer._once import one_at_a_time
from minichainer.configuration import config
from minichainer.functions.normalization.batch_normalization import batch_normalization, fixed_batch_normalization
from minichainer.functions.normalization.batch_renormalization import batch_renormalization
from minichainer.initializers._generate import generate_array
from minichainer.link.link import Link
from minichainer.links._arguments import LinkArguments
from minichainer.links.normalization._parts import check_running, parameter, typed_initializer
from minichainer.utils import argument
from minichainer.variable import Parameter, Variable

_REMOVED = {'test': "test is not supported anymore: use chainer.using_config('train', False)"}


class BatchNormalization(Link):
    r"""Batch normalization, :math:`y = \gamma (x - \mu) / \sqrt{\sigma^2 + \epsilon} + \beta` for each channel.

    In training, it uses the statistics of the batch, and updates running ones (``avg_mean``, ``avg_var``, persistent
    values). Otherwise (``chainer.config.train`` is False) it uses the running ones.

    Args:
        size: shape of the parameters, an int (number of channels) or a tuple; None to take it from the data of the
            first call, which needs ``axis``.
        decay: how much of the running statistics stays at each call.
        eps: added to the variance.
        dtype: of parameters and running statistics; ``chainer.config.dtype`` by default, and float32 for
            ``chainer.mixed16``. The input may have another float dtype.
        use_gamma: with scales; else they are 1.
        use_beta: with shifts; else they are 0.
        initial_gamma: initializer of the scales; one by default.
        initial_beta: initializer of the shifts; zero by default.
        axis: an int or a tuple of ints in ascending order, the axes of the statistics; by default those that are left
            when the parameters' axes begin at the second.
        initial_avg_mean: initializer of the running mean; zero by default.
        initial_avg_var: initializer of the running variance; one by default.

    Attributes:
        gamma: Parameter, or None.
        beta: Parameter, or None.
        avg_mean: array, the running mean.
        avg_var: array, the running variance.
        N: number of batches that finetuning has seen.
        decay: as given.
        eps: as given.
        axis: as given.

    Raises:
        RuntimeError: neither ``size`` nor ``axis`` is given.

    Source: Ioffe and Szegedy, Batch Normalization: Accelerating Deep Network Training by Reducing Internal Covariate
    Shift, 2015.

    >>> import numpy as np, minichainer as chainer
    >>> layer = chainer.links.BatchNormalization(2)
    >>> layer(np.array([[1, 5], [3, 9]], np.float32)).array.round(3)
    array([[-1., -1.],
           [ 1.,  1.]], dtype=float32)
    >>> layer.avg_mean.round(3)
    array([0.2, 0.7], dtype=float32)
    """

    gamma: Parameter | None = None
    beta: Parameter | None = None
    avg_mean: Any = None
    avg_var: Any = None

    def __init__(
        self,
        size: Any = None,
        decay: float = 0.9,
        eps: float = 2e-5,
        dtype: Any = None,
        use_gamma: bool = True,
        use_beta: bool = True,
        initial_gamma: Any = None,
        initial_beta: Any = None,
        axis: Any = None,
        initial_avg_mean: Any = None,
        initial_avg_var: Any = None,
    ) -> None:
        if size is None and axis is None:
            raise RuntimeError(f'{type(self).__name__}: size or axis is required, got neither')
        check = LinkArguments(self)
        if size is not None:
            check.shapes(size=size)
        check_running(check, decay, eps, dtype)
        check.flags(use_gamma=use_gamma, use_beta=use_beta)
        if axis is not None:
            check.ascending(axis=axis)
        check.initializers(
            size, initial_gamma=initial_gamma, initial_beta=initial_beta, initial_avg_mean=initial_avg_mean,
            initial_avg_var=initial_avg_var,
        )  # fmt: skip
        super().__init__()
        self.decay = decay
        self.eps = eps
        self.axis: Any = (axis,) if isinstance(axis, int) else axis
        self.N = 0
        self._dtype = get_dtype(dtype, map_mixed16=numpy.float32)
        self._initial_avg_mean = typed_initializer(initial_avg_mean, 0, self._dtype)
        self._initial_avg_var = typed_initializer(initial_avg_var, 1, self._dtype)
        for name in ('N', 'avg_mean', 'avg_var'):
            self.register_persistent(name)
        with self.init_scope():
            self.gamma = parameter(initial_gamma, 1, self._dtype) if use_gamma else None
            self.beta = parameter(initial_beta, 0, self._dtype) if use_beta else None
        if size is not None:
            self._initialize_params(size)

    def _initialize_params(self, shape: Any) -> None:
        mean = generate_array(self._initial_avg_mean, shape, self.xp, device=self.device)
        variance = generate_array(self._initial_avg_var, shape, self.xp, device=self.device)
        for param in (self.gamma, self.beta):
            if param is not None and param._data is None:
                param.initialize(shape)
        self.avg_var = variance
        self.avg_mean = mean  # set last, because other threads test whether it exists

    @property
    def printable_specs(self) -> Iterator[tuple[str, Any]]:
        shape = None if self.avg_mean is None else self.avg_mean.shape
        yield 'size', shape[0] if shape is not None and len(shape) == 1 else shape
        yield from (('decay', self.decay), ('eps', self.eps), ('dtype', self._dtype))
        yield from (('use_gamma', self.gamma is not None), ('use_beta', self.beta is not None))

    def forward(self, x: Any, **kwargs: Any) -> Variable:
        """Applies the layer.

        Args:
            x: Variable or float array; by default (N, C, ...).
            finetune: in training, take the plain mean of the statistics of all batches since
                :meth:`start_finetuning` as running ones, instead of a decaying one; False by default.

        Returns:
            Variable of ``x``'s shape and dtype.

        Raises:
            InvalidType: shapes or dtypes do not fit.
            ValueError: ``test`` is given.
        """
        (finetune,) = argument.parse_kwargs(kwargs, ('finetune', False), **_REMOVED)
        self._prepare(x)
        gamma, beta = self._scale_and_shift()
        if not config.train:
            y: Variable = fixed_batch_normalization(x, gamma, beta, self.avg_mean, self.avg_var, self.eps, self.axis)
        elif config.in_recomputing:  # the statistics already include this batch
            y = batch_normalization(x, gamma, beta, eps=self.eps, axis=self.axis)
        else:
            y = self._normalize_batch(x, gamma, beta, self._next_decay(finetune))
            self._count(x, finetune)
        return y

    def _normalize_batch(self, x: Any, gamma: Any, beta: Any, decay: float) -> Variable:
        """Normalizes with the statistics of the batch, and updates the running ones."""
        y: Variable = batch_normalization(
            x, gamma, beta, eps=self.eps, running_mean=self.avg_mean, running_var=self.avg_var, decay=decay,
            axis=self.axis,
        )  # fmt: skip
        return y

    def _prepare(self, x: Any) -> None:
        """Takes ``size`` from the first data, after checking the number of axes."""
        if self.avg_mean is not None:
            return
        if not all(-x.ndim <= axis < x.ndim for axis in self.axis):
            raise ValueError(
                f'{type(self).__name__}: size is not known yet and cannot be taken from an x of shape {x.shape}, '
                f'which does not have all of axis = {self.axis}'
            )
        axes = [axis % x.ndim for axis in self.axis]
        with one_at_a_time(self):
            if self.avg_mean is None:
                self._initialize_params(tuple([size for i, size in enumerate(x.shape) if i not in axes]))

    def _scale_and_shift(self) -> tuple[Any, Any]:
        """gamma and beta; constant ones and zeros if they are not used."""
        shape, xp = self.avg_mean.shape, self.xp
        with self.device.create_context():
            gamma = xp.ones(shape, self._dtype) if self.gamma is None else self.gamma
            return gamma, xp.zeros(shape, self._dtype) if self.beta is None else self.beta

    def _next_decay(self, finetune: bool) -> float:
        return 1.0 - 1.0 / (self.N + 1) if finetune else self.decay

    def _count(self, x: Any, finetune: bool) -> None:
        """Counts a batch whose statistics have become part of the running ones: no failed call, and no empty one."""
        if finetune and x.size:
            self.N += 1

    def start_finetuning(self) -> None:
        """Restarts counting batches: the next one with ``finetune=True`` replaces the running statistics."""
        self.N = 0


class BatchRenormalization(BatchNormalization):
    """Batch renormalization: batch statistics, corrected towards the running ones within limits.

    See :func:`~minichainer.functions.batch_renormalization`; in testing it is the same as
    :class:`BatchNormalization`.

    Args:
        size: shape of the parameters, an int (number of channels) or a tuple.
        rmax: largest correction of the scale.
        dmax: largest correction of the shift.
        decay: how much of the running statistics stays at each call.
        eps: added to the variance.
        dtype: of parameters and running statistics, as of :class:`BatchNormalization`.
        use_gamma: with scales; else they are 1.
        use_beta: with shifts; else they are 0.
        initial_gamma: initializer of the scales; one by default.
        initial_beta: initializer of the shifts; zero by default.
        initial_avg_mean: kept for compatibility; has no effect.
        initial_avg_var: initializer of the running *mean*; zero by default. Chainer 7.8.1 shifts these two
            arguments by one position, and so does this class, for the same results; the running variance always
            begins at one. To begin with others, write to ``avg_mean`` and ``avg_var``.

    Source: Ioffe, Batch Renormalization: Towards Reducing Minibatch Dependence in Batch-Normalized Models, 2017.

    >>> import numpy as np, minichainer as chainer
    >>> layer = chainer.links.BatchRenormalization(1)
    >>> layer(np.array([[1], [3]], np.float32)).array.round(3)
    array([[-1.],
           [ 1.]], dtype=float32)
    """

    def __init__(
        self,
        size: Any,
        rmax: float = 1,
        dmax: float = 0,
        decay: float = 0.9,
        eps: float = 2e-5,
        dtype: Any = None,
        use_gamma: bool = True,
        use_beta: bool = True,
        initial_gamma: Any = None,
        initial_beta: Any = None,
        initial_avg_mean: Any = None,
        initial_avg_var: Any = None,
    ) -> None:
        check = LinkArguments(self)
        check.shapes(size=size)
        check.numbers(0, math.inf, rmax=rmax, dmax=dmax)
        check.initializers(size, initial_avg_var=initial_avg_var, initial_avg_mean=initial_avg_mean)
        super().__init__(
            size, decay, eps, dtype, use_gamma, use_beta, initial_gamma, initial_beta,
            initial_avg_mean=initial_avg_var,
        )  # fmt: skip
        self.rmax = rmax
        self.dmax = dmax

    def forward(self, x: Any, finetune: bool = False) -> Variable:  # type: ignore[override]
        """Applies the layer.

        Args:
            x: Variable or float array (N, C, ...).
            finetune: as of :class:`BatchNormalization`.

        Returns:
            Variable of ``x``'s shape and dtype.
        """
        gamma, beta = self._scale_and_shift()
        if not config.train:
            y: Variable = fixed_batch_normalization(x, gamma, beta, self.avg_mean, self.avg_var, self.eps)
            return y
        fresh = not config.in_recomputing
        y = batch_renormalization(
            x, gamma, beta, self.rmax, self.dmax, self.eps, self.avg_mean, self.avg_var,
            self._next_decay(finetune) if fresh else self.decay, update_statistics=fresh,
        )  # fmt: skip
        self._count(x, finetune and fresh)
        return y
