"""v5: three-dimensional convolutions on small volumes (an autoencoder with a classifier), sizes worked out by hand.

Arguments: --iteration 4
"""
import argparse

import numpy as np

import chainer
import chainer.functions as F
from chainer.functions.connection.convolution_nd import convolution_nd
from chainer import initializers
import chainer.links as L
from chainer.utils import conv
from chainer.utils import conv_nd


class SmoothND(chainer.Link):

    """A fixed box filter in each dimension."""

    def __init__(self, ndim, ksize=3):
        super(SmoothND, self).__init__()
        ksize = conv_nd.as_tuple(ksize, ndim)
        self.pad = tuple(k // 2 for k in ksize)
        self.add_persistent('W', np.full((1, 1) + ksize, 1. / np.product(ksize), dtype=np.float32))

    def __call__(self, x):
        n, c = x.shape[:2]
        h = F.reshape(x, (n * c, 1) + x.shape[2:])
        return F.reshape(convolution_nd(h, self.W, pad=self.pad), x.shape)


class C3D(chainer.Chain):

    def __init__(self, n_class, size=8):
        super(C3D, self).__init__()
        w = initializers.LeCunNormal()
        s1 = conv.get_conv_outsize(size, 3, 1, 1)
        s2 = conv.get_conv_outsize(s1, 2, 2, 0, cover_all=True)
        self.inner = s2
        self.outer = conv.get_deconv_outsize(s2, 2, 2, 0)
        with self.init_scope():
            self.smooth = SmoothND(3)
            self.conv1 = L.ConvolutionND(ndim=3, in_channels=1, out_channels=4, ksize=3, pad=1, initialW=w)
            self.conv2 = L.ConvolutionND(3, 4, 6, 3, stride=1, pad=1)
            self.deconv = L.DeconvolutionND(ndim=3, in_channels=6, out_channels=1, ksize=2, stride=2)
            self.fc = L.Linear(None, n_class)

    def encode(self, x):
        h = F.relu(self.conv1(self.smooth(x)))
        h = F.max_pooling_nd(h, 2, stride=2)
        return F.relu(self.conv2(h))

    def __call__(self, x, t):
        z = self.encode(x)
        y = self.fc(F.average_pooling_nd(z, ksize=self.inner))
        recon = self.deconv(z)
        chainer.report({'size': recon.shape[2]}, self)
        weight = F.tile(F.repeat(np.array([[1., .5]], 'f'), len(x) // 2, axis=0), (1, 1)).data.mean()
        return F.softmax_cross_entropy(y, t) + float(weight) * F.mean_squared_error(recon, x), y


def make_volumes(n, size):
    rng = np.random.RandomState(3)
    x = rng.normal(0, .1, (n, 1, size, size, size))
    t = np.arange(n) % 2
    for i in range(n):
        if t[i]:
            x[i, 0, 2:6, 2:6, 2:6] += 1
        else:
            x[i, 0, :, 3:5, 3:5] += 1
    return x.astype(np.float32), t.astype(np.int32)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--iteration', type=int, default=50)
    args = parser.parse_args()
    np.random.seed(0)
    model = C3D(2)
    x, t = make_volumes(8, 8)
    optimizer = chainer.optimizers.Adam(alpha=.01)
    optimizer.setup(model)
    reporter = chainer.Reporter()
    reporter.add_observer('main', model)
    for i in range(args.iteration):
        observation = {}
        with reporter.scope(observation):
            loss, y = model(x, t)
        model.cleargrads()
        loss.backward()
        optimizer.update()
        print('loss@%d %.5g' % (i, float(loss.data)))
    print('accuracy %.4g' % float(F.accuracy(y, t).data))
    print('size %d' % observation['main/size'])
    print('expected %d' % model.outer)
    padded = F.pad(x, ((0, 0), (0, 0)) + ((1, 1),) * 3, 'constant', constant_values=0)
    print('padded %d' % padded.size)
    print('padded_norm %.5g' % float(F.sum(padded ** 2).data))
    turned = F.rollaxis(F.swapaxes(padded, 2, 3), 4, 2)
    print('turned_first %.5g' % float(turned.data[0, 0, 3, 4].sum()))
    print('persistent %.5g' % float(model.smooth.W.sum()))


if __name__ == '__main__':
    main()
