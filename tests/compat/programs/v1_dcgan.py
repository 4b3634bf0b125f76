"""v1: DCGAN by hand: Deconvolution2D with wscale, BatchNormalization(test=), zero_grads of two optimizers, ELU.

Arguments: --epoch 2 --out images
Recorded with: 1.24.0
Legacy: v1
Tolerance: 1e-3
"""
import argparse
import math
import os

import numpy as np
import chainer
from chainer import cuda, Variable, optimizers, serializers
import chainer.functions as F
import chainer.links as L

nz = 10          # # of dim for Z
batchsize = 12
n_train = 48


class Generator(chainer.Chain):
    def __init__(self):
        super(Generator, self).__init__(
            l0z=L.Linear(nz, 4 * 4 * 16, wscale=0.02 * math.sqrt(nz), nobias=True),
            dc1=L.Deconvolution2D(16, 8, 4, stride=2, pad=1, wscale=0.02 * math.sqrt(4 * 4 * 16), nobias=True),
            dc2=L.Deconvolution2D(8, 3, 4, stride=2, pad=1, wscale=0.02 * math.sqrt(4 * 4 * 8)),
            bn0l=L.BatchNormalization(4 * 4 * 16),
            bn1=L.BatchNormalization(8),
        )

    def __call__(self, z, test=False):
        h = F.reshape(F.relu(self.bn0l(self.l0z(z), test=test)), (z.data.shape[0], 16, 4, 4))
        h = F.relu(self.bn1(self.dc1(h), test=test))
        x = self.dc2(h)
        return x


class Discriminator(chainer.Chain):
    def __init__(self):
        super(Discriminator, self).__init__(
            c0=L.Convolution2D(3, 8, 4, stride=2, pad=1, wscale=0.02 * math.sqrt(4 * 4 * 3)),
            c1=L.Convolution2D(8, 16, 4, stride=2, pad=1, wscale=0.02 * math.sqrt(4 * 4 * 8), nobias=True),
            l4l=L.Linear(4 * 4 * 16, 2, wscale=0.02 * math.sqrt(4 * 4 * 16)),
            bn0=L.BatchNormalization(8),
            bn1=L.BatchNormalization(16),
        )

    def __call__(self, x, test=False):
        h = F.elu(self.c0(x))  # no bn because images from generator have other statistics
        h = F.elu(self.bn1(self.c1(h), test=test))
        l = self.l4l(h)
        return l


def clip(x):
    return np.float32(-1 if x < -1 else (1 if x > 1 else x))


def set_weights(model, seed):
    rng = np.random.RandomState(seed)
    for name, param in sorted(model.namedparams()):
        if name.endswith('/W'):
            param.data[...] = rng.normal(0, 0.1, param.data.shape)


def train_dcgan_labeled(gen, dis, dataset, args, xp):
    o_gen = optimizers.Adam(alpha=0.0005, beta1=0.5)
    o_dis = optimizers.Adam(alpha=0.0005, beta1=0.5)
    o_gen.setup(gen)
    o_dis.setup(dis)
    o_gen.add_hook(chainer.optimizer.WeightDecay(0.00001))
    o_dis.add_hook(chainer.optimizer.WeightDecay(0.00001))
    zvis = xp.asarray(np.random.uniform(-1, 1, (9, nz)).astype(np.float32))

    for epoch in range(args.epoch):
        perm = np.random.permutation(n_train)
        sum_l_dis = np.float32(0)
        sum_l_gen = np.float32(0)
        for i in range(0, n_train, batchsize):
            # discriminator
            # 0: from dataset, 1: from noise
            x2 = Variable(xp.asarray(dataset[perm[i:i + batchsize]]))

            # train generator
            z = Variable(xp.asarray(np.random.uniform(-1, 1, (batchsize, nz)).astype(np.float32)))
            x = gen(z)
            yl = dis(x)
            L_gen = F.softmax_cross_entropy(yl, Variable(xp.zeros(batchsize, dtype=np.int32)))
            L_dis = F.softmax_cross_entropy(yl, Variable(xp.ones(batchsize, dtype=np.int32)))

            # train discriminator
            yl2 = dis(x2)
            L_dis += F.softmax_cross_entropy(yl2, Variable(xp.zeros(batchsize, dtype=np.int32)))

            o_gen.zero_grads()
            L_gen.backward()
            o_gen.update()

            o_dis.zero_grads()
            L_dis.backward()
            o_dis.update()

            sum_l_gen += L_gen.data
            sum_l_dis += L_dis.data

        print('epoch%d/gen %.6g' % (epoch, sum_l_gen / (n_train // batchsize)))
        print('epoch%d/dis %.6g' % (epoch, sum_l_dis / (n_train // batchsize)))
        x = gen(Variable(zvis, volatile=True), test=True)
        images = (np.vectorize(clip)(cuda.to_cpu(x.data)) + 1) / 2
        print('epoch%d/brightness %.6g' % (epoch, images.mean()))
        serializers.save_npz('%s/gen%d.npz' % (args.out, epoch), gen)
        serializers.save_npz('%s/o_gen%d.npz' % (args.out, epoch), o_gen)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--gpu', '-g', type=int, default=-1)
    parser.add_argument('--epoch', type=int, default=10)
    parser.add_argument('--out', default='out_images')
    args = parser.parse_args()
    np.random.seed(0)
    try:
        os.mkdir(args.out)
    except OSError:
        pass
    xp = np
    gen, dis = Generator(), Discriminator()
    # wscale scales the initial weights
    for name, link in [('l0z', gen.l0z), ('dc1', gen.dc1), ('c0', dis.c0), ('l4l', dis.l4l)]:
        print('wscale/%s %.6g' % (name, link.W.data.std()))
    set_weights(gen, 1)
    set_weights(dis, 2)
    if args.gpu >= 0:
        cuda.get_device(args.gpu).use()
        gen.to_gpu()
        dis.to_gpu()
        xp = cuda.cupy
    ramp = np.linspace(-1, 1, 16)
    phases = np.random.RandomState(5).uniform(0, 3, (n_train, 3, 1, 1))
    dataset = np.sin(3 * ramp[:, None] * ramp + phases).astype(np.float32)
    train_dcgan_labeled(gen, dis, dataset, args, xp)
    again = Generator()
    serializers.load_npz('%s/gen%d.npz' % (args.out, args.epoch - 1), again)
    print('loaded/avg_var %.6g' % again.bn1.avg_var.sum())


if __name__ == '__main__':
    main()
