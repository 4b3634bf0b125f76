"""v1: layers of denoising autoencoders trained one after another, then a classifier that takes over their parameters.

Arguments: --epochs 3
Recorded with: 1.24.0
Legacy: v1
"""
import argparse
import copy

import numpy as np
from chainer import FunctionSet, Variable, cuda, optimizers
import chainer.functions as F


class DA(object):
    """Denoising autoencoder of one layer."""

    def __init__(self, rng, data, n_inputs, n_hidden, corruption_level=0.3,
                 optimizer=optimizers.AdaDelta, gpu=-1):
        self.model = FunctionSet(
            encoder=F.Linear(n_inputs, n_hidden),
            decoder=F.Linear(n_hidden, n_inputs)
        )
        # weights of both ways from one generator
        bound = np.sqrt(6. / (n_inputs + n_hidden))
        W = rng.uniform(-bound, bound, (n_hidden, n_inputs)).astype(np.float32)
        self.model.encoder.W.data[...] = W
        self.model.decoder.W.data[...] = W.T
        if gpu >= 0:
            self.model.to_gpu()
        self.gpu = gpu
        self.x_train = data
        self.rng = rng
        self.corruption_level = corruption_level
        self.optimizer = optimizer()
        self.optimizer.setup(self.model.collect_parameters())

    def corrupt(self, x):
        mask = self.rng.binomial(size=x.shape, n=1, p=1.0 - self.corruption_level)
        return (mask * x).astype(np.float32)

    def encode(self, x, train=True):
        return F.dropout(F.sigmoid(self.model.encoder(x)), ratio=0.2, train=train)

    def forward(self, x_data, train=True):
        y_data = self.corrupt(x_data) if train else x_data
        x, t = Variable(y_data, volatile=not train), Variable(x_data, volatile=not train)
        y = F.sigmoid(self.model.decoder(self.encode(x, train=train)))
        return F.mean_squared_error(y, t)

    def train(self, n_epoch, batchsize=20):
        for _ in range(n_epoch):
            perm = self.rng.permutation(len(self.x_train))
            for i in range(0, len(perm), batchsize):
                self.optimizer.zero_grads()
                loss = self.forward(self.x_train[perm[i:i + batchsize]])
                loss.backward()
                self.optimizer.update()
        return float(self.forward(self.x_train, train=False).data)

    def hidden(self, x_data):
        return self.encode(Variable(x_data, volatile=True), train=False).data


class SDA(object):
    def __init__(self, das, n_outputs, rng):
        self.model = FunctionSet()
        for i, da in enumerate(das):
            encoder = da.model.encoder
            setattr(self.model, 'l%d' % (i + 1),
                    F.Linear(encoder.W.data.shape[1], encoder.W.data.shape[0],
                             initialW=encoder.W.data.copy(), initial_bias=encoder.b.data.copy()))
        n_hidden = das[-1].model.encoder.W.data.shape[0]
        top = F.Linear(n_hidden, n_outputs,
                       initialW=rng.normal(0, 0.1, (n_outputs, n_hidden)).astype(np.float32))
        self.model.top = top
        self.depth = len(das)

    def forward(self, x_data, y_data, train=True):
        h, t = Variable(x_data, volatile=not train), Variable(y_data, volatile=not train)
        for i in range(self.depth):
            h = F.dropout(F.relu(self.model['l%d' % (i + 1)](h)), ratio=0.1, train=train)
        y = self.model.top(h)
        return F.softmax_cross_entropy(y, t), F.accuracy(y, t)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--gpu', '-g', type=int, default=-1)
    parser.add_argument('--epochs', type=int, default=10)
    args = parser.parse_args()
    if args.gpu >= 0:
        cuda.init(args.gpu)
    np.random.seed(0)
    rng = np.random.RandomState(1)

    centers = rng.uniform(0, 1, (3, 20))
    y = rng.randint(0, 3, 120).astype(np.int32)
    x = np.clip(centers[y] + rng.normal(0, 0.1, (120, 20)), 0, 1).astype(np.float32)

    das, data = [], x
    for depth, (n_in, n_hidden) in enumerate([(20, 12), (12, 8)]):
        da = DA(rng, data, n_in, n_hidden, gpu=args.gpu)
        print('da%d/error %.6g' % (depth, da.train(args.epochs)))
        data = da.hidden(data)
        das.append(da)

    sda = SDA(das, 3, rng)
    best = copy.deepcopy(sda.model)
    optimizer = optimizers.Adam(alpha=0.01)
    optimizer.setup(sda.model.collect_parameters())
    best_loss = np.inf
    for epoch in range(args.epochs):
        optimizer.zero_grads()
        loss, acc = sda.forward(x, y)
        loss.backward()
        optimizer.update()
        loss, acc = sda.forward(x, y, train=False)
        print('sda%d/loss %.6g' % (epoch, loss.data))
        if loss.data < best_loss:
            best_loss = float(loss.data)
            best.copy_parameters_from(sda.model.parameters)
    print('sda/accuracy %.6g' % acc.data)
    print('best/loss %.6g' % best_loss)
    print('best/norm %.6g' % sum(np.linalg.norm(cuda.to_cpu(p)) for p in best.parameters))
    print('gradients %d' % len(sda.model.gradients))


if __name__ == '__main__':
    main()
