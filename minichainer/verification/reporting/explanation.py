"""The content of a report, of which its text, its page and its picture are made."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

#: What a message shows: pairs of output and input, elements in all, characters per line.
_SECTIONS, _ROWS, _WIDTH = 3, 8, 116


@dataclasses.dataclass(eq=False)
class Comparison:
    """One gradient, from backward and as measured.

    Attributes:
        order: As in :class:`~minichainer.verification.reporting.report.Failure`.
        output: Likewise.
        input: Likewise.
        backward: The gradient from backward, an array; zeros if that is None.
        elements: The flat indices of the elements that were measured.
        measured: Their measured gradients.
        allowed: Their tolerances.
        left: Their slopes from the left.
        right: Their slopes from the right.
        complete: Whether all other elements are known to be right.
    """

    order: int
    output: int
    input: int | str
    backward: Any
    elements: Any
    measured: Any
    allowed: Any
    left: Any
    right: Any
    complete: bool

    def filled(self, right: Any) -> Comparison:
        """The same with the right gradient for elements that were not measured; their tolerance is the largest."""
        full = np.full((4, right.size), np.nan)
        full[0], full[1] = right.ravel(), self.allowed.max(initial=0.0)
        full[:, self.elements] = self.measured, self.allowed, self.left, self.right
        measured, allowed, left, right_slopes = full
        return dataclasses.replace(
            self,
            elements=np.arange(right.size),
            measured=measured,
            allowed=allowed,
            left=left,
            right=right_slopes,
            complete=True,
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the input."""
        return tuple(self.backward.shape)

    @property
    def is_sparse(self) -> bool:
        """Whether only a few of many elements are known."""
        return not self.complete and 8 * len(self.elements) < self.backward.size

    @functools.cached_property
    def numeric(self) -> Any:
        """The measured gradient; NaN for elements that were not measured."""
        return self._spread(self.measured)

    @functools.cached_property
    def ratio(self) -> Any:
        """The error divided by the tolerance; 0 for elements that are known to be right, NaN for unknown ones."""
        with np.errstate(all='ignore'):
            off = abs(self.measured - self.backward.ravel()[self.elements])
            ratio = np.where(off == 0, 0.0, off / self.allowed)
        ratio = self._spread(np.where(np.isnan(ratio), np.inf, ratio), 0.0 if self.complete else np.nan)
        return np.where(np.isfinite(self.backward), ratio, np.inf)

    def _spread(self, values: Any, others: float = np.nan) -> Any:
        full = np.full(self.backward.size, others)
        full[self.elements] = values
        return full.reshape(self.backward.shape)


@dataclasses.dataclass
class Section:
    """What is wrong with one gradient, for one reason.

    Attributes:
        where: Output, input, and how many elements are wrong.
        cause: A short name, a colon and a sentence.
        header: The titles of the columns; empty if no elements are known.
        rows: The elements, worst first.
        more: A sentence about the gradient as a whole; empty if there is none.
        count: How many elements are wrong.
        least: Whether there may be more.
        comparison: All elements that were measured.
        index: The worst element.
        slopes: For a kink, the slopes from the left and the right and the value from backward; else the measured
            slope and the value from backward, if there are any.
    """

    where: str
    cause: str
    header: list[str]
    rows: list[list[str]]
    more: str
    count: int
    least: bool
    comparison: Comparison | None
    index: tuple[int, ...] | None
    slopes: tuple[float, ...]

    @property
    def is_kink(self) -> bool:
        """Whether the function has a kink at these elements."""
        return self.header[1:2] == ['left slope']

    def hidden(self, rows: int) -> str:
        """The line about elements that the table leaves out, empty if there are none."""
        count = self.count - min(rows, len(self.rows))
        return f'and {"at least " if self.least else ""}{count} more' if self.rows and count > 0 else ''

    def lines(self, rows: int) -> list[str]:
        """The section as text with at most so many rows."""
        lines = [self.where, f'  {self.cause}', *(f'  {line}' for line in _aligned(self.header, self.rows[:rows]))]
        return lines + [f'  {line}' for line in (self.more, self.hidden(rows)) if line]


@dataclasses.dataclass
class Explanation:
    """A report in parts.

    Attributes:
        headline: The verdict in a sentence.
        sections: What is wrong, worst first.
        remarks: Advice and notes, in sentences.
        enough: The one of them that names tolerances which are enough; empty if there is none.
        cost: What the check has cost, and its seed.
        replay: A line of code that repeats the check.
    """

    headline: str
    sections: list[Section] = dataclasses.field(default_factory=list)
    remarks: list[str] = dataclasses.field(default_factory=list)
    cost: str = ''
    replay: str = ''
    enough: str = ''

    def text(self, rows: int = _ROWS, sections: int = _SECTIONS) -> str:
        """The whole as text, with at most so many sections and about so many rows of tables."""
        return '\n'.join(_cut([*self._lines(rows, sections), self.cost, f'Replay: {self.replay}']))

    def brief(self) -> str:
        """The essence, for exceptions that add their own lines."""
        return '\n'.join(_cut(self._lines(3, 2)))

    def _lines(self, rows: int, sections: int) -> list[str]:
        lines, shown = [self.headline], self.sections[:sections]
        for section in shown:
            lines += section.lines(max(rows // len(shown), 2))
        lines += [line for line in (self.left_out(sections),) if line]
        return [*lines, *self.remarks]

    def left_out(self, shown: int) -> str:
        """The line about sections that are not shown, empty if there are none."""
        more = len(self.sections) - shown
        if more <= 0:
            return ''
        return f'{counted(more, "more pair")} of output and input {"is" if more == 1 else "are"} affected.'


def counted(n: int, noun: str) -> str:
    """A number and a noun, in the plural if needed.

    >>> counted(1, 'call'), counted(2, 'backward pass')
    ('1 call', '2 backward passes')
    """
    ending = '' if n == 1 else 'es' if noun.endswith('s') else 's'
    return f'{n} {noun}{ending}'


def numbers(*values: float | None) -> list[str]:
    """Numbers as text, with more digits if different ones would look the same.

    >>> numbers(2.0, 2.5), numbers(1.0, 1 + 1e-12), numbers(None)
    (['2', '2.5'], ['1', '1.000000000001'], ['None'])
    """
    different = {v for v in values if v is not None and v == v}
    digits = next((d for d in range(9, 17) if len({f'{v:.{d}g}' for v in different}) == len(different)), 17)
    return ['None' if v is None else f'{v + 0.0:.{digits}g}' for v in values]


def _aligned(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table as lines, in columns; no line if there is no row."""
    if not rows:
        return []
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    cells = ([cell.ljust(w) for cell, w in zip(row, widths, strict=True)] for row in (header, *rows))
    return ['  '.join(line).rstrip() for line in cells]


def _cut(lines: Sequence[str]) -> Iterator[str]:
    """Wraps long lines at spaces."""
    for line in lines:
        while len(line) > _WIDTH:
            at = line.rfind(' ', 60, _WIDTH)
            at = _WIDTH if at < 0 else at
            yield line[:at]
            line = '    ' + line[at:].lstrip()
        yield line
