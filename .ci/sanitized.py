#!/usr/bin/env python3
"""Runs the suite on compiled parts that were built with gcc's sanitizers, which stop at a wrong access to memory.

    .ci/sanitized.py                    # the whole suite
    .ci/sanitized.py tests/kernels      # a part of it

Run by `make test-sanitized`, with arguments for pytest. What is built is a copy of the checkout, so the one in use
stays as it is.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: What the sanitizers themselves change: the cost of memory, and who gets a signal.
CHANGED = [
    'tests/test_allocator.py::test_large_temporaries_cost_no_page_faults',
    'tests/soak/test_memory_growth.py::test_a_training_does_not_grow',
    'tests/iterators/test_multiprocess_iterator.py::'
    'test_a_process_that_dies_is_an_error_at_once_and_the_batch_is_not_lost[<lambda>-signal SIGSEGV]',
]
FLAGS = '-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g'
SKIPPED = shutil.ignore_patterns('.git', '.venv*', '__pycache__', '*.so', 'build', 'result', '.mypy_cache')


def libraries() -> str:
    """What must be loaded before Python: the sanitizer, and C++'s library, whose exceptions it wraps."""
    names = ('libasan.so', 'libstdc++.so')
    return ':'.join(subprocess.check_output(['gcc', f'-print-file-name={name}'], text=True).strip() for name in names)


def main() -> int:
    parser = argparse.ArgumentParser(description='Run tests on compiled parts built with sanitizers.')
    parser.add_argument('--jobs', default='2', help='test processes that run side by side')
    args, rest = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name) / 'checkout'
        shutil.copytree(ROOT, copy, ignore=SKIPPED)
        built = {**os.environ, 'CFLAGS': FLAGS, 'LDFLAGS': '-fsanitize=address,undefined', 'MINICHAINER_PURE': '0'}
        subprocess.run([sys.executable, 'setup.py', '-q', 'build_ext', '--inplace'], cwd=copy, env=built, check=True)
        # Python frees little at its end, so leaks are not looked for.
        options = {'LD_PRELOAD': libraries(), 'ASAN_OPTIONS': 'detect_leaks=0', 'PYTHONPATH': str(copy)}
        # NVIDIA's compiler does not work under the sanitizers, and compiles nothing of what they watch.
        left_out = ['--ignore=tests/kernels/test_nvrtc.py', *[f'--deselect={test}' for test in CHANGED]]
        command = [sys.executable, '-m', 'pytest', '-q', '-n', args.jobs, '-p', 'no:cacheprovider', *left_out, *rest]
        return subprocess.run(command, cwd=copy, env={**os.environ, **options}).returncode


if __name__ == '__main__':
    sys.exit(main())
