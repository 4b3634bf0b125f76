"""Claims of documents and docstrings, tried: what they say happens."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import autograd
from minichainer.errors import InvalidType
from minichainer.functions._arguments import Arguments
from minichainer.gradient_check import check_gradients
from minichainer.iterators import MultithreadIterator
from minichainer.serializers._entries import Allowance
from minichainer.training import extensions

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    ('kwargs', 'names'),
    [({}, ['log']), ({'filename': None}, ['log']), ({'filename': 'a'}, ['a']), ({'log_name': None}, [])],
)
def test_the_file_of_a_log_report(kwargs: dict[str, Any], names: list[str], tmp_path: Path) -> None:
    model = L.Linear(1, 1)
    optimizer = chainer.optimizers.SGD().setup(model)
    iterator = chainer.iterators.SerialIterator([np.ones(1, 'f')] * 2, 2)
    updater = chainer.training.StandardUpdater(iterator, optimizer, loss_func=lambda x: F.sum(model(x)))
    trainer = chainer.training.Trainer(updater, (1, 'iteration'), out=str(tmp_path))
    trainer.extend(extensions.LogReport(trigger=(1, 'iteration'), **kwargs))
    trainer.run()
    assert os.listdir(tmp_path) == names


@pytest.mark.parametrize('name', ['Adam', 'AdamW', 'AMSGrad', 'RMSprop', 'LAMB', 'RAdam'])
@pytest.mark.parametrize(('eps', 'problem'), [(0, None), (1e-300, 'is too small for float32'), (1e-30, None)])
def test_eps_that_rounds_to_zero_is_refused_and_zero_is_not(name: str, eps: float, problem: str | None) -> None:
    model = chainer.Link()
    with model.init_scope():
        model.w = chainer.Parameter(np.ones(2, 'f'))
    optimizer = getattr(chainer.optimizers, name)(eps=eps).setup(model)
    model.w.grad = np.ones(2, 'f')
    with pytest.raises(ValueError, match=problem) if problem else contextlib.nullcontext():
        optimizer.update()


@pytest.mark.parametrize(
    ('link', 'terms'),
    [
        (lambda: L.Convolution2D(100, 60, 3), 100 * 9),
        (lambda: L.Convolution2D(100, 60, 3, groups=20), 5 * 9),
        (lambda: L.Deconvolution2D(100, 60, 3), 60 * 9),
        (lambda: L.Deconvolution2D(100, 60, 3, groups=20), 3 * 9),
        (lambda: L.Deconvolution1D(100, 60, 3), 60 * 3),
        (lambda: L.DeconvolutionND(3, 20, 10, 3), 10 * 27),
        (lambda: L.DilatedConvolution2D(100, 60, 3), 100 * 9),
        (lambda: L.DeformableConvolution2D(100, 60, 3).offset_conv, 100 * 9),
    ],
)
def test_the_default_scale_of_filters(link: Any, terms: int) -> None:
    np.random.seed(0)
    assert np.std(link().W.array) * terms**0.5 == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize('n_threads', [0, -1])
def test_threads_are_at_least_one(n_threads: int) -> None:
    with pytest.raises(ValueError, match=f'MultithreadIterator: n_threads must be at least 1, got {n_threads}'):
        MultithreadIterator(range(3), 2, n_threads=n_threads)


@pytest.mark.parametrize(('n', 'calls'), [(1, 8), (12, 8), (128, 8), (129, 13), (192, 13), (4096, 13), (65536, 13)])
def test_the_number_of_calls_hardly_grows_with_the_size(n: int, calls: int) -> None:
    x = np.random.default_rng(0).normal(size=n)
    report = check_gradients(F.tanh, x, seed=0)
    assert report and int(re.findall(r'(\d+) calls of the function', str(report))[0]) <= calls


@pytest.mark.parametrize('make', [chainer.Variable, chainer.Parameter])
def test_layouts_are_refused(make: Any) -> None:
    assert make(np.ones(2), layout=None).shape == (2,)
    with pytest.raises(ValueError, match='layout'):
        make(np.ones(2), layout=1)


def test_the_device_type_of_save_on_cpu_changes_nothing() -> None:
    x = autograd.Variable(np.ones(2), requires_grad=True)
    with autograd.graph.save_on_cpu(device_type='xpu'):
        y = x * x
    y.backward(gradient=np.ones(2))
    np.testing.assert_array_equal(x.grad, [2, 2])


PAGES = [ROOT / 'README.md', *sorted((ROOT / 'docs').glob('*.md'))]
#: Names that pages say do not exist, or that exist elsewhere: with the alias, in old programs, in files.
OTHER_NAMES = {'porting.md', 'coverage.md'}


@pytest.mark.parametrize('page', [page for page in PAGES if page.name not in OTHER_NAMES], ids=lambda page: page.name)
def test_names_in_pages_exist(page: Path) -> None:
    names = set(re.findall(r'(?<![\w./@-])(?:mini)?chainer((?:\.[A-Za-z_]\w*)+)', page.read_text(encoding='utf-8')))
    assert [name for name in sorted(names - {'.X'}) if not _exists(name.removeprefix('.'))] == []


def _exists(name: str) -> bool:
    parts, found = name.split('.'), chainer
    for i, part in enumerate(parts):
        if not hasattr(found, part):
            with contextlib.suppress(ImportError):
                importlib.import_module('.'.join(['minichainer', *parts[: i + 1]]))
        if not hasattr(found, part):
            return False
        found = getattr(found, part)
    return True


MESSAGES = {
    'docs/style.md': [
        lambda: F.concat([np.ones((2, 2), 'f'), np.ones((2, 2))]),
        lambda: F.linear(np.ones((2, 2), 'f'), np.ones((2, 2), 'f'), n_batch_axes=0),
    ],
    'docs/gpu.md': [
        lambda: F.get_item(np.ones((3, 4), 'f'), np.array([2, 3])),
        lambda: F.inv(np.zeros((2, 2), 'f')),
        lambda: Arguments('GetItem', 'get_item').in_range(
            'indices of axis 0', np.array([0, 3]), -3, 3, ' for x of shape (3, 4)'
        ),
    ],
}


@pytest.mark.parametrize('name', MESSAGES)
def test_messages_in_pages_are_the_real_ones(name: str) -> None:
    page = ' '.join((ROOT / name).read_text(encoding='utf-8').split())
    for call in MESSAGES[name]:
        with pytest.raises((InvalidType, ValueError, IndexError)) as caught:
            call()
        assert ' '.join(str(caught.value).split()) in page


def test_the_memory_that_a_file_may_take() -> None:
    page = (ROOT / 'docs' / 'design.md').read_text(encoding='utf-8')
    factor, least = re.findall(r'\*\*A file may take (\d+) times its size in memory\*\*, or (\d+) MiB', page)[0]
    assert (int(factor), int(least) << 20) == (Allowance.FACTOR, Allowance.ALWAYS)
    assert f'may take {factor} times its own size, or {least} MiB' in page


def test_a_second_apply_of_a_node_gets_a_copy() -> None:
    class Square(chainer.FunctionNode):
        def forward(self, inputs: Any) -> Any:
            self.retain_inputs((0,))
            return (inputs[0] ** 2,)

        def backward(self, indexes: Any, grad_outputs: Any) -> Any:
            return (2 * self.get_retained_inputs()[0] * grad_outputs[0],)

    node, xs = Square(), [chainer.Variable(np.array(value)) for value in (2.0, 3.0)]
    ys = [node.apply((x,))[0] for x in xs]
    assert ys[1].creator is not node
    for y in ys:
        y.backward()
    assert [float(x.grad) for x in xs] == [4, 6]
