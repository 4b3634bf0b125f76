"""Names of torch, Keras and NumPy: an error says what is here instead, and that works when it is written."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import datasets, iterators, optimizers, training
from minichainer._elsewhere import uses
from minichainer.backends import cuda


def a_trainer(optimizer: Any) -> Any:
    """A trainer that does nothing when it runs."""
    updater = training.updaters.StandardUpdater(iterators.SerialIterator([1], 1), optimizer)
    return training.Trainer(updater, lambda trainer: True, out='out')


def names(path: str) -> dict[str, Any]:
    """Values of the names in the rows."""
    array = np.linspace(0.1, 0.9, 12, dtype='f').reshape(4, 3)
    model = L.Linear(3, 3)
    model.avg_mean = model.avg_var = None  # as a normalization has
    optimizer = optimizers.SGD().setup(model)
    model(array)
    chainer.serializers.save_npz(path, model if path.endswith('model') else optimizer)
    return {
        'numpy': np, 'chainer': chainer, 'F': F, 'L': L, 'optimizers': optimizers, 'datasets': datasets,
        'iterators': iterators, 'path': path, 'model': model, 'optimizer': optimizer, 'link': L.Linear(3, 3),
        'a': array, 'x': chainer.Variable(array), 'y': chainer.Variable(array * 2), 'W': np.ones((3, 2), 'f'),
        'p': array, 'q': array, 't': np.array([0, 1, 2, 0], 'i'), 'mask': array > 0.5, 'data': list(range(4)),
        'gamma': np.ones(3, 'f'), 'beta': np.zeros(3, 'f'), 'images': np.ones((1, 3, 4, 4), 'f'),
        'filters': np.ones((3, 3, 2, 2), 'f'), 'signals': np.ones((1, 3, 4), 'f'), 'kernel': np.ones((3, 3, 2), 'f'),
        'flag': False, 'shape': (2, 3), 'seed': 0, 'device': '@numpy', 'state': {},
        'trainer': a_trainer(optimizer), 'initializers': chainer.initializers,
        'lossfun': lambda: F.sum(model(array)), 'hook': chainer.link_hooks.TimerHook(),
    }  # fmt: skip


@pytest.mark.parametrize('name', uses())
def test_what_is_here_instead(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    use, remedy = uses()[name]
    known = names(str(tmp_path / ('optimizer' if name.startswith('optimizer.') else 'model')))
    if name == 'model.add_module':
        known['model'] = chainer.Chain()
    with pytest.raises(TypeError if name.startswith('numpy.') else AttributeError) as caught:
        exec(use, known)
    # The last line about numpy.tanh(x) is NumPy's own; above it, its cause says what to write.
    assert f'{caught.value}'.endswith(f'; here: {remedy}') or f'{caught.value.__cause__}'.endswith(
        f'; here: {remedy}'
    )
    if '@cupy' in remedy and not cuda.available:
        pytest.skip('no GPU')
    with warnings.catch_warnings():
        warnings.filterwarnings('ignore', category=RuntimeWarning)  # of numbers outside of a function's domain
        exec(f'{remedy} pass' if remedy.endswith(':') else remedy, known)


@pytest.mark.parametrize('name', [name for name in uses() if not name.startswith('numpy.')])
def test_names_of_others_are_not_listed(name: str, tmp_path: Path) -> None:
    place, _, attribute = name.partition('.')
    owner = names(str(tmp_path / 'model'))[place]
    assert attribute not in dir(owner) and not hasattr(owner, attribute) and getattr(owner, attribute, 3) == 3


def test_numpy_functions_of_variables_name_the_function() -> None:
    with pytest.raises(TypeError, match='has no callable tanh method') as caught:
        np.tanh(chainer.Variable(np.ones(3, 'f')))
    assert str(caught.value.__cause__).endswith('; here: F.tanh(x)')


def test_numpy_functions_that_work_with_variables_still_do() -> None:
    x = chainer.Variable(np.arange(6, dtype='f').reshape(2, 3))
    y = np.sum(x)
    y.backward()
    assert y.array == 15 and (x.grad == 1).all()
    assert np.shape(x) == (2, 3) and np.transpose(x).shape == (3, 2) and np.ndim(x) == 2
    assert np.concatenate([x, x]).dtype == object
    with pytest.raises(ValueError, match='same number of dimensions'):
        np.concatenate([x, np.ones((2, 2, 2))])
    with pytest.raises(TypeError, match=r'^numpy.nanmax does not .*numbers without a gradient$'):
        np.nanmax(x)


# --- users' classes own these names ---
class Mixin:
    def fit(self) -> str:
        return 'mixin'


class Model(chainer.Chain, Mixin):
    @property
    def eval(self) -> str:
        return 'own'


class Wrapper(chainer.Chain):
    def __getattr__(self, name: str) -> str:
        return name


def test_users_classes_own_these_names() -> None:
    model = Model()
    with model.init_scope():
        model.weight = chainer.Parameter(0.0, (2,))
        model.layers = L.Linear(3, 2)
    model.train = 3
    assert (model.fit(), model.eval, model.train) == ('mixin', 'own', 3)
    assert {'fit', 'eval', 'train', 'weight', 'layers'} <= set(dir(model)) and 'predict' not in dir(model)
    assert [name for name, _ in model.namedparams()] == ['/weight', '/layers/W', '/layers/b']
    assert model.copy().layers.W is not None and Model.fit is Mixin.fit


def test_a_users_getattr_is_asked() -> None:
    assert Wrapper().parameters == 'parameters'


def test_a_remedy_that_the_object_lacks_is_not_given() -> None:
    with pytest.raises(AttributeError, match=r"'Chain' object has no attribute 'weight'$"):
        chainer.Chain().weight  # noqa: B018
    with pytest.raises(AttributeError, match=r"type object 'Chain' has no attribute 'fit'; here: chainer.training"):
        chainer.Chain.fit  # noqa: B018
