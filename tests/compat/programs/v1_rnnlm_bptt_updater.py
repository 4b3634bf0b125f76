"""v1: recurrent language model of links, a ParallelSequentialIterator, an updater for truncated BPTT and an Evaluator hook.

Arguments: --epoch 2 --out result
Recorded with: 1.24.0
Legacy: v1
"""
from __future__ import print_function
import argparse

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import training
from chainer.training import extensions


class RNNForLM(chainer.Chain):

    def __init__(self, n_vocab, n_units, train=True):
        super(RNNForLM, self).__init__(
            embed=L.EmbedID(n_vocab, n_units),
            l1=L.LSTM(n_units, n_units),
            l2=L.LSTM(n_units, n_units),
            l3=L.Linear(n_units, n_vocab),
        )
        rng = np.random.RandomState(4)
        for name, param in sorted(self.namedparams()):
            param.data[...] = rng.uniform(-0.1, 0.1, param.data.shape)
        self.train = train

    def reset_state(self):
        self.l1.reset_state()
        self.l2.reset_state()

    def __call__(self, x):
        h0 = self.embed(x)
        h1 = self.l1(F.dropout(h0, train=self.train))
        h2 = self.l2(F.dropout(h1, train=self.train))
        y = self.l3(F.dropout(h2, train=self.train))
        return y


class ParallelSequentialIterator(chainer.dataset.Iterator):
    """Takes words from equally spaced offsets of one text."""

    def __init__(self, dataset, batch_size, repeat=True):
        self.dataset = dataset
        self.batch_size = batch_size
        self.epoch = 0
        self.is_new_epoch = False
        self.repeat = repeat
        length = len(dataset)
        self.offsets = [i * length // batch_size for i in range(batch_size)]
        self.iteration = 0

    def __next__(self):
        length = len(self.dataset)
        if not self.repeat and self.iteration * self.batch_size >= length:
            raise StopIteration
        cur_words = self.get_words()
        self.iteration += 1
        next_words = self.get_words()
        epoch = self.iteration * self.batch_size // length
        self.is_new_epoch = self.epoch < epoch
        if self.is_new_epoch:
            self.epoch = epoch
        return list(zip(cur_words, next_words))

    @property
    def epoch_detail(self):
        return float(self.iteration) * self.batch_size / len(self.dataset)

    def get_words(self):
        return [self.dataset[(offset + self.iteration) % len(self.dataset)]
                for offset in self.offsets]

    def serialize(self, serializer):
        self.iteration = serializer('iteration', self.iteration)
        self.epoch = serializer('epoch', self.epoch)


class BPTTUpdater(training.StandardUpdater):

    def __init__(self, train_iter, optimizer, bprop_len, device):
        super(BPTTUpdater, self).__init__(train_iter, optimizer, device=device)
        self.bprop_len = bprop_len

    def update_core(self):
        loss = 0
        train_iter = self.get_iterator('main')
        optimizer = self.get_optimizer('main')
        for i in range(self.bprop_len):
            batch = train_iter.__next__()
            x, t = self.converter(batch, self.device)
            loss += optimizer.target(chainer.Variable(x), chainer.Variable(t))
        optimizer.target.zerograds()
        loss.backward()
        loss.unchain_backward()
        optimizer.update()


def compute_perplexity(result):
    result['perplexity'] = np.exp(result['main/loss'])
    if 'validation/main/loss' in result:
        result['val_perplexity'] = np.exp(result['validation/main/loss'])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--batchsize', '-b', type=int, default=4)
    parser.add_argument('--bproplen', '-l', type=int, default=5)
    parser.add_argument('--epoch', '-e', type=int, default=39)
    parser.add_argument('--gpu', '-g', type=int, default=-1)
    parser.add_argument('--gradclip', '-c', type=float, default=5)
    parser.add_argument('--out', '-o', default='result')
    args = parser.parse_args()

    np.random.seed(0)
    rng = np.random.RandomState(9)
    text = (np.cumsum(rng.randint(1, 3, 240)) % 8).astype(np.int32)
    train, val = text[:200], text[200:]

    train_iter = ParallelSequentialIterator(train, args.batchsize)
    val_iter = ParallelSequentialIterator(val, 1, repeat=False)
    rnn = RNNForLM(8, 12)
    model = L.Classifier(rnn)
    model.compute_accuracy = False
    if args.gpu >= 0:
        chainer.cuda.get_device(args.gpu).use()
        model.to_gpu()
    optimizer = chainer.optimizers.SGD(lr=1.0)
    optimizer.setup(model)
    optimizer.add_hook(chainer.optimizer.GradientClipping(args.gradclip))

    updater = BPTTUpdater(train_iter, optimizer, args.bproplen, args.gpu)
    trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)

    eval_model = model.copy()
    eval_rnn = eval_model.predictor
    eval_rnn.train = False
    trainer.extend(extensions.Evaluator(
        val_iter, eval_model, device=args.gpu,
        eval_hook=lambda _: eval_rnn.reset_state()))
    log = extensions.LogReport(postprocess=compute_perplexity, trigger=(5, 'iteration'))
    trainer.extend(log)
    trainer.extend(extensions.PrintReport(
        ['epoch', 'iteration', 'perplexity', 'val_perplexity']), trigger=(5, 'iteration'))
    trainer.extend(extensions.snapshot(trigger=(1, 'epoch')))
    trainer.extend(extensions.snapshot_object(
        model, 'model_iter_{.updater.iteration}', trigger=(10, 'iteration')))
    trainer.run()
    print()

    for entry in log.log:
        print('iter%d/perplexity %.6g' % (entry['iteration'], entry['perplexity']))
        if 'val_perplexity' in entry:
            print('iter%d/validation %.6g' % (entry['iteration'], entry['val_perplexity']))
    print('state/h %.6g' % abs(rnn.l2.h.data).sum())


if __name__ == '__main__':
    main()
