from __future__ import annotations

import importlib.util
from typing import Any

from minichainer.dataset.iterator import Iterator
from minichainer.utils.experimental import experimental


class DaliIterator(Iterator):
    """Reads mini-batches from a pipeline of NVIDIA DALI, which loads and augments images on GPUs.

    A mini-batch is what the pipeline's ``run`` returns; a converter makes arrays of it.

    Args:
        pipeline: Pipeline of DALI with one reader.
        repeat (bool): Whether to start again after the last example.

    Attributes:
        epoch_size (int): Number of examples in an epoch; known after the first mini-batch.
        current_position (int): Number of examples of the current epoch that were returned.
        epoch (int): Number of completed sweeps over the examples.
        is_new_epoch (bool): Whether the last mini-batch completed an epoch.

    Raises:
        RuntimeError: DALI is not installed.

    .. admonition:: Example

        >>> import minichainer as chainer
        >>> chainer.disable_experimental_feature_warning = True
        >>> chainer.iterators.DaliIterator(None)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        RuntimeError: DaliIterator: nvidia.dali is not installed...
        >>> chainer.disable_experimental_feature_warning = False

    """

    epoch_size: int
    current_position: int
    epoch: int
    is_new_epoch: bool

    def __init__(self, pipeline: Any, repeat: bool = True) -> None:
        experimental('DaliIterator')
        if not _has_dali():
            raise RuntimeError(
                'DaliIterator: nvidia.dali is not installed; install the package nvidia-dali-cuda120 (or that of '
                'your CUDA) from https://developer.download.nvidia.com/compute/redist, or use MultiprocessIterator'
            )
        self.pipeline = pipeline
        self._repeat = repeat
        self._is_built = False
        self.epoch_size = 1
        self._rewind()

    def __next__(self) -> Any:
        """Returns the next mini-batch, the outputs of the pipeline."""
        if not self._is_built:
            self.pipeline.build()
            (self.epoch_size,) = self.pipeline.epoch_size().values()
            self._is_built = True
        if not self.repeat and self.epoch > 0:
            raise StopIteration
        outputs = self.pipeline.run()
        self._advance()
        return outputs

    next = __next__

    def _advance(self) -> None:
        detail, epoch = self.epoch_detail, self.epoch
        position = self.current_position + self.batch_size
        ends = position >= self.epoch_size
        if ends:
            epoch += position // self.epoch_size if self.repeat else 1
            position = position % self.epoch_size if self.repeat else 0
        # Without a call in between, at which an interrupt could come.
        self.current_position, self.epoch, self.is_new_epoch = position, epoch, ends
        self._previous_epoch_detail = detail

    @property
    def batch_size(self) -> int:
        """The pipeline's number of examples in a mini-batch."""
        size: int = self.pipeline.batch_size
        return size

    @property
    def repeat(self) -> bool:
        """Whether the iterator restarts after the last example."""
        return self._repeat

    @property
    def epoch_detail(self) -> float:
        """Number of sweeps over the examples, including the fraction of the current one."""
        return self.epoch + self.current_position / self.epoch_size

    @property
    def previous_epoch_detail(self) -> float | None:
        """The value of :attr:`epoch_detail` before the last mini-batch; ``None`` before the first one."""
        return None if self._previous_epoch_detail < 0 else self._previous_epoch_detail

    def reset(self) -> None:
        """Returns to the start, for the counts; the pipeline goes on where it is."""
        self._rewind()

    def _rewind(self) -> None:
        self.current_position = 0
        self.epoch = 0
        self.is_new_epoch = False
        self._previous_epoch_detail = -1.0

    def serialize(self, serializer: Any) -> None:
        """Saves or restores the counts; the pipeline's own position cannot be restored."""
        self.current_position = int(serializer('current_position', self.current_position))
        self.epoch = int(serializer('epoch', self.epoch))
        self.is_new_epoch = bool(serializer('is_new_epoch', self.is_new_epoch))
        self._previous_epoch_detail = float(serializer('previous_epoch_detail', self._previous_epoch_detail))


def _has_dali() -> bool:
    try:
        return importlib.util.find_spec('nvidia.dali') is not None
    except ModuleNotFoundError:
        return False
