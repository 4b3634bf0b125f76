"""Draws a report: measured gradients, those from backward, and the errors, over the elements of the inputs."""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from minichainer.verification.reporting.explanation import Comparison, Explanation, Section

#: The most cells along an axis of a panel, and the most that show their numbers.
_CELLS, _NUMBERED = 96, 40
#: Up to this many cells are drawn as rectangles, more as an image.
_DRAWN = 400
#: How many colours a scale has.
_SHADES = 33
#: Width of the picture, and heights of its parts, in inches.
_WIDTH, _TITLE, _TITLES, _TALL, _FLAT, _BARS, _NONE = 11.0, 0.5, 0.45, 2.5, 1.4, 1.2, 0.15
_UNKNOWN = '#8c8c8c'
_RIGHT = '#eef3ea'
_MEASURED, _BACKWARD = '#1b9e77', '#d95f02'


def plot(explanation: Explanation, path: Any = None, rows: int = 6) -> Any:
    """Draws a report.

    Args:
        explanation: The report.
        path: Where to save the picture; None to return it only.
        rows: The most sections to draw.
    """
    shown = explanation.sections[:rows]
    heights = [_TITLES + _height(section) for section in shown]
    figure = _figure(_TITLE + sum(heights))
    rest = [explanation.left_out(rows), explanation.enough] if shown else [explanation.cost]
    title = ' '.join([explanation.headline, *rest])
    figure.suptitle('\n'.join(textwrap.wrap(title, 110)), fontsize=12, fontweight='bold')
    if shown:
        bands = figure.subfigures(len(shown), 1, squeeze=False, height_ratios=heights)[:, 0]
        for band, section in zip(bands, shown, strict=True):
            lines = textwrap.wrap(section.where, 120) + textwrap.wrap(section.cause, 120)
            band.suptitle('\n'.join(lines), fontsize=10, x=0.01, ha='left')
            _Band(band, section, 'black').draw()
    if path is not None:
        figure.savefig(path)
    return figure


def plot_section(section: Section, ink: str) -> Any:
    """The panels of one section without titles, in a colour and without a background; None if it has none."""
    if section.comparison is None and not section.slopes:
        return None
    figure = _figure(_height(section), 'none')
    _Band(figure, section, ink).draw()
    return figure


def _figure(height: float, paper: str = 'white') -> Any:
    """An empty figure, independent of pyplot."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError('a picture needs matplotlib: pip install matplotlib') from error
    return Figure(figsize=(_WIDTH, height), layout='constrained', facecolor=paper, dpi=120)


def _height(section: Section) -> float:
    if section.comparison is None:
        return _BARS if section.slopes else _NONE
    folded = Folded(section.comparison.shape)
    flat = folded.columns >= 3 * folded.rows and not section.is_kink and not section.comparison.is_sparse
    return _FLAT if flat else _TALL


@dataclasses.dataclass
class Folded:
    """How an array of any shape is laid out in rows and columns.

    >>> Folded((2, 3, 4)).rows, Folded((2, 3, 4)).columns, Folded((5,)).rows
    (6, 4, 1)
    """

    shape: tuple[int, ...]

    @property
    def split(self) -> int:
        """The first axis that runs along the columns: rows and columns are as equal as possible."""
        if len(self.shape) < 2:
            return 0
        ways = range(1, len(self.shape))
        return min(ways, key=lambda s: abs(np.log(max(_count(self.shape[:s]), 1) / max(_count(self.shape[s:]), 1))))

    @property
    def rows(self) -> int:
        return _count(self.shape[: self.split])

    @property
    def columns(self) -> int:
        return _count(self.shape[self.split :])

    def label(self, axes: range) -> str:
        """Names of the axes that are folded together."""
        if not len(axes):
            return ''
        sizes = ' x '.join(str(self.shape[a]) for a in axes)
        names = ', '.join(map(str, axes))
        return f'axis {names}' if len(axes) == 1 else f'axes {names} ({sizes})'

    def tick(self, axes: range, position: float, step: int) -> str:
        """The index at a position: a number, or a tuple of numbers for folded axes; empty between cells."""
        shape, place = [self.shape[a] for a in axes], round(position) * step
        if abs(position - round(position)) > 1e-6 or not 0 <= place < _count(shape):
            return ''
        index = [int(n) for n in np.unravel_index(place, shape)] if shape else [0]
        return ','.join(map(str, index))


def _count(shape: Sequence[int]) -> int:
    return int(np.prod(shape, dtype=np.int64))


class Grid:
    """The panels of a comparison as 2-d arrays; a cell for many elements shows the one with the largest error."""

    def __init__(self, comparison: Comparison) -> None:
        self.folded = Folded(comparison.shape)
        self.steps = [-(-n // _CELLS) for n in (self.folded.rows, self.folded.columns)]
        ratio = self._cells(comparison.ratio)
        with np.errstate(invalid='ignore'):
            rank = np.where(np.isnan(ratio), -1.0, ratio)
        worst = rank.argmax(axis=-1)[..., None]
        backward = comparison.backward.astype(np.float64)
        numeric = comparison.numeric
        if comparison.complete:
            numeric = np.where(np.isnan(numeric) & (comparison.ratio == 0), backward, numeric)
        panels = [np.take_along_axis(self._cells(a), worst, axis=-1)[..., 0] for a in (numeric, backward)]
        self.numeric, self.backward = panels
        self.ratio = np.take_along_axis(ratio, worst, axis=-1)[..., 0]

    def _cells(self, array: Any) -> Any:
        """The array with one row of elements per cell, filled up with NaN."""
        table = np.asarray(array, np.float64).reshape(self.folded.rows, self.folded.columns)
        table = np.pad(
            table, [(0, -n % s) for n, s in zip(table.shape, self.steps, strict=True)], constant_values=np.nan
        )
        (r, c), (h, w) = self.steps, table.shape
        return table.reshape(h // r, r, w // c, c).swapaxes(1, 2).reshape(h // r, w // c, r * c)

    @property
    def share(self) -> str:
        """How many elements a cell stands for, if more than one."""
        rows, columns = self.steps
        return f', the worst of {rows} x {columns}' if rows * columns > 1 else ''

    @property
    def limit(self) -> float:
        """The largest number that the colours of values tell apart: not much beyond the right gradient."""
        right, given = (abs(a[np.isfinite(a)]).max(initial=0.0) for a in (self.numeric, self.backward))
        return float(max(right, min(given, 3 * right) if right else given)) or 1.0


class _Band:
    """One section of the report as a row of panels."""

    def __init__(self, figure: Any, section: Section, ink: str) -> None:
        self.figure, self.section, self.ink = figure, section, ink

    def draw(self) -> None:
        """Draws the panels."""
        comparison = self.section.comparison
        if comparison is None or not comparison.backward.size:
            self._slopes_alone()
            return
        left, middle, right = self.figure.subplots(1, 3)
        grid = Grid(comparison)
        shades = self._values(grid, left, grid.numeric, 'numeric')
        self._values(grid, middle, grid.backward, 'backward')
        self._bar(shades, [left, middle], grid.limit, abs(grid.backward))
        if self.section.is_kink:
            self._kink(right)
        elif comparison.is_sparse:
            self._pairs(comparison, right)
        else:
            self._errors(grid, right)

    def _slopes_alone(self) -> None:
        """Bars for the measured slope and backward's, where no elements are known."""
        axes = self.figure.subplots()
        if not self.section.slopes:
            axes.set_axis_off()
            return
        names = (
            ['measured', 'backward'] if len(self.section.slopes) == 2 else ['left slope', 'right slope', 'backward']
        )
        values = np.nan_to_num(self.section.slopes, posinf=0.0, neginf=0.0)
        colours = [_MEASURED] * (len(names) - 1) + [_BACKWARD]
        bars = axes.barh(names[: len(values)], values, color=colours[: len(values)])
        axes.bar_label(bars, [f'{v:.6g}' for v in self.section.slopes], padding=3, color=self.ink, fontsize=8)
        axes.set_title('' if self.section.index is None else f'element {self.section.index}')
        axes.invert_yaxis()
        axes.margins(x=0.15)
        axes.axvline(0, color=self.ink, linewidth=0.8)
        self._plain(axes)

    def _plain(self, axes: Any) -> None:
        """Makes the lines and texts of a panel quiet and of the colour of the picture."""
        axes.set_facecolor('none')
        axes.tick_params(colors=self.ink, labelsize=8, length=2)
        for item in (axes.xaxis.label, axes.yaxis.label, axes.title):
            item.set_color(self.ink)
            item.set_fontsize(9)
        for spine in axes.spines.values():
            spine.set_color(self.ink)
            spine.set_linewidth(0.5)

    # --- panels over the elements ------------------------------------------------------------------------------
    def _panel(self, grid: Grid, axes: Any, values: Any, title: str, **colours: Any) -> Any:
        """An image with a cell per element; cells without a number are hatched."""
        from matplotlib.patches import Rectangle
        from matplotlib.ticker import MaxNLocator

        if np.isnan(values).any():
            background: dict[str, Any] = {
                'facecolor': _UNKNOWN,
                'edgecolor': 'white',
                'hatch': '///',
                'linewidth': 0,
                'zorder': 0,
            }
            axes.add_patch(Rectangle((0, 0), 1, 1, transform=axes.transAxes, **background))
        rows, columns = values.shape
        if values.size <= _DRAWN:
            edges = (np.arange(columns + 1) - 0.5, np.arange(rows + 1) - 0.5)
            image = axes.pcolormesh(*edges, values, zorder=1, edgecolors='face', linewidth=0.1, **colours)
            axes.invert_yaxis()
        else:  # lines of pixels are smaller, in files, than lines of rectangles
            image = axes.imshow(values, aspect='auto', interpolation='none', zorder=1, **colours)
        folded, half = grid.folded, grid.folded.split
        pairs = zip((axes.yaxis, axes.xaxis), (range(half), range(half, len(folded.shape))), grid.steps, strict=True)
        for axis, folded_axes, step in pairs:
            axis.set_major_locator(MaxNLocator(6, integer=True))
            axis.set_major_formatter(lambda v, _, a=folded_axes, s=step: folded.tick(a, v, s))
            axis.set_label_text(folded.label(folded_axes))
            if not folded_axes:
                axis.set_ticks([])
        axes.set_title(title)
        self._plain(axes)
        return image

    def _values(self, grid: Grid, axes: Any, values: Any, title: str) -> Any:
        from matplotlib import colormaps

        limit, shades = grid.limit, colormaps['RdBu_r'].resampled(_SHADES)
        image = self._panel(grid, axes, values, title, cmap=shades, vmin=-limit, vmax=limit)
        self._numbers(axes, [[f'{v + 0.0:.3g}' for v in row] for row in values], abs(values) > 0.6 * limit)
        return image

    def _errors(self, grid: Grid, axes: Any) -> None:
        """The errors in multiples of the tolerance, on a logarithmic scale from 1 on."""
        from matplotlib import colormaps
        from matplotlib.colors import LogNorm

        ratio = grid.ratio
        top = max(float(ratio[np.isfinite(ratio)].max(initial=0.0)), 10.0)
        shades = colormaps['YlOrRd'].resampled(_SHADES).with_extremes(under=_RIGHT, over='#3d0014')
        drawn = np.clip(ratio, 0.5, 1e300)  # a logarithmic scale has no place for 0 and infinity
        title = f'error / tolerance{grid.share}'
        image = self._panel(grid, axes, drawn, title, cmap=shades, norm=LogNorm(1.0, top))
        self._numbers(axes, [[f'{r:.2g}' if r > 0.1 else '' for r in row] for row in ratio], ratio > top**0.55)
        self._bar(image, [axes], top, drawn, low='min')
        self._rings(axes, ratio)

    def _pairs(self, comparison: Comparison, axes: Any) -> None:
        """The measured elements against those from backward, where only a few of many were measured."""
        given = comparison.backward.ravel()[comparison.elements]
        axes.axline((0, 0), slope=1, color=self.ink, linewidth=0.8)
        axes.plot(comparison.measured, given, 'o', markersize=4, color=_BACKWARD, alpha=0.8)
        axes.set(title=f'{len(given)} measured elements', xlabel='numeric', ylabel='backward; right on the line')
        self._plain(axes)

    def _rings(self, axes: Any, ratio: Any) -> None:
        """Rings around wrong cells, if they are few and small."""
        wrong = np.argwhere(ratio > 1)
        if ratio.size > 10 * _NUMBERED and len(wrong) <= 10:
            axes.plot(wrong[:, 1], wrong[:, 0], 'o', markersize=11, markerfacecolor='none', color='#b3261e')

    def _numbers(self, axes: Any, texts: Sequence[Sequence[str]], dark: Any) -> None:
        """Writes numbers into the cells, if there are few."""
        if dark.size > _NUMBERED or dark.shape[1] > 12:
            return
        for row, column in np.ndindex(dark.shape):
            text = texts[row][column]
            style: dict[str, Any] = {'color': 'white' if dark[row, column] else 'black'}
            if text == 'nan' and axes.get_title() == 'numeric':
                continue  # not measured
            if text == 'nan':
                style = {'color': 'white', 'bbox': {'facecolor': _UNKNOWN, 'edgecolor': 'none', 'pad': 1.5}}
            axes.text(column, row, text, ha='center', va='center', fontsize=7, **style)

    def _bar(self, image: Any, axes: Sequence[Any], top: float, values: Any, low: str = 'both') -> None:
        """The scale of colours."""
        beyond = bool((values > top * (1 + 1e-9)).any())
        extend = {'both': 'both' if beyond else 'neither', 'min': 'both' if beyond else 'min'}[low]
        bar = self.figure.colorbar(image, ax=axes, extend=extend, fraction=0.05, pad=0.02)
        bar.ax.tick_params(colors=self.ink, labelsize=7, length=2)
        bar.solids.set_rasterized(False)
        bar.outline.set_edgecolor(self.ink)
        bar.outline.set_linewidth(0.5)

    # --- kinks -------------------------------------------------------------------------------------------------
    def _kink(self, axes: Any) -> None:
        """The function near a kink: its slopes on both sides, and the one from backward."""
        left, right, *backward = self.section.slopes
        axes.set_title(f'slopes at {self.section.index}')
        for side, slope, name in ((-1.0, left, 'left'), (1.0, right, 'right')):
            if np.isfinite(slope):
                axes.plot([0, side], [0, side * slope], color=_MEASURED, linewidth=2.5, label=f'{name} {slope:.4g}')
            else:
                axes.plot([], [], color=_MEASURED, label=f'{name} {slope}')
        if backward and np.isfinite(backward[0]):
            ends = [-backward[0], backward[0]]
            axes.plot([-1, 1], ends, color=_BACKWARD, linestyle='--', label=f'backward {backward[0] + 0.0:.4g}')
        axes.plot([0], [0], 'o', color=self.ink, markersize=4)
        axes.legend(fontsize=7, frameon=False, labelcolor=self.ink)
        axes.set(xlabel='change of the element, in units of a step', ylabel='change of the output')
        axes.set_xticks([-1, 0, 1])
        self._plain(axes)
