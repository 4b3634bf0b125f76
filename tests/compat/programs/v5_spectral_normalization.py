"""v5: links with spectral normalization (subclasses of Linear, Convolution2D, EmbedID), a conditional projection critic.

Arguments: --iteration 5
"""
import argparse

import numpy as np

import chainer
from chainer import cuda
from chainer import functions as F
from chainer import link
from chainer import links as L
from chainer import variable
from chainer.functions.array.broadcast import broadcast_to
from chainer.functions.connection import convolution_2d
from chainer.functions.connection import embed_id
from chainer.functions.connection import linear
from chainer.links.connection.convolution_2d import Convolution2D
from chainer.links.connection.linear import Linear


def _l2normalize(v, eps=1e-12):
    return v / (((v ** 2).sum()) ** 0.5 + eps)


def max_singular_value(W, u, n=1):
    xp = cuda.get_array_module(W.data)
    for _ in range(n):
        _v = _l2normalize(xp.dot(u, W.data))
        u = _l2normalize(xp.dot(_v, W.data.transpose()))
    sigma = F.sum(F.linear(u, F.transpose(W)) * _v)
    return sigma, u


class SNLinear(Linear):

    def __init__(self, in_size, out_size, use_gamma=False, nobias=False, initialW=None, initial_bias=None):
        self.use_gamma = use_gamma
        super(SNLinear, self).__init__(in_size, out_size, nobias, initialW, initial_bias)
        self.u = np.random.normal(size=(1, out_size)).astype(dtype='f')
        self.register_persistent('u')

    @property
    def W_bar(self):
        sigma, u = max_singular_value(self.W, self.u)
        sigma = broadcast_to(sigma.reshape((1, 1)), self.W.shape)
        if chainer.config.train:
            self.u[:] = u
        if hasattr(self, 'gamma'):
            return broadcast_to(self.gamma, self.W.shape) * self.W / sigma
        return self.W / sigma

    def _initialize_params(self, in_size):
        super(SNLinear, self)._initialize_params(in_size)
        if self.use_gamma:
            _, s, _ = np.linalg.svd(self.W.data)
            with self.init_scope():
                self.gamma = variable.Parameter(s[0], (1, 1))

    def __call__(self, x):
        if self.W.data is None:
            self._initialize_params(x.size // x.shape[0])
        return linear.linear(x, self.W_bar, self.b)


class SNConvolution2D(Convolution2D):

    def __init__(self, in_channels, out_channels, ksize, stride=1, pad=0, nobias=False):
        super(SNConvolution2D, self).__init__(in_channels, out_channels, ksize, stride, pad, nobias)
        self.u = np.random.normal(size=(1, out_channels)).astype(dtype='f')
        self.register_persistent('u')

    @property
    def W_bar(self):
        W_mat = self.W.reshape(self.W.shape[0], -1)
        sigma, u = max_singular_value(W_mat, self.u)
        self.u[:] = u
        return self.W / F.broadcast_to(sigma.reshape((1, 1, 1, 1)), self.W.shape)

    def _initialize_params(self, in_size):
        super(SNConvolution2D, self)._initialize_params(in_size)
        self.W.data *= .5

    def __call__(self, x):
        if self.W.data is None:
            self._initialize_params(x.shape[1])
        return convolution_2d.convolution_2d(x, self.W_bar, self.b, self.stride, self.pad)


class SNEmbedID(L.EmbedID):

    def __init__(self, in_size, out_size, initialW=None, ignore_label=None):
        super(SNEmbedID, self).__init__(in_size, out_size, initialW=initialW, ignore_label=ignore_label)
        self.add_persistent('u', np.random.normal(size=(1, in_size)).astype('f'))

    def __call__(self, x):
        sigma, u = max_singular_value(self.W, self.u)
        self.u = u
        return embed_id.embed_id(x, self.W / F.broadcast_to(sigma[None, None], self.W.shape),
                                 ignore_label=self.ignore_label)


class Block(link.Chain):

    def __init__(self, n_in, n_out, downsample=True):
        super(Block, self).__init__()
        self.downsample = downsample
        with self.init_scope():
            self.c1 = SNConvolution2D(None, n_out, 3, pad=1)
            self.c2 = SNConvolution2D(n_out, n_out, 3, pad=1, nobias=False)
            self.c_sc = SNConvolution2D(n_in, n_out, 1)

    def __call__(self, x):
        h = self.c2(F.relu(self.c1(F.relu(x))))
        s = self.c_sc(x)
        if self.downsample:
            return F.average_pooling_2d(h, 2) + F.average_pooling_2d(s, 2)
        return h + s


class Discriminator(chainer.Chain):

    def __init__(self, n_classes):
        super(Discriminator, self).__init__()
        with self.init_scope():
            self.block1 = Block(2, 4)
            self.block2 = Block(4, 6, downsample=False)
            self.l3 = SNLinear(None, 1, use_gamma=True)
            self.l_y = SNEmbedID(n_classes, 6, initialW=chainer.initializers.GlorotUniform(), ignore_label=-1)

    def __setattr__(self, name, value):
        if self.within_init_scope and isinstance(value, chainer.Link):
            self.__dict__.setdefault('order', []).append(name)
        super(Discriminator, self).__setattr__(name, value)

    def __delattr__(self, name):
        self.order.remove(name)
        super(Discriminator, self).__delattr__(name)

    def copy(self, mode='share'):
        copied = super(Discriminator, self).copy(mode)
        copied.order = list(self.order)
        return copied

    def __call__(self, x, y):
        h = F.relu(self.block2(self.block1(x)))
        h = F.sum(h, axis=(2, 3))
        output = self.l3(h)
        return output + F.sum(self.l_y(y) * h, axis=1, keepdims=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--iteration', type=int, default=100)
    args = parser.parse_args()
    np.random.seed(0)
    rng = np.random.RandomState(3)
    model = Discriminator(3)
    x = rng.normal(size=(6, 2, 8, 8)).astype('f')
    y = np.array([0, 1, 2, -1, 1, 0], dtype=np.int32)
    model(x, y)
    optimizer = chainer.optimizers.Adam(alpha=0.01, beta1=0., beta2=0.9)
    optimizer.setup(model)
    for i in range(args.iteration):
        fake = rng.normal(.5, 1, size=x.shape).astype('f')
        loss = F.mean(F.relu(1. - model(x, y))) + F.mean(F.relu(1. + model(fake, y)))
        model.cleargrads()
        loss.backward()
        optimizer.update()
        print('hinge@%d %.5g' % (i, float(loss.data)))
    with chainer.using_config('train', False):
        top = np.linalg.svd(model.l3.W_bar.data / model.l3.gamma.data, compute_uv=False)[0]
    print('singular %.4g' % top)
    print('persistents %d' % len([n for n, _ in sorted(model.namedlinks()) if hasattr(_, 'u')]))
    copied = model.copy(mode='copy')
    del copied.l_y
    print('links_left %d' % len(list(copied.children())))
    print('order %d' % len(copied.order))
    print('kept %d' % hasattr(model, 'l_y'))


if __name__ == '__main__':
    main()
