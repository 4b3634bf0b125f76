"""Writes `models.pickle`, as a program with version 0.1 wrote its models.

Run once, with that version; a later one must read the file, and has no reason to write it again.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L

PATH = Path(__file__).parent / 'models.pickle'


def models() -> dict[str, Any]:
    """Models by name, with parameters that are not their first values."""
    chain = chainer.Chain(l1=L.Linear(None, 3), bn=L.BatchNormalization(3))
    chain.bn(chain.l1(np.eye(4, 2, dtype='f')))
    sequential = chainer.Sequential(L.Linear(2, 3), F.relu, L.Linear(3, 3).repeat(2), L.Linear(None, 2))
    sequential(np.eye(4, 2, dtype='f'))
    lstm = L.LSTM(2, 3)
    lstm(np.eye(4, 2, dtype='f'))
    lstm.reset_state()
    return {
        'Link': chainer.Link(w=(2, 3)),
        'Chain': chain,
        'ChainList': chainer.ChainList(L.Linear(2, 3), L.Convolution2D(3, 2, 1)),
        'Sequential': sequential,
        'LSTM': lstm,
        'Classifier': L.Classifier(L.Linear(2, 3)),
        'NStepGRU': L.NStepGRU(1, 2, 2, 0.0),
        'WalkerAlias': chainer.utils.WalkerAlias([1, 2, 3, 4]),
        'CooMatrix': chainer.utils.to_coo(np.eye(2, 3, dtype='f')),
    }


def results(model: Any) -> list[np.ndarray]:
    """What tells one model from another: its values, and what it computes."""
    if isinstance(model, chainer.utils.WalkerAlias):
        return [model.threshold, model.values]
    if isinstance(model, chainer.utils.CooMatrix):
        return [model.to_dense()]
    x = np.eye(4, 2, dtype='f')
    values = [param.array for _, param in model.namedparams()]
    with chainer.using_config('train', False):
        if isinstance(model, chainer.Sequential):
            return [*values, model(x).array]
        if isinstance(model, L.LSTM):
            return [*values, model(x).array, model(x).array]
        if 'bn' in model.__dict__:
            return [*values, model['bn'](model['l1'](x)).array]
    return values


if __name__ == '__main__':
    np.random.seed(0)
    made = models()
    PATH.write_bytes(
        pickle.dumps({name: (pickle.dumps(model, 4), results(model)) for name, model in made.items()}, 4)
    )
