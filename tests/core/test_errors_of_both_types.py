"""Errors that are of another type here than in Chainer 7.8.1 are of both: no old ``except`` misses them.

The types of the table are those that Chainer raises.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import Chain, ChainList, Parameter, Sequential, Variable, _misfits, errors
from minichainer.utils import argument, conv_nd
from minichainer.utils.type_check import InvalidType


def ones(*shape: int) -> Any:
    return np.ones(shape, np.float32)


def x3() -> Variable:
    return Variable(ones(2, 3, 4))


def with_gradient(*shape: int) -> Variable:
    return Variable(ones(*shape), grad=ones(*shape))


def one() -> Chain:
    return Chain(a=L.Linear(3, 2))


#: The types of NumPy's error for axes.
AXIS_ERROR = ValueError, IndexError
#: Calls, and the types of their errors in Chainer; here they are of another type besides, that of the family.
CALLS: dict[str, tuple[Callable[[], Any], Any, type[Exception]]] = {
    # Arguments that were removed; the family is TypeError.
    'Variable, volatile': (lambda: Variable(ones(3), volatile=True), ValueError, TypeError),  # type: ignore[arg-type]
    'StatefulZoneoutLSTM, train': (lambda: L.StatefulZoneoutLSTM(2, 2, train=True), ValueError, TypeError),
    # Axes; the family is InvalidType.
    'x.transpose, too few': (lambda: x3().transpose(0, 1), ValueError, InvalidType),
    'transpose, too few': (lambda: F.transpose(x3(), (0, 1)), ValueError, InvalidType),
    'transpose, repeated': (lambda: F.transpose(x3(), (0, 0, 1)), ValueError, InvalidType),
    'transpose, out of range': (lambda: F.transpose(x3(), (0, 1, 5)), AXIS_ERROR, InvalidType),
    'swapaxes': (lambda: F.swapaxes(x3(), 0, 5), AXIS_ERROR, InvalidType),
    'repeat': (lambda: F.repeat(x3(), 2, 5), AXIS_ERROR, InvalidType),
    'normalize': (lambda: F.normalize(x3(), axis=5), AXIS_ERROR, InvalidType),
    'average': (lambda: F.average(x3(), (0, 5), Variable(ones(2))), ValueError, InvalidType),
    'split_axis': (lambda: F.split_axis(x3(), 2, -9), IndexError, InvalidType),
    # Numbers of values, positions, indices.
    'as_tuple': (lambda: conv_nd.as_tuple((1, 2), 3), AssertionError, ValueError),
    'max_pooling_2d': (lambda: F.max_pooling_2d(ones(1, 1, 4, 4), (2,)), AssertionError, ValueError),
    'Sequential[7] = f': (lambda: Sequential(F.relu).__setitem__(7, F.relu), ValueError, IndexError),
    'x[Variable]': (lambda: x3()[Variable(np.array([1, 0]))], IndexError, TypeError),
    'x[Variable, 0]': (lambda: x3()[Variable(np.array(1)), 0], IndexError, TypeError),
    'scatter_add': (lambda: F.scatter_add(x3(), Variable(np.array(1)), ones(3, 4)), IndexError, TypeError),
    'DictSummary, short': (lambda: chainer.DictSummary().add({'a': (1.0,)}), IndexError, ValueError),
    # Links that differ.
    'copyparams, child of a Chain': (lambda: one().copyparams(Chain(b=L.Linear(3, 2))), KeyError, ValueError),
    'copyparams, no Chain': (lambda: one().copyparams(L.Linear(3, 2)), KeyError, ValueError),
    'copyparams, child of a list': (lambda: ChainList(one()).copyparams(ChainList()), IndexError, ValueError),
    'copyparams, parameter': (
        lambda: L.Linear(3, 2).copyparams(L.Linear(3, 2, nobias=True)), AttributeError, ValueError,
    ),
    'copyparams, no link': (lambda: one().copyparams(3), AttributeError, ValueError),  # type: ignore[arg-type]
    'addgrads, child of a Chain': (lambda: one().addgrads(Chain(b=L.Linear(3, 2))), KeyError, ValueError),
    'addgrads, child of a list': (lambda: ChainList(one()).addgrads(ChainList()), IndexError, ValueError),
    'addgrads, parameter': (
        lambda: L.Linear(3, 2).addgrads(L.Linear(3, 2, nobias=True)), AttributeError, ValueError,
    ),
    'addgrads, shape': (lambda: one().addgrads(Chain(a=L.Linear(4, 2))), InvalidType, ValueError),
    'addgrad, shape': (lambda: with_gradient(3).addgrad(with_gradient(4)), InvalidType, RuntimeError),
    'addgrad, dtype': (
        lambda: with_gradient(3).addgrad(Variable(np.ones(3), grad=np.ones(3))), InvalidType, TypeError,
    ),
    'backward of several': (lambda: F.exp(Variable(ones(3))).backward(), TypeError, RuntimeError),
}  # fmt: skip
#: Chainer's debug mode, other versions of NumPy, and torch have the others; their tests are beside what raises them.
FAMILIES = [
    value
    for module in (errors, _misfits)
    for value in vars(module).values()
    if isinstance(value, type) and issubclass(value, Exception) and len(value.__bases__) > 1
]


@pytest.mark.parametrize('name', CALLS)
def test_each_error_is_of_both_types(name: str) -> None:
    call, of_chainer, own = CALLS[name]
    with pytest.raises(own) as caught:
        call()
    kinds = of_chainer if isinstance(of_chainer, tuple) else (of_chainer,)
    assert all(isinstance(caught.value, kind) for kind in kinds), type(caught.value).__mro__


@pytest.mark.parametrize('name', CALLS)
def test_each_text_is_shown_as_it_is(name: str) -> None:
    """A KeyError shows the repr of its text."""
    with pytest.raises(Exception) as caught:  # noqa: PT011
        CALLS[name][0]()
    assert '\\n' not in str(caught.value) and str(caught.value)[0] not in '\'"'


@pytest.mark.parametrize('family', FAMILIES, ids=lambda family: family.__name__)
def test_errors_are_pickled_and_shown(family: Any) -> None:
    """Processes of iterators and updaters send them."""
    error = family('a', 'b', "one\n'two'") if family in (InvalidType, _misfits.AxesError) else family("one\n'two'")
    for other in (error, copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert type(other) is family and str(other) == "one\n'two'"


def test_a_misfit_of_links_names_what_is_missing() -> None:
    with pytest.raises(errors.UnlikeLinkError, match=r'(?s)Chain.copyparams.*nothing was changed.*/a/W: missing'):
        one().copyparams(Chain(b=L.Linear(3, 2)))


REMOVED = ['deterministic', 'finetune', 'test', 'train', 'use_cudnn', 'volatile']


@pytest.mark.parametrize('name', REMOVED)
@pytest.mark.parametrize(
    'call',
    [
        lambda **named: Variable(ones(3), **named), lambda **named: L.LSTM(3, 2, **named),
        lambda **named: L.StatefulZoneoutLSTM(3, 2, **named), lambda **named: argument.parse_kwargs(named),
    ],
    ids=['Variable', 'link', 'link with kwargs', 'helper'],
)  # fmt: skip
def test_a_removed_argument_is_named_with_the_remedy(name: str, call: Any) -> None:
    with pytest.raises(
        errors.RemovedArgumentError, match=f'{name} is not supported since Chainer v2: .*using_config'
    ):
        call(**{name: True})


@pytest.mark.parametrize(
    'call',
    [lambda **named: Variable(ones(3), **named), lambda **named: L.Linear(3, 2, **named)],
    ids=['Variable', 'link'],
)
def test_an_unknown_argument_is_a_type_error_alone(call: Any) -> None:
    with pytest.raises(TypeError) as caught:
        call(foo=1)
    assert not isinstance(caught.value, ValueError)


def test_gradients_that_fit_are_added() -> None:
    target = Parameter(ones(3))
    target.cleargrad()
    target.addgrad(with_gradient(3))
    target.addgrad(with_gradient(3))
    assert (target.grad == 2).all()
