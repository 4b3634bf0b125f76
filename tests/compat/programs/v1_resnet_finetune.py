"""v1: residual network of bottleneck blocks; test= and finetune= of batch normalization, first layers kept as they are.

Arguments: --iterations 3
Recorded with: 1.24.0
Legacy: v1
Tolerance: 1e-3
"""
import argparse
import math

import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L


class BottleNeckA(chainer.Chain):
    def __init__(self, in_size, ch, out_size, stride=2):
        w = math.sqrt(2)
        super(BottleNeckA, self).__init__(
            conv1=L.Convolution2D(in_size, ch, 1, stride, 0, w, nobias=True),
            bn1=L.BatchNormalization(ch),
            conv2=L.Convolution2D(ch, ch, 3, 1, 1, w, nobias=True),
            bn2=L.BatchNormalization(ch),
            conv3=L.Convolution2D(ch, out_size, 1, 1, 0, w, nobias=True),
            bn3=L.BatchNormalization(out_size),
            conv4=L.Convolution2D(in_size, out_size, 1, stride, 0, w, nobias=True),
            bn4=L.BatchNormalization(out_size),
        )

    def __call__(self, x, test=False, finetune=False):
        h1 = F.relu(self.bn1(self.conv1(x), test=test, finetune=finetune))
        h1 = F.relu(self.bn2(self.conv2(h1), test=test, finetune=finetune))
        h1 = self.bn3(self.conv3(h1), test=test, finetune=finetune)
        h2 = self.bn4(self.conv4(x), test=test, finetune=finetune)
        return F.relu(h1 + h2)


class BottleNeckB(chainer.Chain):
    def __init__(self, in_size, ch):
        w = math.sqrt(2)
        super(BottleNeckB, self).__init__(
            conv1=L.Convolution2D(in_size, ch, 1, 1, 0, w, nobias=True),
            bn1=L.BatchNormalization(ch),
            conv2=L.Convolution2D(ch, in_size, 3, 1, 1, w, nobias=True),
            bn2=L.BatchNormalization(in_size),
        )

    def __call__(self, x, test=False, finetune=False):
        h = F.relu(self.bn1(self.conv1(x), test=test, finetune=finetune))
        h = self.bn2(self.conv2(h), test=test, finetune=finetune)
        return F.relu(h + x)


class Block(chainer.Chain):
    def __init__(self, layer, in_size, ch, out_size, stride=2):
        super(Block, self).__init__()
        links = [('a', BottleNeckA(in_size, ch, out_size, stride))]
        for i in range(layer - 1):
            links += [('b{}'.format(i + 1), BottleNeckB(out_size, ch))]
        for l in links:
            self.add_link(*l)
        self.forward = links

    def __call__(self, x, test=False, finetune=False):
        for name, _ in self.forward:
            f = getattr(self, name)
            x = f(x, test=test, finetune=finetune)
        return x


class ResNet(chainer.Chain):
    def __init__(self):
        w = math.sqrt(2)
        super(ResNet, self).__init__(
            conv1=L.Convolution2D(3, 8, 3, 1, 1, w, nobias=True),
            bn1=L.BatchNormalization(8),
            res2=Block(2, 8, 4, 12, 1),
            res3=Block(2, 12, 6, 16),
            fc=L.Linear(16, 4),
        )
        self.train = True

    def clear(self):
        self.loss = None
        self.accuracy = None

    def __call__(self, x, t, finetune=False):
        self.clear()
        test = not self.train
        h = self.bn1(self.conv1(x), test=test, finetune=finetune)
        h = F.max_pooling_2d(F.relu(h), 2, stride=2)
        h = self.res2(h, test=test, finetune=finetune)
        h = self.res3(h, test=test, finetune=finetune)
        h = F.average_pooling_2d(h, h.data.shape[2], stride=1)
        h = self.fc(h)
        self.loss = F.softmax_cross_entropy(h, t)
        self.accuracy = F.accuracy(h, t)
        return self.loss

    def start_finetuning(self):
        for link in self.links():
            if isinstance(link, L.BatchNormalization):
                link.start_finetuning()


class DelGradient(object):
    """Hook that stops layers from learning."""

    name = 'DelGradient'

    def __init__(self, delTgt):
        self.delTgt = delTgt

    def __call__(self, opt):
        for name, param in opt.target.namedparams():
            for d in self.delTgt:
                if d in name:
                    grad = param.grad
                    with chainer.cuda.get_device(grad):
                        grad *= 0


parser = argparse.ArgumentParser()
parser.add_argument('--gpu', type=int, default=-1)
parser.add_argument('--iterations', type=int, default=10)
args = parser.parse_args()

np.random.seed(0)
model = ResNet()
rng = np.random.RandomState(77)
for name, param in sorted(model.namedparams()):
    if param.data.ndim > 1:
        param.data[...] = rng.normal(0, math.sqrt(2. / np.prod(param.data.shape[1:])), param.data.shape)
if args.gpu >= 0:
    chainer.cuda.get_device(args.gpu).use()
    model.to_gpu()
t = (np.arange(16) % 4).astype(np.int32)
x = rng.normal(0, 1, (16, 3, 8, 8))
x[np.arange(16), t % 3] += 1
x = x.astype(np.float32)

optimizer = chainer.optimizers.NesterovAG(lr=0.02, momentum=0.9)
optimizer.setup(model)
optimizer.add_hook(chainer.optimizer.WeightDecay(1e-4), 'decay')
optimizer.add_hook(DelGradient(['conv1']))
before = model.conv1.W.data.copy()
for i in range(args.iterations):
    optimizer.zero_grads()
    loss = model(chainer.Variable(x), chainer.Variable(t))
    loss.backward()
    optimizer.update()
    print('train%d/loss %.6g' % (i, loss.data))
print('kept/change %.6g' % abs(model.conv1.W.data - before).sum())
optimizer.remove_hook('DelGradient')

model.train = False
loss = model(chainer.Variable(x, volatile='on'), chainer.Variable(t, volatile='on'))
print('test/loss %.6g' % loss.data)
# statistics of the whole data for the test mode
model.train = True
model.start_finetuning()
for i in range(0, 16, 8):
    model(chainer.Variable(x[i:i + 8], volatile='on'), chainer.Variable(t[i:i + 8], volatile='on'), finetune=True)
print('finetune/N %d' % model.res3.a.bn1.N)
print('finetune/avg_mean %.6g' % np.abs(model.res3.a.bn1.avg_mean).sum())
print('finetune/avg_var %.6g' % model.bn1.avg_var.sum())
model.train = False
loss = model(chainer.Variable(x, volatile='on'), chainer.Variable(t, volatile='on'))
print('finetune/loss %.6g' % loss.data)
print('finetune/accuracy %.6g' % model.accuracy.data)
print('links %d' % len(list(model.links())))
print('persistents %d' % len(model.bn1._persistent))
