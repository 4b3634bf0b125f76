"""v1: GoogLeNet in small, with F.Inception, L.InceptionBN(test=...) and two auxiliary classifiers; train flag on the chain.

Arguments: --iterations 4
Recorded with: 1.24.0
Legacy: v1
"""
import argparse

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L


class GoogLeNet(chainer.Chain):

    insize = 16

    def __init__(self):
        super(GoogLeNet, self).__init__(
            conv1=L.Convolution2D(3, 8, 3, stride=1, pad=1, wscale=2, bias=0.01),
            inc3a=F.Inception(8, 4, 4, 6, 2, 4, 4),
            inc3b=L.Inception(18, 4, 4, 6, 2, 4, 4),
            inc4a=L.InceptionBN(18, 4, 4, 6, 4, 6, 'avg', 4),
            inc4b=L.InceptionBN(20, 0, 4, 8, 4, 6, 'max', stride=2),
            loss3_fc=L.Linear(34, 5),
            loss1_conv=L.Convolution2D(18, 4, 1, use_cudnn=False),
            loss1_fc=F.Linear(4 * 4 * 4, 5),
        )
        self.train = True

    def __call__(self, x, t):
        h = F.max_pooling_2d(F.relu(self.conv1(x)), 2, stride=2)
        h = F.local_response_normalization(h, n=5, k=1)
        h = self.inc3a(h)
        h = self.inc3b(h)

        a = F.average_pooling_2d(h, 2, stride=2, use_cudnn=False)
        a = F.relu(self.loss1_conv(a), use_cudnn=False)
        loss1 = F.softmax_cross_entropy(self.loss1_fc(a), t)

        h = self.inc4a(h, test=not self.train)
        h = self.inc4b(h, test=not self.train)
        h = F.average_pooling_2d(h, 4)
        y = self.loss3_fc(F.dropout(h, 0.4, train=self.train))
        loss3 = F.softmax_cross_entropy(y, t)

        loss = 0.3 * loss1 + loss3
        accuracy = F.accuracy(y, t)
        chainer.report({'loss': loss, 'loss1': loss1, 'accuracy': accuracy}, self)
        return loss


def set_weights(model, seed):
    rng = np.random.RandomState(seed)
    for name, param in sorted(model.namedparams()):
        if param.data.ndim > 1:
            fan_in = np.prod(param.data.shape[1:])
            param.data[...] = rng.normal(0, np.sqrt(1.5 / fan_in), param.data.shape)


parser = argparse.ArgumentParser()
parser.add_argument('--gpu', type=int, default=-1)
parser.add_argument('--iterations', type=int, default=10)
args = parser.parse_args()

np.random.seed(0)
model = GoogLeNet()
print('conv1/std %.6g' % model.conv1.W.data.std())
print('conv1/b %.6g' % model.conv1.b.data.sum())
set_weights(model, 5)
if args.gpu >= 0:
    chainer.cuda.get_device(args.gpu).use()
    model.to_gpu()
xp = model.xp

rng = np.random.RandomState(11)
t = (np.arange(20) % 5).astype(np.int32)
x = (rng.normal(0, 1, (20, 3, 16, 16)) + t.reshape(-1, 1, 1, 1) * 0.3).astype(np.float32)

optimizer = chainer.optimizers.MomentumSGD(lr=0.02, momentum=0.9)
optimizer.setup(model)
optimizer.add_hook(chainer.optimizer.WeightDecay(0.0002))

reporter = chainer.Reporter()
reporter.add_observer('main', model)
for i in range(args.iterations):
    model.train = True
    observation = {}
    with reporter.scope(observation):
        optimizer.update(model, chainer.Variable(xp.asarray(x)), chainer.Variable(xp.asarray(t)))
    print('train%d/loss1 %.6g' % (i, observation['main/loss1'].data))
    print('train%d/loss %.6g' % (i, observation['main/loss'].data))

model.train = False
x_test = chainer.Variable(xp.asarray(x[:10] + 0.05), volatile='on')
t_test = chainer.Variable(xp.asarray(t[:10]), volatile='on')
loss = model(x_test, t_test)
print('test/loss %.6g' % loss.data)
print('test/graph %d' % (loss.creator is not None))
print('inception/norm %.6g' % np.linalg.norm(model.inc3a.conv5.W.data))
print('bn/mean %.6g' % np.abs(model.inc4a.conv1n.avg_mean).sum())
