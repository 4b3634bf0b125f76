"""The small tools: warnings, patches, requirements, matrices, saving and loading, a trainer that only counts."""

from __future__ import annotations

import importlib.metadata
import os
import unittest
import unittest.mock
import warnings
from typing import Any

import numpy as np
import pytest

import minichainer
import minichainer.links as L
from minichainer import serializers, testing
from minichainer.testing import attr
from tests.testing.running import run, verdicts


def test_a_warning_is_expected() -> None:
    with testing.assert_warns(UserWarning):
        warnings.warn('careful', UserWarning, stacklevel=1)
    with testing.assert_warns((FutureWarning, UserWarning)):
        warnings.warn('careful', UserWarning, stacklevel=1)


def test_no_warning_or_another_one() -> None:
    nothing, other = 'got no warning$', 'DeprecationWarning not triggered; got UserWarning: careful'
    with (
        pytest.raises(AssertionError, match=f'^UserWarning not triggered; {nothing}'),
        testing.assert_warns(UserWarning),
    ):
        pass
    with pytest.raises(AssertionError, match=other), testing.assert_warns(DeprecationWarning):
        warnings.warn('careful', UserWarning, stacklevel=1)


def test_other_warnings_are_not_swallowed() -> None:
    def warn_of_both() -> None:
        warnings.warn('soon', FutureWarning, stacklevel=1)
        warnings.warn('careful', UserWarning, stacklevel=1)

    with pytest.warns(FutureWarning, match='soon'), testing.assert_warns(UserWarning):
        warn_of_both()


def test_patch_has_what_that_of_unittest_has() -> None:
    assert [
        n for n in vars(unittest.mock.patch) if getattr(testing.patch, n) is not getattr(unittest.mock.patch, n)
    ] == []
    with testing.patch.object(os, 'getcwd', return_value='nowhere'), testing.patch.dict(os.environ, {'A_NAME': '1'}):
        assert (os.getcwd(), os.environ['A_NAME']) == ('nowhere', '1')


def test_patch() -> None:
    with testing.patch('os.getcwd', return_value='nowhere') as replaced:
        assert os.getcwd() == 'nowhere'
    replaced.assert_called_once_with()

    @testing.patch('os.getcwd')
    def decorated(replaced: Any) -> None:
        assert os.getcwd is replaced

    decorated()


NUMPY = importlib.metadata.version('numpy')
REQUIREMENTS = [
    (('numpy',), True),
    (('numpy>=1.0',), True),
    (('numpy>1.0,<100',), True),
    (('numpy<1.0',), False),
    (('numpy!=1.0, >= 1',), True),
    ((f'numpy=={NUMPY}',), True),
    (('no-such-distribution',), False),
    (('numpy', 'no-such-distribution'), False),
    (('numpy', 'scipy>=1'), True),
    ((), True),
]


@pytest.mark.parametrize(('requirements', 'fulfilled'), REQUIREMENTS)
def test_requirements(requirements: tuple[str, ...], fulfilled: bool) -> None:
    class Case(unittest.TestCase):
        @testing.with_requires(*requirements)
        def test_with(self) -> None:
            pass

        @testing.without_requires(*requirements)
        def test_without(self) -> None:
            pass

    skipped = 'test_without' if fulfilled else 'test_with'
    assert verdicts(run(Case)) == {skipped: f'requires: {",".join(requirements)}'}


@pytest.mark.parametrize(
    ('version', 'requirement', 'fulfilled'),
    [
        ('2.0', 'x==2.0.0', True),
        ('2.0rc1', 'x>=2', False),
        ('2.0.post1', 'x>=2', True),
        ('1.10', 'x>1.9', True),
        ('1.10', 'x<=1.9.9', False),
    ],
)
def test_versions(monkeypatch: pytest.MonkeyPatch, version: str, requirement: str, fulfilled: bool) -> None:
    monkeypatch.setattr(importlib.metadata, 'version', lambda name: version)
    assert hasattr(testing.with_requires(requirement)(lambda: None), '__unittest_skip__') != fulfilled


def test_a_requirement_that_cannot_be_read() -> None:
    with pytest.raises(ValueError, match="requirement 'numpy~1': expected a form such as"):
        testing.with_requires('numpy~1')


@pytest.mark.parametrize('dtype', [np.float16, np.float32, np.float64, np.complex64])
@pytest.mark.parametrize('shape', [(2, 2), (3, 2), (2, 3), (4, 2, 3), (0, 2, 3)])
def test_singular_values(shape: tuple[int, ...], dtype: Any) -> None:
    a = testing.generate_matrix(shape, dtype=dtype, singular_values=[2.0, 0.5])
    assert a.shape == shape and a.dtype == dtype
    wide = np.complex128 if np.dtype(dtype).kind == 'c' else np.float64
    found = np.linalg.svd(a.astype(wide), compute_uv=False)
    # Rounding of the entries, which are at most 2.
    np.testing.assert_allclose(found, np.broadcast_to([2.0, 0.5], found.shape), atol=16 * np.finfo(dtype).eps)


def test_one_singular_value_per_matrix() -> None:
    a = testing.generate_matrix((2, 2, 2), singular_values=[[1, 2], [3, 4]])
    np.testing.assert_allclose(np.linalg.svd(a, compute_uv=False), [[2, 1], [4, 3]])
    assert np.linalg.svd(testing.generate_matrix((2, 3), singular_values=0.5), compute_uv=False).round(
        9
    ).tolist() == [
        0.5,
        0.5,
    ]


MATRIX_ERRORS = [
    (((2, 2),), {}, TypeError, 'singular_values is not given'),
    (((2, 2),), {'singular_values': 1, 'foo': 2}, TypeError, "unexpected keyword argument.s. 'foo'"),
    (((2, 2), int), {'singular_values': 1}, TypeError, 'dtype int[0-9]+ is not supported'),
    (((3,),), {'singular_values': 1}, ValueError, 'too few axes'),
    (((2, 2),), {'singular_values': [1, 2, 3]}, ValueError, 'broadcast'),
    (((2, 2),), {'singular_values': -1}, ValueError, 'negative singular value'),
    (((2, 2),), {'singular_values': 1j}, TypeError, 'singular_values is not real'),
]


@pytest.mark.parametrize(('args', 'kwargs', 'error', 'message'), MATRIX_ERRORS)
def test_bad_matrices(args: Any, kwargs: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        testing.generate_matrix(*args, **kwargs)


@pytest.mark.parametrize('save_and_load', [testing.save_and_load_npz, testing.save_and_load_hdf5])
def test_save_and_load(save_and_load: Any) -> None:
    pytest.importorskip('h5py')
    source, target = L.Linear(2, 3), L.Linear(2, 3)
    assert save_and_load(source, target) is None
    assert (source.W.array == target.W.array).all()


def test_save_and_load_with_functions_of_its_own() -> None:
    paths = []

    def save(path: str, link: Any) -> None:
        paths.append(path)
        serializers.save_npz(path, link)

    source, target = L.Linear(2, 3), L.Linear(2, 3)
    testing.save_and_load(source, target, 'mine.npz', save, serializers.load_npz)
    assert (source.W.array == target.W.array).all()
    assert os.path.basename(paths[0]) == 'mine.npz' and not os.path.exists(os.path.dirname(paths[0]))


def test_trainer_that_only_counts(tmp_path: Any) -> None:
    rows = []
    trainer = testing.get_trainer_with_mock_updater((2, 'epoch'), iter_per_epoch=2)
    trainer.out = str(tmp_path)
    updater = trainer.updater
    assert (updater.iteration, updater.epoch, updater.epoch_detail) == (0, 0, 0)
    assert updater.is_new_epoch is True and updater.previous_epoch_detail is None
    assert updater.get_all_optimizers() == {}

    def note(trainer: Any) -> None:
        rows.append((updater.iteration, updater.epoch, updater.epoch_detail, updater.is_new_epoch))

    trainer.extend(note, trigger=(1, 'iteration'))
    trainer.run()
    assert rows == [(1, 0, 0.5, False), (2, 1, 1.0, True), (3, 1, 1.5, False), (4, 2, 2.0, True)]
    assert updater.previous_epoch_detail == 1.5 and updater.update_core.call_count == 4


def test_trainer_needs_an_epoch() -> None:
    with pytest.raises(ValueError, match='iter_per_epoch: expected a positive number, got 0'):
        testing.get_trainer_with_mock_updater(iter_per_epoch=0)


def test_assert_allclose() -> None:
    testing.assert_allclose(np.ones(3), np.ones(3) + 1e-6)
    with pytest.raises(AssertionError, match=r'worst element: \(1,\)'):
        testing.assert_allclose(np.array([1.0, 2.0]), np.array([1.0, 2.1]))


def _nothing() -> Any:
    def test() -> None:
        pass

    return test


@pytest.mark.parametrize('name', ['gpu', 'cudnn', 'slow', 'ideep', 'chainerx'])
@pytest.mark.parametrize('called', [False, True])
def test_marks(name: str, called: bool) -> None:
    decorator = getattr(attr, name)
    if called and name != 'gpu':
        decorator = decorator()
    test = decorator(_nothing())
    available = {
        'gpu': minichainer.backends.cuda.available, 'cudnn': minichainer.backends.cuda.cudnn_enabled, 'slow': True,
    }  # fmt: skip
    assert hasattr(test, '__unittest_skip__') != available.get(name, False)
    assert name in {mark.name for mark in getattr(test, 'pytestmark', [])} or name in ('ideep', 'chainerx', 'cudnn')


def test_marks_of_classes() -> None:
    cls = attr.multi_gpu(1000)(type('Case', (unittest.TestCase,), {'test_it': lambda self: None}))
    assert 'needs 1000 GPUs with CuPy' in verdicts(run(cls))['test_it']


def test_marks_need_pytest(monkeypatch: pytest.MonkeyPatch) -> None:
    assert attr.is_available() and attr.get_error() is None
    attr.check_available()
    monkeypatch.setattr(attr.importlib.util, 'find_spec', lambda name: None)
    assert not attr.is_available() and isinstance(attr.get_error(), ImportError)
    with pytest.raises(RuntimeError, match="which is not installed: No module named 'pytest'"):
        attr.check_available()
    test = attr.ideep(_nothing())  # Without pytest the marks only skip.
    assert test.__unittest_skip_why__ == 'iDeep is not supported by minichainer'
    assert not hasattr(test, 'pytestmark')


def test_limit_of_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('CHAINER_TEST_GPU_LIMIT', '0')
    assert attr.gpu(_nothing()).__unittest_skip_why__ == 'needs 1 GPU with CuPy, 0 found'
