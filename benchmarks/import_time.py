"""Seconds that ``import`` takes in a fresh interpreter: minichainer beside torch, NumPy and an empty program.

    python benchmarks/import_time.py [--rounds 9]

The programs take turns; medians. NumPy's own time is part of both.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time

PROGRAMS = {'nothing': 'pass', 'numpy': 'import numpy', 'minichainer': 'import minichainer', 'torch': 'import torch'}


#: As on a user's machine, the modules are compiled once and not at every start.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != 'PYTHONDONTWRITEBYTECODE'}


def seconds(code: str) -> float:
    begin = time.perf_counter()
    subprocess.run([sys.executable, '-c', code], check=True, capture_output=True, env=ENVIRONMENT)
    return time.perf_counter() - begin


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--rounds', type=int, default=9)
    rounds = parser.parse_args().rounds
    programs = dict(PROGRAMS)
    try:
        for code in programs.values():
            seconds(code)
    except subprocess.CalledProcessError:
        print('torch is not installed: left out')
        del programs['torch']
    samples: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(rounds):
        for name, code in programs.items():
            samples[name].append(seconds(code))
    medians = {name: statistics.median(values) for name, values in samples.items()}
    start = medians.pop('nothing')
    for name, value in medians.items():
        print(f'{name:<12} {value - start:6.3f} s')
    if 'torch' in medians:
        print(f'minichainer / torch: {(medians["minichainer"] - start) / (medians["torch"] - start):.3f}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
