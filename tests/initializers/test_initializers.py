"""One row per initializer: what it draws, for which shapes; the recorded figures are in tests/reference/."""

from __future__ import annotations

import tracemalloc
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import minichainer
from minichainer import initializers
from minichainer.initializer import Initializer, get_fans
from minichainer.initializers import _get_initializer, generate_array
from minichainer.initializers._random import _PART


@dataclass(frozen=True)
class Row:
    """An initializer: arguments to try, a shape, and what its values are or how they are spread."""

    name: str
    shape: tuple[int, ...] = (40, 30)
    values: Any = None
    deviation: float | None = None
    bound: float | None = None
    kwargs: dict[str, Any] = field(default_factory=dict)

    def make(self, **kwargs: Any) -> Any:
        return getattr(initializers, self.name)(**{**self.kwargs, **kwargs})


ROWS = [
    Row('Constant', (2,), [3, 3], kwargs={'fill_value': 3}),
    Row('Constant', (2, 2), [[1, 2], [1, 2]], kwargs={'fill_value': np.array([1, 2])}),
    Row('Zero', (2,), [0, 0]),
    Row('One', (2,), [1, 1]),
    Row('NaN', (2,), [np.nan, np.nan]),
    Row('Identity', (2, 2), [[1, 0], [0, 1]]),
    Row('Identity', (2, 2), [[0.5, 0], [0, 0.5]], kwargs={'scale': 0.5}),
    Row('UpsamplingDeconvFilter', (1, 1, 3), [[[0.5, 1, 0.5]]]),
    Row('UpsamplingDeconvFilter', (2, 1, 2), [[[0.5, 0.5]], [[0.5, 0.5]]]),
    Row('DownsamplingConvFilter', (2, 2, 3), np.multiply.outer(np.eye(2), [0.25, 0.5, 0.25])),
    Row('Normal', deviation=0.05),
    Row('Normal', deviation=2, kwargs={'scale': 2}),
    Row('LeCunNormal', deviation=30**-0.5),
    Row('GlorotNormal', deviation=(2 / 70) ** 0.5),
    Row('HeNormal', deviation=(2 / 30) ** 0.5),
    Row('HeNormal', deviation=(2 / 40) ** 0.5, kwargs={'fan_option': 'fan_out'}),
    Row('HeNormal', (10, 5, 3, 4), deviation=(2 / 60) ** 0.5),
    Row('Uniform', bound=0.05),
    Row('LeCunUniform', bound=(3 / 30) ** 0.5),
    Row('GlorotUniform', bound=(6 / 70) ** 0.5),
    Row('HeUniform', bound=(6 / 30) ** 0.5),
    Row('HeUniform', bound=3 * (6 / 30) ** 0.5, kwargs={'scale': 3}),
    Row('Orthogonal', deviation=1.1 * 40**-0.5),
]
RANDOM = [row for row in ROWS if row.values is None]


def test_the_table_is_complete() -> None:
    public = {name for name in initializers.__all__ if isinstance(getattr(initializers, name), type)}
    assert {row.name for row in ROWS} == public


@pytest.mark.parametrize('row', ROWS, ids=lambda row: row.name)
@pytest.mark.parametrize('dtype', 'efd')
def test_values(row: Row, dtype: str) -> None:
    array = generate_array(row.make(), row.shape, np, dtype)
    assert (array.shape, array.dtype) == (row.shape, np.dtype(dtype))
    if row.values is not None:
        np.testing.assert_array_equal(array, np.broadcast_to(row.values, row.shape))
    elif row.deviation is not None:
        assert abs(array.std() / row.deviation - 1) < 0.1
        assert abs(array.mean()) < 0.15 * row.deviation
    else:
        assert row.bound * 0.98 < abs(array).max() <= row.bound * 1.001
        assert abs(array.std() / row.bound * 3**0.5 - 1) < 0.05


@pytest.mark.parametrize('row', ROWS, ids=lambda row: row.name)
def test_dtype_of_the_initializer(row: Row) -> None:
    made = row.make(dtype='float16')
    assert generate_array(made, row.shape, np).dtype == np.float16
    message = f'expected dtype float64, but the initializer {row.name} is for float16'
    with pytest.raises(ValueError, match=message):
        generate_array(made, row.shape, np, 'd')
    with pytest.raises(ValueError, match=f'{row.name}: expected an array of dtype float16, got float32'):
        made(np.empty(row.shape, 'f'))


@pytest.mark.parametrize('row', RANDOM, ids=lambda row: row.name)
def test_random_draws_can_come_from_the_users_generator(row: Row) -> None:
    state = np.random.get_state()[1].copy()
    first, second = (generate_array(row.make(rng=np.random.RandomState(3)), row.shape, np) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(np.random.get_state()[1], state)
    generate_array(row.make(rng=np.random.default_rng(0)), row.shape, np)
    with pytest.raises(TypeError, match=r"\w+\(\) got unexpected keyword argument\(s\) 'seed'"):
        row.make(seed=3)


@pytest.mark.parametrize('name', ['LeCun', 'Glorot', 'He'])
@pytest.mark.parametrize('kind', ['Normal', 'Uniform'])
def test_a_weight_needs_two_axes(name: str, kind: str) -> None:
    made = getattr(initializers, name + kind)()
    with pytest.raises(ValueError, match=r'at least 2 sizes \(outputs, inputs, ...\), got \(3,\)'):
        made(np.empty(3))


@pytest.mark.parametrize('shape', [(0, 3), (3, 0), (0, 0)], ids=str)
@pytest.mark.parametrize('row', [row for row in RANDOM if row.name != 'Orthogonal'], ids=lambda row: row.name)
def test_arrays_without_elements(row: Row, shape: tuple[int, ...]) -> None:
    assert generate_array(row.make(), shape, np).shape == shape


@pytest.mark.parametrize('rng', [None, np.random.RandomState, np.random.default_rng])
@pytest.mark.parametrize('size', [_PART - 1, _PART, _PART + 1, 3 * _PART + 7])
@pytest.mark.parametrize('kind', ['normal', 'uniform'])
def test_large_arrays_are_drawn_in_parts_of_one_sequence(kind: str, size: int, rng: Any) -> None:
    make = {'normal': initializers.Normal, 'uniform': initializers.Uniform}[kind]
    arguments = {'normal': {'loc': 0.0, 'scale': 0.5}, 'uniform': {'low': -0.5, 'high': 0.5}}[kind]
    generator: Any = np.random if rng is None else rng(3)
    np.random.seed(3)
    array = np.empty((size, 1), 'f')
    make(0.5, rng=None if rng is None else generator)(array)
    after = generator.normal()  # also a second normal value that is kept for the next call
    np.random.seed(3)
    again: Any = np.random if rng is None else rng(3)
    assert np.array_equal(array, getattr(again, kind)(size=array.shape, **arguments).astype('f'))
    assert after == again.normal()


def test_drawing_takes_little_more_memory_than_the_array() -> None:
    tracemalloc.start()
    generate_array(initializers.Normal(), (32 * _PART,), np)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * 32 * _PART + 3 * 8 * _PART


def test_mixed16() -> None:
    array = generate_array(initializers.Normal(), (2, 2), np, dtype=minichainer.mixed16)
    assert array.dtype == np.float16
    with minichainer.using_config('dtype', minichainer.mixed16):
        assert generate_array(initializers.Normal(dtype=minichainer.mixed16), (2,), np).dtype == np.float16


def test_nan_marks_integers_too() -> None:
    np.testing.assert_array_equal(generate_array(initializers.NaN(), (2,), np, 'i'), np.iinfo('i').min)


class TestOrthogonal:
    @pytest.mark.parametrize('shape', [(3, 5), (5, 3), (4, 4), (6, 2, 2), (3,), (1, 1)], ids=str)
    def test_rows_or_columns_are_orthogonal(self, shape: tuple[int, ...]) -> None:
        w = generate_array(initializers.Orthogonal(2.0, dtype='d'), shape, np).reshape(shape[0], -1)
        small = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
        np.testing.assert_allclose(small, 4 * np.eye(len(small)), atol=1e-12)

    def test_of_a_scalar_is_a_sign(self) -> None:
        drawn = {float(generate_array(initializers.Orthogonal(), (), np, 'd')) for _ in range(30)}
        assert drawn == {-1.1, 1.1}
        initializers.Orthogonal(rng=np.random.default_rng(0))(np.empty(()))

    @pytest.mark.parametrize(
        ('mode', 'fits', 'refused'),
        [('embedding', (4, 2), (2, 4)), ('projection', (2, 4), (4, 2)), ('basis', (4, 2, 2), (4, 2))],
    )
    def test_mode(self, mode: str, fits: tuple[int, ...], refused: tuple[int, ...]) -> None:
        made = initializers.Orthogonal(mode=mode)
        made(np.empty(fits))
        with pytest.raises(ValueError, match=rf"mode='{mode}'\) does not fit.*{refused[0]} outputs and {refused[1]}"):
            made(np.empty(refused))

    def test_refuses(self) -> None:
        with pytest.raises(ValueError, match=r"mode to be one of 'auto', .* got 'x'"):
            initializers.Orthogonal(mode='x')
        with pytest.raises(ValueError, match=r'with elements, got one of shape \(0, 3\)'):
            initializers.Orthogonal()(np.empty((0, 3)))


@pytest.mark.parametrize(
    ('name', 'kwargs', 'shape', 'message'),
    [
        ('Identity', {}, (3, 2), r'Identity: expected a square matrix, got an array of shape \(3, 2\)'),
        ('Identity', {}, (2, 2, 2), 'square matrix'),
        ('UpsamplingDeconvFilter', {}, (2, 2), 'at least 3 axes'),
        (
            'UpsamplingDeconvFilter',
            {},
            (1, 1, 3, 4),
            r'one kernel size along all axes, got shape \(1, 1, 3, 4\)',
        ),
        ('DownsamplingConvFilter', {}, (2, 3, 4), 'as many input channels as output channels, or one'),
        ('DownsamplingConvFilter', {'interpolation': 'cubic'}, (1, 1, 4), "'linear', got 'cubic'"),
        ('HeNormal', {'fan_option': 'fan'}, (2, 2), "'fan_in' or 'fan_out', got 'fan'"),
        ('Normal', {'scale': -1}, (2, 2), 'scale < 0'),
        ('Constant', {'fill_value': np.zeros(4)}, (2, 3), 'could not broadcast'),
    ],
)
def test_refuses(name: str, kwargs: dict[str, Any], shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        getattr(initializers, name)(**kwargs)(np.empty(shape))


class TestGenerateArray:
    def test_arguments(self) -> None:
        assert generate_array(initializers.One(), 3, np).shape == (3,)
        assert generate_array(initializers.One(), [2, 3], np, device='@numpy').shape == (2, 3)
        assert generate_array(lambda array: array.fill(3), (2,), np, 'd').tolist() == [3, 3]

    def test_default_dtype(self) -> None:
        with minichainer.using_config('dtype', np.float64):
            assert generate_array(initializers.One(), (2,), np).dtype == np.float64

    def test_device_of_another_module(self) -> None:
        with pytest.raises(ValueError, match='device @numpy is not of the array module other'):
            generate_array(initializers.One(), (2,), type('Other', (), {'__name__': 'other'})(), device='@numpy')


class TestGetInitializer:
    def test_default(self) -> None:
        assert type(_get_initializer(None)) is initializers.LeCunNormal

    @pytest.mark.parametrize('value', [3, 2.5, True, np.float32(3), np.arange(2)], ids=repr)
    def test_values_become_constants(self, value: Any) -> None:
        made = _get_initializer(value)
        assert (type(made), made.fill_value is value, made.dtype) == (initializers.Constant, True, None)

    @pytest.mark.parametrize('value', [initializers.Normal(), lambda array: None], ids=['object', 'function'])
    def test_callables_stay(self, value: Any) -> None:
        assert _get_initializer(value) is value

    @pytest.mark.parametrize('value', [[1, 2], 'text', {}], ids=repr)
    def test_refuses(self, value: Any) -> None:
        with pytest.raises(TypeError, match='expected an initializer, a scalar, an array or None'):
            _get_initializer(value)

    def test_refuses_a_class_with_the_remedy(self) -> None:
        with pytest.raises(TypeError, match=r'got the class HeNormal: write HeNormal\(\)'):
            _get_initializer(initializers.HeNormal)


@pytest.mark.parametrize(('shape', 'fans'), [((3, 4), (4, 3)), ((3, 4, 5), (20, 15)), ((3, 0), (0, 3))])
def test_get_fans(shape: tuple[int, ...], fans: tuple[int, int]) -> None:
    assert get_fans(shape) == fans


@pytest.mark.parametrize('shape', [3, (3,), (), [3, 4]], ids=str)
def test_get_fans_refuses(shape: Any) -> None:
    with pytest.raises(ValueError, match='get_fans: expected the shape of a weight'):
        get_fans(shape)


def test_a_users_initializer() -> None:
    class Half(Initializer):
        def __call__(self, array: Any) -> None:
            array[...] = 0.5

    assert generate_array(Half(dtype='d'), (2,), np).tolist() == [0.5, 0.5]
    with pytest.raises(NotImplementedError, match=r'Initializer must define __call__'):
        Initializer()(np.empty(2))
