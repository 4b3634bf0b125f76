"""Causes in our words, and how a report may say them."""

from __future__ import annotations

from typing import Any

SIGN = 'sign'
CONJUGATED = 'conjugated'
FACTOR = 'factor'
TERM = 'missing term'
TRANSPOSED = 'transposed'
SHIFTED = 'shifted'
SWAPPED = 'swapped inputs'
DETACHED = 'detached'
LINEAR = 'not linear in the upstream gradient'
HALF = 'wrong where x < 0'
IGNORED = "an output's gradient ignored"
SUMMED = 'not summed over a broadcast axis'
DTYPE = 'dtype'
SHAPE = 'shape'
NONE = 'missing (None)'
FINITE = 'non-finite'
SECOND = 'second order only'
SINGLE = 'one element'
SLICE = 'one slice'
ADDED = 'a constant added'
LEFT_OUT = 'left out'
PERMUTED = 'permuted'
AXIS = 'wrong axis'
TRUNCATED = 'truncated'
INACCURATE = 'inaccurate'
INTERVAL = 'wrong where 0.3 <= x <= 0.5'
MASK = 'wrong mask'
UNKNOWN = 'unknown'
UNDEFINED = 'a missing upstream gradient'
STALE = 'stale cache'
TWICE = 'added twice'

#: What a report's cause contains, in lower case and without underscores, if it means this.
SPELLINGS = {
    SIGN: ('sign',),
    CONJUGATED: ('conjugated',),
    FACTOR: ('factor',),
    TERM: ('term',),
    TRANSPOSED: ('transposed',),
    SHIFTED: ('shifted', 'reversed'),
    SWAPPED: ('swapped',),
    DETACHED: ('detached',),
    LINEAR: ('linear',),
    HALF: ('half line', 'where x <', 'where x >', 'x < 0', 'x > 0'),
    IGNORED: ('ignored',),
    SUMMED: ('summed', 'broadcast'),
    DTYPE: ('dtype',),
    SHAPE: ('shape', 'number of gradients', 'count'),
    NONE: ('none', 'missing'),
    FINITE: ('finite', 'nan', 'infinit'),
    SECOND: ('second order',),
    SINGLE: ('single', 'one element'),
    SLICE: ('slice', 'at index'),
    LEFT_OUT: ('left out',),
    PERMUTED: ('permuted',),
    AXIS: ('wrong axis',),
    TRUNCATED: ('truncated',),
    ADDED: ('constant', 'adds'),
    INACCURATE: ('inaccurate',),
    INTERVAL: ('wrong where',),
    MASK: ('wrong mask',),
    UNKNOWN: ('unknown', 'no simple relation'),
    STALE: ('stale',),
    TWICE: ('twice',),
    UNDEFINED: ('undefined', 'upstream gradient is missing', 'missing upstream'),
}


def says(cause: Any, wanted: tuple[str, ...]) -> bool:
    """Whether the cause that a report gives, a short name before a sentence, is one of those wanted."""
    text = str(cause).partition(':')[0].lower().replace('_', ' ')
    if text == 'missing term' and TERM not in wanted:
        return False
    return any(spelling in text for word in wanted for spelling in SPELLINGS[word])
