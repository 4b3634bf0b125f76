"""L.Bias, L.Scale and L.Parameter, and the errors of arrays that do not fit."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer.utils.type_check import InvalidType

X = np.arange(24, dtype='f').reshape(2, 3, 4)


@pytest.mark.parametrize('error', [InvalidType, AssertionError])
@pytest.mark.parametrize(
    'call',
    [
        lambda: F.bias(X, np.ones(4, 'f')),
        lambda: F.scale(X, np.ones(3, 'f'), 0),
        lambda: L.Bias(1, (4,))(X),
        lambda: L.Scale(0, (3,))(X),
    ],
)
def test_a_shape_that_does_not_fit(call: Any, error: type[Exception]) -> None:
    """Chainer raises InvalidType, and AssertionError in debug mode."""
    with pytest.raises(error, match=r'x\.shape\[\d:\d\] == y\.shape'):
        call()
    with chainer.using_config('debug', True), pytest.raises(error):
        call()


@pytest.mark.parametrize('error', [InvalidType, ValueError])
def test_layer_normalization_with_scales_of_another_length(error: type[Exception]) -> None:
    with pytest.raises(error, match=r'gamma\.shape == \(3,\)'):
        F.layer_normalization(X[:, :, 0], np.ones(4, 'f'), np.ones(4, 'f'))


def test_layer_normalization_with_different_scales_and_shifts() -> None:
    with pytest.raises(InvalidType, match=r'beta\.shape == \(3,\)') as caught:
        F.layer_normalization(X[:, :, 0], np.ones(3, 'f'), np.ones(4, 'f'))
    assert not isinstance(caught.value, ValueError)


@pytest.mark.parametrize('link', [L.Bias(shape=(3,)), L.Scale(W_shape=(3,))], ids=['Bias', 'Scale'])
def test_a_link_with_a_parameter_takes_one_input(link: Any) -> None:
    with pytest.raises(ValueError, match='expected one input, got 2'):
        link(X, X)


@pytest.mark.parametrize('link', [L.Bias(), L.Scale()], ids=['Bias', 'Scale'])
def test_a_link_without_a_parameter_takes_two(link: Any) -> None:
    with pytest.raises(ValueError, match='expected two inputs, because it has no parameter, got 1'):
        link(X)


def test_a_parameter_shares_its_array_and_ignores_volatile() -> None:
    array = np.ones(2, 'f')
    link = L.Parameter(array)
    array[0] = 5
    np.testing.assert_array_equal(link('on').array, [5, 1])


def test_the_parameters_of_inception_bn_have_the_given_dtype() -> None:
    link = L.InceptionBN(1, 1, 1, 1, 1, 1, 'max', 1, dtype='d')
    dtypes = {path.split('/')[-1]: param.dtype for path, param in link.namedparams()}
    assert dtypes == {'W': 'f', 'gamma': 'd', 'beta': 'd'}


def test_the_first_mask_of_dropconnect_is_kept() -> None:
    link = L.SimplifiedDropconnect(3, 2, nobias=True)
    mask = np.array([[1, 0, 1], [0, 0, 1]], '?')
    x = np.ones((4, 3), 'f')
    y = link(x, mask=mask, use_batchwise_mask=False)
    np.testing.assert_allclose(y.array, x @ (link.W.array * mask).T * 2, rtol=1e-5)
    link(x, mask=~mask, use_batchwise_mask=False)
    np.testing.assert_array_equal(link.mask, mask)
    assert link._persistent == {'mask'}


def test_embeddings_from_a_pickle_without_ignore_label() -> None:
    assert L.EmbedID.ignore_label is None
    link = L.EmbedID(3, 2)
    del link.__dict__['ignore_label']
    assert link(np.array([1])).shape == (1, 2)


@pytest.mark.parametrize(
    ('link', 'present'),
    [
        (L.Scale(1), set()), (L.Scale(1, (3,)), {'W'}), (L.Scale(1, (3,), bias_term=True), {'W', 'bias'}),
        (L.Scale(1, None, True, (3,)), {'bias'}), (L.Bias(1), set()), (L.Bias(1, (3,)), {'b'}),
    ],
)  # fmt: skip
def test_a_link_has_no_attributes_for_parameters_that_it_has_not(link: Any, present: set[str]) -> None:
    assert {name for name in ('W', 'b', 'bias') if hasattr(link, name)} == present
    xs = [np.ones((2, 3), 'f')] + ([] if {'W', 'b'} & present else [np.full(3, 2, 'f')])
    for each in (link, link.copy(), pickle.loads(pickle.dumps(link))):
        assert each(*xs).shape == (2, 3)
