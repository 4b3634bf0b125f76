"""Every public kernel is compared with a plain form: by a row of the tables, or by a test that is named here."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.kernels import rows_elementwise
from tests.kernels.kernels import kernel, public
from tests.kernels.rows_arrays import ROWS, Row

#: The same numbers, otherwise in memory.
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    'C': lambda x: x,
    'F': np.asfortranarray,
    'every second': lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    'backwards': lambda x: np.flip(np.flip(x).copy()),
}
TESTS = Path(__file__).parents[1]
_NORMALIZATION = 'kernels/test_normalization.py::test_moments_scaling_and_gradient'
_BINS = 'kernels/test_roi.py::test_bins_of_pixels'
_POINTS = 'kernels/test_roi.py::test_interpolated_points'
_ATTENTION = 'functions/test_attention.py::test_blocks_of_any_size_agree_with_the_plain_composition'
_CTC = 'kernels/test_ctc.py::test_equals_the_plain_composition'
#: Kernels whose arguments or results are structures, and what says when a kernel is used.
COMPARED_BY = {
    'attention.attend_gradients': _ATTENTION,
    'blocks.in_memory_order': 'kernels/test_elementwise.py::test_blocks_are_taken_and_keep_the_layout',
    'ctc.alignments': _CTC,
    'ctc.forward': _CTC,
    'ctc.gradient': _CTC,
    'depthwise.applies': 'kernels/test_convolution.py::test_filters_of_each_channel_alone',
    'error_functions.takes': 'kernels/test_elementwise.py::test_error_functions_are_for_large_arrays_of_float32',
    'gamma.takes': 'kernels/test_elementwise.py::test_trigamma_is_for_positive_numbers',
    'normalization.wide': 'functions/test_normalization.py',
    'normalization.channels_of': 'kernels/test_normalization.py::test_laying_and_its_inverse',
    'normalization.moments': _NORMALIZATION,
    'normalization.scale_channels': _NORMALIZATION,
    'normalization.sums_with': _NORMALIZATION,
    'normalization.combine_channels': _NORMALIZATION,
    'normalization.batch_norm_gradient': _NORMALIZATION,
    'rnn.spans_of': 'kernels/test_rnn.py::test_spans',
    'rnn.layer_forward': 'kernels/test_rnn.py::test_forward',
    'rnn.layer_backward': 'kernels/test_rnn.py::test_backward',
    'rnn.gated_sum': 'kernels/test_rnn.py::test_saturated_gates',
    'rnn.gated_sum_backward': 'kernels/test_rnn.py::test_saturated_gates',
    'roi.pixel_bins': _BINS,
    'roi.bin_means': _BINS,
    'roi.places_of_bin_maxima': _BINS,
    'roi.sampled_points': _POINTS,
    'roi.point_means': _POINTS,
    'roi.places_of_point_maxima': _POINTS,
    'running.by_rows': 'kernels/test_along_axes.py::test_long_lines_of_few_rows_are_left_to_numpy',
    'sample_normalization.normalize_rows': 'kernels/test_normalization.py::test_rows',
    'sample_normalization.rows_gradient': 'kernels/test_normalization.py::test_rows',
    'sample_normalization.normalize_groups': 'kernels/test_normalization.py::test_groups',
    'sample_normalization.groups_gradient': 'kernels/test_normalization.py::test_groups',
    'winograd.applies': 'kernels/test_winograd.py::test_it_is_used_where_it_is_faster',
}
IN_ROWS = {name.partition(',')[0] for name in (*ROWS, *rows_elementwise.ROWS)}


def arguments_of(row: Row) -> Iterator[tuple[str, str, tuple[Any, ...]]]:
    """Each case in each layout: a label, the dtype, the arguments."""
    for dtype in row.dtypes:
        for number, args in enumerate(row.cases(dtype)):
            for name in LAYOUTS if row.any_layout else ['C']:
                yield f'case {number}, {dtype}, {name}', dtype, tuple(_laid(a, name) for a in args)


def _laid(a: Any, layout: str) -> Any:
    if not isinstance(a, np.ndarray):
        return a
    a = LAYOUTS[layout](a) if a.ndim > 1 else a.view()
    a.flags.writeable = False
    return a


def _wide(a: Any) -> Any:
    if isinstance(a, np.ndarray) and a.dtype.kind == 'f':
        return a.astype('d')
    return type(a)(*map(_wide, a)) if hasattr(a, '_fields') else a


def check(row: Row, function: Callable[..., Any]) -> None:
    expected, seen = None, None
    for label, dtype, args in arguments_of(row):
        found = row.part(function(*args))
        case = label.rpartition(',')[0]
        if case != seen:
            seen, expected = case, np.asarray(row.plain(*map(_wide, args)))
        assert (found.shape, found.dtype) == (expected.shape, np.dtype(row.dtype or dtype)), label
        assert not any(np.shares_memory(found, a) for a in args if isinstance(a, np.ndarray)), label
        eps = row.tolerance * np.finfo(dtype).eps
        atol = eps * abs(expected[np.isfinite(expected)]).max(initial=0)
        np.testing.assert_allclose(found, expected, rtol=eps, atol=atol, err_msg=label)


def test_every_public_kernel_is_compared() -> None:
    kernels = {name for name in public() if not name.endswith('_reference')}
    assert IN_ROWS | set(COMPARED_BY) == kernels
    assert IN_ROWS & set(COMPARED_BY) == set()


@pytest.mark.parametrize('name', COMPARED_BY)
def test_what_compares_it_is_there(name: str) -> None:
    file, _, test = COMPARED_BY[name].partition('::')
    tree = ast.parse((TESTS / file).read_text())
    assert not test or test in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize('reference', [name for name in public() if name.endswith('_reference')])
def test_every_plain_form_is_compared_with(reference: str) -> None:
    function = reference.partition('.')[2]
    assert any(function in path.read_text() for path in TESTS.glob('kernels/*.py'))


@pytest.mark.parametrize('name', ROWS)
def test_is_the_plain_form(name: str) -> None:
    check(ROWS[name], kernel(name.partition(',')[0]))


# --- The test fails where it should. ---


def _last_is_wrong(y: Any) -> Any:
    y = y.copy()
    if y.size:
        y.reshape(-1)[-1] += 1
    return y


def _scaled(y: Any) -> Any:
    return y + y.dtype.type(1) if y.dtype.kind != 'f' else y * y.dtype.type(1.01)


MUTANTS: dict[str, Callable[[Any], Any]] = {
    'the last element': _last_is_wrong,
    'slightly': _scaled,
    'in its dtype': lambda y: y.astype('g'),
    'in its shape': lambda y: y[None],
}


@pytest.mark.parametrize('mutant', MUTANTS)
@pytest.mark.parametrize('name', ROWS)
def test_a_wrong_kernel_is_noticed(name: str, mutant: str) -> None:
    row, right = ROWS[name], kernel(name.partition(',')[0])

    def wrong(*args: Any) -> Any:
        found = right(*args)
        return (MUTANTS[mutant](found[0]), *found[1:]) if isinstance(found, tuple) else MUTANTS[mutant](found)

    with pytest.raises(AssertionError):
        check(row, wrong)


def test_a_new_kernel_without_a_row_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / 'sorting.py').write_text('def sort(x):\n    return x\n\n\ndef _swap(x):\n    return x\n')
    monkeypatch.setattr('tests.kernels.kernels.FOLDER', tmp_path)
    assert public() == ['sorting.sort']
