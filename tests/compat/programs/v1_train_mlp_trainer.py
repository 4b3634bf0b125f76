"""v1: the Trainer of v1: dump_graph, snapshot(trigger=...), resume, snapshot_object with a trigger, LogReport read back.

Arguments: --epoch 4 --out result
Recorded with: 1.24.0
Legacy: v1
"""
from __future__ import print_function
import argparse
import json
import os

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import training
from chainer.training import extensions


# Network definition
class MLP(chainer.Chain):

    def __init__(self, n_units, n_out):
        super(MLP, self).__init__(
            # the size of the inputs to each layer will be inferred
            l1=L.Linear(None, n_units),  # n_in -> n_units
            l2=L.Linear(None, n_units),  # n_units -> n_units
            l3=L.Linear(None, n_out),  # n_units -> n_out
        )

    def __call__(self, x):
        h1 = F.relu(self.l1(x))
        h2 = F.relu(self.l2(h1))
        return self.l3(h2)


def make_trainer(args, epoch):
    np.random.seed(0)
    rng = np.random.RandomState(1)
    x = rng.normal(0, 1, (150, 8)).astype(np.float32)
    t = (x[:, 0] * x[:, 1] > 0).astype(np.int32) + 2 * (x[:, 2] > 0.3)
    dataset = chainer.datasets.TupleDataset(x, t.astype(np.int32))
    train, test = chainer.datasets.split_dataset(dataset, 100)

    model = L.Classifier(MLP(16, 4))
    if args.gpu >= 0:
        chainer.cuda.get_device(args.gpu).use()  # Make a specified GPU current
        model.to_gpu()  # Copy the model to the GPU
    # the sizes have to be known before the optimizer makes its states
    model(chainer.Variable(x[:2], volatile='on'), chainer.Variable(np.zeros(2, 'i'), volatile='on'))
    optimizer = chainer.optimizers.Adam()
    optimizer.setup(model)

    train_iter = chainer.iterators.SerialIterator(train, args.batchsize, shuffle=False)
    test_iter = chainer.iterators.SerialIterator(test, args.batchsize, repeat=False, shuffle=False)
    updater = training.StandardUpdater(train_iter, optimizer, device=args.gpu)
    trainer = training.Trainer(updater, (epoch, 'epoch'), out=args.out)

    trainer.extend(extensions.Evaluator(test_iter, model, device=args.gpu))
    trainer.extend(extensions.dump_graph('main/loss'))
    trainer.extend(extensions.snapshot(trigger=(2, 'epoch')))
    trainer.extend(extensions.snapshot_object(
        model.predictor, 'predictor_epoch_{.updater.epoch}', trigger=(1, 'epoch')))
    trainer.extend(extensions.LogReport())
    trainer.extend(extensions.PrintReport(
        ['epoch', 'main/loss', 'validation/main/loss',
         'main/accuracy', 'validation/main/accuracy']))
    trainer.extend(extensions.ProgressBar(update_interval=50))
    trainer.extend(extensions.observe_value('alpha', lambda trainer: optimizer.alpha))
    return trainer, model, optimizer


def main():
    parser = argparse.ArgumentParser(description='Chainer example: MLP')
    parser.add_argument('--batchsize', '-b', type=int, default=25)
    parser.add_argument('--epoch', '-e', type=int, default=20)
    parser.add_argument('--gpu', '-g', type=int, default=-1)
    parser.add_argument('--out', '-o', default='result')
    args = parser.parse_args()

    trainer, model, optimizer = make_trainer(args, args.epoch // 2)
    trainer.run()
    snapshot = os.path.join(args.out, 'snapshot_iter_%d' % trainer.updater.iteration)
    first = float(abs(model.predictor.l1.W.data).sum())

    # Resume from a snapshot
    trainer, model, optimizer = make_trainer(args, args.epoch)
    chainer.serializers.load_npz(snapshot, trainer)
    print()
    print('resumed/same %d' % (abs(abs(model.predictor.l1.W.data).sum() - first) < 1e-4))
    print('resumed/iteration %d' % trainer.updater.iteration)
    trainer.run()

    print()
    with open(os.path.join(args.out, 'log')) as f:
        log = json.load(f)
    n_batches = 100 // args.batchsize
    for entry in log:
        if entry['iteration'] % n_batches:
            continue
        keys = ['validation/main/loss', 'validation/main/accuracy', 'alpha']
        if entry['epoch'] <= args.epoch // 2:
            keys.append('main/loss')
        for key in keys:
            print('epoch%d/%s %.6g' % (entry['epoch'], key, entry[key]))
    with open(os.path.join(args.out, 'cg.dot')) as f:
        text = f.read()
    print('graph/relu %d' % text.count('ReLU'))
    predictor = MLP(16, 4)
    predictor(chainer.Variable(np.zeros((1, 8), np.float32), volatile=True))
    chainer.serializers.load_npz(os.path.join(args.out, 'predictor_epoch_%d' % args.epoch), predictor)
    print('predictor/norm %.6g' % np.linalg.norm(predictor.l3.W.data))
    print('t %d' % optimizer.t)


if __name__ == '__main__':
    main()
