"""The kernels' dispatch: which body computes, and what happens around it."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from minichainer.kernels._dispatch import DECLINED, kernel

OTHER = ModuleType('like_cupy')


def named(name: str) -> Any:
    return lambda xp, x: name


def test_the_generic_body_computes_where_there_is_no_other() -> None:
    op = kernel(named('generic'))
    assert op(np, 1) == op(OTHER, 1) == 'generic'


@pytest.mark.parametrize(
    ('bodies', 'xp', 'chosen'),
    [
        (('numpy',), np, 'numpy'),
        (('numpy', 'native'), np, 'native'),
        (('cupy', 'cuda', 'numpy', 'native'), OTHER, 'cuda'),
        (('cupy', 'numpy'), OTHER, 'cupy'),
        (('cupy', 'cuda'), np, 'generic'),
        (('native',), OTHER, 'generic'),
    ],
)
def test_the_best_body_that_is_there_is_chosen(bodies: tuple[str, ...], xp: ModuleType, chosen: str) -> None:
    op = kernel(named('generic'))
    for where in bodies:
        op.on(where)(named(where))
    assert op(xp, 1) == chosen


def test_a_body_that_is_registered_later_replaces_the_one_in_use() -> None:
    op = kernel(named('generic'))
    assert op(np, 1) == 'generic'
    op.on('numpy')(named('numpy'))
    assert op(np, 1) == 'numpy'


def test_what_a_body_declines_goes_to_the_next_one() -> None:
    op = kernel(named('generic'))
    op.on('numpy', declines=True)(lambda xp, x: DECLINED if x > 1 else 'numpy')
    op.on('native', declines=True)(lambda xp, x: DECLINED if x > 0 else 'native')
    assert [op(np, x) for x in (0, 1, 2)] == ['native', 'numpy', 'generic']


def test_an_unknown_place_is_refused() -> None:
    @kernel
    def halves(xp: Any, x: Any) -> Any:
        return x / 2

    with pytest.raises(ValueError, match=r"halves: expected 'numpy', 'native', 'cupy' or 'cuda', got 'tpu'"):
        halves.on('tpu')


def test_float16_is_computed_in_float32_where_a_kernel_says_so() -> None:
    seen = []

    @kernel(widens=True)
    def doubled(xp: Any, x: Any, factor: float) -> Any:
        seen.append(x.dtype.char)
        return x * np.float32(2), factor, x.astype('d')

    half, factor, double = doubled(np, np.ones(2, 'e'), 0.5)
    assert (half.dtype.char, factor, double.dtype.char) == ('e', 0.5, 'd')
    assert doubled(np, np.ones(2, 'f'), 0.5)[0].dtype.char == 'f'
    assert seen == ['f', 'f']


def test_it_keeps_name_and_documentation() -> None:
    @kernel
    def halves(xp: Any, x: Any) -> Any:
        """Half of it."""
        return x / 2

    assert (halves.__name__, halves.__doc__) == ('halves', 'Half of it.')
