"""What a training step costs: time and memory, beside torch eager and, where there is one, Chainer 7.8.1.

    python benchmarks/training.py [--workload lenet ...] [--rounds 15] [--json FILE]
    python benchmarks/training.py --avx2                     (as on a processor without AVX-512)
    python benchmarks/training.py --chainer-python PATH      (an interpreter with Chainer 7.8.1)
    python benchmarks/training.py --contention               (one or two threads, alone or beside a busy process)

Each library is a process of its own, because the allocator's thresholds belong to a process. All are pinned to one
core, have one thread, and take turns: in each round each does some steps, of which the best counts; medians over the
rounds with their range. Ratios to ``torch`` are medians of the rounds' ratios. What is measured is processor time,
the system's work for the process included: on an idle machine it is the wall time, and on a shared one it does not
count the time that others had the core. (``--contention`` is about just that and measures wall time.)

``torch`` is torch as it is by default (Adam is a loop over the parameters); ``torch best`` has fused Adam, and
images with the channels last; ``torch compiled`` is that with ``torch.compile``; ``jax`` is the whole step under
``jit`` (some workloads, if JAX is installed). ``minichainer tuned`` has called ``tune_allocator()``; ``minichainer
pure`` is tuned and without compiled parts.

Memory is the largest resident size of a fresh process. ``step MiB`` is that of ten steps, less the size after the
import of the library and three steps of a small network: parameters, their gradients, the optimizer's state,
activations and all scratch memory count, and what the libraries load late does not. ``process MiB`` is the whole, as
the machine sees it. (Linux only.)
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import time

ENVIRONMENT = ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS')
if __name__ == '__main__' and '--worker' in sys.argv:
    for _name in ENVIRONMENT:
        os.environ.setdefault(_name, '1')

import workloads  # noqa: E402

#: Variables that take the choice of kernels from OpenBLAS. Torch has its own library: figures with them say nothing.
CHOICES = ('OPENBLAS_CORETYPE', 'OPENBLAS_L2_SIZE')
#: How a processor with AVX-512 does what one with AVX2 would do: each library, OpenBLAS and NumPy have a variable.
AVX2 = {
    'MINICHAINER_NATIVE_LEVEL': 'avx2', 'OPENBLAS_CORETYPE': 'Haswell', 'ATEN_CPU_CAPABILITY': 'avx2',
    'ONEDNN_MAX_CPU_ISA': 'AVX2', 'MKL_ENABLE_INSTRUCTIONS': 'AVX2',
    'NPY_DISABLE_CPU_FEATURES': 'X86_V4 AVX512_ICL AVX512_SPR',
}  # fmt: skip
LIBRARIES = ['minichainer', 'minichainer tuned', 'minichainer pure', 'torch', 'torch best', 'torch compiled', 'jax']
#: Of torch: the bar, and the goal.
GOALS = {
    'mlp_tiny': (0.20, 0.15), 'mlp': (0.40, 0.35), 'lenet': (0.50, 0.45), 'resblk': (0.65, 0.55),
    'lstm': (0.70, 0.55), 'lstm_step': (0.60, 0.50), 'transformer': (0.60, 0.50),
}  # fmt: skip


# --- one library in its own process -------------------------------------------------------------------------------
def work(library, workload):
    """Answers lines of the standard input, numbers of steps, with the processor and wall seconds of each of them."""
    step = workloads.make_step(library, workload)
    for _ in range(3):
        step()
    print('ready', flush=True)
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            wall, processor = time.perf_counter(), time.process_time()
            step()
            times.append([time.process_time() - processor, time.perf_counter() - wall])
        print(json.dumps(times), flush=True)


def memory(library, workload):
    """Prints the bytes that training takes at its peak: beyond a small network's, and altogether."""
    small = workloads.make_step(library, 'mlp_tiny')
    for _ in range(3):
        small()
    base, before = _status('VmRSS'), _status('VmHWM')
    with open('/proc/self/clear_refs', 'w') as file:
        file.write('5')  # forgets the peak so far
    step = workloads.make_step(library, workload)
    for _ in range(10):
        step()
    peak = _status('VmHWM')
    print(json.dumps([peak - base, max(peak, before)]))


def _status(name):
    with open('/proc/self/status') as file:
        return 1024 * int(re.search(name + r':\s+(\d+)', file.read()).group(1))


# --- all of them --------------------------------------------------------------------------------------------------
class Worker:
    """A process that does steps of one library when it is told to."""

    def __init__(self, library, workload, python, threads=1, core=None):
        command = [python, __file__, '--worker', library, '--workload', workload]
        pipes = {'stdin': subprocess.PIPE, 'stdout': subprocess.PIPE, 'text': True}
        self.process = subprocess.Popen(command, env=environment(library, python, threads), **pipes)
        if core is not None:
            os.sched_setaffinity(self.process.pid, {core})
        self.failed = self.process.stdout.readline().strip() != 'ready'

    def steps(self, count, wall=False):
        self.process.stdin.write(f'{count}\n')
        self.process.stdin.flush()
        return [both[wall] for both in json.loads(self.process.stdout.readline())]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def environment(library, python, threads=1):
    found = {**os.environ, **dict.fromkeys(ENVIRONMENT, str(threads))}
    if library == 'minichainer pure':
        found['MINICHAINER_PURE'] = '1'
    if python != sys.executable:
        found.pop('PYTHONPATH', None)
    return found


def last_core():
    return max(os.sched_getaffinity(0)) if hasattr(os, 'sched_setaffinity') else None


def measure(workload, libraries, rounds, seconds):
    """Milliseconds of the best step of each round, for each library."""
    workers = {name: Worker(name, workload, python, core=last_core()) for name, python in libraries.items()}
    failed = [name for name, worker in workers.items() if worker.failed]
    for name in failed:
        workers.pop(name).close()
    counts = {name: max(2, int(seconds / min(worker.steps(3)))) for name, worker in workers.items()}
    times = {name: [] for name in workers}
    for _ in range(rounds):
        for name, worker in workers.items():
            times[name].append(min(worker.steps(counts[name])) * 1e3)
    for worker in workers.values():
        worker.close()
    return times


def peak(workload, library, python):
    command = [python, __file__, '--worker', library, '--workload', workload, '--memory']
    found = subprocess.run(command, capture_output=True, text=True, env=environment(library, python))
    return [size / 2**20 for size in json.loads(found.stdout)] if found.returncode == 0 else [math.nan] * 2


def report(workload, times, peaks):
    bar, goal = GOALS[workload]
    print(f'\n{workload} (bar: {bar:.2f} of torch, goal: {goal:.2f})')
    print(
        f'  {"":20}{"ms":>9}  {"range":>17}  {"/ torch":>8}  {"/ chainer":>9}  {"step MiB":>8}  {"process MiB":>11}'
    )
    for name, values in times.items():
        ratios = [ratio(values, times.get(peer)) for peer in ('torch', 'chainer')]
        shown = [f'{r:.2f}' if r else '' for r in ratios]
        spread = f'{min(values):.2f} - {max(values):.2f}'
        step, process = peaks[name]
        line = f'  {name:20}{statistics.median(values):9.2f}  {spread:>17}  {shown[0]:>8}  {shown[1]:>9}'
        print(f'{line}  {step:8.1f}  {process:11.1f}', flush=True)


def ratio(values, others):
    return statistics.median(a / b for a, b in zip(values, others, strict=True)) if others else None


# --- two threads --------------------------------------------------------------------------------------------------
BUSY = 'while True: pass'


def contention(workload, rounds):
    """Steps with one and with two threads, alone and beside a process that keeps a core busy."""
    print(f'{workload}: ms per step, median (90th percentile) of all steps')
    for threads in (1, 2):
        for others in (0, 1):
            busy = [subprocess.Popen([sys.executable, '-c', BUSY]) for _ in range(others)]
            worker = Worker('minichainer tuned', workload, sys.executable, threads)
            times = sorted(t * 1e3 for _ in range(rounds) for t in worker.steps(20, wall=True))
            worker.close()
            for process in busy:
                process.kill()
                process.wait()
            beside = 'beside a busy process' if others else 'alone'
            late = times[int(0.9 * len(times))]
            print(f'  BLAS with {threads} thread(s), {beside:22} {statistics.median(times):8.2f} ({late:.2f})')


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--workload', nargs='+', choices=sorted(workloads.BATCH), default=list(workloads.BATCH))
    parser.add_argument('--libraries', nargs='+', choices=LIBRARIES, default=LIBRARIES)
    parser.add_argument('--rounds', type=int, default=15)
    parser.add_argument('--seconds', type=float, default=0.15, help='of steps in each turn')
    parser.add_argument('--chainer-python', help='interpreter with Chainer 7.8.1')
    parser.add_argument('--avx2', action='store_true', help='use no instructions of AVX-512')
    parser.add_argument('--contention', action='store_true')
    parser.add_argument('--memory', action='store_true', help='of --worker: print the peak')
    parser.add_argument('--worker', help='for the processes that this one starts')
    parser.add_argument('--json', help='file to write the medians to')
    return parser.parse_args()


def main():
    options = parse()
    if options.worker:
        (memory if options.memory else work)(options.worker, options.workload[0])
        return
    for name in CHOICES:
        os.environ.pop(name, None)
    os.environ.update(AVX2 if options.avx2 else {})
    if options.contention:
        for workload in options.workload:
            contention(workload, options.rounds)
        return
    libraries = dict.fromkeys(options.libraries, sys.executable)
    if options.chainer_python:
        libraries['chainer'] = options.chainer_python
    level = ', no AVX-512' if options.avx2 else ''
    print(f'Python {sys.version.split()[0]}, NumPy {workloads.np.__version__}, core {last_core()}, one thread{level}')
    results = {}
    for workload in options.workload:
        times = measure(workload, libraries, options.rounds, options.seconds)
        peaks = {name: peak(workload, name, libraries[name]) for name in times}
        report(workload, times, peaks)
        results[workload] = {
            name: {
                'ms': statistics.median(values),
                'to torch': ratio(values, times.get('torch')),
                'step and process MiB': peaks[name],
            }
            for name, values in times.items()
        }
    if options.json:
        with open(options.json, 'w', encoding='utf-8') as file:
            json.dump(results, file, indent=1)


if __name__ == '__main__':
    main()
