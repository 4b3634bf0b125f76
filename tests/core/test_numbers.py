"""Variables with one element as numbers of Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
from minichainer.errors import UninitializedParameterError


def scalar(value: Any, dtype: str = 'f', shape: tuple[int, ...] = ()) -> Any:
    return chainer.Variable(np.full(shape, value, dtype))


@pytest.mark.parametrize(
    ('call', 'expected'),
    [
        (lambda: float(scalar(1.5)), 1.5),
        (lambda: float(scalar(1.5, shape=(1, 1))), 1.5),
        (lambda: float(scalar(2, 'i')), 2.0),
        (lambda: int(scalar(2.75)), 2),
        (lambda: int(scalar(-3, 'l', (1,))), -3),
        (lambda: complex(scalar(1 + 2j, 'F')), 1 + 2j),
        (lambda: round(scalar(2.6)), 3),
        (lambda: round(scalar(1.23456, 'd'), 2), 1.23),
        (lambda: math.sqrt(scalar(4)), 2.0),
        (lambda: f'{scalar(0.123456):.3f}', '0.123'),
        (lambda: f'{scalar(0.5, shape=(1,)):8.2e}', '5.00e-01'),
        (lambda: f'{scalar(7, "i"):04d}', '0007'),
        (lambda: f'{scalar(0.5):.1%}', '50.0%'),
        (lambda: f'{scalar(0.5)}', 'variable(0.5)'),
        (lambda: f'{scalar(0.5):s}', 'variable(0.5)'),
        (lambda: f'{scalar(0.5, shape=(2,)):>22}', '   variable([0.5 0.5])'),
        (lambda: '{:.2f}'.format(scalar(0.5)), '0.50'),  # noqa: UP032  (the method is what is tested)
        (lambda: '%.2f' % scalar(0.5), '0.50'),  # noqa: UP031
        (lambda: 'loss %d' % scalar(3.9), 'loss 3'),  # noqa: UP031
    ],
)  # fmt: skip
def test_one_element_is_a_number(call: Callable[[], Any], expected: Any) -> None:
    found = call()
    assert found == expected and type(found) is type(expected)


@pytest.mark.parametrize('number', [float, int, complex, round, '{:.3f}'.format, '{:d}'.format])
@pytest.mark.parametrize('shape', [(2,), (0,), (1, 2)])
def test_several_elements_are_no_number(number: Callable[[Any], Any], shape: tuple[int, ...]) -> None:
    with pytest.raises(TypeError, match=r'a Variable with one element expected, got shape \('):
        number(scalar(1, shape=shape))


@pytest.mark.parametrize('number', [float, int, '{:.3f}'.format])
def test_a_parameter_without_an_array_is_no_number(number: Callable[[Any], Any]) -> None:
    with pytest.raises(UninitializedParameterError):
        number(chainer.Parameter())


def test_numpy_takes_a_variable_with_one_element_as_a_number() -> None:
    array = np.zeros(2)
    array[1] = scalar(2.5)
    np.testing.assert_array_equal(array, [0, 2.5])
