"""v1: three convolutions that sharpen enlarged pictures; FunctionSet, wscale, bias, PSNR; Variable.data is assigned.

Arguments: --epoch 3
Recorded with: 1.24.0
Legacy: v1
"""
from __future__ import print_function
import argparse
import math

import numpy as np
import chainer
import chainer.functions as F
from chainer import Variable, FunctionSet, optimizers, cuda


class Conv3Layer(object):
    def __init__(self, gpu=-1):
        self.model = FunctionSet(
            conv1=F.Convolution2D(in_channels=1, out_channels=8, ksize=5, stride=1, pad=2, wscale=math.sqrt(2), bias=0.02),
            conv2=F.Convolution2D(in_channels=8, out_channels=6, ksize=1, stride=1, pad=0, wscale=math.sqrt(2)),
            conv3=F.Convolution2D(in_channels=6, out_channels=1, ksize=3, stride=1, pad=1, wscale=math.sqrt(2)),
        )
        self.gpu = gpu
        print('std/conv1 %.6g' % self.model.conv1.W.data.std())
        print('bias/conv1 %.6g' % self.model.conv1.b.data.mean())
        rng = np.random.RandomState(42)
        for name in ['conv1', 'conv2', 'conv3']:
            W = getattr(self.model, name).W
            W.data = rng.normal(0, 0.1, W.data.shape).astype(np.float32)
        if gpu >= 0:
            self.model.to_gpu()
        self.optimizer = optimizers.MomentumSGD(lr=0.05, momentum=0.9)
        self.optimizer.setup(self.model.collect_parameters())

    def forward(self, x):
        h = F.relu(self.model.conv1(x), use_cudnn=False)
        h = F.relu(self.model.conv2(h))
        return self.model.conv3(h) + x

    def train(self, low, high):
        self.optimizer.zero_grads()
        x, t = Variable(low, volatile=False), Variable(high, volatile=False)
        y = self.forward(x)
        loss = F.mean_squared_error(y, t)
        loss.backward()
        self.optimizer.weight_decay(0.0001)
        self.optimizer.clip_grads(0.5)
        self.optimizer.update()
        return loss.data

    def upscale(self, low):
        return self.forward(Variable(low, volatile=True)).data


def blur(images):
    """Makes a picture half as large and back again."""
    n, c, h, w = images.shape
    small = images.reshape(n, c, h // 2, 2, w // 2, 2).mean(axis=(3, 5))
    return small.repeat(2, axis=2).repeat(2, axis=3).astype(np.float32)


def psnr(a, b):
    return 10 * math.log10(1.0 / np.mean((cuda.to_cpu(a) - b) ** 2))


def make_pictures(n):
    rng = np.random.RandomState(n)
    grid = np.linspace(0, 1, 16)
    fx, fy, phase = rng.uniform(2, 14, (3, n, 1, 1))
    picture = 0.5 + 0.4 * np.sin(fx * grid[None, :, None] + fy * grid[None, None, :] + phase)
    return picture[:, np.newaxis].astype(np.float32)


parser = argparse.ArgumentParser()
parser.add_argument('--gpu', '-g', type=int, default=-1)
parser.add_argument('--epoch', type=int, default=30)
args = parser.parse_args()
if args.gpu >= 0:
    cuda.init(args.gpu)
np.random.seed(0)
net = Conv3Layer(args.gpu)
high = make_pictures(40)
low = blur(high)
valid = make_pictures(9)

print('psnr/blurred %.6g' % psnr(blur(valid), valid))
for epoch in range(args.epoch):
    perm = np.random.permutation(len(high))
    losses = [net.train(low[perm[i:i + 8]], high[perm[i:i + 8]]) for i in range(0, 40, 8)]
    print('epoch%d/loss %.6g' % (epoch, np.mean(losses)))
    print('epoch%d/psnr %.6g' % (epoch, psnr(net.upscale(blur(valid)), valid)))

# weights by hand: a kernel that changes nothing
identity = np.zeros_like(cuda.to_cpu(net.model.conv3.W.data))
net.model.conv3.W.data = identity
net.model.conv3.b.data *= 0
print('psnr/identity %.6g' % psnr(net.upscale(blur(valid)), valid))
print('parameters %d' % len(net.model.parameters))
print('norm %.6g' % sum(abs(p).sum() for p in net.model.parameters))
