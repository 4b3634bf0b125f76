"""Models pickled by version 0.1 load with a plain `pickle.loads`, and compute what they did."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
from tests.links.pickles.make import PATH, models, results

RECORDED: dict[str, Any] = pickle.loads(PATH.read_bytes())


@pytest.mark.parametrize('name', RECORDED)
def test_a_model_of_an_earlier_version_is_loaded(name: str) -> None:
    pickled, expected = RECORDED[name]
    model = pickle.loads(pickled)
    assert type(model) is type(models()[name])
    for again in (model, pickle.loads(pickle.dumps(model))):
        actual = results(again)
        assert len(actual) == len(expected)
        for a, e in zip(actual, expected, strict=True):
            np.testing.assert_allclose(a, e, rtol=1e-5, atol=1e-7)
            assert a.dtype == e.dtype
        if hasattr(again, 'reset_state'):
            again.reset_state()


def test_all_kinds_of_links_are_recorded() -> None:
    kinds = {type(pickle.loads(pickled)) for pickled, _ in RECORDED.values()}
    assert kinds >= {chainer.Link, chainer.Chain, chainer.ChainList, chainer.Sequential}
