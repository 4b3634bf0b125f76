"""v1: convolutional network that inherits FunctionSet; batch normalization with test=, clipped gradients, weight decay.

Arguments: --epoch 3
Recorded with: 1.24.0
Legacy: v1
"""
import argparse

import numpy as np
import chainer
import chainer.functions as F
from chainer import cuda, optimizers, FunctionSet, Variable

parser = argparse.ArgumentParser()
parser.add_argument('--gpu', '-g', type=int, default=-1)
parser.add_argument('--epoch', type=int, default=10)
parser.add_argument('--batchsize', type=int, default=20)
args = parser.parse_args()

np.random.seed(0)
if args.gpu >= 0:
    cuda.init(args.gpu)
xp = cuda.cupy if args.gpu >= 0 else np


class VGGNet(FunctionSet):
    """Small VGG-like network: two blocks of convolutions, two full layers."""

    insize = 12

    def __init__(self):
        super(VGGNet, self).__init__(
            conv1_1=F.Convolution2D(3, 8, 3, stride=1, pad=1),
            bn1_1=F.BatchNormalization(8),
            conv1_2=F.Convolution2D(8, 8, 3, stride=1, pad=1),
            bn1_2=F.BatchNormalization(8),
            conv2_1=F.Convolution2D(8, 12, 3, stride=1, pad=1, nobias=True),
            bn2_1=F.BatchNormalization(12, decay=0.8, eps=1e-4),
            fc4=F.Linear(12 * 3 * 3, 24, bias=0.1),
            fc5=F.Linear(24, 4),
        )

    def forward(self, x_data, y_data, train=True):
        x = Variable(x_data, volatile=not train)
        t = Variable(y_data, volatile=not train)

        h = F.relu(self.bn1_1(self.conv1_1(x), test=not train))
        h = F.relu(self.bn1_2(self.conv1_2(h), test=not train))
        h = F.max_pooling_2d(h, 2, stride=2, use_cudnn=False)
        h = F.dropout(h, ratio=0.25, train=train)

        h = F.relu(self.bn2_1(self.conv2_1(h), test=not train))
        h = F.local_response_normalization(h, n=3)
        h = F.max_pooling_2d(h, 2, stride=2)
        h = F.dropout(h, ratio=0.25, train=train)

        h = F.dropout(F.relu(self.fc4(h)), ratio=0.5, train=train)
        h = self.fc5(h)
        if train:
            return F.softmax_cross_entropy(h, t), F.accuracy(h, t)
        return F.softmax_cross_entropy(h, t, use_cudnn=False), F.accuracy(h, t), F.softmax(h).data


def make_images(n, rng):
    labels = rng.randint(0, 4, n).astype(np.int32)
    images = rng.normal(0, 0.5, (n, 3, 12, 12)).astype(np.float32)
    for image, label in zip(images, labels):
        top, left = divmod(label, 2)
        image[:, top * 6:top * 6 + 6, left * 6:left * 6 + 6] += 1
    return images, labels


rng = np.random.RandomState(3)
x_train, y_train = make_images(120, rng)
x_valid, y_valid = make_images(40, rng)
mean = x_train.mean(axis=0)
x_train, x_valid = x_train - mean, x_valid - mean

model = VGGNet()
if args.gpu >= 0:
    model.to_gpu()
optimizer = optimizers.MomentumSGD(lr=0.05, momentum=0.9)
optimizer.setup(model)

norms = []
for epoch in range(args.epoch):
    perm = np.random.permutation(len(x_train))
    total = 0.
    for i in range(0, len(perm), args.batchsize):
        indices = perm[i:i + args.batchsize]
        x_batch = xp.asarray(x_train[indices])
        y_batch = xp.asarray(y_train[indices])
        optimizer.zero_grads()
        loss, acc = model.forward(x_batch, y_batch)
        loss.backward()
        norms.append(optimizer.compute_grads_norm())
        optimizer.weight_decay(0.0005)
        optimizer.clip_grads(2.0)
        optimizer.update()
        total += float(loss.data) * len(indices)
    optimizer.lr *= 0.7
    print('loss%d %.6g' % (epoch + 1, total / len(perm)))

loss, acc, prob = model.forward(xp.asarray(x_valid), xp.asarray(y_valid), train=False)
print('valid/loss %.6g' % loss.data)
print('valid/accuracy %.6g' % acc.data)
print('valid/confidence %.6g' % cuda.to_cpu(prob).max(axis=1).mean())
print('grads/first %.6g' % norms[0])
print('grads/last %.6g' % norms[-1])
print('bn/avg_mean %.6g' % np.abs(cuda.to_cpu(model.bn2_1.avg_mean)).sum())
print('bn/avg_var %.6g' % cuda.to_cpu(model['bn2_1'].avg_var).sum())
print('lr %.6g' % optimizer.lr)
