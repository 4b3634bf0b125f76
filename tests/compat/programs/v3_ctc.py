"""v3: speech-like sequence labelling with connectionist temporal classification; bidirectional LSTMs and GRUs.

Arguments: --epoch 2
"""
import argparse
from itertools import groupby

import numpy as np

import chainer
import chainer.functions as F
from chainer.functions.array.transpose import transpose
import chainer.links as L
from chainer import training
from chainer.training import extensions


class CTCRecognizer(chainer.Chain):

    def __init__(self, n_in, n_units, n_out, rnn='lstm', ratio=.2):
        super(CTCRecognizer, self).__init__()
        self.ratio = ratio
        with self.init_scope():
            self.conv = L.Convolution2D(1, 4, (3, 3), stride=(1, 2), pad=1)
            if rnn == 'lstm':
                self.rnn = L.NStepBiLSTM(1, 4 * (n_in // 2), n_units, ratio)
                self.out = L.Linear(2 * n_units, n_out)
            else:
                self.rnn = L.NStepGRU(1, 4 * (n_in // 2), n_units, ratio)
                self.out = L.Linear(n_units, n_out)

    def encode(self, xs):
        lengths = [len(x) for x in xs]
        padded = F.pad_sequence(xs, padding=0)
        h = F.expand_dims(padded, 1)
        h = F.relu(self.conv(h))
        batch, ch, time, freq = h.shape
        h = F.reshape(F.swapaxes(h, 1, 2), (batch, time, ch * freq))
        hs = [h[i, :n] for i, n in enumerate(lengths)]
        if isinstance(self.rnn, L.NStepGRU):
            return self.rnn(None, hs)[-1]
        return self.rnn(None, None, hs)[-1]

    def output(self, xs):
        ys = self.encode(xs)
        lengths = np.array([len(y) for y in ys], dtype=np.int32)
        y = self.out(F.concat(ys, axis=0))
        ys = F.split_axis(y, np.cumsum(lengths)[:-1], axis=0)
        return F.pad_sequence(ys), lengths

    def __call__(self, xs, ts):
        ys, lengths = self.output(xs)
        ys = F.separate(transpose(ys, (1, 0, 2)), axis=0)
        t_lengths = np.array([len(t) for t in ts], dtype=np.int32)
        t = F.pad_sequence(ts, padding=0)
        loss = F.connectionist_temporal_classification(
            list(ys), t, blank_symbol=0, input_length=lengths, label_length=t_lengths)
        chainer.report({'loss': loss}, self)
        return loss

    def recognize(self, xs):
        with chainer.using_config('train', False), chainer.no_backprop_mode():
            ys, lengths = self.output(xs)
        best = F.argmax(ys, axis=2).data
        return [[int(k) for k, _ in groupby(b[:n]) if k != 0] for b, n in zip(best, lengths)]


class Utterances(chainer.dataset.DatasetMixin):

    def __init__(self, n, n_labels, n_in, seed):
        rng = np.random.RandomState(seed)
        self.patterns = np.random.RandomState(7).normal(size=(n_labels + 1, n_in))
        self.labels = [rng.randint(1, n_labels + 1, rng.randint(2, 4)) for _ in range(n)]
        self.noise = [rng.normal(scale=.1, size=(50, n_in)) for _ in range(n)]

    def __len__(self):
        return len(self.labels)

    def get_example(self, i):
        frames = []
        for label in self.labels[i]:
            frames += [self.patterns[label]] * (3 + label % 2) + [self.patterns[0]]
        x = np.array(frames) + self.noise[i][:len(frames)]
        return x.astype(np.float32), self.labels[i].astype(np.int32)


def convert(batch, device=None):
    xs, ts = zip(*batch)
    return {'xs': list(xs), 'ts': list(ts)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epoch', type=int, default=10)
    parser.add_argument('--gpu', type=int, default=-1)
    parser.add_argument('--out', default='result')
    args = parser.parse_args()

    for kind in ('lstm', 'gru'):
        np.random.seed(0)
        train, test = Utterances(24, 3, 6, 1), Utterances(8, 3, 6, 2)
        model = CTCRecognizer(6, 10, 4, kind)
        optimizer = chainer.optimizers.AdaDelta(rho=.95, eps=1e-4)
        optimizer.setup(model)
        optimizer.add_hook(chainer.optimizer.GradientClipping(5))
        train_iter = chainer.iterators.SerialIterator(train, 8)
        test_iter = chainer.iterators.SerialIterator(test, 8, repeat=False, shuffle=False)
        updater = training.StandardUpdater(train_iter, optimizer, converter=convert, device=args.gpu)
        trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)
        trainer.extend(extensions.Evaluator(test_iter, model, converter=convert, device=args.gpu), name='dev')
        trainer.extend(extensions.LogReport(log_name='log_' + kind))
        trainer.run()
        for entry in trainer.get_extension('LogReport').log:
            print('%s/loss@%d %.6g' % (kind, entry['epoch'], entry['main/loss']))
            print('%s/dev@%d %.6g' % (kind, entry['epoch'], entry['dev/main/loss']))
        print('%s/labels %d' % (kind, sum(map(len, model.recognize([x for x, _ in test])))))
    # time-major as the old recurrent functions wanted it
    rows = F.transpose_sequence(sorted([np.ones((len(x), 2), 'f') for x, _ in test], key=len, reverse=True))
    print('time_major %d' % len(rows))
    print('last_rows %d' % len(rows[-1]))


if __name__ == '__main__':
    main()
