#!/usr/bin/env python
"""v2: word vectors by skip-gram and by continuous bag of words, with a window iterator and a text file of results.

Arguments: --epoch 2 --unit 8 --batchsize 20 --model cbow --out result
"""
import argparse
import collections
import os

import numpy as np
import six

import chainer
from chainer import cuda
import chainer.functions as F
import chainer.initializers as I
import chainer.links as L
from chainer import reporter
from chainer import training
from chainer.training import extensions


class ContinuousBoW(chainer.Chain):

    def __init__(self, n_vocab, n_units, loss_func):
        super(ContinuousBoW, self).__init__()
        with self.init_scope():
            self.embed = L.EmbedID(n_vocab, n_units, initialW=I.Uniform(1. / n_units))
            self.loss_func = loss_func

    def __call__(self, x, context):
        e = self.embed(context)
        h = F.sum(e, axis=1) * (1. / context.shape[1])
        loss = self.loss_func(h, x)
        reporter.report({'loss': loss}, self)
        return loss


class SkipGram(chainer.Chain):

    def __init__(self, n_vocab, n_units, loss_func):
        super(SkipGram, self).__init__()
        with self.init_scope():
            self.embed = L.EmbedID(n_vocab, n_units, initialW=I.Uniform(1. / n_units))
            self.loss_func = loss_func

    def __call__(self, x, context):
        e = self.embed(context)
        batch_size, n_context, n_units = e.shape
        x = F.broadcast_to(x[:, None], (batch_size, n_context))
        e = F.reshape(e, (batch_size * n_context, n_units))
        x = F.reshape(x, (batch_size * n_context,))
        loss = self.loss_func(e, x)
        reporter.report({'loss': loss}, self)
        return loss


class SoftmaxCrossEntropyLoss(chainer.Chain):

    def __init__(self, n_in, n_out):
        super(SoftmaxCrossEntropyLoss, self).__init__()
        with self.init_scope():
            self.out = L.Linear(n_in, n_out, initialW=0)

    def __call__(self, x, t):
        return F.softmax_cross_entropy(self.out(x), t)


class WindowIterator(chainer.dataset.Iterator):

    def __init__(self, dataset, window, batch_size, repeat=True):
        self.dataset = np.array(dataset, np.int32)
        self.window = window
        self.batch_size = batch_size
        self._repeat = repeat
        self.order = np.random.permutation(len(dataset) - window * 2).astype(np.int32)
        self.order += window
        self.current_position = 0
        self.epoch = 0
        self.is_new_epoch = False

    def __next__(self):
        if not self._repeat and self.epoch > 0:
            raise StopIteration
        i = self.current_position
        i_end = i + self.batch_size
        position = self.order[i:i_end]
        w = np.random.randint(self.window - 1) + 1
        offset = np.concatenate([np.arange(-w, 0), np.arange(1, w + 1)])
        pos = position[:, None] + offset[None, :]
        context = self.dataset.take(pos)
        center = self.dataset.take(position)
        if i_end >= len(self.order):
            np.random.shuffle(self.order)
            self.epoch += 1
            self.is_new_epoch = True
            self.current_position = 0
        else:
            self.is_new_epoch = False
            self.current_position = i_end
        return center, context

    @property
    def epoch_detail(self):
        return self.epoch + float(self.current_position) / len(self.order)

    def serialize(self, serializer):
        self.current_position = serializer('current_position', self.current_position)
        self.epoch = serializer('epoch', self.epoch)
        self.is_new_epoch = serializer('is_new_epoch', self.is_new_epoch)
        if self.order is not None:
            serializer('order', self.order)


def convert(batch, device):
    center, context = batch
    if device >= 0:
        center = cuda.to_gpu(center)
        context = cuda.to_gpu(context)
    return center, context


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--gpu', '-g', default=-1, type=int)
    parser.add_argument('--unit', '-u', default=100, type=int)
    parser.add_argument('--window', '-w', default=3, type=int)
    parser.add_argument('--batchsize', '-b', type=int, default=1000)
    parser.add_argument('--epoch', '-e', default=20, type=int)
    parser.add_argument('--model', '-m', choices=['skipgram', 'cbow'], default='skipgram')
    parser.add_argument('--out', default='result')
    args = parser.parse_args()
    if args.gpu >= 0:
        cuda.get_device_from_id(args.gpu).use()
        cuda.check_cuda_available()

    np.random.seed(0)
    text = ('the king rules the land and the queen rules the land while '
            'the cat chases the mouse and the dog chases the cat ') * 12
    words = text.split()
    counts = collections.Counter(words)
    index2word = dict(enumerate(sorted(counts)))
    word2index = {w: i for i, w in six.iteritems(index2word)}
    data = np.array([word2index[w] for w in words], np.int)
    train, val = data[:-60], data[-60:]
    n_vocab = len(counts)
    print('vocab %d' % n_vocab)

    loss_func = SoftmaxCrossEntropyLoss(args.unit, n_vocab)
    loss_func.out.W.data[...] = 0
    klass = {'cbow': ContinuousBoW, 'skipgram': SkipGram}
    results = {}
    for name in (args.model, 'skipgram'):
        model = klass[name](n_vocab, args.unit, loss_func.copy())
        if args.gpu >= 0:
            model.to_gpu()
        optimizer = chainer.optimizers.Adam()
        optimizer.setup(model)
        train_iter = WindowIterator(train, args.window, args.batchsize)
        val_iter = WindowIterator(val, args.window, args.batchsize, repeat=False)
        updater = training.StandardUpdater(train_iter, optimizer, converter=convert, device=args.gpu)
        trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=os.path.join(args.out, name))
        trainer.extend(extensions.Evaluator(val_iter, model, converter=convert, device=args.gpu))
        trainer.extend(extensions.LogReport())
        trainer.extend(extensions.PrintReport(['epoch', 'main/loss', 'validation/main/loss']))
        trainer.extend(extensions.snapshot())
        trainer.run()
        log = trainer.get_extension('LogReport').log
        print('%s/loss %.6g' % (name, log[-1]['main/loss']))
        print('%s/val %.6g' % (name, log[-1]['validation/main/loss']))
        results[name] = cuda.to_cpu(model.embed.W.data)

    with open(os.path.join(args.out, 'word2vec.model'), 'w') as f:
        f.write('%d %d\n' % (n_vocab, args.unit))
        for i, wi in enumerate(results['skipgram']):
            f.write('%s %s\n' % (index2word[i], ' '.join(map(str, wi))))
    w = results['skipgram']
    s = np.sqrt((w * w).sum(1))
    w /= s.reshape((s.shape[0], 1))
    similarity = w.dot(w[word2index['king']])
    print('king_queen %.5g' % similarity[word2index['queen']])
    print('rank %d' % int(np.argsort(-similarity).tolist().index(word2index['queen'])))


if __name__ == '__main__':
    main()
