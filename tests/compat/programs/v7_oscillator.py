"""v7: fits the parameters of damped oscillators and of a catenary by gradients, with elementary functions.

Arguments: --iteration 10
"""
import argparse

import numpy as np

import chainer
from chainer import optimizers
import chainer.functions as F


class Oscillator(chainer.Link):

    """a exp(-d t) cos(w t + p)."""

    def __init__(self):
        super(Oscillator, self).__init__()
        with self.init_scope():
            self.a = chainer.Parameter(np.array([1.], dtype=np.float64))
            self.d = chainer.Parameter(np.array([.1], dtype=np.float64))
            self.w = chainer.Parameter(np.array([2.2], dtype=np.float64))
            self.p = chainer.Parameter(np.array([.3], dtype=np.float64))

    def forward(self, t):
        a, d, w, p = [F.broadcast_to(v, t.shape) for v in (self.a, self.d, self.w, self.p)]
        return a * F.exp(-d * t) * F.cos(w * t + p)

    def energy(self, t):
        a, d, w, p = [F.broadcast_to(v, t.shape) for v in (self.a, self.d, self.w, self.p)]
        velocity = -a * F.exp(-d * t) * (d * F.cos(w * t + p) + w * F.sin(w * t + p))
        return F.mean(.5 * velocity ** 2 + .5 * (w * self(t)) ** 2)


class Catenary(chainer.Chain):

    def __init__(self):
        super(Catenary, self).__init__()
        self.add_param('c', (1,), dtype=np.float64, initializer=1.3)
        self.add_param('slope', (1,), dtype=np.float64, initializer=chainer.initializers.Constant(.2))

    def forward(self, x):
        c, s = F.broadcast_to(self.c, x.shape), F.broadcast_to(self.slope, x.shape)
        return c * F.cosh(x / c) + F.tan(s) * x

    def length(self, x):
        c = F.broadcast_to(self.c, x.shape)
        y = c * F.sinh(x / c)
        return F.max(y) - F.min(y)


def fit(name, model, x, t, n, lr):
    optimizer = optimizers.Adam(alpha=lr)
    optimizer.setup(model)
    for i in range(n):
        y = model(x)
        residual = y - t
        # a smooth step that leaves outliers out
        weight = .5 * (1 - F.erf((F.absolute(residual) - 1.) * 3))
        loss = F.sum(weight * residual ** 2) / len(x) + 1e-3 * F.sum(F.sign(residual) * residual) / len(x)
        model.cleargrads()
        loss.backward()
        optimizer.update()
        if i % 4 == 0:
            print('%s@%d %.8g' % (name, i, float(loss.array)))
    for key, param in sorted(model.namedparams()):
        print('%s%s %.6g' % (name, key, float(param.array)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--iteration', type=int, default=100)
    args = parser.parse_args()
    rng = np.random.RandomState(0)
    t = np.linspace(0, 5, 40)
    y = 1.4 * np.exp(-.25 * t) * np.cos(2 * t + .1) + rng.normal(0, .02, 40)
    y[7] += 4
    oscillator = Oscillator()
    fit('oscillator', oscillator, t, y, args.iteration, .03)
    print('energy %.6g' % float(oscillator.energy(t).array))

    x = np.linspace(-1, 1.5, 30)
    catenary = Catenary()
    fit('catenary', catenary, x, .9 * np.cosh(x / .9) + .1 * x, args.iteration, .02)
    print('length %.6g' % float(catenary.length(x).array))
    print('expected %.6g' % (.9 * (np.sinh(1.5 / .9) - np.sinh(-1 / .9))))
    grad, = chainer.grad([F.sum(F.log(F.cosh(chainer.Variable(x))))], [catenary.c], set_grad=False)
    print('unrelated %d' % (grad is None))


if __name__ == '__main__':
    main()
