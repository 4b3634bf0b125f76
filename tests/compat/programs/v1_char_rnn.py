"""v1: character model as a subclass of FunctionSet, with gradient clipping, decay of the learning rate and a sampler.

Arguments: --epochs 2 --checkpoint_dir cv
Recorded with: 1.24.0
Legacy: v1
"""
import argparse
import codecs
import copy
import os
import pickle
import sys
import time

import numpy as np
from chainer import cuda, Variable, FunctionSet, optimizers
import chainer.functions as F


class CharRNN(FunctionSet):

    def __init__(self, n_vocab, n_units):
        super(CharRNN, self).__init__(
            embed=F.EmbedID(n_vocab, n_units),
            l1_x=F.Linear(n_units, 4 * n_units),
            l1_h=F.Linear(n_units, 4 * n_units),
            l2_x=F.Linear(n_units, 4 * n_units),
            l2_h=F.Linear(n_units, 4 * n_units),
            l3=F.Linear(n_units, n_vocab),
        )
        for param in self.parameters:
            param[:] = np.random.uniform(-0.08, 0.08, param.shape)

    def forward_one_step(self, x_data, y_data, state, train=True, dropout_ratio=0.5):
        x = Variable(x_data, volatile=not train)
        t = Variable(y_data, volatile=not train)

        h0 = self.embed(x)
        h1_in = self.l1_x(F.dropout(h0, ratio=dropout_ratio, train=train)) + self.l1_h(state['h1'])
        c1, h1 = F.lstm(state['c1'], h1_in)
        h2_in = self.l2_x(F.dropout(h1, ratio=dropout_ratio, train=train)) + self.l2_h(state['h2'])
        c2, h2 = F.lstm(state['c2'], h2_in)
        y = self.l3(F.dropout(h2, ratio=dropout_ratio, train=train))
        state = {'c1': c1, 'h1': h1, 'c2': c2, 'h2': h2}

        if train:
            return state, F.softmax_cross_entropy(y, t)
        else:
            return state, F.softmax(y)


def make_initial_state(n_units, batchsize=50, train=True):
    return {name: Variable(np.zeros((batchsize, n_units), dtype=np.float32),
                           volatile=not train)
            for name in ('c1', 'h1', 'c2', 'h2')}


def load_data(path):
    vocab = {}
    with codecs.open(path, 'rb', 'utf-8') as f:
        words = list(f.read())
    dataset = np.ndarray((len(words),), dtype=np.int32)
    for i, word in enumerate(words):
        if word not in vocab:
            vocab[word] = len(vocab)
        dataset[i] = vocab[word]
    return dataset, words, vocab


parser = argparse.ArgumentParser()
parser.add_argument('--checkpoint_dir', type=str, default='cv')
parser.add_argument('--gpu', type=int, default=-1)
parser.add_argument('--rnn_size', type=int, default=12)
parser.add_argument('--learning_rate', type=float, default=2e-2)
parser.add_argument('--learning_rate_decay', type=float, default=0.97)
parser.add_argument('--learning_rate_decay_after', type=int, default=1)
parser.add_argument('--decay_rate', type=float, default=0.95)
parser.add_argument('--dropout', type=float, default=0.1)
parser.add_argument('--seq_length', type=int, default=8)
parser.add_argument('--batchsize', type=int, default=6)
parser.add_argument('--epochs', type=int, default=50)
parser.add_argument('--grad_clip', type=int, default=5)
parser.add_argument('--init_from', type=str, default='')
args = parser.parse_args()

if not os.path.exists(args.checkpoint_dir):
    os.mkdir(args.checkpoint_dir)
np.random.seed(0)
rng = np.random.RandomState(70)
with codecs.open('input.txt', 'w', 'utf-8') as f:
    f.write(u''.join(rng.choice([u'na', u'no', u'ni\u3042', u'ka ', u'ko\n'], 130)))

train_data, words, vocab = load_data('input.txt')
with open(os.path.join(args.checkpoint_dir, 'vocab.bin'), 'wb') as f:
    pickle.dump(vocab, f)

if len(args.init_from) > 0:
    with open(args.init_from, 'rb') as f:
        model = pickle.load(f)
else:
    model = CharRNN(len(vocab), args.rnn_size)
if args.gpu >= 0:
    cuda.get_device(args.gpu).use()
    model.to_gpu()

optimizer = optimizers.RMSprop(lr=args.learning_rate, alpha=args.decay_rate, eps=1e-6)
optimizer.setup(model)

whole_len = train_data.shape[0]
jump = whole_len // args.batchsize
epoch = 0
start_at = time.time()
state = make_initial_state(args.rnn_size, batchsize=args.batchsize)
accum_loss = Variable(np.zeros((), dtype=np.float32))
total = 0.
for i in range(jump * args.epochs):
    x_batch = np.array([train_data[(jump * j + i) % whole_len] for j in range(args.batchsize)])
    y_batch = np.array([train_data[(jump * j + i + 1) % whole_len] for j in range(args.batchsize)])
    state, loss_i = model.forward_one_step(x_batch, y_batch, state, dropout_ratio=args.dropout)
    accum_loss += loss_i
    total += float(loss_i.data)

    if (i + 1) % args.seq_length == 0:  # Run truncated BPTT
        optimizer.zero_grads()
        accum_loss.backward()
        accum_loss.unchain_backward()  # truncate
        accum_loss = Variable(np.zeros((), dtype=np.float32))
        optimizer.clip_grads(args.grad_clip)
        optimizer.update()

    if (i + 1) % jump == 0:
        epoch += 1
        print('epoch%d/loss %.6g' % (epoch, total / jump))
        total = 0.
        if epoch >= args.learning_rate_decay_after:
            optimizer.lr *= args.learning_rate_decay
        fn = os.path.join(args.checkpoint_dir, 'charrnn_epoch_%d.chainermodel' % epoch)
        with open(fn, 'wb') as f:
            pickle.dump(copy.deepcopy(model).to_cpu(), f)
    sys.stdout.flush()

# sampling with the model of the last epoch
with open(fn, 'rb') as f:
    model = pickle.load(f)
ivocab = {i: c for c, i in vocab.items()}
state = make_initial_state(args.rnn_size, batchsize=1, train=False)
prev_char = np.array([0], dtype=np.int32)
likelihood, sampled = 0., []
for i in range(40):
    state, prob = model.forward_one_step(prev_char, prev_char, state, train=False)
    probability = cuda.to_cpu(prob.data)[0].astype(np.float64)
    probability /= np.sum(probability)
    index = int(train_data[i + 1]) if i < 20 else int(np.argmax(probability))
    likelihood += np.log(probability[index])
    sampled.append(ivocab[index])
    prev_char = np.array([index], dtype=np.int32)
print('sampled/likelihood %.6g' % likelihood)
print('sampled/length %d' % len(u''.join(sampled)))
print('vocabulary %d' % len(vocab))
print('lr %.6g' % optimizer.lr)
