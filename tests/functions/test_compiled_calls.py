"""Calls of ops through the compiled tape: the graph is that of the general form, and bodies run once."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer import _inplace
from minichainer._native import library
from minichainer.backprop import OutputNode
from minichainer.functions._define import primitive
from tests.functions.checks import outputs_of
from tests.functions.over_cases import over_cases
from tests.functions.row import Case, Row
from tests.functions.table import CASES

needs_tape = pytest.mark.skipif(library.tape is None, reason='the compiled tape was not built')
OVER_CASES = over_cases([(row, case) for _, row, case in CASES])


def contents(value: Any) -> Any:
    """What is saved, so that it can be compared: arrays by their bytes."""
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype, value.tobytes()
    if isinstance(value, (tuple, list)):
        return [contents(v) for v in value]
    return value if isinstance(value, (int, float, str, type(None))) else type(value)


def graph(ys: Any) -> list[Any]:
    """What nodes there are, and what each of them has."""
    found, waiting, seen = [], [y._node for y in outputs_of(ys) if y._node is not None], set()
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        own = contents(getattr(node, 'saved', ())), contents(getattr(node, 'static', ()))
        outputs = node.index if isinstance(node, OutputNode) else getattr(node, '_output_kinds', None)
        found.append((type(node), node.level, node.shape, node.dtype, len(node.edges or ()), outputs, *own))
        waiting += node.edges or ()
    return found


def called(row: Row, case: Case, dtype: str) -> Any:
    np.random.seed(0)
    arrays = row.draw(case, dtype)
    inputs = [chainer.Variable(a) if d.is_variable else a for a, d in zip(arrays, row.domains, strict=True)]
    return row.call(*inputs, **case.params)


@OVER_CASES
def test_the_graph_is_that_of_the_general_form(row: Row, case: Case) -> None:
    for dtype in row.dtypes:
        found = called(row, case, dtype)
        with chainer.using_config('check_inplace', 'error'):  # only Python code knows this setting
            expected = called(row, case, dtype)
        assert contents([y.array for y in outputs_of(found)]) == contents([y.array for y in outputs_of(expected)])
        if all([0 not in shape for shape in case.shapes]):  # else what is saved may never be written
            assert graph(found) == graph(expected)


# --- which calls are taken ------------------------------------------------------------------------------------------
def compiled_or_none(call: Any) -> Any:
    """The op of the last node of a call's graph, as the compiled tape calls it; None if it does not."""
    node = outputs_of(call())[0].creator
    spec = getattr(node, 'spec', None)
    cells = spec.op.function.__closure__ or () if spec else ()
    return next((cell.cell_contents for cell in cells if isinstance(cell.cell_contents, library.tape.Op)), None)


def compiled(call: Any) -> Any:
    """The same, if there is one."""
    op = compiled_or_none(call)
    assert op is not None
    return op


@pytest.fixture(autouse=True)
def _nothing_is_exposed() -> Iterator[None]:
    """Results of other tests that somebody has read and that still live would leave all calls to Python."""
    others = dict(_inplace.exposed)
    _inplace.exposed.clear()
    yield
    _inplace.exposed.update(others)


def new() -> Any:
    """A Variable whose array nobody has read, and might write to."""
    return chainer.Variable(np.linspace(-1, 2, 6, dtype='f').reshape(2, 3))


class Subclass(np.ndarray):
    """Arrays that ops must not take for plain ones."""


X, A = new(), new().array
ROW = chainer.Variable(np.ones(3, 'f'))
HALF = chainer.Variable(np.ones((2, 3), 'e'))
TAKEN = {
    'one array': (lambda: F.erfc(X), (X,), {}),
    'not contiguous': (lambda: F.erfc(X), (X.T,), {}),
    'values by place': (lambda: F.elu(X, 0.5), (X, 0.5), {}),
    'two arrays': (lambda: F.matmul(X, X, transb=True), (X, X.T, False, False), {}),
    'any number': (lambda: F.concat([X, X]), (X, X, X), {'axis': 1}),
    'a number as result': (lambda: F.sum(X), (X, None, False), {}),
    'several results': (lambda: F.separate(X)[0], (X, 1), {}),
    'several results of any number': (lambda: F.broadcast(X, ROW)[0], (X, ROW), {'shape': (2, 3)}),
}
LEFT = {
    'an array': (lambda: F.erfc(X), (A,), {}),
    'no array': (lambda: F.concat([X, X]), (), {'axis': 1}),
    'no value': (lambda: F.elu(X, 0.5), (X,), {}),
    'value by name': (lambda: F.elu(X, 0.5), (X,), {'alpha': 0.5}),
    'another name': (lambda: F.concat([X, X]), (X, X), {'axes': 1}),
    'no name': (lambda: F.concat([X, X]), (X, X), {}),
    'half precision': (lambda: F.erfc(X), (HALF,), {}),
    'two dtypes': (lambda: F.maximum(X, X), (X, chainer.Variable(A.astype('d'))), {}),
    'two shapes': (lambda: F.maximum(X, X), (X, ROW), {}),
    'one result of several': (lambda: F.split_axis(X, 2, 0)[0], (X, 1, 0), {}),
    'very many': (lambda: F.concat([X, X]), (X,) * 40, {'axis': 1}),
    'uninitialized': (lambda: F.erfc(X), (chainer.Parameter(),), {}),
    'a subclass': (lambda: F.erfc(X), (chainer.Variable(A.view(Subclass)),), {}),
    'needs no gradient': (lambda: F.erfc(X), (chainer.Variable(A, requires_grad=False),), {}),
}


@needs_tape
@pytest.mark.parametrize('name', TAKEN)
def test_calls_that_are_taken(name: str) -> None:
    call, args, named = TAKEN[name]
    results = compiled(call)(*args, **named)
    for result in outputs_of(results):
        assert type(result) is chainer.Variable and type(result._data) is np.ndarray
        assert result._node.level == 1 + max(x._node.level for x in args if isinstance(x, chainer.Variable))


@needs_tape
@pytest.mark.parametrize(
    'call',
    [
        lambda: F.softmax(X),
        lambda: F.softmax(X, axis=1),
        lambda: F.elu(X, alpha=0.5),
        lambda: F.matmul(X, X, transb=True),
        lambda: F.separate(X, axis=1),
    ],
)
def test_defaults_and_names_are_taken_too(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[Any] = []
    op = compiled(call)
    body = op.body
    monkeypatch.setattr(op, 'body', lambda *args: (runs.append(args), body(*args))[1])
    call()
    assert len(runs) == 1


@needs_tape
def test_the_places_of_several_results_are_those_of_the_twin() -> None:
    with chainer.using_config('check_inplace', 'error'):
        twins = F.separate(X)
    for i, ys in enumerate(zip(F.separate(X), twins, strict=True)):
        for y in ys:
            node = y.creator
            assert [getattr(y._node, name) for name in OutputNode.__slots__[:-1]] == [
                (node,), 1, i, (3,), np.dtype('f'), None, None, None, y._node.view, None, None
            ]  # fmt: skip
            assert node._output_nodes[i]() is y._node and node._owners[i]() is y
            assert (node.shape, node.dtype, node.output_count) == (None, None, 2)


@needs_tape
def test_several_results_live_as_long_as_they_are_used() -> None:
    first, second = F.separate(X)
    node = first.creator
    del second
    gc.collect()
    assert node._output_nodes[1]() is None and node._owners[1]() is None
    F.sum(first).backward()
    assert np.array_equal(X.grad, [[1, 1, 1], [0, 0, 0]])
    X.cleargrad()


@needs_tape
@pytest.mark.filterwarnings('ignore:the matrix subclass:PendingDeprecationWarning')
@pytest.mark.parametrize('name', LEFT)
def test_calls_that_are_left_to_python(name: str) -> None:
    call, args, named = LEFT[name]
    assert compiled(call)(*args, **named) is None


@needs_tape
def test_what_watches_ops_leaves_all_to_python() -> None:
    op = compiled(lambda: F.erfc(X))
    for setting in ('enable_backprop', 'debug'):
        with chainer.using_config(setting, setting == 'debug'):
            assert op(X) is None
    with chainer.function_hooks.TimerHook():
        assert op(X) is None


# --- the body -------------------------------------------------------------------------------------------------------
def op_with(body: Any, **options: Any) -> Any:
    """An op of the package's own, as the compiled tape calls it."""
    body.__module__ = 'minichainer.functions.a_test'
    function = primitive(rule=lambda m, gy: gy, **options)(body)
    return function, compiled(lambda: function(X))


@needs_tape
@pytest.mark.parametrize('error', [ValueError, KeyboardInterrupt, MemoryError])
def test_an_error_of_a_body_is_raised_and_the_body_runs_once(error: type[BaseException]) -> None:
    runs = []

    def body(xp: Any, x: Any) -> Any:
        runs.append(x)
        if len(runs) > 1:
            raise error('of the body')
        return x * 2

    function, _ = op_with(body)
    with pytest.raises(error, match='of the body'):
        function(X)
    assert len(runs) == 2


@needs_tape
@OVER_CASES
def test_what_bodies_return_need_not_be_computed_again(row: Row, case: Case) -> None:
    results: list[Any] = []

    def recorded(*args: Any, **named: Any) -> Any:
        results.append(body(*args, **named))
        return results[-1]

    op = compiled_or_none(lambda: called(row, case, row.dtypes[0]))
    if op is None or op.body is None:
        return
    body, op.body = op.body, recorded
    try:
        called(row, case, row.dtypes[0])
    finally:
        op.body = body
    for y in results:
        assert isinstance(y, (np.ndarray, np.generic)) or [type(array) for array in y] == [np.ndarray] * len(y)


@needs_tape
def test_a_result_that_is_no_array_is_left_to_python() -> None:
    results = [A, 'text', [1.0], A.view(type('Sub', (np.ndarray,), {}))]

    def body(xp: Any, x: Any) -> Any:
        return results[0]

    _, op = op_with(body)
    while len(results) > 1:
        assert type(op(X)) is chainer.Variable
        results.pop(0)
        assert op(X) is None
        results[0] = A


@needs_tape
def test_names_that_an_op_does_not_have_are_errors() -> None:
    def body(xp: Any, *xs: Any) -> Any:
        return xs[0] + xs[1]

    body.__module__ = 'minichainer.functions.a_test'
    function = primitive(rule=lambda m, gy: (gy, gy))(body)
    op = compiled(lambda: function(X, X))
    assert type(op(X, X)) is chainer.Variable
    assert op(X, X, scale=2) is None
    with pytest.raises(TypeError, match='scale'):
        function(X, X, scale=2)


@needs_tape
def test_a_number_becomes_an_array() -> None:
    _, op = op_with(lambda xp, x: x.sum(), name='Total')
    assert type(op(X)._data) is np.ndarray and op(X).shape == ()


@needs_tape
def test_ops_of_users_are_left_to_python() -> None:
    function = primitive(rule=lambda m, gy: gy)(lambda xp, x: x * 2)
    assert not [c for c in function.op.function.__closure__ or () if isinstance(c.cell_contents, library.tape.Op)]


def test_rules_are_looked_up_at_the_first_call() -> None:
    def body(xp: Any, x: Any) -> Any:
        return x * 2

    body.__module__ = 'minichainer.functions.a_test'
    function = primitive(rule=lambda m, gy: m.no_such_function(gy))(body)
    for _ in range(2):
        with pytest.raises(AttributeError, match='no_such_function'):
            function(X)


def test_a_modified_array_is_noticed() -> None:
    x = chainer.Variable(np.linspace(-1, 1, 4, dtype='f'))
    y = F.sum(F.erfc(x))
    x.array[0] = 3
    with pytest.warns(chainer.errors.InplaceWarning):
        y.backward()


@needs_tape
def test_calls_leave_nothing_behind() -> None:
    def steps() -> None:
        for y in (F.elu(X, 0.5), F.concat([X, X]), F.matmul(X, X, transb=True), *F.separate(X)):
            F.sum(y).backward()
        assert compiled(lambda: F.erfc(X))(A) is None

    steps()
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(20):
        steps()
    gc.collect()
    assert len(gc.get_objects()) - before < 20
