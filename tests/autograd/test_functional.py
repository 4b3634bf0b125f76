"""Jacobians, Hessians and products: against closed forms, against torch where it is installed, and their modes."""

import types
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer.autograd import functional


# --- one program, two libraries --------------------------------------------------------------------------------
def our_library():
    def variable(value, dtype='float64', requires_grad=False):
        return chainer.Variable(np.array(value, dtype), requires_grad=requires_grad)

    return types.SimpleNamespace(
        functional=functional, variable=variable, numpy=lambda v: v.array, kind=chainer.Variable,
        sum=F.sum, exp=F.exp, matmul=F.matmul, cast=F.cast, no_graph=chainer.no_backprop_mode,
    )  # fmt: skip


def torch_library():
    torch = pytest.importorskip('torch')

    def variable(value, dtype='float64', requires_grad=False):
        return torch.tensor(np.array(value, dtype), requires_grad=requires_grad)

    return types.SimpleNamespace(
        functional=torch.autograd.functional, variable=variable, numpy=lambda v: v.detach().numpy(),
        kind=torch.Tensor, sum=torch.sum, exp=torch.exp, matmul=torch.matmul,
        cast=lambda x, dtype: x.to(getattr(torch, dtype)), no_graph=torch.no_grad,
    )  # fmt: skip


LIBRARIES = {'ours': our_library, 'torch': torch_library}


@pytest.fixture(params=list(LIBRARIES))
def m(request):
    return LIBRARIES[request.param]()


# --- closed forms ----------------------------------------------------------------------------------------------
@dataclass
class Case:
    """A function, its inputs as arrays, and its Jacobians (per output, per input) or Hessian (per input twice)."""

    name: str
    func: Any
    inputs: Any
    derivative: Any

    def __repr__(self):
        return self.name


X = np.array([0.5, -1.0, 2.0])
Y = np.array([3.0, 0.25, -2.0])
A = np.array([[1.0, 2.0, 3.0], [-1.0, 0.5, 4.0]])
S = np.array(1.5)
EYE = np.eye(3)


def _diagonal(x):
    return np.diag(x.ravel()).reshape(x.shape * 2)


JACOBIANS = [
    Case('vector', lambda m, x: x * x, X, np.diag(2 * X)),
    Case('0-d', lambda m, x: x * x * x, S, 3 * S**2),
    Case('0-d to vector', lambda m, s, x: s * x, (S, X), (X, S * EYE)),
    Case('matrix', lambda m, x: m.exp(x), A, _diagonal(np.exp(A))),
    Case('matmul', lambda m, a, x: m.matmul(a, x), (A, X), (np.einsum('ik,l->ikl', np.eye(2), X), A)),
    Case('scalar', lambda m, x: m.sum(x**3), X, 3 * X**2),
    Case('one element', lambda m, x: x * x, np.array([[3.0]]), np.full((1, 1, 1, 1), 6.0)),
    Case('tuple of one', lambda m, x: (x * x,), (X,), ((np.diag(2 * X),),)),
    Case('tuple of outputs', lambda m, x: (x * x, m.sum(x)), X, (np.diag(2 * X), np.ones(3))),
    Case('tuples', lambda m, x, y: (x * y, m.sum(y)), (X, Y), ((np.diag(Y), np.diag(X)), (np.zeros(3), np.ones(3)))),
    Case('unused input', lambda m, x, y: x * 2, (X, A), (2 * EYE, np.zeros((3, 2, 3)))),
    Case('constant output', lambda m, x: (x * x, m.variable(Y)), X, (np.diag(2 * X), np.zeros((3, 3)))),
    Case('returns its input', lambda m, x: (x, x * x), X, (EYE, np.diag(2 * X))),
    Case('one output twice', lambda m, x: (x * x,) * 2, X, (np.diag(2 * X),) * 2),
    Case('linear', lambda m, x: x + x, X, 2 * EYE),
    Case('a slice', lambda m, x: x[1:] * x[:-1], X, np.array([[X[1], X[0], 0], [0, X[2], X[1]]])),
]
HESSIANS = [
    Case('cubes', lambda m, x: m.sum(x**3), X, np.diag(6 * X)),
    Case('0-d', lambda m, x: x**3, S, 6 * S),
    Case('exponential', lambda m, x: m.exp(m.sum(x)), X, np.full((3, 3), np.exp(X.sum()))),
    Case('matrix', lambda m, a: m.sum(a**2) ** 2, A,
         8 * np.einsum('ij,kl', A, A) + 4 * (A**2).sum() * _diagonal(A**0)),
    Case('two inputs', lambda m, x, y: m.sum(x * x * y), (X, Y),
         ((np.diag(2 * Y), np.diag(2 * X)), (np.diag(2 * X), np.zeros((3, 3))))),
    Case('tuple of one', lambda m, x: m.sum(x**3), (X,), ((np.diag(6 * X),),)),
    Case('unused input', lambda m, x, s: m.sum(x**3), (X, S), ((np.diag(6 * X), np.zeros(3)), (np.zeros(3), 0.0))),
    Case('linear', lambda m, x: m.sum(x * 2), X, np.zeros((3, 3))),
    Case('constant', lambda m, x: m.variable(3.0), X, np.zeros((3, 3))),
    Case('one element', lambda m, x: x**3, np.array([[2.0]]), np.full((1, 1, 1, 1), 12.0)),
]  # fmt: skip
DTYPES = ['float64', 'float32']
WAYS = [
    {},
    {'create_graph': True},
    {'vectorize': True},
    {'vectorize': True, 'create_graph': True},
    {'vectorize': True, 'strategy': 'forward-mode'},
]


def tree(function, value):
    """Applies a function to each entry of a structure of tuples."""
    return tuple(tree(function, entry) for entry in value) if isinstance(value, tuple) else function(value)


def given(m, arrays, dtype='float64', **kwargs):
    return tree(lambda array: m.variable(array, dtype, **kwargs), arrays)


def check(m, actual, expected, dtype='float64', tolerance=1e-12):
    """Compares structure, shape, dtype and values."""
    if isinstance(expected, tuple):
        assert isinstance(actual, tuple) and len(actual) == len(expected)
        for one, other in zip(actual, expected, strict=True):
            check(m, one, other, dtype, tolerance)
        return
    assert isinstance(actual, m.kind)
    array = m.numpy(actual)
    assert array.shape == np.shape(expected) and array.dtype == dtype
    np.testing.assert_allclose(array, expected, 1e-5 if dtype == 'float32' else tolerance, 1e-12)


def bound(m, case, dtype='float64'):
    """The function of a case for a library; constants have its dtype too."""
    own = types.SimpleNamespace(**{**vars(m), 'variable': lambda value: m.variable(value, dtype)})
    return lambda *xs: case.func(own, *xs)


def blocks_of(case, of_hessian=False):
    """The derivative as a list of rows, one per output, of blocks, one per input."""
    rows = case.derivative if isinstance(outputs_of(case), tuple) else (case.derivative,)
    if of_hessian:
        rows = case.derivative if isinstance(case.inputs, tuple) else (case.derivative,)
    return [row if isinstance(case.inputs, tuple) else (row,) for row in rows]


def outputs_of(case):
    """The function's values as arrays, in their structure."""
    m = our_library()
    inputs = case.inputs if isinstance(case.inputs, tuple) else (case.inputs,)
    return tree(lambda y: y.array, case.func(m, *given(m, inputs)))


def as_tuple(value):
    return value if isinstance(value, tuple) else (value,)


def vectors(arrays, seed=0):
    draw = np.random.RandomState(seed)
    return tree(lambda array: draw.uniform(-1, 1, np.shape(array)), arrays)


def times(block, v):
    """A block of a Jacobian times a vector over the axes of the input."""
    return np.tensordot(block, v, np.ndim(v))


def of_vector(v, block):
    return np.tensordot(v, block, np.ndim(v))


def like(structure, values):
    return tuple(values) if isinstance(structure, tuple) else values[0]


@pytest.mark.parametrize('dtype', DTYPES)
@pytest.mark.parametrize('way', WAYS, ids=str)
@pytest.mark.parametrize('case', JACOBIANS, ids=repr)
def test_jacobian(m, case, way, dtype):
    if m.kind is not chainer.Variable and 'strategy' in way:
        pytest.skip('lists in torch')
    result = m.functional.jacobian(bound(m, case, dtype), given(m, case.inputs, dtype), **way)
    check(m, result, case.derivative, dtype)


@pytest.mark.parametrize('dtype', DTYPES)
@pytest.mark.parametrize('create_graph', [False, True])
@pytest.mark.parametrize('case', JACOBIANS, ids=repr)
def test_vjp(m, case, create_graph, dtype):
    y = outputs_of(case)
    v = vectors(y)
    sums = [
        sum(of_vector(u, row[j]) for u, row in zip(as_tuple(v), blocks_of(case), strict=True))
        for j in range(len(as_tuple(case.inputs)))
    ]
    value, product = m.functional.vjp(
        bound(m, case, dtype), given(m, case.inputs, dtype), given(m, v, dtype), create_graph
    )
    check(m, value, y, dtype)
    check(m, product, like(case.inputs, sums), dtype)


@pytest.mark.parametrize('dtype', DTYPES)
@pytest.mark.parametrize('create_graph', [False, True])
@pytest.mark.parametrize('case', JACOBIANS, ids=repr)
def test_jvp(m, case, create_graph, dtype):
    y, v = outputs_of(case), vectors(case.inputs)
    sums = [sum(times(b, u) for b, u in zip(row, as_tuple(v), strict=True)) for row in blocks_of(case)]
    value, product = m.functional.jvp(
        bound(m, case, dtype), given(m, case.inputs, dtype), given(m, v, dtype), create_graph
    )
    check(m, value, y, dtype)
    check(m, product, like(y, sums), dtype)


@pytest.mark.parametrize('dtype', DTYPES)
@pytest.mark.parametrize('way', WAYS, ids=str)
@pytest.mark.parametrize('case', HESSIANS, ids=repr)
def test_hessian(m, case, way, dtype):
    way = {'outer_jacobian_strategy' if name == 'strategy' else name: value for name, value in way.items()}
    if m.kind is not chainer.Variable and 'outer_jacobian_strategy' in way:
        pytest.skip('lists in torch')
    result = m.functional.hessian(bound(m, case, dtype), given(m, case.inputs, dtype), **way)
    check(m, result, case.derivative, dtype)


@pytest.mark.parametrize('dtype', DTYPES)
@pytest.mark.parametrize('create_graph', [False, True])
@pytest.mark.parametrize('name', ['vhp', 'hvp'])
@pytest.mark.parametrize('case', HESSIANS, ids=repr)
def test_products_with_the_hessian(m, case, name, create_graph, dtype):
    v = vectors(case.inputs)
    rows = blocks_of(case, of_hessian=True)
    sums = [sum(times(b, u) for b, u in zip(row, as_tuple(v), strict=True)) for row in rows]
    value, product = getattr(m.functional, name)(
        bound(m, case, dtype), given(m, case.inputs, dtype), given(m, v, dtype), create_graph
    )
    check(m, value, outputs_of(case), dtype)
    check(m, product, like(case.inputs, sums), dtype)


# --- programs with equal results and equal kinds of errors -----------------------------------------------------
NAMES = ['vjp', 'jvp', 'vhp', 'hvp', 'jacobian', 'hessian']
WITH_VECTOR = NAMES[:4]


def cube(m):
    return lambda *xs: m.sum(xs[0] ** 3)


PROGRAMS = {
    'a list of inputs': (TypeError, lambda m, f: f(cube(m), [m.variable(X)])),
    'a number as input': (TypeError, lambda m, f: f(cube(m), 3.0)),
    'a number in the inputs': (TypeError, lambda m, f: f(cube(m), (m.variable(S), 3.0))),
    'None as input': (TypeError, lambda m, f: f(cube(m), None)),
    'a number as output': (TypeError, lambda m, f: f(lambda x: 3.0, m.variable(S))),
    'None as output': (TypeError, lambda m, f: f(lambda x: None, m.variable(S))),
    'a list of outputs': (TypeError, lambda m, f: f(lambda x: [x * x], m.variable(S))),
    'None among outputs': (TypeError, lambda m, f: f(lambda x: (x, None), m.variable(S))),
    'integers': (RuntimeError, lambda m, f: f(cube(m), m.variable(2, 'int64'))),
    'booleans': (RuntimeError, lambda m, f: f(cube(m), m.variable(True, 'bool'))),
    'strict, constant output': (RuntimeError, lambda m, f: f(lambda x: m.variable(3.0), m.variable(S), strict=True)),
    'strict, constant graph': (
        RuntimeError,
        lambda m, f: f(lambda x: 2 * m.variable(3.0, requires_grad=True), m.variable(S), strict=True),
    ),
    'strict, linear, with a graph': (
        RuntimeError,
        lambda m, f: f(lambda x: x * 2, m.variable(S), strict=True, create_graph=True),
    ),
    'strict, cube, with a graph': (None, lambda m, f: f(cube(m), m.variable(S), strict=True, create_graph=True)),
    'strict, cube': (None, lambda m, f: f(cube(m), m.variable(S), strict=True)),
    'no graph outside': (None, lambda m, f: _without_graph(m, f)),
}
VECTOR_PROGRAMS = {
    'missing': (RuntimeError, lambda m, f, g: f(g, m.variable(X))),
    'default': (None, lambda m, f, g: f(g, m.variable([[2.0]]))),
    'shape': (RuntimeError, lambda m, f, g: f(g, m.variable(X), m.variable([1.0, 2.0]))),
    'shape that would broadcast': (RuntimeError, lambda m, f, g: f(g, m.variable(X), m.variable([1.0]))),
    '0-d': (RuntimeError, lambda m, f, g: f(g, m.variable(X), m.variable(1.0))),
    'too many': (RuntimeError, lambda m, f, g: f(g, m.variable(X), (m.variable(X), m.variable(X)))),
    'none': (RuntimeError, lambda m, f, g: f(g, m.variable(X), ())),
    'a tuple of one': (None, lambda m, f, g: f(g, m.variable(X), (m.variable(Y),))),
    'a number': (TypeError, lambda m, f, g: f(g, m.variable(X), 3.0)),
    'a list': (TypeError, lambda m, f, g: f(g, m.variable(X), [m.variable(X)])),
    'as a column': (RuntimeError, lambda m, f, g: f(g, m.variable(X), m.variable(X[:, None]))),
    'more precise': (None, lambda m, f, g: f(g, m.variable(X, 'float32'), m.variable(Y))),
    'other dtype': (None, lambda m, f, g: f(g, m.variable(X), m.variable(Y, 'float32'))),
    'integers': (None, lambda m, f, g: f(g, m.variable(X), m.variable([1, 2, 3], 'int64'))),
    'differentiable': (
        None,
        lambda m, f, g: f(g, m.variable(X), m.variable(Y, requires_grad=True), create_graph=True),
    ),
}
#: Error, options of jacobian, options of hessian.
STRATEGIES = [
    (RuntimeError, {'vectorize': True, 'strict': True}),
    (NotImplementedError, {'strategy': 'forward-mode'}),
    (NotImplementedError, {'strategy': 'forward-mode', 'vectorize': True, 'create_graph': True}),
    (RuntimeError, {'strategy': 'forward-mode', 'vectorize': True, 'strict': True}),
    (AssertionError, {'strategy': 'sideways'}),
    (AssertionError, {'strategy': 'sideways', 'vectorize': True}),
]


def _without_graph(m, f):
    with m.no_graph():
        return f(cube(m), m.variable(S))


def outcome(m, program, *args):
    """The result as arrays, or the error."""
    try:
        return tree(m.numpy, program(m, *args))
    except Exception as error:
        return error


def check_outcome(m, error, program, *args):
    """The outcome has the documented kind, and is the same as ours."""
    found = outcome(m, program, *args)
    if error is not None:
        assert isinstance(found, error)
        return
    assert not isinstance(found, Exception), found
    ours = our_library()
    mine = outcome(ours, program, *[getattr(ours.functional, a.__name__, a) if callable(a) else a for a in args])
    np.testing.assert_equal(tree(np.shape, found), tree(np.shape, mine))
    for one, other in zip(as_tuple(found), as_tuple(mine), strict=True):
        np.testing.assert_allclose(one, other, 1e-12 if other.dtype == 'float64' else 1e-6)
        assert one.dtype == other.dtype


@pytest.mark.parametrize('name', NAMES)
@pytest.mark.parametrize('program', PROGRAMS)
def test_programs(m, name, program):
    error, run = PROGRAMS[program]
    check_outcome(m, error, run, getattr(m.functional, name))


@pytest.mark.parametrize('name', WITH_VECTOR)
@pytest.mark.parametrize('program', VECTOR_PROGRAMS)
def test_vectors(m, name, program):
    error, run = VECTOR_PROGRAMS[program]
    on_scalars = name in ('vhp', 'hvp')

    def program_of(m, f):
        return run(m, f, cube(m) if on_scalars else lambda x: x**3)

    check_outcome(m, error, program_of, getattr(m.functional, name))


@pytest.mark.parametrize(('error', 'options'), STRATEGIES, ids=str)
def test_strategies_that_do_not_go_together(m, error, options):
    with pytest.raises(error):
        m.functional.jacobian(lambda x: x**3, m.variable(X), **options)
    options = {'outer_jacobian_strategy' if name == 'strategy' else name: value for name, value in options.items()}
    with pytest.raises(error):
        m.functional.hessian(cube(m), m.variable(X), **options)


@pytest.mark.parametrize('name', ['vhp', 'hvp', 'hessian'])
@pytest.mark.parametrize(
    'func', [lambda x: (x * x,), lambda x: (), lambda x: (x, x)], ids=['tuple of one', 'empty', 'tuple of two']
)
def test_only_scalar_functions_have_hessians(m, name, func):
    with pytest.raises(RuntimeError):
        getattr(m.functional, name)(func, m.variable(S))


@pytest.mark.parametrize('name', ['vhp', 'hvp', 'hessian'])
def test_hessians_need_one_element(m, name):
    x = m.variable(X)
    with pytest.raises(RuntimeError):
        getattr(m.functional, name)(lambda x: x * x, x, *([] if name == 'hessian' else [x]))


STRICT = {
    'an unused input': lambda m: lambda a, b: m.sum(a**3),
    'an input with zero second derivatives': lambda m: lambda a, b: m.sum(a**3) + m.sum(b),
    'separate terms': lambda m: lambda a, b: m.sum(a**3) + m.sum(b**3),
    'a product': lambda m: lambda a, b: m.sum(a**2 * b**2),
}
#: Which functions raise in strict mode.
RAISES = {
    'an unused input': set(NAMES),
    'an input with zero second derivatives': {'vhp', 'hvp', 'hessian'},
    'separate terms': {'hessian'},
    'a product': set(),
}


@pytest.mark.parametrize('name', NAMES)
@pytest.mark.parametrize('program', STRICT)
def test_strict_with_two_inputs(m, name, program):
    func, inputs = STRICT[program](m), (m.variable(X), m.variable(Y))
    v = [] if name in ('vjp', 'jacobian', 'hessian') else [inputs]
    product = getattr(m.functional, name)
    product(func, inputs, *v)
    if name in RAISES[program]:
        with pytest.raises(RuntimeError, match='strict'):
            product(func, inputs, *v, strict=True)
    else:
        product(func, inputs, *v, strict=True)


@pytest.mark.parametrize('name', ['vjp', 'jvp', 'jacobian'])
def test_strict_with_a_constant_among_the_outputs(m, name):
    v = {'vjp': [(m.variable(X), m.variable(S))], 'jvp': [m.variable(X)], 'jacobian': []}[name]
    with pytest.raises(RuntimeError, match='strict'):
        getattr(m.functional, name)(lambda x: (x * x, m.variable(S)), m.variable(X), *v, strict=True)


@pytest.mark.parametrize('name', ['vhp', 'hvp', 'hessian'])
def test_strict_with_constant_second_derivatives(m, name):
    derivative, x = getattr(m.functional, name), m.variable(S)
    derivative(lambda x: x * x, x, strict=True)
    with pytest.raises(RuntimeError, match='strict'):
        derivative(lambda x: x * x, x, strict=True, create_graph=True)


@pytest.mark.parametrize('name', ['vhp', 'hvp', 'hessian'])
def test_strict_names_the_derivative_that_is_constant(name):
    v = [] if name == 'hessian' else [(X, Y)]
    expected = f'^{name}: no path in the graph from the derivative with respect to input 1'
    with pytest.raises(RuntimeError, match=expected):
        getattr(functional, name)(lambda x, y: F.sum(x**3) + F.sum(y), (X, Y), *v, strict=True)


# --- graphs of the results -------------------------------------------------------------------------------------
def call(name, func, x, **options):
    """The derivative of a scalar function of a 0-d Variable, as one number."""
    result = getattr(functional, name)(func, x, **options)
    return result[1] if isinstance(result, tuple) else result


@pytest.mark.parametrize('name', NAMES)
def test_results_are_constants_and_nothing_is_written(name):
    x, w = chainer.Variable(S.copy()), chainer.Variable(np.array(2.0))
    x.grad, before = np.array(7.0), x.array
    result = call(name, lambda x: w * x**3, x)
    assert result.creator is None and not result.requires_grad
    assert x.grad == 7 and w.grad is None and x.array is before and x.array == S
    assert x.creator is None


@pytest.mark.parametrize('name', NAMES)
def test_a_graph_leads_to_inputs_and_closed_over_variables(name):
    x, w = chainer.Variable(S.copy()), chainer.Variable(np.array(2.0))
    z = x * x
    result = call(name, lambda z: w * z**4, z, create_graph=True)
    gx, gw, gz = chainer.grad([result], [x, w, z], enable_double_backprop=True)
    order = 2 if name in ('vhp', 'hvp', 'hessian') else 1
    falling = [4 * S**6, 12 * S**4, 24 * S**2]
    np.testing.assert_allclose(result.array, 2 * falling[order - 1])
    np.testing.assert_allclose(gw.array, falling[order - 1])
    np.testing.assert_allclose(gz.array, 2 * falling[order])
    np.testing.assert_allclose(gx.array, 2 * falling[order] * 2 * S)
    assert x.grad is None and w.grad is None and z.grad is None


@pytest.mark.parametrize('name', WITH_VECTOR)
def test_a_graph_leads_to_the_vector(name):
    x, v = chainer.Variable(S.copy()), chainer.Variable(np.array(5.0))
    result = call(name, lambda x: x**3, x, v=v, create_graph=True)
    (gv,) = chainer.grad([result], [v])
    np.testing.assert_allclose(gv.array, 6 * S if name in ('vhp', 'hvp') else 3 * S**2)


def test_third_derivatives_through_the_hessian(m):
    x = m.variable(X)
    third = m.functional.jacobian(lambda x: m.functional.hessian(lambda x: m.sum(x**4), x, create_graph=True), x)
    expected = np.zeros((3, 3, 3))
    expected[range(3), range(3), range(3)] = 24 * X
    check(m, third, expected)


def test_a_hessian_is_the_jacobian_of_a_jacobian(m):
    def gradient(x):
        return m.functional.jacobian(lambda x: m.exp(m.sum(x * x)), x, create_graph=True)

    x = m.variable(X)
    check(m, m.functional.jacobian(gradient, x), m.numpy(m.functional.hessian(lambda x: m.exp(m.sum(x * x)), x)))


@pytest.mark.parametrize('name', NAMES)
def test_graphs_are_recorded_inside_no_backprop_mode(name):
    x = chainer.Variable(S.copy())
    with chainer.no_backprop_mode():
        result = call(name, lambda x: x**3, x, create_graph=True)
        assert not chainer.config.enable_backprop
    assert result.creator is not None and chainer.configuration.nondefault == 0
    assert chainer.grad([result], [x])[0].array == pytest.approx(6 if name in ('vhp', 'hvp', 'hessian') else 6 * S)


# --- dtypes, arrays, edges -------------------------------------------------------------------------------------
def test_derivatives_have_the_dtypes_of_what_they_belong_to(m):
    def func(x, y):
        return m.cast(x, 'float64') * y, x * 2

    inputs = m.variable(2.0, 'float32'), m.variable(3.0)
    rows = m.functional.jacobian(func, inputs)
    assert [[m.numpy(block).dtype for block in row] for row in rows] == [['float32', 'float64']] * 2
    _, tangents = m.functional.jvp(func, inputs, inputs)
    assert [m.numpy(tangent).dtype for tangent in tangents] == ['float64', 'float32']
    assert [float(m.numpy(tangent)) for tangent in tangents] == [12, 4]
    _, products = m.functional.vjp(func, inputs, inputs)
    assert [m.numpy(product).dtype for product in products] == ['float32', 'float64']
    assert [float(m.numpy(product)) for product in products] == [12, 4]


@pytest.mark.parametrize('name', ['vjp', 'jvp'])
@pytest.mark.parametrize('create_graph', [False, True])
def test_the_vector_takes_the_dtype_of_what_it_belongs_to(m, name, create_graph):
    x, v = m.variable(X, 'float32'), m.variable(Y)
    check(m, getattr(m.functional, name)(lambda x: x * 1, x, v, create_graph)[1], Y, 'float32')
    ours = getattr(functional, name)(lambda x: x, X.astype('float32'), Y, create_graph)[1]
    assert ours.dtype == 'float32'


def test_columns_have_the_dtype_of_the_output():
    x = np.array([1.0, 2.0], 'float32')
    block = functional.jacobian(lambda x: F.cast(x, 'float64'), x, vectorize=True, strategy='forward-mode')
    assert block.dtype == 'float64' and (block.array == np.eye(2)).all()


@pytest.mark.parametrize('name', NAMES)
def test_arrays_are_constants(name):
    seen = []

    def func(x):
        seen.append(x)
        return x**3

    result = call(name, func, S)
    assert isinstance(seen[0], chainer.Variable) and result.array == (
        9 if name in ('vhp', 'hvp', 'hessian') else 6.75
    )


@pytest.mark.parametrize('way', [way for way in WAYS if 'vectorize' not in way or 'strategy' in way], ids=str)
def test_empty_arrays_have_empty_jacobians(way):
    assert functional.jacobian(lambda x: x * x, np.zeros((0, 2)), **way).shape == (0, 2, 0, 2)
    assert functional.jacobian(lambda x: x[:0], X, **way).shape == (0, 3)


def test_an_infinite_slope_is_not_nan():
    with chainer.using_config('debug', True), np.errstate(divide='ignore'):
        assert functional.jvp(F.sqrt, np.array(0.0), np.array(1.0))[1].array == np.inf


def test_the_result_is_not_the_vector():
    v = np.ones(3)
    functional.vjp(lambda x: x, X, v)[1].array[...] = 5
    functional.jvp(lambda x: x, X, v)[1].array[...] = 5
    assert (v == 1).all()


def test_a_parameter_is_an_input_like_others():
    w = chainer.Parameter(np.array([1.0, 2.0]))
    w.cleargrad()
    assert (functional.jacobian(lambda w: w * w, w).array == np.diag([2.0, 4.0])).all() and w.grad is None


@pytest.mark.parametrize('name', NAMES)
def test_the_function_is_called_once(name):
    calls = []
    call(name, lambda x: calls.append(x) or x**3, S)
    assert len(calls) == 1


def test_errors_name_function_and_remedy():
    with pytest.raises(TypeError, match=r'^vjp: inputs must be a Variable or a tuple of them, got float at index 1$'):
        functional.vjp(F.add, (X, 3.0))
    with pytest.raises(RuntimeError, match=r'^jvp: v must have the shape of input 0, \(3,\) expected, got \(2,\)$'):
        functional.jvp(F.exp, X, np.ones(2))
    with pytest.raises(RuntimeError, match=r'^hessian: func must return one element, got shape'):
        functional.hessian(F.exp, X)
    with pytest.raises(ValueError, match=r"^jacobian: the strategy must be 'reverse-mode' or"):
        functional.jacobian(F.exp, X, strategy='sideways')
