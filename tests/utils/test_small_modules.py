"""Small modules that old code imports: cache, precision, error, warnings."""

from __future__ import annotations

import collections.abc
import warnings
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
from minichainer import utils
from minichainer.utils.cache import cached_property
from minichainer.utils.error import _format_array_props
from minichainer.utils.precision import _fp16_mixed_precision_helper


class Counted:
    def __init__(self) -> None:
        self.count = 0

    @cached_property
    def value(self) -> int:
        """How often it was computed."""
        self.count += 1
        return self.count


def test_a_cached_property_is_computed_once_with_a_graph_and_once_without() -> None:
    one, other = Counted(), Counted()
    assert (one.value, one.value, other.value) == (1, 1, 1)
    with chainer.no_backprop_mode():
        assert (one.value, one.value) == (2, 2)
    assert one.value == 1
    assert Counted.value.__doc__ == 'How often it was computed.'


def test_a_cached_property_is_read_only() -> None:
    counted = Counted()
    with pytest.raises(AttributeError, match="attribute 'value' of Counted is readonly"):
        counted.value = 3
    assert counted.value == 1


@pytest.mark.parametrize(
    ('inputs', 'inside', 'outside'),
    [('ef', 'ff', 'ee'), ('e', 'f', 'e'), ('ie', 'if', 'ie'), ('d', 'd', 'd'), ('f', 'f', 'f')],
)
def test_float16_is_computed_in_float32(inputs: str, inside: str, outside: str) -> None:
    seen: list[str] = []

    @_fp16_mixed_precision_helper
    def double(self: Any, arrays: Any) -> Any:
        seen.extend(x.dtype.char for x in arrays)
        return tuple(x * 2 for x in arrays)

    outputs = double(None, tuple(np.ones(2, dtype) for dtype in inputs))
    assert ''.join(seen) == inside
    assert ''.join(y.dtype.char for y in outputs) == outside


def test_missing_outputs_stay_missing() -> None:
    assert _fp16_mixed_precision_helper(lambda self, arrays: (None,))(None, (np.ones(1, 'e'), None)) == (None,)


def test_shapes_and_dtypes_as_text() -> None:
    assert _format_array_props([np.zeros((2, 3), 'f'), None]) == '(2, 3):float32, None'


def test_names_that_old_code_takes_from_utils() -> None:
    assert utils.collections_abc is collections.abc


def test_a_warning_of_slowness() -> None:
    with pytest.warns(RuntimeWarning):
        warnings.warn('slow', chainer.warnings.PerformanceWarning, stacklevel=1)
