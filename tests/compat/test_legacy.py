"""The styles of v1 and v2: programs in them give the figures that Chainer 1.24 gave, and nothing of them stays."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import compat, configuration, training
from minichainer.compat.legacy import function_classes, keywords
from minichainer.compat.legacy.advice import advice_on
from minichainer.compat.legacy.dialect import Dialect
from minichainer.compat.legacy.volatile import AUTO, OFF, ON, flag
from minichainer.compat.nodes import node_class
from minichainer.training import extensions
from tests.compat import v1_idioms

RECORDED = json.loads((Path(__file__).parent / 'v1_idioms.json').read_text(encoding='utf-8'))


@pytest.fixture
def v1() -> Iterator[Dialect]:
    with Dialect('v1') as dialect:
        yield dialect


@pytest.fixture
def alias() -> Iterator[None]:
    compat.install()
    yield
    compat.uninstall()


def assert_same(value: Any, recorded: Any) -> None:
    if isinstance(recorded, list):
        assert isinstance(value, list) and len(value) == len(recorded)
        for mine, theirs in zip(value, recorded, strict=True):
            assert_same(mine, theirs)
    elif isinstance(recorded, float):
        assert value == pytest.approx(recorded, rel=2e-4, abs=2e-6)
    else:
        assert value == recorded


# --- whole programs ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize('name', v1_idioms.PROGRAMS)
def test_a_program_of_v1_gives_its_figures(name: str, v1: Dialect, alias: None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # zerograds is deprecated; the GAN modifies arrays that a gradient needs
        assert_same(v1_idioms.run(v1_idioms.PROGRAMS[name]), RECORDED[name])


def test_every_program_is_recorded() -> None:
    assert RECORDED.keys() == v1_idioms.PROGRAMS.keys()


# --- switched on and off -------------------------------------------------------------------------------------------
def _state() -> dict[str, Any]:
    """The attributes that dialects may change, of modules and classes."""
    modules = [m for n, m in sys.modules.items() if n.split('.')[0] == 'minichainer' and '.compat' not in n]
    classes = {
        c for m in modules for c in vars(m).values() if isinstance(c, type) and c.__module__.startswith('mini')
    }
    found = {(m.__name__, name): id(value) for m in modules for name, value in vars(m).items() if name[:2] != '__'}
    return found | {(c, name): id(value) for c in classes for name, value in vars(c).items() if name != '__dict__'}


@pytest.mark.parametrize('style', ['v1', 'v2'])
def test_a_dialect_leaves_nothing_behind(style: str) -> None:
    with Dialect(style):  # loads what is loaded on demand
        pass
    before = _state()
    with Dialect(style) as dialect:
        assert _state() != before
        if style == 'v1':
            chainer.Variable(np.ones(3, np.float32), volatile='on')
            assert configuration.nondefault == 1
    assert _state() == before
    assert configuration.nondefault == 0
    dialect.undo()
    assert _state() == before


def test_install_takes_the_style() -> None:
    compat.install(legacy='v1')
    try:
        compat.install()
        compat.install('v1')
        with pytest.raises(RuntimeError, match="installed with legacy='v1', got 'v2'"):
            compat.install(legacy='v2')
        assert F.dropout(X, train=False).array.sum() == 6
    finally:
        compat.uninstall()
    with pytest.raises(ValueError, match='train argument'):
        F.dropout(X, train=False)
    with pytest.raises(ValueError, match="expected 'v1' or 'v2', got 'v3'"):
        compat.install(legacy='v3')
    assert not compat.installed()


def test_another_style_is_refused() -> None:
    with pytest.raises(ValueError, match="expected 'v1' or 'v2', got 'v3'"):
        Dialect('v3')


#: What 7.8.1 refuses, the style that accepts it, and whether an error says so.
X = np.ones((2, 3), np.float32)
REFUSED = {
    'volatile': ('v1', lambda: chainer.Variable(X, volatile='on')),
    'the attribute volatile': ('v1', lambda: chainer.Variable(X).volatile),
    'train of dropout': ('v1', lambda: F.dropout(X, train=False)),
    'train of zoneout': ('v1', lambda: F.zoneout(X, X, train=False)),
    'use_cudnn of a function': ('v1', lambda: F.relu(X, use_cudnn=False)),
    'use_cudnn of a loss': ('v1', lambda: F.softmax_cross_entropy(X, np.zeros(2, 'i'), use_cudnn=True)),
    'use_cudnn of softmax': ('v1', lambda: F.softmax(X, use_cudnn=False)),
    'use_cudnn of a link': ('v1', lambda: L.Convolution2D(3, 2, 3, use_cudnn=False)),
    'use_cudnn of an RNN': ('v1', lambda: L.NStepLSTM(1, 3, 2, 0.0, use_cudnn=False)),
    'deterministic': ('v1', lambda: L.Convolution2D(3, 2, 3, deterministic=True)),
    'wscale': ('v1', lambda: L.Linear(3, 2, wscale=2)),
    'wscale of MLPConvolution2D': ('v1', lambda: L.MLPConvolution2D(3, (2,), 1, wscale=2)),
    'bias': ('v1', lambda: L.Linear(3, 2, bias=1)),
    'test': ('v1', lambda: L.BatchNormalization(3)(X, test=True)),
    'F.Linear': ('v1', lambda: F.Linear(3, 2)),
    'F.ReLU': ('v1', lambda: F.ReLU()(X)),
    'F.caffe': ('v1', lambda: F.caffe.CaffeFunction),
    'FunctionSet': ('v1', lambda: chainer.FunctionSet()),
    'cuda.init': ('v1', lambda: chainer.cuda.init),
    'cuda.to_gpu_async': ('v1', lambda: chainer.cuda.to_gpu_async),
    'flag': ('v1', lambda: chainer.flag.ON),
    'ON': ('v1', lambda: chainer.ON),
    'zero_grads': ('v1', lambda: _optimizer().zero_grads()),
    'clip_grads': ('v1', lambda: _optimizer().clip_grads),
    'compute_grads_norm': ('v1', lambda: _optimizer().compute_grads_norm),
    'weight_decay': ('v1', lambda: _optimizer().weight_decay),
    'accumulate_grads': ('v1', lambda: _optimizer().accumulate_grads),
    'add_uninitialized_param': ('v1', lambda: chainer.Link().add_uninitialized_param('W')),
    'trigger of snapshot': ('v2', lambda: extensions.snapshot(trigger=(2, 'epoch'))),
    'trigger of snapshot_object': (
        'v2',
        lambda: extensions.snapshot_object(L.Linear(2, 2), 'a', trigger=(1, 'epoch')),
    ),
    'invoke_before_training': ('v2', lambda: training.make_extension(invoke_before_training=True)),
    'invoke_before_training of extend': ('v2', lambda: _trainer().extend(_nothing, invoke_before_training=True)),
    'setting device': ('v2', lambda: setattr(_trainer().updater, 'device', -1)),
}


def _nothing(trainer: Any) -> None:
    pass


def _optimizer() -> Any:
    return chainer.optimizers.SGD().setup(L.Linear(3, 2))


def _trainer() -> Any:
    iterator = chainer.iterators.SerialIterator([X], 1)
    return training.Trainer(training.updaters.StandardUpdater(iterator, _optimizer()), (1, 'epoch'))


@pytest.mark.parametrize('name', REFUSED)
def test_what_is_refused_says_how_it_is_accepted(name: str) -> None:
    style, use = REFUSED[name]
    with pytest.raises((TypeError, ValueError, AttributeError)) as caught:
        use()
    advice = advice_on(caught.value)
    assert advice is not None
    assert f'run --legacy {style}' in advice and f"minichainer.compat.install(legacy='{style}')" in advice
    with Dialect(style):
        use()
    with pytest.raises(type(caught.value)):
        use()


@pytest.mark.parametrize(
    'error',
    [
        KeyError('train'),
        ValueError('ratio must be in the range'),
        AttributeError("'Net' object has no attribute 'conv'"),
    ],
    ids=str,
)
def test_other_errors_get_no_advice(error: Exception) -> None:
    assert advice_on(error) is None


def test_v2_does_not_accept_v1() -> None:
    with Dialect('v2'), pytest.raises(ValueError, match='train argument is not supported'):
        F.dropout(X, train=False)


# --- single rules --------------------------------------------------------------------------------------------------
FLAGS = [('on', ON), (True, ON), (1, ON), (ON, ON), ('off', OFF), (False, OFF), ('auto', AUTO), (None, AUTO)]


@pytest.mark.parametrize(('value', 'expected'), FLAGS, ids=repr)
def test_a_flag_has_many_names(value: Any, expected: Any) -> None:
    assert flag(value) is expected
    assert expected == value


def test_an_unknown_flag_is_refused(v1: Dialect) -> None:
    with pytest.raises(ValueError, match="'on', 'off', 'auto', True or False, got 'x'"):
        chainer.Variable(X, volatile='x')


def test_gradients_of_parameters_without_axes(v1: Dialect) -> None:
    model = chainer.FunctionSet(l=L.Linear(3, 2), act=L.PReLU())
    optimizer = chainer.optimizers.SGD(0.5)
    optimizer.setup(model)
    optimizer.zero_grads()
    F.sum(model.act(model.l(chainer.Variable(X)))).backward()
    slope, gradient = float(model.act.W.data), float(model.act.W.grad)
    optimizer.weight_decay(0.1)
    optimizer.accumulate_grads([np.ones_like(p.data)[()] for p in optimizer.target.params()])
    assert float(model.act.W.grad) == pytest.approx(gradient + 0.1 * slope + 1)
    optimizer.update()
    assert type(model.act.W.data) is np.ndarray and model.act.W.data.shape == ()


def test_no_graph_is_kept_from_volatile_variables(v1: Dialect) -> None:
    layers = [L.Linear(3, 3) for _ in range(3)]
    h = chainer.Variable(X, volatile='on')
    for layer in layers:
        h = F.dropout(F.relu(layer(h)), train=False)
    assert h.creator is None and h.volatile == 'on'
    assert h.node.creator_node is None
    y = layers[0](chainer.Variable(X))
    assert y.creator is not None and y.volatile == 'off'


def test_gradients_do_not_flow_through_a_volatile_part(v1: Dialect) -> None:
    model = L.Linear(3, 3)
    x = chainer.Variable(X)
    loss = F.sum(model(x) * chainer.Variable(model(chainer.Variable(X, volatile='on')).data))
    loss.backward()
    assert x.grad is not None and model.W.grad is not None


@pytest.mark.parametrize('table', ['_FUNCTIONS', '_CONSTRUCTORS', '_CALLS'])
def test_every_argument_of_the_tables_is_taken_today_or_translated(table: str) -> None:
    import inspect

    for path, text in keywords._rows(getattr(keywords, table)):
        name, _, method = path.partition('.')
        owner = F if table == '_FUNCTIONS' else L
        target = (
            getattr(owner, name) if table == '_FUNCTIONS' else getattr(getattr(owner, name), method or '__init__')
        )
        parameters = inspect.signature(target).parameters
        if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
            continue
        gone = {*keywords._SETTINGS, *keywords._ARGUMENTS}
        assert set(keywords.Signature(text).names) - gone <= set(parameters), path


def test_a_value_given_twice_is_an_error(v1: Dialect) -> None:
    with pytest.raises(TypeError, match='several values'):
        F.dropout(X, 0.5, True, train=True)
    with pytest.raises(TypeError, match='too many arguments'):
        F.relu(X, True, 3)


def test_settings_of_a_call_end_with_it(v1: Dialect) -> None:
    F.dropout(X, train=False)
    assert chainer.config.train is True
    bn = L.BatchNormalization(3)
    with pytest.raises(Exception, match='Normalization'):
        bn(X[:, :2], test=True)
    assert chainer.config.train is True


def test_links_inside_of_the_package_keep_today_s_order(v1: Dialect) -> None:
    np.random.seed(0)
    with_dialect = L.Inception(3, 2, 2, 2, 2, 2, 2).conv1.W.data
    v1.undo()
    np.random.seed(0)
    np.testing.assert_array_equal(L.Inception(3, 2, 2, 2, 2, 2, 2).conv1.W.data, with_dialect)


def test_a_subclass_passes_arguments_of_v1(v1: Dialect) -> None:
    class Sharp(L.Convolution2D):
        def __init__(self) -> None:
            super().__init__(3, 2, 3, wscale=0, bias=2, use_cudnn=False)

        def __call__(self, x: Any, train: bool = True) -> Any:
            return F.dropout(super().__call__(x), train=train)

    y = Sharp()(np.ones((1, 3, 3, 3), np.float32), train=False)
    np.testing.assert_array_equal(y.data.ravel(), [2, 2])


def test_an_initializer_is_scaled_by_the_square_root_of_wscale(v1: Dialect) -> None:
    W = L.Linear(3, 2, wscale=9, initialW=chainer.initializers.Constant(2)).W
    np.testing.assert_array_equal(W.data, np.full((2, 3), 6))


@pytest.mark.parametrize(
    'row', function_classes._CLASSES.strip().splitlines(), ids=lambda row: row.strip().partition(':')[0]
)
def test_every_class_has_its_function(row: str, v1: Dialect) -> None:
    name, _, rest = row.strip().partition(': ')
    assert callable(getattr(F, rest.split()[0].rstrip('*')))
    assert getattr(F, name).__name__ == name
    assert len(getattr(F, name).parameters) == len(rest.split()) - 1


def test_a_class_refuses_too_many_arguments(v1: Dialect) -> None:
    with pytest.raises(TypeError, match='ClippedReLU: expected at most'):
        F.ClippedReLU(1, 2)


def test_a_link_of_a_function_set_can_be_replaced(v1: Dialect) -> None:
    model = chainer.FunctionSet(l=F.Linear(3, 2))
    model.l = F.Linear(3, 4)
    model.note = 'text'
    assert [p.shape for p in model.parameters] == [(4, 3), (4,)]
    model.parameters = [np.zeros((4, 3), 'f'), np.ones(4, 'f')]
    model.gradients = [np.ones((4, 3), 'f'), np.ones(4, 'f')]
    assert model.l.b.data.tolist() == [1] * 4 and model.gradients[0].sum() == 12


def test_snapshots_take_a_trigger() -> None:
    with Dialect('v2'):
        assert extensions.snapshot(None, 'a', (3, 'epoch')).trigger == (3, 'epoch')
        assert extensions.snapshot_object(L.Linear(1, 1), 'a', trigger=(2, 'iteration')).trigger == (2, 'iteration')
        assert extensions.snapshot().trigger == (1, 'epoch')


def test_the_device_of_an_updater_can_be_set() -> None:
    with Dialect('v2'):
        updater = _trainer().updater
        updater.device = 0
        assert updater.device == 0


def test_node_classes_of_deep_modules_return_one_output_alone() -> None:
    """Also where the same class is served to programs of later versions, for which it returns a tuple."""
    relu = node_class('activation.relu', 'ReLU')
    x = np.array([-1, 2], 'f')
    with Dialect('v1'):
        np.testing.assert_array_equal(relu()(x).array, [0, 2])
    assert isinstance(relu()(x), tuple)


@pytest.mark.parametrize('name', ['LSTM', 'StatelessLSTM', 'BatchNormalization', 'ConvolutionND'])
def test_classes_for_ported_programs_are_those_of_the_style(name: str) -> None:
    from minichainer.compat.legacy import defaults

    def parameters(cls: Any) -> dict[str, Any]:
        np.random.seed(0)
        link = cls(*{'BatchNormalization': (3,), 'ConvolutionND': (1, 2, 3, 2)}.get(name, (2, 3)))
        saved = {key: param.array for key, param in link.namedparams()}
        return saved | {key: getattr(link, key) for key in link._persistent}

    ported = parameters(getattr(defaults, name))
    compat.install('v1')
    try:
        of_style = parameters(getattr(chainer.links, name))
    finally:
        compat.uninstall()
    today = parameters(getattr(chainer.links, name))
    assert ported.keys() == of_style.keys()
    assert all(np.array_equal(ported[key], of_style[key]) for key in ported)
    assert ported.keys() != today.keys() or not all(np.array_equal(ported[key], today[key]) for key in ported)
