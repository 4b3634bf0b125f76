"""Links of convolutions: sizes, lazy sizes, parameters, errors. Their figures are in the recorded cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L

# name, arguments before in_channels, axes of space
CONVOLUTIONS = [
    ('Convolution1D', (), 1),
    ('Convolution2D', (), 2),
    ('Convolution3D', (), 3),
    ('ConvolutionND', (2,), 2),
]
DECONVOLUTIONS = [(name.replace('Conv', 'Deconv'), lead, n) for name, lead, n in CONVOLUTIONS]
ALL = [*CONVOLUTIONS, *DECONVOLUTIONS]


def images(n: int, channels: int = 4) -> np.ndarray:
    return np.random.RandomState(0).randn(2, channels, *[5] * n).astype('f')


@pytest.mark.parametrize(('name', 'lead', 'n'), ALL)
def test_a_link_applies_its_function_to_its_parameters(name: str, lead: Any, n: int) -> None:
    link = getattr(L, name)(*lead, 4, 6, 3, stride=2, pad=1, dilate=2, groups=2, initial_bias=np.arange(6))
    assert link.b.shape == (6,)
    assert link.W.shape == ((4, 3) if name.startswith('De') else (6, 2)) + (3,) * n
    function = F.deconvolution_nd if name.startswith('De') else F.convolution_nd
    expected = function(images(n), link.W, link.b, stride=2, pad=1, dilate=2, groups=2)
    np.testing.assert_allclose(link(images(n)).array, expected.array, rtol=1e-5)


@pytest.mark.parametrize(('name', 'lead', 'n'), ALL)
def test_the_first_data_settle_the_input_channels(name: str, lead: Any, n: int) -> None:
    link = getattr(L, name)(*lead, None, 6, 3, nobias=True)
    assert link.W.array is None and link.b is None
    with pytest.raises(ValueError, match=rf'{name}: in_channels is not known yet.*expected {n + 2} axes'):
        link(images(n + 1))
    assert link.W.array is None
    assert link(images(n)).shape == (2, 6, *[7 if name.startswith('De') else 3] * n)


@pytest.mark.parametrize('name', ['Convolution2D', 'Deconvolution2D', 'ConvolutionND', 'DeconvolutionND'])
def test_the_input_channels_may_be_left_out(name: str) -> None:
    link = getattr(L, name)(*([2] if name.endswith('ND') else []), 6, 3)
    assert link(images(2)).shape[1] == 6 and link.W.shape[2:] == (3, 3)


@pytest.mark.parametrize(('name', 'lead', 'n'), ALL)
@pytest.mark.parametrize(
    ('channels', 'what'), [((3, 4), 'input channels.*got 3'), ((4, 3), 'output channels.*got 3')]
)
def test_groups_must_divide_the_channels(name: str, lead: Any, n: int, channels: Any, what: str) -> None:
    with pytest.raises(ValueError, match=rf'{name}: the number of {what} and groups = 2'):
        getattr(L, name)(*lead, *channels, 3, groups=2)


@pytest.mark.parametrize(('name', 'lead', 'n'), CONVOLUTIONS)
def test_a_link_from_parameters_has_copies_of_them(name: str, lead: Any, n: int) -> None:
    W, b = np.ones((6, 2, *[3] * n), 'f'), np.arange(6, dtype='f')
    link = getattr(L, name).from_params(W, b, stride=2, groups=2)
    np.testing.assert_array_equal(link.W.array, W)
    np.testing.assert_array_equal(link.b.array, b)
    assert not np.shares_memory(link.W.array, W)
    expected = F.convolution_nd(images(n), W, b, stride=2, groups=2)
    np.testing.assert_allclose(link(images(n)).array, expected.array, rtol=1e-5)


@pytest.mark.parametrize(('name', 'lead', 'n'), DECONVOLUTIONS)
def test_outsize_is_the_size_of_the_result(name: str, lead: Any, n: int) -> None:
    link = getattr(L, name)(*lead, 4, 3, 3, stride=2, pad=1, outsize=(10,) * n)
    assert link(images(n)).shape == (2, 3, *[10] * n)


@pytest.mark.parametrize('name', ['Convolution2D', 'Deconvolution2D'])
def test_arguments_that_are_no_longer_taken_are_explained(name: str) -> None:
    with pytest.raises(ValueError, match='cudnn_deterministic'):
        getattr(L, name)(4, 4, 3, deterministic=True)
    with pytest.raises(TypeError, match="'bias'"):
        getattr(L, name)(4, 4, 3, bias=True)


def test_a_convolution_prints_its_sizes() -> None:
    expected = (
        'Convolution2D(in_channels=None, out_channels=3, ksize=2, stride=(1, 1), pad=(0, 0), nobias=False, '
        'dilate=(1, 1), groups=1)'
    )
    assert str(L.Convolution2D(3, 2)) == expected


def test_gradients_reach_the_parameters() -> None:
    link = L.Convolution2D(None, 3, 2)
    y = F.sum(F.max_pooling_2d(link(chainer.Variable(images(2))), 2))
    link.cleargrads()
    y.backward()
    assert link.W.grad.shape == (3, 4, 2, 2) and link.W.grad.flags.c_contiguous
    np.testing.assert_allclose(link.b.grad, [8, 8, 8], rtol=1e-5)
