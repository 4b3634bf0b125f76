#!/usr/bin/env python
"""v3: data-parallel training with ChainerMN, here with one process.

Arguments: --communicator naive --epoch 2 --out result
"""
from __future__ import print_function

import argparse

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import training
from chainer.training import extensions

import chainermn
import chainermn.links


class MLP(chainer.Chain):

    def __init__(self, n_units, n_out, comm):
        super(MLP, self).__init__(
            l1=L.Linear(None, n_units),
            bn=chainermn.links.MultiNodeBatchNormalization(n_units, comm),
            l2=L.Linear(None, n_out),
        )

    def __call__(self, x):
        return self.l2(F.relu(self.bn(self.l1(x))))


def make_data(n, seed):
    rng = np.random.RandomState(seed)
    t = np.arange(n, dtype=np.int32) % 3
    x = (rng.normal(size=(n, 4)) + t[:, None]).astype(np.float32)
    return chainer.datasets.TupleDataset(x, t)


def main():
    parser = argparse.ArgumentParser(description='ChainerMN example')
    parser.add_argument('--batchsize', '-b', type=int, default=10)
    parser.add_argument('--communicator', type=str, default='hierarchical')
    parser.add_argument('--epoch', '-e', type=int, default=20)
    parser.add_argument('--gpu', '-g', action='store_true')
    parser.add_argument('--out', '-o', default='result')
    parser.add_argument('--resume', '-r', default='')
    args = parser.parse_args()

    # Prepare ChainerMN communicator.
    if args.gpu:
        comm = chainermn.create_communicator(args.communicator)
        device = comm.intra_rank
        chainer.cuda.get_device_from_id(device).use()
    else:
        if args.communicator != 'naive':
            print('Warning: using naive communicator because only naive supports CPU-only execution')
        comm = chainermn.create_communicator('naive')
        device = -1
    if comm.rank == 0:
        print('Num process (COMM_WORLD): {}'.format(comm.size))
        print('size %d' % comm.size)

    np.random.seed(0)
    model = L.Classifier(MLP(8, 3, comm))
    if device >= 0:
        model.to_gpu()

    # Create a multi node optimizer from a standard Chainer optimizer.
    optimizer = chainermn.create_multi_node_optimizer(chainer.optimizers.Adam(alpha=.01), comm)
    optimizer.setup(model)

    # Split and distribute the dataset. Only worker 0 loads the whole dataset.
    if comm.rank == 0:
        train, test = make_data(60, 1), make_data(30, 2)
    else:
        train, test = None, None
    train = chainermn.scatter_dataset(train, comm, shuffle=False)
    test = chainermn.scatter_dataset(test, comm)
    print('n_train %d' % len(train))

    train_iter = chainer.iterators.SerialIterator(train, args.batchsize)
    test_iter = chainer.iterators.SerialIterator(test, args.batchsize, repeat=False, shuffle=False)
    updater = training.StandardUpdater(train_iter, optimizer, device=device)
    trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)

    # Create a multi node evaluator from a standard Chainer evaluator.
    evaluator = extensions.Evaluator(test_iter, model, device=device)
    evaluator = chainermn.create_multi_node_evaluator(evaluator, comm)
    trainer.extend(evaluator)

    # Some display and output extensions are necessary only for one worker.
    if comm.rank == 0:
        trainer.extend(extensions.dump_graph('main/loss'))
        trainer.extend(extensions.LogReport())
        trainer.extend(extensions.PrintReport(
            ['epoch', 'main/loss', 'validation/main/loss', 'main/accuracy', 'validation/main/accuracy', 'elapsed_time']))
    if args.resume:
        chainer.serializers.load_npz(args.resume, trainer)
    trainer.run()
    if comm.rank == 0:
        for entry in trainer.get_extension('LogReport').log:
            print('loss@%d %.5g' % (entry['epoch'], entry['main/loss']))
            print('validation@%d %.5g' % (entry['epoch'], entry['validation/main/loss']))
        print('updates %d' % optimizer.t)


if __name__ == '__main__':
    main()
