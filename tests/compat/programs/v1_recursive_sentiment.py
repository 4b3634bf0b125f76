"""v1: recursive network over trees of words; AdaGrad with WeightDecay; volatile variables while it is evaluated.

Arguments: --epoch 3
Recorded with: 1.24.0
Legacy: v1
"""
import argparse
import collections
import random

import numpy as np
import chainer
from chainer import cuda
import chainer.functions as F
import chainer.links as L
from chainer import optimizers

parser = argparse.ArgumentParser()
parser.add_argument('--gpu', '-g', default=-1, type=int)
parser.add_argument('--epoch', '-e', default=40, type=int)
parser.add_argument('--unit', '-u', default=6, type=int)
parser.add_argument('--batchsize', '-b', type=int, default=8)
parser.add_argument('--label', '-l', type=int, default=3)
args = parser.parse_args()
if args.gpu >= 0:
    cuda.get_device(args.gpu).use()
xp = cuda.cupy if args.gpu >= 0 else np
random.seed(0)
np.random.seed(0)


def random_tree(depth):
    """Label 0, 1, 2 for bad, neutral, good; a `not` on the left turns the right side round."""
    if depth == 0 or random.random() < 0.3:
        word = random.choice(['good', 'bad', 'film', 'not', 'very', 'plot'])
        return {'good': 2, 'bad': 0}.get(word, 1), word
    left, right = random_tree(depth - 1), random_tree(depth - 1)
    if left[1] == 'not':
        label = 2 - right[0]
    else:
        label = min(max(left[0] + right[0] - 1, 0), 2)
    return label, (left, right)


def convert_tree(vocab, tree):
    label, body = tree
    if isinstance(body, str):
        if body not in vocab:
            vocab[body] = len(vocab)
        return {'label': label, 'node': vocab[body]}
    return {'label': label, 'node': (convert_tree(vocab, body[0]), convert_tree(vocab, body[1]))}


class RecursiveNet(chainer.Chain):

    def __init__(self, n_vocab, n_units):
        super(RecursiveNet, self).__init__(
            embed=L.EmbedID(n_vocab, n_units),
            l=L.Linear(n_units * 2, n_units),
            w=L.Linear(n_units, args.label))
        weights = np.random.RandomState(15)
        for name, param in sorted(self.namedparams()):
            param.data[:] = weights.normal(0, 0.3, param.data.shape)

    def leaf(self, x):
        return self.embed(x)

    def node(self, left, right):
        return F.tanh(self.l(F.concat((left, right))))

    def label(self, v):
        return self.w(v)


def traverse(model, node, train=True, evaluate=None, root=True):
    if isinstance(node['node'], int):
        # leaf node
        word = xp.array([node['node']], np.int32)
        loss = 0
        x = chainer.Variable(word, volatile=not train)
        v = model.leaf(x)
    else:
        # internal node
        left_node, right_node = node['node']
        left_loss, left = traverse(model, left_node, train=train, evaluate=evaluate, root=False)
        right_loss, right = traverse(model, right_node, train=train, evaluate=evaluate, root=False)
        v = model.node(left, right)
        loss = left_loss + right_loss

    y = model.label(v)
    if train:
        label = xp.array([node['label']], np.int32)
        t = chainer.Variable(label, volatile=not train)
        loss += F.softmax_cross_entropy(y, t)

    if evaluate is not None:
        predict = cuda.to_cpu(y.data.argmax(1))
        if predict[0] == node['label']:
            evaluate['correct_node'] += 1
        evaluate['total_node'] += 1
        if root:
            if predict[0] == node['label']:
                evaluate['correct_root'] += 1
            evaluate['total_root'] += 1
    return loss, v


def evaluate(model, test_trees):
    m = model.copy()
    result = collections.defaultdict(lambda: 0)
    for tree in test_trees:
        traverse(m, tree, train=False, evaluate=result)
    return (100.0 * result['correct_node'] / result['total_node'],
            100.0 * result['correct_root'] / result['total_root'])


vocab = {}
train_trees = [convert_tree(vocab, random_tree(3)) for _ in range(32)]
test_trees = [convert_tree(vocab, random_tree(3)) for _ in range(12)]
model = RecursiveNet(len(vocab), args.unit)
if args.gpu >= 0:
    model.to_gpu()

# Setup optimizer
optimizer = optimizers.AdaGrad(0.1)
optimizer.setup(model)
optimizer.add_hook(chainer.optimizer.WeightDecay(0.0001))

accum_loss = 0
for epoch in range(args.epoch):
    total_loss = 0
    np.random.shuffle(train_trees)
    for count, tree in enumerate(train_trees, 1):
        loss, v = traverse(model, tree, train=True)
        accum_loss += loss
        if count % args.batchsize == 0:
            model.zerograds()
            accum_loss.backward()
            optimizer.update()
            total_loss += float(cuda.to_cpu(accum_loss.data))
            accum_loss = 0
    print('epoch%d/loss %.6g' % (epoch, total_loss))
    nodes, roots = evaluate(model, test_trees)
    print('epoch%d/nodes %.6g' % (epoch, nodes))
    print('epoch%d/roots %.6g' % (epoch, roots))
print('vocabulary %d' % len(vocab))
