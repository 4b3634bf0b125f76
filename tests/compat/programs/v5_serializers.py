"""v5: own serializers (a dictionary with statistics), partial loading of an archive with NpzDeserializer, ignore_names.

Arguments: --out result
"""
import argparse
import os

import numpy

import chainer
from chainer import serializer
from chainer import serializers
import chainer.functions as F
import chainer.links as L


class DictionarySerializer(serializer.Serializer):

    def __init__(self, target=None, path=''):
        self.target = {} if target is None else target
        self.path = path

    def __getitem__(self, key):
        key = key.strip('/')
        return DictionarySerializer(self.target, self.path + key + '/')

    def __call__(self, key, value):
        ret = value
        if isinstance(value, chainer.cuda.ndarray):
            value = value.get()
        self.target[self.path + key.lstrip('/')] = None if value is None else numpy.array(value, copy=True)
        return ret


class DictionaryDeserializer(serializer.Deserializer):

    def __init__(self, source, path='', missing=None):
        self.source = source
        self.path = path
        self.missing = [] if missing is None else missing

    def __getitem__(self, key):
        return DictionaryDeserializer(self.source, self.path + key.strip('/') + '/', self.missing)

    def __call__(self, key, value):
        key = self.path + key.lstrip('/')
        if key not in self.source:
            self.missing.append(key)
            return value
        stored = self.source[key]
        if stored is None or value is None:
            return stored
        if isinstance(value, numpy.ndarray):
            numpy.copyto(value, stored)
            return value
        return type(value)(stored.item())


class CNN(chainer.Chain):

    def __init__(self, n_out=3):
        super(CNN, self).__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(1, 2, 3, pad=1)
            self.bn = L.BatchNormalization(2)
            self.fc = L.Linear(None, n_out)
        self.classes = numpy.arange(n_out)
        self.register_persistent('classes')
        self.add_persistent('seen', 0)

    def forward(self, x):
        self.seen += len(x)
        return self.fc(F.relu(self.bn(self.conv(x))))

    def save(self, path):
        serializers.save_npz(path, self, compression=False)

    def load(self, path):
        with numpy.load(path) as archive:
            serializers.NpzDeserializer(archive, strict=False).load(self)


def train(model, optimizer, x, t, n):
    for _ in range(n):
        loss = F.softmax_cross_entropy(model(x), t)
        model.cleargrads()
        loss.backward()
        optimizer.update()
    return float(loss.data)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--out', default='result')
    args = parser.parse_args()
    os.makedirs(args.out)
    numpy.random.seed(0)
    rng = numpy.random.RandomState(5)
    x, t = rng.normal(size=(9, 1, 5, 5)).astype('f'), numpy.arange(9, dtype='i') % 3
    model = CNN()
    optimizer = chainer.optimizers.Adam()
    optimizer.setup(model)
    print('first %.5g' % train(model, optimizer, x, t, 3))

    s = DictionarySerializer()
    s.save(model)
    DictionarySerializer(s.target, 'optimizer/').save(optimizer)
    print('entries %d' % len(s.target))
    print('sum %.5g' % sum(float(numpy.abs(v).sum()) for v in s.target.values() if v is not None))
    print('straight %.5g' % train(model, optimizer, x, t, 3))

    other = CNN()
    other_optimizer = chainer.optimizers.Adam()
    other(x)
    other_optimizer.setup(other)
    DictionaryDeserializer(s.target).load(other)
    DictionaryDeserializer(s.target, 'optimizer/').load(other_optimizer)
    print('restored %.5g' % train(other, other_optimizer, x, t, 3))
    print('seen %d' % other.seen)

    path = os.path.join(args.out, 'cnn.npz')
    model.save(path)
    # only the layers that fit: the number of classes differs
    with numpy.load(path) as archive:
        kept = {k: archive[k] for k in archive.files if not k.startswith(('fc/', 'classes'))}
    part = os.path.join(args.out, 'part.npz')
    numpy.savez(part, **kept)
    fine = CNN(5)
    fine.load(part)
    print('conv_equal %d' % numpy.array_equal(fine.conv.W.data, model.conv.W.data))
    serializers.load_npz(part, fine, strict=False, ignore_names=['conv/b', lambda name: name.startswith('bn/')])
    serializers.load_npz(path, fine.conv, path='conv/')
    print('fc_lazy %d' % (fine.fc.W.data is None))
    try:
        serializers.load_npz(part, CNN())
    except KeyError:
        print('strict 1')
    d = DictionaryDeserializer(kept)
    d.load(CNN())
    print('missing %d' % len(d.missing))
    print('avg_var %.5g' % float(fine.bn.avg_var.sum()))


if __name__ == '__main__':
    main()
