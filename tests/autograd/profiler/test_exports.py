"""Chrome traces and flame graphs."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from minichainer.autograd.profiler import EventList
from minichainer.autograd.profiler._flamegraph import frames_of
from tests.autograd.profiler.helpers import FORWARD_LINE, STEP, profile_of, row


# --- the trace-event format ----------------------------------------------------------------------------------------
def faults(trace: Any) -> list[str]:
    """What is wrong with a trace by the rules of the format, for the kinds of events that are written."""
    if not isinstance(trace, dict) or not isinstance(trace.get('traceEvents'), list):
        return ['expected an object with a list traceEvents']
    events = trace['traceEvents']
    found = [] if trace.get('displayTimeUnit', 'ms') in ('ms', 'ns') else ['displayTimeUnit']
    for event in events:
        found += [f'{problem}: {event}' for problem in _faults_of(event)]
    return found or _flow_faults(events)


REQUIRED = {
    'M': {'name': str, 'pid': int, 'args': dict},
    'X': {'name': str, 'cat': str, 'ts': (int, float), 'dur': (int, float), 'pid': int, 'tid': int},
    's': {'name': str, 'cat': str, 'id': (int, str), 'ts': (int, float), 'pid': int, 'tid': int},
    'f': {'name': str, 'cat': str, 'id': (int, str), 'ts': (int, float), 'pid': int, 'tid': int},
}


def _faults_of(event: Any) -> list[str]:
    if event.get('ph') not in REQUIRED:
        return ['unknown phase']
    found = [
        f'{name} is missing or of a wrong type'
        for name, kinds in REQUIRED[event['ph']].items()
        if not isinstance(event.get(name), kinds) or isinstance(event.get(name), bool)
    ]
    if event['ph'] == 'M' and event.get('name') in ('process_name', 'thread_name'):
        found += [] if isinstance(event['args'].get('name'), str) else ['no name in the metadata']
    if event['ph'] == 'X' and not found and (event['dur'] < 0 or not isinstance(event.get('args', {}), dict)):
        found.append('dur is negative, or args is not an object')
    return found + (['bp must be e'] if event.get('bp', 'e') != 'e' else [])


def _flow_faults(events: list[Any]) -> list[str]:
    """Arrows have one beginning and one end, later, each inside a box of its thread."""
    found = []
    arrows: dict[Any, dict[str, Any]] = {}
    for event in events:
        if event.get('ph') in ('s', 'f'):
            arrow = arrows.setdefault((event['cat'], event['name'], event['id']), {})
            found += [f'a second {event["ph"]}: {event}'] if event['ph'] in arrow else []
            arrow[event['ph']] = event
            inside = any(_is_inside(event, box) for box in events if box.get('ph') == 'X')
            found += [] if inside else [f'in no box: {event}']
    for key, arrow in arrows.items():
        if set(arrow) != {'s', 'f'} or arrow['s']['ts'] > arrow['f']['ts']:
            found.append(f'the arrow {key} needs a beginning and a later end')
    return found


def _is_inside(event: Any, box: Any) -> bool:
    here = (event['pid'], event['tid']) == (box['pid'], box['tid'])
    return here and box['ts'] <= event['ts'] <= box['ts'] + box['dur']


def trace_of(events: EventList, folder: Path) -> Any:
    events.export_chrome_trace(folder / 'trace.json')
    return json.loads((folder / 'trace.json').read_text(encoding='utf-8'))


def test_the_trace_is_valid(tmp_path: Path) -> None:
    trace = trace_of(profile_of(STEP), tmp_path)
    assert faults(trace) == []
    assert {e['ph'] for e in trace['traceEvents']} == set(REQUIRED)
    assert faults(trace_of(EventList(), tmp_path)) == []


BREAK = {
    'no ts': (lambda e: e.pop('ts'), 'X'),
    'negative dur': (lambda e: e.update(dur=-1), 'X'),
    'text as pid': (lambda e: e.update(pid='1'), 'X'),
    'phase': (lambda e: e.update(ph='Z'), 'X'),
    'no id': (lambda e: e.pop('id'), 's'),
    'begins in no box': (lambda e: e.update(ts=-5), 's'),
    'ends before': (lambda e: e.update(ts=11), 'f'),
    'name of metadata': (lambda e: e['args'].clear(), 'M'),
}


@pytest.mark.parametrize(('change', 'phase'), BREAK.values(), ids=BREAK)
def test_the_validator_finds_faults(change: Any, phase: str, tmp_path: Path) -> None:
    trace = trace_of(profile_of(STEP), tmp_path)
    change(next(e for e in trace['traceEvents'] if e['ph'] == phase))
    assert faults(trace) != []


def test_boxes_have_names_times_and_arguments(tmp_path: Path) -> None:
    boxes = [e for e in trace_of(profile_of(STEP), tmp_path)['traceEvents'] if e['ph'] == 'X']
    assert [(b['name'], b['cat'], b['ts'], b['dur']) for b in boxes[:2]] == [
        ('model', 'record_function', 10, 40),
        ('Softmax', 'forward', 15, 15),
    ]
    assert boxes[1]['args']['seq'] == 0 and boxes[1]['args']['input shapes'] == [[2, 3]]
    assert boxes[5]['args']['stashed seq'] == 0 and boxes[5]['args']['stack'] == list(FORWARD_LINE)


def test_arrows_lead_from_each_op_to_its_backward_steps(tmp_path: Path) -> None:
    twice = [*STEP, row('backward', 'SoftmaxBackward', 90, 95, 0)]
    events = trace_of(profile_of(twice), tmp_path)['traceEvents']
    arrows = [(e['id'], e['ph'], e['ts']) for e in events if e['ph'] in 'sf']
    by_id: dict[Any, list[Any]] = {}
    for number, _, ts in arrows:
        by_id.setdefault(number, []).append(ts)
    assert sorted(by_id.values()) == [[15, 66], [15, 90], [32, 60]]


def test_averages_have_no_trace(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match='averages'):
        profile_of(STEP).key_averages().export_chrome_trace(tmp_path / 'trace.json')


# --- flame graphs --------------------------------------------------------------------------------------------------
def paths_of(rows: Any) -> dict[str, tuple[float, float, int, str]]:
    """Total, self, count and kind of each frame, by its path."""
    data = frames_of(profile_of(rows))
    paths: list[str] = []
    for parent, name in zip(data['parent'], data['name'], strict=True):
        paths.append(name if parent < 0 else f'{paths[parent]}/{name}')
    return dict(zip(paths, zip(data['total'], data['self'], data['count'], data['kind'], strict=True), strict=True))


def without_stack(rows: Any) -> Any:
    return [(*r[:7], None, None) for r in rows]


def test_frames_are_joined_by_path() -> None:
    assert paths_of(without_stack([*STEP, row('forward', 'Exp', 200, 202)])) == {
        'all': (60, 0, 0, 'all'),
        'all/record_function': (40, 0, 0, 'user'),
        'all/record_function/model': (40, 15, 1, 'user'),
        'all/record_function/model/Softmax': (15, 10, 1, 'forward'),
        'all/record_function/model/Softmax/Exp': (5, 5, 1, 'forward'),
        'all/record_function/model/Exp': (10, 10, 1, 'forward'),
        'all/backward': (18, 0, 0, 'backward'),
        'all/backward/ExpBackward': (4, 4, 1, 'backward'),
        'all/backward/SoftmaxBackward': (14, 11, 1, 'backward'),
        'all/backward/SoftmaxBackward/Mul': (3, 3, 1, 'backward'),
        'all/forward': (2, 0, 0, 'forward'),
        'all/forward/Exp': (2, 2, 1, 'forward'),
    }


def test_stacks_add_the_users_lines() -> None:
    paths = paths_of(STEP)
    assert paths['all/record_function/train.py(10): step/model/model.py(3): layer/Softmax/Exp'][0] == 5
    assert paths['all/backward/train.py(10): step/model.py(3): layer'] == (18, 0, 0, 'backward line')


class Page(HTMLParser):
    """Elements and texts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, Any]]] = []
        self.texts: dict[str, str] = {}
        self._open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ('meta', 'input'):
            self._open.append(dict(attrs).get('id') or tag)

    def handle_endtag(self, tag: str) -> None:
        self._open.pop()

    def handle_data(self, text: str) -> None:
        where = self._open[-1] if self._open else ''
        self.texts[where] = self.texts.get(where, '') + text


EVIL = '</script><img src=x onerror=alert(1)> & "quotes" \u2028'


def page_of(rows: Any, folder: Path, **options: Any) -> tuple[str, Page]:
    profile_of(rows).flamegraph(folder / 'out.html', **options)
    text = (folder / 'out.html').read_text(encoding='utf-8')
    return text, Page(text)


def test_names_are_escaped(tmp_path: Path) -> None:
    text, page = page_of([row('user', EVIL, 0, 1)], tmp_path, title=EVIL)
    assert [tag for tag, _ in page.elements].count('script') == 2
    assert 'img' not in [tag for tag, _ in page.elements]
    assert json.loads(page.texts['data'])['name'][-1] == EVIL
    assert page.texts['title'] == page.texts['h1'] == EVIL
    assert text.count('</script>') == 2


def test_the_page_needs_nothing_else(tmp_path: Path) -> None:
    text, page = page_of(STEP, tmp_path)
    assert not re.search(r'https?:|//[a-z]|@import|url\(', text.replace('// parents', ''))
    assert not [attributes for _, attributes in page.elements if {'src', 'href'} & set(attributes)]
    assert {tag for tag, _ in page.elements} >= {'style', 'script', 'input', 'button'}
    assert 'prefers-color-scheme: dark' in text


def test_an_empty_profile_has_a_page(tmp_path: Path) -> None:
    _, page = page_of([], tmp_path)
    assert json.loads(page.texts['data'])['name'] == ['all']


def test_deep_nesting_and_many_frames(tmp_path: Path) -> None:
    deep = [row('forward', f'op{i}', i, 10_000 - i, i) for i in range(3000, -1, -1)]
    _, page = page_of(deep, tmp_path)
    assert len(json.loads(page.texts['data'])['name']) == 3003
