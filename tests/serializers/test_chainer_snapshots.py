"""Files that Chainer 7.8.1 wrote, read into models of the links there are; predictions as recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minichainer.functions.activation.rectifiers import relu
from minichainer.functions.activation.sigmoidal import tanh
from minichainer.link import Chain, Link
from minichainer.links.connection.linear import Linear
from minichainer.serializer import SnapshotError
from minichainer.serializers import load_npz
from minichainer.variable import Parameter

REFERENCE = Path(__file__).resolve().parent.parent / 'reference'


class MLP(Chain):
    """The model of ``mlp.npz``, all sizes left open."""

    def __init__(self) -> None:
        super().__init__(l1=Linear(None, 5), l2=Linear(None, 5, nobias=True), l3=Linear(5, 3))

    def forward(self, x: Any) -> Any:
        return self.l3(tanh(self.l2(relu(self.l1(x)))))


@pytest.fixture(scope='module')
def recorded() -> Any:
    with np.load(REFERENCE / 'snapshots.npz') as data:
        yield data


def test_predictions(file_format: Any, snapshots: Path, recorded: Any) -> None:
    model = MLP()
    file_format.load(snapshots / f'mlp{file_format.suffix}', model)
    y = model(recorded['mlp/h5_predict:x0'])  # both files hold the same model
    np.testing.assert_allclose(y.array, recorded['mlp/h5_predict:y0'], rtol=1e-4, atol=1e-5)


def test_model_inside_a_trainer_snapshot(snapshots: Path, recorded: Any) -> None:
    model = MLP()
    load_npz(snapshots / 'trainer.npz', model, path='updater/model:main/predictor/')
    y = model(recorded['trainer/model_from_snapshot:x0'])
    np.testing.assert_allclose(y.array, recorded['trainer/model_from_snapshot:y0'], rtol=1e-4, atol=1e-5)


class Lazy(Chain):
    """As much of the model of ``lazy.npz`` as there are links for; the rest has the same names."""

    def __init__(self) -> None:
        super().__init__(used=Linear(None, 3), unused=Linear(None, 4), unused_conv=Linear(None, 2))
        with self.init_scope():
            self.unused_param = Parameter()
            self.unused_bn = Statistics()


class Statistics(Link):
    """Parameters and persistents of batch normalization, none of known shape."""

    def __init__(self) -> None:
        super().__init__()
        with self.init_scope():
            self.gamma = Parameter()
            self.beta = Parameter()
        for name, value in (('N', 0), ('avg_mean', None), ('avg_var', None)):
            self.add_persistent(name, value)


def test_uninitialized_parameters_stay_so(file_format: Any, snapshots: Path) -> None:
    model = Lazy()
    file_format.load(snapshots / f'lazy{file_format.suffix}', model)
    paths = [path for path, _ in model.namedparams(include_uninit=False)]
    assert paths == ['/unused/b', '/unused_conv/b', '/used/W', '/used/b']
    assert (model.unused_bn.avg_mean, model.unused_bn.N) == (None, 0)


def test_wrong_model_is_told_all_names(file_format: Any, snapshots: Path) -> None:
    model = MLP()
    with pytest.raises(SnapshotError, match='does not fit the MLP') as caught:
        file_format.load(snapshots / f'lazy{file_format.suffix}', model, strict='all')
    text = str(caught.value)
    for name in ('l1/W', 'l1/b', 'l2/W', 'l3/W', 'l3/b'):
        assert f'{name}: missing' in text
    for name in ('used/W', 'unused_bn/avg_mean', 'unused_param'):
        assert f'{name}: not in the MLP' in text
    assert model.l1.W.array is None
