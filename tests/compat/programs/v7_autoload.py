"""v7: a training that is interrupted and starts again from the newest snapshot, of which two are kept.

Arguments: --epoch 4 --out result
"""
import argparse
import os

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import training
from chainer.training import extensions


class Interrupted(Exception):
    pass


@training.make_extension(trigger=(1, 'iteration'), priority=-200)
def stop_once(trainer):
    if trainer.updater.iteration == 7 and not os.path.exists('stopped'):
        open('stopped', 'w').close()
        raise Interrupted()


class Net(chainer.Chain):

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(4, 8)
            self.bn = L.BatchNormalization(8)
            self.l2 = L.Linear(8, 1)

    def forward(self, x):
        return self.l2(F.relu(self.bn(self.l1(x))))[:, 0]


def train(epoch, out, autoload):
    np.random.seed(0)
    rng = np.random.RandomState(3)
    x = rng.normal(size=(30, 4)).astype(np.float32)
    y = (x[:, 0] * x[:, 1]).astype(np.float32)
    dataset = chainer.datasets.TupleDataset(x, y)
    model = L.Classifier(Net(), lossfun=lambda a, b: F.mean_absolute_error(a, b), accfun=F.mean_squared_error)
    optimizer = chainer.optimizers.NesterovAG(lr=.05)
    optimizer.setup(model)
    optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(1e-3))
    order = np.random.RandomState(2).permutation(30)
    iterator = chainer.iterators.SerialIterator(chainer.datasets.SubDataset(dataset, 0, 30, order), 6, shuffle=False)
    updater = training.updaters.StandardUpdater(iterator, optimizer)
    trainer = training.Trainer(updater, (epoch, 'epoch'), out=out)
    writer = extensions.snapshot_writers.SimpleWriter()
    trainer.extend(extensions.snapshot(
        filename='state_{.updater.iteration}', n_retains=2, autoload=autoload, writer=writer), trigger=(3, 'iteration'))
    trainer.extend(extensions.LogReport(keys=['main/loss', 'main/accuracy'], trigger=(5, 'iteration')))
    trainer.extend(extensions.FailOnNonNumber())
    trainer.extend(stop_once)
    trainer.run(show_loop_exception_msg=False)
    return trainer, model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epoch', type=int, default=10)
    parser.add_argument('--out', default='result')
    args = parser.parse_args()

    try:
        train(args.epoch, args.out, autoload=True)
    except Interrupted:
        print('interrupted 1')
    kept = sorted(f for f in os.listdir(args.out) if f.startswith('state_'))
    print('kept %d' % len(kept))
    resumed, model = train(args.epoch, args.out, autoload=True)
    straight, other = train(args.epoch, args.out + '_straight', autoload=False)
    for tag, trainer in (('resumed', resumed), ('straight', straight)):
        for entry in trainer.get_extension('LogReport').log:
            print('%s/loss@%d %.5g' % (tag, entry['iteration'], entry['main/loss']))
            print('%s/accuracy@%d %.5g' % (tag, entry['iteration'], entry['main/accuracy']))
    print('iterations %d' % resumed.updater.iteration)
    print('equal %d' % all(np.allclose(p.array, q.array) for p, q in zip(model.params(), other.params())))


if __name__ == '__main__':
    main()
