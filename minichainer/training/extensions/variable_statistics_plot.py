from __future__ import annotations

import importlib.util
import os
import random
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy

from minichainer.backend import get_array_module
from minichainer.backends import cuda
from minichainer.link.link import Link
from minichainer.serializer import Serializer
from minichainer.training.extension import Extension
from minichainer.training.extensions._files import replacing
from minichainer.training.extensions._interval import serialize_interval
from minichainer.training.util import get_trigger
from minichainer.variable import Variable


class Reservoir:
    """A random sample of fixed size from a sequence of unknown length, each element with equal probability.

    Args:
        size: number of elements that are kept.
        data_shape: shape of an element.
        dtype: dtype of the elements.

    Source: J. S. Vitter, "Random sampling with a reservoir", ACM Transactions on Mathematical Software, 1985.
    """

    def __init__(self, size: int, data_shape: tuple[int, ...], dtype: Any = numpy.float32) -> None:
        self.size = size
        self.data = numpy.zeros((size, *data_shape), dtype)
        self.idxs = numpy.zeros(size, numpy.int32)
        self.counter = 0

    def add(self, x: Any, idx: int | None = None) -> None:
        """Adds an element, with its number in the sequence (counted if omitted)."""
        place = self.counter
        if place >= self.size:
            # Not from NumPy's generator, because a plot must not change the training; the same after a resumption.
            place = random.Random(self.counter).randrange(self.counter + 1)
        if place < self.size:
            self.data[place] = x
            self.idxs[place] = self.counter if idx is None else idx
        self.counter += 1

    def get_data(self) -> tuple[numpy.ndarray, numpy.ndarray]:
        """The numbers of the elements in rising order, and the elements."""
        count = min(self.size, self.counter)
        order = numpy.argsort(self.idxs[:count], kind='stable')
        return self.idxs[:count][order], self.data[:count][order]

    def serialize(self, serializer: Any) -> None:
        """Saves or restores the elements."""
        self.data = numpy.asarray(serializer('data', self.data))
        self.idxs = numpy.asarray(serializer('idxs', self.idxs))
        self.counter = int(serializer('counter', self.counter))


class Statistician:
    """Computes mean, standard deviation and percentiles of arrays.

    Args:
        collect_mean, collect_std: which of the two are wanted.
        percentile_sigmas: the percentiles, from 0 to 100.
    """

    def __init__(self, collect_mean: bool, collect_std: bool, percentile_sigmas: Sequence[float]) -> None:
        self.collect_mean = collect_mean
        self.collect_std = collect_std
        self.percentile_sigmas = percentile_sigmas

    def __call__(self, x: Any, axis: Any = 0, dtype: Any = None, xp: Any = None) -> dict[str, Any]:
        """The statistics along axes, as :meth:`collect` gives them.

        Args:
            x: array.
            axis: an axis, several in a tuple, or None for all.
            dtype: ignored, as in Chainer.
            xp: ignored: the module of ``x`` is used.
        """
        return self.collect(x, axis)

    def collect(self, x: Any, axis: Any) -> dict[str, Any]:
        """The statistics along axes, by name: ``'mean'``, ``'std'``, ``'percentile'``."""
        found = {}
        if self.collect_mean:
            found['mean'] = x.mean(axis=axis)
        if self.collect_std:
            found['std'] = x.std(axis=axis)
        if self.percentile_sigmas:
            found['percentile'] = get_array_module(x).percentile(x, self.percentile_sigmas, axis=axis)
        return found


class VariableStatisticsPlot(Extension):
    """Plots statistics of Variables and their gradients over the iterations, with matplotlib.

    All values are taken together. At most ``max_sample_size`` iterations, drawn at random, are drawn. Without
    matplotlib it warns once and does not plot.

    Args:
        targets: Link, Variable, or list of these.
        max_sample_size (int): How many iterations are drawn.
        report_data (bool): Whether to plot the values.
        report_grad (bool): Whether to plot the gradients.
        plot_mean (bool): Whether to plot the mean.
        plot_std (bool): Whether to plot the standard deviation, as bars.
        percentile_sigmas (float or tuple of float): Percentiles to plot, in rising order.
        trigger: Trigger that decides when the image is written; values are noted whenever the extension is called.
        filename (str): Name of the image in the trainer's output folder; ``'statistics.png'`` when omitted.
        figsize (tuple of float): Width and height of the figure in inches; matplotlib's default when omitted.
        marker (str): Marker of matplotlib, or ``None``.
        grid (bool): Whether to draw a grid.
        file_name (str): Older spelling of ``filename``.

    Raises:
        ValueError: There is nothing to plot: no Variable, or no statistic; or the sample size is not positive.

    .. admonition:: Example

        >>> import minichainer.links as L
        >>> from minichainer.training import extensions
        >>> plot = extensions.VariableStatisticsPlot(L.Linear(2, 3), filename='weights.png')

    """

    def __init__(
        self, targets: Any, max_sample_size: int = 1000, report_data: bool = True, report_grad: bool = True,
        plot_mean: bool = True, plot_std: bool = True,
        percentile_sigmas: Any = (0, 0.13, 2.28, 15.87, 50, 84.13, 97.72, 99.87, 100), trigger: Any = (1, 'epoch'),
        filename: str | None = None, figsize: tuple[float, float] | None = None, marker: str | None = None,
        grid: bool = True, *, file_name: str = 'statistics.png',
    ) -> None:  # fmt: skip
        self._trigger = get_trigger(trigger)
        self._vars = tuple({id(variable): variable for variable in _variables_of(targets)}.values())
        sigmas = tuple(percentile_sigmas) if isinstance(percentile_sigmas, Iterable) else (percentile_sigmas,)
        self._keys = ['data'] * report_data + ['grad'] * report_grad
        count = plot_mean + plot_std + len(sigmas)
        _check(self._vars, count and self._keys, max_sample_size)
        self.available()
        self._plot_mean, self._plot_std, self._plot_percentile = plot_mean, plot_std, bool(sigmas)
        self._statistician = Statistician(plot_mean, plot_std, sigmas)
        self._samples = Reservoir(max_sample_size, (len(self._keys), count))
        self._filename = file_name if filename is None else filename
        self._figsize, self._marker, self._grid = figsize, marker, grid

    @staticmethod
    def available() -> bool:
        """Returns whether matplotlib is installed; warns if it is not."""
        found = _has_matplotlib()
        if not found:
            warnings.warn(
                'VariableStatisticsPlot needs matplotlib, which is not installed; no plot will be drawn.',
                stacklevel=2,
            )
        return found

    def __call__(self, trainer: Any) -> None:
        """Notes the statistics of this iteration; writes the image if the trigger fires."""
        if not _has_matplotlib():
            return
        found = numpy.stack([self._statistics(key) for key in self._keys])
        self._samples.add(found, idx=trainer.updater.iteration)
        if self._trigger(trainer):
            import matplotlib.pyplot

            with replacing(os.path.join(trainer.out, self._filename)) as part:
                self.save_plot_using_module(part, matplotlib.pyplot)

    def _statistics(self, key: str) -> numpy.ndarray:
        """The statistics of all values or gradients together; NaN if there are none."""
        arrays = [getattr(variable, key) for variable in self._vars]
        flat = [array.ravel() for array in arrays if array is not None and array.size]
        count = self._samples.data.shape[-1]
        if not flat:
            return numpy.full(count, numpy.nan)
        found = self._statistician.collect(get_array_module(flat[0]).concatenate(flat), axis=None)
        return numpy.concatenate([numpy.ravel(cuda.to_cpu(value)) for value in found.values()])

    def save_plot_using_module(self, file_path: str, plt: Any) -> None:
        """Writes the image.

        Args:
            file_path (str): Path of the image.
            plt: The module ``matplotlib.pyplot``.
        """
        rows = (self._plot_mean or self._plot_std) + self._plot_percentile
        figure, axes = plt.subplots(rows, len(self._keys), figsize=self._figsize, sharex=True, squeeze=False)
        iterations, samples = self._samples.get_data()
        for column, key in enumerate(self._keys):
            self._draw(list(axes[:, column]), iterations, samples[:, column].T)
            axes[0, column].set_title(key)
            axes[-1, column].set_xlabel('iteration')
        figure.savefig(file_path)
        plt.close(figure)

    def _draw(self, axes: list[Any], iterations: Any, statistics: Any) -> None:
        """Draws the statistics of values or gradients, below each other: mean and deviation, percentiles."""
        means = self._plot_mean + self._plot_std
        if means:
            self._draw_mean(axes[0], iterations, *statistics[:means])
        if self._plot_percentile:
            self._draw_percentiles(axes[-1], iterations, statistics[means:])
        for each in axes:
            each.grid(self._grid)
            each.legend(loc='best')

    def _draw_mean(self, axes: Any, iterations: Any, first: Any, deviation: Any = None) -> None:
        if deviation is not None:
            bars = axes.errorbar(iterations, first, deviation, marker=self._marker, label='mean, std')
            for line in bars.lines[2]:
                line.set_alpha(0.3)
            return
        axes.plot(iterations, first, marker=self._marker, label='mean' if self._plot_mean else 'std')

    def _draw_percentiles(self, axes: Any, iterations: Any, percentiles: Any) -> None:
        """The middle one as a line, the others as bands around it."""
        count = len(percentiles)
        for i in range(count // 2):
            low, high, label = (
                percentiles[i],
                percentiles[count - i - 1],
                'percentile' if not (count % 2 or i) else None,
            )
            axes.fill_between(iterations, low, high, color='C0', alpha=0.6 / (count // 2), label=label)
        if count % 2:
            axes.plot(iterations, percentiles[count // 2], color='C0', marker=self._marker, label='percentile')

    def serialize(self, serializer: Any) -> None:
        """Saves or restores the statistics so far and the trigger; Chainer's snapshots do not contain them."""
        serialize_interval(serializer, self._trigger)
        try:
            self._samples.serialize(serializer['_samples'])
        except KeyError:
            if isinstance(serializer, Serializer):
                raise


def _has_matplotlib() -> bool:
    return importlib.util.find_spec('matplotlib') is not None


def _variables_of(targets: Any) -> Iterator[Variable]:
    """The Variables among Variables, Links and lists of these."""
    if isinstance(targets, Variable):
        yield targets
    elif isinstance(targets, Link):
        yield from targets.params()
    elif isinstance(targets, (list, tuple)):
        for target in targets:
            yield from _variables_of(target)


def _check(variables: Sequence[Variable], statistics: Any, max_sample_size: int) -> None:
    if not variables:
        raise ValueError(
            'VariableStatisticsPlot: need at least one variable, in a Link, a Variable or a list of these; got none'
        )
    if not statistics:
        raise ValueError('VariableStatisticsPlot: Nothing to plot: all statistics, or values and gradients, are off')
    if max_sample_size < 1:
        raise ValueError(f'VariableStatisticsPlot: max_sample_size must be at least 1, got {max_sample_size}')
