"""v1: models and optimizers saved by serializers and by six.moves.cPickle, moved between CPU and GPU, and taken up again.

Arguments: --out saved
Recorded with: 1.24.0
Legacy: v1
"""
from __future__ import print_function
import argparse
import os
from six.moves import cPickle as pickle
from six.moves import range, zip

import numpy as np
import chainer
from chainer import cuda, serializers
import chainer.functions as F
import chainer.links as L
from chainer import optimizers


class RegressionModel(chainer.Chain):
    def __init__(self, n_units=6):
        super(RegressionModel, self).__init__(
            l1=L.Linear(2, n_units, nobias=True),
            bn=L.BatchNormalization(n_units, use_cudnn=False),
            l2=L.Linear(n_units, 1, bias=0.3),
        )

    def __call__(self, x, t, train=True):
        y = self.predict(x, train)
        self.loss = F.mean_squared_error(y, t)
        return self.loss

    def predict(self, x, train=False):
        return self.l2(F.tanh(self.bn(self.l1(x), test=not train)))


class Estimator(object):
    """In the manner of estimators: fit, predict, score, save, load."""

    def __init__(self, model, optimizer, gpu=-1):
        self.model = model
        self.optimizer = optimizer
        self.gpu = gpu
        if gpu >= 0:
            cuda.get_device(gpu).use()
            self.model.to_gpu()
        self.optimizer.setup(self.model)

    def fit(self, x, t, n_iter):
        for _ in range(n_iter):
            x_var, t_var = chainer.Variable(x), chainer.Variable(t)
            self.optimizer.update(self.model, x_var, t_var)
        return float(self.model.loss.data)

    def score(self, x, t):
        return float(self.model(chainer.Variable(x, volatile=True), chainer.Variable(t, volatile=True),
                                train=False).data)

    def save(self, path, kind):
        if kind == 'npz':
            serializers.save_npz(path + '.model', self.model)
            serializers.save_npz(path + '.state', self.optimizer)
        elif kind == 'hdf5':
            serializers.save_hdf5(path + '.model', self.model)
            serializers.save_hdf5(path + '.state', self.optimizer)
        else:
            self.model.to_cpu()
            del self.model.loss
            with open(path, 'wb') as f:
                pickle.dump({'model': self.model, 'alpha': self.optimizer.alpha}, f, -1)

    def load(self, path, kind):
        if kind == 'npz':
            serializers.load_npz(path + '.model', self.model)
            serializers.load_npz(path + '.state', self.optimizer)
        elif kind == 'hdf5':
            serializers.load_hdf5(path + '.model', self.model)
            serializers.load_hdf5(path + '.state', self.optimizer)
        else:
            with open(path, 'rb') as f:
                self.model = pickle.load(f)['model']
        return self


def make_estimator(seed, alpha=0.05):
    model = RegressionModel()
    rng = np.random.RandomState(seed)
    model.l1.W.data[:] = rng.normal(0, 1, model.l1.W.data.shape)
    model.l2.W.data[:] = rng.normal(0, 1, model.l2.W.data.shape)
    return Estimator(model, optimizers.Adam(alpha=alpha))


parser = argparse.ArgumentParser()
parser.add_argument('--out', default='.')
args = parser.parse_args()
if not os.path.exists(args.out):
    os.makedirs(args.out)

rng = np.random.RandomState(1)
x = rng.uniform(-1, 1, (30, 2)).astype(np.float32)
t = (x[:, :1] * x[:, 1:] + 0.1).astype(np.float32)

first = make_estimator(0)
print('l2/b %.6g' % first.model.l2.b.data.sum())
print('fit/loss %.6g' % first.fit(x, t, 20))
print('fit/score %.6g' % first.score(x, t))
for kind in ('npz', 'hdf5', 'pickle'):
    first.save(os.path.join(args.out, 'estimator_' + kind), kind)
    second = make_estimator(1, alpha=0.2).load(os.path.join(args.out, 'estimator_' + kind), kind)
    print('%s/score %.6g' % (kind, second.score(x, t)))
    if kind != 'pickle':
        second.optimizer.alpha = 0.05
        print('%s/t %d' % (kind, second.optimizer.t))
        print('%s/continued %.6g' % (kind, second.fit(x, t, 5)))

with np.load(os.path.join(args.out, 'estimator_npz.model')) as f:
    print('npz/keys %d' % len(f.files))
    print('npz/N %d' % f['bn/N'])

# one array after the other, as programs did before there were serializers
copied = make_estimator(2)
for source, target in zip(sorted(first.model.namedparams()), sorted(copied.model.namedparams())):
    target[1].data = source[1].data.copy()
for name in ('avg_mean', 'avg_var'):
    setattr(copied.model.bn, name, getattr(first.model.bn, name).copy())
print('copied/score %.6g' % copied.score(x, t))
