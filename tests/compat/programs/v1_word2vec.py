"""v1: skip-gram and continuous bag of words with three output layers: hierarchical softmax, negative sampling, softmax.

Arguments: --epoch 2
Recorded with: 1.24.0
Legacy: v1
"""
import argparse
import collections

import numpy as np
import chainer
from chainer import cuda
import chainer.functions as F
import chainer.initializers as I
import chainer.links as L
import chainer.optimizers as O


class ContinuousBoW(chainer.Chain):

    def __init__(self, n_vocab, n_units, loss_func):
        super(ContinuousBoW, self).__init__(
            embed=F.EmbedID(n_vocab, n_units, initialW=I.Uniform(1. / n_units)),
            loss_func=loss_func,
        )

    def __call__(self, x, context):
        h = None
        for c in context:
            e = self.embed(c)
            h = h + e if h is not None else e
        return self.loss_func(h, x)


class SkipGram(chainer.Chain):

    def __init__(self, n_vocab, n_units, loss_func):
        super(SkipGram, self).__init__(
            embed=L.EmbedID(n_vocab, n_units, initialW=I.Uniform(1. / n_units)),
            loss_func=loss_func,
        )

    def __call__(self, x, context):
        loss = None
        for c in context:
            e = self.embed(c)
            loss_i = self.loss_func(e, x)
            loss = loss_i if loss is None else loss + loss_i
        return loss


class SoftmaxCrossEntropyLoss(chainer.Chain):

    def __init__(self, n_in, n_out):
        super(SoftmaxCrossEntropyLoss, self).__init__(
            out=L.Linear(n_in, n_out, initialW=0),
        )

    def __call__(self, x, t):
        return F.softmax_cross_entropy(self.out(x), t)


parser = argparse.ArgumentParser()
parser.add_argument('--gpu', '-g', default=-1, type=int)
parser.add_argument('--unit', '-u', default=8, type=int)
parser.add_argument('--window', '-w', default=2, type=int)
parser.add_argument('--batchsize', '-b', type=int, default=40)
parser.add_argument('--epoch', '-e', default=10, type=int)
args = parser.parse_args()
if args.gpu >= 0:
    cuda.get_device(args.gpu).use()
xp = cuda.cupy if args.gpu >= 0 else np

# A text in which a word decides about its neighbours
rng = np.random.RandomState(12)
text = np.zeros(400, dtype=np.int32)
for i in range(1, len(text)):
    text[i] = (text[i - 1] * 3 + rng.randint(0, 3)) % 20
counts = collections.Counter(text.tolist())
counts.update(collections.Counter(range(20)))
n_vocab = 20


def make_batch(position, window):
    offset = np.concatenate([np.arange(-window, 0), np.arange(1, window + 1)])
    pos = np.expand_dims(position, 0) + np.expand_dims(offset, 1)
    context = text.take(pos)
    x_data = xp.asarray(text.take(position))
    return chainer.Variable(x_data), [chainer.Variable(xp.asarray(c)) for c in context]


def train(model, name):
    np.random.seed(0)
    if args.gpu >= 0:
        model.to_gpu()
    optimizer = O.Adam(0.01)
    optimizer.setup(model)
    for epoch in range(args.epoch):
        accum_loss = 0
        indexes = np.random.permutation(len(text) - args.window * 2) + args.window
        for i in range(0, len(indexes), args.batchsize):
            w = np.random.randint(args.window - 1) + 1
            x, context = make_batch(indexes[i:i + args.batchsize], w)
            model.zerograds()
            loss = model(x, context)
            loss.backward()
            optimizer.update()
            accum_loss += float(loss.data)
        print('%s/epoch%d %.6g' % (name, epoch, accum_loss))
    return model


np.random.seed(1)
for kind, Model in [('skipgram', SkipGram), ('cbow', ContinuousBoW)]:
    # hierarchical softmax
    HSM = F.BinaryHierarchicalSoftmax
    tree = HSM.create_huffman_tree(dict(counts))
    hsm = HSM(args.unit, tree)
    hsm.W.data[...] = np.random.RandomState(2).uniform(-0.1, 0.1, hsm.W.data.shape)
    train(Model(n_vocab, args.unit, hsm), kind + '/hsm')
    # softmax
    model = train(Model(n_vocab, args.unit, SoftmaxCrossEntropyLoss(args.unit, n_vocab)), kind + '/original')
    print('%s/embed %.6g' % (kind, np.linalg.norm(cuda.to_cpu(model.embed.W.data))))

# negative sampling: all weights are zero at first, so the loss does not depend on the samples
cs = [counts[w] for w in range(n_vocab)]
ns = F.NegativeSampling(args.unit, cs, 4, power=0.75)
model = SkipGram(n_vocab, args.unit, ns)
x, context = make_batch(np.arange(2, 30), 2)
print('negative/initial %.6g' % model(x, context).data)

# nearest words
w = cuda.to_cpu(model.embed.W.data)
w = w / np.sqrt((w ** 2).sum(1))[:, np.newaxis]
similarity = w.dot(w[3])
print('similar/sum %.6g' % np.sort(similarity)[::-1][:5].sum())
print('similar/self %.6g' % similarity[3])
