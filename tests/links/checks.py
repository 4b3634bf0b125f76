"""The generic checks of a row; tests call them with the table's rows, and with links that are deliberately wrong."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
import re
import warnings
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

import minichainer as chainer
from minichainer import links, serializers
from minichainer.errors import GradientToleranceWarning
from minichainer.gradient_check import check_gradients
from tests.links.row import Kept, Normal, Row, Uniform, flat, matching, persistent_values, values_of

#: Links that are made to judge the distribution of first values.
DRAWS = 100


def _cast(row: Row, dtype: str) -> list[Any]:
    return [x.astype(dtype) if x.dtype.kind == 'f' else x for x in row.inputs]


def _arrays(outputs: list[Any]) -> list[np.ndarray]:
    return [y.array for y in outputs]


def _assert_equal(actual: list[Any], expected: list[Any], what: str) -> None:
    assert len(actual) == len(expected), what
    for a, e in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(a, e, err_msg=what)


def _assert_same_values(actual: Any, expected: Any, what: str) -> None:
    mine, theirs = values_of(actual), values_of(expected)
    assert mine.keys() == theirs.keys(), what
    for path, value in theirs.items():
        assert np.asarray(mine[path]).dtype == np.asarray(value).dtype, f'{what}: {path}'
        np.testing.assert_array_equal(mine[path], value, err_msg=f'{what}: {path}')


def _modes(row: Row) -> list[bool]:
    """The values of ``config.train`` for which the result is not drawn."""
    return [False] if row.random else [True, False]


def documentation(row: Row) -> None:
    """It says in a sentence what it is, gives a formula or refers to one, names its arguments, has an example."""
    text = inspect.getdoc(row.link)
    assert text and vars(row.link).get('__doc__'), 'there is no docstring'
    first = text.split('\n\n')[0]
    assert re.search(r'[.:]$', first), f'the first paragraph is not a sentence: {first!r}'
    others = [inspect.getdoc(getattr(links, name)) or '' for name in re.findall(r':class:`(\w+)`', text)]
    whole = '\n'.join([text, *others])
    assert re.search(r':math:|\.\. math::|:func:', whole), 'there is neither a formula nor a reference to one'
    for name in row.signature():
        assert re.search(rf'^    {name}: ', whole, re.MULTILINE), f'the argument {name} is not explained'
    assert re.search(r'^>>> .*' + row.link.__name__, text, re.MULTILINE), 'there is no example of it'


def forward(row: Row) -> None:
    """The outputs are those of the reference, with values that are not the first ones, in both modes."""
    for dtype, precision in (('f', row.precision), ('d', 1e-9)):
        for train in _modes(row):
            with chainer.using_config('dtype', np.dtype(dtype)):
                link = row.filled()
            values = {path: np.array(v, 'd') for path, v in values_of(link).items() if v is not None}
            outputs = row.outputs(link, _cast(row, dtype), train)
            function = row.reference if train or row.test is None else row.test
            expected = flat(function(values, *_cast(row, 'd')))
            assert len(outputs) == len(expected)
            for y, e in zip(outputs, expected, strict=True):
                assert isinstance(y, chainer.Variable) and y.shape == np.shape(e) and y.dtype == dtype
                if dtype == 'f' or row.typed:
                    np.testing.assert_allclose(y.array, e, rtol=precision, atol=precision, err_msg=f'train={train}')


def gradients(row: Row) -> None:
    """Gradients of inputs and of every parameter are those of finite differences, and none is zero."""
    _gradients(row, train=_modes(row)[0] and row.train_gradient)


def gradients_in_testing(row: Row) -> None:
    """So they are with ``config.train`` off."""
    if _modes(row)[0] and row.train_gradient:
        _gradients(row, train=False)


def _gradients(row: Row, train: bool) -> None:
    with chainer.using_config('dtype', np.dtype('d')):
        link = row.filled()
    with chainer.using_config('train', train):
        report = _checked_gradients(row, link, order=1)
        assert report, str(report)
        _assert_all_move(row, link)


def second_order(row: Row) -> None:
    """Second derivatives by inputs and parameters are those of finite differences."""
    with chainer.using_config('dtype', np.dtype('d')):
        link = row.filled()
    with chainer.using_config('train', not row.random and row.train_gradient):
        report = _checked_gradients(row, link, order=2)
        assert report, str(report)


def _checked_gradients(row: Row, link: Any, order: int) -> Any:
    with warnings.catch_warnings():
        if row.atol is not None:  # the row says why differences of this size are none
            warnings.simplefilter('ignore', GradientToleranceWarning)
        return check_gradients(
            lambda *xs: tuple(flat(row.call(link, *xs))), tuple(_cast(row, 'd')), params=tuple(link.params()),
            order=order, atol=row.atol, check_undefined_grad=row.atol is None, seed=0,
        )  # fmt: skip


def _assert_all_move(row: Row, link: Any) -> None:
    inputs = [chainer.Variable(x) if x.dtype.kind == 'f' else x for x in _cast(row, 'd')]
    link.cleargrads()
    outputs = row.outputs(link, inputs, chainer.config.train)
    rng = np.random.RandomState(3)
    for y in outputs:
        y.grad = rng.uniform(0.5, 1.5, y.shape)
    chainer.backward(outputs)
    leaves = [*link.namedparams(), *[(f'input {i}', x) for i, x in enumerate(inputs) if hasattr(x, 'grad')]]
    for name, leaf in leaves:
        assert leaf.grad is not None and np.any(leaf.grad), f'{name} has no influence on the result'


def serialization(row: Row, folder: Path) -> None:
    """What is saved and loaded has the values of the link and computes the same, also where sizes were open."""
    link = row.filled()
    row.outputs(link)  # moves statistics
    for suffix in ('npz', 'hdf5'):
        save, load = (getattr(serializers, f'{what}_{suffix}') for what in ('save', 'load'))
        file = folder / f'{row.link.__name__}.{suffix}'
        save(file, link)
        for made in [row.make()] + ([row.make(**row.lazy)] if row.lazy else []):
            load(file, made)
            _assert_same_values(made, link, suffix)
            for train in _modes(row):
                expected = _arrays(row.outputs(link.copy('copy'), train=train))
                _assert_equal(_arrays(row.outputs(made.copy('copy'), train=train)), expected, suffix)
    again = pickle.loads(pickle.dumps(link))
    _assert_same_values(again, link, 'pickle')


def _judge(expected: Any, arrays: list[Any], what: str) -> None:
    """Whether arrays drawn again and again are what is expected of first values."""
    if not isinstance(expected, (Normal, Uniform)):
        for array in arrays:
            np.testing.assert_array_equal(array, np.broadcast_to(expected, np.shape(array)), err_msg=what)
        return
    pool = np.concatenate([np.ravel(array) for array in arrays]).astype('d')
    spread = 5 / np.sqrt(pool.size)
    if isinstance(expected, Uniform):
        assert abs(pool).max() <= expected.bound, f'{what}: beyond {expected.bound}'
        shares = [(pool < place * expected.bound).mean() for place in (-0.5, 0, 0.5)]
        np.testing.assert_allclose(shares, [0.25, 0.5, 0.75], atol=spread / 2, err_msg=f'{what}: not uniform')
        return
    assert abs(pool.mean()) < spread * expected.std, f'{what}: mean {pool.mean()}'
    assert abs(pool.std() / expected.std - 1) < spread, f'{what}: std {pool.std()}, expected {expected.std}'
    assert abs((abs(pool) < expected.std).mean() - 0.6827) < spread / 2, f'{what}: not normal'


def initial_values(row: Row) -> None:
    """They are constants, or normal with the right deviation; also those of the lazy form."""
    for changes in [{}] + ([row.lazy] if row.lazy else []):
        drawn = []
        for _ in range(DRAWS):
            link = row.make(**changes)
            if changes:
                row.call(link, *row.inputs)
            drawn.append({path: param.array for path, param in link.namedparams()})
            if not changes:
                drawn[-1].update(persistent_values(link))
        for path in drawn[0]:
            _judge(matching(row.initial, path), [values[path] for values in drawn], f'{path} {changes}')
    paths = values_of(row.make())
    for pattern in row.initial:
        assert any(fnmatchcase(path, pattern) for path in paths), f'{pattern} matches nothing'


def given_values(row: Row) -> None:
    """Arguments that set first values do, and leave the others alone."""
    for changes, expected in row.given:
        for lazy in [{}] + ([row.lazy] if row.lazy else []):
            link = row.make(**{**lazy, **changes})
            if lazy:
                row.call(link, *row.inputs)
            for path, value in values_of(link).items():
                if lazy and path not in dict(link.namedparams()):
                    continue  # statistics have moved
                try:
                    first = matching(expected, path)
                except KeyError:
                    first = matching(row.initial, path)
                    if isinstance(first, (Normal, Uniform)):
                        assert np.unique(value).size > 1 or value.size == 1, f'{path} {changes} {lazy}'
                        continue
                np.testing.assert_array_equal(
                    value, np.broadcast_to(first, np.shape(value)), err_msg=f'{path} {changes} {lazy}'
                )


def arguments(row: Row) -> None:
    """Every argument that the row gives and that has a default makes a difference to something."""
    for name in row.args:
        parameter = inspect.signature(row.link).parameters.get(name)
        if parameter is not None and parameter.default is parameter.empty:
            continue
        others = {key: value for key, value in row.args.items() if key != name}
        other = dataclasses.replace(row, args={**others, 'dtype': 'd'} if name == 'dtype' else others)
        assert _difference(row, other), f'the argument {name} makes no difference'


def _difference(row: Row, other: Row) -> bool:
    """Whether two uses of a link have other parameters, results or statistics; also where the other one fails."""
    mine = _behaviour(row)
    try:
        theirs = _behaviour(other)
    except Exception:
        return True
    return len(mine) != len(theirs) or not all(
        a.shape == b.shape and a.dtype == b.dtype and np.array_equal(a, b) for a, b in zip(mine, theirs, strict=True)
    )


def _behaviour(row: Row) -> list[np.ndarray]:
    link = row.filled()
    np.random.seed(0)
    results = [np.asarray(y.array) for train in (True, False) for y in row.outputs(link, train=train)]
    return [*results, *[np.asarray(value) for _, value in sorted(values_of(link).items())]]


def dtypes(row: Row) -> None:
    """Parameters have the dtype of the settings, and so has the result for inputs of this dtype."""
    for dtype in 'efd':
        for changes in [{}] + ([row.lazy] if row.lazy else []):
            with chainer.using_config('dtype', np.dtype(dtype)):
                link = row.make(**changes)
                _assert_dtypes(row, link, dtype)
                outputs = row.outputs(link, _cast(row, dtype))
            _assert_dtypes(row, link, dtype)
            assert all(y.dtype == dtype for y in outputs), dtype


def _assert_dtypes(row: Row, link: Any, dtype: str) -> None:
    for path, value in values_of(link).items():
        if isinstance(value, np.ndarray):
            assert value.dtype == (dtype if row.typed else 'f'), f'{path}: {value.dtype}, the setting is {dtype}'


def lazy_form(row: Row) -> None:
    """With sizes taken from data it has the same parameters, and computes the same."""
    assert row.lazy is not None
    eager, lazy = row.filled(), row.make(**row.lazy)
    assert any(param.array is None for param in lazy.params()) or None in persistent_values(lazy).values()
    row.call(lazy, *row.inputs)
    shapes = {path: np.shape(value) for path, value in values_of(eager).items()}
    assert {path: np.shape(value) for path, value in values_of(lazy).items()} == shapes
    lazy.copyparams(eager)
    for train in _modes(row):
        expected = _arrays(row.outputs(eager.copy('copy'), train=train))
        _assert_equal(_arrays(row.outputs(lazy.copy('copy'), train=train)), expected, f'train={train}')


def modes(row: Row) -> None:
    """The result depends on ``config.train`` if the row says so."""
    ys, ts = (_arrays(row.outputs(row.filled(), train=train)) for train in (True, False))
    same = all(np.array_equal(y, t) for y, t in zip(ys, ts, strict=True))
    assert same == row.same_in_test, f'the results in training and in testing are {"equal" if same else "different"}'


def copies(row: Row) -> None:
    """A shared copy has the same arrays, a full one equal arrays of its own, an initialized one new first values."""
    link = row.filled()
    expected = _arrays(row.outputs(link.copy('copy'), train=False))
    for mode in ('share', 'copy', 'init'):
        clone = link.copy(mode)
        assert type(clone) is type(link) and clone is not link and clone.name is None
        params = dict(link.namedparams())
        assert dict(clone.namedparams()).keys() == params.keys()
        for path, param in clone.namedparams():
            assert param is not params[path] and param.name == params[path].name, f'{mode} {path}'
            assert (param.array is params[path].array) == (mode == 'share'), f'{mode} {path}'
            if mode == 'init':
                _judge_again(row, param.array, params[path].array, path)
        if mode != 'init':
            _assert_same_values(clone, link, mode)
            _assert_equal(_arrays(row.outputs(clone, train=False)), expected, mode)


def _judge_again(row: Row, array: Any, before: Any, path: str) -> None:
    first = matching(row.again or row.initial, path)
    assert array.shape == before.shape and array.dtype == before.dtype, path
    if isinstance(first, Kept):
        np.testing.assert_array_equal(array, before, err_msg=path)
    elif isinstance(first, (Normal, Uniform)):
        assert not np.any(array == before), f'{path} has its old values'
    else:
        np.testing.assert_array_equal(array, np.broadcast_to(first, array.shape), err_msg=path)


def devices(row: Row) -> None:
    """On the CPU a move to the CPU changes nothing."""
    link = row.filled()
    before = values_of(link)
    for moved in (link.from_chx(), link.to_device('@numpy')):
        assert moved is link and link.xp is np
        after = values_of(link)
        assert after.keys() == before.keys()
        for path, value in after.items():
            assert value is before[path], f'{path} was copied'


def text(row: Row) -> None:
    """``str(link)`` names the class, and its sizes or the links below it."""
    link = row.make()
    if any(True for _ in link.children()):
        assert str(link).startswith(f'{row.link.__name__}(\n')
        for path, child in link.namedlinks(skipself=True):
            if path.count('/') == 1:
                assert f'\n  ({path[1:]}): {type(child).__name__}(' in str(link), path
    else:
        assert str(link) == (row.prints or f'{row.link.__name__}()')


def repeating(row: Row) -> None:
    """A Sequential of copies, each of its own."""
    link = row.filled()
    for mode in ('init', 'copy', 'share'):
        repeated = link.repeat(2, mode)
        assert type(repeated) is chainer.Sequential and len(repeated) == 2
        first, second = repeated
        assert type(first) is type(second) is type(link) and len({id(first), id(second), id(link)}) == 3
        for mine, a, b in zip(link.params(), first.params(), second.params(), strict=True):
            assert len({id(mine), id(a), id(b)}) == 3 and mine.shape == a.shape == b.shape
            assert (a.array is b.array is mine.array) == (mode == 'share')
            if mode == 'copy':
                np.testing.assert_array_equal(a.array, mine.array)


#: Checks that take a row alone, by name.
CHECKS = {
    check.__name__: check
    for check in (
        documentation, forward, gradients, gradients_in_testing, second_order, initial_values, given_values,
        arguments, dtypes, modes, copies, devices, text, repeating,
    )
}  # fmt: skip
