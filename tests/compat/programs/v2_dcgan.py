#!/usr/bin/env python
"""v2: a small DCGAN with its own updater; images of bright and dark squares.

Arguments: --epoch 2 --batchsize 10 --out result
"""
from __future__ import print_function

import argparse
import os

import numpy as np

import chainer
from chainer import Variable, training
from chainer.training import extensions
import chainer.functions as F
import chainer.links as L


def add_noise(h, sigma=0.2):
    xp = chainer.cuda.get_array_module(h.data)
    if chainer.config.train:
        return h + sigma * xp.random.randn(*h.shape).astype(np.float32)
    else:
        return h


class Generator(chainer.Chain):

    def __init__(self, n_hidden, bottom_width=4, ch=16, wscale=0.02):
        super(Generator, self).__init__()
        self.n_hidden = n_hidden
        self.ch = ch
        self.bottom_width = bottom_width

        with self.init_scope():
            w = chainer.initializers.Normal(wscale)
            self.l0 = L.Linear(self.n_hidden, bottom_width * bottom_width * ch, initialW=w)
            self.dc1 = L.Deconvolution2D(ch, ch // 2, 4, 2, 1, initialW=w)
            self.dc2 = L.Deconvolution2D(ch // 2, 1, 3, 1, 1, initialW=w)
            self.bn0 = L.BatchNormalization(bottom_width * bottom_width * ch)
            self.bn1 = L.BatchNormalization(ch // 2)

    def make_hidden(self, batchsize):
        return np.random.uniform(-1, 1, (batchsize, self.n_hidden, 1, 1)).astype(np.float32)

    def __call__(self, z):
        h = F.reshape(F.relu(self.bn0(self.l0(z))), (len(z), self.ch, self.bottom_width, self.bottom_width))
        h = F.relu(self.bn1(self.dc1(h)))
        return F.sigmoid(self.dc2(h))


class Discriminator(chainer.Chain):

    def __init__(self, bottom_width=4, ch=16, wscale=0.02):
        w = chainer.initializers.Normal(wscale)
        super(Discriminator, self).__init__()
        with self.init_scope():
            self.c0_0 = L.Convolution2D(1, ch // 2, 3, 1, 1, initialW=w)
            self.c0_1 = L.Convolution2D(ch // 2, ch, 4, 2, 1, initialW=w)
            self.l1 = L.Linear(bottom_width * bottom_width * ch, 1, initialW=w)
            self.bn0_1 = L.BatchNormalization(ch, use_gamma=False)

    def __call__(self, x):
        h = add_noise(x)
        h = F.leaky_relu(add_noise(self.c0_0(h)))
        h = F.leaky_relu(add_noise(self.bn0_1(self.c0_1(h))), slope=0.1)
        return self.l1(h)


class DCGANUpdater(chainer.training.StandardUpdater):

    def __init__(self, *args, **kwargs):
        self.gen, self.dis = kwargs.pop('models')
        super(DCGANUpdater, self).__init__(*args, **kwargs)

    def loss_dis(self, dis, y_fake, y_real):
        batchsize = len(y_fake)
        L1 = F.sum(F.softplus(-y_real)) / batchsize
        L2 = F.sum(F.softplus(y_fake)) / batchsize
        loss = L1 + L2
        chainer.report({'loss': loss}, dis)
        return loss

    def loss_gen(self, gen, y_fake):
        loss = F.sum(F.softplus(-y_fake)) / len(y_fake)
        chainer.report({'loss': loss}, gen)
        return loss

    def update_core(self):
        gen_optimizer = self.get_optimizer('gen')
        dis_optimizer = self.get_optimizer('dis')

        batch = self.get_iterator('main').next()
        x_real = Variable(self.converter(batch, self.device)) / 255.
        xp = chainer.cuda.get_array_module(x_real.data)

        gen, dis = self.gen, self.dis
        batchsize = len(batch)
        y_real = dis(x_real)
        z = Variable(xp.asarray(gen.make_hidden(batchsize)))
        x_fake = gen(z)
        y_fake = dis(x_fake)

        dis_optimizer.update(self.loss_dis, dis, y_fake, y_real)
        gen_optimizer.update(self.loss_gen, gen, y_fake)


def out_generated_image(gen, rows, cols, seed, dst):
    @chainer.training.make_extension(trigger=(1, 'epoch'))
    def make_image(trainer):
        np.random.seed(seed)
        n_images = rows * cols
        xp = gen.xp
        z = Variable(xp.asarray(gen.make_hidden(n_images)))
        with chainer.using_config('train', False):
            x = gen(z)
        x = chainer.cuda.to_cpu(x.data)
        np.random.seed(trainer.updater.iteration)

        x = np.asarray(np.clip(x * 255, 0.0, 255.0), dtype=np.uint8)
        _, _, H, W = x.shape
        x = x.reshape((rows, cols, 1, H, W)).transpose(0, 3, 1, 4, 2).reshape((rows * H, cols * W))
        preview_dir = '{}/preview'.format(dst)
        if not os.path.exists(preview_dir):
            os.makedirs(preview_dir)
        np.save(preview_dir + '/image{:0>8}.npy'.format(trainer.updater.iteration), x)
    return make_image


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--batchsize', '-b', type=int, default=50)
    parser.add_argument('--epoch', '-e', type=int, default=1000)
    parser.add_argument('--gpu', '-g', type=int, default=-1)
    parser.add_argument('--out', '-o', default='result')
    parser.add_argument('--n_hidden', '-n', type=int, default=8)
    args = parser.parse_args()

    np.random.seed(0)
    gen, dis = Generator(args.n_hidden), Discriminator()
    if args.gpu >= 0:
        chainer.cuda.get_device(args.gpu).use()
        gen.to_gpu()
        dis.to_gpu()

    def make_optimizer(model, alpha=0.0002, beta1=0.5):
        optimizer = chainer.optimizers.Adam(alpha=alpha, beta1=beta1)
        optimizer.setup(model)
        optimizer.add_hook(chainer.optimizer.WeightDecay(0.0001), 'hook_dec')
        return optimizer
    opt_gen, opt_dis = make_optimizer(gen), make_optimizer(dis)

    images = np.random.RandomState(1).uniform(0, 50, size=(60, 1, 8, 8)).astype('f')
    images[::2, :, 2:6, 2:6] += 150
    train_iter = chainer.iterators.SerialIterator(chainer.datasets.SubDataset(images, 0, 50), args.batchsize)
    updater = DCGANUpdater(models=(gen, dis), iterator=train_iter, optimizer={'gen': opt_gen, 'dis': opt_dis},
                           device=args.gpu)
    trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)
    display_interval = (5, 'iteration')
    trainer.extend(extensions.snapshot_object(gen, 'gen_iter_{.updater.iteration}.npz'), trigger=(1, 'epoch'))
    trainer.extend(extensions.snapshot_object(dis, 'dis_iter_{.updater.iteration}.npz'), trigger=(1, 'epoch'))
    trainer.extend(extensions.LogReport(trigger=display_interval))
    trainer.extend(extensions.PrintReport(['epoch', 'iteration', 'gen/loss', 'dis/loss']), trigger=display_interval)
    trainer.extend(out_generated_image(gen, 3, 3, 0, args.out))
    trainer.run()

    for entry in trainer.get_extension('LogReport').log:
        print('gen/loss@%d %.6g' % (entry['iteration'], entry['gen/loss']))
        print('dis/loss@%d %.6g' % (entry['iteration'], entry['dis/loss']))
    picture = np.load('{}/preview/image{:0>8}.npy'.format(args.out, updater.iteration))
    print('preview_mean %.3g' % picture.mean())
    loaded = Generator(args.n_hidden)
    chainer.serializers.load_npz('%s/gen_iter_%d.npz' % (args.out, updater.iteration), loaded)
    print('weights_equal %d' % np.array_equal(loaded.dc1.W.data, gen.dc1.W.data))
    print('avg_mean %.5g' % float(loaded.bn1.avg_mean.sum()))


if __name__ == '__main__':
    main()
