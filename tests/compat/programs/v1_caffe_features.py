"""v1: features from a Caffe model by F.caffe.CaffeFunction; the model file is written first, layer by layer.

Arguments: --model tiny.caffemodel
Recorded with: 1.24.0
Legacy: v1
"""
from __future__ import print_function
import argparse
import struct

import numpy as np
import chainer
from chainer import cuda
from chainer import Variable
import chainer.functions as F
from chainer.functions import caffe


# The wire format of protocol buffers, as far as a small network needs it
def varint(n):
    out = b''
    while True:
        n, low = n >> 7, n & 127
        out += struct.pack('B', low | (128 if n else 0))
        if not n:
            return out


def number(field, value):
    return varint(field << 3) + varint(value)


def real(field, value):
    return varint(field << 3 | 5) + struct.pack('<f', value)


def text(field, value):
    value = value if isinstance(value, bytes) else value.encode('ascii')
    return varint(field << 3 | 2) + varint(len(value)) + value


def blob(array):
    shape = b''.join(number(1, n) for n in array.shape)
    return text(7, text(7, shape) + text(5, array.astype('<f4').tobytes()))


def layer(name, kind, bottom, top, parameter=b'', blobs=()):
    body = text(1, name) + text(2, kind)
    body += b''.join(text(3, b) for b in bottom) + b''.join(text(4, t) for t in top)
    return text(100, body + b''.join(blob(b) for b in blobs) + parameter)


def write_model(path):
    rng = np.random.RandomState(17)
    conv = rng.normal(0, 0.3, (4, 3, 3, 3)), rng.normal(0, 0.1, 4)
    ip = rng.normal(0, 0.1, (5, 4 * 4 * 4)), rng.normal(0, 0.1, 5)
    layers = [
        layer('conv1', 'Convolution', ['data'], ['conv1'],
              text(106, number(1, 4) + number(3, 1) + number(4, 3) + number(6, 1)), conv),
        layer('relu1', 'ReLU', ['conv1'], ['conv1']),
        layer('norm1', 'LRN', ['conv1'], ['norm1'], text(118, number(1, 3) + real(2, 0.001) + real(3, 0.75))),
        layer('pool1', 'Pooling', ['norm1'], ['pool1'], text(121, number(2, 2) + number(3, 2))),
        layer('pool2', 'Pooling', ['norm1'], ['pool2'], text(121, number(1, 1) + number(2, 2) + number(3, 2))),
        layer('sum', 'Eltwise', ['pool1', 'pool2'], ['sum'], text(110, number(1, 1))),
        layer('drop', 'Dropout', ['sum'], ['drop'], text(108, real(1, 0.4))),
        layer('fc', 'InnerProduct', ['drop'], ['fc'], text(117, number(1, 5)), ip),
        layer('prob', 'Softmax', ['fc'], ['prob']),
    ]
    with open(path, 'wb') as f:
        f.write(text(1, 'tiny') + b''.join(layers))


parser = argparse.ArgumentParser(description='Evaluate a Caffe model')
parser.add_argument('--model', default='tiny.caffemodel')
parser.add_argument('--mean', default=110.0, type=float)
parser.add_argument('--gpu', '-g', type=int, default=-1)
args = parser.parse_args()
write_model(args.model)

np.random.seed(0)
print('Loading Caffe model file %s...' % args.model)
func = caffe.CaffeFunction(args.model)
print('Loaded')
if args.gpu >= 0:
    cuda.init(args.gpu)
    func.to_gpu()

rng = np.random.RandomState(4)
images = rng.randint(0, 256, (6, 3, 8, 8)).astype(np.float32) - args.mean
images /= 100
labels = np.arange(6, dtype=np.int32) % 5


def predict(x):
    y, = func(inputs={'data': x}, outputs=['fc'], disable=['prob'], train=False)
    return F.softmax(y)


def forward(x_data, y_data):
    x, t = Variable(x_data, volatile=True), Variable(y_data, volatile=True)
    y, = func(inputs={'data': x}, outputs=['fc'], train=False)
    return F.softmax_cross_entropy(y, t), F.accuracy(y, t)


for i in range(0, 6, 3):
    loss, accuracy = forward(images[i:i + 3], labels[i:i + 3])
    print('batch%d/loss %.6g' % (i, loss.data))
    print('batch%d/accuracy %.6g' % (i, accuracy.data))
scores = predict(Variable(images, volatile=True))
print('scores/best %.6g' % scores.data.max(axis=1).sum())
norm1, pool2 = func(inputs={'data': Variable(images)}, outputs=['norm1', 'pool2'],
                    disable=['drop', 'prob'], train=False)
print('norm1 %.6g' % np.abs(norm1.data).sum())
print('pool2 %.6g' % np.abs(pool2.data).sum())

# gradient with respect to the picture, as for visualisations
x = Variable(images[:2])
np.random.seed(1)
y, = func(inputs={'data': x}, outputs=['fc'], train=True)
loss = F.softmax_cross_entropy(y, Variable(labels[:2]))
loss.backward()
print('train/loss %.6g' % loss.data)
print('saliency %.6g' % np.abs(x.grad).sum())
print('conv1/W %.6g' % np.linalg.norm(func.conv1.W.data))
print('forwards %d' % len(func.forwards))
