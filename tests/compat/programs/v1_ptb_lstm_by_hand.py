"""v1: language model of two LSTM layers whose states are passed by hand; truncated backpropagation; pickled model.

Arguments: --epoch 2
Recorded with: 1.24.0
Legacy: v1
"""
from __future__ import print_function
import argparse
import math

import numpy as np
import six
from six.moves import cPickle as pickle

import chainer
from chainer import cuda
import chainer.functions as F
from chainer import optimizers

parser = argparse.ArgumentParser()
parser.add_argument('--gpu', '-g', default=-1, type=int)
parser.add_argument('--epoch', default=10, type=int)
parser.add_argument('--out', default='model.pkl')
args = parser.parse_args()
mod = cuda.cupy if args.gpu >= 0 else np

np.random.seed(0)
n_epoch = args.epoch
n_units = 16     # number of units per layer
batchsize = 5    # minibatch size
bprop_len = 7    # length of truncated BPTT
grad_clip = 1    # gradient norm threshold to clip

vocab = {}


def load_data(sentences):
    words = (' <eos> '.join(sentences) + ' <eos>').split()
    dataset = np.ndarray((len(words),), dtype=np.int32)
    for i, word in enumerate(words):
        if word not in vocab:
            vocab[word] = len(vocab)
        dataset[i] = vocab[word]
    return dataset


rng = np.random.RandomState(2)
nouns, verbs = ['cat', 'dog', 'bird', 'fish'], ['sees', 'hears', 'likes']
texts = ['the %s %s the %s' % (nouns[rng.randint(4)], verbs[rng.randint(3)], nouns[rng.randint(4)])
         for _ in range(90)]
train_data = load_data(texts[:60])
valid_data = load_data(texts[60:75])
test_data = load_data(texts[75:])

model = chainer.FunctionSet(embed=F.EmbedID(len(vocab), n_units),
                            l1_x=F.Linear(n_units, 4 * n_units),
                            l1_h=F.Linear(n_units, 4 * n_units),
                            l2_x=F.Linear(n_units, 4 * n_units),
                            l2_h=F.Linear(n_units, 4 * n_units),
                            l3=F.Linear(n_units, len(vocab)))
for param in model.parameters:
    param[:] = np.random.uniform(-0.1, 0.1, param.shape)
if args.gpu >= 0:
    cuda.init(args.gpu)
    model.to_gpu()


def forward_one_step(x_data, y_data, state, train=True):
    # Neural net architecture
    x = chainer.Variable(x_data, volatile=not train)
    t = chainer.Variable(y_data, volatile=not train)
    h0 = model.embed(x)
    h1_in = model.l1_x(F.dropout(h0, train=train)) + model.l1_h(state['h1'])
    c1, h1 = F.lstm(state['c1'], h1_in)
    h2_in = model.l2_x(F.dropout(h1, train=train)) + model.l2_h(state['h2'])
    c2, h2 = F.lstm(state['c2'], h2_in)
    y = model.l3(F.dropout(h2, train=train))
    state = {'c1': c1, 'h1': h1, 'c2': c2, 'h2': h2}
    return state, F.softmax_cross_entropy(y, t)


def make_initial_state(batchsize=batchsize, train=True):
    return {name: chainer.Variable(mod.zeros((batchsize, n_units), dtype=np.float32),
                                   volatile=not train)
            for name in ('c1', 'h1', 'c2', 'h2')}


optimizer = optimizers.SGD(lr=1.)
optimizer.setup(model.collect_parameters())


def evaluate(dataset):
    sum_log_perp = mod.zeros(())
    state = make_initial_state(batchsize=1, train=False)
    for i in six.moves.range(dataset.size - 1):
        x_batch = mod.asarray(dataset[i:i + 1])
        y_batch = mod.asarray(dataset[i + 1:i + 2])
        state, loss = forward_one_step(x_batch, y_batch, state, train=False)
        sum_log_perp += loss.data.reshape(())
    return math.exp(cuda.to_cpu(sum_log_perp) / (dataset.size - 1))


whole_len = train_data.shape[0]
jump = whole_len // batchsize
state = make_initial_state()
accum_loss = chainer.Variable(mod.zeros((), dtype=np.float32))
cur_log_perp = mod.zeros(())
epoch = 0
for i in six.moves.range(jump * n_epoch):
    x_batch = mod.array([train_data[(jump * j + i) % whole_len] for j in six.moves.range(batchsize)])
    y_batch = mod.array([train_data[(jump * j + i + 1) % whole_len] for j in six.moves.range(batchsize)])
    state, loss_i = forward_one_step(x_batch, y_batch, state)
    accum_loss += loss_i
    cur_log_perp += loss_i.data.reshape(())

    if (i + 1) % bprop_len == 0:  # Run truncated BPTT
        optimizer.zero_grads()
        accum_loss.backward()
        accum_loss.unchain_backward()  # truncate
        accum_loss = chainer.Variable(mod.zeros((), dtype=np.float32))
        optimizer.clip_grads(grad_clip)
        optimizer.update()

    if (i + 1) % jump == 0:
        epoch += 1
        perp = math.exp(cuda.to_cpu(cur_log_perp) / jump)
        cur_log_perp.fill(0)
        print('epoch%d/perplexity %.6g' % (epoch, perp))
        print('epoch%d/validation %.6g' % (epoch, evaluate(valid_data)))
        if epoch >= 2:
            optimizer.lr /= 1.2

with open(args.out, 'wb') as f:
    pickle.dump(model, f, -1)
with open(args.out, 'rb') as f:
    model = pickle.load(f)
print('test/perplexity %.6g' % evaluate(test_data))
print('vocabulary %d' % len(vocab))
print('lr %.6g' % optimizer.lr)
