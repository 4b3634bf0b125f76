"""The table of links is complete, and each of its checks finds a link that is wrong in what it checks."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer.initializers.constant import Constant
from minichainer.initializers.normal import Normal
from minichainer.variable import Parameter
from tests.links import checks, table
from tests.links.row import Row, matching
from tests.links.table import ROWS
from tests.links.test_lazy import LAZY

NAMES = {row.link.__name__ for row in ROWS}


# --- completeness --------------------------------------------------------------------------------------------------
def _links() -> list[str]:
    return sorted(name for name in dir(L) if inspect.isclass(getattr(L, name)) and not name.startswith('_'))


def test_what_is_public_is_exported() -> None:
    assert _links() == sorted(L.__all__)


@pytest.mark.parametrize('name', _links())
def test_every_public_link_has_a_row_or_a_reason(name: str) -> None:
    assert (name in NAMES) != (name in table.EXEMPT), (
        f'tests/links/table.py and rows_more.py: add a Row for {name}, or a reason to EXEMPT'
    )


def test_rows_have_names_of_their_own() -> None:
    names = [str(row) for row in ROWS]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize('name', sorted(NAMES))
def test_every_argument_of_a_link_is_given_by_some_row(name: str) -> None:
    rows = [row for row in ROWS if row.link.__name__ == name]
    given = {argument for row in rows for argument in row.args}
    given |= {argument for row in rows for changes, _ in row.given for argument in changes}
    missing = set(rows[0].signature()) - given - {argument for link, argument in table.NOT_GIVEN if link == name}
    assert not missing, f'{name}: no row of the table gives {sorted(missing)}'


@pytest.mark.parametrize('row', ROWS, ids=str)
def test_every_parameter_has_first_values(row: Row) -> None:
    for path, _ in row.make().namedparams():
        matching(row.initial, path)  # KeyError: the row does not say how it begins


def test_every_link_that_can_take_sizes_from_data_has_a_lazy_row() -> None:
    assert {row.link.__name__ for row in ROWS if row.lazy} == {name.split()[0] for name in LAZY}


# --- links that are wrong -----------------------------------------------------------------------------------------
class Good(L.Linear):  # type: ignore[misc]
    r"""A link of the tests, :math:`y = x W^\top + b`.

    Args:
        in_size: number of inputs.
        out_size: number of outputs.
        nobias: without b.
        initialW: initializer of W.
        initial_bias: initializer of b.

    >>> Good(3, 2).W.shape
    (2, 3)
    """


def mutant(**members: Any) -> Any:
    """The link of the tests with other members."""
    return type('Good', (Good,), {'__doc__': Good.__doc__, '__module__': __name__, **members})


GOOD = dataclasses.replace(
    next(row for row in ROWS if row.link is L.Linear), link=Good, prints='Good(in_size=6, out_size=4, nobias=False)'
)


class Statistics(L.Linear):  # type: ignore[misc]
    """A link that adds what it has counted, and does not save the number."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.calls = 0

    def forward(self, x: Any) -> Any:
        if chainer.config.train:
            self.calls += 1
        return super().forward(x) + self.calls


def _forward(function: Callable[[Any, Any], Any]) -> dict[str, Any]:
    return {'forward': lambda self, x: function(self, x)}


def _with_init(function: Callable[..., Any]) -> dict[str, Any]:
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        L.Linear.__init__(self, *args, **kwargs)
        function(self, kwargs)

    return {'__init__': init, '__signature__': inspect.signature(L.Linear)}


def _set_W(initializer: Any) -> Callable[..., Any]:
    def change(self: Any, kwargs: Any) -> None:
        if self.in_size is not None and 'initialW' not in kwargs:
            with self.init_scope():
                self.W = Parameter(initializer, (4, self.in_size))

    return change


def _fixed_dtype(self: Any, kwargs: Any) -> None:
    if self.b is not None:
        with self.init_scope():
            self.b = Parameter(np.zeros(4, 'f'))


def _drawn(draw: Callable[[Any], Any]) -> Any:
    return lambda array: np.copyto(array, draw(array.shape))


def _sets_W_too(self: Any, kwargs: Any) -> None:
    if 'initial_bias' in kwargs and self.W.array is not None:
        self.W.array.fill(1)


def _ignores_bias(self: Any, kwargs: Any) -> None:
    if 'initial_bias' in kwargs:
        self.b.array[...] = 0


def _half_gradient(self: Any, x: Any) -> Any:
    y = L.Linear.forward(self, x)
    return y * 0.5 + y.array * np.asarray(0.5, y.dtype)


def _copies_when_moved(self: Any, visitor: Any) -> None:
    self.W.array = self.W.array.copy()


def _lazily_twice(self: Any, in_size: int) -> None:
    L.Linear._initialize_params(self, in_size)
    if self.in_size is None:
        self.W.array *= 2


def _repeated(self: Any, n: int, mode: str = 'init') -> Any:
    return chainer.Sequential(*[self] * n)


#: Which check finds it, what is wrong, and the members that make it wrong.
WRONG: list[tuple[str, str, dict[str, Any]]] = [
    ('documentation', 'no docstring', {'__doc__': None}),
    ('documentation', 'no example', {'__doc__': Good.__doc__.split('>>>')[0]}),
    ('documentation', 'no formula', {'__doc__': Good.__doc__.replace(':math:', '')}),
    ('documentation', 'an argument', {'__doc__': Good.__doc__.replace('nobias:', 'bias:')}),
    ('documentation', 'no sentence', {'__doc__': Good.__doc__.replace('b`.', 'b`')}),
    ('forward', 'a little more', _forward(lambda self, x: L.Linear.forward(self, x) * 1.001)),
    ('forward', 'another dtype', _forward(lambda self, x: F.cast(L.Linear.forward(self, x), 'd'))),
    ('forward', 'an array', _forward(lambda self, x: L.Linear.forward(self, x).array)),
    ('gradients', 'half', _forward(_half_gradient)),
    (
        'gradients_in_testing', 'half',
        _forward(lambda self, x: (L.Linear.forward if chainer.config.train else _half_gradient)(self, x)),
    ),
    ('second_order', 'half', _forward(_half_gradient)),
    ('gradients', 'W ignored', _forward(lambda self, x: F.linear(x, self.W.array, self.b))),
    ('gradients', 'b without influence', _forward(lambda self, x: F.linear(x, self.W, self.b * 0))),
    ('initial_values', 'too wide', _with_init(_set_W(Normal(0.8)))),
    ('initial_values', 'not around 0', _with_init(_set_W(_drawn(lambda shape: np.random.normal(0.2, 0.4, shape))))),
    ('initial_values', 'not normal', _with_init(_set_W(_drawn(lambda shape: np.random.uniform(-0.7, 0.7, shape))))),
    ('initial_values', 'no zeros', _with_init(lambda self, kwargs: self.b.array.fill(0.01))),
    ('initial_values', 'of the lazy form', {'_initialize_params': _lazily_twice}),
    ('given_values', 'ignored', _with_init(_ignores_bias)),
    ('given_values', 'of another parameter', _with_init(_sets_W_too)),
    ('dtypes', 'fixed', _with_init(_fixed_dtype)),
    ('modes', 'dropout', _forward(lambda self, x: F.dropout(L.Linear.forward(self, x)))),
    ('copies', 'always shared', {'copy': lambda self, mode='share': L.Linear.copy(self, 'share')}),
    ('copies', 'never shared', {'copy': lambda self, mode='share': L.Linear.copy(self, 'copy')}),
    ('copies', 'not initialized', {'copy': lambda self, mode: L.Linear.copy(self, mode.replace('init', 'copy'))}),
    ('devices', 'copies', {'device_resident_accept': _copies_when_moved}),
    ('text', 'nothing', {'printable_specs': ()}),
    ('repeating', 'the same', {'repeat': _repeated}),
    ('repeating', 'a list', {'repeat': lambda self, n, mode: chainer.ChainList(*L.Linear.repeat(self, n, mode))}),
]  # fmt: skip


@pytest.mark.parametrize('check', checks.CHECKS)
def test_a_good_link_passes(check: str) -> None:
    checks.CHECKS[check](GOOD)


@pytest.mark.parametrize(('check', 'what', 'members'), WRONG, ids=[f'{check}-{what}' for check, what, _ in WRONG])
def test_a_wrong_link_is_found(check: str, what: str, members: dict[str, Any]) -> None:
    row = dataclasses.replace(GOOD, link=mutant(**members))
    with pytest.raises(AssertionError):
        checks.CHECKS[check](row)


def test_every_check_has_a_wrong_link() -> None:
    assert {check for check, _, _ in WRONG} | {'arguments'} == set(checks.CHECKS)


def test_an_argument_that_is_ignored_is_found() -> None:
    def with_bias(self: Any, kwargs: Any) -> None:
        with self.init_scope():
            self.b = Parameter(0, self.out_size)

    row = dataclasses.replace(GOOD, args={**GOOD.args, 'nobias': True})
    checks.arguments(row)
    with pytest.raises(AssertionError, match='the argument nobias makes no difference'):
        checks.arguments(dataclasses.replace(row, link=mutant(**_with_init(with_bias))))


def test_a_value_that_is_not_saved_is_found(tmp_path: Path) -> None:
    checks.serialization(GOOD, tmp_path)
    with pytest.raises(AssertionError):
        checks.serialization(dataclasses.replace(GOOD, link=Statistics), tmp_path)


def test_a_lazy_form_with_another_shape_is_found() -> None:
    def initialize(self: Any, in_size: int) -> None:
        self.W.initialize((self.out_size, in_size if self.in_size else in_size + 1))

    checks.lazy_form(GOOD)
    broken = mutant(_initialize_params=initialize, forward=lambda self, x: self._prepare(x, 1))
    with pytest.raises(AssertionError):
        checks.lazy_form(dataclasses.replace(GOOD, link=broken))


def test_a_lazy_form_that_computes_something_else_is_found() -> None:
    broken = mutant(forward=lambda self, x: L.Linear.forward(self, x) * (1 if self.in_size else 2))
    with pytest.raises(AssertionError):
        checks.lazy_form(dataclasses.replace(GOOD, link=broken))


def test_an_initializer_that_is_an_object_is_used() -> None:
    assert set(L.Linear(2, 2, initialW=Constant(4)).W.array.ravel()) == {4}
