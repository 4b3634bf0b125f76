"""v4: signal classifier with ptp, itemset, tostring, fromstring, np.trapz, np.row_stack, np.float_ and array(copy=False).

Arguments: --epoch 2
"""
import argparse

import numpy as np

import chainer
from chainer import functions as F
from chainer import links as L
from chainer import training
from chainer.training import extensions

FLOAT = np.float_
INFINITY = np.infty


class SignalNet(chainer.Chain):
    def __init__(self, n_channels):
        super(SignalNet, self).__init__()
        with self.init_scope():
            self.conv = L.ConvolutionND(1, n_channels, 6, 5, pad=2, nobias=True)
            self.norm = L.BatchNormalization(6)
            self.fc = L.Linear(None, 3)

    def __call__(self, x):
        h = F.relu(self.norm(self.conv(x)))
        h = F.max_pooling_nd(h, 4)
        return self.fc(F.dropout(h, 0.2))


def encode(signals):
    """As a binary record: count and length, then the samples."""
    header = np.array(signals.shape, dtype=np.int32)
    return header.tostring() + signals.astype('<f4').tostring()


def decode(record):
    n, length = np.fromstring(record[:8], dtype=np.int32)
    return np.fromstring(record[8:], dtype='<f4').reshape(n, length)


def make_signal(rng, label):
    t = np.linspace(0, 1, 32)
    wave = [np.sin(2 * np.pi * 3 * t), np.sign(np.sin(2 * np.pi * 3 * t)), 2 * (3 * t % 1) - 1][label]
    return np.array(wave * rng.uniform(0.5, 2) + rng.normal(0, 0.1, 32), dtype=FLOAT)


def normalize(signal):
    low, spread = signal.min(), signal.ptp()
    out = np.array((signal - low) / spread, copy=False)
    # mark the beginning
    out.itemset(0, 1.0)
    return out


def features(signal):
    """Area, lowest value and energy."""
    return np.array([np.trapz(signal, dx=1. / 32), np.amin(signal), np.inner(signal, signal)])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epoch', '-e', type=int, default=10)
    parser.add_argument('--gpu', '-g', type=int, default=-1)
    parser.add_argument('--out', '-o', default='result')
    args = parser.parse_args()

    np.random.seed(0)
    rng = np.random.RandomState(33)
    labels = np.arange(60) % 3
    raw = np.row_stack([normalize(make_signal(rng, label)) for label in labels])
    signals = decode(encode(raw))
    print('signals/sum %.6g' % signals.sum())
    print('signals/ptp %.6g' % signals.ptp(axis=1).mean())
    table = np.array([features(s) for s in signals])
    print('features/area %.6g' % table[:, 0].mean())
    print('features/energy %.6g' % table[:, 2].sum())
    print('bounded %d' % np.alltrue(table < INFINITY))

    x = np.stack([signals, signals - signals.mean(axis=1, keepdims=True)], axis=1).astype(np.float32)
    order = rng.permutation(60)
    dataset = chainer.datasets.TupleDataset(x[order], labels[order].astype(np.int32))
    train, test = chainer.datasets.split_dataset(dataset, 45)
    model = L.Classifier(SignalNet(2))
    if args.gpu >= 0:
        chainer.cuda.get_device_from_id(args.gpu).use()
        model.to_gpu()
    optimizer = chainer.optimizers.Adam(alpha=0.01)
    optimizer.setup(model)

    train_iter = chainer.iterators.SerialIterator(train, 15)
    test_iter = chainer.iterators.SerialIterator(test, 15, repeat=False, shuffle=False)
    updater = training.StandardUpdater(train_iter, optimizer, device=args.gpu)
    trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)
    trainer.extend(extensions.Evaluator(test_iter, model, device=args.gpu))
    trainer.extend(extensions.LogReport())
    trainer.run()
    for entry in trainer.get_extension('LogReport').log:
        for key in ('main/loss', 'main/accuracy', 'validation/main/loss', 'validation/main/accuracy'):
            print('epoch%d/%s %.6g' % (entry['epoch'], key, entry[key]))

    with chainer.using_config('train', False), chainer.no_backprop_mode():
        scores = F.softmax(model.predictor(x[:6])).data
    confidence = scores.max(axis=1)
    confidence.itemset((0,), confidence[0] * 1)
    print('confidence %.6g' % confidence.sum())
    casts = [np.cast['float32'](1.5), np.string_('label'), np.unicode_('x')]
    print('casts %d' % len(casts))
    print('type %d' % np.issubdtype(np.find_common_type([np.float32, np.int64], []), np.floating))


if __name__ == '__main__':
    main()
