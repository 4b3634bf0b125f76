"""v4: WGAN with a gradient penalty through chainer.grad, layer normalization, a clipping variant; points on a ring.

Arguments: --iteration 6
Tolerance: 1e-3
"""
import argparse

import numpy as np

import chainer
from chainer import optimizers, Variable
import chainer.functions as F
import chainer.links as L
from chainer.links.normalization.batch_normalization import BatchNormalization


class Generator(chainer.Chain):

    def __init__(self, n_hidden=4):
        super(Generator, self).__init__()
        self.n_hidden = n_hidden
        with self.init_scope():
            self.l1 = L.Linear(n_hidden, 16, initialW=chainer.initializers.GlorotNormal())
            self.bn1 = BatchNormalization(16)
            self.l2 = L.Linear(16, 16, nobias=True)
            self.bn2 = BatchNormalization(16)
            self.l3 = L.Linear(16, 2)

    def sample(self, n):
        return Variable(self.xp.asarray(np.random.normal(size=(n, self.n_hidden)).astype(np.float32)))

    def __call__(self, z):
        h = F.relu(self.bn1(self.l1(z)))
        h = F.relu(self.bn2(self.l2(h)))
        return self.l3(h)


class Critic(chainer.Chain):

    def __init__(self):
        super(Critic, self).__init__()
        with self.init_scope():
            self.l1 = L.Linear(2, 24)
            self.ln = L.LayerNormalization(24)
            self.l2 = L.Linear(24, 24)
            self.l3 = L.Linear(24, 1)

    def __call__(self, x):
        h = F.leaky_relu(self.ln(self.l1(x)))
        h = F.tanh(self.l2(h))
        return self.l3(h)


class WeightClipping(object):
    """Optimizer hook function for weight clipping."""

    name = 'WeightClipping'
    call_for_each_param = False

    def __init__(self, threshold):
        self.threshold = threshold

    def __call__(self, opt):
        for param in opt.target.params():
            xp = chainer.cuda.get_array_module(param.data)
            param.data = xp.clip(param.data, -self.threshold, self.threshold)


def ring(n):
    angle = np.random.uniform(0, 2 * np.pi, n)
    x = np.stack([np.cos(angle), np.sin(angle)], axis=1) + np.random.normal(0, .05, (n, 2))
    return x.astype(np.float32)


def gradient_penalty(critic, x_real, x_fake):
    xp = chainer.cuda.get_array_module(x_real)
    eps = xp.random.uniform(0, 1, size=(len(x_real), 1)).astype(np.float32)
    x_mid = eps * x_real + (1.0 - eps) * x_fake.data
    x_mid_v = Variable(x_mid)
    y_mid = critic(x_mid_v)
    grad, = chainer.grad([y_mid], [x_mid_v], enable_double_backprop=True)
    grad = F.sqrt(F.batch_l2_norm_squared(grad))
    return F.mean_squared_error(grad, xp.ones_like(grad.data)), grad


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--iteration', type=int, default=100)
    parser.add_argument('--n-critic', type=int, default=2)
    parser.add_argument('--lam', type=float, default=10)
    parser.add_argument('--batchsize', type=int, default=16)
    parser.add_argument('--gpu', type=int, default=-1)
    args = parser.parse_args()

    for penalty in (True, False):
        tag = 'gp' if penalty else 'clip'
        np.random.seed(0)
        gen, critic = Generator(), Critic()
        if args.gpu >= 0:
            chainer.cuda.get_device(args.gpu).use()
            gen.to_gpu()
            critic.to_gpu()
        opt_gen = optimizers.Adam(alpha=1e-3, beta1=0.0, beta2=0.9)
        opt_gen.setup(gen)
        opt_critic = optimizers.Adam(alpha=1e-3, beta1=0.0, beta2=0.9)
        opt_critic.setup(critic)
        if not penalty:
            opt_critic.add_hook(WeightClipping(0.1))
        for i in range(args.iteration):
            for _ in range(args.n_critic):
                x_real = gen.xp.asarray(ring(args.batchsize))
                x_fake = gen(gen.sample(args.batchsize))
                loss = F.average(critic(x_fake)) - F.mean(critic(x_real))
                if penalty:
                    loss_gp, grad = gradient_penalty(critic, x_real, x_fake)
                    loss += args.lam * loss_gp
                critic.cleargrads()
                loss.backward()
                opt_critic.update()
            x_fake = gen(gen.sample(args.batchsize))
            loss_gen = -F.sum(critic(x_fake)) / args.batchsize
            gen.cleargrads()
            loss_gen.backward()
            opt_gen.update()
            if i % 2:
                print('%s/critic@%d %.5g' % (tag, i, float(loss.data)))
                print('%s/gen@%d %.5g' % (tag, i, float(loss_gen.data)))
        if penalty:
            print('gp/slope %.5g' % float(F.average(grad).data))
        else:
            print('clip/largest %.5g' % max(float(abs(p.data).max()) for p in critic.params()))
        with chainer.using_config('train', False), chainer.using_config('enable_backprop', False):
            x = gen(gen.sample(50))
        print('%s/radius %.4g' % (tag, float(F.sqrt(F.sum(x ** 2, axis=1)).data.mean())))
        print('%s/no_graph %d' % (tag, x.creator is None))


if __name__ == '__main__':
    main()
