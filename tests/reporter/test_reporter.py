"""Reporter, and the summaries of what is reported."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from minichainer.backends.cuda import ndarray, to_gpu
from minichainer.configuration import using_config
from minichainer.link import Chain, Link
from minichainer.reporter import DictSummary, Reporter, Summary, get_current_reporter, report, report_scope
from minichainer.serializers import DictionarySerializer, NpzDeserializer
from minichainer.variable import Variable


def test_names_of_observers_are_prefixes() -> None:
    chain = Chain(a=Link())
    reporter = Reporter()
    reporter.add_observer('main', chain)
    reporter.add_observers('main', chain.namedlinks(skipself=True))
    with reporter:
        report({'x': 1, 'y': 2}, chain)
        report({'x': 3}, chain.a)
        report({'x': 4})
    reporter.add_observer('other', chain)
    reporter.report({'x': 5}, chain)
    assert reporter.observation == {'main/x': 1, 'main/y': 2, 'main/a/x': 3, 'x': 4, 'other/x': 5}


@pytest.mark.parametrize('copied', [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=['copy', 'pickle'])
def test_a_copy_knows_the_copies_of_observers(copied: Callable[[Any], Any]) -> None:
    chain = Chain(a=Link())
    reporter = Reporter()
    reporter.add_observer('main', chain)
    reporter.add_observers('main', chain.namedlinks(skipself=True))
    reporter, chain = copied((reporter, chain))
    reporter.report({'x': 1}, chain)
    reporter.report({'x': 2}, chain.a)
    assert reporter.observation == {'main/x': 1, 'main/a/x': 2}


def test_an_object_does_not_get_the_name_of_a_freed_one() -> None:
    reporter = Reporter()
    for i in range(100):
        link = Link()
        reporter.add_observer(str(i), link)
        del link
        with pytest.raises(KeyError, match='no name'):
            reporter.report({'x': 1}, Link())


def test_unknown_observer() -> None:
    reporter = Reporter()
    with reporter, pytest.raises(KeyError, match=r'This observer has no name.* this Link by add_observer'):
        report({'x': 1}, Link())
    assert reporter.observation == {}


def test_reports_without_a_reporter_are_dropped() -> None:
    report({'x': 1})
    report({'x': 1}, object())
    for ask in (get_current_reporter, report_scope({}).__enter__):
        with pytest.raises(IndexError, match='no current reporter in this thread'):
            ask()


def test_a_scope_asks_for_the_reporter_when_it_is_entered() -> None:
    reporter, seen = Reporter(), {}  # type: ignore[var-annotated]
    scope = report_scope(seen)
    with reporter, scope:
        report({'x': 1})
    assert (seen, reporter.observation) == ({'x': 1}, {})


def test_the_innermost_reporter_is_told() -> None:
    outer, inner = Reporter(), Reporter()
    with outer:
        with inner:
            assert get_current_reporter() is inner
            report({'x': 1})
        report({'y': 2})
    assert (outer.observation, inner.observation) == ({'y': 2}, {'x': 1})


def test_reporters_are_those_of_the_thread() -> None:
    reporter = Reporter()
    with reporter:
        thread = threading.Thread(target=report, args=({'x': 1},))
        thread.start()
        thread.join()
    assert reporter.observation == {}


@pytest.mark.parametrize('enter', [lambda reporter, seen: reporter.scope(seen), lambda _, seen: report_scope(seen)])
def test_scope_collects_elsewhere(enter: Any) -> None:
    reporter, seen = Reporter(), {}  # type: ignore[var-annotated]
    observer = object()
    reporter.add_observer('main', observer)

    def report_and_fail() -> None:
        report({'x': 1}, observer)
        raise ZeroDivisionError

    with reporter:
        with pytest.raises(ZeroDivisionError), enter(reporter, seen):
            report_and_fail()
        report({'y': 2}, observer)
    assert (seen, reporter.observation) == ({'main/x': 1}, {'main/y': 2})


@pytest.mark.parametrize('keep', [False, True])
def test_graph_is_cut_off_unless_asked_for(keep: bool) -> None:
    x = Variable(np.ones(3, np.float32))
    y = x * 2
    reporter = Reporter()
    with using_config('keep_graph_on_report', keep):
        reporter.report({'y': y})
    reported = reporter.observation['y']
    assert (reported is y, reported.creator is not None) == (keep, keep)
    assert reported.array is y.array


# --- summaries ---


@pytest.mark.parametrize(
    'values',
    [
        [1.0, 2.5, 4.0],
        [1, 2, 6],
        [np.float32(1), np.float32(2.5)],
        [np.array(1.0), np.array(2.5)],
        [np.arange(3.0), np.ones(3), -np.arange(3.0)],
    ],
)
def test_summary_is_mean_and_deviation(values: Any) -> None:
    summary = Summary()
    for value in values:
        summary.add(value)
    mean, deviation = summary.make_statistics()
    np.testing.assert_allclose(mean, np.mean(values, axis=0))
    np.testing.assert_allclose(deviation, np.std(values, axis=0))
    np.testing.assert_allclose(summary.compute_mean(), np.mean(values, axis=0))


def test_weights_count_values_several_times() -> None:
    summary = Summary()
    summary.add(1.0)
    summary.add(3.0, weight=2)
    mean, deviation = summary.make_statistics()
    np.testing.assert_allclose((mean, deviation), (np.mean([1, 3, 3]), np.std([1, 3, 3])))


def test_half_precision_values_are_summed_in_double() -> None:
    summary = Summary()
    for _ in range(5000):
        summary.add(np.float16(1))
    assert summary.compute_mean() == 1.0


@pytest.mark.gpu
@pytest.mark.parametrize('dtype', 'ef')
def test_values_of_a_device_are_summed_in_double(dtype: str) -> None:
    summary, exact = Summary(), Summary()
    for value in np.array([60000, 1e-3, -60000] * 4, dtype):
        summary.add(to_gpu(np.asarray(value)))
        exact.add(float(value))
    for found, expected in zip(summary.make_statistics(), exact.make_statistics(), strict=True):
        assert isinstance(found, ndarray) and found.dtype == 'd'
        np.testing.assert_allclose(float(found), expected, 1e-12)


def test_added_array_is_not_changed() -> None:
    first = np.ones(2)
    summary = Summary()
    summary.add(first)
    summary.add(np.ones(2))
    np.testing.assert_array_equal(first, [1, 1])


def test_rounding_never_gives_a_negative_variance() -> None:
    for value in (0.1, np.full(2, 0.1)):
        summary = Summary()
        for _ in range(3):
            summary.add(value)
        assert np.all(summary.make_statistics()[1] < 1e-7)


@pytest.mark.parametrize('ask', [Summary.compute_mean, Summary.make_statistics])
def test_empty_summary(ask: Any) -> None:
    with pytest.raises(ZeroDivisionError, match='Summary without values'):
        ask(Summary())


@pytest.mark.parametrize('value', [1.0, np.float32(1), Variable(np.array(1, 'f')), np.inf])
@pytest.mark.parametrize('weight', [0, 0.0, np.array(0)])
def test_weights_of_zero_give_nan(value: Any, weight: Any) -> None:
    """As in Chainer for numbers of NumPy; it raises ZeroDivisionError for those of Python."""
    summary, loaded = DictSummary(), DictSummary()
    summary.add({'a': (value, weight)})
    summary.serialize(saved := DictionarySerializer())
    loaded.serialize(NpzDeserializer(saved.target))
    for each in (summary, loaded):
        np.testing.assert_equal(each.compute_mean(), {'a': np.nan})
        np.testing.assert_equal(each.make_statistics(), {'a': np.nan, 'a.std': np.nan})
    summary.add({'a': (2.0, 3)})
    assert np.isinf(value if isinstance(value, float) else 0) or summary.compute_mean() == {'a': 2}


def test_more_than_a_pair_is_warned_of() -> None:
    summary = DictSummary()
    with pytest.warns(UserWarning, match=r'pair of value and weight, expected as a, got \(1, 2, 3\); the rest'):
        summary.add({'a': (1, 2, 3)})
    assert summary.compute_mean() == {'a': 1}


def test_dict_summary_takes_scalars() -> None:
    summary = DictSummary()
    summary.add(
        {
            'int': 1,
            'numpy': np.float32(2),
            'array': np.array(3),
            'variable': Variable(np.array(4.0)),
            'weighted': (5.0, 2),
            'weighted variable': (Variable(np.array(6.0)), np.array(2)),
            'vector': np.arange(3),
            'list': ['x'],
            'nothing': None,
        }
    )
    summary.add({'int': 4, 'weighted': (8.0, 1)})
    assert summary.compute_mean() == {
        'int': 2.5,
        'numpy': 2,
        'array': 3,
        'variable': 4,
        'weighted': 6,
        'weighted variable': 6,
    }
    statistics = summary.make_statistics()
    assert (statistics['int.std'], statistics['numpy.std']) == (1.5, 0)
    np.testing.assert_allclose(statistics['weighted.std'], np.std([5, 5, 8]))


def test_weight_is_a_scalar() -> None:
    with pytest.raises(ValueError, match='Given weight to loss was not scalar'):
        DictSummary().add({'loss': (1.0, np.ones(2))})


@pytest.mark.parametrize('value', ['x', b'x', ('x', 1), (1, 'x'), ('x', 'x')])
def test_a_text_is_not_a_value(value: Any) -> None:
    with pytest.raises(TypeError, match='a number expected as loss, got a text'):
        DictSummary().add({'loss': value})


@pytest.mark.parametrize('value', [(), (1.0,)])
@pytest.mark.parametrize('error', [IndexError, ValueError])
def test_a_tuple_has_a_value_and_a_weight(value: Any, error: Any) -> None:
    with pytest.raises(error, match='value and weight, expected as loss'):
        DictSummary().add({'loss': value})


def saved(obj: Any) -> dict[str, Any]:
    serializer = DictionarySerializer()
    serializer.save(obj)
    return serializer.target


def test_summary_goes_on_after_loading() -> None:
    before, after = Summary(), Summary()
    before.add(1.0)
    before.add(2.5)
    NpzDeserializer(saved(before)).load(after)
    after.add(4.0)
    np.testing.assert_allclose(after.make_statistics(), (2.5, np.std([1, 2.5, 4])))
    assert sorted(saved(before)) == ['_n', '_x', '_x2']


def test_dict_summary_goes_on_after_loading() -> None:
    before, after = DictSummary(), DictSummary()
    before.add({'a/b': 1.0, 'c': 2.0})
    after.add({'gone': 5})
    NpzDeserializer(saved(before)).load(after)
    after.add({'a/b': 3.0})
    assert after.compute_mean() == {'a/b': 2.0, 'c': 2.0}
    assert sorted(saved(before))[0] == '_names'


@pytest.mark.parametrize(
    ('summary', 'message'),
    [(Summary(), 'does not contain statistics'), (DictSummary(), 'does not contain the names of statistics')],
)
def test_snapshot_without_statistics_warns(summary: Any, message: str) -> None:
    with pytest.warns(UserWarning, match=message):
        NpzDeserializer({}).load(summary)
