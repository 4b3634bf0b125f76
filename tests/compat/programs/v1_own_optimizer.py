"""v1: an optimizer of one's own with states by init_state and update_one_cpu; helpers for the GPU as of 2015.

Arguments: --epoch 4
Recorded with: 1.24.0
Legacy: v1
"""
import argparse

import numpy as np

import chainer
from chainer import cuda
from chainer import optimizer
import chainer.functions as F
import chainer.links as L

if cuda.cudnn_enabled:
    libcudnn = cuda.cudnn.cudnn


class SMORMS3(optimizer.GradientMethod):

    """Steps of a size between that of a signal and its noise."""

    def __init__(self, lr=0.001, eps=1e-16):
        self.lr = lr
        self.eps = eps

    def init_state(self, param, state):
        xp = cuda.get_array_module(param.data)
        with cuda.get_device(param.data):
            state['mem'] = xp.ones_like(param.data)
            state['g'] = xp.zeros_like(param.data)
            state['g2'] = xp.zeros_like(param.data)

    def update_one_cpu(self, param, state):
        mem, g, g2 = state['mem'], state['g'], state['g2']
        grad = param.grad
        r = 1 / (mem + 1)
        g[:] = (1 - r) * g + r * grad
        g2[:] = (1 - r) * g2 + r * grad * grad
        x = g * g / (g2 + self.eps)
        param.data -= grad * np.minimum(x, self.lr) / (np.sqrt(g2) + self.eps)
        mem[:] = 1 + mem * (1 - x)

    def update_one_gpu(self, param, state):
        cuda.elementwise(
            'T grad, T lr, T eps', 'T param, T mem, T g, T g2',
            '''T r = 1 / (mem + 1);
               g = (1 - r) * g + r * grad;
               g2 = (1 - r) * g2 + r * grad * grad;
               T x = g * g / (g2 + eps);
               param -= grad * min(lr, x) / (sqrt(g2) + eps);
               mem = 1 + mem * (1 - x);''',
            'smorms3')(param.grad, self.lr, self.eps, param.data, state['mem'], state['g'], state['g2'])


class Cube(chainer.Function):

    type_check_enable = False

    def forward(self, inputs):
        return inputs[0] ** 3,

    def backward(self, inputs, grad_outputs):
        return 3 * inputs[0] ** 2 * grad_outputs[0],


class Net(chainer.Chain):

    def __init__(self):
        super(Net, self).__init__(l1=L.Linear(2, 8), l2=L.Linear(8, 1))

    def __call__(self, x, t):
        h = Cube()(F.tanh(self.l1(x)))
        return F.mean_squared_error(self.l2(h), t)


def buffer_on_gpu(shape):
    """A buffer of zeros, when all that was queued before is done."""
    cuda.Stream.null.synchronize()
    cuda.cuda.Device().synchronize()
    return cuda.zeros(shape, dtype=np.float32)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--gpu', '-g', type=int, default=-1)
    parser.add_argument('--epoch', type=int, default=50)
    args = parser.parse_args()
    np.random.seed(0)
    model = Net()
    if args.gpu >= 0:
        cuda.init(args.gpu)
        model.to_gpu()
        sums = buffer_on_gpu((args.epoch,))
    else:
        sums = np.zeros((args.epoch,), dtype=np.float32)
    opt = SMORMS3(lr=.02)
    opt.setup(model)
    rng = np.random.RandomState(6)
    x = rng.uniform(-1, 1, (24, 2)).astype(np.float32)
    t = (x[:, :1] * x[:, 1:]).astype(np.float32)
    chainer.Function.type_check_enable = True
    for epoch in range(args.epoch):
        for i in range(0, 24, 8):
            opt.zero_grads()
            loss = model(chainer.Variable(x[i:i + 8]), chainer.Variable(t[i:i + 8]))
            loss.backward()
            opt.update()
            sums[epoch] += float(loss.data)
        print('loss@%d %.6g' % (epoch, sums[epoch] / 3))
    print('steps %d' % opt.t)
    print('weights %.6g' % float(np.abs(model.l1.W.data).sum()))
    volatile = chainer.Variable(x, volatile='on')
    print('volatile %d' % (model.l1(volatile).creator is None))


if __name__ == '__main__':
    main()
