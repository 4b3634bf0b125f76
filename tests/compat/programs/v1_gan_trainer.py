"""v1: GAN in the Trainer: updater with two optimizers, extensions with invoke_before_training, a trigger as a function.

Arguments: --epoch 2 --out result
Recorded with: 1.24.0
Legacy: v1
"""
from __future__ import print_function
import argparse
import os

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import training
from chainer.training import extensions


def set_weights(link, seed):
    rng = np.random.RandomState(seed)
    for _, param in sorted(link.namedparams()):
        if param.data.ndim > 1:
            param.data[...] = rng.normal(0, 0.2, param.data.shape)


class Generator(chainer.Chain):
    def __init__(self, n_hidden, wscale=0.02):
        self.n_hidden = n_hidden
        super(Generator, self).__init__(
            l0=L.Linear(n_hidden, 16, wscale=wscale, nobias=True),
            l1=L.Linear(16, 8, wscale=wscale),
            bn0=L.BatchNormalization(16),
        )
        set_weights(self, 51)

    def make_hidden(self, batchsize):
        return np.random.uniform(-1, 1, (batchsize, self.n_hidden)).astype(np.float32)

    def __call__(self, z, test=False):
        h = F.relu(self.bn0(self.l0(z), test=test))
        return F.tanh(self.l1(h))


class Discriminator(chainer.Chain):
    def __init__(self, wscale=0.02):
        super(Discriminator, self).__init__(
            l0=L.Linear(8, 16, wscale=wscale, bias=0.0),
            l1=L.Linear(16, 1, wscale=wscale),
        )
        set_weights(self, 52)

    def __call__(self, x, train=True):
        h = F.dropout(F.leaky_relu(self.l0(x)), ratio=0.2, train=train)
        return self.l1(h)


class GANUpdater(training.StandardUpdater):
    def __init__(self, *args, **kwargs):
        self.gen, self.dis = kwargs.pop('models')
        super(GANUpdater, self).__init__(*args, **kwargs)

    def loss_dis(self, dis, y_fake, y_real):
        batchsize = y_fake.data.shape[0]
        L1 = F.sum(F.softplus(-y_real)) / batchsize
        L2 = F.sum(F.softplus(y_fake)) / batchsize
        loss = L1 + L2
        chainer.report({'loss': loss}, dis)
        return loss

    def loss_gen(self, gen, y_fake):
        batchsize = y_fake.data.shape[0]
        loss = F.sum(F.softplus(-y_fake)) / batchsize
        chainer.report({'loss': loss}, gen)
        return loss

    def update_core(self):
        gen_optimizer = self.get_optimizer('gen')
        dis_optimizer = self.get_optimizer('dis')
        batch = self.get_iterator('main').next()
        x_real = chainer.Variable(self.converter(batch, self.device))
        xp = chainer.cuda.get_array_module(x_real.data)
        gen, dis = self.gen, self.dis

        y_real = dis(x_real)
        z = chainer.Variable(xp.asarray(gen.make_hidden(len(batch))))
        x_fake = gen(z, test=False)
        y_fake = dis(x_fake)
        dis_optimizer.update(self.loss_dis, dis, y_fake, y_real)
        gen_optimizer.update(self.loss_gen, gen, y_fake)


def out_generated(gen, seed, dst):
    @training.make_extension(trigger=(1, 'epoch'), invoke_before_training=True)
    def make_samples(trainer):
        rng = np.random.RandomState(seed)
        z = chainer.Variable(rng.uniform(-1, 1, (10, gen.n_hidden)).astype(np.float32), volatile='on')
        x = gen(z, test=True)
        directory = os.path.join(trainer.out, dst)
        if not os.path.exists(directory):
            os.makedirs(directory)
        np.save(os.path.join(directory, 'sample_%d.npy' % trainer.updater.iteration), x.data)
    return make_samples


class Counter(training.Extension):
    """Counts its calls; one of them is before the training."""

    trigger = (2, 'iteration')
    priority = training.PRIORITY_READER
    invoke_before_training = True

    def __init__(self):
        self.count = 0

    def __call__(self, trainer):
        self.count += 1

    def serialize(self, serializer):
        self.count = serializer('count', self.count)


def every_third(trainer):
    return trainer.updater.iteration % 3 == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--batchsize', '-b', type=int, default=10)
    parser.add_argument('--epoch', '-e', type=int, default=100)
    parser.add_argument('--gpu', '-g', type=int, default=-1)
    parser.add_argument('--out', '-o', default='result')
    parser.add_argument('--resume', '-r', default='')
    args = parser.parse_args()

    np.random.seed(0)
    gen, dis = Generator(4), Discriminator()
    if args.gpu >= 0:
        chainer.cuda.get_device(args.gpu).use()
        gen.to_gpu()
        dis.to_gpu()

    def make_optimizer(model, alpha=0.002, beta1=0.5):
        optimizer = chainer.optimizers.Adam(alpha=alpha, beta1=beta1)
        optimizer.setup(model)
        optimizer.add_hook(chainer.optimizer.WeightDecay(0.0001), 'hook_dec')
        return optimizer

    phases = np.random.RandomState(53).uniform(0, 6, (60, 1))
    train = np.sin(np.arange(8) + phases).astype(np.float32)
    train_iter = chainer.iterators.SerialIterator(train, args.batchsize, shuffle=False)
    updater = GANUpdater(models=(gen, dis), iterator=train_iter,
                         optimizer={'gen': make_optimizer(gen), 'dis': make_optimizer(dis)}, device=args.gpu)
    trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)

    trainer.extend(extensions.snapshot(filename='snapshot_epoch_{.updater.epoch}', trigger=(1, 'epoch')))
    trainer.extend(extensions.snapshot_object(gen, 'gen_iter_{.updater.iteration}.npz', trigger=(6, 'iteration')))
    trainer.extend(extensions.LogReport(trigger=(3, 'iteration')))
    counter = Counter()
    trainer.extend(counter)
    trainer.extend(out_generated(gen, 0, 'preview'))
    shifts = []
    trainer.extend(lambda trainer: shifts.append(trainer.updater.epoch_detail), name='shifts',
                   trigger=every_third, invoke_before_training=False)
    if args.resume:
        chainer.serializers.load_npz(args.resume, trainer)
    trainer.run()

    for entry in trainer.get_extension('LogReport').log:
        print('iter%d/gen %.6g' % (entry['iteration'], entry['gen/loss']))
        print('iter%d/dis %.6g' % (entry['iteration'], entry['dis/loss']))
    print('counter %d' % counter.count)
    print('shifts %.6g' % sum(shifts))
    for name in sorted(os.listdir(os.path.join(args.out, 'preview'))):
        sample = np.load(os.path.join(args.out, 'preview', name))
        print('%s/std %.6g' % (name.split('.')[0], sample.std()))
    print('snapshots %d' % sum(name.startswith('snapshot_epoch') for name in os.listdir(args.out)))
    copied = Generator(4)
    chainer.serializers.load_npz(os.path.join(args.out, 'gen_iter_12.npz'), copied)
    print('gen/l1 %.6g' % np.linalg.norm(copied.l1.W.data))


if __name__ == '__main__':
    main()
