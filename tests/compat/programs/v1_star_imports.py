"""v1: a generated-looking script: star imports, chainer.Chain(l1=...) without a class, links by **, type checks off.

Arguments: --epoch 3
Recorded with: 1.24.0
Legacy: v1
"""
import argparse
from copy import deepcopy
import time

import numpy

import chainer
from chainer import cuda, gradient_check, Function, FunctionSet, Variable, optimizers, serializers, utils
from chainer import Link, Chain, ChainList
from chainer.functions import *
from chainer.links import *

numpy.random.seed(0)
Function.type_check_enable = False


def weights(seed, *shape):
    return numpy.random.RandomState(seed).normal(0, 0.4, shape).astype(numpy.float32)


class Net(Chain):
    """Takes its links as keywords, so that layers can be left out."""

    def __init__(self, activation='relu', **links):
        super(Net, self).__init__(**links)
        self.activation = {'relu': relu, 'elu': elu, 'tanh': tanh, 'clipped': clipped_relu}[activation]
        self.order = sorted(links)

    def __call__(self, x):
        h = x
        for name in self.order[:-1]:
            h = self.activation(self[name](h))
        return self[self.order[-1]](h)


class Quotient(Function):
    """Softsign."""

    def check_type_forward(self, in_types):
        utils.type_check.expect(in_types.size() == 1)

    def forward_cpu(self, inputs):
        x, = inputs
        return utils.force_array(x / (1 + abs(x))),

    def backward_cpu(self, inputs, grad_outputs):
        x, = inputs
        return utils.force_array(grad_outputs[0] / (1 + abs(x)) ** 2),


parser = argparse.ArgumentParser()
parser.add_argument('-g', '--gpu', type=int, default=-1)
parser.add_argument('--epoch', type=int, default=20)
args = parser.parse_args()

rng = numpy.random.RandomState(40)
x_train = rng.uniform(-1, 1, (60, 4)).astype(numpy.float32)
y_train = numpy.vstack([x_train[:, 0] * x_train[:, 1], abs(x_train[:, 2])]).T.astype(numpy.float32)

# a model without a class of its own
model = chainer.Chain(
    l1=Linear(4, 8, initialW=weights(1, 8, 4)),
    l2=Linear(8, 2, initialW=weights(2, 2, 8), nobias=True))
model.add_link('skip', Linear(4, 2, initialW=weights(3, 2, 4)))
if args.gpu >= 0:
    cuda.get_device(args.gpu).use()
    model.to_gpu()


def forward(x):
    return model.l2(sigmoid(model.l1(x))) + model.skip(x)


optimizer = optimizers.RMSprop()
optimizer.setup(model)
for epoch in range(args.epoch):
    start = time.time()
    x, t = Variable(x_train), Variable(y_train)
    model.zerograds()
    loss = mean_squared_error(forward(x), t)
    loss.backward()
    optimizer.update()
    print('chain%d/loss %.6g' % (epoch, loss.data))

for i, activation in enumerate(['relu', 'elu', 'tanh', 'clipped']):
    net = Net(activation,
              a=Linear(4, 6, initialW=weights(4, 6, 4)),
              b=Linear(6, 6, initialW=weights(5, 6, 6)),
              c=Linear(6, 2, initialW=weights(6, 2, 6)))
    optimizer = optimizers.AdaGrad(lr=0.1) if i % 2 else optimizers.SMORMS3(lr=0.1)
    optimizer.setup(net)
    for epoch in range(args.epoch):
        lossfun = mean_absolute_error if i == 3 else mean_squared_error
        optimizer.update(lambda: lossfun(net(x), t))
    print('%s/error %.6g' % (activation, mean_squared_error(net(x), t).data))

q = Quotient()(Variable(x_train))
s = sum(q * q)
s.backward()
print('quotient/sum %.6g' % s.data)
gradient_check.check_backward(Quotient(), x_train[:3] + 2, x_train[:3], eps=1e-2, atol=1e-2, rtol=1e-2)

# functions that the star import gives
a, b = Variable(x_train[:4]), Variable(x_train[4:8])
figures = [
    ('concat', concat((a, b), axis=1)), ('matmul', matmul(a, b, transb=True)), ('where', where(Variable(a.data > 0), a, b)),
    ('batch_l2', batch_l2_norm_squared(a)), ('maximum', maximum(a, b)), ('minimum', minimum(a, b)),
    ('swapaxes', swapaxes(a, 0, 1)), ('broadcast', broadcast(a, Variable(x_train[:1]))[1]), ('hard_sigmoid', hard_sigmoid(a)),
    ('softplus', softplus(a, beta=2.0)), ('select_item', select_item(a, Variable(numpy.array([0, 1, 2, 3], 'i')))),
    ('crelu', crelu(a)), ('logsumexp', logsumexp(a, axis=1)), ('expand', expand_dims(a, 1)),
]
for name, y in figures:
    print('F/%s %.6g' % (name, abs(y.data).sum()))
layers = ChainList(*[Linear(3, 3, initialW=weights(k, 3, 3)) for k in range(3)])
other = deepcopy(layers)
other[1].W.data[...] = 0
print('chainlist %.6g' % abs(layers[1].W.data).sum())
print('links %d' % (len(layers) + len(list(model.namedlinks(skipself=True)))))
print('bases %d' % (issubclass(FunctionSet, Chain) and isinstance(layers, Link)))
