"""What old programs meet in corners: warnings, None among inputs, creators, copies; as in Chainer 7.8.1."""

from __future__ import annotations

import copy
import io
import pickle
import warnings
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import Parameter, Variable
from minichainer.training.extensions.snapshot_writers import QueueWriter
from minichainer.training.extensions.variable_statistics_plot import Statistician
from minichainer.utils.type_check import InvalidType


def ones(*shape: int) -> Any:
    return np.ones(shape, np.float32)


# --- warnings ----------------------------------------------------------------------------------------------------
def _overriding(name: str) -> Any:
    return type('Derived', (chainer.Link,), {name: lambda self, *args: self})


def _gradient_is_missing() -> None:
    chainer.backward([Variable(ones(2)) * 2])


def _given_twice() -> None:
    y = Variable(ones(2)) * 2
    y.grad = ones(2)
    chainer.backward([y, y])


WARNINGS: list[tuple[str, Callable[[], Any], type[Warning], str]] = [
    ('batch_matmul', lambda: F.batch_matmul(ones(2, 3, 4), ones(2, 4, 5)), DeprecationWarning, 'batch_matmul'),
    (
        'fixed_batch_renormalization',
        lambda: F.fixed_batch_renormalization(ones(2, 3), *[ones(3)] * 4),
        DeprecationWarning, 'fixed_batch_renormalization is deprecated',
    ),
    ('to_cpu', lambda: L.Linear(2, 2).to_cpu(), DeprecationWarning, 'to_cpu is deprecated'),
    ('to_cpu overridden', lambda: _overriding('to_cpu'), DeprecationWarning, "Overriding method 'to_cpu'"),
    ('to_gpu overridden', lambda: _overriding('to_gpu'), DeprecationWarning, "Overriding method 'to_gpu'"),
    ('to_intel64 overridden', lambda: _overriding('to_intel64'), DeprecationWarning, "method 'to_intel64'"),
    ('one sample', lambda: F.batch_normalization(ones(1, 3), ones(3), ones(3)), UserWarning, 'one sample'),
    ('one sample of a link', lambda: L.BatchNormalization(3)(ones(1, 3)), UserWarning, 'no more than one sample'),
    (
        'one pixel', lambda: F.batch_normalization(ones(1, 3, 1, 1), ones(3), ones(3)),
        UserWarning, 'no more than one sample',
    ),
    ('no gradient', _gradient_is_missing, RuntimeWarning, 'Variable without grad, or duplicate outputs'),
    ('given twice', _given_twice, RuntimeWarning, 'Variable without grad, or duplicate outputs'),
]  # fmt: skip


@pytest.mark.parametrize(('call', 'category', 'message'), [row[1:] for row in WARNINGS], ids=[r[0] for r in WARNINGS])
def test_it_warns(call: Callable[[], Any], category: type[Warning], message: str) -> None:
    with pytest.warns(category, match=message) as caught:
        call()
    assert len(caught) == 1
    assert caught[0].filename.endswith(('test_behaviour_of_7_8_1.py', 'link.py'))


@pytest.mark.parametrize(
    'call',
    [
        lambda: F.batch_normalization(ones(1, 3, 2), ones(3), ones(3)),
        lambda: F.batch_normalization(ones(0, 3), ones(3), ones(3)),
        lambda: F.fixed_batch_normalization(ones(1, 3), *[ones(3)] * 4),
        lambda: chainer.backward([Variable(ones(2)) * 2], [None]),
        lambda: chainer.backward([(x := Variable(ones(2)) * 2), x], [Variable(ones(2))] * 2),
    ],
)
def test_it_does_not_warn(call: Callable[[], Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        call()


def test_an_output_given_twice_counts_once() -> None:
    x = Variable(ones(2))
    y = x * 2
    y.grad = ones(2)
    with pytest.warns(RuntimeWarning):
        chainer.backward([y, y])
    np.testing.assert_array_equal(x.grad, [2, 2])


# --- FunctionNode ------------------------------------------------------------------------------------------------
class Parts(chainer.FunctionNode):
    """Twice the first input, and None; None may be the second input."""

    def check_type_forward(self, in_types: Any) -> None:
        chainer.utils.type_check.expect(in_types.size() == 2, in_types[0].ndim == 1)

    def forward(self, inputs: Any) -> Any:
        self.retain_inputs((0, 1))
        return inputs[0] * 2, None

    def backward(self, indexes: Any, grad_outputs: Any) -> Any:
        assert grad_outputs[1] is None
        self.seen = self.get_retained_inputs()
        return grad_outputs[0] * 2, None


def test_none_among_inputs_and_outputs() -> None:
    x, node = Variable(ones(2)), Parts()
    y, nothing = node.apply((x, None))
    assert nothing.array is None
    assert node.inputs[1].data is None
    y.grad = ones(2)
    y.backward()
    np.testing.assert_array_equal(x.grad, [2, 2])
    assert node.seen[0].array is x.array
    assert node.seen[1] is None


def test_none_among_outputs_without_a_graph() -> None:
    with chainer.no_backprop_mode():
        assert Parts().apply((ones(2), None))[1].array is None


def test_an_uninitialized_parameter_is_not_a_missing_input() -> None:
    with pytest.raises(chainer.errors.UninitializedParameterError, match='input 1'):
        Parts().apply((ones(2), Parameter()))


def test_types_of_plain_arrays_are_checked() -> None:
    with pytest.raises(InvalidType, match=r'Invalid operation is performed in: Parts \(Forward\)'):
        Parts().apply((ones(2, 2), None))


def test_grad_takes_arrays() -> None:
    x = Variable(ones(2))
    (gx,) = chainer.grad([x * 2], [x], [ones(2) * 3], [ones(2)])
    np.testing.assert_array_equal(gx.array, [7, 7])


def test_grad_retains_gradients_of_outputs() -> None:
    x = Variable(ones(2))
    h = x * 2
    y = h * 3
    chainer.grad([y], [x], [Variable(ones(2) * 5)], retain_grad=True)
    np.testing.assert_array_equal([h.grad, y.grad], [[15, 15], [5, 5]])
    assert x.grad is None


class Returns(chainer.FunctionNode):
    """The identity, with a backward that returns what it is told."""

    def __init__(self, result: Any) -> None:
        self.result = result

    def forward(self, inputs: Any) -> Any:
        return inputs

    def backward(self, indexes: Any, grad_outputs: Any) -> Any:
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


@pytest.mark.parametrize(
    ('result', 'error', 'message'),
    [
        ((None, None), ValueError, 'wrong number'),
        ((Variable(ones(3)),), ValueError, 'shape'),
        ((ones(2),), ValueError, 'Variable or None'),
        ((3.0,), ValueError, 'Variable or None'),
        ((Variable(np.ones(2)),), ValueError, 'dtype'),
        ((Variable(np.ones(2)),), TypeError, 'dtype'),
        ((Variable(ones(2) * np.nan),), RuntimeError, 'NaN'),
        (KeyError('mine'), KeyError, 'mine'),
    ],
)
def test_debug_mode_finds_wrong_gradients(
    result: Any, error: type[Exception], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def place_of_creation() -> Any:
        return Returns(result).apply((Variable(ones(2)),))[0]

    with chainer.using_config('debug', True):
        y = place_of_creation()
        y.grad = ones(2)
        with pytest.raises(error, match=message) as caught:
            y.backward()
    assert 'Stacktrace of the function' in str(caught.value) and 'place_of_creation' in str(caught.value)
    assert not getattr(caught.value, '__notes__', ()) and not capsys.readouterr().err


# --- old-style Function --------------------------------------------------------------------------------------------
class Old(chainer.Function):
    """The product with the second of two inputs, which alone is retained; its backward returns a list."""

    def check_type_forward(self, in_types: Any) -> None:
        chainer.utils.type_check.expect(in_types[0].ndim == 1)

    def forward(self, inputs: Any) -> Any:
        self.retain_inputs((1,))
        return (inputs[0] * inputs[1],)

    def backward(self, inputs: Any, grad_outputs: Any) -> Any:
        assert inputs[0] is None
        return [grad_outputs[0] * inputs[1], None]


def test_an_old_function_may_return_a_list() -> None:
    x = Variable(ones(2))
    y = Old()(x, ones(2) * 3)
    y.grad = ones(2)
    y.backward()
    np.testing.assert_array_equal(x.grad, [3, 3])


def test_data_of_retained_inputs_stays_on_the_nodes() -> None:
    y = Old()(Variable(ones(2)) * 1, Variable(ones(2)) * 3)
    first, second = y.creator.inputs
    assert first.data is None
    np.testing.assert_array_equal(second.data, [3, 3])
    np.testing.assert_array_equal(second.get_variable().array, [3, 3])


def test_an_old_function_is_named_by_its_class() -> None:
    with pytest.raises(InvalidType, match=r'Invalid operation is performed in: Old \(Forward\)'):
        Old()(ones(2, 2), ones(2))
    assert chainer.Function().label == 'Function'


def test_an_old_function_has_no_second_derivative() -> None:
    x = Variable(ones(2))
    y = Old()(x, ones(2))
    y.grad = ones(2)
    y.backward(enable_double_backprop=True)
    with pytest.raises(RuntimeError, match='cannot twice-differentiate an old-style Function: "Old"'):
        chainer.grad([x.grad_var], [x])


# --- Variable ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize('name', ['creator', 'creator_node'])
def test_creator_none_makes_a_leaf(name: str) -> None:
    x = Variable(ones(2))
    y = x * 2
    setattr(y, name, None)
    assert y.creator is None
    F.sum(y * 3).backward()
    assert x.grad is None
    np.testing.assert_array_equal(y.grad, [3, 3])


@pytest.mark.parametrize('function', [Parts(), Old()])
def test_creator_of_an_empty_variable(function: Any) -> None:
    y = Variable()
    y.set_creator(function)
    assert y.creator is function
    assert (y.rank, y.array) == (1, None)


def test_rank_can_be_set() -> None:
    node, y = Returns(None), Variable(ones(2))
    node.rank = 2
    y.set_creator_node(node)
    assert (node.rank, y.rank) == (2, 3)


@pytest.mark.parametrize('double', [False, True])
def test_retained_gradient_is_the_same_object(double: bool) -> None:
    g, y = Variable(ones(2)), Variable(ones(2)) * 2
    y.grad_var = g
    y.backward(retain_grad=True, enable_double_backprop=double)
    assert y.grad_var is g


def _cleared(value: Any = 1.0) -> Parameter:
    parameter = Parameter(value)
    parameter.cleargrad()
    return parameter


#: Inputs of grad(), and the gradients that Variables have afterwards; those of others are unchanged (7).
RETAINED = {
    'x': {'h': -15.576108, 'k': 0.412118, 'm': 18, 'y': 1},
    'h': {'h': -15.576108, 'k': 0.412118, 'm': 18, 'y': 1},
    'k': {'k': 0.412118, 'y': 1},
    'h k': {'h': -15.576108, 'k': 0.412118, 'm': 18, 'y': 1},
    'm k': {'k': 0.412118, 'm': 18, 'y': 1},
    'y': {'y': 1},
    'z': {'y': 1},
}


@pytest.mark.parametrize('double', [False, True])
@pytest.mark.parametrize('inputs', RETAINED)
def test_retained_gradients_are_those_of_chainer(inputs: str, double: bool) -> None:
    found = {'x': Variable(np.array([3.0]))}
    found['h'] = found['x'] * found['x']
    found['k'], found['m'] = found['h'] * 2, F.sin(found['h'])
    found['y'] = found['k'] * found['m']
    found['z'] = found['y'] + found['k']
    for v in found.values():
        v.grad = np.array([7.0])
    results = chainer.grad(
        [found['y']], [found[name] for name in inputs.split()], retain_grad=True, enable_double_backprop=double
    )
    expected = {**dict.fromkeys(found, 7), **RETAINED[inputs]}
    for name, v in found.items():
        np.testing.assert_allclose(v.grad, expected[name], rtol=1e-5)
    if inputs != 'z':
        results[0].array[...] = 0  # the results are not the arrays of the gradients
        assert double or found[inputs.split()[0]].grad != 0


def test_a_variable_takes_the_layout_none() -> None:
    assert Variable(np.ones(2), layout=None, name='a').layout is None
    with pytest.raises(ValueError, match='as_layout: expected None, got 3'):
        Variable(np.ones(2), layout=3)  # type: ignore[arg-type]


@pytest.mark.parametrize('shape', [(2,), (3,)])
def test_another_initialization_drops_the_gradient(shape: tuple[int, ...]) -> None:
    param = chainer.Parameter(chainer.initializers.Constant(1), (2,))
    assert np.isnan(param.grad).all()
    param.initializer = chainer.initializers.Constant(3)
    param.initialize(shape)
    assert param.array.tolist() == [3] * shape[0] and param.grad is None
    param.grad = np.ones(shape, 'f')
    param.initialize((2,))
    assert param.grad is None


@pytest.mark.parametrize(('before', 'after'), [(None, [np.nan] * 2), ('cleargrad', None), ('zerograd', [0, 0])])
@pytest.mark.filterwarnings('ignore:.*zerograd:DeprecationWarning')
def test_the_first_gradient_of_a_parameter_of_unknown_shape(before: str | None, after: Any) -> None:
    param = chainer.Parameter(1)
    if before is not None:
        getattr(param, before)()
    for _ in range(2):
        param.initialize((2,))
        np.testing.assert_array_equal(param.grad, after)
        param.grad = np.full(2, 5, 'f')


def test_addgrad_initializes() -> None:
    source = Parameter(1.0, (2,))
    source.grad = ones(2)
    fresh, cleared = Parameter(3.0), _cleared(3.0)
    for parameter in (fresh, cleared):
        parameter.addgrad(source)
    np.testing.assert_array_equal(cleared.array, [3, 3])
    np.testing.assert_array_equal(cleared.grad, [1, 1])
    assert np.isnan(fresh.grad).all()


@pytest.mark.parametrize(
    ('variable', 'lines'),
    [
        (Variable(), 'device: None;backend: None;shape: None;dtype: None;statistics: None;grad: None'),
        (Parameter(1.0), 'device: None;backend: None;shape: None;dtype: None;statistics: None;grad: None'),
        (
            Variable(ones(0)),
            "device: CPU;backend: <class 'numpy.ndarray'>;shape: (0,);dtype: float32;statistics: mean=nan, std=nan;"
            'grad: None',
        ),
        (
            Variable(ones(2), grad=ones(2) * 2),
            "device: CPU;backend: <class 'numpy.ndarray'>;shape: (2,);dtype: float32;"
            'statistics: mean=1.00000000, std=0.00000000;grad: mean=2.00000000, std=0.00000000',
        ),
    ],
)
def test_debug_print(variable: Variable, lines: str) -> None:
    assert variable.debug_print().split('\n- ')[1:] == lines.split(';')


@pytest.mark.parametrize(
    ('variable', 'text', 'representation'),
    [
        (Variable(ones(0)), 'variable([])', 'variable([])'),
        (Variable(ones(0, 3)), 'variable([])', 'variable([], shape=(0, 3))'),
        (Variable(ones(0), name='q'), 'variable q([])', 'variable q([])'),
        (Variable(), 'variable(None)', 'variable(None)'),
    ],
)
def test_text_of_size_0(variable: Variable, text: str, representation: str) -> None:
    assert (str(variable), repr(variable)) == (text, representation)


@pytest.mark.parametrize('operation', ['+=', '-=', '*=', '/=', '**='])
def test_an_array_changed_by_a_variable_becomes_a_variable(operation: str) -> None:
    array, names = ones(2) * 2, {'v': Variable(ones(2) * 3)}
    names['x'] = array
    exec(f'x {operation} v', {}, names)
    assert isinstance(names['x'], Variable)
    expected = {'+=': 5, '-=': -1, '*=': 6, '/=': 2 / 3, '**=': 8}[operation]
    np.testing.assert_allclose(names['x'].array, [expected, expected], rtol=1e-6)
    np.testing.assert_array_equal(array, [2, 2])


@pytest.mark.parametrize('make', [lambda: Variable(ones(2)), lambda: Parameter(1.0, (2,)), lambda: L.Linear(2, 2)])
def test_other_platforms_are_not_available(make: Callable[[], Any]) -> None:
    thing = make()
    thing.from_chx()
    with pytest.raises(RuntimeError, match='ChainerX is not available'):
        thing.to_chx()
    with pytest.raises(RuntimeError, match='iDeep is not available'):
        thing.to_intel64()


# --- Link ----------------------------------------------------------------------------------------------------------
def test_add_param_with_an_array() -> None:
    link, array = chainer.Link(), ones(2, 3)
    link.add_param('w', initializer=array)
    link.add_param('v', (2, 3), initializer=array * 2)
    assert link.w.array is array
    np.testing.assert_array_equal(link.v.array, array * 2)


def test_a_parameter_of_an_array_and_a_shape() -> None:
    array = np.arange(3)
    parameter = Parameter(array, shape=(2, 3))
    np.testing.assert_array_equal(parameter.array, [[0, 1, 2]] * 2)
    assert parameter.dtype == np.float32
    with pytest.raises(ValueError, match='broadcast'):
        Parameter(array, shape=(4,))


def test_addgrads_of_uninitialized_links() -> None:
    mine, theirs = L.Linear(2), L.Linear(2)
    mine.addgrads(theirs)
    assert not mine.W.is_initialized
    theirs(ones(1, 3))
    theirs.W.grad, theirs.b.grad = ones(2, 3), ones(2)
    mine.cleargrads()
    mine.addgrads(theirs)
    np.testing.assert_array_equal(mine.W.grad, ones(2, 3))


class Mixin:
    def __call__(self, x: Any) -> Any:
        return 'mixin', x


class Seen(chainer.LinkHook):
    name = 'Seen'

    def __init__(self) -> None:
        self.links: list[Any] = []

    def forward_preprocess(self, args: Any) -> None:
        self.links.append(args.link)


@pytest.mark.parametrize('base', [chainer.Link, chainer.Chain, chainer.ChainList])
def test_the_call_of_a_mixin_is_honoured(base: Any) -> None:
    class After(base, Mixin):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return 'forward', x

    class Before(Mixin, base):  # type: ignore[misc]
        pass

    class Own(After):
        def __call__(self, x: Any) -> Any:
            return 'own', x

    assert [link(1)[0] for link in (After(), Before(), Own())] == ['mixin', 'mixin', 'own']
    link = After()
    with Seen() as hook:
        link(1)
    assert hook.links == [link]


@pytest.mark.parametrize('name', ['to_device', 'to_chx', 'from_chx'])
def test_final_methods_cannot_be_overridden(name: str) -> None:
    with pytest.raises(TypeError, match=f"method '{name}' is final"):
        _overriding(name)


def test_names_of_copies() -> None:
    chain = chainer.Chain(a=L.Linear(2, 2))
    chain.name = 'x'
    copies = [chain.copy(mode) for mode in ('share', 'copy', 'init')]
    assert [(c.name, c.a.name, c.a.W.name) for c in copies] == [(None, 'a', 'W'), ('x', 'a', 'W'), ('x', 'a', 'W')]
    listed = chainer.ChainList(L.Linear(2, 2))
    listed.name = 'x'
    assert [listed.copy(mode).name for mode in ('share', 'copy', 'init')] == [None] * 3


def test_uninitialized_gradients_of_copies() -> None:
    link = L.Linear(2)
    link.cleargrads()
    copied, begun_anew = link.copy('copy'), link.copy('init')
    for clone in (copied, begun_anew):
        clone.W.initialize((2, 3))
    assert copied.b.grad is None
    for parameter in (copied.W, begun_anew.W, begun_anew.b):
        assert np.isnan(parameter.grad).all()


@pytest.mark.parametrize(
    'use',
    [
        lambda link: link(1),
        lambda link: link.add_param('w', (1,)),
        lambda link: link.add_persistent('w', 1),
        lambda link: link.init_scope().__enter__(),
        lambda link: list(link.params()),
        lambda link: list(link.namedparams()),
        lambda link: link.cleargrads(),
        lambda link: link.copy(),
        lambda link: link.to_device('@numpy'),
        lambda link: link.count_params(),
        lambda link: link.add_hook(Seen()),
    ],
)
@pytest.mark.parametrize('base', [chainer.Link, chainer.Chain, chainer.ChainList])
def test_a_link_without_init_says_so(base: Any, use: Any) -> None:
    class Forgetful(base):  # type: ignore[misc]
        def __init__(self) -> None:
            pass

        def forward(self, x: Any) -> Any:
            return x

    with pytest.raises(RuntimeError, match=r'Link.__init__\(\) has not been called.* in Forgetful'):
        use(Forgetful())


def test_copies_share_later_arrays() -> None:
    link = L.Linear(2, 2)
    clones = [link.copy(), link.copy()]
    link.W.array = ones(2, 2) * 5
    assert all(clone.W.array is link.W.array for clone in clones)
    clones[0].W.array = ones(2, 2) * 6
    assert clones[1].W.array is link.W.array is clones[0].W.array
    x = Variable(ones(2))
    y = copy.copy(x)
    x.array = ones(3)
    assert y.array is x.array
    assert y.node.shape == (3,)


def test_copies_of_a_lazy_link_begin_together() -> None:
    link = L.Linear(2)
    clone = link.copy()
    link(ones(1, 3))
    assert clone.W.array is link.W.array
    assert clone.W.grad is None


@pytest.mark.parametrize('separate', [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_other_copies_do_not_share(separate: Any) -> None:
    x = Variable(ones(2))
    copy.copy(x)
    y = separate(x)
    x.array = ones(3)
    assert y.shape == (2,)


# --- files and extensions ------------------------------------------------------------------------------------------
def _file(**entries: Any) -> io.BytesIO:
    file = io.BytesIO()
    np.savez(file, **entries)
    file.seek(0)
    return file


@pytest.mark.parametrize('arguments', [{}, {'path': ''}, {'strict': True}, {'strict': False}])
def test_other_entries_of_a_file_are_ignored(arguments: Any) -> None:
    link, entries = L.Linear(2, 2), {'W': ones(2, 2), 'b': ones(2), 'extra': ones(1), 'other/x': ones(1)}
    chainer.serializers.load_npz(_file(**entries), link, **arguments)
    np.testing.assert_array_equal(link.W.array, ones(2, 2))
    with pytest.raises(KeyError, match='b: missing'):
        chainer.serializers.load_npz(_file(W=ones(2, 2)), link, path='')


def test_embed_id_of_an_old_pickle() -> None:
    link = L.EmbedID(3, 2)
    state = {name: value for name, value in link.__dict__.items() if name != 'ignore_label'}
    old = L.EmbedID.__new__(L.EmbedID)
    old.__dict__.update(state)
    assert old.ignore_label is None
    assert pickle.loads(pickle.dumps(old))(np.array([0, 2])).shape == (2, 2)


@pytest.mark.parametrize('device', [None, -1, '@numpy'])
def test_concat_with_async_transfer_without_cuda(device: Any) -> None:
    batch = chainer.dataset.ConcatWithAsyncTransfer()([(ones(2), 1), (ones(2), 2)], device)
    assert isinstance(batch[0], np.ndarray)
    assert batch[0].shape == (2, 2)


def test_inverse_shift_with_a_negative_rate() -> None:
    with pytest.raises(ValueError, match='InverseShift does not support negative gamma'):
        chainer.training.extensions.InverseShift('lr', -0.1, 1.0)


def test_statistics_of_an_old_snapshot_begin_anew() -> None:
    summary = chainer.DictSummary()
    summary.add({'a': 1.0})
    with pytest.warns(UserWarning, match='names of statistics'):
        summary.serialize(chainer.serializers.NpzDeserializer({'_x': np.array(1.0)}))
    assert summary.compute_mean() == {}


def test_a_reporter_entered_by_hand() -> None:
    reporter = chainer.Reporter()
    reporter.__enter__()
    chainer.report({'a': 1})
    reporter.__exit__(None, None, None)
    assert reporter.observation == {'a': 1}


# --- types of exceptions -------------------------------------------------------------------------------------------
X = ones(2, 3)
EXCEPTIONS: list[tuple[Callable[[], Any], type[Exception]]] = [
    (lambda: F.layer_normalization(X[0], X[0], X[0]), InvalidType),
    (lambda: F.layer_normalization(X, ones(4), ones(4)), ValueError),
    (lambda: F.layer_normalization(X, ones(3), ones(4)), InvalidType),
    (lambda: F.bias(X, ones(4)), InvalidType),
    (lambda: F.bias(X, ones(3), axis=2), InvalidType),
    (lambda: F.bias(X, ones(3), axis=None), TypeError),
    (lambda: L.Bias(1, None)(X), ValueError),
    (lambda: F.scale(X, ones(4)), InvalidType),
    (lambda: F.scale(X, ones(3), axis=1.5), TypeError),
    (lambda: L.Scale(1, (3,))(X, ones(3)), ValueError),
    (lambda: F.scatter_add(ones(2, 3, 4), (..., 0, ...), ones(2)), IndexError),
    (lambda: F.scatter_add(X, (0, 0, 0), ones()), InvalidType),
    (lambda: F.get_item(ones(2, 3, 4), (..., 0, ...)), IndexError),
    (lambda: Variable(ones(2, 3, 4))[..., 0, ...], IndexError),
    (lambda: L.Bilinear(2, 3, 4, initialW=ones(2, 3)), AssertionError),
    (lambda: L.Bilinear(2, 3, 4, initial_bias=(ones(2, 3), ones(3, 4), ones(4))), AssertionError),
    (lambda: L.Bilinear(2, 3, 4, initial_bias=3), ValueError),
    (lambda: Variable(X).reshape('a'), TypeError),
    (lambda: F.reshape(X, ('a',)), TypeError),
    (lambda: F.reshape(X, (-1, -1)), AssertionError),
    (lambda: chainer.utils.get_order(np.arange(2), np.arange(3)), ValueError),
    (lambda: chainer.utils.type_check.expect(True), AssertionError),
    (lambda: chainer.utils.type_check.expect(None), AssertionError),
    (lambda: chainer.utils.type_check.expect(chainer.utils.type_check.Variable(1, 'x')), AssertionError),
    (lambda: bool(chainer.utils.type_check.Variable(1, 'x') == 1), RuntimeError),
]


@pytest.mark.parametrize('row', range(len(EXCEPTIONS)))
def test_types_of_exceptions(row: int) -> None:
    call, error = EXCEPTIONS[row]
    with pytest.raises(error):
        call()


def test_a_variable_of_a_graph_may_be_moved_to_where_it_is() -> None:
    y = chainer.functions.tanh(chainer.Variable(np.ones(2, 'f')))
    y.to_cpu()
    y.to_device('@numpy')
    assert y.creator is not None


# --- what a sample of Chainer's own tests has shown ---
@pytest.mark.parametrize(
    ('place', 'word'), [(1, '1st'), (2, '2nd'), (3, '3rd'), (4, '4th'), (11, '11th'), (22, '22nd')]
)
def test_forget_names_the_element_that_is_no_variable(place: int, word: str) -> None:
    outputs: list[Any] = [chainer.Variable(np.zeros(1))] * place
    outputs[place - 1] = 1
    with pytest.raises(RuntimeError, match=f'the {word} element is int'):
        F.forget(lambda: tuple(outputs))


def test_inputs_can_be_set_before_a_node_is_applied() -> None:
    x, node = chainer.Variable(np.ones(2)), chainer.FunctionNode()
    assert node.inputs is None
    node.inputs = (x.node,)
    assert node.inputs == (x.node,)


def test_a_wrong_number_of_inputs_of_scale_is_an_error_of_both_types() -> None:
    x = np.ones((3, 2), 'f')
    for error in (ValueError, AssertionError):
        with pytest.raises(error, match='Scale: expected one input, got 2'):
            chainer.links.Scale(1, (2,))(x, x)


def test_statistics_are_collected_by_a_call() -> None:
    statistician = Statistician(True, True, (0.0, 50.0, 100.0))
    x = np.arange(6.0).reshape(2, 3)
    found = statistician(x, axis=1, dtype=np.float64)
    np.testing.assert_allclose(found['mean'], [1, 4])
    np.testing.assert_allclose(found['std'], [(2 / 3) ** 0.5] * 2)
    np.testing.assert_allclose(found['percentile'], [[0, 3], [1, 4], [2, 5]])
    np.testing.assert_allclose(statistician(x)['mean'], [1.5, 2.5, 3.5])


def test_a_hook_with_every_attribute_is_called_for_each_parameter() -> None:
    optimizer = chainer.optimizers.SGD().setup(chainer.links.Linear(2, 2))
    hook = mock.MagicMock(timing='pre', call_for_each_param=True)
    optimizer.add_hook(hook, 'hook')
    optimizer.call_hooks()
    assert hook.call_count == 2


def test_a_rule_may_fill_the_state_that_it_shares_with_a_function_of_the_caller() -> None:
    rule = chainer.optimizer.UpdateRule()
    rule.init_state = lambda param: rule.state.update(a=0)
    rule.serialize(chainer.serializers.NpzDeserializer({'t': np.array(3), 'a': np.array(7)}))
    assert rule.t == 3 and rule.state == {'a': 7}


def test_a_rule_may_bind_its_state_anew() -> None:
    class Rule(chainer.optimizer.UpdateRule):
        def init_state(self, param: Any) -> None:
            self._state = {'a': 0}

    rule = Rule()
    rule.serialize(chainer.serializers.NpzDeserializer({'t': np.array(3), 'a': np.array(7)}))
    assert rule.t == 3 and rule.state == {'a': 7}


class Of(chainer.Deserializer):
    """A deserializer of a dict, as tests write one."""

    def __init__(self, target: dict[str, Any]) -> None:
        self.target = target

    def __getitem__(self, key: str) -> Of:
        raise NotImplementedError

    def __call__(self, key: str, value: Any) -> Any:
        return self.target[key]


def test_states_may_be_numbers() -> None:
    rule = chainer.optimizer.UpdateRule()
    rule.init_state = lambda param: rule.state.update(a=0)
    rule.serialize(Of({'t': 3, 'a': 7}))
    assert rule.t == 3 and rule.state == {'a': 7}


@pytest.mark.parametrize('enabled', [True, False])
def test_only_a_disabled_rule_may_lack_states(enabled: bool) -> None:
    rule = chainer.optimizers.MomentumSGD().setup(chainer.links.Linear(2, 2)).target.W.update_rule
    rule.enabled = enabled
    deserializer = chainer.serializers.NpzDeserializer({'t': np.array(100)})
    if enabled:
        with pytest.raises(KeyError):
            rule.serialize(deserializer)
    else:
        rule.serialize(deserializer)
        assert rule.t == 100 and rule.state is None


def test_an_entry_of_a_queue_is_only_indexed() -> None:
    entry, queue = mock.MagicMock(), mock.MagicMock()
    queue.get.side_effect = [entry, None]
    QueueWriter.consume(mock.Mock(), queue)
    entry[0].assert_called_once_with(entry[1], entry[2], entry[3])
    assert queue.task_done.call_count == 2
