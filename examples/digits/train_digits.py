"""Trains a small convolutional network on 1437 handwritten digits and measures it on 360 others.

python examples/digits/train_digits.py --epoch 20 --out result
python examples/digits/train_digits.py --epoch 40 --out result --resume result/snapshot.npz
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

import numpy as np
from model import DigitNet

import minichainer as chainer
import minichainer.links as L
from minichainer import training
from minichainer.training import extensions

PICTURES = ('loss', 'accuracy')


class Reshuffle:
    """Draws each epoch's order from the seed and the order before it.

    A snapshot holds the current order, so a resumed run sees the same batches as one that never stopped.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def __call__(self, order: np.ndarray, position: int) -> np.ndarray:
        random = np.random.RandomState([self._seed, *order[:4]])
        return random.permutation(len(order))


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='Train a small convolutional network on handwritten digits.')
    parser.add_argument('--epoch', '-e', type=int, default=20, help='passes over the training images')
    parser.add_argument('--batchsize', '-b', type=int, default=32, help='images per update')
    parser.add_argument('--unit', '-u', type=int, default=100, help='units of the hidden layer')
    parser.add_argument('--resume', '-r', default='', metavar='SNAPSHOT', help='go on from a snapshot')
    parser.add_argument('--device', '-d', default='@numpy', help='@numpy, or @cupy:0 for the first GPU')
    parser.add_argument('--out', '-o', default='result', help='folder for log and snapshot')
    parser.add_argument('--seed', '-s', type=int, default=0, help='seed of initial weights and order')
    args = parser.parse_args(argv)
    for name in ('epoch', 'batchsize', 'unit'):
        if getattr(args, name) < 1:
            parser.error(f'--{name} must be at least 1')
    if args.seed < 0:
        parser.error('--seed must not be negative')
    if args.resume and not os.path.isfile(args.resume):
        parser.error(f'--resume: there is no file {args.resume}')
    return args


def make_trainer(args: argparse.Namespace, model: Any, train: Any, test: Any) -> Any:
    optimizer = chainer.optimizers.Adam()
    optimizer.setup(model)
    optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(1e-4))
    train_iter = chainer.iterators.SerialIterator(train, args.batchsize, order_sampler=Reshuffle(args.seed))
    test_iter = chainer.iterators.SerialIterator(test, 120, repeat=False, shuffle=False)

    updater = training.StandardUpdater(train_iter, optimizer, device=args.device)
    trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)
    trainer.extend(extensions.Evaluator(test_iter, model, device=args.device))
    trainer.extend(extensions.LogReport())
    entries = ['epoch', 'main/loss', 'main/accuracy', 'validation/main/loss', 'validation/main/accuracy']
    trainer.extend(extensions.PrintReport([*entries, 'elapsed_time']))
    if extensions.PlotReport.available():
        for what in PICTURES:
            keys = [f'main/{what}', f'validation/main/{what}']
            trainer.extend(extensions.PlotReport(keys, 'epoch', filename=f'{what}.png'), name=f'plot {what}')
    trainer.extend(extensions.ProgressBar(update_interval=10))
    trainer.extend(extensions.snapshot(filename='snapshot.npz'), trigger=(1, 'epoch'))
    if args.resume:
        chainer.serializers.load_npz(args.resume, trainer)
    return trainer


def held_out_accuracy(model: Any, test: Any) -> float:
    x, t = chainer.dataset.concat_examples(test, model.device)
    with chainer.using_config('train', False), chainer.no_backprop_mode():
        scores = model.predictor(x).array
    return float((scores.argmax(axis=1) == t).mean())


def main(argv: list[str] | None = None) -> float:
    """Trains as the arguments say; returns the accuracy on the held-out images."""
    args = parse_args(argv)
    np.random.seed(args.seed)
    train, test = chainer.datasets.get_digits(ndim=3)
    model = L.Classifier(DigitNet(args.unit))
    trainer = make_trainer(args, model, train, test)

    start = time.perf_counter()
    trainer.run()
    seconds = time.perf_counter() - start
    accuracy = held_out_accuracy(model, test)
    print(f'Trained for {seconds:.1f} s.')
    for what, name in [('Log', 'log'), ('Snapshot', 'snapshot.npz'), *[('Picture', f'{p}.png') for p in PICTURES]]:
        path = os.path.join(args.out, name)
        if os.path.isfile(path):
            print(f'{what + ":":<10}{path}')
    print(f'{100 * accuracy:.2f} % of {len(test)} held-out images are classified correctly.')
    return accuracy


if __name__ == '__main__':
    main()
