"""Training steps on a GPU, beside torch eager, in one command.

    python benchmarks/gpu.py [--device @cupy:0] [--workload lenet ...] [--rounds 7] [--seconds 0.5] [--json FILE]
    python benchmarks/gpu.py --device @numpy      (the same on the CPU, which shows that it runs, and no more)

Each library is a process of its own, and they take turns. A turn is as many steps as take ``--seconds``, and then one
wait for the device: what is measured is the wall time per step of a training that does not wait after each step.
Medians over the rounds with their range; ratios to ``torch`` are medians of the rounds' ratios. ``first`` is the time
of the first step in seconds, which compiles kernels unless they are in the cache on the disk.

``torch`` computes convolutions with all digits of float32, as CuPy does; ``torch best`` has its default there (TF32),
fused Adam, and images with the channels last. The table is Markdown, for ``docs/gpu.md``. The exit status is 2 if
there is no such device, and 1 if a training of minichainer fails; without torch its rows say so.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
import traceback

import training
import workloads

LIBRARIES = ['minichainer', 'torch', 'torch best']
WARM_UP = 5


# --- one library in its own process -------------------------------------------------------------------------------
def work(library, workload, device):
    """Prints versions and the time of the first step; then answers numbers of steps with the seconds of each step."""
    try:
        wait, versions = surroundings(library, device)
        step = workloads.make_step(library, workload, device)
        first = seconds_per_step(step, wait, 1)
    except Exception as error:
        if not isinstance(error, ImportError):
            traceback.print_exc()
        print(json.dumps({'error': f'{type(error).__name__}: {error}'}))
        return
    seconds_per_step(step, wait, WARM_UP)
    print(json.dumps({'first': first, 'versions': versions}), flush=True)
    for line in sys.stdin:
        print(seconds_per_step(step, wait, int(line)), flush=True)


def surroundings(library, device):
    """A function that waits for the device, and what the library says about itself and the device."""
    if library.startswith('torch'):
        import torch

        if library == 'torch':  # as CuPy, whose products have all digits of float32
            torch.backends.cudnn.allow_tf32 = False
        versions = {'torch': f'{torch.__version__} (CUDA {torch.version.cuda})'}
        return (
            lambda: None if device == '@numpy' else torch.cuda.synchronize(workloads.torch_device(device)),
            versions,
        )
    import minichainer
    from minichainer._runtime_info import runtime_info

    info = runtime_info()
    names = ['minichainer', 'Python', 'NumPy', 'CuPy', 'CUDA runtime', 'CUDA driver', 'Devices']
    place = minichainer.get_device(device)
    if device == '@numpy':
        return (lambda: None), {name: info[name] for name in names}
    place.use()
    return place.device.synchronize, {name: info[name] for name in names}


def seconds_per_step(step, wait, count):
    wait()
    start = time.perf_counter()
    for _ in range(count):
        step()
    wait()
    return (time.perf_counter() - start) / count


# --- all of them --------------------------------------------------------------------------------------------------
class Worker:
    """A process that does steps of one library when it is told to."""

    def __init__(self, library, workload, device):
        command = [sys.executable, __file__, '--worker', library, '--workload', workload, '--device', device]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=training.environment(library, sys.executable),
        )
        self.about = json.loads(self.process.stdout.readline() or '{"error": "the process ended"}')

    def milliseconds(self, count):
        self.process.stdin.write(f'{count}\n')
        self.process.stdin.flush()
        return 1e3 * float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def measure(workload, device, rounds, seconds):
    """What each library says about itself, with 'ms', the milliseconds per step of each round, if it works."""
    workers = {name: Worker(name, workload, device) for name in LIBRARIES}
    found = {name: worker.about for name, worker in workers.items()}
    working = {name: worker for name, worker in workers.items() if 'error' not in worker.about}
    counts = {name: max(1, int(1e3 * seconds / worker.milliseconds(3))) for name, worker in working.items()}
    for name in working:
        found[name]['ms'] = []
    for _ in range(rounds):
        for name, worker in working.items():
            found[name]['ms'].append(worker.milliseconds(counts[name]))
    for worker in workers.values():
        worker.close()
    return found


def rows(workload, found):
    """Lines of the table for a workload."""
    for name, about in found.items():
        if 'error' in about:
            yield f'| {workload} | {name} | {about["error"]} | | | |'
            continue
        times = about['ms']
        peer = training.ratio(times, found['torch'].get('ms'))
        yield (
            f'| {workload} | {name} | {statistics.median(times):.3f} | {min(times):.3f} - {max(times):.3f} '
            f'| {about["first"]:.2f} | {f"{peer:.2f}" if peer else ""} |'
        )


def heading(found, device):
    """What was measured where: versions of both libraries, the driver and the device."""
    versions = {}
    for about in found.values():
        versions |= about.get('versions', {})
    return ', '.join([f'{name}: {version}' for name, version in versions.items()] + [f'measured on {device}'])


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--device', default='@cupy:0')
    parser.add_argument('--workload', nargs='+', choices=sorted(workloads.BATCH), default=list(workloads.BATCH))
    parser.add_argument('--rounds', type=int, default=7)
    parser.add_argument('--seconds', type=float, default=0.5, help='of steps in each turn')
    parser.add_argument('--json', help='file to write all figures to')
    parser.add_argument('--worker', choices=LIBRARIES, help='for the processes that this one starts')
    return parser.parse_args()


def main():
    options = parse()
    if options.worker:
        work(options.worker, options.workload[0], options.device)
        return 0
    import minichainer

    try:
        minichainer.get_device(options.device)
    except (RuntimeError, ValueError) as error:
        print(f'benchmarks/gpu.py: --device {options.device}: {error}', file=sys.stderr)
        return 2
    results = {}
    for workload in options.workload:
        results[workload] = measure(workload, options.device, options.rounds, options.seconds)
        if len(results) == 1:
            print(heading(results[workload], options.device))
            print('\n| workload | library | ms per step | range | first, s | / torch |\n|---|---|---|---|---|---|')
        print('\n'.join(rows(workload, results[workload])), flush=True)
    if options.json:
        with open(options.json, 'w', encoding='utf-8') as file:
            json.dump(results, file, indent=1)
    return int(any('error' in found['minichainer'] for found in results.values()))


if __name__ == '__main__':
    raise SystemExit(main())
