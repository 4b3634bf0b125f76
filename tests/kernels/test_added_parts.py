"""Kernels that add the parts of a gradient to a sum, against one part after the other."""

from __future__ import annotations

import numpy as np
import pytest

from minichainer.kernels import affine, scattering


def draw(*shape: int, dtype: str = 'd') -> np.ndarray:
    """Whole numbers, whose sums are exact in any order."""
    return np.random.RandomState(sum(shape)).randint(-4, 5, shape).astype(dtype)


@pytest.mark.parametrize('dtype', ['f', 'd'])
@pytest.mark.parametrize('rows', [(3,), (2, 5, 1), (0, 4)])
def test_products(rows: tuple[int, ...], dtype: str) -> None:
    gy, x = [draw(n, 6, dtype=dtype) for n in rows], [draw(n, 4, dtype=dtype) for n in rows]
    total = draw(6, 4, dtype=dtype)
    expected = total + sum(g.T @ a for g, a in zip(gy, x, strict=True))
    affine.add_products(total, gy, x)
    np.testing.assert_array_equal(total, expected)


@pytest.mark.parametrize('dtype', ['e', 'f', 'd'])
@pytest.mark.parametrize('numbers', [[1, 0, 1, 1], [-1, 4, -5, 0], [2], []])
def test_rows(numbers: list[int], dtype: str) -> None:
    total, rows = draw(5, 3, dtype=dtype), draw(len(numbers), 3, dtype=dtype)
    expected = total.copy()
    np.add.at(expected, np.array(numbers, int), rows)
    scattering.add_rows(total, rows, np.array(numbers, int))
    np.testing.assert_array_equal(total, expected)
