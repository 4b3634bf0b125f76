"""v4: images through MultiprocessIterator and MultithreadIterator; concatenated and split data sets, own iterator wrapper.

Arguments: --epoch 2
"""
import argparse

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import datasets, iterators, training
from chainer.dataset import iterator as iterator_module
from chainer.training import extensions
from chainer.training import util


class Waves(chainer.dataset.DatasetMixin):

    def __init__(self, n, offset=0):
        self.n = n
        self.offset = offset

    def __len__(self):
        return self.n

    def get_example(self, i):
        rng = np.random.RandomState(self.offset + i)
        label = i % 3
        x = np.sin(np.arange(12) * (label + 1) * .4) + rng.normal(0, .1, 12)
        return x.astype(np.float32), np.int32(label)


class Repeated(iterator_module.Iterator):
    """Gives each batch several times."""

    def __init__(self, base, times):
        self.base = base
        self.times = times
        self.left = 0

    def __next__(self):
        if self.left == 0:
            self.batch, self.left = self.base.next(), self.times
        self.left -= 1
        return self.batch

    @property
    def epoch(self):
        return self.base.epoch

    @property
    def epoch_detail(self):
        return self.base.epoch_detail

    @property
    def previous_epoch_detail(self):
        return self.base.previous_epoch_detail

    @property
    def is_new_epoch(self):
        return self.base.is_new_epoch and self.left == 0

    def finalize(self):
        self.base.finalize()

    def serialize(self, serializer):
        self.base.serialize(serializer)
        self.left = serializer('left', self.left)


class PrintAtTrigger(training.extension.Extension):

    def __init__(self, trigger=(1, 'epoch')):
        self._trigger = util.get_trigger(trigger)
        self.fired = 0

    def __call__(self, trainer):
        if self._trigger(trainer):
            self.fired += 1


class Net(chainer.Chain):

    def __init__(self):
        super(Net, self).__init__(l1=L.Linear(12, 8), l2=L.Linear(8, 3))

    def __call__(self, x):
        return self.l2(F.relu(self.l1(x)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epoch', type=int, default=10)
    parser.add_argument('--loaderjob', '-j', type=int, default=2)
    parser.add_argument('--gpu', type=int, default=-1)
    parser.add_argument('--out', default='result')
    args = parser.parse_args()

    train = datasets.ConcatenatedDataset(Waves(20), Waves(10, 100))
    folds = datasets.split_dataset_n_random(train, 3, seed=0)
    first, rest = datasets.split_dataset(train, 10)
    print('fold %.5g' % sum(float(x.sum()) for x, _ in folds[0]))
    print('rest %d' % len(rest))

    makers = {
        'process': lambda d, **kw: iterators.MultiprocessIterator(
            d, 5, n_processes=args.loaderjob, n_prefetch=2, shared_mem=1000, **kw),
        'thread': lambda d, **kw: iterators.MultithreadIterator(d, 5, n_threads=args.loaderjob, **kw),
    }
    for name in sorted(makers):
        np.random.seed(0)
        model = L.Classifier(Net())
        optimizer = chainer.optimizers.RMSprop(lr=.01)
        optimizer.setup(model)
        train_iter = Repeated(makers[name](train, shuffle=False), 2)
        test_iter = makers[name](Waves(9, 500), repeat=False, shuffle=False)
        updater = training.StandardUpdater(train_iter, optimizer, device=args.gpu)
        trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)
        trainer.extend(extensions.Evaluator(test_iter, model, device=args.gpu))
        trainer.extend(extensions.LogReport(log_name=None))
        printer = PrintAtTrigger()
        trainer.extend(printer, trigger=(1, 'iteration'))
        trainer.run()
        for entry in trainer.get_extension('LogReport').log:
            print('%s/loss@%d %.5g' % (name, entry['epoch'], entry['main/loss']))
            print('%s/val@%d %.5g' % (name, entry['epoch'], entry['validation/main/loss']))
        print('%s/iterations %d' % (name, updater.iteration))
        print('%s/fired %d' % (name, printer.fired))
        train_iter.finalize()
        test_iter.finalize()


if __name__ == '__main__':
    main()
