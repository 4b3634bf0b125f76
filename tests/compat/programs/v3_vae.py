#!/usr/bin/env python
"""v3: a variational autoencoder with a loss that is made by a method, trained by hand-written loops and saved as HDF5.

Arguments: --epoch 3 --dimz 2 --out result
"""
import argparse
import os

import numpy as np
import six

import chainer
from chainer import cuda, computational_graph, optimizers, serializers
import chainer.functions as F
from chainer.functions.loss.vae import gaussian_kl_divergence
import chainer.links as L
from chainer import reporter


class VAE(chainer.Chain):
    """Variational AutoEncoder"""

    def __init__(self, n_in, n_latent, n_h):
        super(VAE, self).__init__()
        with self.init_scope():
            # encoder
            self.le1 = L.Linear(n_in, n_h)
            self.le2_mu = L.Linear(n_h, n_latent)
            self.le2_ln_var = L.Linear(n_h, n_latent)
            # decoder
            self.ld1 = L.Linear(n_latent, n_h)
            self.ld2 = L.Linear(n_h, n_in)
            self.ld2_ln_var = L.Linear(n_h, n_in, initialW=chainer.initializers.Zero())

    def __call__(self, x, sigmoid=True):
        """AutoEncoder"""
        return self.decode(self.encode(x)[0], sigmoid)

    def encode(self, x):
        h1 = F.tanh(self.le1(x))
        mu = self.le2_mu(h1)
        ln_var = self.le2_ln_var(h1)  # log(sigma**2)
        return mu, ln_var

    def decode(self, z, sigmoid=True):
        h1 = F.tanh(self.ld1(z))
        h2 = self.ld2(h1)
        if sigmoid:
            return F.sigmoid(h2)
        return h2, self.ld2_ln_var(h1)

    def get_loss_func(self, C=1.0, k=1):
        def lf(x):
            mu, ln_var = self.encode(x)
            batchsize = len(mu.data)
            rec_loss = 0
            for l in six.moves.range(k):
                z = F.gaussian(mu, ln_var)
                out_mu, out_ln_var = self.decode(z, sigmoid=False)
                rec_loss += F.gaussian_nll(x, out_mu, F.clip(out_ln_var, -3.0, 3.0)) / (k * batchsize)
            self.rec_loss = rec_loss
            self.latent_loss = C * gaussian_kl_divergence(mu, ln_var) / batchsize
            self.loss = self.rec_loss + self.latent_loss
            reporter.report({'rec_loss': rec_loss, 'loss': self.loss}, self)
            return self.loss
        return lf


def make_strokes(n, size=6):
    rng = np.random.RandomState(5)
    images = np.zeros((n, size, size), dtype=np.float32)
    for image in images:
        if rng.randint(2):
            image[rng.randint(size)] = 1
        else:
            image[:, rng.randint(size)] = 1
    return images.reshape(n, -1) + rng.normal(0, .05, (n, size * size)).astype('f')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--gpu', '-g', default=-1, type=int)
    parser.add_argument('--out', '-o', default='result')
    parser.add_argument('--epoch', '-e', default=100, type=int)
    parser.add_argument('--dimz', '-z', default=20, type=int)
    parser.add_argument('--batchsize', '-b', type=int, default=20)
    args = parser.parse_args()

    np.random.seed(0)
    x_all = make_strokes(120)
    x_train, x_test = np.split(x_all, [100])
    model = VAE(x_all.shape[1], args.dimz, 24)
    if args.gpu >= 0:
        cuda.get_device_from_id(args.gpu).use()
        model.to_gpu()
    xp = np if args.gpu < 0 else cuda.cupy
    optimizer = optimizers.Adam(eps=1e-7)
    optimizer.setup(model)

    loss_function = model.get_loss_func(k=2)
    rep = reporter.Reporter()
    rep.add_observer('vae', model)
    rep.add_observers('vae', model.namedlinks(skipself=True))
    for epoch in six.moves.range(1, args.epoch + 1):
        perm = np.random.permutation(len(x_train))
        summary = reporter.DictSummary()
        for i in six.moves.range(0, len(x_train), args.batchsize):
            x = chainer.Variable(xp.asarray(x_train[perm[i:i + args.batchsize]]))
            observation = {}
            with rep, reporter.report_scope(observation):
                optimizer.update(loss_function, x)
            summary.add({k: float(v.data) for k, v in observation.items()})
        mean = summary.compute_mean()
        print('train/loss@%d %.6g' % (epoch, mean['vae/loss']))
        print('train/rec@%d %.6g' % (epoch, mean['vae/rec_loss']))

    if not os.path.exists(args.out):
        os.makedirs(args.out)
    with chainer.no_backprop_mode(), chainer.using_config('train', False):
        test_loss = model.get_loss_func(C=0.5)(chainer.Variable(x_test))
    print('test/loss %.6g' % float(test_loss.data))
    with open(os.path.join(args.out, 'graph.dot'), 'w') as o:
        v_style = {'shape': 'octagon', 'fillcolor': '#E0E0E0', 'style': 'filled'}
        g = computational_graph.build_computational_graph(
            (model.get_loss_func()(chainer.Variable(x_test)),), variable_style=v_style)
        o.write(g.dump())
    print('nodes %d' % len(g.nodes))
    print('edges %d' % len(g.edges))

    serializers.save_hdf5(os.path.join(args.out, 'vae.model'), model)
    serializers.save_hdf5(os.path.join(args.out, 'vae.state'), optimizer)
    copy = VAE(x_all.shape[1], args.dimz, 24)
    serializers.load_hdf5(os.path.join(args.out, 'vae.model'), copy)
    again = optimizers.Adam()
    again.setup(copy)
    serializers.load_hdf5(os.path.join(args.out, 'vae.state'), again)
    print('steps %d' % again.t)
    print('first_moment %.5g' % float(abs(copy.le1.W.update_rule.state['m']).sum()))
    print('reconstruction %.5g' % float(F.mean_squared_error(copy(x_test), model(x_test)).data))


if __name__ == '__main__':
    main()
