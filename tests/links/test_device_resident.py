"""Moving objects between devices: who is visited, and old code that overrides to_cpu and to_gpu."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minichainer.backends import cuda
from minichainer.device_resident import DeviceResident, DeviceResidentsVisitor
from minichainer.link import Chain, Link
from minichainer.links.connection.linear import Linear


class Log(DeviceResidentsVisitor):
    """Notes what it sees and replaces arrays by zeros."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def visit_device_resident(self, device_resident: Any) -> None:
        self.seen.append(type(device_resident).__name__)

    def visit_array(self, arr: Any) -> Any:
        self.seen.append(arr.tolist())
        return np.zeros_like(arr)

    def visit_variable(self, param: Any) -> None:
        self.seen.append(param.name)


def test_visitor_sees_all_that_belongs() -> None:
    chain = Chain(a=Linear(1, 1), b=Linear(None, 1))
    chain.add_persistent('number', 3)
    chain.add_persistent('array', np.ones(2))
    log = Log()
    chain.device_resident_accept(log)
    assert log.seen == ['Chain', [1.0, 1.0], 'Linear', 'W', 'b', 'Linear', 'W', 'b']
    np.testing.assert_array_equal(chain.array, [0, 0])


@pytest.mark.parametrize('method', ['visit_device_resident', 'visit_array', 'visit_variable'])
def test_visitor_is_abstract(method: str) -> None:
    with pytest.raises(NotImplementedError, match=f'must define {method}'):
        getattr(DeviceResidentsVisitor(), method)(None)


pytestmark = pytest.mark.filterwarnings('ignore:(to_cpu|to_gpu) is deprecated:DeprecationWarning')


with pytest.warns(DeprecationWarning, match="Overriding method 'to_(cpu|gpu)' in OldStyle"):

    class OldStyle(Link):
        """Moves an attribute of its own, as code of Chainer v1 to v6 does."""

        def __init__(self) -> None:
            super().__init__()
            self.moves: list[str] = []

        def to_cpu(self) -> Any:
            self.moves.append('to_cpu')
            return super().to_cpu()

        def to_gpu(self, device: Any = None) -> Any:
            self.moves.append(f'to_gpu {device}')
            return super().to_gpu(device)


@pytest.mark.parametrize(
    ('wrap', 'move'),
    [
        (lambda link: link, lambda link: link.to_cpu()),
        (lambda link: link, lambda link: link.to_device('@numpy')),
        (lambda link: Chain(inner=link), lambda link: link.to_cpu()),
        (lambda link: Chain(inner=Chain(inner=link)), lambda link: link.to_device('@numpy')),
    ],
)
def test_overridden_to_cpu_is_called_once(wrap: Any, move: Any) -> None:
    link = OldStyle()
    move(wrap(link))
    assert link.moves == ['to_cpu']


@pytest.mark.skipif(cuda.available, reason='there is a GPU')
def test_to_gpu_without_a_gpu() -> None:
    link = Linear(2, 2)
    with pytest.raises(RuntimeError, match='CUDA'):
        link.to_gpu()
    assert link.device == DeviceResident().device


@pytest.mark.gpu
def test_there_and_back() -> None:
    chain = Chain(a=Linear(2, 2), old=OldStyle())
    chain.add_persistent('array', np.ones(2, np.float32))
    assert chain.to_gpu(0) is chain
    assert isinstance(chain.a.W.array, cuda.ndarray) and isinstance(chain.array, cuda.ndarray)
    assert (chain.xp, chain._device_id, chain.a.device.name) == (cuda.cupy, 0, '@cupy:0')
    assert chain.old.moves == ['to_gpu 0']
    chain.a.add_param('extra', (2,))
    assert isinstance(chain.a.extra.array, cuda.ndarray)
    y = chain.a(cuda.cupy.ones((1, 2), 'f'))
    assert isinstance(y.array, cuda.ndarray)
    chain.to_device('@numpy')
    assert isinstance(chain.a.W.array, np.ndarray) and chain.xp is np


@pytest.mark.parametrize(('spec', 'error'), [('@nowhere', ValueError), ('x', RuntimeError)])
def test_unknown_device(spec: str, error: type[Exception]) -> None:
    with pytest.raises(error, match='device specifier'):
        Linear(1, 1).to_device(spec)
