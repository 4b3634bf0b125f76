"""Tests in the style of projects that were built on Chainer: all of them pass in 7.8.1, on 20 of 20 seeds."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import pytest

import minichainer as chainer
from minichainer.gradient_check import check_backward, check_double_backward
from tests.verification.planting import split_seeds
from tests.verification.styles_of_others import Styles

SEEDS = split_seeds(2, 5)
#: 1.0005 times the right gradient is inside of the test's tolerances, and outside of the default ones.
ROUGH = 'rough_exponential'


def styles(strictness: str, defaults: bool) -> Any:
    checks = (functools.partial(c, strictness=strictness) for c in (check_backward, check_double_backward))
    return Styles(chainer, *checks, defaults)


NAMES = styles('chainer', False).names()


@pytest.mark.filterwarnings('ignore::minichainer.errors.GradientCheckLeniencyWarning')
@pytest.mark.parametrize('strictness', ['chainer', 'strict'])
@pytest.mark.parametrize('name', NAMES)
@pytest.mark.parametrize('seeds', SEEDS)
def test_passes_with_its_own_tolerances(seeds, name, strictness):
    for seed in seeds:
        styles(strictness, False).run(name, seed)


@pytest.mark.filterwarnings('ignore::minichainer.errors.GradientCheckLeniencyWarning')
@pytest.mark.parametrize('name', [n for n in NAMES if n != ROUGH])
@pytest.mark.parametrize('seeds', SEEDS)
def test_passes_with_the_default_tolerances(seeds, name):
    """In Chainer these pass on some seeds only: float32 at a step of 1e-3."""
    for seed in seeds:
        styles('chainer', True).run(name, seed)


def test_a_rough_gradient_is_refused_with_the_default_tolerances():
    with pytest.raises(AssertionError, match=r'1\.0005'):
        styles('chainer', True).run(ROUGH, 0)


def test_a_gradient_that_is_not_handled_as_none_is_named():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        styles('strict', False).run('two_heads', 0)
    assert any('undefined upstream gradient' in str(w.message) for w in caught)


def test_a_rough_gradient_inside_of_the_tolerances_is_a_warning_with_its_size():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        styles('strict', False).run(ROUGH, 0)
    assert any('5e-04' in str(w.message) or '0.0005' in str(w.message) for w in caught)
