"""Choosing by a mask, against NumPy's where."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minichainer.kernels import selection

SHAPES = [((), ()), ((3,), (3,)), ((40, 20), (40, 20)), ((40, 1), (40, 20)), ((20,), (40, 20)), ((40, 20), (20,))]
LAYOUTS = [np.ascontiguousarray, lambda a: np.repeat(a, 2, -1)[..., ::2] if a.ndim else a, lambda a: a.T.copy().T]


@pytest.mark.parametrize('dtype', 'efdil')
@pytest.mark.parametrize(('shape', 'mask_shape'), SHAPES)
@pytest.mark.parametrize('layout', LAYOUTS)
def test_masked_and_chosen_are_where(dtype: str, shape: Any, mask_shape: Any, layout: Any) -> None:
    rng = np.random.RandomState(0)
    x, y = (layout(np.asarray(rng.randn(*shape) * 9).astype(dtype)) for _ in range(2))
    if dtype in 'efd' and x.size > 3:
        x.flat[:3], y.flat[:3] = [np.inf, np.nan, -np.inf], [np.nan, -np.inf, 0]
    mask = layout(np.asarray(rng.rand(*mask_shape) < 0.5))
    for array in (x, y, mask):
        array.flags.writeable = False
    found = selection.masked(np, x, mask)
    np.testing.assert_array_equal(found, selection.masked.generic(np, x, mask))
    assert found.dtype == x.dtype and np.isfinite(found[~np.broadcast_to(mask, found.shape)]).all()
    np.testing.assert_array_equal(selection.chosen(np, mask, x, y), np.where(mask, x, y))


def test_masks_of_integers_and_repeated_masks_are_taken() -> None:
    x, mask = np.random.RandomState(0).randn(50, 20), np.arange(20) % 3
    np.testing.assert_array_equal(selection.masked(np, x, np.tile(mask, (50, 1))), np.where(mask, x, 0))
    np.testing.assert_array_equal(selection.masked(np, x, np.broadcast_to(mask > 0, x.shape)), np.where(mask, x, 0))


def test_two_dtypes_are_promoted() -> None:
    mask = np.arange(1000) % 2 == 0
    assert selection.chosen(np, mask, np.ones(1000, 'f'), np.ones(1000)).dtype == np.float64
