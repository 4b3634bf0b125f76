"""v3: sentences of different lengths in np.array, settings by yaml.load without a loader, one-element arrays as numbers.

Arguments: --config train.yml --epoch 2
Needs: PyYAML
Recorded with: 1.24.0
"""
from __future__ import print_function
import argparse
import math

import numpy as np
import yaml

import chainer
import chainer.functions as F
import chainer.links as L

SETTINGS = """
model:
  units: 6
  vocabulary: 10
optimizer: {name: Adam, alpha: 0.02}
batchsize: 8
clip: 3.0
"""


class Encoder(chainer.Chain):
    """Mean of word vectors, then two layers."""

    def __init__(self, vocabulary, units):
        super(Encoder, self).__init__(
            embed=L.EmbedID(vocabulary, units, ignore_label=-1),
            hidden=L.Linear(units, units),
            out=L.Linear(units, 1),
        )
        rng = np.random.RandomState(28)
        for _, param in sorted(self.namedparams()):
            param.data[...] = rng.normal(0, 0.4, param.data.shape)

    def __call__(self, xs, lengths):
        e = F.sum(self.embed(xs), axis=1)
        e = e / F.broadcast_to(lengths, e.shape)
        return self.out(F.tanh(self.hidden(e)))


def make_sentences(n, vocabulary):
    rng = np.random.RandomState(29)
    sentences = [rng.randint(0, vocabulary, rng.randint(2, 7)).tolist() for _ in range(n)]
    sentences[0], sentences[1] = [1, 2], [3, 4, 5]
    # rows of different lengths: an array of lists
    corpus = np.array(sentences)
    scores = np.array([[np.sin(np.mean(s))] for s in sentences], dtype=np.float32)
    return corpus, scores


def batch_of(sentences):
    width = max(len(s) for s in sentences)
    xs = -np.ones((len(sentences), width), dtype=np.int32)
    for i, sentence in enumerate(sentences):
        xs[i, :len(sentence)] = sentence
    lengths = np.asarray([[len(s)] for s in sentences], dtype=np.float32)
    return chainer.Variable(xs), chainer.Variable(lengths)


parser = argparse.ArgumentParser()
parser.add_argument('--config', default='train.yml')
parser.add_argument('--epoch', type=int, default=10)
args = parser.parse_args()
with open(args.config, 'w') as f:
    f.write(SETTINGS)
config = yaml.load(open(args.config))
np.random.seed(0)

corpus, scores = make_sentences(40, config['model']['vocabulary'])
print('corpus/size %d' % corpus.size)
print('corpus/objects %d' % (corpus.dtype == np.dtype('O')))
model = Encoder(config['model']['vocabulary'], config['model']['units'])
settings = dict(config['optimizer'])
optimizer = getattr(chainer.optimizers, settings.pop('name'))(**settings)
optimizer.setup(model)
optimizer.add_hook(chainer.optimizer.GradientClipping(config['clip']))

table = np.zeros(args.epoch)
for epoch in range(args.epoch):
    order = np.random.permutation(len(corpus))
    total = 0
    for i in range(0, len(order), config['batchsize']):
        rows = order[i:i + config['batchsize']]
        y = model(*batch_of(corpus[rows]))
        loss = F.mean_squared_error(y, chainer.Variable(scores[rows]))
        model.cleargrads()
        loss.backward()
        optimizer.update()
        total += float(F.reshape(loss, (1,)).data) * len(rows)
    table[epoch] = total / len(order)
    print('epoch%d/loss %.6g' % (epoch, table[epoch]))

# numbers out of arrays of one element
single = model(*batch_of(corpus[:1])).data           # shape (1, 1)
print('single/float %.6g' % float(single))
print('single/percent %.6g' % single)
print('single/exp %.6g' % math.exp(single))
longest = np.array([max(len(s) for s in corpus)])
print('longest/int %d' % int(longest))
rounded = int(np.round(single * 100))
print('rounded %d' % rounded)
row = np.zeros(3)
row[0] = float(model(*batch_of(corpus[1:2])).data[0])
print('row %.6g' % row.sum())

# pieces of different shapes in one array
weights = np.array([model.hidden.W.data, model.hidden.b.data, model.out.W.data[0, :2]])
print('weights %d' % len(weights))
print('weights/total %d' % sum(w.size for w in weights))
pair = np.asarray([[1], [2, 3]])
print('pair %d' % sum(len(p) for p in pair))
matrix = np.array([[1, 2], [3, 4]])
print('matrix/ndim %d' % matrix.ndim)
