"""ChainerX, iDeep, memory layouts, static graphs: what does not exist here says so, where it is used."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import backend, chainerx, memory_layouts
from minichainer.backends import _chainerx, _cpu, intel64
from minichainer.graph_optimizations import static_graph_utilities

X = np.arange(6, dtype='f').reshape(2, 3)


def test_queries_are_answered() -> None:
    assert chainerx.is_available() is False
    assert not isinstance(X, chainerx.ndarray)
    assert intel64.is_ideep_available() is False
    assert intel64.inputs_all_ready((X,)) is False
    assert not isinstance(X, intel64.mdarray)
    assert backend.Intel64Device.from_array(X) is None
    assert backend.ChainerxDevice.from_array(X) is None
    assert not isinstance(chainer.get_device('@numpy'), (backend.ChainerxDevice, backend.Intel64Device))
    assert _cpu.CpuDevice is backend.CpuDevice and _chainerx.ChainerxDevice is backend.ChainerxDevice


@pytest.mark.parametrize('level', ['==always', '>=auto', '==never'])
@pytest.mark.parametrize('setting', ['always', 'auto', 'never'])
def test_ideep_is_never_used(level: str, setting: str) -> None:
    with chainer.using_config('use_ideep', setting):
        assert intel64.should_use_ideep(level) is False


USES = {
    'ChainerxDevice': (lambda: backend.ChainerxDevice('native:0'), "ChainerX is not available.*use '@numpy'"),
    'from_fallback_device': (
        lambda: backend.ChainerxDevice.from_fallback_device(backend.CpuDevice()),
        'ChainerX is not available',
    ),
    'to_chx': (lambda: backend.to_chx([None, X]), 'to_chx: ChainerX is not available'),
    'Intel64Device': (backend.Intel64Device, "iDeep is not available.*use '@numpy'"),
    'check_ideep_available': (intel64.check_ideep_available, 'iDeep is not available'),
    'get_device': (lambda: chainer.get_device('@intel64'), 'device of iDeep, which is not supported'),
}  # fmt: skip


@pytest.mark.parametrize('name', USES)
def test_uses_say_what_to_do(name: str) -> None:
    use, message = USES[name]
    with pytest.raises(RuntimeError, match=message):
        use()


def test_arrays_of_others_are_not_of_chainerx() -> None:
    assert backend.from_chx(X) is X
    assert backend.from_chx([X, None])[0] is X
    assert backend.to_chx(None) is None and backend.to_chx((None,)) == (None,)
    with pytest.raises(TypeError, match=r'cannot send an object of .*int'):
        backend.from_chx(3)


# --- memory layouts ------------------------------------------------------------------------------------------------
def test_shapes() -> None:
    image = np.zeros((1, 2, 3, 4), 'f')
    for x in (image, chainer.Variable(image)):
        assert memory_layouts.get_raw_shape(x) == memory_layouts.get_semantic_shape(x) == (1, 2, 3, 4)
        assert memory_layouts.get_semantic_shape(x, assumed_layout=None) == (1, 2, 3, 4)
    for layout in (memory_layouts.CUDNN_CHANNEL_LAST_X, memory_layouts.CUDNN_CHANNEL_LAST_W):
        assert memory_layouts.get_semantic_shape(image, assumed_layout=layout) == (1, 4, 2, 3)
        with pytest.raises(ValueError, match='expected the layout None, got'):
            memory_layouts.get_semantic_shape(chainer.Variable(image), assumed_layout=layout)
        with pytest.raises(ValueError, match='memory layouts are chosen by the kernels'):
            memory_layouts.AsLayout(layout)
    assert memory_layouts.CUDNN_CHANNEL_FIRST_X is memory_layouts.CUDNN_CHANNEL_FIRST_W is None


def test_the_only_layout() -> None:
    assert chainer.gradient_check.check_gradients(
        lambda x: memory_layouts.AsLayout(memory_layouts.CUDNN_CHANNEL_FIRST_X).apply((x,))[0], X.astype('d'), order=2
    )


# --- static graphs -------------------------------------------------------------------------------------------------
def _model(**settings: Any) -> Any:
    decorate = chainer.static_graph(**settings) if settings else chainer.static_graph

    class Model(chainer.Chain):
        def __init__(self) -> None:
            super().__init__(l=L.Linear(3, 2, initialW=1))
            self.calls = 0

        @decorate
        def forward(self, x: Any, power: int = 1) -> Any:
            """Computes."""
            self.count()
            return F.tanh(self.l(x)) ** power

        @chainer.static_code(unique=1)
        def count(self) -> None:
            self.calls += 1

    return Model()


@pytest.mark.parametrize('settings', [{}, {'verbosity_level': 0, 'minimize_cache_size': False}])
def test_a_static_graph_runs_as_define_by_run(settings: Any) -> None:
    message = 'static_graph runs as plain define-by-run'
    with pytest.warns(chainer.warnings.PerformanceWarning, match=message) as caught:
        model = _model(**settings)
    assert [warning.filename for warning in caught] == [__file__]
    assert type(model).forward.__doc__ == 'Computes.'
    for power in (1, 2):
        model.cleargrads()
        x = chainer.Variable(X)
        y = model(x, power=power)
        F.sum(y).backward()
        expected = F.tanh(F.linear(X, np.ones((2, 3), 'f'))) ** power
        np.testing.assert_array_equal(y.array, expected.array)
        assert x.grad is not None and model.l.W.grad is not None
    assert model.calls == 2


def test_decorators_of_static_code() -> None:
    @chainer.static_code
    def twice(x: Any) -> Any:
        return x * 2

    assert twice(3) == 6 and twice.__name__ == 'twice'

    class Double(chainer.FunctionNode):
        def forward(self, inputs: Any) -> Any:
            return (inputs[0] * 2,)

    (y,) = static_graph_utilities.static_forward_optimizations(Double(), (X,))
    np.testing.assert_array_equal(y, X * 2)


@pytest.mark.parametrize('decorator', ['static_graph', 'static_code'])
@pytest.mark.filterwarnings('ignore::minichainer.warnings.PerformanceWarning')
def test_what_is_no_function_is_not_decorated(decorator: str) -> None:
    with pytest.raises(TypeError, match=f'{decorator}: expected a function, got int'):
        getattr(chainer, decorator)(3)
    with pytest.raises(TypeError, match=f'{decorator}: expected one function, and settings by name; got 2 arguments'):
        getattr(chainer, decorator)(abs, 3)
