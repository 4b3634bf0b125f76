"""Trains an LSTM to write like Lewis Carroll, character by character.

python examples/text/train_charlm.py --epoch 6 --out result
python examples/text/train_charlm.py --epoch 9 --out result --resume result/snapshot.npz

The text is alice.txt beside this file; README.md says where it is from. Perplexity is the exponential of the mean
cross entropy: among how many equally probable characters the model would be as unsure.
"""

from __future__ import annotations

import os

# Read when NumPy is first imported. Small products gain nothing from threads, and lose much by them where another
# process has one of the cores.
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')

import argparse
import time
from typing import Any

import numpy as np
from charlm import CharLM, Loss
from corpus import alice, bigram_perplexity, split_text, unigram_perplexity, windows

import minichainer as chainer
from minichainer import training
from minichainer.training import extensions


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='Train a language model of characters.')
    parser.add_argument('--epoch', '-e', type=int, default=6, help='passes over the text')
    parser.add_argument('--batchsize', '-b', type=int, default=32, help='pieces of text per update')
    parser.add_argument('--unit', '-u', type=int, default=160, help='units of the LSTM')
    parser.add_argument('--bproplen', '-l', type=int, default=64, help='characters of a piece')
    parser.add_argument('--characters', '-c', type=int, default=150000, help='how much of the text is used')
    parser.add_argument('--sample', type=int, default=400, help='characters to write at the end')
    parser.add_argument('--resume', '-r', default='', metavar='SNAPSHOT', help='go on from a snapshot')
    parser.add_argument('--device', '-d', default='@numpy', help='@numpy, or @cupy:0 for the first GPU')
    parser.add_argument('--out', '-o', default='result', help='folder for log and snapshot')
    parser.add_argument('--seed', '-s', type=int, default=0, help='seed of initial weights, order and sample')
    args = parser.parse_args(argv)
    for name in ('epoch', 'batchsize', 'unit', 'bproplen'):
        if getattr(args, name) < 1:
            parser.error(f'--{name} must be at least 1')
    if args.characters < 40 * args.bproplen:
        parser.error(f'--characters must be at least 40 times --bproplen, {40 * args.bproplen}')
    if args.seed < 0 or args.sample < 0:
        parser.error('--seed and --sample must not be negative')
    if args.resume and not os.path.isfile(args.resume):
        parser.error(f'--resume: there is no file {args.resume}')
    return args


def add_perplexity(result: dict[str, Any]) -> None:
    """Adds the perplexities to an entry of the log."""
    for loss, perplexity in (('main/loss', 'perplexity'), ('validation/main/loss', 'validation/perplexity')):
        if loss in result:
            result[perplexity] = float(np.exp(result[loss]))


def make_trainer(args: argparse.Namespace, loss: Loss, train: np.ndarray, test: np.ndarray) -> Any:
    optimizer = chainer.optimizers.Adam(alpha=0.004)
    optimizer.setup(loss)
    optimizer.add_hook(chainer.optimizer_hooks.GradientClipping(5))
    pieces = chainer.datasets.TupleDataset(*windows(train, args.bproplen))
    held_out = chainer.datasets.TupleDataset(*windows(test, args.bproplen))
    train_iter = chainer.iterators.SerialIterator(pieces, args.batchsize)
    test_iter = chainer.iterators.SerialIterator(held_out, args.batchsize, repeat=False, shuffle=False)

    updater = training.StandardUpdater(train_iter, optimizer, device=args.device)
    trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)
    trainer.extend(extensions.Evaluator(test_iter, loss, device=args.device))
    trainer.extend(extensions.ExponentialShift('alpha', 0.7), trigger=(1, 'epoch'))
    trainer.extend(extensions.LogReport(postprocess=add_perplexity))
    trainer.extend(extensions.PrintReport(['epoch', 'perplexity', 'validation/perplexity', 'elapsed_time']))
    trainer.extend(extensions.ProgressBar(update_interval=10))
    trainer.extend(extensions.snapshot(filename='snapshot.npz'), trigger=(1, 'epoch'))
    if args.resume:
        chainer.serializers.load_npz(args.resume, trainer)
    return trainer


def perplexity(loss: Loss, numbers: np.ndarray, length: int) -> float:
    """The model's perplexity of a text, read in pieces."""
    x, t = windows(numbers, length)
    with chainer.using_config('train', False), chainer.no_backprop_mode():
        parts = [slice(i, i + 100) for i in range(0, len(x), 100)]
        total = sum(float(loss(x[part], t[part]).array) * len(x[part]) for part in parts)
    return float(np.exp(total / len(x)))


def main(argv: list[str] | None = None) -> float:
    """Trains as the arguments say; returns the perplexity of the held-out text."""
    args = parse_args(argv)
    np.random.seed(args.seed)
    text = alice()[: args.characters]
    train, test, characters = split_text(text, held_out=len(text) // 12)
    print(f'{len(train)} characters to learn from, {len(test)} held out, {len(characters)} different ones')
    model = CharLM(len(characters), args.unit)
    loss = Loss(model)
    trainer = make_trainer(args, loss, train, test)

    start = time.perf_counter()
    trainer.run()
    print(f'Trained for {time.perf_counter() - start:.1f} s.')
    loss.to_device('@numpy')
    begin = '\n\n'
    drawn = model.sample([characters.index(c) for c in begin], args.sample, np.random.RandomState(args.seed), 0.7)
    print('--- sample ---\n' + ''.join(characters[k] for k in drawn).strip() + '\n--- end of sample ---')
    result = perplexity(loss, test, args.bproplen)
    print(
        f'Perplexity of the text that it has learned from: {perplexity(loss, train[: len(test)], args.bproplen):.2f}'
    )
    print(f'Perplexity of the held-out text: {result:.2f}')
    print(f'Guessed by frequency: {unigram_perplexity(train, test, len(characters)):.2f}, from the character before: '
          f'{bigram_perplexity(train, test, len(characters)):.2f}')  # fmt: skip
    return result


if __name__ == '__main__':
    main()
