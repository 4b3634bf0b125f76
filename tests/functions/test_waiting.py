"""No function waits for the device, forward or backward, outside debug mode: counted on the stand-in for CuPy."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer.backends import cuda
from tests.functions.checks import bound, upstream_of
from tests.functions.over_cases import over_cases
from tests.functions.row import Case, Row
from tests.functions.table import CASES

pytestmark = pytest.mark.gpu

_OF_THE_ROW = 'get', 'the row itself reads its labels or constants, to make others of them'
#: What these functions may do, and why; no other one waits.
WAITING = {
    'get_item': ('boolean index', 'the size of the result depends on the mask'),
    '__getitem__': ('boolean index', 'the size of the result depends on the mask'),
    'scatter_add': ('boolean index', 'the number of places depends on the mask'),
    'forget': ('int', "the state of CuPy's generator cannot be read, so a seed is drawn"),
    'copy': ('get', 'it copies to the CPU where that is asked for'),
    **dict.fromkeys(('argmax_crf1d', 'binary_accuracy', 'eigh', 'negative_sampling', 'qr'), _OF_THE_ROW),
    **dict.fromkeys(('sigmoid_cross_entropy', 'svd', 'zeta'), _OF_THE_ROW),
}


#: What these read, and why: more than once, or something else, is an error.
_REGIONS = 'the size of bins, and so of the work, depends on the regions, and regions of an image are taken together'
READING: dict[str, tuple[dict[str, int], str]] = {
    'roi_pooling_2d': ({'get': 1}, _REGIONS),
    'roi_max_pooling_2d': ({'get': 2}, _REGIONS),
    'roi_average_pooling_2d': ({'get': 2}, _REGIONS),
    'roi_max_align_2d': ({'get': 2}, _REGIONS),
    'roi_average_align_2d': ({'get': 2}, _REGIONS),
    'BinaryHierarchicalSoftmax': (
        {'bool': 1, 'int': 1},
        'the number of nodes on the paths; to fill all paths up to the longest may take many times the memory',
    ),
}


@pytest.mark.parametrize('name', READING)
def test_what_reads_its_arguments(name: str) -> None:
    """Arguments that the table of functions has on the host, on a device; nothing is read backward."""
    if importlib.util.find_spec('cupy._meter') is None:
        pytest.skip('a real CuPy does not count synchronizations')
    meter: Any = importlib.import_module('cupy._meter')
    xp = cuda.cupy
    with meter.record() as forward:
        function, x = _reading(xp, name)
        forward.synchronisations.clear()
        y = function(x)
    y.grad = xp.ones_like(y.array)
    with meter.record() as backward:
        y.backward()
    assert forward.synchronisations == READING[name][0]
    assert not backward.synchronisations


def _reading(xp: Any, name: str) -> tuple[Any, Any]:
    """A function of one Variable, whose other arguments are on the device."""
    if name == 'BinaryHierarchicalSoftmax':
        link = L.BinaryHierarchicalSoftmax(3, ((0, 1), 2)).to_device('@cupy:0')
        labels = xp.array([0, 1, 2, 0], 'i')
        return lambda x: link(x, labels), chainer.Variable(xp.ones((4, 3), 'f'))
    rois, images = xp.array([[0, 0, 4, 4], [1, 1, 6, 6]], 'f'), xp.array([0, 1], 'i')
    if name == 'roi_pooling_2d':
        args: tuple[Any, ...] = xp.concatenate([images[:, None].astype('f'), rois], 1), 2, 2, 1.0
    else:
        args = (rois, images, 2, 1.0, 2) if 'align' in name else (rois, images, 2, 1.0)
    return lambda x: getattr(F, name)(x, *args), chainer.Variable(xp.ones((2, 3, 8, 8), 'f'))


@over_cases((row, case) for _, row, case in CASES)
def test_does_not_wait(row: Row, case: Case) -> None:
    waits = waits_of(row, case)
    assert {what for what, _ in waits} <= {WAITING.get(row.name, ('', ''))[0]}, waits


def waits_of(row: Row, case: Case) -> dict[tuple[str, str], int]:
    """Synchronizations of forward and backward, by operation and place."""
    if importlib.util.find_spec('cupy._meter') is None:
        pytest.skip('a real CuPy does not count synchronizations')
    meter: Any = importlib.import_module('cupy._meter')
    function, xs = bound(row, case, [cuda.to_gpu(array) for array in row.draw(case, row.dtypes[0])])
    variables = [chainer.Variable(x) for x in xs]
    with meter.record(places=True) as forward:
        ys = function(*variables)
    gys = [y.device.send(gy) for y, gy in zip(ys, upstream_of(function, xs), strict=True)]
    for y, gy in zip(ys, gys, strict=True):
        y.grad = gy
    with meter.record(places=True) as backward:
        chainer.backward([y for y in ys if y.requires_grad])
    return {
        place: n
        for record in (forward, backward)
        for place, n in record.places.items()
        if place[0] in record.synchronisations
    }
