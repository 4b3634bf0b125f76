"""v2: weights of a network that Caffe trained, with a layer type of the program's own; then converted to a Chain.

The model file is written here byte by byte, so that nothing has to be downloaded.

Arguments: --out result
"""
import argparse
import os
import struct

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.links.caffe import CaffeFunction
from chainer.links.caffe import caffe_function
from chainer.links.caffe.caffe_function import _get_num, _layer


def varint(n):
    out = b''
    while True:
        n, low = n >> 7, n & 127
        out += bytes(bytearray([low | (128 if n else 0)]))
        if not n:
            return out


def field(number, value):
    """A field of a protocol buffer message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if not isinstance(value, bytes):
        value = value.encode('ascii')
    return varint(number << 3 | 2) + varint(len(value)) + value


def blob(array):
    shape = (1,) * (4 - array.ndim) + array.shape
    data = struct.pack('<%df' % array.size, *array.ravel())
    return b''.join(field(i + 1, n) for i, n in enumerate(shape)) + field(5, data)


def layer(name, kind, bottom, top, blobs=(), **params):
    body = field(1, name) + field(2, kind) + field(3, bottom) + field(4, top)
    body += b''.join(field(7, blob(b)) for b in blobs)
    return field(100, body + b''.join(field(int(k[1:]), v) for k, v in params.items()))


def write_model(path, rng):
    W1, b1 = rng.normal(0, .3, (4, 3, 3, 3)), rng.normal(0, .1, 4)
    W2, b2 = rng.normal(0, .3, (5, 64)), rng.normal(0, .1, 5)
    scale = np.full(4, 20.)
    net = field(1, 'small')
    net += layer('conv1', 'Convolution', 'data', 'conv1', (W1, b1),
                 p106=field(1, 4) + field(3, 1) + field(4, 3) + field(6, 1))
    net += layer('relu1', 'ReLU', 'conv1', 'conv1')
    net += layer('pool1', 'Pooling', 'conv1', 'pool1', p121=field(1, 0) + field(2, 2) + field(3, 2))
    net += layer('norm1', 'Normalize', 'pool1', 'norm1', (scale,))
    net += layer('drop1', 'Dropout', 'norm1', 'norm1')
    net += layer('fc2', 'InnerProduct', 'norm1', 'fc2', (W2, b2), p117=field(1, 5))
    net += layer('prob', 'Softmax', 'fc2', 'prob')
    with open(path, 'wb') as f:
        f.write(net)


class Normalize(chainer.Link):

    def __init__(self, n_channel):
        super(Normalize, self).__init__()
        self.add_param('scale', (n_channel,))

    def __call__(self, x):
        norm = F.sqrt(F.sum(x ** 2, axis=1) + 1e-5)
        norm = F.broadcast_to(norm[:, np.newaxis], x.shape)
        return F.broadcast_to(self.scale[np.newaxis, :, np.newaxis, np.newaxis], x.shape) * x / norm


seen = []


class NormalizingCaffeFunction(caffe_function.CaffeFunction):

    def __init__(self, model_path):
        super(NormalizingCaffeFunction, self).__init__(model_path)
        self.n_layers = len(self.layers)

    @_layer('Normalize', None)
    def _setup_normalize(self, layer):
        data = np.array(layer.blobs[0].data)
        func = Normalize(len(data))
        func.scale.data[:] = data
        with self.init_scope():
            setattr(self, layer.name, func)
        self.forwards[layer.name] = func
        seen.append(_get_num(layer.blobs[0]))
        self._add_layer(layer)


class Net(chainer.Chain):

    def __init__(self):
        super(Net, self).__init__(
            conv1=L.Convolution2D(3, 4, 3, pad=1),
            norm1=Normalize(4),
            fc2=L.Linear(64, 5),
        )

    def __call__(self, x):
        h = self.norm1(F.max_pooling_2d(F.relu(self.conv1(x)), 2, 2))
        return F.softmax(self.fc2(F.dropout(h)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--out', default='result')
    args = parser.parse_args()
    os.makedirs(args.out)
    path = os.path.join(args.out, 'small.caffemodel')
    rng = np.random.RandomState(0)
    write_model(path, rng)
    x = chainer.Variable(rng.normal(size=(2, 3, 8, 8)).astype(np.float32))

    plain = CaffeFunction(path)
    with chainer.using_config('train', False), chainer.no_backprop_mode():
        y, = plain(inputs={'data': x}, outputs=['pool1'], disable=['fc2', 'prob'])
    print('pool1 %.6g' % float(F.sum(y).data))

    caffe = NormalizingCaffeFunction(path)
    print('seen %d' % len(seen))
    with chainer.using_config('train', False):
        conv1, prob = caffe(inputs={'data': x}, outputs=['conv1', 'prob'])
    print('conv1 %.6g' % float(F.sum(conv1).data))
    for i, p in enumerate(prob.data[0]):
        print('prob%d %.6g' % (i, p))

    model = Net()
    for child in model.children():
        child.copyparams(caffe[child.name])
    chainer.serializers.save_npz(os.path.join(args.out, 'small.npz'), model)
    with chainer.using_config('train', False):
        print('difference %d' % int(np.abs(model(x).data - prob.data).max() > 1e-6))
    print('layers %d' % caffe.n_layers)


if __name__ == '__main__':
    main()
