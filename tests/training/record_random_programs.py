"""Records what Chainer makes of the random programs, and lets it read what this package has written.

    OLD/bin/python -m tests.training.record_random_programs

records 220 programs; OLD is an environment with Chainer 7.8.1. To try files in the other direction,

    python -m tests.training.record_random_programs --write FOLDER
    OLD/bin/python -m tests.training.record_random_programs --read FOLDER

The first command lets this package run all recorded programs. The second lets Chainer go on from their files, and
prints what differs from the recorded figures, for which it went on from its own files.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import importlib
import io
import itertools
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.reference.replay import TOLERANCES
from tests.training.program_parts import differences
from tests.training.program_runs import Run, play
from tests.training.random_programs import checksum, make_program

RECORDED = Path(__file__).resolve().parent.parent / 'reference' / 'random_programs.json.gz'
PROGRAMS = 220
#: Digits of the figures of logs and steps; files keep all that they have.
DIGITS = 10


def rounded(value: Any) -> Any:
    """The same lists and dicts with fewer digits."""
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return float(f'{value:.{DIGITS}g}') if isinstance(value, float) else value


def record(seed: int, chainer: Any) -> dict[str, Any] | None:
    """What is recorded of a program; None if rounding decides what it gives, as far as that can be seen."""
    program = make_program(seed)
    tolerance = TOLERANCES[program['dtype']]
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        found = play(program, chainer, Path(one))
        nudged = play(program, chainer, Path(other), 4 * float(np.finfo(program['dtype']).eps))
    narrow = tolerance[0] / 3, tolerance[1] / 3
    if any(differences(nudged, found, narrow)):
        return None
    return {'seed': seed, 'program': checksum(program), **rounded(found), 'files': found['files']}


def record_all(chainer: Any) -> None:
    found = (record(seed, chainer) for seed in itertools.count())
    lines = [json.dumps(each, separators=(',', ':')) for each in itertools.islice(filter(None, found), PROGRAMS)]
    versions = json.dumps({'chainer': chainer.__version__, 'numpy': np.__version__})
    RECORDED.write_bytes(gzip.compress('\n'.join([versions, *lines, '']).encode(), 9, mtime=0))


def recorded() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Programs, and what is recorded of them."""
    for line in gzip.decompress(RECORDED.read_bytes()).decode().splitlines()[1:]:
        entry = json.loads(line)
        yield make_program(entry['seed']), entry


def write_all(package: Any, folder: Path) -> None:
    for program, _ in recorded():
        part = folder / str(program['seed'])
        part.mkdir(parents=True)
        Run(program, package, part).record()


def read_all(chainer: Any, folder: Path) -> list[str]:
    """What differs where Chainer goes on from files of this package."""
    found: list[str] = []
    for program, entry in recorded():
        if entry['second'] is not None:
            with tempfile.TemporaryDirectory() as empty:
                run = Run(program, chainer, Path(empty), folder / str(program['seed']))
                got = rounded(run.record())
            tolerance = TOLERANCES[program['dtype']]
            found += differences(got, entry['second'], tolerance, f'seed {program["seed"]}')
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--write', type=Path)
    parser.add_argument('--read', type=Path)
    args = parser.parse_args()
    package = importlib.import_module('minichainer' if args.write else 'chainer')
    with contextlib.redirect_stdout(io.StringIO()):  # progress bars
        if args.write:
            write_all(package, args.write)
        found = read_all(package, args.read) if args.read else []
        if not args.write and not args.read:
            record_all(package)
    print('\n'.join([*found, f'{sum(1 for _ in recorded())} programs, {len(found)} differences']))


if __name__ == '__main__':
    main()
