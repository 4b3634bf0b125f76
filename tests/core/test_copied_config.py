"""Copies of the configuration."""

from __future__ import annotations

import copy

import minichainer as chainer


def test_a_shallow_copy_has_the_values_of_the_config() -> None:
    duplicate = copy.copy(chainer.config)
    with chainer.using_config('train', False):
        assert duplicate.train is False
    assert duplicate.train is True
