"""Events from rows, tables, averages, stacks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minichainer.autograd.profiler import EventList, FunctionEvent, FunctionEventAvg, profile
from tests.autograd.profiler.helpers import FORWARD_LINE, STEP, profile_of, row


def test_events_are_nested_by_their_times() -> None:
    events = profile_of(STEP)
    assert [e.name for e in events] == ['model', 'Softmax', 'Exp', 'Exp', 'ExpBackward', 'SoftmaxBackward', 'Mul']
    assert [e.id for e in events] == list(range(7))
    parents = [None if e.cpu_parent is None else e.cpu_parent.id for e in events]
    assert parents == [None, 0, 1, 0, None, None, 5]
    assert [child.id for child in events[0].cpu_children] == [1, 3]


def test_times_are_microseconds_and_self_excludes_children() -> None:
    events = profile_of(STEP)
    assert [e.cpu_time_total for e in events] == [40, 15, 5, 10, 4, 14, 3]
    assert [e.self_cpu_time_total for e in events] == [15, 10, 5, 10, 4, 11, 3]
    assert events.self_cpu_time_total == 58  # the length of the three outermost ones
    assert (events[1].time_range.start, events[1].time_range.end) == (15, 30)
    assert events[1].cpu_time_str == '15.000us'


def test_memory_of_a_block_is_that_of_its_ops() -> None:
    block, softmax, exp, *_ = profile_of(STEP)
    assert (block.cpu_memory_usage, block.self_cpu_memory_usage) == (80, 0)
    assert (softmax.cpu_memory_usage, softmax.self_cpu_memory_usage) == (48, 0)
    assert (exp.cpu_memory_usage, exp.self_cpu_memory_usage) == (48, 48)


def test_forward_and_backward_have_one_number_and_the_stack_of_the_forward_op() -> None:
    events = profile_of(STEP)
    assert (events[1].label, events[5].label) == ('seq=0', 'stashed seq=0')
    assert [e.scope for e in events] == [7, 0, 0, 0, 1, 1, 0]
    assert events[5].stack == list(FORWARD_LINE)
    assert events[0].sequence_nr == -1 and events[0].label == ''


@pytest.mark.parametrize(
    ('rows', 'parents'),
    [
        pytest.param([(0, 5), (5, 9)], [None, None], id='one after the other'),
        pytest.param([(0, 5), (3, 9)], [None, None], id='overlapping'),
        pytest.param([(0, 5), (3, 9), (4, 8)], [None, None, 1], id='inside the later of two that overlap'),
        pytest.param([(2, 3), (2, 3)], [None, 0], id='of the same times: the one that is appended later is outside'),
        pytest.param([(2, 3), (2, 5)], [None, 0], id='of the same beginning'),
        pytest.param([(4, 5), (2, 5)], [None, 0], id='of the same end'),
    ],
)
def test_nesting(rows: Any, parents: Any) -> None:
    events = profile_of([row('user', str(i), *times) for i, times in enumerate(rows)])
    assert [None if e.cpu_parent is None else e.cpu_parent.id for e in events] == parents


def test_of_two_rows_of_the_same_times_the_later_is_outside() -> None:
    outer, inner = profile_of([row('forward', 'inner', 1, 1), row('forward', 'outer', 1, 1)])
    assert (outer.name, inner.cpu_parent) == ('outer', outer)


def test_averages_by_key() -> None:
    averages = {a.key: a for a in profile_of(STEP).key_averages()}
    assert list(averages) == ['model', 'Softmax', 'Exp', 'ExpBackward', 'SoftmaxBackward', 'Mul']
    exp = averages['Exp']
    assert isinstance(exp, FunctionEventAvg)
    assert (exp.count, exp.cpu_time_total, exp.cpu_time, exp.self_cpu_time_total) == (2, 15, 7.5, 15)
    assert (exp.cpu_memory_usage, exp.input_shapes, exp.stack) == (80, [], [])


def recorded(events: EventList) -> profile:
    prof = profile()
    prof._events = events
    return prof


def test_averages_by_shape_and_by_stack() -> None:
    events = profile_of(STEP)
    by_shape = [(a.key, a.input_shapes) for a in events.key_averages(group_by_input_shapes=True) if a.key == 'Exp']
    assert by_shape == [('Exp', [[2, 3]]), ('Exp', [[4]])]
    for events_or_profile in (events, recorded(events)):  # torch has one name in each
        for name in ('group_by_input_shape', 'group_by_input_shapes'):
            found = events_or_profile.key_averages(**{name: True})
            assert [a.input_shapes for a in found if a.key == 'Exp'] == [[[2, 3]], [[4]]]
    assert events.key_averages(group_by_stack_n=1)[1].stack == [FORWARD_LINE[0]]
    other = profile_of([*STEP, row('forward', 'Exp', 90, 91, 9, ((4,),), 0, ('else.py(1): f',))])
    assert [a.count for a in other.key_averages(group_by_stack_n=1) if a.key == 'Exp'] == [2, 1]


def test_total_average() -> None:
    total = profile_of(STEP).total_average()
    assert (total.key, total.count, total.self_cpu_time_total) == ('Total', 7, 58)
    empty = EventList().total_average()
    assert (empty.key, empty.count, empty.cpu_time) == ('Total', 0, 0)


def test_averages_add_up() -> None:
    events = profile_of(STEP)
    total = events.key_averages().total_average()
    assert total.self_cpu_time_total == events.total_average().self_cpu_time_total


def rows_of(table: str) -> list[str]:
    """The first words of the rows of a table."""
    return [line.split()[0] for line in table.split('\n-')[1].splitlines()[1:]]


SORTED = {
    'count': 'Exp', 'cpu_time': 'model', 'cpu_time_total': 'model', 'self_cpu_time_total': 'model',
    'cpu_memory_usage': 'model', 'self_cpu_memory_usage': 'Exp', 'cuda_time': 'model', 'cuda_time_total': 'model',
    'self_cuda_time_total': 'model', 'cuda_memory_usage': 'model', 'self_cuda_memory_usage': 'model',
}  # fmt: skip


@pytest.mark.parametrize(('key', 'first'), SORTED.items())
def test_tables_are_sorted(key: str, first: str) -> None:
    assert rows_of(profile_of(STEP).key_averages().table(sort_by=key))[0] == first


def test_an_unknown_sort_key_is_an_error_that_names_the_keys() -> None:
    with pytest.raises(ValueError, match=r'cpu_time_total, .*got .time') as caught:
        profile_of(STEP).table(sort_by='time')
    assert isinstance(caught.value, AttributeError)  # as in torch


def test_table() -> None:
    lines = profile_of(STEP).table().splitlines()
    titles = [title.strip() for title in lines[1].split('  ') if title.strip()]
    assert titles == [
        'Name', 'Self CPU %', 'Self CPU', 'CPU total %', 'CPU total', 'CPU time avg', 'CPU Mem', 'Self CPU Mem',
        '# of Calls', 'Input Shapes', 'Source Location',
    ]  # fmt: skip
    assert lines[3].split()[:6] == ['model', '25.86%', '15.000us', '68.97%', '40.000us', '40.000us']
    assert lines[-1] == 'Self CPU time total: 58.000us'
    assert len({len(line) for line in lines[:-1]}) == 1


def test_rows_of_tables_are_limited() -> None:
    events = profile_of(STEP)
    assert rows_of(events.table(row_limit=2)) == ['model', 'Softmax']
    assert len(rows_of(events.table(row_limit=-1))) == 7
    assert rows_of(events.table(top_level_events_only=True)) == ['model', 'ExpBackward', 'SoftmaxBackward']
    assert events.table(header='A step').splitlines()[1] == 'A step'
    long = profile_of([row('user', 'n' * 99, 0, 1)]).table(max_name_column_width=10)
    assert 'nnnnnnn...  ' in long
    assert EventList().table() == ''


def test_cuda_columns() -> None:
    event = FunctionEvent(0, 'Tanh', 1, 0.0, 4.0, cuda_time=8.0, cuda_memory_usage=2048)
    table = EventList([event], use_cuda=True, profile_memory=True).table()
    assert 'CUDA time avg' in table and 'Self CUDA Mem' in table and '2.00 KB' in table
    assert table.endswith('Self CUDA time total: 8.000us\n')


def test_stacks_of_the_same_frames_are_joined(tmp_path: Path) -> None:
    profile_of(STEP).export_stacks(tmp_path / 'stacks.txt')
    assert (tmp_path / 'stacks.txt').read_text(encoding='utf-8').splitlines() == [
        'train.py(10):_step 15',
        'train.py(10):_step;model.py(3):_layer 40',
        'train.py(12):_step 3',
    ]


def test_stacks_have_two_metrics(tmp_path: Path) -> None:
    events = profile_of(STEP)
    assert events.supported_export_stacks_metrics == ['self_cpu_time_total', 'self_cuda_time_total']
    events.export_stacks(tmp_path / 'empty.txt', 'self_cuda_time_total')
    assert (tmp_path / 'empty.txt').read_text(encoding='utf-8') == ''
    with pytest.raises(ValueError, match=r'self_cpu_time_total, self_cuda_time_total, got .count'):
        events.export_stacks(tmp_path / 'x.txt', 'count')


def test_events_show_what_they_are() -> None:
    events = profile_of(STEP)
    assert 'name=SoftmaxBackward stashed seq=0 ' in repr(events[5]) and 'cpu_children=[6]' in repr(events[5])
    assert 'key=Exp count=2' in repr(events.key_averages()[2])
    assert str(events) == events.table()


def test_names_of_torch_are_here() -> None:
    event, average = profile_of(STEP)[1], profile_of(STEP).key_averages()[1]
    names = (
        'key count cpu_time cpu_time_total self_cpu_time_total cpu_time_str cpu_time_total_str '
        'self_cpu_time_total_str cuda_time cuda_time_total self_cuda_time_total cuda_time_str cuda_time_total_str '
        'self_cuda_time_total_str cpu_memory_usage self_cpu_memory_usage cuda_memory_usage self_cuda_memory_usage '
        'input_shapes stack cpu_children cpu_parent is_async is_remote node_id is_legacy scope'
    ).split()
    missing = [name for name in names if not hasattr(event, name) or not hasattr(average, name)]
    missing += [n for n in 'name id thread time_range sequence_nr'.split() if not hasattr(event, n)]
    assert missing == []
