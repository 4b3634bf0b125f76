"""What private modules of Chainer, and modules of environments that are gone, do when programs use them."""

from __future__ import annotations

import importlib
import io
import sys
import unittest
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F


def module(path: str) -> Any:
    return importlib.import_module(f'minichainer.{path}')


@pytest.mark.usefixtures('alias')
def test_modules_that_the_root_has_as_attributes() -> None:
    root = importlib.import_module('chainer')
    assert root.array is chainer.functions.array
    assert root.basic_math is importlib.import_module('chainer.functions.math.basic_math')
    assert root.basic_math.add is F.add


def test_a_progress_bar_of_a_program() -> None:
    class Bar(module('training.extensions.util').ProgressBar):  # type: ignore[misc]
        def get_lines(self) -> list[str]:
            self.update_speed(1, 0.5)
            return ['one\n', 'two\n']

    out = io.StringIO()
    bar = Bar(out=out)
    bar.update()
    bar.close()
    assert out.getvalue() == '\033[Jone\ntwo\n\033[2A\033[J'
    assert bar.update_speed(3, 1.5) > (0, 0)


def test_states_of_an_iterator() -> None:
    machine = module('iterators._statemachine')
    state, found = machine.IteratorState(0, 0, False, None), []
    for _ in range(4):
        state, indices = machine.iterator_statemachine(state, 2, True, None, 3)
        found.append((indices.tolist(), state[:3]))
    assert found == [
        ([0, 1], (2, 0, False)),
        ([2, 0], (1, 1, True)),
        ([1, 2], (0, 2, True)),
        ([0, 1], (2, 2, False)),
    ]


def test_states_of_an_iterator_that_ends() -> None:
    machine = module('iterators._statemachine')
    state = machine.IteratorState(2, 0, False, np.array([2, 0, 1]))
    state, indices = machine.iterator_statemachine(state, 2, False, lambda order, _: order[::-1], 3)
    assert (indices.tolist(), state[:3], state.order.tolist()) == ([1], (0, 1, True), [1, 0, 2])
    assert machine.iterator_statemachine(state, 2, False, None, 3) == (state, None)
    with pytest.raises(ValueError, match='expected an order of 3 examples, got 1'):
        machine.iterator_statemachine(
            machine.IteratorState(2, 0, False, np.arange(3)), 2, True, lambda order, _: order[:1], 3
        )


def test_digits_in_the_form_that_is_asked_for() -> None:
    raw = {'x': np.full((2, 784), 255, np.uint8), 'y': np.array([3, 4], np.uint8)}
    dataset = module('datasets._mnist_helper').preprocess_mnist(raw, True, 3, 2.0, np.float32, np.int32, True)
    image, label = dataset[1]
    assert (image.shape, image.dtype, image.max(), label) == ((3, 28, 28), np.float32, 2.0, 4)


def test_entropies_at_zero() -> None:
    x = chainer.Variable(np.array([0.0, 0.5]))
    y = module('distributions.utils')._modified_xlogx(x)
    with pytest.warns(RuntimeWarning, match='x log x at 0 is minus infinity'):
        F.sum(y).backward()
    np.testing.assert_allclose(y.array, [0, 0.5 * np.log(0.5)])
    np.testing.assert_allclose(x.grad, [0, 1 + np.log(0.5)])


def test_numbers_of_a_file_of_caffe(tmp_path: Path) -> None:
    pytest.importorskip('google.protobuf', reason='models of Caffe need the extra `caffe`')
    from minichainer.links.caffe import _schema

    net = _schema.net_parameter()()
    _schema.write_blob(net.layer.add(name='fc').blobs.add(), np.array([[1.5, 2.0]], 'f'))
    read = module('links.caffe.protobuf3.caffe_pb2').NetParameter()
    read.MergeFromString(net.SerializeToString())
    assert (read.layer[0].name, list(read.layer[0].blobs[0].data)) == ('fc', [1.5, 2.0])
    again = _schema.net_parameter().FromString(read.SerializeToString())
    assert _schema.blob_array(again.layer[0].blobs[0]).tolist() == [[1.5, 2.0]]


def test_cases_of_a_test_class(monkeypatch: pytest.MonkeyPatch) -> None:
    def cases(cls: type) -> Any:
        for n in (1, 2):
            yield f'{cls.__name__}_{n}', {'n': n}, lambda test: lambda self: seen.append(self.n) or test(self)

    seen: list[int] = []

    class Test(unittest.TestCase):
        def test_n(self) -> None:
            assert self.n  # type: ignore[attr-defined]

    module('testing._bundle').make_decorator(cases)(Test)
    for n in (1, 2):
        made = vars(sys.modules[__name__])[f'Test_{n}']
        monkeypatch.delattr(sys.modules[__name__], made.__name__)
        made('test_n').debug()
    assert seen == [1, 2]


def test_conditions_of_a_documentation(monkeypatch: pytest.MonkeyPatch) -> None:
    helper = module('testing.doctest_helper')
    assert helper.skipif_requires_satisfied('numpy>=1.0')
    assert not helper.skipif_requires_satisfied('numpy', 'no-such-distribution')
    monkeypatch.setenv('CHAINER_TEST_GPU_LIMIT', '1')
    assert helper.skipif_not_enough_cuda_devices(2) and not helper.skipif_not_enough_cuda_devices(1)
    monkeypatch.setenv('READTHEDOCS', 'True')
    assert not helper.skipif(True)


def test_what_is_gone_says_so() -> None:
    with pytest.raises(RuntimeError, match='Theano is no longer maintained'):
        module('functions.theano.theano_function').theano_function(None, None, np.ones(3))
    module('_environment_check').check()
    assert module('utils._collections').OrderedDict() == {}
