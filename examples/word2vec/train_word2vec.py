"""Learns vectors of words from "Alice's Adventures in Wonderland", and shows words with similar vectors.

python examples/word2vec/train_word2vec.py --model skipgram --epoch 15 --out result

Writes model.npz, and vectors.txt with a word and its vector in each line.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

import numpy as np
from corpus import Windows, encode, read_words
from model import MODELS, constant_loss

import minichainer as chainer
from minichainer import training
from minichainer.training import extensions

SHOWN = ['alice', 'queen', 'she', 'said', 'two', 'head', 'he']


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='Learn vectors of words from a book.')
    parser.add_argument('--model', '-m', choices=sorted(MODELS), default='skipgram', help='what predicts what')
    parser.add_argument('--epoch', '-e', type=int, default=15, help='passes over the book')
    parser.add_argument('--batchsize', '-b', type=int, default=200, help='places in the book per update')
    parser.add_argument('--unit', '-u', type=int, default=50, help='numbers in the vector of a word')
    parser.add_argument('--window', '-w', type=int, default=2, help='words on each side')
    parser.add_argument('--negative', '-n', type=int, default=5, help='words drawn at random for each pair')
    parser.add_argument('--at-least', type=int, default=4, help='how often a word must occur')
    parser.add_argument('--device', '-d', default='@numpy', help='@numpy, or @cupy:0 for the first GPU')
    parser.add_argument('--out', '-o', default='result', help='folder for log, model and vectors')
    parser.add_argument('--seed', '-s', type=int, default=0, help='seed of initial vectors, order and samples')
    args = parser.parse_args(argv)
    for name in ('epoch', 'batchsize', 'unit', 'window', 'negative', 'at_least'):
        if getattr(args, name) < 1:
            parser.error(f'--{name.replace("_", "-")} must be at least 1')
    if args.seed < 0:
        parser.error('--seed must not be negative')
    return args


def make_trainer(args: argparse.Namespace, model: Any, windows: Windows, places: Any) -> Any:
    optimizer = chainer.optimizers.Adam(alpha=2e-3).setup(model)
    iterator = chainer.iterators.SerialIterator(places, args.batchsize)
    updater = training.StandardUpdater(iterator, optimizer, converter=windows, device=args.device)
    trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)
    trainer.extend(extensions.LogReport())
    trainer.extend(extensions.PrintReport(['epoch', 'main/loss', 'elapsed_time']))
    return trainer


def evaluate(model: Any, words: Any, around: Any) -> float:
    """The loss per pair, with the same words drawn each time."""
    state = np.random.get_state()
    np.random.seed(0)
    with chainer.using_config('train', False), chainer.no_backprop_mode():
        loss = float(model(words, around).array)
    np.random.set_state(state)
    return loss


def write_vectors(path: str, model: Any, vocabulary: list[str]) -> None:
    with open(path, 'w', encoding='ascii') as file:
        for word, vector in zip(vocabulary, model.embed.W.array, strict=True):
            file.write(f'{word} {" ".join(f"{number:.5f}" for number in vector)}\n')


def main(argv: list[str] | None = None) -> float:
    """Trains as the arguments say; returns the loss on held-out pieces of the book."""
    args = parse_args(argv)
    np.random.seed(args.seed)
    ids, vocabulary, counts = encode(read_words(), args.at_least)
    windows = Windows(ids, args.window)
    train, test = windows.places()
    held_out = windows(test)
    print(f'{len(ids)} words, {len(vocabulary)} different ones; {len(test)} places are held out.')
    model = MODELS[args.model](counts, args.unit, args.negative)
    before, start = evaluate(model, *held_out), time.perf_counter()
    make_trainer(args, model, windows, train).run()
    print(f'Trained for {time.perf_counter() - start:.1f} s.')
    model.to_device('@numpy')
    chainer.serializers.save_npz(os.path.join(args.out, 'model.npz'), model)
    write_vectors(os.path.join(args.out, 'vectors.txt'), model, vocabulary)
    for name in ('model.npz', 'vectors.txt'):
        print(f'Written:  {os.path.join(args.out, name)}')
    for word in SHOWN:
        if word in vocabulary:
            similar = model.neighbours(vocabulary.index(word), 6)
            print(f'{word:>8}: {" ".join(vocabulary[i] for i in similar)}')
    after = evaluate(model, *held_out)
    print(f'Loss on held-out words: {before:.3f} before, {after:.3f} after training; '
          f'the best constant reaches {constant_loss(args.negative):.3f}.')  # fmt: skip
    return after


if __name__ == '__main__':
    main()
