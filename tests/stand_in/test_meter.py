"""What the stand-in counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

#: Uses of a device array, and how often the host waits, the device gets values, and a kernel runs.
COUNTS: list[tuple[str, Callable[[Any, Any], Any], tuple[int, int, int]]] = [
    ('ufunc', lambda c, x: x + 1, (0, 0, 1)),
    ('chain', lambda c, x: (x * 2 + 1).sum(), (0, 0, 3)),
    ('view', lambda c, x: x.T[1:, None].reshape(2, 1, 2).transpose(2, 0, 1), (0, 0, 0)),
    ('reshape of a view', lambda c, x: x.T.reshape(6), (0, 0, 1)),
    ('asarray of an array', lambda c, x: c.asarray(x), (0, 0, 0)),
    ('ascontiguousarray', lambda c, x: c.ascontiguousarray(x.T), (0, 0, 1)),
    ('upload', lambda c, x: c.asarray(np.ones(3)), (0, 1, 0)),
    ('set', lambda c, x: x.set(np.ones((2, 3), 'f')), (0, 1, 0)),
    ('index of the host', lambda c, x: x[[0, 1]], (0, 1, 1)),
    ('mask', lambda c, x: x[x > 1], (1, 0, 4)),
    ('fill', lambda c, x: x.fill(0), (0, 0, 1)),
    ('empty', lambda c, x: c.empty((2, 2)), (0, 0, 0)),
    ('get', lambda c, x: x.get(), (1, 0, 0)),
    ('float', lambda c, x: float(x[0, 0]), (1, 0, 0)),
    ('int', lambda c, x: int(x[0, 0]), (1, 0, 0)),
    ('bool', lambda c, x: bool(x[0, 0]), (1, 0, 0)),
    ('if', lambda c, x: 1 if x[0, 0] > 0 else 0, (1, 0, 1)),
    ('item', lambda c, x: x[0, 0].item(), (1, 0, 0)),
    ('tolist', lambda c, x: x.tolist(), (1, 0, 0)),
    ('repr', lambda c, x: repr(x), (1, 0, 0)),
    ('nonzero', lambda c, x: c.nonzero(x), (1, 0, 3)),
    ('synchronize', lambda c, x: c.cuda.Device().synchronize(), (1, 0, 0)),
    ('fused', lambda c, x: c.fuse(kernel_name='f')(lambda a: a * 2 + 1)(x), (0, 0, 1)),
]


@pytest.mark.parametrize(('what', 'use', 'expected'), COUNTS, ids=[c[0] for c in COUNTS])
def test_counts(what: str, use: Any, expected: tuple[int, int, int], cupy: Any, meter: Any) -> None:
    x = cupy.asarray(np.arange(6, dtype='f').reshape(2, 3))
    with meter.record() as found:
        use(cupy, x)
    counted = found.synchronisations.total(), found.uploads.total(), found.launches.total()
    assert counted == expected, (found.synchronisations, found.uploads, found.launches)


def test_places(cupy: Any, meter: Any) -> None:
    x = cupy.zeros(3)
    with meter.record(places=True) as found:
        np.exp(x)
    assert {place.rpartition(':')[0] for _, place in found.places} == {__file__}
    assert found.launches == {'exp': 1} and found.notes == {'numpy.exp': 1}


def test_records_nest(cupy: Any, meter: Any) -> None:
    x = cupy.zeros(3)
    with meter.record() as outer:
        x + 1
        with meter.record() as inner:
            x + 1
    assert (outer.launches.total(), inner.launches.total()) == (2, 1)


def test_a_synchronisation_can_be_forbidden(cupy: Any, meter: Any) -> None:
    import cupyx

    x = cupy.zeros(3)
    with cupyx.allow_synchronize(False), pytest.raises(cupyx.DeviceSynchronized, match=r'bool at .*test_meter\.py'):
        bool(x[0] + 1)
    assert not x[0]


def test_memory_pool(cupy: Any, meter: Any) -> None:
    pool = cupy.get_default_memory_pool()
    before = pool.used_bytes()
    x = cupy.zeros(1000, 'f')
    view = x[10:]
    assert pool.used_bytes() - before == 4096 <= pool.total_bytes()
    del x
    assert pool.used_bytes() - before == 4096
    del view
    assert pool.used_bytes() == before
    pool.free_all_blocks()
    assert pool.total_bytes() == before


def test_memory_hooks(cupy: Any, meter: Any) -> None:
    seen = []

    class Hook(cupy.cuda.MemoryHook):
        name = 'of the test'

        def malloc_preprocess(self, **kwargs: Any) -> None:
            seen.append((kwargs['size'], kwargs['mem_size']))

    with Hook():
        cupy.zeros(3, 'f')
    cupy.zeros(3, 'f')
    assert seen == [(12, 512)]


def test_streams_and_events(cupy: Any, meter: Any) -> None:
    stream = cupy.cuda.Stream(non_blocking=True)
    assert cupy.cuda.get_current_stream() == cupy.cuda.Stream.null
    with stream:
        assert cupy.cuda.get_current_stream() == stream
        begin, end = stream.record(), stream.record()
    cupy.cuda.get_current_stream().wait_event(end)
    assert cupy.cuda.get_elapsed_time(begin, end) >= 0


def test_what_nobody_has_written_is_no_zero(cupy: Any, meter: Any) -> None:
    assert np.isnan(cupy.empty(3).get()).all() and cupy.empty_like(cupy.zeros(2, 'i')).get().tolist() == [77, 77]


def test_memoize(cupy: Any, meter: Any) -> None:
    calls = []

    @cupy.memoize(for_each_device=True)
    def function(x: int) -> int:
        calls.append(x)
        return x

    for device in (0, 0, 1):
        with cupy.cuda.Device(device):
            assert function(3) == 3
    assert calls == [3, 3]
    cupy.clear_memo()
    assert function(3) == 3 and len(calls) == 3
