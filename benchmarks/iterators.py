"""Reading 1 000 JPEG files: MultiprocessIterator and MultithreadIterator beside SerialIterator.

    python benchmarks/iterators.py [--images 1000] [--size 256] [--rounds 5] [--processes 2] [--share]

The images are made in a temporary folder: noise of several sizes, so that they compress as photographs do. The
iterators take turns; each reads all images once per turn, with its processes and threads running already. Figures
are medians of the rounds with their range; ratios are medians of the rounds' ratios to SerialIterator. The last row
is the bound: as many processes decode the images and send nothing. The allocator is tuned, as Trainer does it.

``--share`` also says where the time goes: how long one process takes to decode, and what the parent does for each
image when the examples are ready.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import statistics
import sys
import tempfile
import time

import numpy as np
from PIL import Image

from minichainer.allocator import tune_allocator
from minichainer.datasets.image_dataset import ImageDataset
from minichainer.iterators import MultiprocessIterator, MultithreadIterator, SerialIterator

BOUND = 'processes that send nothing'


def make_images(folder, count, size):
    """JPEG files of smooth noise, with some fine noise on top."""
    random = np.random.RandomState(0)
    names = []
    for i in range(count):
        coarse = Image.fromarray(random.randint(0, 256, (size // 16, size // 16, 3), np.uint8))
        image = np.asarray(coarse.resize((size, size), Image.BICUBIC), np.int16)
        image = np.clip(image + random.randint(-12, 13, image.shape), 0, 255).astype(np.uint8)
        names.append(os.path.join(folder, f'{i}.jpg'))
        Image.fromarray(image).save(names[-1], quality=90)
    return names


def turn(iterator, batches):
    """Seconds, and processor seconds of this process, for some mini-batches."""
    wall, processor = time.perf_counter(), time.process_time()
    for _ in range(batches):
        iterator.next()
    return time.perf_counter() - wall, time.process_time() - processor


def measure(iterators, batches, rounds, processes):
    times = {name: [] for name in [*iterators, BOUND]}
    for iterator in iterators.values():
        turn(iterator, 2)
        iterator.reset()
    for _ in range(rounds):
        for name, iterator in iterators.items():
            iterator.next()  # begins to read ahead
            time.sleep(0.05)
            times[name].append(turn(iterator, batches))
            iterator.reset()
        times[BOUND].append((bound(next(iter(iterators.values())).dataset, processes), math.nan))
    return times


def bound(dataset, processes):
    """Seconds that processes take that share the images and send nothing."""
    workers = [multiprocessing.Process(target=decode, args=(dataset, k, processes)) for k in range(processes)]
    start = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return time.perf_counter() - start


def decode(dataset, first, step):
    for i in range(first, len(dataset), step):
        dataset[i]


def show(times):
    print(f'{"":28}{"seconds":>8}  {"range":>13}  {"of this process":>15}  {"ratio":>5}  range')
    serial = [wall for wall, _ in times['SerialIterator']]
    for name, pairs in times.items():
        walls = [wall for wall, _ in pairs]
        ratios = [a / b for a, b in zip(serial, walls, strict=True)]
        spread = f'{min(walls):.2f} - {max(walls):.2f}'
        line = (
            f'{name:28}{statistics.median(walls):8.2f}  {spread:>13}  {statistics.median(p for _, p in pairs):15.2f}'
        )
        print(f'{line}  {statistics.median(ratios):5.2f}  {min(ratios):.2f} - {max(ratios):.2f}')


def share(dataset, options):
    """Milliseconds per image of the steps."""
    start = time.process_time()
    for i in range(len(dataset)):
        dataset[i]
    print(f'\ndecoding one image: {(time.process_time() - start) / len(dataset) * 1e3:.2f} ms of a processor')
    with MultiprocessIterator(dataset, options.batch, n_processes=options.processes, n_prefetch=2) as iterator:
        iterator.next()
        time.sleep(3)
        start = time.process_time()
        iterator.next()
        seconds = time.process_time() - start
    print(f'the parent for an image that is ready: {seconds / options.batch * 1e3:.2f} ms')


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--images', type=int, default=1000)
    parser.add_argument('--size', type=int, default=256)
    parser.add_argument('--batch', type=int, default=32)
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--processes', type=int, default=2)
    parser.add_argument('--share', action='store_true')
    return parser.parse_args()


def main():
    options = parse()
    tune_allocator()
    with tempfile.TemporaryDirectory() as folder:
        dataset = ImageDataset(make_images(folder, options.images, options.size), dtype=np.uint8)
        args, workers = (dataset, options.batch), options.processes
        iterators = {
            'SerialIterator': SerialIterator(*args),
            f'MultiprocessIterator, {workers}': MultiprocessIterator(*args, n_processes=workers, n_prefetch=2),
            f'MultithreadIterator, {workers}': MultithreadIterator(*args, n_threads=workers),
        }
        print(f'{options.images} images of {options.size} x {options.size}, {sys.version.split()[0]}')
        show(measure(iterators, options.images // options.batch, options.rounds, workers))
        for iterator in iterators.values():
            iterator.finalize()
        if options.share:
            share(dataset, options)


if __name__ == '__main__':
    main()
