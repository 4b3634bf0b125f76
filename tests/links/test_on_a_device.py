"""Every row of the table of links on a GPU: results, gradients, files, copies and sizes from data, as on the CPU."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
from minichainer import serializers
from minichainer.backends import cuda
from tests.links.row import Row, flat, values_of
from tests.links.rows_more import seeded
from tests.links.table import ROWS

pytestmark = pytest.mark.gpu
DEVICE = '@cupy:0'
every_row = pytest.mark.parametrize('row', ROWS, ids=str)
#: Rows whose results depend on random numbers in both modes; those of a device are others.
DRAWN = [row for row in ROWS if row.call is seeded]


def inputs_of(row: Row, dtype: str, device: Any) -> list[Any]:
    arrays = [device.send(x.astype(dtype) if x.dtype.kind == 'f' else x) for x in row.inputs]
    return [chainer.Variable(x) if x.dtype.kind == 'f' else x for x in arrays]


def made(row: Row, dtype: str, device: Any) -> Any:
    with chainer.using_config('dtype', np.dtype(dtype)):
        link = row.filled()
    return link.to_device(device)


def _array(x: Any) -> Any:
    return None if x is None else x.array


def run(row: Row, dtype: str, device: Any, train: bool) -> dict[str, Any]:
    """Outputs, gradients by both evaluators, and what the link keeps."""
    link, xs = made(row, dtype, device), inputs_of(row, dtype, device)
    ys = row.outputs(link, xs, train)
    rng = np.random.RandomState(5)
    gys = [chainer.Variable(device.send(rng.uniform(-1, 1, y.shape).astype(y.dtype))) for y in ys]
    leaves = {**{f'input {i}': x for i, x in enumerate(xs) if hasattr(x, 'grad')}, **dict(link.namedparams())}
    differentiable = chainer.grad(ys, list(leaves.values()), gys, enable_double_backprop=True)
    link.cleargrads()
    chainer.backward(ys, gys)
    return {
        **{f'output {i}': y.array for i, y in enumerate(ys)},
        **{f'gradient of {name}': leaf.grad for name, leaf in leaves.items()},
        **{f'recorded gradient of {n}': _array(g) for n, g in zip(leaves, differentiable, strict=True)},
        **{f'value {name}': value for name, value in values_of(link).items()},
    }


def compare(found: dict[str, Any], expected: dict[str, Any], dtype: str) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if not isinstance(value, np.ndarray):
            assert found[name] is None or found[name] == value, name
            continue
        assert isinstance(found[name], cuda.ndarray), f'{name} has left the device'
        assert found[name].dtype == value.dtype, name
        scale = max(np.abs(value[np.isfinite(value)]).max(initial=0), 1)
        # Statistics are float32 whatever the data is.
        tolerance = (1e-5 if value.dtype == np.float32 else {'f': 1e-5, 'd': 1e-10}[dtype]) * scale
        np.testing.assert_allclose(found[name].get(), value, tolerance, tolerance, err_msg=name)


@pytest.mark.parametrize('dtype', 'fd')
@pytest.mark.parametrize('row', [row for row in ROWS if row not in DRAWN], ids=str)
def test_results_and_gradients(row: Row, dtype: str) -> None:
    device, host = chainer.get_device(DEVICE), chainer.get_device('@numpy')
    for train in [False] if row.random else [True, False]:
        with chainer.using_config('train', train):
            compare(run(row, dtype, device, train), run(row, dtype, host, train), dtype)


@pytest.mark.parametrize('row', [row for row in ROWS if row.random or row in DRAWN], ids=str)
def test_what_is_drawn_stays_on_the_device(row: Row) -> None:
    found = run(row, 'f', chainer.get_device(DEVICE), True)
    assert all(isinstance(v, cuda.ndarray) for name, v in found.items() if name.startswith('output'))


@every_row
def test_files(row: Row, tmp_path: Path) -> None:
    device = chainer.get_device(DEVICE)
    link, expected = made(row, 'f', device), values_of(made(row, 'f', chainer.get_device('@numpy')))
    for suffix in ('npz', 'hdf5'):
        file = tmp_path / f'link.{suffix}'
        getattr(serializers, f'save_{suffix}')(file, link)
        for target in (row.make().to_device(device), row.make()):
            getattr(serializers, f'load_{suffix}')(file, target)
            for path, value in values_of(target).items():
                if isinstance(expected[path], np.ndarray):
                    assert isinstance(value, cuda.ndarray if target.device == device else np.ndarray), path
                    np.testing.assert_array_equal(cuda.to_cpu(value), expected[path], err_msg=path)


@every_row
def test_copies_and_pickles(row: Row) -> None:
    device = chainer.get_device(DEVICE)
    link = made(row, 'f', device)
    expected = values_of(made(row, 'f', chainer.get_device('@numpy')))
    for other in (link.copy('copy'), copy.deepcopy(link), pickle.loads(pickle.dumps(link)), link.copy('share')):
        assert other.device == device
        compare(values_of(other), expected, 'f')


@every_row
def test_first_values_are_made_on_the_device(row: Row) -> None:
    link = row.make()
    for other in (link.copy('init').to_device(DEVICE), link.to_device(DEVICE).copy('init')):
        for path, value in values_of(other).items():
            assert value is None or not hasattr(value, 'shape') or isinstance(value, cuda.ndarray), path


@pytest.mark.parametrize('row', [row for row in ROWS if row.lazy is not None], ids=str)
def test_sizes_from_data(row: Row) -> None:
    device = chainer.get_device(DEVICE)
    link = row.make(**row.lazy).to_device(device)
    with chainer.using_config('train', False):
        ys = flat(row.call(link, *inputs_of(row, 'f', device)))
    assert all(isinstance(y.array, cuda.ndarray) for y in ys)
    for path, value in values_of(link).items():
        assert not hasattr(value, 'shape') or isinstance(value, cuda.ndarray), path
