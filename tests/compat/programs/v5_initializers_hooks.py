"""v5: own initializers and link hooks; deep networks with scaled weights, activations observed by a hook.

Arguments: --depth 4
"""
import argparse

import numpy

import chainer
from chainer import cuda
from chainer import initializer
from chainer import initializers
from chainer.initializers.constant import Zero
from chainer.initializers.normal import HeNormal, Normal
from chainer import link
import chainer.functions as F
from chainer.functions.activation.relu import relu
from chainer.functions.noise.dropout import dropout
import chainer.links as L


class ScaledHe(initializer.Initializer):

    """He's normal weights, with a gain for each unit."""

    def __init__(self, gain=1.0, dtype=None):
        self.gain = gain
        super(ScaledHe, self).__init__(dtype)

    def __call__(self, array):
        xp = cuda.get_array_module(array)
        fan_in, fan_out = initializer.get_fans(array.shape)
        s = self.gain * numpy.sqrt(2. / fan_in)
        array[...] = xp.random.normal(0, s, array.shape)
        array[:fan_out // 2] *= 1.1


class DeltaOrthogonal(chainer.Initializer):

    def __call__(self, array):
        array[...] = 0
        n_out, n_in, k_h, k_w = array.shape
        q, r = numpy.linalg.qr(numpy.random.normal(size=(max(n_out, n_in), min(n_out, n_in))))
        q *= numpy.sign(numpy.diag(r))
        array[:, :, k_h // 2, k_w // 2] = q if n_out >= n_in else q.T


class ActivationStatistics(chainer.LinkHook):

    name = 'ActivationStatistics'

    def __init__(self, classes):
        self.classes = classes
        self.before = []
        self.after = []

    def forward_preprocess(self, args):
        if isinstance(args.link, self.classes):
            self.before.append(float(F.average(args.args[0] ** 2).data))

    def forward_postprocess(self, args):
        if isinstance(args.link, self.classes):
            self.after.append(float((args.out.data ** 2).mean()))


class Scale(link.Link):

    def __init__(self, shape, initialW=None):
        super(Scale, self).__init__()
        with self.init_scope():
            initializer_ = initializers._get_initializer(initialW)
            self.W = chainer.Parameter(initializer_)
            self.free = chainer.variable.Parameter(Zero())
        self._shape = shape

    def _initialize_params(self, n_in):
        self.W.initialize((n_in,))
        self.free.initialize(self._shape)

    def forward(self, x):
        if self.W.array is None:
            self._initialize_params(x.shape[1])
        W, x = F.broadcast(self.W, x)
        return x * W

    def to_gpu(self, device=None):
        super(Scale, self).to_gpu(device)
        return self

    def to_cpu(self):
        super(Scale, self).to_cpu()
        return self


class Deep(chainer.Chain):

    def __init__(self, depth, width, make):
        super(Deep, self).__init__()
        self.depth = depth
        chainer.Chain.__init__(self)
        with self.init_scope():
            self.conv = L.Convolution2D(1, 4, 3, pad=1, initialW=DeltaOrthogonal())
            self.scale = Scale((2,), initializers.Constant(1.5))
            for i in range(depth):
                setattr(self, 'fc%d' % i, L.Linear(None, width, initialW=make(), initial_bias=Normal(.01)))

    def forward(self, x):
        h = F.flatten(self.conv(x[:, None])).reshape(len(x), -1)
        h = self.scale(h)
        for i in range(self.depth):
            h = dropout(relu(self['fc%d' % i](h)), ratio=.1)
        return h


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--depth', type=int, default=10)
    args = parser.parse_args()
    x = numpy.random.RandomState(1).normal(size=(8, 6, 6)).astype(numpy.float32)
    makers = [
        ('scaled', lambda: ScaledHe(1.0)),
        ('he', HeNormal),
        ('lecun', lambda: initializers.LeCunNormal(scale=1.0)),
        ('glorot', initializers.GlorotNormal),
        ('small', lambda: Normal(0.01)),
    ]
    for name, make in makers:
        numpy.random.seed(0)
        model = Deep(args.depth, 32, make)
        hook = ActivationStatistics((L.Linear,))
        with hook:
            y = model(x)
        loss = F.sum(F.square(y)) / len(x)
        model.cleargrads()
        loss.backward()
        print('%s/first %.5g' % (name, hook.before[0]))
        print('%s/last %.5g' % (name, hook.after[-1]))
        print('%s/gradient %.5g' % (name, float(abs(model.conv.W.grad).sum())))
        print('%s/calls %d' % (name, len(hook.after)))
    model.to_cpu()
    print('params %d' % model.count_params())
    print('device_is_cpu %d' % (model.xp is numpy))
    single = L.Linear(3, 2, initialW=numpy.arange(6, dtype='f').reshape(2, 3), initial_bias=1)
    single.add_hook(ActivationStatistics(L.Linear), 'statistics')
    print('constant %.5g' % float(F.sum(single(numpy.ones((1, 3), 'f'))).data))
    single.delete_hook('statistics')
    print('fans %d' % initializer.get_fans((4, 3, 5, 5))[0])


if __name__ == '__main__':
    main()
