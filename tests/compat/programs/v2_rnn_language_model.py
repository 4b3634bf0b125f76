#!/usr/bin/env python
"""v2: a recurrent language model trained by truncated backprop through time, with its own iterator and updater.

Arguments: --epoch 2 --bproplen 6 --batchsize 4 --out result
"""
from __future__ import division
from __future__ import print_function

import argparse
import os

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import training
from chainer.training import extensions


class RNNForLM(chainer.Chain):

    def __init__(self, n_vocab, n_units):
        super(RNNForLM, self).__init__()
        with self.init_scope():
            self.embed = L.EmbedID(n_vocab, n_units)
            self.l1 = L.LSTM(n_units, n_units)
            self.l2 = L.LSTM(n_units, n_units)
            self.l3 = L.Linear(n_units, n_vocab)

        for param in self.params():
            param.data[...] = np.random.uniform(-0.1, 0.1, param.data.shape)

    def reset_state(self):
        self.l1.reset_state()
        self.l2.reset_state()

    def __call__(self, x):
        h0 = self.embed(x)
        h1 = self.l1(F.dropout(h0))
        h2 = self.l2(F.dropout(h1, ratio=.5))
        return self.l3(F.dropout(h2))


class ParallelSequentialIterator(chainer.dataset.Iterator):
    """Dataset iterator to create a batch of sequences at different positions."""

    def __init__(self, dataset, batch_size, repeat=True):
        self.dataset = dataset
        self.batch_size = batch_size  # batch size
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
        return self.iteration * self.batch_size / len(self.dataset)

    def get_words(self):
        return [self.dataset[(offset + self.iteration) % len(self.dataset)] for offset in self.offsets]

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

        optimizer.target.cleargrads()  # Clear the parameter gradients
        loss.backward()  # Backprop
        loss.unchain_backward()  # Truncate the graph
        optimizer.update()  # Update the parameters


def compute_perplexity(result):
    result['perplexity'] = np.exp(result['main/loss'])
    if 'validation/main/loss' in result:
        result['val_perplexity'] = np.exp(result['validation/main/loss'])


def write_words(directory, name, n):
    rng = np.random.RandomState(n)
    subjects, verbs, objects = ['the cat', 'a dog', 'the bird'], ['sees', 'hears'], ['it', 'the house', 'a tree']
    vocab = sorted(set(' '.join(subjects + verbs + objects).split()))
    words = []
    for _ in range(n):
        line = ' '.join([subjects[rng.randint(3)], verbs[rng.randint(2)], objects[rng.randint(3)]])
        words += [vocab.index(w) for w in line.split()] + [len(vocab)]
    np.savez_compressed(os.path.join(directory, name + '.npz'), x=np.array(words, dtype=np.int).astype(np.int32))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--batchsize', '-b', type=int, default=20)
    parser.add_argument('--bproplen', '-l', type=int, default=35)
    parser.add_argument('--epoch', '-e', type=int, default=39)
    parser.add_argument('--gpu', '-g', type=int, default=-1)
    parser.add_argument('--gradclip', '-c', type=float, default=5)
    parser.add_argument('--out', '-o', default='result')
    parser.add_argument('--unit', '-u', type=int, default=16)
    args = parser.parse_args()

    np.random.seed(0)
    # a small corpus in the place of the Penn Tree Bank
    chainer.dataset.download.set_dataset_root(os.path.join(args.out, 'data'))
    directory = chainer.dataset.get_dataset_directory('pfnet/chainer/ptb')
    print('root_exists %d' % os.path.exists(chainer.dataset.download.get_dataset_root()))
    for name, n in [('train', 60), ('valid', 12), ('test', 12)]:
        write_words(directory, name, n)
    train, val, test = chainer.datasets.get_ptb_words()
    n_vocab = int(max(train)) + 1
    print('n_vocab %d' % n_vocab)

    train_iter = ParallelSequentialIterator(train, args.batchsize)
    val_iter = ParallelSequentialIterator(val, 1, repeat=False)
    rnn = RNNForLM(n_vocab, args.unit)
    model = L.Classifier(rnn)
    model.compute_accuracy = False  # we only want the perplexity
    if args.gpu >= 0:
        chainer.cuda.get_device(args.gpu).use()
        model.to_gpu()

    optimizer = chainer.optimizers.SGD(lr=1.0)
    optimizer.setup(model)
    optimizer.add_hook(chainer.optimizer.GradientClipping(args.gradclip))

    updater = BPTTUpdater(train_iter, optimizer, args.bproplen, args.gpu)
    trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)
    eval_model = model.copy()  # Model with shared params and distinct states
    eval_rnn = eval_model.predictor
    trainer.extend(extensions.Evaluator(val_iter, eval_model, device=args.gpu,
                                        eval_hook=lambda _: eval_rnn.reset_state()))
    interval = 5
    trainer.extend(extensions.LogReport(postprocess=compute_perplexity, trigger=(interval, 'iteration')))
    trainer.extend(extensions.PrintReport(['epoch', 'iteration', 'perplexity', 'val_perplexity']),
                   trigger=(interval, 'iteration'))
    trainer.extend(extensions.snapshot(filename='snapshot_{.updater.iteration}'), trigger=(interval, 'iteration'))
    trainer.extend(extensions.snapshot_object(model, 'model_iter_{.updater.iteration}'), trigger=(1, 'epoch'))
    trainer.run()

    for entry in trainer.get_extension('LogReport').log:
        print('perplexity@%d %.6g' % (entry['iteration'], entry['perplexity']))

    # Evaluate the final model
    eval_rnn.reset_state()
    evaluator = extensions.Evaluator(ParallelSequentialIterator(test, 1, repeat=False), eval_model, device=args.gpu)
    result = evaluator()
    print('test_perplexity %.6g' % np.exp(float(result['main/loss'])))
    print('updates %d' % optimizer.t)


if __name__ == '__main__':
    main()
