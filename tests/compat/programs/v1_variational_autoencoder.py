"""v1: variational autoencoder as a Chain with encode, decode and a loss function maker; volatile inputs in evaluation.

Arguments: --epoch 3
Recorded with: 1.24.0
Legacy: v1
"""
import argparse

import numpy as np
import six

import chainer
from chainer import cuda
import chainer.functions as F
from chainer.functions.loss.vae import gaussian_kl_divergence
import chainer.links as L
from chainer import serializers


class VAE(chainer.Chain):
    """Variational AutoEncoder"""

    def __init__(self, n_in, n_latent, n_h):
        super(VAE, self).__init__()
        # encoder
        self.add_link('le1', L.Linear(n_in, n_h))
        self.add_link('le2_mu', L.Linear(n_h, n_latent))
        self.add_link('le2_ln_var', L.Linear(n_h, n_latent))
        # decoder
        self.add_link('ld1', L.Linear(n_latent, n_h))
        self.add_link('ld2', L.Linear(n_h, n_in))

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
        return F.sigmoid(h2) if sigmoid else h2

    def get_loss_func(self, C=1.0, k=1, train=True):
        def lf(x):
            mu, ln_var = self.encode(x)
            batchsize = len(mu.data)
            # reconstruction loss
            rec_loss = 0
            for l in six.moves.range(k):
                z = F.gaussian(mu, ln_var)
                rec_loss += F.bernoulli_nll(x, self.decode(z, sigmoid=False)) / (k * batchsize)
            self.rec_loss = rec_loss
            self.loss = self.rec_loss + C * gaussian_kl_divergence(mu, ln_var) / batchsize
            return self.loss
        return lf


parser = argparse.ArgumentParser()
parser.add_argument('--gpu', '-g', default=-1, type=int)
parser.add_argument('--resume', '-r', default='')
parser.add_argument('--epoch', '-e', default=100, type=int)
parser.add_argument('--dimz', '-z', default=3, type=int)
args = parser.parse_args()

np.random.seed(0)
batchsize = 20
rng = np.random.RandomState(6)
factors = rng.uniform(0, 1, (100, 2))
grid = np.linspace(0, 1, 25)
data = np.exp(-20 * (grid - factors[:, :1]) ** 2) * 0.9 + 0.1 * factors[:, 1:]
x_train, x_test = np.split(data.astype(np.float32), [80])
N = len(x_train)

model = VAE(25, args.dimz, 15)
if args.gpu >= 0:
    cuda.get_device(args.gpu).use()
    model.to_gpu()
xp = np if args.gpu < 0 else cuda.cupy

optimizer = chainer.optimizers.Adam(alpha=0.01)
optimizer.setup(model)
if args.resume:
    serializers.load_hdf5(args.resume, model)

for epoch in six.moves.range(1, args.epoch + 1):
    perm = np.random.permutation(N)
    sum_loss = 0
    sum_rec_loss = 0
    for i in six.moves.range(0, N, batchsize):
        x = chainer.Variable(xp.asarray(x_train[perm[i:i + batchsize]]))
        optimizer.update(model.get_loss_func(), x)
        sum_loss += float(model.loss.data) * len(x.data)
        sum_rec_loss += float(model.rec_loss.data) * len(x.data)
    print('train%d/loss %.6g' % (epoch, sum_loss / N))
    print('train%d/reconstruction %.6g' % (epoch, sum_rec_loss / N))

    x = chainer.Variable(xp.asarray(x_test), volatile='on')
    loss_func = model.get_loss_func(k=4, train=False)
    loss_func(x)
    print('test%d/loss %.6g' % (epoch, model.loss.data))
    del model.loss, model.rec_loss

x = chainer.Variable(xp.asarray(x_test[:9]), volatile='on')
x1 = model(x)
print('reconstructed/error %.6g' % np.abs(x1.data - x.data).mean())
z = chainer.Variable(np.zeros((2, args.dimz), dtype=np.float32), volatile='on')
z.data[1] = 0.5
print('decoded/sum %.6g' % model.decode(z).data.sum())
print('volatile %d' % (x1.volatile == 'on'))
