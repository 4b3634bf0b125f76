"""The small helpers of chainer.utils."""

from __future__ import annotations

import abc
import os
import warnings
from typing import Any

import numpy as np
import pytest

import minichainer
from minichainer import utils
from minichainer.utils import argument, array, conv, walker_alias


@pytest.mark.parametrize(
    ('x', 'dtype', 'expected'),
    [
        (3, None, np.array(3)),
        (3.0, np.float32, np.array(3, 'f')),
        (True, None, np.array(True)),
        (np.float32(2), None, np.array(2, 'f')),
        (np.zeros(2), np.float32, np.zeros(2, 'f')),
        (np.zeros(2), None, np.zeros(2)),
    ],
)
def test_force_array(x: Any, dtype: Any, expected: np.ndarray) -> None:
    actual = utils.force_array(x, dtype)
    assert type(actual) is np.ndarray
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual, expected)


DEPRECATED = [('as_vec', (6,)), ('as_mat', (2, 3)), ('empty_like', (2, 1, 3))]


@pytest.mark.parametrize(('name', 'shape'), DEPRECATED)
def test_deprecated_functions_of_arrays(name: str, shape: tuple[int, ...]) -> None:
    x = np.zeros((2, 1, 3), np.float32)
    with pytest.warns(DeprecationWarning, match=rf'{name}\(x\) is deprecated: use ') as caught:
        found = getattr(array, name)(x)
    assert found.shape == shape and found.dtype == x.dtype and type(found) is np.ndarray
    assert [warning.filename for warning in caught] == [__file__]


def test_force_array_keeps_arrays() -> None:
    x = np.zeros(2, 'f')
    assert utils.force_array(x) is x
    assert utils.force_array(x, np.float32) is x


@pytest.mark.parametrize('value', [3, 3.0, np.float64(3), np.array(3.0), np.full(2, 3)])
def test_force_type(value: Any) -> None:
    actual = utils.force_type(np.dtype('e'), value)
    assert actual.dtype == np.float16
    assert np.all(actual == 3)


@pytest.mark.parametrize(('shape', 'size'), [((2, 3), 6), ((), 1), ((2, 0), 0)])
def test_size_of_shape(shape: tuple[int, ...], size: int) -> None:
    assert utils.size_of_shape(shape) == size


@pytest.mark.parametrize('shape', [(2, 3), (1, 3), (3,), (2, 1), (1, 1), (1,), ()], ids=str)
@pytest.mark.parametrize('lead', [(), (4,), (1,)], ids=str)
@pytest.mark.parametrize('dtype', 'efd')
def test_sum_to_is_the_adjoint_of_broadcasting(shape: tuple[int, ...], lead: tuple[int, ...], dtype: str) -> None:
    """<broadcast(a), x> == <a, sum_to(x)>, exactly, because the values are small integers."""
    x = np.random.randint(-4, 5, (*lead, 2, 3)).astype(dtype)
    a = np.random.randint(-4, 5, shape).astype(dtype)
    y = utils.sum_to(x, shape)
    assert (type(y), y.shape, y.dtype) == (np.ndarray, shape, x.dtype)
    assert (np.broadcast_to(a, x.shape) * x).sum(dtype='d') == (a * y).sum(dtype='d')


def test_sum_to_returns_the_array_where_there_is_nothing_to_sum() -> None:
    x = np.zeros((2, 3))
    assert utils.sum_to(x, (2, 3)) is x


def test_sum_to_of_zero_size() -> None:
    np.testing.assert_array_equal(utils.sum_to(np.zeros((0, 3)), (1, 3)), [[0, 0, 0]])


def test_sum_to_of_float16_is_summed_in_float32() -> None:
    x = np.full((4096, 2), 0.1, 'e')
    np.testing.assert_allclose(utils.sum_to(x, (1, 2)), [[409.5, 409.5]], rtol=1e-3)


@pytest.mark.parametrize('shape', [(2,), (4, 2, 3), (2, 2)], ids=str)
def test_sum_to_refuses_shapes_that_do_not_broadcast(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r'does not broadcast to \(2, 3\)'):
        utils.sum_to(np.zeros((2, 3)), shape)


def test_sum_to_refuses_a_variable() -> None:
    with pytest.raises(TypeError, match=r'use minichainer\.functions\.sum_to'):
        utils.sum_to(minichainer.Variable(np.zeros((2, 3))), (3,))


@pytest.mark.parametrize(
    ('kwargs', 'pairs', 'expected'),
    [({}, [], ()), ({'a': 1}, [('a', 3)], (1,)), ({'a': 1}, [('a', 3), ('b', 4)], (1, 4))],
)
def test_parse_kwargs(kwargs: dict[str, int], pairs: list[Any], expected: tuple[int, ...]) -> None:
    assert argument.parse_kwargs(kwargs, *pairs) == expected
    assert not kwargs, 'those that were taken are removed'


def resize(**kwargs: Any) -> Any:
    return argument.parse_kwargs(kwargs, ('size', 1), seed='seed is gone: set numpy.random.seed')


def test_parse_kwargs_names_the_function_and_the_argument() -> None:
    with pytest.raises(TypeError, match=r"resize\(\) got unexpected keyword argument\(s\) 'width', 'x'"):
        resize(size=2, width=3, x=4)
    with pytest.raises(ValueError, match='seed is gone'):
        resize(seed=3, width=1)


def test_check_unexpected_kwargs() -> None:
    argument.check_unexpected_kwargs({'a': 1}, b='no b')
    with pytest.raises(ValueError, match='no a\nno b'):
        argument.check_unexpected_kwargs({'a': 1, 'b': 2}, a='no a', b='no b')


def test_assert_kwargs_empty() -> None:
    argument.assert_kwargs_empty({})

    def scale(**kwargs: Any) -> None:
        argument.assert_kwargs_empty(kwargs)

    with pytest.raises(TypeError, match=r"scale\(\) got unexpected keyword argument\(s\) 'z'"):
        scale(z=1)


def test_experimental_warns_until_it_is_silenced(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.warns(FutureWarning, match='my.api is experimental'):
        utils.experimental('my.api')
    monkeypatch.setattr(minichainer, 'disable_experimental_feature_warning', True, raising=False)
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        utils.experimental('my.api')


def test_nondeterministic_warns_where_asked() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        utils.nondeterministic('scatter')
    with (
        minichainer.using_config('warn_nondeterministic', True),
        pytest.warns(UserWarning, match='scatter is not deterministic'),
    ):
        utils.nondeterministic('scatter')


def test_tempdir(tmp_path: Any) -> None:
    with utils.tempdir(dir=tmp_path, prefix='model') as path:
        assert os.path.basename(path).startswith('model')
        open(os.path.join(path, 'file'), 'w').close()
    assert not os.path.exists(path)


class Base(utils.enable_final(base=dict, meta_base=abc.ABCMeta)):  # type: ignore[misc]
    @utils.final
    def run(self) -> int:
        return 1

    @utils.final(action=DeprecationWarning)
    def old(self) -> int:
        return 1

    @abc.abstractmethod
    def free(self) -> int: ...


def test_a_final_method_cannot_be_overridden() -> None:
    with pytest.raises(TypeError, match="method 'run' is final: Derived must not override it"):
        type(Base)('Derived', (Base,), {'run': lambda self: 2})
    with pytest.warns(DeprecationWarning, match="Overriding method 'old' in Derived"):
        type(Base)('Derived', (Base,), {'old': lambda self: 2})


def test_other_methods_can_be_overridden() -> None:
    derived = type(Base)('Derived', (Base,), {'free': lambda self: 2})
    grandchild = type(Base)('Grandchild', (derived,), {'free': lambda self: 3})
    assert (grandchild().free(), grandchild().run(), isinstance(grandchild(), dict)) == (3, 1, True)


def test_the_base_may_have_a_metaclass() -> None:
    enabled = utils.enable_final(base=abc.ABC)
    base = type(enabled)('Base', (enabled,), {'run': utils.final(lambda self: 1)})
    with pytest.raises(TypeError, match="method 'run' is final: Derived must not override it"):
        type(enabled)('Derived', (base,), {'run': lambda self: 2})


@pytest.mark.parametrize('args', [(3,), (len, len)], ids=str)
def test_final_refuses(args: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match='use @final'):
        utils.final(*args)


def test_names_of_rooms_above_are_found_here() -> None:
    for name in utils.__all__:
        assert getattr(utils, name) is not None
        assert name in dir(utils)
    assert walker_alias.WalkerAlias is utils.WalkerAlias
    for module in (utils, walker_alias):
        with pytest.raises(AttributeError, match='no_such_name'):
            module.no_such_name  # noqa: B018
    assert utils.get_conv_outsize is conv.get_conv_outsize
