"""Decorrelated batch normalization with running statistics."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy

from minichainer import backend
from minichainer._dtype import get_dtype
from minichainer.configuration import config
from minichainer.functions.normalization.decorrelated_batch_normalization import (
    decorrelated_batch_normalization,
    fixed_decorrelated_batch_normalization,
)
from minichainer.link.link import Link
from minichainer.links._arguments import LinkArguments
from minichainer.links.normalization._parts import check_running
from minichainer.serializer import AbstractSerializer, Deserializer
from minichainer.utils import argument
from minichainer.variable import Variable

_REMOVED = {'test': "test is not supported anymore: use chainer.using_config('train', False)"}


class DecorrelatedBatchNormalization(Link):
    """Decorrelated batch normalization (ZCA whitening) of groups of channels; it has no parameters.

    See :func:`~minichainer.functions.decorrelated_batch_normalization`. In training it uses the statistics of the
    batch, otherwise running ones.

    Args:
        size: number of channels.
        groups: number of groups of channels, a divisor of ``size``.
        decay: how much of the running statistics stays at each call.
        eps: added to the variances.
        dtype: of the running statistics.

    Attributes:
        avg_mean: array (groups, size / groups), the running mean.
        avg_projection: array (groups, size / groups, size / groups), the running projection.
        N: number of batches that finetuning has seen.

    Raises:
        ValueError: ``groups`` does not divide ``size``.

    Source: Huang, Yang, Lang and Deng, Decorrelated Batch Normalization, 2018.

    >>> import numpy as np, minichainer as chainer
    >>> layer = chainer.links.DecorrelatedBatchNormalization(2, groups=1)
    >>> layer(np.eye(2, dtype=np.float32)).shape, layer.avg_projection.shape
    ((2, 2), (1, 2, 2))
    """

    def __init__(
        self, size: int, groups: int = 16, decay: float = 0.9, eps: float = 2e-5, dtype: Any = numpy.float32
    ) -> None:
        check = LinkArguments(self)
        check.sizes(size=size)
        check.integers(1, groups=groups)
        check_running(check, decay, eps, dtype)
        super().__init__()
        if size % groups:
            raise ValueError(
                f'DecorrelatedBatchNormalization: groups must divide size, got size = {size}, groups = {groups}'
            )
        self.groups = groups
        self.decay = decay
        self.eps = eps
        self.N = 0
        each = size // groups
        dtype = get_dtype(dtype, map_mixed16=numpy.float32)
        self.avg_mean = numpy.zeros((groups, each), dtype)
        self.avg_projection = numpy.zeros((groups, each, each), dtype) + numpy.eye(each, dtype=dtype)
        for name in ('N', 'avg_mean', 'avg_projection'):
            self.register_persistent(name)

    @property
    def printable_specs(self) -> Iterator[tuple[str, Any]]:
        yield from (('size', self.avg_mean.size), ('groups', self.groups), ('decay', self.decay), ('eps', self.eps))
        yield 'dtype', self.avg_mean.dtype

    def forward(self, x: Any, **kwargs: Any) -> Variable:
        """Applies the layer.

        Args:
            x: Variable or float array (N, size, ...).
            finetune: in training, take the plain mean of the statistics of all batches since
                :meth:`start_finetuning` as running ones, instead of a decaying one; False by default.

        Returns:
            Variable of ``x``'s shape and dtype.

        Raises:
            InvalidType: shapes or dtypes do not fit.
        """
        (finetune,) = argument.parse_kwargs(kwargs, ('finetune', False), **_REMOVED)
        if not config.train:
            y: Variable = fixed_decorrelated_batch_normalization(x, self.avg_mean, self.avg_projection, self.groups)
            return y
        if config.in_recomputing:  # the statistics already include this batch
            y = decorrelated_batch_normalization(x, groups=self.groups, eps=self.eps)
            return y
        decay = 1.0 - 1.0 / (self.N + 1) if finetune else self.decay
        y = decorrelated_batch_normalization(
            x, groups=self.groups, eps=self.eps, running_mean=self.avg_mean, running_projection=self.avg_projection,
            decay=decay,
        )  # fmt: skip
        if finetune and x.size:  # an empty batch has no statistics
            self.N += 1
        return y

    def start_finetuning(self) -> None:
        """Restarts counting batches: the next one with ``finetune=True`` replaces the running statistics."""
        self.N = 0

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Saves, or loads what Chainer saved before 7, too: one mean and one projection for all groups.

        Args:
            serializer: what saves or loads.
        """
        if isinstance(serializer, Deserializer) and not serializer.restores:
            serializer = _ForAllGroups(serializer)
        super().serialize(serializer)


class _ForAllGroups(Deserializer):
    """Loads an array that has no axis of groups into each of them."""

    def __init__(self, base: Deserializer) -> None:
        self._base = base

    def __getitem__(self, key: str) -> AbstractSerializer:
        return self._base[key]

    def __call__(self, key: str, value: Any) -> Any:
        if key in ('avg_mean', 'avg_projection'):
            found = self._base(key, None)
            if found is None:
                return value
            if found.shape == value.shape[1:]:
                _warn_of_few(len(value))
                backend.copyto(value, backend.get_device_from_array(value).send(found))
                return value
        return self._base(key, value)


def _warn_of_few(groups: int) -> None:
    if groups != 1:
        warnings.warn(
            'the snapshot has one mean and projection for all groups, from a Chainer that normalized them alike; '
            f'each of the {groups} groups gets these: train the model on to make them right',
            UserWarning,
            stacklevel=3,
        )
