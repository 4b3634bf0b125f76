"""The file of LogReport: appended to, complete whenever it is read, repaired, never behind what a user changes."""

from __future__ import annotations

import io
import json
import statistics
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minichainer.serializers.npz import load_npz, save_npz
from minichainer.training import extensions
from minichainer.training.extensions import _log_file
from minichainer.training.extensions._log_file import LogFile, repair

EVERY = (1, 'iteration')


def entry(i: int) -> dict[str, Any]:
    return {'main/loss': 1 / (i + 1), 'text': '}\n,{"ä', 'epoch': i // 10, 'iteration': i, 'elapsed_time': i / 7}


def parsed(path: Path) -> Any:
    text = path.read_text()
    return [json.loads(line) for line in text.splitlines()] if path.suffix == '.jsonl' else json.loads(text)


def fill(path: Path, n: int) -> tuple[LogFile, list[dict[str, Any]]]:
    file = LogFile()
    log: list[dict[str, Any]] = []
    for i in range(n):
        add(file, path, log, entry(i))
    return file, log


def add_many(file: LogFile, path: Path, log: list[dict[str, Any]]) -> None:
    for i in range(len(log), len(log) + 20):
        add(file, path, log, entry(i))


def add(file: LogFile, path: Path, log: list[dict[str, Any]], new: dict[str, Any]) -> None:
    file.append(str(path), log, new)
    log.append(new)


class Count:
    """Counts how often a file was written as a whole."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.times = 0
        self._replacing = _log_file.replacing
        monkeypatch.setattr(_log_file, 'replacing', self)

    def __call__(self, path: str) -> Any:
        self.times += 1
        return self._replacing(path)


def run(make_trainer: Any, n: int = 9, change: Callable[[Any], Any] | None = None, **kwargs: Any) -> Any:
    """A training with a log of each iteration; ``change`` is called after each with the extension."""
    trainer = make_trainer((n, 'iteration'))
    report = extensions.LogReport(trigger=EVERY, **kwargs)
    trainer.extend(report)
    if change is not None:
        trainer.extend(lambda trainer: change(report), name='change', trigger=EVERY, priority=-10)
    trainer.run()
    return report, Path(trainer.out)


# --- what is in the file ---


@pytest.mark.parametrize('name', ['log', 'log.jsonl'])
def test_it_is_complete_after_each_interval(make_trainer: Any, tmp_path: Path, name: str) -> None:
    found = []
    path = tmp_path / 'out' / name
    report, _ = run(make_trainer, 200, lambda report: found.append(parsed(path)), filename=name)
    assert found == [report.log[: i + 1] for i in range(200)]
    assert parsed(path) == report.log


def test_at_the_end_it_is_what_json_writes(make_trainer: Any) -> None:
    """Byte for byte, as in Chainer."""
    report, out = run(make_trainer)
    assert (out / 'log').read_text() == json.dumps(report.log, indent=4)


def test_json_lines(make_trainer: Any) -> None:
    report, out = run(make_trainer, filename='a.jsonl')
    assert (out / 'a.jsonl').read_text() == ''.join(json.dumps(entry) + '\n' for entry in report.log)


@pytest.mark.parametrize('name', ['log', 'log.jsonl'])
def test_it_is_written_as_a_whole_once_and_not_at_each_interval(
    make_trainer: Any, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    count = Count(monkeypatch)
    run(make_trainer, 300, filename=name)
    assert count.times == 1


def test_an_append_into_the_room_leaves_the_size(tmp_path: Path) -> None:
    """So a reader who has come to the end finds nothing more there."""
    path = tmp_path / 'log'
    file, log = fill(path, 40)
    sizes = []
    for i in range(40, 60):
        add(file, path, log, entry(i))
        sizes.append(path.stat().st_size)
    assert len(set(sizes)) < 6


@pytest.mark.parametrize('size', [10, 3000, 200_000])
def test_entries_of_any_size(tmp_path: Path, size: int) -> None:
    """Those that do not fit into the room."""
    file, path = LogFile(), tmp_path / 'log'
    log: list[dict[str, Any]] = []
    for i in range(20):
        add(file, path, log, {'i': i, 'text': 'x' * (size if i % 5 == 0 else 3)})
        assert parsed(path) == log


def test_values_that_are_not_flat(tmp_path: Path) -> None:
    log = [{}, {'a': {'b': [1, {}, None]}, 'c': [], 'd': float('inf')}]
    LogFile().replace(str(tmp_path / 'log'), log)
    assert parsed(tmp_path / 'log') == log


# --- changes by hand ---


def _set(at: int) -> Callable[[Any], Any]:
    def change(report: Any) -> None:
        if len(report.log) == 5:
            report.log[at]['added'] = 'x' * 50

    return change


def _when(n: int, change: Callable[[list[Any]], Any]) -> Callable[[Any], Any]:
    return lambda report: change(report.log) if len(report.log) == n else None


CHANGES: dict[str, Callable[[Any], Any]] = {
    'the last dict': _set(-1),
    'an old dict': _set(1),
    'the last dict, each time': lambda report: report.log[-1].update(mine=len(report.log)),
    'shorter, each time': lambda report: report.log[-1].pop('elapsed_time', None),
    'one more': _when(4, lambda log: log.append({'mine': 1})),
    'one less': _when(5, lambda log: log.pop(0)),
    'another one': _when(5, lambda log: log.__setitem__(-1, {'mine': 1})),
    'an old one replaced': _when(5, lambda log: log.__setitem__(0, {'mine': 1})),
    'reversed': _when(5, lambda log: log.reverse()),
    'cleared': _when(5, lambda log: log.clear()),
}


@pytest.mark.parametrize('name', ['log', 'log.jsonl'])
@pytest.mark.parametrize('change', CHANGES)
def test_changes_by_hand_are_in_the_file(make_trainer: Any, change: str, name: str) -> None:
    report, out = run(make_trainer, change=CHANGES[change], filename=name)
    assert parsed(out / name) == report.log
    untouched, _ = run(make_trainer)
    assert [list(e) for e in report.log] != [list(e) for e in untouched.log] or change == 'reversed'


def test_a_change_of_the_last_dict_is_written_with_the_next(
    make_trainer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs add values to it each time; so this must not cost more either."""
    count, behind = Count(monkeypatch), []

    def change(report: Any) -> None:
        behind.append(parsed(tmp_path / 'out' / 'log')[:-1] == report.log[:-1])
        report.log[-1]['mine'] = len(report.log)

    run(make_trainer, 50, change)
    assert all(behind) and count.times == 2  # the other time at the end


AT_ONCE: dict[str, Callable[[list[Any]], Any]] = {
    'more in the last': lambda log: log[-1].update(mine=1),
    'less in the last': lambda log: [log[-1].pop(key) for key in list(log[-1])],
    'one more': lambda log: log.append({'mine': 1}),
    'one less': lambda log: log.pop(),
    'one less in front': lambda log: log.pop(0),
    'another one': lambda log: log.__setitem__(-1, {'mine': 1}),
    'reversed': lambda log: log.reverse(),
    'cleared': lambda log: log.clear(),
}


@pytest.mark.parametrize('name', ['log', 'log.jsonl'])
@pytest.mark.parametrize('change', AT_ONCE)
def test_changes_at_the_end_are_written_with_the_next(tmp_path: Path, change: str, name: str) -> None:
    path = tmp_path / name
    file, log = fill(path, 5)
    AT_ONCE[change](log)
    add(file, path, log, {'next': 1})
    assert parsed(path) == log


def test_postprocess_may_change_other_dicts(make_trainer: Any) -> None:
    seen: list[dict[str, Any]] = []

    def postprocess(entry: dict[str, Any]) -> None:
        seen.append(entry)
        seen[0]['latest'] = len(seen)

    report, out = run(make_trainer, postprocess=postprocess)
    assert parsed(out / 'log') == report.log and report.log[0]['latest'] == 9


DISTURBANCES: dict[str, Callable[[Path], Any]] = {
    'removed': lambda path: path.unlink(),
    'cut': lambda path: path.write_bytes(path.read_bytes()[:50]),
    'longer': lambda path: path.write_bytes(path.read_bytes() + b'mine'),
    'moved': lambda path: path.rename(path.with_name('old')),
}


@pytest.mark.parametrize('disturbance', DISTURBANCES)
def test_a_file_that_others_change_is_written_anew(tmp_path: Path, disturbance: str) -> None:
    path = tmp_path / 'log'
    file, log = fill(path, 5)
    DISTURBANCES[disturbance](path)
    add(file, path, log, entry(5))
    assert parsed(path) == log


@pytest.mark.parametrize('name', ['log', 'log.jsonl'])
@pytest.mark.parametrize(
    ('triggers', 'remains'),
    [
        ((1, 2), 0),
        ((2, 1), 1),
        ((1, 5), 1),
        ((5, 1), 1),
        ((2, 3, 1), 2),
        ((3, 2, 1), 2),
        ((1, 3, 2), 0),
        ((1, 3, 5), 2),
    ],
)
def test_of_reports_of_one_file_the_last_writer_keeps_it(
    make_trainer: Any, triggers: tuple[int, ...], remains: int, name: str
) -> None:
    """As in Chainer, where each of them replaces the whole file in turn; files are numbered as removed ones were."""
    trainer = make_trainer((5, 'iteration'))
    reports = [extensions.LogReport(trigger=(n, 'iteration'), filename=name) for n in triggers]
    for n, report in zip(triggers, reports, strict=True):
        trainer.extend(report, name=str(n))
    trainer.run()
    assert [len(report.log) for report in reports] == [5 // n for n in triggers]
    assert parsed(Path(trainer.out) / name) == reports[remains].log


# --- readers, kills, errors ---

READ = """
import json, sys
reads = halves = 0
log = [{}]
print('ready', flush=True)
while not log[-1].get('end'):
    reads += 1
    try:
        log = json.load(open(sys.argv[1]))
    except ValueError:
        halves += 1
print(reads, halves)
"""


def test_a_reader_hardly_ever_finds_half_of_a_dict(tmp_path: Path) -> None:
    """1 read of 11 000 falls into the microsecond of a write; without the spaces behind the list 1.6 % find half."""
    path = tmp_path / 'log'
    file, log = fill(path, 1)
    command = [sys.executable, '-c', READ, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as reader:
        assert reader.stdout is not None
        reader.stdout.readline()
        for i in range(1500):
            add(file, path, log, entry(i))
            time.sleep(0.0003)
        add(file, path, log, {'end': True})
        out, errors = reader.communicate(timeout=60)
    assert (reader.returncode, errors) == (0, '')
    reads, halves = map(int, out.split())
    assert reads > 10
    assert halves <= max(3, reads // 200)


WRITE = """
import sys
from minichainer.training.extensions._log_file import LogFile
file, log = LogFile(), []
while True:
    new = {'iteration': len(log), 'text': 'x' * 100}
    file.append(sys.argv[1], log, new)
    log.append(new)
    if len(log) == 3:
        print('ready', flush=True)
"""


@pytest.mark.parametrize('name', ['log', 'log.jsonl'])
def test_a_killed_run_leaves_a_list(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with subprocess.Popen([sys.executable, '-c', WRITE, str(path)], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(0.02)
        writer.kill()
    log = parsed(path)
    assert [e['iteration'] for e in log] == list(range(len(log))) and len(log) >= 3


@pytest.mark.parametrize('name', ['log', 'log.jsonl'])
def test_a_torn_end_is_repaired_wherever_it_is_torn(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    whole = [{'a': i, 'text': '}\n,{"ä'} for i in range(3)]
    LogFile().replace(str(path), whole)
    content = path.read_bytes().rstrip(b' ')
    counts = []
    for size in range(1, len(content)):
        tail = (b'', b'\0' * 9, b'\xff\xc3')[size % 3]
        path.write_bytes(content[:size] + tail)
        repair(str(path))
        counts.append(len(parsed(path)))
        assert parsed(path) == whole[: counts[-1]]
    # A dict that is complete is kept: its last byte is the last that is needed.
    added = [i for i, (before, after) in enumerate(zip([0, *counts], counts, strict=False)) if after > before]
    assert counts == sorted(counts) and [content[i : i + 1] for i in added] == [b'}'] * 3


@pytest.mark.parametrize('content', ['', 'notes', '{"a": 1}', '[]', '[1]', '[\n{"a": 1}\n]\n   '])
def test_what_is_not_torn_or_no_log_is_left_alone(tmp_path: Path, content: str) -> None:
    (tmp_path / 'log').write_text(content)
    repair(str(tmp_path / 'log'))
    assert (tmp_path / 'log').read_text() == content
    repair(str(tmp_path / 'missing'))
    assert not (tmp_path / 'missing').exists()


def test_the_next_start_repairs(make_trainer: Any, tmp_path: Path) -> None:
    report, out = run(make_trainer, 3)
    path = out / 'log'
    path.write_bytes(path.read_bytes()[:-20])
    trainer = make_trainer((3, 'iteration'))
    trainer.extend(extensions.LogReport(trigger=(100, 'iteration')))
    trainer.run()
    assert parsed(path) == report.log[:2]


@pytest.mark.parametrize('owner', ['LogReport', 'PrintReport'])
@pytest.mark.parametrize('name', ['log', 'log.jsonl', 'log{iteration}'])
def test_a_resumed_run_drops_what_came_after_its_snapshot(
    make_trainer: Any, tmp_path: Path, name: str, owner: str
) -> None:
    def make(stop: int) -> Any:
        trainer = make_trainer((stop, 'iteration'))
        report = extensions.LogReport(trigger=EVERY, filename=name)
        print_report = extensions.PrintReport(['epoch'], report, io.StringIO())
        trainer.extend(report if owner == 'LogReport' else print_report, name=owner)
        return trainer

    path = tmp_path / 'out' / name
    trainer = make(4)
    trainer.run()
    save_npz(tmp_path / 'snapshot', trainer)
    trainer = make(7)
    load_npz(tmp_path / 'snapshot', trainer)
    trainer.run()
    seen: list[Any] = []
    trainer = make(9)
    load_npz(tmp_path / 'snapshot', trainer)
    # The first update has been done, and nothing was logged since.
    look = (lambda t: seen.append(parsed(path))) if name != 'log{iteration}' else (lambda t: None)
    trainer.extend(look, name='look', trigger=EVERY, priority=400)
    trainer.run()
    assert [e['iteration'] for e in parsed(Path(str(path).format(iteration=9)))] == list(range(1, 10))
    assert [len(log) for log in seen] == ([4, 5, 6, 7, 8] if seen else [])


def test_errors_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / 'missing' / 'log'
    with pytest.raises(OSError, match=r'cannot save log, nothing was written: No such file .*missing'):
        LogFile().append(str(path), [], entry(0))


@pytest.mark.parametrize('name', ['log', 'log.jsonl'])
def test_a_disk_that_becomes_full_leaves_the_log_of_before(tmp_path: Path, name: str) -> None:
    resource = pytest.importorskip('resource', reason='limits of the system')
    path = tmp_path / name
    file, log = fill(path, 3)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 700, before[1]))
    try:
        with pytest.raises(OSError, match=f'cannot save {name}, nothing was written'):
            add_many(file, path, log)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    written = parsed(path)
    assert 5 < len(written) < 15
    assert written == [*log, entry(len(log))][: len(written)]


# --- costs ---


def test_an_entry_costs_the_same_whatever_is_there(tmp_path: Path) -> None:
    """30 µs on an idle machine; the whole file takes 40 ms to write."""
    log = [entry(i) for i in range(10_000)]
    file = LogFile()
    file.replace(str(tmp_path / 'log'), log)
    times = []
    for i in range(300):
        start = time.perf_counter()
        add(file, tmp_path / 'log', log, entry(i))
        times.append(time.perf_counter() - start)
    assert statistics.median(times) < 1e-3


def test_a_snapshot_compresses_a_long_log_quickly(tmp_path: Path) -> None:
    """By the lowest level of deflate, which takes a sixth of the time: the entry has its size."""
    report = extensions.LogReport(filename=None)
    report.log.extend(map(entry, range(1000)))
    save_npz(tmp_path / 'snapshot', report)
    with zipfile.ZipFile(tmp_path / 'snapshot') as archive:
        size = archive.getinfo('_log.npy').compress_size
        fast, slow = (len(zlib.compress(archive.read('_log.npy'), level)) for level in (1, 6))
    assert size == pytest.approx(fast, rel=0.01) and size > 1.1 * slow
    loaded = extensions.LogReport(filename=None)
    load_npz(tmp_path / 'snapshot', loaded)
    assert loaded.log == report.log


def test_print_report_reads_only_what_is_new() -> None:
    class Log(list[Any]):
        read = 0

        def __getitem__(self, index: Any) -> Any:
            found = super().__getitem__(index)
            self.read += len(found)
            return found

    report = extensions.LogReport(filename=None)
    report._log = log = Log([{'epoch': 1}] * 100)
    trainer: Any = type('Trainer', (), {'get_extension': lambda self, name: report})()
    table = extensions.PrintReport(['epoch'], out=io.StringIO())
    for _ in range(50):
        table(trainer)
    log.append({'epoch': 2})
    table(trainer)
    assert log.read == 101
