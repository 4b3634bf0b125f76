#!/usr/bin/env python
"""v2: trains a multilayer perceptron on digits with a Trainer, writes snapshots and resumes from one.

Arguments: --epoch 2 --unit 32 --batchsize 20 --out result
"""
from __future__ import print_function

import argparse
import os
import random

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import training
from chainer.training import extensions

np.random.seed(0)
random.seed(0)


def write_digits(directory, name, n, seed):
    """Places small images of seven-segment digits where the data set is looked for."""
    segments = np.array([
        [1, 1, 1, 0, 1, 1, 1], [0, 0, 1, 0, 0, 1, 0], [1, 0, 1, 1, 1, 0, 1], [1, 0, 1, 1, 0, 1, 1],
        [0, 1, 1, 1, 0, 1, 0], [1, 1, 0, 1, 0, 1, 1], [1, 1, 0, 1, 1, 1, 1], [1, 0, 1, 0, 0, 1, 0],
        [1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 1, 1]], dtype=np.bool)
    rng = np.random.RandomState(seed)
    y = np.arange(n) % 10
    x = rng.randint(0, 60, size=(n, 28, 28))
    boxes = [(4, 6, 8, 20), (4, 14, 8, 10), (4, 14, 18, 20), (13, 15, 8, 20), (14, 24, 8, 10), (14, 24, 18, 20),
             (22, 24, 8, 20)]
    for i in range(n):
        for on, (top, bottom, left, right) in zip(segments[y[i]], boxes):
            if on:
                x[i, top:bottom, left:right] += 150
    np.savez_compressed(os.path.join(directory, name), x=x.reshape(n, 784).astype(np.uint8), y=y.astype(np.uint8))


# Network definition
class MLP(chainer.Chain):

    def __init__(self, n_units, n_out):
        super(MLP, self).__init__()
        with self.init_scope():
            # the size of the inputs to each layer will be inferred
            self.l1 = L.Linear(None, n_units)  # n_in -> n_units
            self.l2 = L.Linear(None, n_units)  # n_units -> n_units
            self.l3 = L.Linear(None, n_out)  # n_units -> n_out

    def __call__(self, x):
        h1 = F.relu(self.l1(x))
        h2 = F.relu(self.l2(h1))
        return self.l3(h2)


def main():
    parser = argparse.ArgumentParser(description='Chainer example: digits')
    parser.add_argument('--batchsize', '-b', type=int, default=100, help='Number of images in each mini-batch')
    parser.add_argument('--epoch', '-e', type=int, default=20, help='Number of sweeps over the dataset to train')
    parser.add_argument('--frequency', '-f', type=int, default=-1, help='Frequency of taking a snapshot')
    parser.add_argument('--gpu', '-g', type=int, default=-1, help='GPU ID (negative value indicates CPU)')
    parser.add_argument('--out', '-o', default='result', help='Directory to output the result')
    parser.add_argument('--resume', '-r', default='', help='Resume the training from snapshot')
    parser.add_argument('--unit', '-u', type=int, default=1000, help='Number of units')
    parser.add_argument('--noplot', dest='plot', action='store_false', help='Disable PlotReport extension')
    args = parser.parse_args()

    print('GPU: {}'.format(args.gpu))
    print('# Minibatch-size: {}'.format(args.batchsize))

    chainer.dataset.download.set_dataset_root(os.path.join(args.out, 'data'))
    directory = chainer.dataset.download.get_dataset_directory('pfnet/chainer/mnist')
    write_digits(directory, 'train.npz', 200, 1)
    write_digits(directory, 'test.npz', 50, 2)

    def build(epoch):
        np.random.seed(0)
        model = L.Classifier(MLP(args.unit, 10))
        if args.gpu >= 0:
            # Make a specified GPU current
            chainer.cuda.get_device_from_id(args.gpu).use()
            model.to_gpu()  # Copy the model to the GPU

        # Setup an optimizer
        optimizer = chainer.optimizers.Adam()
        optimizer.setup(model)

        # Load the MNIST dataset
        train, test = chainer.datasets.get_mnist()
        train_iter = chainer.iterators.SerialIterator(train, args.batchsize)
        test_iter = chainer.iterators.SerialIterator(test, args.batchsize, repeat=False, shuffle=False)

        # Set up a trainer
        updater = training.StandardUpdater(train_iter, optimizer, device=args.gpu)
        trainer = training.Trainer(updater, (epoch, 'epoch'), out=args.out)
        trainer.extend(extensions.Evaluator(test_iter, model, device=args.gpu))
        trainer.extend(extensions.dump_graph('main/loss'))
        frequency = 1 if args.frequency == -1 else max(1, args.frequency)
        trainer.extend(extensions.snapshot(), trigger=(frequency, 'epoch'))
        trainer.extend(extensions.LogReport())
        if args.plot and extensions.PlotReport.available():
            trainer.extend(extensions.PlotReport(['main/loss', 'validation/main/loss'], 'epoch', file_name='loss.png'))
            trainer.extend(extensions.PlotReport(['main/accuracy', 'validation/main/accuracy'], 'epoch',
                                                 file_name='accuracy.png'))
        trainer.extend(extensions.PrintReport(
            ['epoch', 'main/loss', 'validation/main/loss', 'main/accuracy', 'validation/main/accuracy']))
        trainer.extend(extensions.ProgressBar(update_interval=10))
        return trainer

    trainer = build(args.epoch)
    if args.resume:
        chainer.serializers.load_npz(args.resume, trainer)
    trainer.run()
    print('')  # the progress bar leaves its line
    last = trainer.get_extension('LogReport').log[-1]
    for key in ('main/loss', 'validation/main/loss', 'validation/main/accuracy'):
        print('straight/%s %.6g' % (key, last[key]))

    # The same again, stopped after the first epoch and resumed.
    again = build(args.epoch)
    name = 'snapshot_iter_{}'.format(200 // args.batchsize)
    chainer.serializers.load_npz(os.path.join(args.out, name), again)
    again.run()
    print('')
    print('resumed/loss %.6g' % again.get_extension('LogReport').log[-1]['main/loss'])
    print('iteration %d' % again.updater.iteration)
    print('graph_written %d' % os.path.exists(os.path.join(args.out, 'cg.dot')))


if __name__ == '__main__':
    main()
