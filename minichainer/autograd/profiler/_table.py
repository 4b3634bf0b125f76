"""Events as a table of text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from minichainer.autograd.profiler.events import format_bytes, format_time

SORT_KEYS = (
    'cpu_time', 'cuda_time', 'cpu_time_total', 'cuda_time_total', 'count', 'self_cpu_time_total',
    'self_cuda_time_total', 'cpu_memory_usage', 'self_cpu_memory_usage', 'cuda_memory_usage',
    'self_cuda_memory_usage', 'device_time', 'device_time_total', 'self_device_time_total', 'device_memory_usage',
    'self_device_memory_usage',
)  # fmt: skip


class UnknownSortKey(ValueError, AttributeError):
    """``sort_by`` names no column; torch raises an AttributeError."""


class Widths(NamedTuple):
    """The most characters of columns of free text."""

    name: int
    source: int
    shapes: int


class _Column(NamedTuple):
    title: str
    width: int
    cell: Callable[[Any], str]


_NARROW = 12


def as_table(
    events: Sequence[Any],
    sort_by: str | None,
    row_limit: int,
    widths: Widths,
    header: str | None,
    top_level_events_only: bool,
    use_cuda: bool,
    profile_memory: bool,
) -> str:
    """Formats events; documented in ``EventList.table``."""
    if sort_by is not None and sort_by not in SORT_KEYS:
        raise UnknownSortKey(f'table: sort_by must be one of {", ".join(SORT_KEYS)}, got {sort_by!r}')
    if not events:
        return ''
    cpu = sum([event.self_cpu_time_total for event in events])
    cuda = sum([event.self_cuda_time_total for event in events])
    columns = _columns(events, widths, cpu, cuda, use_cuda, profile_memory)
    shown = _shown(events, sort_by, row_limit, top_level_events_only)
    lines = _lines(columns, shown, header)
    lines.append(f'Self CPU time total: {format_time(cpu)}')
    if use_cuda:
        lines.append(f'Self CUDA time total: {format_time(cuda)}')
    return '\n'.join([*lines, ''])


def _shown(events: Sequence[Any], sort_by: str | None, row_limit: int, top_level_only: bool) -> list[Any]:
    """The events of the rows."""
    shown = [e for e in events if e.cpu_parent is None] if top_level_only else list(events)
    if sort_by is not None:
        shown.sort(key=lambda event: getattr(event, sort_by), reverse=True)
    return shown if row_limit < 0 else shown[:row_limit]


def _lines(columns: list[_Column], shown: list[Any], header: str | None) -> list[str]:
    rule = '  '.join(['-' * column.width for column in columns])
    titles = '  '.join([column.title.rjust(column.width) for column in columns])
    rows = ['  '.join([_fitted(c.cell(event), c.width) for c in columns]) for event in shown]
    above = [] if header is None else ['=' * len(rule), header]
    return [*above, rule, titles, rule, *rows, rule]


def _fitted(text: str, width: int) -> str:
    """A text of the width of its column, cut at the end if it is longer."""
    return text.rjust(width) if len(text) <= width else f'{text[: max(width - 3, 0)]}...'


def _columns(
    events: Sequence[Any], widths: Widths, cpu: float, cuda: float, use_cuda: bool, profile_memory: bool
) -> list[_Column]:
    columns = [_text_column('Name', lambda e: e.key, events, widths.name), *_time_columns('CPU', 'cpu', cpu)]
    if use_cuda:
        columns += _time_columns('CUDA', 'cuda', cuda)
    if profile_memory:
        columns += _memory_columns('CPU', 'cpu')
    if profile_memory and use_cuda:
        columns += _memory_columns('CUDA', 'cuda')
    columns.append(_Column('# of Calls', _NARROW, lambda e: str(e.count)))
    if any([e.input_shapes for e in events]):
        columns.append(_text_column('Input Shapes', lambda e: str(e.input_shapes), events, widths.shapes))
    if any([e.stack for e in events]):
        columns.append(_text_column('Source Location', _source, events, widths.source))
    return columns


def _source(event: Any) -> str:
    return event.stack[0] if event.stack else ''


def _text_column(title: str, cell: Callable[[Any], str], events: Sequence[Any], most: int) -> _Column:
    return _Column(title, min(max([len(title), *[len(cell(e)) for e in events]]), max(most, len(title))), cell)


def _time_columns(device: str, prefix: str, whole: float) -> list[_Column]:
    """Self time, total time and time per call; parts of the whole self time in percent."""
    own, total, average = f'self_{prefix}_time_total', f'{prefix}_time_total', f'{prefix}_time'
    return [
        _Column(f'Self {device} %', _NARROW, lambda e: _percent(getattr(e, own), whole)),
        _Column(f'Self {device}', _NARROW, lambda e: format_time(getattr(e, own))),
        _Column(f'{device} total %', _NARROW, lambda e: _percent(getattr(e, total), whole)),
        _Column(f'{device} total', _NARROW, lambda e: format_time(getattr(e, total))),
        _Column(f'{device} time avg', max(_NARROW, len(device) + 9), lambda e: format_time(getattr(e, average))),
    ]


def _memory_columns(device: str, prefix: str) -> list[_Column]:
    own, total = f'self_{prefix}_memory_usage', f'{prefix}_memory_usage'
    return [
        _Column(f'{device} Mem', _NARROW, lambda e: format_bytes(getattr(e, total))),
        _Column(f'Self {device} Mem', max(_NARROW, len(device) + 9), lambda e: format_bytes(getattr(e, own))),
    ]


def _percent(part: float, whole: float) -> str:
    return f'{100 * part / whole:.2f}%' if whole else 'NaN'
