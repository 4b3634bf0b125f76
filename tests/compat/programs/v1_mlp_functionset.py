"""v1: multilayer perceptron as a FunctionSet, trained by a loop that draws a permutation for each epoch.

Arguments: --epoch 3
Recorded with: 1.24.0
Legacy: v1
"""
from __future__ import print_function
import argparse

import numpy as np
import six

import chainer
from chainer import cuda
import chainer.functions as F
from chainer import optimizers

parser = argparse.ArgumentParser(description='Chainer example: digits')
parser.add_argument('--gpu', '-g', default=-1, type=int,
                    help='GPU ID (negative value indicates CPU)')
parser.add_argument('--epoch', '-e', default=20, type=int)
args = parser.parse_args()

np.random.seed(0)
batchsize = 50
n_epoch = args.epoch
n_units = 30


def make_digits(n):
    """Ten blurred prototypes with noise, as a small stand-in for digits."""
    rng = np.random.RandomState(7)
    prototypes = rng.uniform(0, 1, (10, 64))
    target = np.arange(n) % 10
    data = prototypes[target] + rng.normal(0, 0.25, (n, 64))
    return data.astype(np.float32), target.astype(np.int32)


data, target = make_digits(600)
N = 500
x_train, x_test = np.split(data, [N])
y_train, y_test = np.split(target, [N])
N_test = y_test.size

# Prepare multi-layer perceptron model
model = chainer.FunctionSet(l1=F.Linear(64, n_units),
                            l2=F.Linear(n_units, n_units),
                            l3=F.Linear(n_units, 10))
if args.gpu >= 0:
    cuda.init(args.gpu)
    model.to_gpu()


def forward(x_data, y_data, train=True):
    x, t = chainer.Variable(x_data, volatile=not train), chainer.Variable(y_data, volatile=not train)
    h1 = F.dropout(F.relu(model.l1(x)), train=train)
    h2 = F.dropout(F.relu(model.l2(h1)), train=train)
    y = model.l3(h2)
    return F.softmax_cross_entropy(y, t), F.accuracy(y, t)


# Setup optimizer
optimizer = optimizers.Adam()
optimizer.setup(model.collect_parameters())

for epoch in six.moves.range(1, n_epoch + 1):
    perm = np.random.permutation(N)
    sum_accuracy = 0
    sum_loss = 0
    for i in six.moves.range(0, N, batchsize):
        x_batch = x_train[perm[i:i + batchsize]]
        y_batch = y_train[perm[i:i + batchsize]]
        if args.gpu >= 0:
            x_batch = cuda.to_gpu(x_batch)
            y_batch = cuda.to_gpu(y_batch)

        optimizer.zero_grads()
        loss, acc = forward(x_batch, y_batch)
        loss.backward()
        optimizer.update()

        sum_loss += float(cuda.to_cpu(loss.data)) * len(y_batch)
        sum_accuracy += float(cuda.to_cpu(acc.data)) * len(y_batch)
    print('train%d/loss %.6g' % (epoch, sum_loss / N))
    print('train%d/accuracy %.6g' % (epoch, sum_accuracy / N))

    # evaluation
    sum_accuracy = 0
    sum_loss = 0
    for i in six.moves.range(0, N_test, batchsize):
        loss, acc = forward(x_test[i:i + batchsize], y_test[i:i + batchsize], train=False)
        sum_loss += float(loss.data) * batchsize
        sum_accuracy += float(acc.data) * batchsize
    print('test%d/loss %.6g' % (epoch, sum_loss / N_test))
    print('test%d/accuracy %.6g' % (epoch, sum_accuracy / N_test))

print('norm/l1 %.6g' % np.linalg.norm(cuda.to_cpu(model.l1.W.data)))
print('parameters %d' % sum(p.size for p in model.parameters))
