"""Runs programs of the corpus with a real Chainer and records the figures that they print.

    python tests/compat/record_programs.py --python OLD/bin/python [--into programs.json] [--check] [PROGRAM ...]

Without PROGRAM: all programs whose docstring names the version of Chainer that the interpreter has (see below).

What is needed to run a program is in its docstring, whose first line begins with the dialect (``v1:`` ... ``v7:``).
Further lines may say

    Arguments: --epoch 2 --out result
    Recorded with: 1.24.0        (else 7.8.1)
    Legacy: v1                   (what the `run` command needs as --legacy; else null)
    Tolerance: 1e-3              (else 1e-4)

A figure is a line ``name value`` of the program's output. Each program runs twice, in an empty folder each time, and
must print the same figures both times. ``--check`` compares with the recorded figures and writes nothing.
"""

import argparse
import ast
import json
import math
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
FIGURE = re.compile(r'^([A-Za-z_][\w./:@-]*) ([-+]?[\d.]+(?:e[-+]?\d+)?)$')
FIELD = re.compile(r'^(Arguments|Recorded with|Legacy|Tolerance): (.*)$', re.MULTILINE)
LIMIT = 120  # seconds
VERSION = 'import chainer; print(chainer.__version__)'
FIXED = {
    'MPLBACKEND': 'Agg',
    'PYTHONHASHSEED': '0',
    'PYTHONDONTWRITEBYTECODE': '1',
    # The Caffe schema of the old Chainers does not load in the C++ implementation of later protobufs.
    'PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION': 'python',
}


def description(path):
    """Returns what the docstring of a program says: its dialect, arguments, version, legacy switch and tolerance."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding='utf-8'))) or ''
    dialect = re.match(r'v[1-7]: ', text)
    if dialect is None:
        raise ValueError(f'{path.name}: the docstring must begin with the dialect (v1: ... v7:)')
    fields = dict(FIELD.findall(text))
    return {
        'arguments': shlex.split(fields.get('Arguments', '')),
        'recorded_with': 'Chainer ' + fields.get('Recorded with', '7.8.1'),
        'legacy': fields.get('Legacy'),
        'rtol': float(fields.get('Tolerance', '1e-4')),
    }


def figures_of(output):
    """Returns the figures among the lines of a program's output, in their order.

    Raises:
        ValueError: if there is none, or one is printed twice.
    """
    found = {}
    for line in output.splitlines():
        match = FIGURE.match(line)
        if match is None:
            continue
        name, value = match[1], float(match[2])
        if name in found or not math.isfinite(value):
            raise ValueError(f'figure {name!r} is printed twice or not finite')
        found[name] = value
    if not found:
        raise ValueError('no figure is printed')
    return found


def environment():
    """Returns the environment of the programs: one thread per library and no display."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(('PYTHON', 'CHAINER'))}
    threads = dict.fromkeys(['OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS'], '1')
    return {**kept, **threads, **FIXED}


def output_of(command):
    """Runs a command in an empty folder and returns its standard output and the seconds it took."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
    if done.returncode:
        raise RuntimeError(f'exit status {done.returncode}\n{done.stdout[-1000:]}\n{done.stderr[-3000:]}')
    return done.stdout, time.perf_counter() - start


def recorded(python, path, entry):
    """Runs a program twice; returns its entry with the figures, and the seconds of the second run."""
    command = [python, str(path), *entry['arguments']]
    first = figures_of(output_of(command)[0])
    output, seconds = output_of(command)
    second = figures_of(output)
    if first != second:
        differing = {k: (first.get(k), second.get(k)) for k in first | second if first.get(k) != second.get(k)}
        raise ValueError(f'two runs differ: {differing}')
    ordered = ('arguments', 'recorded_with', 'legacy', 'figures', 'rtol')
    return {key: {**entry, 'figures': first}[key] for key in ordered}, seconds


def differences(expected, got, rtol):
    """Returns what differs between two tables of figures, as lines."""
    missing = [f'{name}: only in one of them' for name in sorted(set(expected) ^ set(got))]
    return missing + [
        f'{name}: recorded {expected[name]}, got {got[name]}'
        for name in expected
        if name in got and abs(expected[name] - got[name]) > rtol * max(abs(expected[name]), 1e-6)
    ]


def selected(names, version):
    """Returns path and description of the programs named, or of all that this version of Chainer records."""
    programs = HERE / 'programs'
    paths = [programs / Path(n).name for n in names] or sorted(programs.glob('v[1-7]_*.py'))
    described = [(path, description(path)) for path in paths]
    return [(p, d) for p, d in described if names or d['recorded_with'] == f'Chainer {version}']


def attempt(python, path, entry, old, check):
    """Returns the new entry or None, and a line that says how it went."""
    try:
        new, seconds = recorded(python, path, entry)
    except (ValueError, RuntimeError, subprocess.TimeoutExpired) as error:
        return None, f'FAILED {path.name}: {error}'
    wrong = differences(old.get('figures', {}), new['figures'], entry['rtol']) if check else []
    if wrong:
        return None, '\n    '.join([f'DIFFERS {path.name}:', *wrong])
    return new, f'ok {path.name}: {len(new["figures"])} figures, {seconds:.1f} s'


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('programs', nargs='*', help='files in tests/compat/programs')
    parser.add_argument('--python', required=True, help='interpreter that has the real Chainer')
    parser.add_argument('--into', default='programs.json', help='file next to this script')
    parser.add_argument('--check', action='store_true', help='compare with the recorded figures, write nothing')
    parser.add_argument('--jobs', type=int, default=2)
    args = parser.parse_args()

    version = output_of([args.python, '-c', VERSION])[0].strip()
    into = HERE / args.into
    entries = json.loads(into.read_text(encoding='utf-8')) if into.exists() else {}
    chosen = selected(args.programs, version)
    with ThreadPoolExecutor(args.jobs) as pool:
        done = list(
            pool.map(lambda c: attempt(args.python, c[0], c[1], entries.get(c[0].name, {}), args.check), chosen)
        )
    for (path, described), (new, line) in zip(chosen, done, strict=True):
        print(line)
        if new is not None and described['recorded_with'] == f'Chainer {version}':
            entries[path.name] = new
    if not args.check:
        into.write_text(json.dumps(dict(sorted(entries.items())), indent=1) + '\n', encoding='utf-8')
    return int(any(new is None for new, _ in done))


if __name__ == '__main__':
    sys.exit(main())
