"""Links that compute a loss: what their rows in the table do not say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.links as L
from minichainer.utils.type_check import InvalidType

TREE = ((0, 1), (3, 2))
X = np.random.RandomState(0).randn(2, 3).astype('f')


@pytest.mark.parametrize(
    ('counts', 'tree'),
    [
        ({0: 8, 1: 3, 2: 5, 3: 1}, (0, ((3, 1), 2))),
        ({0: 1, 1: 1, 2: 1, 3: 1, 4: 1}, ((2, 3), (4, (0, 1)))),
        ({3: 1}, 3),
        # As Chainer orders equal counts
        ({5: 1, 3: 1, 4: 1, 2: 1, 9: 1, 7: 1, 8: 1, 6: 1}, (((5, 3), (4, 2)), ((9, 7), (8, 6)))),
        ({0: 1, 1: 1, 2: 1, 3: 1, 4: 2, 5: 2, 6: 4}, (6, (((0, 1), (2, 3)), (4, 5)))),
        ({7: 2, 1: 1, 2: 1}, (7, (1, 2))),
        ({2: 3, 0: 2, 3: 1, 1: 1, 4: 2}, ((0, (3, 1)), (4, 2))),
    ],
)
def test_huffman_tree(counts: dict[int, int], tree: Any) -> None:
    assert L.BinaryHierarchicalSoftmax.create_huffman_tree(counts) == tree


def test_a_huffman_tree_needs_labels() -> None:
    with pytest.raises(ValueError, match='Empty vocabulary'):
        L.BinaryHierarchicalSoftmax.create_huffman_tree({})


def test_the_probabilities_of_all_labels_sum_to_1() -> None:
    loss = L.BinaryHierarchicalSoftmax(3, TREE)
    total = sum(np.exp(-loss(X[:1], np.array([label])).array) for label in range(4))
    assert total == pytest.approx(1, rel=1e-5)


def test_a_tree_of_one_label_has_no_loss() -> None:
    loss = L.BinaryHierarchicalSoftmax(3, 1)
    assert loss.W.shape == (0, 3) and loss(X, np.array([1, 1])).array == 0


def test_an_empty_batch_has_no_loss() -> None:
    assert L.BinaryHierarchicalSoftmax(3, TREE)(X[:0], np.zeros(0, 'i')).array == 0


@pytest.mark.parametrize(
    ('x', 't', 'error', 'words'),
    [
        (X, np.array([0, 4]), IndexError, r'labels must be in \[0, 4\), got 4 at position'),
        (X, np.array([0, -1]), IndexError, 'got -1 at position'),
        (X, np.array([0.0, 1]), InvalidType, 'int t'),
        (X[:, :2], np.array([0, 1]), InvalidType, r'W of shape \(nodes, D\)'),
    ],
)
def test_wrong_inputs_of_hierarchical_softmax(x: Any, t: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        L.BinaryHierarchicalSoftmax(3, TREE)(x, t)


def test_a_label_between_those_of_the_tree() -> None:
    with pytest.raises(IndexError, match='label 2 is not a leaf of the tree'):
        L.BinaryHierarchicalSoftmax(3, ((0, 1), 3))(X, np.array([0, 2]))


def test_sequences_in_any_order() -> None:
    crf = L.CRF1d(2, initial_cost=np.array([[0.5, -1], [0, 2]]))
    long, short = np.arange(6, dtype='f').reshape(3, 2), np.eye(2, dtype='f')
    a, b = np.array([0, 1, 0]), np.array([1, 1])
    mean = crf([long, short], [a, b], transpose=True).array
    assert crf([short, long], [b, a], transpose=True).array == pytest.approx(mean)
    (loss_of_long, loss_of_short) = crf([short, long], [b, a], 'no', True).array  # the longest first
    assert loss_of_long == pytest.approx(crf([long], [a], transpose=True).array)
    assert loss_of_short == pytest.approx(crf([short], [b], transpose=True).array)


def test_the_best_labels_are_in_the_order_of_the_sequences() -> None:
    crf = L.CRF1d(2)
    long, short = np.arange(6, dtype='f').reshape(3, 2), np.eye(2, dtype='f')
    score, path = crf.argmax([short, long], transpose=True)
    assert [labels.tolist() for labels in path] == [[0, 1], [1, 1, 1]]
    np.testing.assert_array_equal(score.array, [9, 2])


def test_black_out_uses_given_samples() -> None:
    loss = L.BlackOut(3, [5, 2, 4, 1], 2)
    loss.W.array[...] = np.arange(12).reshape(4, 3) / 10
    assert loss.sample_data is None
    loss.sample_data = np.array([[0, 1], [3, 1]])
    t = np.array([2, 0])
    first = loss(X, t).array
    assert loss(X, t).array == first
    np.testing.assert_allclose(first, chainer.functions.black_out(X, t, loss.W, loss.sample_data).array)


def test_negative_sampling_returns_its_samples() -> None:
    loss, samples = L.NegativeSampling(3, [5, 2, 4, 1], 2)(X, np.array([1, 3]), return_samples=True)
    assert loss.shape == () and samples.shape == (2, 3) and samples[:, 0].tolist() == [1, 3]


@pytest.mark.parametrize('power', [0, -1, 4])
def test_powers(power: float) -> None:
    assert L.NegativeSampling(3, [1, 2], 1, power=power).sampler.sample(5).shape == (5,)


def test_a_power_that_makes_infinite_weights_is_refused() -> None:
    with pytest.raises(ValueError, match='positive numbers, because power = -1, expected as counts'):
        L.NegativeSampling(3, [1, 0], 1, power=-1)


def test_samplers_move_with_the_link() -> None:
    visited: list[Any] = []

    class Visitor(chainer.device_resident.DeviceResidentsVisitor):
        def visit_device_resident(self, resident: Any) -> None:
            visited.append(resident)

        def visit_array(self, array: Any) -> Any:
            visited.append(array)
            return array

        def visit_variable(self, param: Any) -> None:
            visited.append(param)

    for link in (L.NegativeSampling(3, [1, 2], 1), L.BlackOut(3, [1, 2], 1)):
        link.device_resident_accept(Visitor())
        assert any(entry is link.sampler for entry in visited)
    link = L.BinaryHierarchicalSoftmax(3, TREE)
    link.device_resident_accept(Visitor())
    assert all(any(entry is array for entry in visited) for array in link._paths)
