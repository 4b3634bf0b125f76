"""v2: experiment runner with collections.Iterable, time.clock, inspect.getargspec, fractions.gcd, imp and base64.encodestring.

Arguments: --config config.py
Recorded with: 1.24.0
"""
from __future__ import print_function
import argparse
import base64
import collections
import fractions
import imp
import inspect
import random
import sys
import time

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L

CONFIG = '''
n_units = 12
activations = ['relu', 'tanh']
optimizer = ('MomentumSGD', {'lr': 0.05, 'momentum': 0.5})
batchsizes = (24, 36)

def schedule(epoch, lr=0.05, decay=0.8):
    return lr * decay ** epoch
'''


def flatten(x):
    """Flattens nested lists; a string is not a list."""
    if isinstance(x, collections.Iterable) and not isinstance(x, (str, bytes)):
        return [a for i in x for a in flatten(i)]
    return [x]


class Registry(collections.MutableMapping):
    """Functions by name; looks them up in chainer.functions."""

    def __init__(self):
        self._store = {}

    def __getitem__(self, name):
        if name not in self._store:
            self._store[name] = getattr(F, name)
        return self._store[name]

    def __setitem__(self, name, value):
        if not isinstance(value, collections.Callable):
            raise TypeError(name)
        self._store[name] = value

    def __delitem__(self, name):
        del self._store[name]

    def __iter__(self):
        return iter(self._store)

    def __len__(self):
        return len(self._store)


class Net(chainer.Chain):
    def __init__(self, n_units, activation):
        super(Net, self).__init__(l1=L.Linear(5, n_units), l2=L.Linear(n_units, n_units), l3=L.Linear(n_units, 3))
        self.activation = activation
        rng = np.random.RandomState(25)
        for _, param in sorted(self.namedparams()):
            param.data[...] = rng.normal(0, 0.4, param.data.shape)

    def __call__(self, x):
        h = self.activation(self.l1(x))
        return self.l3(self.activation(self.l2(h)))


def call_with_known_arguments(function, **candidates):
    """Calls a function with those of the arguments that it takes."""
    spec = inspect.getargspec(function)
    arguments = {name: value for name, value in candidates.items() if name in spec.args}
    defaults = len(spec.defaults or ())
    return function(**arguments), len(spec.args) - defaults


def train(net, settings, x, t):
    name, parameters = settings.optimizer
    optimizer = getattr(chainer.optimizers, name)(**parameters)
    model = L.Classifier(net)
    optimizer.setup(model)
    batchsize = fractions.gcd(*settings.batchsizes)
    for epoch in range(3):
        optimizer.lr, _ = call_with_known_arguments(settings.schedule, epoch=epoch, momentum=0.1)
        order = list(range(len(x)))
        random.shuffle(order, random.random)
        for i in range(0, len(order), batchsize):
            rows = order[i:i + batchsize]
            optimizer.update(model, chainer.Variable(x[rows]), chainer.Variable(t[rows]))
    return model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--config', default='config.py')
    args = parser.parse_args()
    with open(args.config, 'w') as f:
        f.write(CONFIG)
    settings = imp.load_source('settings', args.config)

    start = time.clock()
    random.seed(0)
    np.random.seed(0)
    rng = np.random.RandomState(26)
    x = rng.normal(0, 1, (72, 5)).astype(np.float32)
    t = np.abs(x[:, :3]).argmax(axis=1).astype(np.int32)
    registry = Registry()
    registry['double'] = lambda v: v * 2
    for name in settings.activations:
        model = train(Net(settings.n_units, registry[name]), settings, x, t)
        print('%s/loss %.6g' % (name, model.loss.data))
        print('%s/accuracy %.6g' % (name, model(chainer.Variable(x), chainer.Variable(t)).data))
    print('registry %d' % len(registry))
    print('flat %d' % sum(flatten([1, [2, (3, [4])], iter([5])])))
    value, required = call_with_known_arguments(settings.schedule, epoch=2)
    print('schedule %.6g' % value)
    print('required %d' % required)
    print('gcd %d' % fractions.gcd(24, 36))
    text = base64.encodestring(model.predictor.l1.b.data.tostring())
    print('encoded %d' % len(text))
    decoded = np.fromstring(base64.decodestring(text), dtype=np.float32)
    print('decoded %.6g' % decoded.sum())
    print('elapsed %d' % (0 <= time.clock() - start < 60))
    print('recursion %d' % (sys.getrecursionlimit() > 0))


if __name__ == '__main__':
    main()
