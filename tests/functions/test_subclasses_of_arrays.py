"""``numpy.matrix`` and masked arrays at every door: converted with a warning, refused with the remedy."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import dataset, datasets, iterators, serializers
from minichainer.errors import MatrixWarning
from tests.functions.over_cases import over_cases
from tests.functions.row import Case, Row
from tests.functions.table import CASES
from tests.functions.test_byte_order import DOORS, GRADIENTS, LINKS, X, array_of, flat

pytestmark = pytest.mark.filterwarnings('ignore:the matrix subclass:PendingDeprecationWarning')


def matrix(array: Any) -> Any:
    return array.view(np.matrix)


def unmasked(array: Any) -> Any:
    return np.ma.masked_array(array)


def masked(array: Any) -> Any:
    mask = np.zeros(array.shape, bool)
    mask.flat[0] = True
    return np.ma.masked_array(array, mask)


def is_plain(value: Any) -> bool:
    return type(array_of(value)) is np.ndarray


#: Rows that do something with an array before the function has it.
BY_THE_ROW = {
    **dict.fromkeys('n_step_rnn n_step_birnn n_step_lstm n_step_bilstm n_step_gru n_step_bigru'.split(), 'splits it'),
    'black_out': 'splits it', 'negative_sampling': 'splits it', 'zoneout': 'compares it',
    '__rpow__[array]': 'a power',
}  # fmt: skip


# --- functions ---
@pytest.mark.parametrize('kind', [matrix, unmasked, masked])
@over_cases((row, case) for _, row, case in CASES if str(row) not in BY_THE_ROW and row.name not in BY_THE_ROW)
def test_every_row(row: Row, case: Case, kind: Any) -> None:
    """Each array of a function in turn; what NumPy's own operators and methods would take, in a Variable."""
    name = str(row)
    in_variable = name.startswith('__') or name.endswith(('[method]', '[T]')) or name == 'argmax_crf1d'
    drawn = zip(row.draw(case, 'f'), row.domains, strict=True)
    arrays = [chainer.Variable(a) if in_variable and d.is_variable else a for a, d in drawn]
    np.random.seed(0)
    expected = list(flat(row.call(*arrays, **case.params)))
    for place, array in enumerate(arrays):
        array = array_of(array)
        if not isinstance(array, np.ndarray) or not array.size or (kind is matrix and array.ndim != 2):
            continue
        make = chainer.Variable if in_variable and row.domains[place].is_variable else lambda a: a
        np.random.seed(0)
        if kind is masked:
            with pytest.raises(TypeError, match=r'filled\(0\)'):
                row.call(*arrays[:place], make(kind(array)), *arrays[place + 1 :], **case.params)
            continue
        with warnings.catch_warnings():
            warnings.simplefilter('ignore', MatrixWarning)
            given = make(kind(array))
            found = list(flat(row.call(*arrays[:place], given, *arrays[place + 1 :], **case.params)))
        for y, z in zip(found, expected, strict=True):
            assert not isinstance(array_of(y), (np.matrix, np.ma.MaskedArray)), type(array_of(y))
            np.testing.assert_allclose(array_of(y), array_of(z), 1e-5, 1e-6)


# --- doors ---
#: Doors of the other test that are not for these, and why.
NOT_THESE = {
    'a subclass of ndarray': 'its own view', 'two arrays': "NumPy's product", 'cast': 'takes the dtype alone',
    'sparse': 'ravels it', 'autograd': "a constant of the user's own function",
}  # fmt: skip


@pytest.mark.parametrize('name', [name for name in DOORS if name not in NOT_THESE])
def test_doors(name: str) -> None:
    expected = DOORS[name](X.copy())
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', MatrixWarning)
        for kind in (matrix, unmasked):
            found = DOORS[name](kind(X.copy()))
            assert is_plain(found), kind
            np.testing.assert_array_equal(found.array, expected.array)
    with pytest.raises(TypeError, match=r'filled\(0\)'):
        DOORS[name](masked(X.copy()))


@pytest.mark.parametrize('name', GRADIENTS)
def test_gradients(name: str) -> None:
    for kind in (matrix, unmasked, masked):
        x, gy = chainer.Variable(X.copy()), kind(np.full_like(X, 3))
        if name == 'hook':
            continue
        if kind is masked:
            with pytest.raises(TypeError, match=r'filled\(0\)'):
                GRADIENTS[name](x, gy)
            continue
        with warnings.catch_warnings():
            warnings.simplefilter('ignore', MatrixWarning)
            GRADIENTS[name](x, gy)
        assert type(x.grad) is np.ndarray
        np.testing.assert_array_equal(x.grad, np.full_like(X, 3))


@pytest.mark.parametrize('make', LINKS)
def test_links(make: Callable[[], Any]) -> None:
    link = make()
    with pytest.warns(MatrixWarning):
        assert is_plain(link(matrix(X)))
    with pytest.raises(TypeError, match=r'filled\(0\)'):
        link(masked(X))


def test_the_warning_says_where_and_what_to_do() -> None:
    with pytest.warns(MatrixWarning, match=r'numpy.matrix of shape \(2, 3\).*numpy.asarray\(x\).*toarray') as found:
        chainer.Variable(matrix(X))
    assert found[0].filename == __file__


def test_the_error_says_how_many() -> None:
    with pytest.raises(TypeError, match=r'masked array of shape \(2, 3\) with 1 masked elements'):
        F.relu(masked(X))


# --- data ---
def test_examples() -> None:
    rows = [matrix(X), matrix(X)]
    with pytest.warns(MatrixWarning):
        batch = dataset.concat_examples(rows)
    assert type(batch) is np.ndarray and batch.shape == (2, 2, 3)
    with pytest.raises(TypeError, match=r'filled\(0\)'):
        dataset.concat_examples([(masked(X[0]), 1), (X[0], 0)])
    assert type(dataset.concat_examples([unmasked(X[0]), X[1]])) is np.ndarray


@pytest.mark.parametrize('make', [
    lambda a: datasets.TupleDataset(a, np.arange(2)), lambda a: datasets.DictDataset(a=a, b=np.arange(2)),
])  # fmt: skip
def test_datasets(make: Any) -> None:
    """The rows of a matrix are matrices of one row."""
    with pytest.warns(MatrixWarning):
        data = make(matrix(X))
    batch = dataset.concat_examples(next(iterators.SerialIterator(data, 2, shuffle=False)))
    np.testing.assert_array_equal(batch[0] if isinstance(batch, tuple) else batch['a'], X)
    with pytest.raises(TypeError, match=r'filled\(0\)'):
        make(masked(X))


def test_an_optimizer_is_given_plain_arrays(tmp_path: Any) -> None:
    model = L.Linear(3, 2)
    optimizer = chainer.optimizers.Adam().setup(model)
    with pytest.warns(MatrixWarning):
        model.W.grad = matrix(np.ones((2, 3), 'f'))
    model.b.grad = np.ones(2, 'f')
    optimizer.update()
    assert type(model.W.array) is type(model.W.update_rule.state['m']) is np.ndarray
    serializers.save_npz(tmp_path / 'm.npz', model)
    serializers.load_npz(tmp_path / 'm.npz', L.Linear(3, 2))


def test_other_subclasses_stay() -> None:
    array = X.view(np.memmap)
    assert chainer.Variable(array).array is array
