"""v1: links whose parameters are given by shape, parameters that are added at the first call, persistents, copyparams.

Arguments: --iterations 5
Recorded with: 1.24.0
Legacy: v1
"""
import argparse
import math

import numpy as np
import chainer
from chainer import cuda, initializers, link, serializers
import chainer.functions as F


class PeepholeCell(link.Link):
    """Recurrent cell with parameters given as shapes."""

    def __init__(self, n_in, n_units):
        super(PeepholeCell, self).__init__(
            W=(4 * n_units, n_in),
            U=(4 * n_units, n_units),
            b=((4 * n_units,), np.float32),
        )
        rng = np.random.RandomState(3)
        self.W.data[...] = rng.normal(0, math.sqrt(1. / n_in), self.W.data.shape)
        self.U.data[...] = rng.normal(0, math.sqrt(1. / n_units), self.U.data.shape)
        self.b.data.fill(0)
        self.b.data[n_units:2 * n_units] = 1
        self.n_units = n_units
        self.add_persistent('steps', np.zeros((), dtype=np.int32))

    def __call__(self, c, h, x):
        self.steps += 1
        a = F.linear(x, self.W, self.b) + F.linear(h, self.U)
        return F.lstm(c, a)


class LazyScale(link.Link):
    """Its parameters are made when the first input is seen."""

    def __init__(self, axis=1, initial=1.0):
        super(LazyScale, self).__init__()
        self.axis = axis
        self.initial = initial
        self.add_uninitialized_param('gamma')
        self.add_uninitialized_param('beta')

    def _initialize_params(self, shape):
        self.add_param('gamma', shape, initializer=initializers.Constant(self.initial))
        self.add_param('beta', shape)
        self.beta.data.fill(0)

    def __call__(self, x):
        if self.has_uninitialized_params:
            with cuda.get_device(self._device_id):
                self._initialize_params((x.data.shape[self.axis],))
        gamma = F.broadcast_to(self.gamma, x.data.shape)
        beta = F.broadcast_to(self.beta, x.data.shape)
        return gamma * x + beta


class Model(chainer.Chain):
    def __init__(self):
        super(Model, self).__init__(
            cell=PeepholeCell(3, 6),
            scale=LazyScale(initial=0.5),
        )
        self.add_param('v', (1, 6))
        self.v.data[...] = np.linspace(-0.5, 0.5, 6)

    def __call__(self, xs, t):
        n = len(t.data)
        c = chainer.Variable(self.xp.zeros((n, 6), dtype='f'), volatile='auto')
        h = chainer.Variable(self.xp.zeros((n, 6), dtype='f'), volatile='auto')
        for x in xs:
            c, h = self.cell(c, h, x)
        y = F.linear(self.scale(h), self.v)
        self.y = y
        return F.mean_squared_error(y, t)


parser = argparse.ArgumentParser()
parser.add_argument('--iterations', type=int, default=20)
args = parser.parse_args()

rng = np.random.RandomState(1)
sequence = rng.uniform(-1, 1, (5, 10, 3)).astype('f')
target = sequence.sum(axis=(0, 2))[:, None].astype('f') / 3

model = Model()
print('uninitialized/before %d' % model.scale.has_uninitialized_params)
print('params/before %d' % len(list(model.params())))
optimizer = chainer.optimizers.Adam(alpha=0.02)
xs = [chainer.Variable(x) for x in sequence]
model(xs, chainer.Variable(target))
optimizer.setup(model)
print('params/after %d' % len(list(model.params())))
print('uninitialized/after %d' % model.scale.has_uninitialized_params)

for i in range(args.iterations):
    model.zerograds()
    loss = model(xs, chainer.Variable(target))
    loss.backward()
    optimizer.update()
    print('loss%d %.6g' % (i, loss.data))

names = sorted(name for name, _ in model.namedparams())
print('names %d' % (names == ['/cell/U', '/cell/W', '/cell/b', '/scale/beta', '/scale/gamma', '/v']))
print('steps %d' % model.cell.steps)

serializers.save_npz('model.npz', model)
other = Model()
other([chainer.Variable(x, volatile=True) for x in sequence], chainer.Variable(target, volatile=True))
serializers.load_npz('model.npz', other)
with np.load('model.npz') as f:
    print('keys %d' % len(f.files))
print('loaded/steps %d' % other.cell.steps)
print('loaded/gamma %.6g' % other.scale.gamma.data.sum())

third = Model()
third(xs, chainer.Variable(target)), third.zerograds()
third.copyparams(model)
third.addgrads(model)
print('copied/loss %.6g' % third(xs, chainer.Variable(target)).data)
print('added/grad %.6g' % third.cell.W.grad.sum())
same = model.copy()
same.cell.W.data[0, 0] = 2
print('shared %.6g' % model.cell.W.data[0, 0])
