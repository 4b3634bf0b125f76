"""Products with weights against their plain form, on both sides of the sizes where the order of factors changes."""

from __future__ import annotations

import numpy as np
import pytest

from minichainer.kernels import affine as kernels

SHAPES = [(0, 3, 2), (1, 1, 1), (3, 0, 2), (3, 4, 0), (3, 600, 130), (4, 600, 130), (128, 512, 128), (129, 520, 128)]
SHAPES += [(60, 230, 150), (60, 250, 150), (20, 600, 127), (20, 100, 327), (20, 100, 328)]


def numbers(shape, dtype, order='C'):
    return np.asarray(np.random.RandomState(0).uniform(-1, 1, shape).astype(dtype), order=order)


@pytest.mark.parametrize('order', 'CF')
@pytest.mark.parametrize('dtype', 'fd')
@pytest.mark.parametrize(('rows', 'depth', 'columns'), SHAPES)
def test_is_the_plain_product(rows, depth, columns, dtype, order):
    x, W, b = (numbers(shape, dtype, order) for shape in ((rows, depth), (columns, depth), columns))
    tolerance = 4 * np.finfo(dtype).eps * max(depth, 1)  # of sums of so many terms below 1
    for bias in (None, b):
        y = kernels.affine(x, W, bias)
        assert y.dtype == dtype and y.flags.c_contiguous
        np.testing.assert_allclose(y, kernels.affine_reference(x, W, bias), rtol=0, atol=tolerance)


def test_the_other_order_is_taken(monkeypatch):
    taken = []
    monkeypatch.setattr(kernels, '_empty', lambda *args: taken.append(args) or np.empty(*args))
    kernels.affine(numbers((4, 600), 'f'), numbers((130, 600), 'f'))
    kernels.affine(numbers((4, 600), 'd'), numbers((130, 600), 'd'))
    assert taken == [((4, 130), np.dtype('f'))]


def test_no_input_changes():
    x, W, b = (numbers(shape, 'f') for shape in ((8, 300), (200, 300), 200))
    before = [a.copy() for a in (x, W, b)]
    kernels.affine(x, W, b)
    for array, old in zip((x, W, b), before, strict=True):
        np.testing.assert_array_equal(array, old)
