"""v1: two copies of a model, their gradients added and their parameters copied back; then the same by ParallelUpdater.

Arguments: --epoch 2 --out result
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
import chainer.links as L
from chainer import optimizers
from chainer import training
from chainer.training import extensions
from chainer.training.updater import ParallelUpdater

parser = argparse.ArgumentParser()
parser.add_argument('--gpu0', default=-1, type=int)
parser.add_argument('--gpu1', default=-1, type=int)
parser.add_argument('--epoch', default=10, type=int)
parser.add_argument('--out', default='result')
args = parser.parse_args()

np.random.seed(0)
batchsize = 40
n_units = 20
rng = np.random.RandomState(50)
x_train = rng.normal(0, 1, (200, 12)).astype(np.float32)
y_train = (x_train.dot(rng.normal(0, 1, (12, 5)))).argmax(axis=1).astype(np.int32)


class MLP(chainer.Chain):
    def __init__(self):
        super(MLP, self).__init__(l1=L.Linear(12, n_units), l2=L.Linear(n_units, n_units), l3=L.Linear(n_units, 5))
        weights = np.random.RandomState(1)
        for name, param in sorted(self.namedparams()):
            param.data[...] = weights.normal(0, 0.3, param.data.shape)

    def __call__(self, x):
        h = F.relu(self.l1(x))
        return self.l3(F.relu(self.l2(h)))


def init_model(model, gpu):
    if gpu >= 0:
        model.to_gpu(gpu)
    return model


model_0 = L.Classifier(MLP())
model_1 = model_0.copy()
# deep enough a copy: parameters of its own
for _, link in model_1.namedlinks():
    for param in link.params():
        param.data = param.data.copy()
init_model(model_0, args.gpu0)
init_model(model_1, args.gpu1)

optimizer = optimizers.SGD(lr=0.3)
optimizer.setup(model_0)
optimizer.use_cleargrads(False)

for epoch in six.moves.range(1, args.epoch + 1):
    perm = np.random.permutation(len(x_train))
    sum_accuracy, sum_loss = 0, 0
    for i in six.moves.range(0, len(perm), batchsize):
        x_batch = x_train[perm[i:i + batchsize]]
        y_batch = y_train[perm[i:i + batchsize]]

        half = batchsize // 2
        with cuda.get_device(model_0.predictor.l1.W.data):
            loss_0 = model_0(chainer.Variable(x_batch[:half]), chainer.Variable(y_batch[:half]))
        with cuda.get_device(model_1.predictor.l1.W.data):
            loss_1 = model_1(chainer.Variable(x_batch[half:]), chainer.Variable(y_batch[half:]))
        model_0.zerograds()
        model_1.zerograds()
        loss_0.backward()
        loss_1.backward()

        model_0.addgrads(model_1)
        optimizer.update()
        model_1.copyparams(model_0)

        sum_loss += float(loss_0.data + loss_1.data) / 2
        sum_accuracy += float(model_0.accuracy.data + model_1.accuracy.data) / 2
    print('hand%d/loss %.6g' % (epoch, sum_loss / 5))
    print('hand%d/accuracy %.6g' % (epoch, sum_accuracy / 5))
print('hand/difference %.6g' % sum(
    abs(a.data - b.data).sum() for a, b in zip(model_0.params(), model_1.params())))

# the same with the Trainer
model = L.Classifier(MLP())
optimizer = chainer.optimizers.SGD(lr=0.3)
optimizer.setup(model)
train = chainer.datasets.TupleDataset(x_train, y_train)
train_iter = chainer.iterators.SerialIterator(train, batchsize, shuffle=False)
updater = ParallelUpdater(train_iter, optimizer, devices={'main': args.gpu0, 'second': args.gpu1})
trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)
trainer.extend(extensions.LogReport())
trainer.extend(extensions.LinearShift('lr', (0.3, 0.1), (0, 10)))
trainer.run()
for entry in trainer.get_extension('LogReport').log:
    print('updater%d/loss %.6g' % (entry['epoch'], entry['main/loss']))
    print('updater%d/second %.6g' % (entry['epoch'], entry.get('second/loss', entry['main/loss'])))
print('updater/lr %.6g' % optimizer.lr)
print('updater/norm %.6g' % np.linalg.norm(cuda.to_cpu(model.predictor.l1.W.data)))
