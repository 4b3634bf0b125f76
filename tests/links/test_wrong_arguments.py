"""Constructors of links refuse wrong arguments, by an error that names the link and the argument."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minichainer.links as L
from minichainer.initializers.constant import Constant
from minichainer.links._arguments import InitialShapeError
from tests.completeness import assert_complete
from tests.links.row import Row
from tests.links.table import EXEMPT, ROWS

#: Values that are given to each argument of each link.
PROBES: dict[str, Any] = {
    'negative int': -1,
    'negative float': -0.5,
    'zero': 0,
    'float': 1.5,
    'infinity': -np.inf,
    'NaN': np.nan,
    'None': None,
    'string': 'x',
    'empty list': [],
    'list of a string': ['x'],
    'long tuple': (1,) * 9,
    'dict': {},
    'class': Constant,
    'object': object(),
    'function': lambda array: array.fill(1),
    'array of another shape': np.ones((5, 7, 11), 'f'),
    'array of strings': np.array(['x']),
    'complex number': 1j,
}
NUMBERS = {'negative int', 'negative float', 'zero', 'float', 'infinity', 'NaN'}
#: What kind of argument takes which of the probes.
TAKES: dict[str, set[str]] = {
    'size': {'zero'},
    'size or None': {'zero', 'None'},
    'positive': set(),
    'positive or None': {'None'},
    'shape': {'zero', 'empty list', 'long tuple'},
    'shape or None': {'zero', 'empty list', 'long tuple', 'None'},
    'sizes along axes': set(),
    'sizes along axes or None': {'None'},
    'pad': {'zero'},
    'outsize': {'None'},
    'flag': {'negative int', 'zero'},
    'initializer': {*NUMBERS, 'None', 'function'},
    'initializer of an activation': {*NUMBERS, 'function'},
    'three initializers': {'None'},
    'function': {'function'},
    'function or None': {'function', 'None'},
    'number': {'negative int', 'negative float', 'zero', 'float'},
    'not negative': {'zero', 'float'},
    'part': {'zero'},
    'dtype': {'None'},
    'int': {'negative int', 'zero'},
    'int or None': {'negative int', 'zero', 'None'},
    'axes': {'negative int', 'zero', 'None'},
    'label key': {'negative int', 'zero', 'string'},
    'channels': {'long tuple'},
    'counts': {'long tuple'},
    'tree': {'zero'},
    'pooltype': set(),
    'array': {'array of another shape'},
}
#: The kinds of arguments by name; that of one link under its name and the argument's.
KINDS: dict[str, list[str]] = {
    'size': """
        out_size out_channels left_size right_size n_inputs n_units in_out_size proj3 out3 proj5 out5 proj33 out33
        proj_pool n_label sample_size channel_multiplier size out1 EmbedID.in_size
        StatefulMGU.in_size NegativeSampling.in_size BlackOut.in_size BinaryHierarchicalSoftmax.in_size
    """.split(),
    'size or None': """
        in_size in_channels hidden_size key_size value_size LayerNormalization.size GroupNormalization.size
        RMSNormalization.size InstanceNormalization.size InceptionBN.proj_pool Linear.out_size
    """.split(),
    'positive or None': ['LSTM.out_size', 'StatelessLSTM.out_size'],
    'positive': ['groups', 'n_layers', 'ndim', 'pool_size', 'n_heads', 'n_ary', 'InceptionBN.stride'],
    'shape': ['BatchNormalization.size', 'BatchRenormalization.size'],
    'shape or None': ['shape', 'W_shape', 'bias_shape', 'beta_shape'],
    'sizes along axes': ['ksize', 'stride', 'dilate'],
    'sizes along axes or None': """
        LocalConvolution2D.in_size Convolution1D.ksize Convolution2D.ksize Convolution3D.ksize ConvolutionND.ksize
        Deconvolution1D.ksize Deconvolution2D.ksize Deconvolution3D.ksize DeconvolutionND.ksize
        DilatedConvolution2D.ksize
    """.split(),
    'pad': ['pad'],
    'outsize': ['outsize'],
    'flag': """
        nobias use_gamma use_beta cover_all bias_term offset_nobias deform_nobias norm_first
    """.split(),
    'initializer': """
        initialW initial_bias init inner_init bias_init lateral_init upward_init forget_bias_init init_Wh
        init_Wt init_bh init_bt initial_gamma initial_beta initial_avg_mean initial_avg_var offset_initialW
        offset_initial_bias deform_initialW deform_initial_bias initial_cost conv_init
    """.split(),
    'initializer of an activation': ['beta_init', 'PReLU.init'],
    'three initializers': ['Bilinear.initial_bias'],
    'function': ['activate', 'activation', 'predictor', 'lossfun'],
    'function or None': ['accfun'],
    'number': ['power'],
    'not negative': ['eps', 'rmax', 'dmax'],
    'part': ['ratio', 'dropout', 'c_ratio', 'h_ratio', 'decay'],
    'dtype': ['dtype'],
    'int': ['axis'],
    'int or None': ['ignore_label'],
    'axes': ['BatchNormalization.axis'],
    'label key': ['label_key'],
    'channels': ['MLPConvolution2D.out_channels'],
    'counts': ['counts'],
    'tree': ['tree'],
    'pooltype': ['pooltype'],
    'array': ['array'],
}
KIND = {name: kind for kind, names in KINDS.items() for name in names}
#: Arguments that are not in the signatures.
BY_NAME = {
    'Convolution2D': ['dilate', 'groups'],
    'Deconvolution2D': ['dilate', 'groups'],
    'MLPConvolution2D': ['conv_init', 'bias_init'],
}
FIRST = {row.link.__name__: row for row in reversed(ROWS)}
ERRORS = (TypeError, ValueError, AssertionError, RuntimeError, NotImplementedError)


def _arguments(row: Row) -> list[str]:
    return [name for name in row.signature() + BY_NAME.get(row.link.__name__, []) if name != 'kwargs']


def _kind(row: Row, name: str) -> str:
    own = f'{row.link.__name__}.{name}'
    assert own in KIND or name in KIND, f'tests/links/test_wrong_arguments.py: KINDS has no {name}: add it, or {own}'
    return KIND.get(own) or KIND[name]


def _cases() -> Iterator[Any]:
    for name, row in sorted(FIRST.items()):
        for argument in _arguments(row):
            yield pytest.param(row, argument, id=f'{name}-{argument}')


def test_the_table_has_all_links() -> None:
    assert_complete(
        [*FIRST, *EXEMPT], L.__all__, 'tests/links/table.py and rows_more.py: ROWS', 'a Row, or a reason to EXEMPT'
    )


@pytest.mark.parametrize(('row', 'argument'), list(_cases()))
def test_wrong_values_are_refused(row: Row, argument: str) -> None:
    takes, link = TAKES[_kind(row, argument)], row.link.__name__
    for name, value in PROBES.items():
        refusal = _refusal(row, argument, value)
        if refusal is None:
            assert name in takes, f'{name}: {link}({argument}={value!r}) was not refused'
        else:
            assert link in refusal and re.search(rf'\b{argument}\b', refusal), f'{name}: {refusal}'


def _refusal(row: Row, argument: str, value: Any) -> str | None:
    """The error for a value of an argument; None if the link is made."""
    try:
        row.make(**{argument: value})
    except ERRORS as error:
        return f'{type(error).__name__}: {error}'
    return None


def test_what_a_kind_takes_is_taken_by_some_link() -> None:
    """Otherwise the table would excuse what is refused everywhere."""
    taken: dict[str, set[str]] = {kind: set() for kind in TAKES}
    for case in _cases():
        row, argument = case.values
        for name in TAKES[_kind(row, argument)]:
            if _refusal(row, argument, PROBES[name]) is None:
                taken[_kind(row, argument)].add(name)
    assert taken == TAKES


def test_every_kind_belongs_to_an_argument() -> None:
    names = {argument for row in FIRST.values() for argument in _arguments(row)}
    names |= {f'{link}.{argument}' for link, row in FIRST.items() for argument in _arguments(row)}
    assert set(KIND) - names == set()


@pytest.mark.parametrize(
    ('make', 'error', 'words'),
    [
        (
            lambda: L.Linear(3, 2, initialW=np.ones((5, 5))),
            ValueError,
            r'initialW .* shape \(2, 3\), got .* \(5, 5\)',
        ),
        (lambda: L.Linear(None, 2, initialW=np.ones((5, 5))), ValueError, r'shape \(2, \?\), got .* \(5, 5\)'),
        (lambda: L.Linear(3, 2, initialW=Constant), TypeError, r'Linear: .*not a class; write Constant\(\.\.\.\)'),
        (lambda: L.Linear(None), TypeError, 'Linear: int expected as out_size, got None'),
        (lambda: L.LSTM(None), TypeError, 'LSTM: int expected as out_size, got None'),
        (lambda: L.StatefulMGU(None, 3), TypeError, 'StatefulMGU: int expected as in_size, got None'),
        (lambda: L.Classifier(L.Linear), TypeError, r'Classifier: .*not a class; write Linear\(\.\.\.\)'),
        (lambda: L.Bilinear(2, 3, 4, initialW=np.ones((2, 3, 1))), AssertionError, 'Bilinear: initialW must'),
        (lambda: L.Bilinear(2, 3, 4, initial_bias=(None, None, np.ones(3))), AssertionError, r'initial_bias\[2\]'),
        (lambda: L.Scale(bias_term=True), ValueError, 'Scale: .* bias_shape, got None'),
        (lambda: L.InceptionBN(1, 1, 1, 1, 1, 1, 'max', 1, 2), AssertionError, 'out1 must be 0'),
        (lambda: L.InceptionBN(1, 1, 1, 1, 1, 1, 'min', 1), NotImplementedError, "pooltype .* got 'min'"),
        (lambda: L.LocalConvolution2D(1, 2, 3, 4), ValueError, 'at least ksize = 4 expected as in_size, got 3'),
        (lambda: L.LocalConvolution2D(1, 2, 3, 2, foo=1), TypeError, 'foo'),
        (lambda: L.MLPConvolution2D(1, (), 2), ValueError, 'out_channels'),
        (lambda: L.MLPConvolution2D(1, (2,), 2, wscale=1), ValueError, 'wscale is not supported anymore'),
        (lambda: L.MLPConvolution2D(1, (2,), 2, 1, 0, np.copyto, 1), TypeError, 'wscale is not supported anymore'),
        (lambda: L.Maxout(3, 2, 2, initialW=np.ones((4, 3))), ValueError, r'\(2, 2, 3\), got .* \(4, 3\)'),
        (lambda: L.BinaryHierarchicalSoftmax(2, ((0, 0), 1)), ValueError, 'different labels'),
        (lambda: L.BinaryHierarchicalSoftmax(2, (0, 1, 2)), ValueError, 'two child nodes'),
        (lambda: L.BinaryHierarchicalSoftmax(2, (0, 1.5)), TypeError, 'nested pairs of ints'),
        (lambda: L.NegativeSampling(2, [1, -1], 1), ValueError, 'counts'),
        (lambda: L.MultiHeadAttention(4, 3), ValueError, 'a divisor of size = 4 expected as n_heads, got 3'),
    ],
)
def test_errors(make: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()


def test_an_array_of_a_wrong_shape_is_both_errors_of_chainer() -> None:
    assert issubclass(InitialShapeError, ValueError) and issubclass(InitialShapeError, AssertionError)


def test_arrays_that_broadcast_are_taken() -> None:
    np.testing.assert_array_equal(L.Linear(3, 2, initialW=np.arange(3)).W.array, [[0, 1, 2]] * 2)
    np.testing.assert_array_equal(L.Linear(3, 2, initialW=np.ones((1, 1, 2, 1))).W.array, np.ones((2, 3)))
    lazy = L.Linear(None, 2, initialW=np.arange(6).reshape(2, 3))
    assert lazy(np.ones((1, 3), 'f')).shape == (1, 2)


def test_a_link_that_is_refused_has_no_parameters_yet() -> None:
    """Checks come before anything is made."""
    made: list[Any] = []

    class Watched(L.Linear):  # type: ignore[misc]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            made.append(self)
            super().__init__(*args, **kwargs)

    with pytest.raises(TypeError, match='Watched: '):
        Watched(3, 2, initial_bias='x')
    assert vars(made[0]) == {}


# --- calls that do not fit the signature ---------------------------------------------------------------------------
def _misspelt(argument: str) -> str:
    return f'{argument[:-1]}{"y" if argument[-1] == "x" else "x"}'


@pytest.mark.parametrize('row', [row for _, row in sorted(FIRST.items())], ids=sorted(FIRST))
def test_calls_that_do_not_fit_the_signature_are_explained(row: Row) -> None:
    """Unknown names (with the nearest one), names of other frameworks, too many arguments, repeated ones."""
    link = row.link.__name__
    arguments = _arguments(row)
    for argument in arguments:
        wrong = _misspelt(argument)
        refusal = _refusal(row, wrong, 1) or ''
        assert link in refusal and wrong in refusal, refusal
        if len(argument) > 3:
            assert 'did you mean' in refusal, refusal
    for wrong, meant in (('kernel_size', 'ksize'), ('padding', 'pad'), ('bias', 'nobias'), ('qqq', '')):
        refusal = _refusal(row, wrong, 1) or ''
        assert link in refusal and wrong in refusal, refusal
        assert not meant or meant not in arguments or f'did you mean {meant!r}' in refusal, refusal
    with pytest.raises(TypeError, match=r'positional arguments|wscale'):
        row.link(*range(30))


@pytest.mark.parametrize(
    ('call', 'words'),
    [
        (lambda: L.Linear(3, in_size=3), r"Linear: got multiple values for argument 'in_size'; expected Linear\(in"),
        (lambda: L.EmbedID(3), r"EmbedID: missing 'out_size'; expected EmbedID\(in_size, out_size"),
        (lambda: L.NStepLSTM(1, dropout=0.5), r"NStepLSTM: missing 'in_size', 'out_size'; expected NStepLSTM\("),
        (lambda: L.Linear(3, 2, hidden_size=3), "'hidden_size': did you mean 'out_size'"),
        (lambda: L.Linear(3, 2, use_bias=True), "did you mean 'nobias', which is the opposite"),
    ],
)
def test_what_calls_say(call: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        call()


def test_users_classes_are_called_as_before() -> None:
    class Model(L.Linear):  # type: ignore[misc]
        def __init__(self, *sizes: int, **options: Any) -> None:
            super().__init__(*sizes, **options)

    class Plain(L.Linear):  # type: ignore[misc]
        pass

    assert Model(3, 2, nobias=True).b is None and Plain(3, 2).out_size == 2
    with pytest.raises(TypeError, match="unexpected keyword argument 'size'"):
        Model(3, 2, size=3)
    with pytest.raises(TypeError, match=r'Plain: .*expected Plain\(in_size'):
        Plain(3, 2, size=3)


def test_signatures_are_those_of_constructors() -> None:
    class Own(L.Linear):
        def __init__(self, units: int, scale: float = 1.0) -> None:
            super().__init__(units)

    assert list(inspect.signature(Own).parameters) == ['units', 'scale']
    assert list(inspect.signature(L.LSTM).parameters)[:2] == ['in_size', 'out_size']
    assert list(inspect.signature(Own(3)).parameters) == ['args', 'kwargs'], 'of the call of an instance'
