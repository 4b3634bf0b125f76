"""v5: dilated one-dimensional convolutions on waveforms with maxout and CReLU, a graph convolution by permuted channels.

Arguments: --epoch 2
"""
import argparse
import random

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.dataset import convert


class GatedBlock(chainer.Chain):

    def __init__(self, ch, dilate):
        super(GatedBlock, self).__init__()
        self.dilate = dilate
        with self.init_scope():
            self.conv = L.Convolution1D(ch, ch * 2, 2, dilate=dilate)
            self.proj = L.Convolution1D(ch, ch, 1, nobias=True)

    def __call__(self, x):
        h = self.conv(F.pad(x, ((0, 0), (0, 0), (self.dilate, 0)), 'constant'))
        a, b = F.split_axis(h, 2, axis=1)
        h = self.proj(F.tanh(a) * F.sigmoid(b))
        return x + h, h


class WaveClassifier(chainer.Chain):

    def __init__(self, ch, n_class):
        super(WaveClassifier, self).__init__()
        self.order = np.random.permutation(ch * 2).astype(np.int32)
        with self.init_scope():
            self.embed = L.Convolution1D(1, ch, 1)
            self.blocks = chainer.ChainList(*[GatedBlock(ch, 2 ** i) for i in range(3)])
            self.out = L.Linear(ch * 2 // 2, n_class)

    def __call__(self, x):
        x = self.embed(x)
        skips = []
        for block in self.blocks.children():
            x, s = block(x)
            skips.append(s)
        h = F.crelu(sum(skips), axis=1)
        h = F.permutate(h, self.order, axis=1)
        h = F.squeeze(F.average(h, axis=2, keepdims=True), axis=2)
        return self.out(F.maxout(h, 2))


class Waveforms(chainer.dataset.DatasetMixin):

    def __init__(self, n, length=32):
        rng = np.random.RandomState(n)
        self.labels = rng.randint(0, 3, n)
        t = np.arange(length)
        shapes = [np.sin(t), np.sign(np.sin(t)), ((t * .3) % 2 - 1)]
        self.waves = [shapes[k] + rng.normal(0, .2, length) for k in self.labels]

    def __len__(self):
        return len(self.waves)

    def get_example(self, i):
        return self.waves[i].astype(np.float32)[None], np.int32(self.labels[i])


def collect(batch):
    xs, ts = zip(*batch)
    return convert._concat_arrays(xs, None), convert.to_device(None, np.array(ts))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epoch', type=int, default=10)
    args = parser.parse_args()
    np.random.seed(0)
    random.seed(0)
    train, test = Waveforms(36), Waveforms(12)
    print('sum_of_first %.5g' % float(train.get_example(0)[0].sum()))
    model = L.Classifier(WaveClassifier(4, 3))
    optimizer = chainer.optimizers.Adam(alpha=5e-3)
    optimizer.setup(model)
    train_iter = chainer.iterators.SerialIterator(train, 9)
    summary = chainer.reporter.DictSummary()
    for batch in train_iter:
        x, t = collect(batch)
        optimizer.update(model, chainer.Variable(x), chainer.Variable(t))
        summary.add({'loss': float(model.loss.data), 'accuracy': float(model.accuracy.data)})
        if train_iter.is_new_epoch:
            mean = summary.compute_mean()
            print('loss@%d %.5g' % (train_iter.epoch, mean['loss']))
            print('accuracy@%d %.5g' % (train_iter.epoch, mean['accuracy']))
            summary = chainer.reporter.DictSummary()
        if train_iter.epoch_detail >= args.epoch:
            break
    x, t = collect(test[:])
    with chainer.using_config('train', False):
        model(x, t)
    print('test %.5g' % float(model.loss.data))


if __name__ == '__main__':
    main()
