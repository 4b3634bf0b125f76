"""v6: state-space model; scipy.misc.factorial/comb/logsumexp, np.random.random_integers, np.math, np.load of an object array.

Arguments: --epoch 2 --out .
Recorded with: 1.24.0
"""
import argparse
import os

import numpy as np
from scipy.misc import comb, factorial, logsumexp
from scipy.stats import norm

import chainer
import chainer.functions as F
import chainer.links as L


class MixtureDensityNet(chainer.Chain):
    """Predicts a mixture of normal distributions."""

    def __init__(self, n_hidden, n_mixtures):
        super(MixtureDensityNet, self).__init__(
            hidden=L.Linear(1, n_hidden),
            pi=L.Linear(n_hidden, n_mixtures),
            mu=L.Linear(n_hidden, n_mixtures),
            log_sigma=L.Linear(n_hidden, n_mixtures),
        )
        rng = np.random.RandomState(35)
        for _, param in sorted(self.namedparams()):
            param.data[...] = rng.normal(0, 0.5, param.data.shape)

    def parameters_of(self, x):
        h = F.tanh(self.hidden(x))
        return F.log_softmax(self.pi(h)), self.mu(h), self.log_sigma(h)

    def __call__(self, x, y):
        log_pi, mu, log_sigma = self.parameters_of(x)
        y = F.broadcast_to(y, mu.shape)
        constant = 0.5 * np.math.log(2 * np.math.pi)
        log_density = -0.5 * ((y - mu) * F.exp(-log_sigma)) ** 2 - log_sigma - np.float32(constant)
        return -F.sum(F.logsumexp(log_pi + log_density, axis=1)) / len(x)


def poisson_pmf(k, rate):
    return rate ** k * np.exp(-rate) / factorial(k)


def binomial_pmf(k, n, p):
    return comb(n, k) * p ** k * (1 - p) ** (n - k)


def make_data(n):
    np.random.seed(36)
    counts = np.random.random_integers(0, 4, n)
    y = np.random.uniform(-2, 2, n)
    x = y + 0.8 * np.sin(2 * y) + 0.1 * counts
    return x.astype(np.float32)[:, None], y.astype(np.float32)[:, None], counts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epoch', type=int, default=10)
    parser.add_argument('--out', default='.')
    args = parser.parse_args()

    x, y, counts = make_data(100)
    print('counts/sum %d' % counts.sum())
    print('poisson %.6g' % poisson_pmf(np.arange(5), 2.0).sum())
    print('binomial %.6g' % binomial_pmf(3, 10, 0.4))
    print('logsumexp %.6g' % logsumexp(np.array([0.5, 1.0, 2.0])))

    model = MixtureDensityNet(10, 3)
    optimizer = chainer.optimizers.RMSprop(lr=0.01)
    optimizer.setup(model)
    np.random.seed(0)
    records = []
    for epoch in range(args.epoch):
        perm = np.random.permutation(len(x))
        total = 0
        for i in range(0, len(perm), 20):
            rows = perm[i:i + 20]
            model.cleargrads()
            loss = model(chainer.Variable(x[rows]), chainer.Variable(y[rows]))
            loss.backward()
            optimizer.update()
            total += float(loss.data)
        records.append({'epoch': epoch, 'loss': total / 5})
        print('epoch%d/loss %.6g' % (epoch, total / 5))

    # histories as arrays of dictionaries
    path = os.path.join(args.out, 'history.npy')
    np.save(path, np.array(records, dtype=object))
    history = np.load(path, allow_pickle=True)
    print('history %.6g' % sum(h['loss'] for h in history))

    log_pi, mu, log_sigma = [v.data for v in model.parameters_of(chainer.Variable(x[:5]))]
    density = np.exp(log_pi) * norm.pdf(y[:5], mu, np.exp(log_sigma))
    print('density %.6g' % density.sum())
    print('likelihood %.6g' % -np.log(density.sum(axis=1)).mean())
    check = float(model(chainer.Variable(x[:5]), chainer.Variable(y[:5])).data)
    print('same %d' % (abs(check + np.log(density.sum(axis=1)).mean()) < 1e-4))
    print('entropy %.6g' % -(np.exp(log_pi) * log_pi).sum())
    print('sorted %.6g' % np.msort(mu)[0].sum())


if __name__ == '__main__':
    main()
