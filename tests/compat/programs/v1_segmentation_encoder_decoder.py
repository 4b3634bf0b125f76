"""v1: segmentation by encoder and decoder: pooling with cover_all, unpooling, deconvolution, class weights, ignored pixels.

Arguments: --epoch 3
Recorded with: 1.24.0
Legacy: v1
"""
import argparse

import numpy as np
import chainer
from chainer import Chain, Variable, cuda, optimizers
import chainer.functions as F
import chainer.links as L


class ConvBNReLU(Chain):
    def __init__(self, n_in, n_out, decoder=False):
        conv = L.Deconvolution2D if decoder else L.Convolution2D
        super(ConvBNReLU, self).__init__(
            conv=conv(n_in, n_out, 3, stride=1, pad=1, wscale=np.sqrt(2), nobias=True, use_cudnn=False),
            bn=L.BatchNormalization(n_out, decay=0.8, use_gamma=not decoder),
        )

    def __call__(self, x, test):
        return F.relu(self.bn(self.conv(x), test=test), use_cudnn=False)


class SegNet(Chain):
    def __init__(self, n_class):
        super(SegNet, self).__init__(
            enc1=ConvBNReLU(3, 6),
            enc2=ConvBNReLU(6, 8),
            dec2=ConvBNReLU(8, 6, decoder=True),
            dec1=ConvBNReLU(6, 6, decoder=True),
            score=L.Convolution2D(6, n_class, 1, bias=0.05),
            fuse=L.Convolution2D(6, n_class, 1, initialW=np.zeros((n_class, 6, 1, 1), dtype='f')),
        )
        self.n_class = n_class
        self.class_weight = None

    def __call__(self, x, t, train=True):
        test = not train
        h1 = F.max_pooling_2d(self.enc1(x, test), 2, 2, cover_all=True, use_cudnn=False)
        h2 = F.max_pooling_2d(self.enc2(h1, test), 2, 2)
        h = F.unpooling_2d(h2, 2, 2, cover_all=False)
        h = F.dropout(self.dec2(h, test), 0.3, train)
        skip = F.unpooling_2d(self.fuse(h1), 2, stride=2, outsize=x.data.shape[2:])
        h = F.unpooling_2d(h, 2, stride=2, outsize=x.data.shape[2:])
        self.y = self.score(self.dec1(h, test)) + skip
        if train:
            self.loss = F.softmax_cross_entropy(
                self.y, t, use_cudnn=False, normalize=True, class_weight=self.class_weight, ignore_label=-1)
        else:
            self.loss = F.softmax_cross_entropy(self.y, t, True, True)
        self.accuracy = F.accuracy(self.y, t, ignore_label=-1)
        return self.loss


def mean_iou(y, t, n_class):
    label = y.argmax(axis=1)
    scores = []
    for k in range(n_class):
        union = (((label == k) | (t == k)) & (t >= 0)).sum()
        if union:
            scores.append(((label == k) & (t == k)).sum() / float(union))
    return np.mean(scores)


def make_scenes(n, seed):
    rng = np.random.RandomState(seed)
    x = rng.normal(0, 0.4, (n, 3, 12, 12))
    t = np.zeros((n, 12, 12), dtype=np.int32)
    for i in range(n):
        for k in (1, 2):
            top, left = rng.randint(0, 7, 2)
            x[i, k, top:top + 5, left:left + 5] += 1.2
            t[i, top:top + 5, left:left + 5] = k
    t[:, :, 0] = -1
    return x.astype(np.float32), t


parser = argparse.ArgumentParser()
parser.add_argument('--gpu', '-g', type=int, default=-1)
parser.add_argument('--epoch', type=int, default=10)
parser.add_argument('--batchsize', type=int, default=8)
args = parser.parse_args()
np.random.seed(0)
if args.gpu >= 0:
    cuda.get_device(args.gpu).use()

x_train, t_train = make_scenes(32, 60)
x_test, t_test = make_scenes(8, 61)
model = SegNet(3)
print('score/bias %.6g' % model.score.b.data.sum())
rng = np.random.RandomState(62)
for name, param in sorted(model.namedparams()):
    if name.endswith('W') and not name.startswith('/fuse'):
        param.data[...] = rng.normal(0, 0.25, param.data.shape)
frequency = np.bincount(t_train[t_train >= 0].ravel()) / float((t_train >= 0).sum())
model.class_weight = (np.median(frequency) / frequency).astype(np.float32)
optimizer = optimizers.MomentumSGD(lr=0.05, momentum=0.9)
optimizer.setup(model)
optimizer.add_hook(chainer.optimizer.WeightDecay(0.0005))
optimizer.add_hook(chainer.optimizer.GradientClipping(10.0), 'clip')

for epoch in range(args.epoch):
    perm = np.random.permutation(len(x_train))
    losses = []
    for i in range(0, len(perm), args.batchsize):
        rows = perm[i:i + args.batchsize]
        optimizer.zero_grads()
        loss = model(Variable(x_train[rows]), Variable(t_train[rows]), train=True)
        loss.backward()
        optimizer.update()
        losses.append(float(loss.data))
    print('epoch%d/loss %.6g' % (epoch, np.mean(losses)))
    x, t = Variable(x_test, volatile=True), Variable(t_test, volatile=True)
    loss = model(x, t, train=False)
    print('epoch%d/test %.6g' % (epoch, loss.data))
    print('epoch%d/accuracy %.6g' % (epoch, model.accuracy.data))
print('iou %.6g' % mean_iou(cuda.to_cpu(model.y.data), t_test, 3))
print('weights %.6g' % model.class_weight.sum())
print('gamma %d' % any(name == '/dec1/bn/gamma' for name, _ in model.namedparams()))
