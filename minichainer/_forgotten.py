"""Errors of users' backward functions that read what forward has not kept."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

#: What backward reads, and what forward calls to keep it.
_KEEPERS = {
    'get_retained_inputs': 'self.retain_inputs',
    'get_retained_outputs': 'self.retain_outputs',
    'output_data': 'self.retain_outputs',
    'saved_tensors': 'ctx.save_for_backward',
}
_TOO_FEW = re.compile(r'not enough values to unpack \(expected (?:at least )?(\d+), got (\d+)\)')
_BEYOND = 'tuple index out of range'


def explained(error: Exception, label: str, kept: Mapping[str, tuple[int, int]]) -> Exception | None:
    """An error that says what forward should keep; None if that is not the reason.

    Args:
        error: what backward has raised.
        label: the label of the node.
        kept: for each way of reading, how many values forward has kept, and how many it could keep.
    """
    found = _TOO_FEW.fullmatch(str(error))
    is_none = 'NoneType' in str(error)
    if found is None and str(error) != _BEYOND and not is_none:
        return None
    names = _names(error)
    ways = [way for way in kept if way in names and (way == 'output_data') is is_none]
    short = [(kept[way][0], way) for way in ways if kept[way][0] < kept[way][1]]
    if found is not None:
        short = [(count, way) for count, way in short if count == int(found[2])]
    if not short:
        return None
    count, way = min(short)
    remedy = _remedy(way, int(found[1]) if found is not None else kept[way][1])
    what = f'backward of {label} reads {way}, for which forward has kept {count or "nothing"}'
    return type(error)(f'{error}: {what}: in forward, write {remedy}')


def _remedy(way: str, count: int) -> str:
    indexes = '...' if way == 'saved_tensors' else f'{tuple(range(count))}'
    return f'{_KEEPERS[way]}({indexes})'


def _names(error: BaseException) -> tuple[str, ...]:
    """The names in the function that has raised; in its comprehension, those of both."""
    trace: Any = error.__traceback__
    names: tuple[str, ...] = ()
    while trace is not None:
        code = trace.tb_frame.f_code
        names = (names if code.co_name in ('<listcomp>', '<genexpr>') else ()) + code.co_names
        trace = trace.tb_next
    return names
