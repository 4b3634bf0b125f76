"""v6: a parallel updater with two models that falls back to the CPU, models chosen by name, copies of Sequential blocks.

Arguments: --updater parallel --arch mlp --optimizer adam --epoch 2 --out result
"""
import argparse
import inspect

import numpy as np

import chainer
from chainer import dataset
from chainer import functions
from chainer import iterators
from chainer import links
from chainer import optimizer as optimizer_module
from chainer import optimizers
from chainer import training
from chainer.training import extensions
from chainer.training import updater as updater_module
from chainer.training import updaters


class MLP(chainer.Chain):

    def __init__(self, activation='relu'):
        super(MLP, self).__init__()
        self.activation = getattr(functions, activation)
        with self.init_scope():
            self.l1 = getattr(links, 'Linear')(5, 8)
            self.l2 = getattr(links, 'Linear')(8, 2)

    def forward(self, x):
        return self.l2(self.activation(self.l1(x)))


class Wide(MLP):

    def __init__(self, activation='tanh'):
        super(Wide, self).__init__(activation)
        with self.init_scope():
            self.l3 = links.Linear(5, 2)

    def forward(self, x):
        return super(Wide, self).forward(x) + self.l3(x)


archs = {'mlp': MLP, 'wide': Wide}


def classes_of(module, base):
    """Names of the classes of a module, as a settings file may give them."""
    return [name for name, value in inspect.getmembers(module) if inspect.isclass(value) and issubclass(value, base)]


def make_updater(kind, iterator, optimizer, devices):
    if kind == 'multiprocess':
        assert updaters.MultiprocessParallelUpdater.available()
        return updaters.MultiprocessParallelUpdater([iterator], optimizer, devices=devices)
    if kind == 'parallel':
        return training.ParallelUpdater(iterator, optimizer, devices=devices)
    if kind == 'old':
        return updater_module.ParallelUpdater(iterator, optimizer, devices=devices)
    return updater_module.StandardUpdater(iterator, optimizer, device=devices['main'])


class Blobs(dataset.DatasetMixin):

    def __init__(self, n):
        rng = np.random.RandomState(n)
        self.t = (np.arange(n) % 2).astype(np.int32)
        self.x = (rng.normal(size=(n, 5)) + self.t[:, None]).astype(np.float32)

    def __len__(self):
        return len(self.t)

    def get_example(self, i):
        return self.x[i], self.t[i]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--updater', default='multiprocess')
    parser.add_argument('--arch', choices=archs.keys(), default='mlp')
    parser.add_argument('--optimizer', default='adam')
    parser.add_argument('--gpu0', type=int, default=-1)
    parser.add_argument('--gpu1', type=int, default=-1)
    parser.add_argument('--epoch', type=int, default=10)
    parser.add_argument('--out', default='result')
    args = parser.parse_args()

    names = {name.lower(): name for name in classes_of(optimizers, optimizer_module.GradientMethod)}
    print('known %d' % all(n in names for n in ('adam', 'sgd', 'momentumsgd', 'rmsprop', 'adagrad', 'adadelta')))
    print('iterators %d' % ('SerialIterator' in classes_of(iterators, dataset.Iterator)))
    modules = (links, functions, optimizers, iterators, dataset, training, extensions, optimizer_module)
    print('modules %d' % len(set(map(id, modules))))
    print('has_evaluator %d' % hasattr(extensions, 'Evaluator'))

    devices = {'main': args.gpu0, 'second': args.gpu1}
    for arch in (args.arch, 'wide'):
        for kind in (args.updater, 'old', 'standard'):
            np.random.seed(0)
            model = links.Classifier(archs[arch]())
            optimizer = getattr(optimizers, names[args.optimizer])()
            assert isinstance(optimizer, chainer.Optimizer)
            optimizer.setup(model)
            train_iter = iterators.SerialIterator(Blobs(40), 10)
            updater = make_updater(kind, train_iter, optimizer, devices)
            trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)
            trainer.extend(extensions.Evaluator(iterators.SerialIterator(Blobs(12), 6, False, False), model))
            trainer.extend(extensions.LogReport(log_name=None))
            trainer.run()
            log = trainer.get_extension('LogReport').log
            print('%s/%s/loss %.5g' % (arch, kind, log[-1]['main/loss']))
            print('%s/%s/val %.5g' % (arch, kind, log[-1]['validation/main/loss']))


if __name__ == '__main__':
    main()
