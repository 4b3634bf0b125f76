"""v1: functions as classes, layers in lists, walks along creators, graphs in DOT, function hooks, deep module paths.

Arguments: --out .
Recorded with: 1.24.0
Legacy: v1
"""
import argparse
import collections
import os

import numpy as np
import chainer
import chainer.computational_graph as c
from chainer import function, variable
import chainer.functions as F
from chainer.functions.activation.relu import ReLU
from chainer.functions.pooling.max_pooling_2d import max_pooling_2d
from chainer.functions.pooling.average_pooling_2d import AveragePooling2D
import chainer.links as L


class Sequential(chainer.ChainList):
    """A network from a list of links and functions."""

    def __init__(self, *layers):
        super(Sequential, self).__init__(*[l for l in layers if isinstance(l, chainer.Link)])
        self.layers = layers

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class CountingHook(function.FunctionHook):
    """Counts calls of functions and the elements that go in."""

    name = 'CountingHook'

    def __init__(self):
        self.calls = collections.Counter()
        self.elements = 0

    def forward_preprocess(self, function, in_data):
        self.elements += sum(x.size for x in in_data)

    def forward_postprocess(self, function, in_data):
        self.calls[function.label] += 1

    def backward_preprocess(self, function, in_data, out_grad):
        self.calls['backward'] += 1

    def backward_postprocess(self, function, in_data, out_grad):
        assert all(g is None or g.ndim > 0 or g.size == 1 for g in out_grad)


parser = argparse.ArgumentParser()
parser.add_argument('--out', default='.')
args = parser.parse_args()

rng = np.random.RandomState(3)
model = Sequential(
    L.Convolution2D(2, 4, 3, pad=1),
    F.ReLU(use_cudnn=False),
    F.MaxPooling2D(2, stride=2),
    lambda x: max_pooling_2d(F.LeakyReLU(0.1)(x), 1),
    L.Convolution2D(4, 4, 1),
    F.Sigmoid(),
    AveragePooling2D(3, 3, 0, True),
    lambda x: F.Reshape((x.data.shape[0], 4))(x),
    L.Linear(4, 3),
)
for name, param in sorted(model.namedparams()):
    param.data[...] = rng.uniform(-0.5, 0.5, param.data.shape)

x = chainer.Variable(rng.normal(0, 1, (5, 2, 6, 6)).astype(np.float32), name='x')
t = chainer.Variable(np.array([0, 1, 2, 1, -1], dtype=np.int32), name='t')
hook = CountingHook()
with hook:
    y = model(x)
    crossentropy = F.SoftmaxCrossEntropy(use_cudnn=False, normalize=True)
    loss = crossentropy(y, t)
    model.zerograds()
    loss.backward(retain_grad=True)
print('loss %.6g' % loss.data)
print('probabilities %.6g' % crossentropy.y.max(axis=1).sum())
print('grad/x %.6g' % abs(x.grad).sum())
print('grad/y %.6g' % abs(y.grad).sum())
print('hook/backward %d' % hook.calls['backward'])
print('hook/elements %d' % hook.elements)
print('hook/conv %d' % hook.calls['Convolution2DFunction'])

# walk back through the graph
labels, v = [], loss
while v.creator is not None:
    labels.append(v.creator.label)
    v = v.creator.inputs[0]
print('depth %d' % len(labels))
print('leaf %d' % (v is x or v.name == 'x'))
print('relu %d' % sum(label == 'ReLU' for label in labels))
print('names %d' % len(set(labels)))
print('rank %d' % loss.creator.rank)
print('isinstance %d' % isinstance(F.relu(x).creator, ReLU))
print('classname %d' % (F.tanh(x).creator.__class__.__name__ == 'Tanh'))

# the graph as DOT
graph = c.build_computational_graph([loss], variable_style={'shape': 'octagon', 'fillcolor': '#E0E0E0'},
                                    function_style={'shape': 'record', 'fillcolor': '#6495ED'})
with open(os.path.join(args.out, 'graph.dot'), 'w') as o:
    o.write(graph.dump())
with open(os.path.join(args.out, 'graph.dot')) as o:
    text = o.read()
print('dot/edges %d' % text.count('->'))
print('dot/octagon %d' % text.count('octagon'))
print('dot/record %d' % text.count('record'))

# parts of the graph are cut off
h = F.Dropout(0.0)(F.Concat(axis=1)(x, x))
h.unchain_backward()
print('unchained %d' % (h.creator is None))
s = F.Sum(axis=1)(F.Square()(x)) if hasattr(F, 'Square') else F.sum(x * x, axis=1)
s.creator.unchain()
print('unchain/creator %d' % (s.creator is None))
print('variable %d' % isinstance(s, variable.Variable))
