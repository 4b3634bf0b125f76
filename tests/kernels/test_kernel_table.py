"""Every public kernel is compared with a plain form: by a row of a table, or by a test that is named here.

Every body for the CPU computes in some case, and declines in another where it may. Generic bodies, which these hide,
are compared on their own.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import itertools
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg.lapack
import scipy.special

from minichainer import configuration
from minichainer.kernels import _lapack, _scipy, _windows, blocks
from minichainer.kernels._dispatch import DECLINED
from minichainer.kernels._dispatch import kernel as make_kernel
from tests.kernels import cpp, kernels, rows_elementwise
from tests.kernels.comparing import BY_VALUE, check, check_named, last_is_wrong, slightly_wrong, wide
from tests.kernels.drawing import Row, drawn, each
from tests.kernels.kernels import bodies, counted, declines, dispatched, generic_only, kernel, leaves, public
from tests.kernels.rows_arrays import ROWS

TESTS = Path(__file__).parents[1]
_BINS = 'kernels/test_roi.py::test_bins_of_pixels'
_POINTS = 'kernels/test_roi.py::test_interpolated_points'
_TILES = 'kernels/test_winograd.py::test_compiled_tiles_agree_with_the_definition'
_FEW_CHANNELS = 'kernels/test_convolution.py::test_images_with_few_channels'
_LAYERS = 'kernels/test_rnn.py::test_layers'
#: Kernels whose arguments or results are structures, and what is no kernel but serves them.
COMPARED_BY = {
    '_dispatch.kernel': 'kernels/test_dispatch.py::test_the_best_body_that_is_there_is_chosen',
    '_dispatch.kernels': 'kernels/test_kernel_table.py::test_every_kernel_is_found_in_the_source',
    '_lapack.in_fortran_order': 'kernels/test_kernel_table.py::test_matrices_for_lapack',
    '_lapack.routine': 'kernels/test_kernel_table.py::test_routines_are_those_of_lapack',
    '_lapack.suits': 'kernels/test_kernel_table.py::test_matrices_for_lapack',
    '_scipy.replaced': 'kernels/test_kernel_table.py::test_elements_of_a_result_of_scipy_are_replaced',
    '_scipy.special': 'kernels/test_kernel_table.py::test_special_functions_are_those_of_scipy',
    '_windows.empty_like_layout': 'kernels/test_kernel_table.py::test_an_array_like_another_lies_in_memory_so',
    'blocks.in_memory_order': 'kernels/test_kernel_table.py::test_axes_in_memory_order',
    'cross_entropy.valid_samples': 'kernels/test_device_code.py::test_valid_samples',
    'cross_entropy.scale_of_valid': 'kernels/test_device_code.py::test_valid_samples',
    'softmax.total_of_others': 'functions/test_edges.py::test_a_sum_without_the_largest_keeps_its_digits',
    'sampling.slack_of': 'functions/test_edges.py::test_places_within_rounding_of_a_pixel_are_on_it',
    'running.absorbing_running_product': 'kernels/test_along_axes.py::test_a_zero_absorbs_an_overflow',
    'running.absorbing_recurrence': 'kernels/test_along_axes.py::test_a_zero_absorbs_an_overflow',
    'cuda._table.declared': 'kernels/test_nvrtc.py::test_declared_kernels',
    'cuda.tracing.statements': 'kernels/test_device_code.py::test_statements_of_a_formula',
    'cuda.updates.limit': 'kernels/test_device_code.py::test_arguments_of_a_launch_fit',
    'cuda.updates.source_of': 'kernels/test_device_code.py::test_arguments_of_a_launch_fit',
    'cuda.updates.update': 'kernels/test_device_code.py::test_updates',
    'weighing.weighed': 'functions/test_weights_of_zero.py::test_an_element_reaches_what_changes_with_it',
    'conditions.somewhere': 'kernels/test_device_code.py::test_conditions_are_not_read_from_a_device',
    **dict.fromkeys(
        [f'cuda.updates.{n}' for n in ('arguments', 'computing', 'element', 'parameters', 'pointers', 'pointing')],
        'kernels/test_device_code.py::test_parts_of_the_source_of_an_update',
    ),
    'cuda.updates.steps_of': 'kernels/test_device_code.py::test_parts_of_the_source_of_an_update',
    'cuda.layerwise.limit': 'kernels/test_device_code.py::test_arguments_of_a_layerwise_launch_fit',
    'cuda.layerwise.directions_source': 'kernels/test_device_code.py::test_arguments_of_a_layerwise_launch_fit',
    'cuda.layerwise.steps_source': 'kernels/test_device_code.py::test_arguments_of_a_layerwise_launch_fit',
    'cuda.layerwise.update': 'kernels/test_device_code.py::test_layerwise_updates',
    'cuda.gradients.by_device': 'kernels/test_device_code.py::test_gradients_by_device',
    'cuda.gradients.clip': 'kernels/test_device_code.py::test_clip',
    'cuda.gradients.clip_on_devices': 'optimizers/test_waiting.py::test_clipping_on_two_devices',
    'dropout.dropout_factors': 'kernels/test_device_code.py::test_factors_of_dropout',
    'dropout.dropout': 'kernels/test_device_code.py::test_dropout_with_its_mask',
    'cuda.gradients.change': 'kernels/test_device_code.py::test_change',
    'cuda.gradients.scale_layers': 'kernels/test_device_code.py::test_layer_wise_rates',
    'cuda.gradients.add_noise': 'kernels/test_device_code.py::test_add_noise',
    'cuda.gradients.are_finite': 'kernels/test_device_code.py::test_are_finite',
    **dict.fromkeys(
        [f'cuda.gradients.{n}_source' for n in ('change', 'finite', 'layer_rates', 'layers', 'scale', 'squares')],
        'kernels/test_nvrtc.py::test_launches_of_many_arrays',
    ),
    **dict.fromkeys(
        [f'cuda.sequences.{n}_source' for n in ('place', 'divide')],
        'kernels/test_nvrtc.py::test_launches_of_many_arrays',
    ),
    'cuda.sequences.place': 'kernels/test_device_code.py::test_place_and_divide_in_a_launch',
    'cuda.sequences.divide': 'kernels/test_device_code.py::test_place_and_divide_in_a_launch',
    'affine.add_products': 'kernels/test_added_parts.py::test_products',
    'scattering.add_rows': 'kernels/test_added_parts.py::test_rows',
    'sequences.zeros_of': 'kernels/test_device_code.py::test_zeros',
    'cuda.pooling.numbers': 'kernels/test_device_code.py::test_windows_over_more_than_three_axes_have_no_kernel',
    'normalization.move': 'kernels/test_device_code.py::test_numbers_of_channels',
    'updates.compiled': 'kernels/test_updates.py::test_formulas_that_have_a_kernel',
    'updates.compiled_update': 'kernels/test_updates.py::test_equal_bits',
    'updates.add_scaled': 'kernels/test_updates.py::test_products_that_are_added',
    'updates.add_scaled_sign': 'kernels/test_updates.py::test_products_that_are_added',
    'rnn_steps.sigmoids_of_negated': 'kernels/test_device_code.py::test_sigmoids',
    'planes.applies': _FEW_CHANNELS,
    'planes.convolve': _FEW_CHANNELS,
    'tiles.convolve': _TILES,
    'tiles.filter_gradient': _TILES,
    'tiles.size_wanted': 'kernels/test_winograd.py::test_larger_tiles_have_to_be_asked_for',
    '_windows.numbers_of': 'kernels/test_pooling.py::test_numbers_for_compiled_kernels',
    'normalization.channels_of': 'kernels/test_normalization.py::test_laying_and_its_inverse',
    **dict.fromkeys(
        [f'huge_parts.{n}' for n in ('among', 'by_variance', 'itself', 'without')],
        'kernels/test_normalization.py::test_huge_parts_are_found_by_deviations_or_variances',
    ),
    'huge_parts.as_quiet_as_compiled': 'kernels/test_normalization.py::test_nothing_warns_of_overflow',
    'huge_parts.standardized': 'kernels/test_normalization.py::test_huge_parts_are_normalized',
    'huge_parts.moments': 'kernels/test_normalization.py::test_huge_parts_are_normalized',
    'huge_parts.into_range': 'kernels/test_normalization.py::test_huge_parts_are_brought_into_range',
    'rnn.spans_of': 'kernels/test_rnn.py::test_spans',
    'rnn.layer_forward': 'kernels/test_rnn.py::test_forward',
    'rnn.layer_backward': 'kernels/test_rnn.py::test_backward',
    'rnn.layers_forward': _LAYERS,
    'rnn.layers_backward': _LAYERS,
    'roi.pixel_bins': _BINS,
    'roi.bin_means': _BINS,
    'roi.places_of_bin_maxima': _BINS,
    'roi.sampled_points': _POINTS,
    'roi.point_means': _POINTS,
    'roi.places_of_point_maxima': _POINTS,
}
#: Modules whose kernels without a row are compared with 120 digits through all functions that call them.
COMPARED_THROUGH = dict.fromkeys(
    ('gamma_densities', 'incomplete', 'small_differences'), 'distributions/test_edges.py::test_values_and_slopes'
)
ALL_ROWS: dict[str, Any] = {**ROWS, **rows_elementwise.ROWS}
IN_ROWS = {name.partition(',')[0] for name in ALL_ROWS}
_DEVICE_BODIES = set(kernels.device_bodies())
ON_DEVICES = [name for name in ALL_ROWS if name.partition(',')[0] in _DEVICE_BODIES]
PLAIN_FORMS = [name for name in public() if name.endswith('_reference')]


# --- Nothing is left out. ---


def test_every_public_kernel_is_compared() -> None:
    expected = set(public()) - set(PLAIN_FORMS)
    through = {name for name in expected - IN_ROWS if name.partition('.')[0] in COMPARED_THROUGH}
    assert IN_ROWS | set(COMPARED_BY) | through == expected
    assert IN_ROWS & set(COMPARED_BY) == set()
    assert len(ALL_ROWS) == len(ROWS) + len(rows_elementwise.ROWS)


@pytest.mark.parametrize('name', COMPARED_BY)
def test_what_compares_it_is_there(name: str) -> None:
    file, _, test = COMPARED_BY[name].partition('::')
    text = (TESTS / file).read_text()
    assert test in {node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
    nodes = list(ast.walk(ast.parse(text)))
    names = {getattr(node, 'attr', getattr(node, 'id', None)) for node in nodes}
    assert name.rpartition('.')[2] in names


@pytest.mark.parametrize('module', COMPARED_THROUGH)
def test_what_compares_a_module_through_its_callers_is_there(module: str) -> None:
    file, _, test = COMPARED_THROUGH[module].partition('::')
    assert f'def {test}(' in (TESTS / file).read_text()
    callers = [path for path in (TESTS.parent / 'minichainer').rglob('*.py') if path.parent.name != 'kernels']
    pattern = re.compile(rf'kernels\.{module} import|kernels import .*\b{module}\b')
    assert any(pattern.search(path.read_text()) for path in callers)


@pytest.mark.parametrize('name', PLAIN_FORMS)
def test_every_plain_form_is_compared_with(name: str) -> None:
    function = name.rpartition('.')[2]
    assert any(f'.{function}(' in path.read_text() for path in TESTS.glob('kernels/*.py'))


def test_every_kernel_is_found_in_the_source() -> None:
    found = {name for name in dispatched() if not name.rpartition('.')[2].startswith('_')}
    assert found and found <= set(public())
    assert kernels.kernels()[0] in dispatched().values()


@pytest.mark.parametrize(
    'source', ['def sort(x):\n    return x\n', '@kernel(widens=True)\ndef sort(xp, x):\n    return x\n'],
    ids=['function', 'kernel'],
)  # fmt: skip
@pytest.mark.parametrize('file', ['sorting.py', 'cuda/sorting.py'])
def test_a_new_kernel_without_a_row_is_noticed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, file: str, source: str
) -> None:
    (tmp_path / 'cuda').mkdir()
    (tmp_path / file).write_text(source + '\n\ndef _swap(x):\n    return x\n')
    monkeypatch.setattr(kernels, 'FOLDER', tmp_path)
    assert public() == [f'{file.removesuffix(".py").replace("/", ".")}.sort']
    every = [*IN_ROWS, *COMPARED_BY, *public()]
    monkeypatch.setitem(globals(), 'public', lambda: every)
    with pytest.raises(AssertionError):
        test_every_public_kernel_is_compared()


# --- Each is its plain form. ---


@pytest.mark.parametrize('name', ROWS)
def test_is_the_plain_form(name: str, xp: Any) -> None:
    check_named(ROWS, name, xp)


@pytest.mark.parametrize('name', [name for name in ALL_ROWS if not ALL_ROWS[name].numpy_only])
def test_generic_bodies_are_the_plain_form(name: str) -> None:
    """They compute on a GPU; here they must be asked for."""
    row = ALL_ROWS[name]
    with generic_only():
        cases = [case._replace(layouts=('C',)) for case in row.cases()]
        check(_with_cases(row, cases), kernel(name.partition(',')[0]))


@pytest.mark.skipif(cpp.host().compiler() is None, reason='no C++ compiler')
@pytest.mark.parametrize('name', ON_DEVICES)
def test_device_code_is_the_plain_form(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    row = ALL_ROWS[name]
    with kernels.on_device_code(monkeypatch):
        check(row, kernel(name.partition(',')[0]))


def _with_cases(row: Any, cases: list[Any]) -> Any:
    found = copy.copy(row)
    found.cases = lambda: iter(cases)
    return found


# --- Each body computes and declines. ---


@pytest.fixture(scope='module')
def counts() -> dict[str, Counter[tuple[str, str, str]]]:
    """What bodies did in the rows of each kernel."""
    found: dict[str, Counter[tuple[str, str, str]]] = {}
    with counted() as counter, np.errstate(all='ignore'):
        for name, row in ALL_ROWS.items():
            counter.clear()
            own = kernel(name.partition(',')[0])
            for case in row.cases():
                row.call(own, *case.args)
                if 'large' in name:  # what compiled kernels always take over; the others are for small arrays too
                    with configuration.using_config('use_native_kernels', False):
                        row.call(own, *case.args)
            found.setdefault(name.partition(',')[0], Counter()).update(counter)
    return found


@pytest.mark.parametrize(('name', 'where'), bodies(), ids=lambda value: value)
def test_each_body_computes_and_declines(name: str, where: str, counts: Any) -> None:
    """A public one in the rows of its own kernel."""
    counter = sum(counts.values(), Counter()) if '._' in name else counts[name]
    assert counter[name, where, 'computed']
    assert bool(counter[name, where, 'declined']) == declines(name, where)


def test_what_bodies_do_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    op = make_kernel(lambda xp, x: x)
    op.on('numpy', declines=True)(lambda xp, x: DECLINED if x else -1)
    monkeypatch.setattr(kernels, 'dispatched', lambda: {'module.op': op})
    before = op.bodies['numpy']
    with counted() as counter:
        assert [op(np, x) for x in (0, 1, 2)] == [-1, 1, 2]
    assert counter == {('module.op', 'numpy', 'computed'): 1, ('module.op', 'numpy', 'declined'): 2}
    op(np, 3)
    assert sum(counter.values()) == 3 and op.bodies['numpy'] is before


# --- What serves kernels. ---


def test_elements_of_a_result_of_scipy_are_replaced() -> None:
    x = np.array([1.0, 2.0, 3.0])
    assert _scipy.replaced(np.zeros(3), x, x > 1, lambda v: v * 10).tolist() == [0, 20, 30]
    assert _scipy.replaced(np.float64(0), np.array(4.0), np.array(True), lambda v: v * 10) == 40


def test_special_functions_are_those_of_scipy() -> None:
    assert _scipy.special(np) is scipy.special


def test_routines_are_those_of_lapack() -> None:
    assert _lapack.routine('dpotrf') is scipy.linalg.lapack.dpotrf


def test_matrices_for_lapack() -> None:
    a = np.arange(16.0, dtype='f').reshape(1, 4, 2, 2)
    found = _lapack.in_fortran_order(a)
    np.testing.assert_array_equal(found, a[0])
    assert all(x.dtype == 'd' and x.flags.f_contiguous and not np.shares_memory(x, a) for x in found)
    assert [_lapack.suits(a, least) for least in (1, 2, 3)] == [True, True, False]
    others = (a[..., :1], a[:0], a[0, 0, 0], a.astype('e'), a.astype('g'), a.astype('F'), a.astype('i'))
    assert not any(_lapack.suits(x, 1) for x in others)


@pytest.mark.parametrize(
    ('name', 'singular', 'others'),
    [
        ('linalg.inverse', np.zeros((40, 40)), ()),
        ('linalg.inverse', np.stack([np.eye(40), np.ones((40, 40))]), ()),
        ('linalg.cholesky', np.diag([1.0, 2, -1]), ()),
        ('linalg.cholesky', np.ones((2, 3)), ()),
        ('triangular.solve_upper', np.diag(np.arange(12.0)), (np.ones((12, 2)),)),
    ],
)
def test_errors_are_those_of_numpy(name: str, singular: Any, others: Any) -> None:
    with pytest.raises(np.linalg.LinAlgError) as expected:
        kernels.named(name).generic(np, singular, *others)
    with pytest.raises(np.linalg.LinAlgError) as found:
        kernel(name)(singular, *others)
    assert (type(found.value), str(found.value)) == (type(expected.value), str(expected.value))


@pytest.mark.parametrize('order', [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_an_array_like_another_lies_in_memory_so(order: tuple[int, ...]) -> None:
    x = np.zeros((2, 3, 4), 'f').transpose(order)[::-1]
    found = _windows.empty_like_layout(np, x, (5, 6, 7))
    assert (found.shape, found.dtype) == ((5, 6, 7), x.dtype)
    assert np.argsort(found.strides).tolist() == np.argsort(np.abs(x.strides)).tolist()
    assert _windows.empty_like_layout(np, x, x.shape, np.dtype('B')).dtype == 'B'


def test_axes_in_memory_order() -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    for order in ((0, 1, 2), (2, 0, 1), (1, 2, 0)):
        found = blocks.in_memory_order(x.transpose(order))
        np.testing.assert_array_equal(found, x)
        assert np.shares_memory(found, x)


# --- The test fails where it should. ---


MUTANTS: dict[str, Callable[[Any], Any]] = {
    'the last element': last_is_wrong,
    'slightly': slightly_wrong,
    'in its dtype': wide,
    'in its shape': lambda y: y[None],
}


def _changed(change: Callable[[Any], Any], y: Any) -> Any:
    """A result that is wrong; None stays None."""
    if hasattr(y, 'dtype'):
        return change(np.array(y))
    if isinstance(y, np.dtype):
        return np.dtype('g')
    if isinstance(y, bool):
        return not y
    return {int: lambda: y + 1, slice: lambda: slice(y.start, y.stop, 7)}.get(type(y), lambda: y)()


# Shapes and dtypes are compared in the same line for all kernels.
@pytest.mark.parametrize(
    'mutant', [pytest.param(m, marks=[pytest.mark.slow] * m.startswith('in its')) for m in MUTANTS]
)
@pytest.mark.parametrize('name', ROWS)
def test_a_wrong_kernel_is_noticed(name: str, mutant: str) -> None:
    row, right = ROWS[name], kernel(name.partition(',')[0])
    with np.errstate(all='ignore'):
        count = max(len(leaves(row.call(right, *case.args))) for case in itertools.islice(row.cases(), 3))
    for which in range(count):
        changed: list[Any] = []

        def wrong(k: Any, *args: Any, which: int = which, changed: list[Any] = changed) -> Any:
            found = leaves(row.call(k, *args))
            if which < len(found) and found[which] is not None:
                changed.append(found[which])
                found[which] = _changed(MUTANTS[mutant], found[which])
            return found

        try:
            check(dataclasses.replace(row, call=wrong), right)
        except AssertionError:
            continue
        if BY_VALUE and mutant == 'in its dtype':  # dtypes of numbers are not compared there
            changed = [y for y in changed if np.ndim(y)]
        assert not changed, f'result {which} was made wrong, and the test did not see it'


def _over_its_argument(x: Any) -> Any:
    return np.negative(x, out=x)


WRONG: dict[str, Callable[[Any], Any]] = {
    'writes to its argument': _over_its_argument,
    'writes to its argument and returns a copy': lambda x: _over_its_argument(x).copy(),
    'returns a view': lambda x: x.T.T,
    'returns another order in memory': lambda x: np.asfortranarray(-x),
    'takes C order for granted': lambda x: -x.ravel('K').reshape(x.shape),
    'computes in float16': lambda x: (-x).astype('e').astype(x.dtype),
}


@pytest.mark.parametrize('wrong', WRONG)
def test_what_a_kernel_must_not_do_is_noticed(wrong: str) -> None:
    row = Row(each(lambda t: (drawn(t, (3, 4))[0],), ()), plain=np.negative, contiguous=True)
    if 'view' in wrong:
        row = dataclasses.replace(row, plain=np.copy, contiguous=False)
    check(row, lambda x: np.array(row.plain(x), order='C'))
    with pytest.raises(AssertionError):
        check(row, WRONG[wrong])
