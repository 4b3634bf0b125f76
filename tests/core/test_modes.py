"""Configuration, hooks, debug mode, old-style functions, copies and conversions."""

import ast
import copy
import operator
import pickle
import re
import weakref

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer.errors import NaNError, UninitializedParameterError


def variable(*values, **kwargs):
    return chainer.Variable(np.array(values, 'd'), **kwargs)


# --- configuration ---------------------------------------------------------------------------------------------
def test_using_config_restores_also_after_an_exception_and_when_nested():
    def fail():
        assert not chainer.config.train
        raise KeyError

    using = chainer.using_config('train', False)
    with pytest.raises(KeyError), using, using:
        fail()
    assert chainer.config.train and chainer.configuration.nondefault == 0


def test_no_and_force_backprop_mode_nest():
    x = variable(1.0)
    with chainer.no_backprop_mode():
        y = F.exp(x)
        assert y.creator is None and y.requires_grad
        with chainer.force_backprop_mode():
            assert F.exp(x).creator is not None
        assert (x + x).creator is None
    assert F.exp(x).creator is not None and chainer.configuration.nondefault == 0


def test_global_config_is_seen_until_a_thread_sets_its_own():
    with chainer.using_config('enable_backprop', False, chainer.global_config):
        assert not chainer.config.enable_backprop
        assert (variable(1.0) * 2).creator is None
        with chainer.using_config('enable_backprop', True):
            assert (variable(1.0) * 2).creator is not None
    assert chainer.configuration.nondefault == 0


def test_config_is_a_decorator_and_can_be_shown(capsys):
    @chainer.using_config('train', False)
    def mode():
        return chainer.config.train

    assert mode() is False and chainer.config.train
    chainer.config.show()
    assert 'enable_backprop' in capsys.readouterr().out


def test_deleting_a_setting_that_is_not_set_is_an_error():
    with pytest.raises(AttributeError, match=r'config\.train is not set in this thread'):
        del chainer.config.train


# --- hooks -----------------------------------------------------------------------------------------------------
class Record(chainer.FunctionHook):
    name = 'record'

    def __init__(self):
        self.log = []

    def added(self, function):
        self.log.append(('added', function and function.label))

    def deleted(self, function):
        self.log.append(('deleted', function and function.label))

    def forward_preprocess(self, function, in_data):
        self.log.append(('<', function.label, len(in_data)))

    def forward_postprocess(self, function, in_data):
        self.log.append(('>', function.label, len(in_data)))

    def backward_preprocess(self, function, in_data, out_grad):
        self.log.append(('b<', function.label, [g if g is None else g.shape for g in out_grad]))

    def backward_postprocess(self, function, in_data, out_grad):
        self.log.append(('b>', function.label, [g if g is None else g.shape for g in out_grad]))


def test_hooks_are_called_around_forward_and_backward_and_removed():
    x = variable(1.0, 2.0)
    with Record() as hook:
        y = F.sum(F.exp(x) * x)
        y.backward()
    F.exp(x)
    assert hook.log == [
        ('added', None),
        ('<', 'exp', 1), ('>', 'exp', 1), ('<', '_ * _', 2), ('>', '_ * _', 2), ('<', 'Sum', 1), ('>', 'Sum', 1),
        ('b<', 'Sum', [()]), ('b>', 'Sum', [()]), ('b<', '_ * _', [(2,)]), ('b>', '_ * _', [(2,)]),
        ('b<', 'exp', [(2,)]), ('b>', 'exp', [(2,)]),
        ('deleted', None),
    ]  # fmt: skip
    assert chainer.configuration.nondefault == 0 and chainer.get_function_hooks() == {}


def test_hooked_results_equal_plain_ones_in_every_kind_of_pass():
    def gradients(**options):
        x = variable(0.5, -1.0)
        y = F.sum(F.tanh(x * x) * F.concat(F.split_axis(x, 2, 0)[::-1], 0))
        y.backward(**options)
        return x.grad

    for options in ({}, {'retain_grad': True}, {'enable_double_backprop': True}):
        with Record():
            hooked = gradients(**options)
        np.testing.assert_allclose(hooked, gradients(), rtol=1e-15)


def test_a_second_hook_of_one_name_is_refused_without_damage():
    with Record():
        with pytest.raises(KeyError, match='record already exists'):
            Record().__enter__()
        assert chainer.configuration.nondefault == 1


def test_local_hooks_see_their_function_only():
    x = variable(1.0)
    y = F.exp(x)
    hook = Record()
    y.creator.add_hook(hook)
    F.sum(y * 2).backward()
    assert [entry[:2] for entry in hook.log] == [('added', 'exp'), ('b<', 'exp'), ('b>', 'exp')]
    with pytest.raises(KeyError, match='already exists'):
        y.creator.add_hook(hook)
    y.creator.delete_hook('record')
    with pytest.raises(KeyError, match='no hook named'):
        y.creator.delete_hook('record')
    assert chainer.configuration.nondefault == 0


def test_a_local_hook_that_goes_with_its_function_is_not_counted_any_more():
    y = F.exp(variable(1.0))
    y.creator.add_hook(Record())
    del y
    assert chainer.configuration.nondefault == 0


def test_an_exception_in_a_hook_leaves_the_gradients():
    class Failing(chainer.FunctionHook):
        def backward_preprocess(self, function, in_data, out_grad):
            raise ZeroDivisionError

    x = variable(1.0)
    y = F.sum(x * x)
    with pytest.raises(ZeroDivisionError), Failing():
        y.backward()
    assert x.grad is None and chainer.configuration.nondefault == 0


# --- debug mode ------------------------------------------------------------------------------------------------
def test_nan_in_forward_names_the_op_and_the_place():
    x = variable(-1.0)
    with chainer.DebugMode(True), np.errstate(invalid='ignore'), pytest.raises(NaNError) as caught:
        F.log(x)
    assert 'NaN is detected on forward computation of log' in str(caught.value)
    assert 'F.log(x)' in str(caught.value) and 'test_modes.py' in str(caught.value)
    assert not chainer.is_debug()


def test_nan_in_backward_names_the_op_and_the_place():
    x = variable(0.0)
    with chainer.using_config('debug', True), np.errstate(all='ignore'):
        y = F.sqrt(x) * 0.0
        with pytest.raises(NaNError) as caught:
            F.sum(y).backward()
    assert 'NaN is detected on backward computation of sqrt' in str(caught.value)
    assert 'F.sqrt(x)' in str(caught.value)
    assert x.grad is None


def test_nan_goes_through_where_debug_mode_is_off():
    with np.errstate(invalid='ignore'):
        assert np.isnan(F.log(variable(-1.0)).array)


# --- old-style functions ---------------------------------------------------------------------------------------
class Double(chainer.Function):
    def forward(self, inputs):
        self.retain_inputs(())
        return 2 * inputs[0], inputs[0] + 1

    def backward(self, inputs, grad_outputs):
        assert inputs == (None,)
        a, b = grad_outputs
        return ((0 if a is None else 2 * a) + (0 if b is None else b),)


def test_an_old_style_function():
    x = variable(1.0, 2.0)
    f = Double()
    a, b = f(x)
    F.sum(a * b).backward()
    np.testing.assert_array_equal(x.grad, 2 * (x.array + 1) + 2 * x.array)
    assert a.creator is f and a.creator_node.function is f and f.label == 'Double'
    assert f.inputs[0] is x.node and f.rank == 0 and f.outputs[0]() is a.node
    f(x)  # a second application makes a node of its own


def test_an_old_style_function_refuses_a_second_derivative():
    x = variable(1.0)
    (g,) = chainer.grad([Double()(x)[0]], [x], enable_double_backprop=True)
    with pytest.raises(RuntimeError, match='cannot twice-differentiate an old-style Function: "Double"'):
        chainer.grad([g * x], [x])


def test_an_old_style_function_with_a_wrong_number_of_gradients():
    class Wrong(chainer.Function):
        def forward(self, inputs):
            return (inputs[0],)

        def backward(self, inputs, grad_outputs):
            return grad_outputs[0], None

    with pytest.raises(ValueError, match=r'wrong number of gradients\nExpect: a tuple or list of 1\nActual: 2'):
        F.sum(Wrong()(variable(1.0))).backward()


# --- copies, attributes, conversions ---------------------------------------------------------------------------
@pytest.mark.parametrize(
    'duplicate',
    [copy.copy, copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))],
    ids=['copy', 'deepcopy', 'pickle'],
)
def test_a_copy_is_a_leaf_with_everything_else(duplicate):
    x = variable(1.0, 2.0, name='x')
    y = x * 2
    y.name, y.remark = 'y', ['mine']
    y.grad = np.array([3.0, 4.0])
    z = duplicate(y)
    assert z.creator is None and z.name == 'y' and z.remark == ['mine'] and type(z) is chainer.Variable
    np.testing.assert_array_equal(z.array, y.array)
    np.testing.assert_array_equal(z.grad, y.grad)
    assert (z.array is y.array) == (duplicate is copy.copy)
    F.sum(z * z).backward()
    assert x.grad is None


def test_a_copied_parameter_stays_a_parameter():
    p = chainer.Parameter(chainer.initializers.Constant(3), (2,), name='p')
    p.cleargrad()
    q = copy.deepcopy(p)
    assert isinstance(q, chainer.Parameter) and q.name == 'p' and q.grad is None and q.array is not p.array
    np.testing.assert_array_equal(q.array, [3, 3])


def test_deep_copies_keep_shared_variables_shared():
    x = variable(1.0)
    a, b = copy.deepcopy([x, x])
    assert a is b


def test_free_attributes_and_weak_references():
    x = variable(1.0)
    x.anything = 3
    reference = weakref.ref(x)
    y = x * 2
    del x
    assert reference() is None and y.creator.inputs[0].shape == (1,)


def test_dlpack_of_the_array():
    x = variable(1.0, 2.0)
    shared = np.from_dlpack(x)
    assert np.shares_memory(shared, x.array)


def test_numpy_leaves_operators_to_variables():
    x = variable(1.0, 2.0)
    for y in (np.ones(2) * x, np.ones(2) + x, np.float64(2) * x, 3 - x, np.ones((2, 2)) @ x):
        assert type(y) is chainer.Variable


@pytest.mark.parametrize(
    'operation', ['x == x', 'x != 1', 'x < x', 'x <= 1', 'x > 1', 'x >= x', 'bool(x)', 'hash(x)']
)
def test_comparisons_are_refused_with_the_remedy(operation):
    words = 'unhashable' if 'hash' in operation else r'x\.array'
    with pytest.raises(TypeError, match=words):
        eval(operation, {'x': variable(1.0)})


def test_arrays_take_the_dtype_of_the_variable_and_variables_must_agree():
    x = chainer.Variable(np.ones(2, 'f'))
    assert (x + np.ones(2, 'd')).dtype == np.float32 and (np.arange(2) * x).dtype == np.float32
    with pytest.raises(chainer.utils.type_check.InvalidType, match='Actual: float32 != float64'):
        x * variable(1.0, 2.0)
    with pytest.raises(TypeError, match='Actual: list'):
        operator.add(x, [1, 2])


@pytest.mark.parametrize('data', [1, [1.0], np.float32(1), 'a'])
def test_data_must_be_an_array(data):
    with pytest.raises(TypeError, match=r'numpy\.ndarray or cupy\.ndarray expected'):
        chainer.Variable(data)


def test_unknown_and_removed_arguments():
    with pytest.raises(TypeError, match='volatile is not supported since Chainer v2'):
        chainer.Variable(np.ones(1), volatile=True)


@pytest.mark.parametrize(
    ('grad', 'error', 'words'),
    [
        (np.ones(2, 'f'), TypeError, 'grad and data differ in dtype\ngrad: float32 != data: float64'),
        (np.ones(3), ValueError, r'grad and data differ in shape\ngrad: \(3,\) != data: \(2,\)'),
        ([1, 2], TypeError, 'grad is not an array'),
    ],
)
def test_a_wrong_grad_is_refused(grad, error, words):
    with pytest.raises(error, match=words):
        variable(1.0, 2.0).grad = grad


def test_grad_and_grad_var_are_two_views_of_one():
    x = variable(1.0)
    x.grad = np.array([2.0])
    assert x.grad_var is x.grad_var and x.grad_var.array is x.grad
    x.grad_var = g = variable(5.0)
    assert x.grad is g.array
    x.cleargrad()
    assert x.grad is None and x.grad_var is None


# --- Parameters ------------------------------------------------------------------------------------------------
def test_an_uninitialized_parameter():
    p = chainer.Parameter(chainer.initializers.One(), name='w')
    assert not p.is_initialized and p.array is None and p.dtype == np.float32
    for use in (lambda: p.shape, lambda: p + 1, lambda: F.exp(p), lambda: F.linear(np.ones((1, 2), 'f'), p)):
        with pytest.raises(UninitializedParameterError, match='initialize'):
            use()
    p.initialize((2,))
    np.testing.assert_array_equal(p.array, [1, 1])
    assert np.isnan(p.grad).all()  # a forgotten cleargrads shows
    p.cleargrad()
    assert p.grad is None


def test_a_parameter_of_number_and_array():
    assert chainer.Parameter(2.0, (3,)).array.tolist() == [2, 2, 2]
    array = np.ones(2)
    assert chainer.Parameter(array).array is array


def test_clearing_before_initialization_holds():
    p = chainer.Parameter(0)
    p.cleargrad()
    p.initialize((1,))
    assert p.grad is None
    q = chainer.Parameter(0)
    with pytest.warns(DeprecationWarning, match='cleargrad'):
        q.zerograd()
    q.initialize((2,))
    np.testing.assert_array_equal(q.grad, [0, 0])


def test_copydata_and_addgrad():
    p, q = chainer.Parameter(), chainer.Parameter(np.ones(2, 'f'))
    p.copydata(q)
    np.testing.assert_array_equal(p.array, [1, 1])
    p.cleargrad()
    q.grad = np.array([1, 2], 'f')
    p.addgrad(q)
    p.addgrad(q)
    np.testing.assert_array_equal(p.grad, [2, 4])
    np.testing.assert_array_equal(q.grad, [1, 2])


# --- settings that have a list of values ---
CHOICES = {
    'check_inplace': "'warn', 'error' or 'off'",
    'detect_anomaly': "False, True or 'tracebacks'",
    'gradcheck_strictness': "'strict' or 'chainer'",
    'tied_parameters': "'once' or 'each'",
    'winograd': "'exact' or 'fast'",
}
LEVELS = {'thread': chainer.config, 'global': chainer.global_config}


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('value', ['Error', 'FAST', 'Each', 'x', '', None, 3, ['warn'], np.zeros(2)], ids=str)
@pytest.mark.parametrize('name', CHOICES)
def test_another_value_is_refused_and_changes_nothing(name, value, level):
    config = LEVELS[level]
    before, counted = chainer.configuration.current_settings(), chainer.configuration.nondefault
    text = re.escape(f'config.{name} must be {CHOICES[name]}') + '.*, got '
    for change in (lambda: setattr(config, name, value), chainer.using_config(name, value, config).__enter__):
        with pytest.raises(ValueError, match=text):
            change()
    assert chainer.configuration.current_settings() == before and chainer.configuration.nondefault == counted


def test_each_listed_value_is_accepted():
    for name, text in CHOICES.items():
        for value in ast.literal_eval(f'[{text.replace(" or ", ", ")}]'):
            with chainer.using_config(name, value):
                assert getattr(chainer.config, name) == value


@pytest.mark.parametrize(('given', 'meant'), [(True, 'warn'), (False, 'off'), (np.bool_(False), 'off')])
def test_truth_values_of_check_inplace(given, meant):
    with chainer.using_config('check_inplace', given):
        assert chainer.config.check_inplace == meant


@pytest.mark.parametrize('name', ['gradcheck_strictness', 'tied_parameters', 'winograd'])
@pytest.mark.parametrize('value', [True, False])
def test_truth_values_are_refused_where_they_say_nothing(name, value):
    with pytest.raises(ValueError, match=f'config.{name} must be'), chainer.using_config(name, value):
        pass


def test_the_remaining_settings_of_several_are_as_before_where_one_is_refused():
    before = chainer.configuration.current_settings()
    with (
        pytest.raises(ValueError, match='winograd'),
        chainer.configuration.using_settings({'train': False, 'winograd': 'x'}),
    ):
        pass
    assert chainer.configuration.current_settings() == before
