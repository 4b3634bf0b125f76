from __future__ import annotations

import importlib.util
import json
import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from minichainer.reporter import DictSummary
from minichainer.serializer import Serializer, decoded
from minichainer.training.extension import Extension
from minichainer.training.extensions._files import replacing
from minichainer.training.extensions._interval import serialize_interval
from minichainer.training.extensions._missing import warn_of_missing
from minichainer.training.util import get_trigger


class PlotReport(Extension):
    """Plots reported values against iterations or epochs to an image file, with matplotlib.

    Without matplotlib it warns once and does not plot.

    Args:
        y_keys (str or list of str): Keys of the values to draw.
        x_key (str): ``'iteration'`` or ``'epoch'``.
        trigger: Trigger that ends an interval; each interval gives one point, the mean of the values.
        postprocess: Function of the figure, the axes and the summary, called before the file is written.
        filename (str): Name of the image in the trainer's output folder; ``'plot.png'`` when omitted.
        marker (str): Marker of matplotlib, or ``None``.
        grid (bool): Whether to draw a grid.
        file_name (str): Older spelling of ``filename``.

    .. admonition:: Example

        >>> from minichainer.training import extensions
        >>> plot = extensions.PlotReport(['main/loss', 'validation/main/loss'], 'epoch', filename='loss.png')

    """

    def __init__(
        self,
        y_keys: str | Sequence[str],
        x_key: str = 'iteration',
        trigger: Any = (1, 'epoch'),
        postprocess: Callable[[Any, Any, DictSummary], Any] | None = None,
        filename: str | None = None,
        marker: str | None = 'x',
        grid: bool = True,
        *,
        file_name: str = 'plot.png',
    ) -> None:
        self.available()
        self._y_keys = (y_keys,) if isinstance(y_keys, str) else tuple(y_keys)
        self._x_key = x_key
        self._trigger = get_trigger(trigger)
        self._postprocess = postprocess
        self._filename = file_name if filename is None else filename
        self._marker = marker
        self._grid = grid
        self._init_summary()
        self._observed: set[str] = set()
        self._data: dict[str, list[tuple[float, float]]] = {key: [] for key in self._y_keys}

    @staticmethod
    def available() -> bool:
        """Returns whether matplotlib is installed; warns if it is not."""
        found = importlib.util.find_spec('matplotlib') is not None
        if not found:
            warnings.warn('PlotReport needs matplotlib, which is not installed; no plot will be drawn.', stacklevel=2)
        return found

    def __call__(self, trainer: Any) -> None:
        """Adds the values of this iteration; at the end of an interval plots them."""
        observation = trainer.observation
        self._observed.update(observation)
        self._summary.add({k: observation[k] for k in self._y_keys if k in observation})
        if not (trainer.is_before_training or self._trigger(trainer)):
            return
        means = {key: float(value) for key, value in self._summary.compute_mean().items()}
        x = {'epoch': trainer.updater.epoch, 'iteration': trainer.updater.iteration, **means}[self._x_key]
        for key in means:
            self._data[key].append((x, means[key]))
        if importlib.util.find_spec('matplotlib') is not None:
            self._draw(os.path.join(trainer.out, self._filename))
        self._init_summary()

    def _init_summary(self) -> None:
        """Begins an interval; subclasses of programs replace it."""
        self._summary = DictSummary()

    def finalize(self) -> None:
        """Warns of keys without any value."""
        warn_of_missing('PlotReport', (key for key, points in self._data.items() if not points), self._observed)

    def _draw(self, path: str) -> None:
        """Writes the plot to a file."""
        # Not through pyplot, which would choose a window system and keep figures alive.
        from matplotlib.figure import Figure

        figure = Figure()
        axes = figure.add_subplot()
        axes.set_xlabel(self._x_key)
        if self._x_key in ('epoch', 'iteration'):
            axes.locator_params(axis='x', integer=True)  # no ticks at fractions of an epoch
        axes.grid(self._grid)
        for key, points in self._data.items():
            if points:
                xs, ys = zip(*points, strict=True)
                axes.plot(xs, ys, marker=self._marker, label=key)
        if not axes.has_data():
            return
        if self._postprocess is not None:
            self._postprocess(figure, axes, self._summary)
        legend = axes.legend(bbox_to_anchor=(1.05, 1), loc='upper left', borderaxespad=0.0)
        with replacing(path) as part:
            figure.savefig(part, bbox_extra_artists=(legend,), bbox_inches='tight')

    def serialize(self, serializer: Any) -> None:
        """Saves or restores the points so far, the sums of the current interval and its trigger."""
        key = f'_plot_{self._filename}'
        if isinstance(serializer, Serializer):
            serializer(key, json.dumps(self._data))
        else:
            self._data.update(decoded(serializer(key, json.dumps(self._data)), dict))
        serialize_interval(serializer, self._trigger, self._summary)
