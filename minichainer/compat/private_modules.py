"""What Chainer's private modules have, and a few public ones of environments that do not exist any more.

The table in :mod:`minichainer.compat.paths` says which name belongs to which module.
"""

from __future__ import annotations

import importlib.metadata
import os
import sys
import time
from collections import OrderedDict as OrderedDict
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy

from minichainer.datasets import _idx, _images
from minichainer.datasets.mnist import get_mnist
from minichainer.function import Function
from minichainer.functions.array.selection import where
from minichainer.functions.math.exponential import log
from minichainer.links.caffe import _schema
from minichainer.testing._cases import Variant, multiply
from minichainer.variable import Variable, as_variable

# --- environments --------------------------------------------------------------------------------------------------


def check() -> None:
    """Does nothing: what Chainer warned of does not exist in the versions that this package needs."""


def skipif(condition: Any) -> Any:
    """The condition; False where Read the Docs builds a documentation."""
    return False if os.environ.get('READTHEDOCS') == 'True' else condition


def skipif_requires_satisfied(*requirements: str) -> Any:
    """Whether all distributions are installed; without a look at their versions."""
    try:
        for requirement in requirements:
            importlib.metadata.version(requirement.split('<')[0].split('>')[0].split('=')[0].strip())
    except importlib.metadata.PackageNotFoundError:
        return False
    return skipif(True)


def skipif_not_enough_cuda_devices(device_count: int) -> Any:
    """Whether ``CHAINER_TEST_GPU_LIMIT`` allows fewer devices."""
    return skipif(0 <= int(os.environ.get('CHAINER_TEST_GPU_LIMIT', '-1')) < device_count)


class TheanoFunction(Function):
    """Functions of Theano as one function; it does not exist here."""

    def __init__(self, *args: Any) -> None:
        raise RuntimeError('TheanoFunction: Theano is no longer maintained; write a FunctionNode')


def theano_function(forward_func: Any, backward_func: Any, *inputs: Any) -> Any:
    """Applies functions of Theano; raises RuntimeError."""
    return TheanoFunction(forward_func, backward_func)(*inputs)


def NetParameter() -> Any:
    """An empty network of Caffe's format, whose blobs have lists of numbers."""
    return _schema.net_parameter('float')()


# --- progress ------------------------------------------------------------------------------------------------------


class ProgressBar:
    """Lines at the end of a terminal, which each update draws anew; subclasses define ``get_lines``.

    Args:
        bar_length: characters of a bar, 50 by default.
        out: the stream, ``sys.stdout`` by default.
    """

    def __init__(self, bar_length: int | None = None, out: Any = None) -> None:
        self._bar_length = 50 if bar_length is None else bar_length
        self._out = sys.stdout if out is None else out
        self._recent_timing: deque[tuple[float, float, float]] = deque(maxlen=100)

    def update_speed(self, iteration: float, epoch_detail: float) -> tuple[float, float]:
        """Iterations and epochs per second, over the last hundred calls."""
        now = time.time()
        self._recent_timing.append((iteration, epoch_detail, now))
        first, first_epoch, start = self._recent_timing[0]
        if now == start:
            return float('inf'), float('inf')
        return (iteration - first) / (now - start), (epoch_detail - first_epoch) / (now - start)

    def get_lines(self) -> list[str]:
        """The lines to show, each with its end."""
        raise NotImplementedError

    def update(self) -> None:
        """Shows the lines, and leaves the cursor at their start."""
        self.erase_console()
        lines = self.get_lines()
        for line in lines:
            self._out.write(line)
        self.move_cursor_up(len(lines))
        self.flush()

    def close(self) -> None:
        """Removes what is shown."""
        self.erase_console()
        self.flush()

    def erase_console(self) -> None:
        """Clears to the end of the screen."""
        self._out.write('\033[J')

    def move_cursor_up(self, n: int) -> None:
        """Moves the cursor up by some lines."""
        self._out.write(f'\033[{n}A')

    def flush(self) -> None:
        """Flushes the stream, if it can be flushed."""
        if hasattr(self._out, 'flush'):
            self._out.flush()


# --- iterators, datasets, distributions, tests ---------------------------------------------------------------------


class IteratorState(NamedTuple):
    """Where an iterator is."""

    current_position: int
    epoch: int
    is_new_epoch: bool
    order: Any


def iterator_statemachine(
    state: IteratorState, batch_size: int, repeat: bool, order_sampler: Any, dataset_len: int
) -> tuple[IteratorState, Any]:
    """The state after one more mini-batch, and the indices of its examples; None for these at the end."""
    position, epoch, _, order = state
    if epoch > 0 and not repeat:
        return state, None
    size = dataset_len if order is None else len(order)
    if repeat and size == 0:
        raise ValueError('iterator_statemachine: expected a dataset with examples if it is repeated, got none')
    pieces, stop, is_new_epoch = [], position + batch_size, False
    while stop >= size:
        pieces.append(_between(order, position, size))
        order = _sampled(order_sampler, order, position)
        position, epoch, is_new_epoch = 0, epoch + 1, True
        stop = stop - size if repeat else 0
        if not repeat:
            break
    pieces.append(_between(order, position, stop))
    return IteratorState(stop, epoch, is_new_epoch, order), numpy.concatenate(pieces)


def _between(order: Any, start: int, stop: int) -> Any:
    return numpy.arange(start, stop, dtype=numpy.intp) if order is None else order[start:stop]


def _sampled(order_sampler: Any, order: Any, position: int) -> Any:
    if order is None:
        return None
    new = order_sampler(order, position)
    if len(new) != len(order):
        raise ValueError(f'order_sampler: expected an order of {len(order)} examples, got {len(new)}')
    return new


def make_npz(path: str, urls: tuple[str, str]) -> dict[str, Any]:
    """Downloads images and labels in the format of MNIST, and writes them to an npz file."""
    from minichainer.dataset.download import cached_download

    images, labels = (_idx._read(cached_download(url), magic) for url, magic in zip(urls, (2051, 2049), strict=True))
    arrays: dict[str, Any] = {'x': images.reshape(len(images), -1), 'y': labels}
    numpy.savez_compressed(path, **arrays)
    return arrays


def preprocess_mnist(
    raw: Any, withlabel: bool, ndim: int, scale: float, image_dtype: Any, label_dtype: Any, rgb_format: bool
) -> Any:
    """The arrays of MNIST in the form that arguments of ``get_mnist`` ask for."""
    _images.check_ndim(get_mnist.__name__, ndim, (1, 2, 3))
    images = _images.shaped(_images.as_floats(raw['x'], scale, 255, image_dtype), ndim, rgb_format)
    return _images.labelled(images, raw['y'], withlabel, label_dtype)


def modified_xlogx(x: Any) -> Variable:
    """``x * log(x)`` where x is positive, else 0, with gradients of zero there."""
    x = as_variable(x)
    product: Variable = x * log(where(x.array > 0, x, x.xp.ones_like(x.array)))
    return product


def make_decorator(test_case_generator: Callable[[type], Iterable[tuple[str, dict[str, Any], Any]]]) -> Any:
    """A decorator that makes of a test class those of a generator: name, attributes, and what replaces each test."""

    def variants(cls: type) -> Iterable[Variant]:
        for name, members, method in test_case_generator(cls):
            yield Variant(name.removeprefix(cls.__name__), members, _wrapping(method))

    return lambda cls: multiply(cls, variants)


def _wrapping(method: Callable[[Any], Any]) -> Callable[[str, Any], Any]:
    return lambda name, test: method(test)
