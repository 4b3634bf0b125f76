"""EmbedID: lookups, gradients, initial values, errors. Its figures are in the recorded cases."""

from __future__ import annotations

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer.utils.type_check import InvalidType


def test_it_looks_up_rows_and_only_they_get_gradients() -> None:
    embed = L.EmbedID(4, 3)
    embed.cleargrads()
    y = embed(np.array([[1, 3], [1, 0]]))
    np.testing.assert_array_equal(y.array, embed.W.array[[[1, 3], [1, 0]]])
    y.grad = np.arange(12, dtype='f').reshape(2, 2, 3)
    y.backward()
    np.testing.assert_array_equal(embed.W.grad, [[9, 10, 11], [6, 8, 10], [0, 0, 0], [3, 4, 5]])


def test_an_ignored_number_gives_zeros_and_no_gradient() -> None:
    embed = L.EmbedID(4, 2, ignore_label=-1)
    embed.cleargrads()
    assert embed.ignore_label == -1
    y = embed(np.array([-1, 3]))
    np.testing.assert_array_equal(y.array[0], 0)
    F.sum(y).backward()
    np.testing.assert_array_equal(embed.W.grad, [[0, 0], [0, 0], [0, 0], [1, 1]])


def test_initial_values() -> None:
    W = L.EmbedID(200, 100).W.array
    assert W.dtype == np.float32 and abs(W.mean()) < 0.02 and abs(W.std() - 1) < 0.02
    np.testing.assert_array_equal(
        L.EmbedID(3, 2, initialW=np.arange(6).reshape(3, 2)).W.array, [[0, 1], [2, 3], [4, 5]]
    )
    with chainer.using_config('dtype', 'float16'):
        assert L.EmbedID(3, 2).W.dtype == np.float16


def test_from_params_copies() -> None:
    W = np.ones((4, 2), 'f')
    embed = L.EmbedID.from_params(W, ignore_label=2)
    assert embed.ignore_label == 2 and embed.W.array is not W
    np.testing.assert_array_equal(embed.W.array, W)


def test_errors() -> None:
    embed = L.EmbedID(3, 2)
    with pytest.raises(InvalidType, match=r'EmbedIDFunction.*\n\nExpect: int x'):
        embed(np.zeros(2, 'f'))
    with pytest.raises(IndexError, match=r'embed_id: x must be in \[0, 3\).*got 3 at position'):
        embed(np.array([0, 3]))
    with chainer.using_config('debug', True), pytest.raises(ValueError, match='got -1 at position'):
        embed(np.array([-1, 1]))


def test_numbers_may_be_a_variable_and_of_any_int_type() -> None:
    embed = L.EmbedID(3, 2)
    for dtype in 'bhil':
        x = chainer.Variable(np.array([2, 0], dtype))
        np.testing.assert_array_equal(embed(x).array, embed.W.array[[2, 0]])
