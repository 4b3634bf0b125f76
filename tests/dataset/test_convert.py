"""Examples become arrays: stacking, padding, devices, converters."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from minichainer.backend import CpuDevice
from minichainer.dataset import convert
from minichainer.dataset.convert import Converter, call_converter, concat_examples, converter, to_device

F4 = np.float32


@pytest.mark.parametrize(
    ('batch', 'padding', 'want'),
    [
        ([1, 2], None, np.array([1, 2])),
        ([F4(1), F4(2)], None, np.array([1, 2], F4)),
        ([[1, 2], [3, 4]], None, np.array([[1, 2], [3, 4]])),
        ([np.zeros((2, 3), F4)] * 4, None, np.zeros((4, 2, 3), F4)),
        ([1, 2], 0, np.array([1, 2])),
        ([np.array([1, 2], F4), np.array([3], F4)], 9, np.array([[1, 2], [3, 9]], F4)),
        ([np.zeros((1, 2)), np.zeros((2, 1))], 1, np.array([[[0, 0], [1, 1]], [[0, 1], [0, 1]]], float)),
        ([np.zeros((0,), np.int32), np.array([5], np.int32)], -1, np.array([[-1], [5]], np.int32)),
    ],
)
def test_arrays_are_stacked(batch: list[Any], padding: Any, want: np.ndarray) -> None:
    got = concat_examples(batch, padding=padding)
    assert isinstance(got, np.ndarray)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


def test_tuples_and_dicts_keep_their_structure() -> None:
    x, t = concat_examples([(np.array([1.0, 2.0]), 0), (np.array([3.0]), 1)], padding=(7, None))
    np.testing.assert_array_equal(x, [[1, 2], [3, 7]])
    np.testing.assert_array_equal(t, [0, 1])
    d = concat_examples([{'a': np.array([1, 2]), 'b': 1}, {'a': np.array([3]), 'b': 2}], padding={'a': 7, 'b': None})
    assert list(d) == ['a', 'b']
    np.testing.assert_array_equal(d['a'], [[1, 2], [3, 7]])


def test_examples_are_copied() -> None:
    x = np.zeros(2)
    concat_examples([x])[...] = 1
    assert not x.any()


@pytest.mark.parametrize(
    ('batch', 'padding', 'error', 'message'),
    [
        ([], None, ValueError, 'batch is empty'),
        (
            [np.zeros(2), np.zeros(3)],
            None,
            ValueError,
            'example 0 has shape (2,), example 1 has (3,); pass padding=',
        ),
        ([(np.zeros(2), 0), (np.zeros(3), 0)], None, ValueError, '(element 0 of the examples)'),
        ([(1, 2), (3,)], None, IndexError, 'example 0 is a tuple of 2, example 1 of 1'),
        ([(1,), (2, 3)], None, IndexError, 'example 0 is a tuple of 1, example 1 of 2'),
        ([{'a': 1}, {'b': 1}], None, KeyError, 'a'),
        ([np.zeros(2), np.zeros((2, 2))], 0, ValueError, 'different numbers of dimensions [1, 2]'),
    ],
)
def test_bad_batch(batch: list[Any], padding: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        concat_examples(batch, padding=padding)


@pytest.mark.parametrize('device', [None, -1, '@numpy', CpuDevice()])
def test_device_of_the_result(device: Any) -> None:
    x, t = concat_examples([(np.ones(2), 0), (np.ones(2), 1)], device)
    assert type(x) is type(t) is np.ndarray
    assert x.shape == (2, 2)


def test_to_device_without_device_returns_the_object_itself() -> None:
    x = [1, 2]
    assert to_device(None, x) is x
    np.testing.assert_array_equal(to_device(-1, np.arange(2)), [0, 1])


def test_converter_gets_a_device_and_a_bare_function_a_number() -> None:
    @converter()
    def new(batch: Any, device: Any) -> Any:
        """Docs."""
        return device

    assert isinstance(new, Converter)
    assert (new.__name__, new.__doc__) == ('new', 'Docs.')
    device = CpuDevice()
    assert call_converter(new, [], device) is device
    assert call_converter(lambda batch, device: device, [], device) == -1
    assert call_converter(lambda batch, device: device, [], None) is None


@pytest.mark.parametrize('wrong', [Converter, 3])
def test_converter_decorates_functions_only(wrong: Any) -> None:
    with pytest.raises(TypeError, match='converter\\(\\) decorates a function'):
        converter()(wrong)


def test_base_class_says_what_to_define() -> None:
    with pytest.raises(NotImplementedError, match='Converter must define __call__'):
        Converter()([], None)


@pytest.mark.gpu
@pytest.mark.parametrize('batch', [[(np.arange(3), 1), (np.arange(3), 2)], [{'a': np.ones(2)}], [np.zeros((2, 0))]])
def test_asynchronous_transfer_gives_the_same_arrays(batch: list[Any]) -> None:
    want = concat_examples(batch)
    got = convert.ConcatWithAsyncTransfer()(batch, 0)
    for a, b in [(got, want)] if isinstance(want, np.ndarray) else zip(_values(got), _values(want), strict=True):
        np.testing.assert_array_equal(a.get(), b)


@pytest.mark.gpu
def test_a_copy_waits_for_what_reads_its_memory() -> None:
    """The pool gives the memory of the last batch to the next one while what uses it is still queued."""
    cupy, converter = pytest.importorskip('cupy'), convert.ConcatWithAsyncTransfer()
    large, sums = cupy.ones((2048, 2048), 'f'), []
    for i in range(10):
        x = converter([np.full(10000, i, 'f')] * 8, 0)
        for _ in range(5):
            large @ large
        sums.append(x.sum())
        del x
    assert [float(s) for s in sums] == [80000.0 * i for i in range(10)]


def _values(result: Any) -> Any:
    return result.values() if isinstance(result, dict) else result
