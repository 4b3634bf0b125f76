"""Random training programs do what they did in Chainer 7.8.1, and read and write its files.

A program is made from its seed (`random_programs`), runs, and then goes on from the file that it has saved. What
Chainer made of both runs, and the entries of its file, are in `tests/reference/random_programs.json.gz`; programs
whose figures are decided by rounding are left out there (`record_random_programs`).
"""

from __future__ import annotations

import functools
import gzip
import json
import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

import minichainer
from tests.reference.replay import TOLERANCES
from tests.training.program_parts import differences, entries_of, write_entries
from tests.training.program_runs import Run, saved_files
from tests.training.random_programs import EVENT_TRIGGERS, HOOKS, OPTIMIZERS, SHIFTS, checksum, make_program
from tests.training.record_random_programs import RECORDED

#: The first programs are a part of each run of the suite; `-m slow` takes the others.
EACH_TIME = 100

#: Entries of our files that Chainer neither writes nor asks for, and what they are for.
OURS_ALONE = {
    'observation': 'extensions that were not called yet when the file was written',
    'progress': 'which extensions these are',
    'random': 'a resumed run draws what the unbroken one does',
    'stop_trigger/*': 'EarlyStoppingTrigger goes on counting',
    'extensions/*/_summary/*': 'ParameterStatistics goes on with its interval',
    'extensions/*/_trigger/*': 'so do it and MicroAverage',
    'extensions/*/_last_value': 'WarmupShift goes on',
    '*loss_scale': 'an adapted loss scale stays',
    '*loss_scaling_isnan_ever': 'so does whether it may still grow fast',
    'updater/single precision:*': 'float32 copies of parameters stay exact',
}


#: Extensions of Chainer that programs have.
EXTENSIONS = """
    LogReport PrintReport ProgressBar observe_lr observe_value ParameterStatistics MicroAverage
    FailOnNonNumber unchain_variables DumpGraph snapshot_object
""".split()


@functools.cache
def recorded() -> list[str]:
    """A line of JSON for each program."""
    return gzip.decompress(RECORDED.read_bytes()).decode().splitlines()[1:]


def rows() -> list[Any]:
    seeds = [re.findall(r'\d+', line)[0] for line in recorded()]
    marks = [[] if i < EACH_TIME else [pytest.mark.slow] for i in range(len(seeds))]
    return [pytest.param(i, id=seed, marks=marks[i]) for i, seed in enumerate(seeds)]


def file_differences(got: dict[str, Any], expected: dict[str, Any], tolerance: tuple[float, float]) -> list[str]:
    """What differs between two files, except for entries that Chainer does not ask for."""
    shared = {key: entry for key, entry in got.items() if not any(fnmatchcase(key, row) for row in OURS_ALONE)}
    additional = {key: entry for key, entry in got.items() if key in expected}
    return list(differences({**shared, **additional}, expected, tolerance, 'file'))


def without_early_logs(got: dict[str, Any], expected: dict[str, Any]) -> dict[str, Any]:
    """A resumed run without files of logs that Chainer writes later: a LogReport writes the log it got at once."""
    logs = {key: log for key, log in got['logs'].items() if key in expected['logs'] or not key.startswith('file')}
    files = [name for name in got['files'] if name in expected['files'] or not name.startswith('log')]
    return {**got, 'logs': logs, 'files': files}


@pytest.mark.parametrize('row', rows())
def test_program(row: int, tmp_path: Path) -> None:
    expected = json.loads(recorded()[row])
    program = make_program(expected['seed'])
    assert checksum(program) == expected['program'], 'the seed makes another program: record again'
    tolerance = TOLERANCES[program['dtype']]
    ours, theirs, second = (tmp_path / name for name in ('ours', 'theirs', 'second'))
    for folder in (ours, theirs, second):
        folder.mkdir()
    found = list(differences(Run(program, minichainer, ours).record(), expected['first'], tolerance, 'first'))
    files = {path.name: entries_of(path) for path in saved_files(program, ours)}
    assert files.keys() == expected['files'].keys()
    for name, entries in expected['files'].items():
        found += file_differences(files[name], entries, tolerance)
        write_entries(theirs / name, entries)
    if expected['second'] is not None:
        got = Run(program, minichainer, second, theirs).record()
        found += differences(without_early_logs(got, expected['second']), expected['second'], tolerance, 'second')
    assert not found, '\n'.join([json.dumps(program, indent=1), *found])


def test_enough_is_recorded() -> None:
    """Two hundred programs, most of which are resumed, with all optimizers, hooks, shifts and kinds of extensions."""
    entries = [json.loads(line) for line in recorded()]
    assert len(entries) >= 200 and sum(entry['second'] is not None for entry in entries) >= 100
    programs = [make_program(entry['seed']) for entry in entries]
    text = '\n'.join(json.dumps(program).replace('\\"', '"') for program in programs)
    assert not [name for name in EXTENSIONS if not hasattr(minichainer.training.extensions, name)]
    parts = [*OPTIMIZERS, *HOOKS, *EVENT_TRIGGERS, *(text.split('(')[0] for text in SHIFTS), *EXTENSIONS]
    assert not [part for part in parts if part not in text]
