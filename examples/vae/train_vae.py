"""Trains a variational autoencoder on 1437 handwritten digits, and draws new digits.

python examples/vae/train_vae.py --epoch 60 --out result

Writes samples.png, new digits that the model makes up, and reconstructions.png, held-out digits above what the
model makes of their codes. Pictures need matplotlib: pip install matplotlib.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import time
from typing import Any

import numpy as np
from model import VAE

import minichainer as chainer
from minichainer import training
from minichainer.training import extensions

ROWS, COLUMNS = 8, 12
#: Samples per image for the estimate of the likelihood.
SAMPLES = 200


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='Train a variational autoencoder on handwritten digits.')
    parser.add_argument('--epoch', '-e', type=int, default=60, help='passes over the training images')
    parser.add_argument('--batchsize', '-b', type=int, default=32, help='images per update')
    parser.add_argument('--unit', '-u', type=int, default=200, help='units of the hidden layers')
    parser.add_argument('--code', '-c', type=int, default=10, help='numbers in the code of an image')
    parser.add_argument('--device', '-d', default='@numpy', help='@numpy, or @cupy:0 for the first GPU')
    parser.add_argument('--out', '-o', default='result', help='folder for log, model and pictures')
    parser.add_argument('--seed', '-s', type=int, default=0, help='seed of initial weights, order and samples')
    parser.add_argument('--no-pictures', action='store_true', help='draw nothing, so matplotlib is not needed')
    args = parser.parse_args(argv)
    for name in ('epoch', 'batchsize', 'unit', 'code'):
        if getattr(args, name) < 1:
            parser.error(f'--{name} must be at least 1')
    if args.seed < 0:
        parser.error('--seed must not be negative')
    if not args.no_pictures and importlib.util.find_spec('matplotlib') is None:
        parser.error('pictures need matplotlib: pip install matplotlib, or use --no-pictures')
    return args


def binary(images: Any) -> Any:
    """Images of 0 and 1: the model is one of black and white pixels."""
    return (images > 0.5).astype(np.float32)


def make_trainer(args: argparse.Namespace, model: Any, train: Any, test: Any) -> Any:
    optimizer = chainer.optimizers.Adam(alpha=2e-3).setup(model)
    train_iter = chainer.iterators.SerialIterator(train, args.batchsize)
    test_iter = chainer.iterators.SerialIterator(test, 120, repeat=False, shuffle=False)
    trainer = training.Trainer(
        training.StandardUpdater(train_iter, optimizer, device=args.device), (args.epoch, 'epoch'), out=args.out
    )
    trainer.extend(extensions.Evaluator(test_iter, model, device=args.device))
    trainer.extend(extensions.LogReport())
    entries = ['epoch', 'main/loss', 'validation/main/loss', 'main/reconstruction', 'main/divergence']
    trainer.extend(extensions.PrintReport([*entries, 'elapsed_time']))
    return trainer


def evaluate(model: Any, images: Any) -> tuple[float, float, float]:
    """The bound, the likelihood in nats per image, and which part of the pixels is reconstructed."""
    with chainer.using_config('train', False), chainer.no_backprop_mode():
        bound = -float(model(images).array)
        likelihood = float(model.log_likelihood(images, SAMPLES).array.mean())
        rebuilt = model.decoder(model.encoder(images).mean).mode.array
    return bound, likelihood, float((rebuilt == images).mean())


def pixel_likelihood(train: Any, test: Any) -> float:
    """Nats per image of a model of independent pixels: what a model must exceed to have learnt anything."""
    p = chainer.distributions.Bernoulli((train.sum(axis=0) + 1) / (len(train) + 2))
    return float(p.log_prob(test).array.sum(axis=1).mean())


def tile(images: Any, columns: int) -> Any:
    """Images (n, 64) side by side in one array, with a margin."""
    cells = np.pad(images.reshape(-1, columns, 8, 8), ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=0.4)
    return cells.transpose(0, 2, 1, 3).reshape(len(cells) * 10, columns * 10)


def draw(path: str, images: Any, columns: int) -> None:
    from matplotlib import image

    image.imsave(path, np.kron(tile(images, columns), np.ones((6, 6))), cmap='gray', vmin=0, vmax=1)


def draw_pictures(model: Any, images: Any, out: str) -> list[str]:
    """New digits, and held-out ones above their reconstructions; returns the paths."""
    shown = images[: COLUMNS * ROWS // 2]
    with chainer.using_config('train', False), chainer.no_backprop_mode():
        rebuilt = model.decoder(model.encoder(shown).mean).mean.array
    pairs = np.stack([shown.reshape(-1, COLUMNS, 64), rebuilt.reshape(-1, COLUMNS, 64)], axis=1).reshape(-1, 64)
    pictures = {'samples.png': model.pictures(ROWS * COLUMNS), 'reconstructions.png': pairs}
    paths = [os.path.join(out, name) for name in pictures]
    for path, content in zip(paths, pictures.values(), strict=True):
        draw(path, content, COLUMNS)
    return paths


def main(argv: list[str] | None = None) -> float:
    """Trains as the arguments say; returns the log-likelihood of held-out images in nats."""
    args = parse_args(argv)
    np.random.seed(args.seed)
    train, test = (binary(chainer.dataset.concat_examples(part)[0]) for part in chainer.datasets.get_digits())
    model = VAE(args.unit, args.code)
    start = time.perf_counter()
    make_trainer(args, model, train, test).run()
    print(f'Trained for {time.perf_counter() - start:.1f} s.')
    model.to_device('@numpy')
    path = os.path.join(args.out, 'model.npz')
    chainer.serializers.save_npz(path, model)
    pictures = [] if args.no_pictures else draw_pictures(model, test, args.out)
    for name in [path, *pictures]:
        print(f'Written:  {name}')
    bound, likelihood, rebuilt = evaluate(model, test)
    print(f'{100 * rebuilt:.1f} % of the pixels of {len(test)} held-out images are reconstructed.')
    print(f'Lower bound {bound:.2f}, log-likelihood {likelihood:.2f} nats per held-out image; '
          f'independent pixels reach {pixel_likelihood(train, test):.2f}.')  # fmt: skip
    return likelihood


if __name__ == '__main__':
    main()
