"""Links that normalize: parameters, running statistics, finetuning, lazy sizes, snapshots."""

from __future__ import annotations

import copy
import io
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer.utils.type_check import InvalidType

ALL: dict[str, Callable[[], Any]] = {
    'batch': lambda: L.BatchNormalization(4),
    'renorm': lambda: L.BatchRenormalization(4),
    'decorrelated': lambda: L.DecorrelatedBatchNormalization(4, groups=2),
    'layer': lambda: L.LayerNormalization(4),
    'group': lambda: L.GroupNormalization(2, 4),
}
WITH_STATISTICS = ('batch', 'renorm', 'decorrelated')


def data(*shape: int, dtype: str = 'f', seed: int = 0) -> np.ndarray:
    return np.asarray(np.random.RandomState(seed).randn(*shape)).astype(dtype)


def statistics_of(link: Any) -> list[np.ndarray]:
    return [np.array(getattr(link, name)) for name in sorted(link._persistent)]


# --- what they compute ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize('name', sorted(ALL))
def test_parameters_and_input_get_gradients(name: str) -> None:
    link, x = ALL[name](), chainer.Variable(data(6, 4))
    for param in link.params():
        param.array[...] = data(4, seed=3)
    link.cleargrads()
    y = link(x)
    y.grad = data(6, 4, seed=1)
    y.backward()
    assert x.grad.shape == (6, 4)
    for param in link.params():
        assert param.grad.shape == (4,) and np.abs(param.grad).max() > 0


def test_batch_normalization_in_training_and_in_testing() -> None:
    link, x = L.BatchNormalization(3, decay=0.5, eps=0.1), data(8, 3)
    gamma, beta = link.gamma.array, link.beta.array
    gamma[...], beta[...] = data(3, seed=1), data(3, seed=2)
    y = link(x)
    np.testing.assert_allclose(
        y.array, gamma * (x - x.mean(0)) / np.sqrt(x.var(0) + 0.1) + beta, rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(link.avg_mean, 0.5 * x.mean(0), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(link.avg_var, 0.5 + 0.5 * x.var(0, ddof=1), rtol=1e-5)
    before = statistics_of(link)
    with chainer.using_config('train', False):
        y = link(x)
    expected = gamma * (x - link.avg_mean) / np.sqrt(link.avg_var + 0.1) + beta
    np.testing.assert_allclose(y.array, expected, rtol=1e-5, atol=1e-6)
    for a, b in zip(before, statistics_of(link), strict=True):
        np.testing.assert_array_equal(a, b)


def test_decorrelated_batch_normalization_in_testing() -> None:
    link, x = L.DecorrelatedBatchNormalization(4, groups=2, decay=0), data(50, 4)
    y = link(x)
    with chainer.using_config('train', False):
        found = link(x)
    np.testing.assert_allclose(found.array, y.array * 50 / 49, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize('cls', [L.BatchNormalization, L.BatchRenormalization])
@pytest.mark.parametrize(('use_gamma', 'use_beta'), [(True, False), (False, True), (False, False)])
def test_without_scale_or_shift(cls: Any, use_gamma: bool, use_beta: bool) -> None:
    link, full, x = cls(4, use_gamma=use_gamma, use_beta=use_beta), cls(4), data(5, 4)
    assert (link.gamma is None, link.beta is None) == (not use_gamma, not use_beta)
    assert sorted(name for name, _ in link.namedparams()) == ['/beta'] * use_beta + ['/gamma'] * use_gamma
    for train in (True, False):
        with chainer.using_config('train', train):
            np.testing.assert_allclose(link(x).array, full(x).array, rtol=1e-6)


# --- running statistics --------------------------------------------------------------------------------------------
@pytest.mark.parametrize('name', WITH_STATISTICS)
def test_finetuning_takes_plain_means(name: str) -> None:
    link, batches = ALL[name](), [data(9, 4, seed=i) for i in range(3)]
    link(data(9, 4, seed=9))
    link.start_finetuning()
    for x in batches:
        link(x, finetune=True)
    assert link.N == 3
    means = np.mean([x.mean(0) for x in batches], axis=0)
    np.testing.assert_allclose(link.avg_mean.ravel(), means, rtol=1e-4, atol=1e-6)
    if name != 'decorrelated':
        variances = np.mean([x.var(0, ddof=1) for x in batches], axis=0)
        np.testing.assert_allclose(link.avg_var, variances, rtol=1e-5)
    link.start_finetuning()
    assert link.N == 0


@pytest.mark.parametrize('finetune', [False, True])
@pytest.mark.parametrize('name', WITH_STATISTICS)
def test_recomputation_leaves_running_statistics(name: str, finetune: bool) -> None:
    link, x = ALL[name](), chainer.Variable(data(9, 4))
    y = F.forget(lambda x: link(x, finetune=finetune), x)
    before = statistics_of(link)
    y.grad = data(9, 4, seed=1)
    y.backward()
    for a, b in zip(before, statistics_of(link), strict=True):
        np.testing.assert_array_equal(a, b)
    assert x.grad is not None
    assert int(finetune) == link.N


@pytest.mark.parametrize('name', WITH_STATISTICS)
def test_running_statistics_are_updated_in_place_without_graph(name: str) -> None:
    link = ALL[name]()
    array = link.avg_mean
    with chainer.no_backprop_mode():
        link(data(9, 4) + 1)
    assert link.avg_mean is array and (array != 0).all()


# --- sizes, dtypes, initial values ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ('make', 'shape', 'size'),
    [
        (lambda: L.BatchNormalization(axis=0), (5, 2, 3), (2, 3)),
        (lambda: L.BatchNormalization(axis=(0, 2)), (5, 4, 3), (4,)),
        (lambda: L.BatchNormalization(axis=(0, 1)), (5, 4, 3), (3,)),
        (lambda: L.LayerNormalization(), (5, 4), (4,)),
        (lambda: L.LayerNormalization(), (5, 3, 2, 4), (4,)),
        (lambda: L.LayerNormalization(), (4,), (4,)),
        (lambda: L.RMSNormalization(), (5, 3, 4), (4,)),
        (lambda: L.InstanceNormalization(), (5, 4, 3), (4,)),
        (lambda: L.GroupNormalization(2), (5, 4, 3), (4,)),
    ],
)
def test_size_from_the_first_data(make: Any, shape: Any, size: Any) -> None:
    link = make()
    assert all(param.array is None for param in link.params())
    assert 'size=None' in str(link)
    link(data(*shape))
    assert all(param.shape == size for param in link.params())
    link(data(*shape, seed=1))


@pytest.mark.parametrize(
    ('make', 'shape', 'words'),
    [
        (lambda: L.BatchNormalization(axis=(0, 2)), (5, 4), r'\(5, 4\), which does not have all of axis = \(0, 2\)'),
        (lambda: L.BatchNormalization(axis=-3), (5, 4), r'\(5, 4\), which does not have all of axis = \(-3,\)'),
        (lambda: L.LayerNormalization(), (), r'LayerNormalization.*\(\): expected at least 1 axis'),
        (lambda: L.RMSNormalization(), (), r'RMSNormalization.*\(\): expected at least 1 axis'),
        (lambda: L.InstanceNormalization(), (5,), r'InstanceNormalization.*\(5,\): expected at least 2 axes'),
        (lambda: L.GroupNormalization(2), (5,), r'GroupNormalization.*\(5,\): expected at least 2 axes'),
    ],
)
def test_wrong_first_data_do_not_settle_the_size(make: Any, shape: Any, words: str) -> None:
    link = make()
    with pytest.raises(ValueError, match=words):
        link(data(*shape))
    assert all(param.array is None for param in link.params())


@pytest.mark.parametrize('dtype', ['e', 'f', 'd'])
def test_default_dtype(dtype: str) -> None:
    with chainer.using_config('dtype', np.dtype(dtype)):
        links = [make() for name, make in ALL.items() if name != 'decorrelated']
    for link in links:
        assert {param.dtype for param in link.params()} == {np.dtype(dtype)}
        assert {a.dtype for a in statistics_of(link) if a.ndim} <= {np.dtype(dtype)}
        assert link(data(9, 4, dtype=dtype)).dtype == dtype


def test_mixed16() -> None:
    with chainer.using_config('dtype', chainer.mixed16):
        found = {name: make() for name, make in ALL.items()}
    for name, link in found.items():
        expected = 'e' if name == 'layer' else 'f'
        assert {param.dtype.char for param in link.params()} <= {expected}
        assert {a.dtype.char for a in statistics_of(link) if a.ndim} <= {'f'}
        assert link(data(9, 4, dtype='e')).dtype == 'e'
    assert found['batch'].avg_mean.dtype == L.BatchNormalization(2, dtype=chainer.mixed16).avg_mean.dtype == 'f'


@pytest.mark.parametrize('value', [2, np.array([2, 2, 2]), chainer.initializers.Constant(2), lambda a: a.fill(2)])
def test_initial_values(value: Any) -> None:
    links = [
        L.BatchNormalization(3, 0.9, 2e-5, 'd', True, True, value, value, None, value, value),
        L.BatchNormalization(None, dtype='d', axis=0, initial_gamma=value, initial_beta=value, initial_avg_mean=value,
                             initial_avg_var=value, decay=1),
        L.LayerNormalization(3, 1e-6, value, value),
        L.GroupNormalization(1, None, 1e-5, value, value),
    ]  # fmt: skip
    for link in links:
        if any(p.array is None for p in link.params()):
            link(data(4, 3))
        for array in [*[p.array for p in link.params()], *[a for a in statistics_of(link) if a.ndim]]:
            np.testing.assert_array_equal(array, np.full(3, 2))
    assert links[0].gamma.dtype == links[1].avg_var.dtype == 'd'
    assert getattr(value, 'dtype', None) in (None, np.dtype(int))  # a user's initializer is not written to


def test_initial_statistics_of_renormalization_are_those_of_chainer() -> None:
    link = L.BatchRenormalization(2, initial_avg_mean=4, initial_avg_var=5)
    np.testing.assert_array_equal([link.avg_mean, link.avg_var], [[5, 5], [1, 1]])


@pytest.mark.parametrize(
    ('link', 'text'),
    [
        (
            L.BatchNormalization(4),
            'BatchNormalization(size=4, decay=0.9, eps=2e-05, dtype=float32, use_gamma=True, use_beta=True)',
        ),
        (
            L.BatchNormalization((2, 3), use_beta=False),
            'BatchNormalization(size=(2, 3), decay=0.9, eps=2e-05, dtype=float32, use_gamma=True, use_beta=False)',
        ),
        (
            L.BatchRenormalization(4),
            'BatchRenormalization(size=4, decay=0.9, eps=2e-05, dtype=float32, use_gamma=True, use_beta=True)',
        ),
        (
            L.DecorrelatedBatchNormalization(4, groups=2),
            'DecorrelatedBatchNormalization(size=4, groups=2, decay=0.9, eps=2e-05, dtype=float32)',
        ),
        (L.LayerNormalization(4), 'LayerNormalization(size=4, eps=1e-06)'),
        (L.GroupNormalization(2, 4), 'GroupNormalization(groups=2, size=4, eps=1e-05)'),
    ],
)
def test_text(link: Any, text: str) -> None:
    assert str(link) == text


# --- errors --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ('call', 'error', 'words'),
    [
        (lambda: L.BatchNormalization(), RuntimeError, 'BatchNormalization: size or axis is required'),
        (lambda: L.BatchNormalization(3)(data(2, 4)), InvalidType, r'gamma.shape == \(4,\)'),
        (
            lambda: L.BatchNormalization(3)(data(2, 3), test=True),
            ValueError,
            "test .*using_config\\('train', False\\)",
        ),
        (lambda: L.BatchNormalization(3)(data(2, 3), foo=1), TypeError, r"forward\(\) got .*'foo'"),
        (lambda: L.BatchNormalization(3, axis=(1, 0))(data(2, 3, 3)), RuntimeError, 'ascending'),
        (lambda: L.BatchNormalization(3, eps=-1)(data(2, 3)), ValueError, 'from 0 to inf expected as eps, got -1'),
        (lambda: L.BatchRenormalization(3)(data(2, 4)), InvalidType, r'gamma.shape == \(4,\)'),
        (lambda: L.DecorrelatedBatchNormalization(15), ValueError, 'groups must divide size, got size = 15'),
        (lambda: L.DecorrelatedBatchNormalization(4, groups=2)(data(2, 6)), ValueError, 'running_mean'),
        (lambda: L.LayerNormalization(4)(data(2, 3)), InvalidType, r'gamma.shape == \(3,\)'),
        (
            lambda: L.GroupNormalization(2, 3),
            ValueError,
            'a divisor of size = 3 expected as groups',
        ),
        (lambda: L.GroupNormalization(2, 6)(data(2, 4)), InvalidType, r'gamma.shape == \(4,\)'),
        (lambda: L.GroupNormalization(2)(data(2, 3)), ValueError, '3 % groups'),
    ],
)
def test_errors(call: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        call()


# --- snapshots, copies ---------------------------------------------------------------------------------------------
NAMES = {
    'batch': ['N', 'avg_mean', 'avg_var', 'beta', 'gamma'],
    'renorm': ['N', 'avg_mean', 'avg_var', 'beta', 'gamma'],
    'decorrelated': ['N', 'avg_mean', 'avg_projection'],
    'layer': ['beta', 'gamma'],
    'group': ['beta', 'gamma'],
}


@pytest.mark.parametrize('name', sorted(ALL))
def test_snapshot(name: str) -> None:
    link, other = ALL[name](), ALL[name]()
    link(data(9, 4) + 1, **({'finetune': True} if name in WITH_STATISTICS else {}))
    file = io.BytesIO()
    chainer.serializers.save_npz(file, link)
    file.seek(0)
    assert sorted(np.load(file)) == NAMES[name]
    file.seek(0)
    chainer.serializers.load_npz(file, other)
    for a, b in zip(statistics_of(link), statistics_of(other), strict=True):
        np.testing.assert_array_equal(a, b)
    with chainer.using_config('train', False):
        np.testing.assert_array_equal(link(data(3, 4)).array, other(data(3, 4)).array)
    other(data(3, 4))  # goes on from there


def test_snapshot_into_a_link_of_unknown_size_and_back() -> None:
    link, other = L.BatchNormalization(axis=(0, 2)), L.BatchNormalization(axis=(0, 2))
    link(data(5, 4, 3) + 1)
    file = io.BytesIO()
    chainer.serializers.save_npz(file, link)
    file.seek(0)
    chainer.serializers.load_npz(file, other)
    np.testing.assert_array_equal(other.avg_mean, link.avg_mean)
    np.testing.assert_array_equal(other.gamma.array, link.gamma.array)
    with chainer.using_config('train', False):
        np.testing.assert_array_equal(link(data(2, 4, 3)).array, other(data(2, 4, 3)).array)


def test_snapshot_before_the_first_call() -> None:
    file = io.BytesIO()
    chainer.serializers.save_npz(file, L.BatchNormalization(axis=0))
    file.seek(0)
    link = L.BatchNormalization(axis=0)
    chainer.serializers.load_npz(file, link)
    assert link(data(5, 4)).shape == (5, 4)


@pytest.mark.parametrize('name', sorted(ALL))
@pytest.mark.parametrize('way', [copy.deepcopy, lambda a: a.copy('copy'), lambda a: pickle.loads(pickle.dumps(a))])
def test_copies_have_statistics_of_their_own(name: str, way: Any) -> None:
    link = ALL[name]()
    twin = way(link)
    twin(data(9, 4) + 1)
    for a, b in zip(statistics_of(link), statistics_of(ALL[name]()), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_allclose(twin(data(9, 4)).array, link(data(9, 4)).array, rtol=1e-6)


def test_a_subclass_with_a_forward_of_its_own() -> None:
    class Conditional(L.LayerNormalization):  # type: ignore[misc]
        def __call__(self, x: Any) -> Any:
            shape = x.shape
            return F.reshape(super().__call__(F.reshape(x, (-1, shape[-1]))), shape)

    assert Conditional(4)(data(2, 3, 4)).shape == (2, 3, 4)


@pytest.mark.parametrize('groups', [1, 2])
@pytest.mark.parametrize('kind', ['npz', 'hdf5'])
def test_statistics_of_all_groups_are_loaded_into_each(groups: int, kind: str, tmp_path: Path) -> None:
    """As Chainer 6 saved them."""
    if kind == 'hdf5':
        pytest.importorskip('h5py')
    save, load = (getattr(chainer.serializers, f'{name}_{kind}') for name in ('save', 'load'))
    mean, projection = np.arange(4 // groups, dtype='f'), np.full((4 // groups,) * 2, 3, 'f')
    save(tmp_path / 'a', {'avg_mean': mean, 'avg_projection': projection, 'N': 5})
    link = L.DecorrelatedBatchNormalization(4, groups=groups)
    own = link.avg_mean
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        load(tmp_path / 'a', link)
    assert [w.category for w in caught] == [UserWarning, UserWarning] * (groups > 1)
    assert link.avg_mean is own and link.N == 5
    np.testing.assert_array_equal(link.avg_mean, [mean] * groups)
    np.testing.assert_array_equal(link.avg_projection, [projection] * groups)
    save(tmp_path / 'b', link)
    other = L.DecorrelatedBatchNormalization(4, groups=groups)
    load(tmp_path / 'b', other)
    np.testing.assert_array_equal(other.avg_projection, link.avg_projection)


def test_statistics_of_another_size_are_refused(tmp_path: Path) -> None:
    link = L.DecorrelatedBatchNormalization(4, groups=2)
    chainer.serializers.save_npz(tmp_path / 'a.npz', {'avg_mean': np.ones(3), 'avg_projection': np.eye(2), 'N': 0})
    with (
        pytest.warns(UserWarning, match='one mean'),
        pytest.raises(ValueError, match=r'avg_mean: shape \(3,\) in the snapshot, \(2, 2\)'),
    ):
        chainer.serializers.load_npz(tmp_path / 'a.npz', link)
    assert not link.avg_mean.any()
    chainer.serializers.save_npz(tmp_path / 'a.npz', {'N': 0})
    with pytest.raises(ValueError, match='avg_mean: missing'):
        chainer.serializers.load_npz(tmp_path / 'a.npz', link)
