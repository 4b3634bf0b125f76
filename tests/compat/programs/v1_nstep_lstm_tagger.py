"""v1: part-of-speech tagger with NStepLSTM(..., use_cudnn)(hx, cx, xs, train=...) and a conditional random field.

Arguments: --epoch 2
Recorded with: 1.24.0
Legacy: v1
"""
import argparse
import collections

import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L


class Tagger(chainer.Chain):

    def __init__(self, n_vocab, n_units, n_pos, n_layers=2):
        super(Tagger, self).__init__(
            embed=L.EmbedID(n_vocab, n_units),
            lstm=L.NStepLSTM(n_layers, n_units, n_units, 0.0, use_cudnn=False),
            bilstm=L.NStepBiLSTM(1, n_units, n_units // 2, 0.2, True),
            out=L.Linear(n_units, n_pos),
            crf=L.CRF1d(n_pos),
        )
        self.train = True
        self.n_units, self.n_layers = n_units, n_layers
        rng = np.random.RandomState(13)
        for name, param in sorted(self.namedparams()):
            if not name.startswith('/crf'):
                param.data[...] = rng.uniform(-0.3, 0.3, param.data.shape)

    def initial(self, n):
        return chainer.Variable(self.xp.zeros((self.n_layers, n, self.n_units), dtype=np.float32), volatile='auto')

    def features(self, xs):
        lengths = [len(x.data) for x in xs]
        embedded = F.split_axis(self.embed(F.concat(xs, axis=0)), np.cumsum(lengths)[:-1], axis=0)
        hx, cx, hs = self.lstm(self.initial(len(xs)), self.initial(len(xs)), embedded, train=self.train)
        self.last = hx
        _, _, hs = self.bilstm(None, None, hs, train=self.train)
        return F.split_axis(self.out(F.concat(hs, axis=0)), np.cumsum(lengths)[:-1], axis=0)

    def __call__(self, xs, ys):
        # the conditional random field takes time steps, the longest sequence first
        hs = F.transpose_sequence(self.features(xs))
        loss = self.crf(hs, F.transpose_sequence(ys))
        chainer.report({'loss': loss}, self)
        return loss

    def argmax(self, xs):
        hs = F.transpose_sequence(self.features(xs))
        _, path = self.crf.argmax(hs)
        return F.transpose_sequence(list(path) if isinstance(path[0], chainer.Variable)
                                    else [chainer.Variable(p, volatile='on') for p in path])


def make_sentences(n, seed):
    rng = np.random.RandomState(seed)
    sentences = []
    for _ in range(n):
        words = rng.randint(0, 12, rng.randint(3, 8)).astype(np.int32)
        previous = np.concatenate([[0], words[:-1]])
        sentences.append((words, ((words + previous) // 6 % 4).astype(np.int32)))
    return sentences


parser = argparse.ArgumentParser()
parser.add_argument('--gpu', '-g', default=-1, type=int)
parser.add_argument('--epoch', '-e', default=10, type=int)
parser.add_argument('--batchsize', '-b', default=10, type=int)
args = parser.parse_args()

np.random.seed(0)
sentences = make_sentences(40, 1)
held_out = make_sentences(12, 2)
counter = collections.Counter(w for words, _ in sentences for w in words.tolist())
model = Tagger(12, 8, 4)
if args.gpu >= 0:
    chainer.cuda.get_device(args.gpu).use()
    model.to_gpu()
optimizer = chainer.optimizers.Adam(alpha=0.01)
optimizer.setup(model)
optimizer.add_hook(chainer.optimizer.WeightDecay(0.0001))


def variables(batch, volatile='off'):
    batch = sorted(batch, key=lambda pair: -len(pair[0]))
    return [[chainer.Variable(pair[k], volatile=volatile) for pair in batch] for k in (0, 1)]


for epoch in range(args.epoch):
    model.train = True
    total = 0
    for i in range(0, len(sentences), args.batchsize):
        xs, ys = variables(sentences[i:i + args.batchsize])
        model.zerograds()
        loss = model(xs, ys)
        loss.backward()
        optimizer.update()
        total += float(loss.data)
    print('epoch%d/loss %.6g' % (epoch, total))
    model.train = False
    xs, ys = variables(held_out, 'on')
    print('epoch%d/valid %.6g' % (epoch, model(xs, ys).data))
    print('epoch%d/last %.6g' % (epoch, np.abs(model.last.data).mean()))

paths = model.argmax(xs)
hit = sum(int((p.data == y.data).sum()) for p, y in zip(paths, ys))
print('accuracy %.6g' % (hit / float(sum(len(y.data) for y in ys))))
print('words %d' % len(counter))
print('layers %d' % len(list(model.lstm.children())))
print('crf %.6g' % np.abs(model.crf.cost.data).sum())
