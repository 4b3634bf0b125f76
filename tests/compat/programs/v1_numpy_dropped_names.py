"""v1: recommender with np.int, np.bool, np.float, np.asscalar, np.product and a Parameter-free bias; no other v1 style.

Arguments: --epoch 3
Recorded with: 1.24.0
"""
from __future__ import print_function
import argparse

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L


class MatrixFactorization(chainer.Chain):
    def __init__(self, n_users, n_items, n_factors):
        super(MatrixFactorization, self).__init__(
            user=L.EmbedID(n_users, n_factors),
            item=L.EmbedID(n_items, n_factors),
            out=L.Linear(n_factors, 1),
        )
        rng = np.random.RandomState(18)
        for name, param in sorted(self.namedparams()):
            param.data[...] = rng.normal(0, 0.5, param.data.shape)

    def __call__(self, users, items, ratings):
        prediction = self.predict(users, items)
        loss = F.mean_squared_error(prediction, ratings)
        chainer.report({'loss': loss}, self)
        return loss

    def predict(self, users, items):
        return F.reshape(self.out(self.user(users) * self.item(items)), (len(users.data),))


def make_ratings(n_users, n_items, density):
    rng = np.random.RandomState(20)
    full = rng.normal(0, 1, (n_users, 3)).dot(rng.normal(0, 1, (3, n_items)))
    known = (rng.uniform(0, 1, full.shape) < density).astype(np.bool)
    users, items = np.nonzero(known)
    ratings = np.asfarray(full[known])
    return users.astype(np.int), items.astype(np.int), np.clip(ratings, -3, 3), known


def baseline(ratings):
    """Mean and spread as plain numbers."""
    return np.asscalar(ratings.mean()), np.asscalar(ratings.std())


def as_variables(columns, rows):
    users, items, ratings = columns
    return (chainer.Variable(users[rows].astype(np.int32)),
            chainer.Variable(items[rows].astype(np.int32)),
            chainer.Variable(ratings[rows].astype(np.float32)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epoch', type=np.int, default=10)
    parser.add_argument('--alpha', type=np.float, default=0.05)
    parser.add_argument('--batchsize', type=int, default=32)
    args = parser.parse_args()
    np.random.seed(0)

    users, items, ratings, known = make_ratings(20, 15, 0.5)
    print('known %d' % np.sum(known))
    print('cells %d' % np.product(known.shape))
    print('empty_users %d' % (not np.alltrue(np.sometrue(known, axis=1))))
    mean, std = baseline(ratings)
    print('baseline/mean %.6g' % mean)
    print('baseline/std %.6g' % std)
    ratings = (ratings - mean) / std

    test = np.zeros(len(ratings), dtype=np.bool)
    test[::5] = True
    columns = users, items, ratings
    train_rows, test_rows = np.nonzero(~test)[0], np.nonzero(test)[0]

    model = MatrixFactorization(20, 15, 4)
    optimizer = chainer.optimizers.Adam(alpha=args.alpha)
    optimizer.setup(model)
    history = np.empty(args.epoch, dtype=np.object)
    best = np.Inf
    for epoch in range(args.epoch):
        order = np.random.permutation(train_rows)
        losses = []
        for i in range(0, len(order), args.batchsize):
            model.cleargrads()
            loss = model(*as_variables(columns, order[i:i + args.batchsize]))
            loss.backward()
            optimizer.update()
            losses.append(np.asscalar(loss.data))
        test_loss = np.asscalar(model(*as_variables(columns, test_rows)).data)
        best = min(best, test_loss)
        history[epoch] = {'train': np.mean(losses), 'test': test_loss}
        print('epoch%d/train %.6g' % (epoch, history[epoch]['train']))
        print('epoch%d/test %.6g' % (epoch, test_loss))
    print('best %.6g' % best)

    prediction = model.predict(*as_variables(columns, test_rows)[:2]).data
    errors = np.round_(np.abs(prediction - ratings[test_rows]), 4)
    print('quantile %.6g' % np.percentile(errors, 90))
    cumulative = np.cumproduct(1 - np.minimum(errors[:5], 0.9))
    print('cumulative %.6g' % cumulative[-1])
    print('seen %d' % np.in1d(items[test_rows], items[train_rows]).sum())
    print('isnan %d' % (np.NaN in [best]))
    print('types %d' % sum(isinstance(x, (np.int, np.float)) for x in (1, 1.0, 'a', np.float64(2))))


if __name__ == '__main__':
    main()
