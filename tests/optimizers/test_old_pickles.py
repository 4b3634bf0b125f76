"""Optimizers that version 0.1 pickled load, and go on as they would have done.

``data/optimizers_0_1.pickle`` holds each optimizer after two updates of a small model, one with hooks and a
hyperparameter of one parameter, one that updates float16 through float32, and the arrays after a third update.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PICKLE = Path(__file__).parent / 'data' / 'optimizers_0_1.pickle'


@pytest.fixture(scope='module')
def pickled() -> dict[str, dict[str, Any]]:
    return pickle.loads(PICKLE.read_bytes())  # type: ignore[no-any-return]


NAMES = """
    AMSBound AMSGrad AdaBound AdaDelta AdaGrad Adam AdamW CorrectedMomentumSGD MSVAG MomentumSGD NesterovAG RMSprop
    RMSpropGraves SGD SMORMS3 hooks float16
""".split()


def test_names(pickled: dict[str, dict[str, Any]]) -> None:
    assert sorted(pickled) == sorted(NAMES)


@pytest.mark.parametrize('name', NAMES)
def test_pickled_optimizer_goes_on(name: str, pickled: dict[str, dict[str, Any]]) -> None:
    optimizer, expected = pickled[name]['optimizer'], pickled[name]['expected']
    assert optimizer.t == 2
    for param in optimizer.target.params():
        param.grad = np.cos(np.arange(param.size) + 2.0).reshape(param.shape).astype(param.dtype)
    optimizer.update()
    for path, param in optimizer.target.namedparams():
        np.testing.assert_allclose(param.array, expected[path], rtol=1e-6, err_msg=path)
        assert param.update_rule.t == 3
    again = pickle.loads(pickle.dumps(optimizer))
    assert again.hyperparam.get_dict() == optimizer.hyperparam.get_dict()
