"""Programs in the idioms of Chainer v1, and the recorder of what Chainer 1.24 computes with them.

Each program leaves its figures in ``result``. ``python v1_idioms.py > v1_idioms.json`` has recorded them where
``import chainer`` gives Chainer 1.24.0 (Python 3.10, NumPy 1.23.5, the names of ``collections`` put back).
"""

from __future__ import annotations

import json
from typing import Any

HEAD = """
import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L
from chainer import Variable, optimizers
np.random.seed(0)
x = np.random.rand(4, 3).astype(np.float32)
t = np.array([0, 1, 1, 0], dtype=np.int32)
image = np.random.rand(2, 3, 6, 6).astype(np.float32)
"""

PROGRAMS = {
    'volatile on': """
model = L.Linear(3, 2)
v = Variable(x, volatile='on')
y = F.relu(model(v)) * 2 + 1
result = [y.data, y.volatile == 'on', y.creator is None, v.volatile == 'on']
""",
    'volatile True and False': """
model = L.Linear(3, 2)
on, off = model(Variable(x, volatile=True)), model(Variable(x, volatile=False))
model.zerograds()
F.sum(off).backward()
result = [on.volatile == True, off.volatile == False, on.creator is None, off.creator is None, model.W.grad]
""",
    'volatile by position, auto and a flag': """
model = L.Linear(3, 2)
y = model(Variable(x, chainer.ON))
z = model(Variable(x, 'off')) + Variable(np.ones((4, 2), np.float32), volatile='auto')
result = [y.creator is None, z.creator is None, y.volatile == 'on', z.volatile == 'off', chainer.flag.AUTO == 'auto']
""",
    'volatile set later': """
model = L.Linear(3, 2)
y = model(Variable(x, volatile='on'))
y.volatile = 'off'
z = F.sum(y * y)
result = [z.creator is None, y.volatile == 'off', z.data]
""",
    'volatile through layers with parameters': """
c, l, b = L.Convolution2D(3, 4, 3), L.Linear(16, 2), L.BatchNormalization(4)
h = F.max_pooling_2d(F.relu(b(c(Variable(image, volatile='on')), test=True)), 2)
y = F.softmax(l(h))
result = [y.data, y.volatile == 'on', y.creator is None]
""",
    'dropout with train': """
v = Variable(x)
result = [F.dropout(v, train=False).data, F.dropout(v, train=True).data, F.dropout(v, 0.3, True).data]
""",
    'zoneout with train': """
h, v = Variable(x), Variable(x * 2)
result = [F.zoneout(h, v, 0.5, False).data, F.zoneout(h, v, ratio=0.5, train=False).data]
""",
    'dropout by an attribute of the model': """
class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__(l1=L.Linear(3, 5), l2=L.Linear(5, 2))
        self.train = True
    def __call__(self, x, t):
        h = F.dropout(F.relu(self.l1(x)), train=self.train)
        self.loss = F.softmax_cross_entropy(self.l2(h), t)
        self.accuracy = F.accuracy(self.l2(h), t)
        return self.loss
model = Net()
optimizer = optimizers.Adam()
optimizer.setup(model)
losses = []
for i in range(5):
    model.zerograds()
    loss = model(Variable(x), Variable(t))
    loss.backward()
    optimizer.update()
    losses.append(float(loss.data))
model.train = False
losses.append(float(model(Variable(x, volatile='on'), Variable(t, volatile='on')).data))
result = [losses, float(model.accuracy.data)]
""",
    'batch normalization with test': """
bn = L.BatchNormalization(3)
out = [bn(Variable(x * k), test=False).data for k in (1, 2, 3)]
result = out + [bn(Variable(x), test=True).data, bn.avg_mean, bn.avg_var]
""",
    'batch normalization by position': """
bn = L.BatchNormalization(3, 0.8, use_cudnn=False)
result = [bn(Variable(x), False).data, bn(Variable(x), True).data, bn.avg_mean]
""",
    'batch normalization with finetune': """
bn = L.BatchNormalization(3)
bn.start_finetuning()
for k in (1, 2, 3):
    bn(Variable(x * k), test=False, finetune=True)
result = [bn.avg_mean, bn.avg_var, bn.N]
""",
    'FunctionSet': """
model = chainer.FunctionSet(l1=F.Linear(3, 5), l2=F.Linear(5, 2))
optimizer = optimizers.SGD(lr=0.5)
optimizer.setup(model.collect_parameters())
losses = []
for i in range(5):
    optimizer.zero_grads()
    h = F.tanh(model.l1(Variable(x)))
    loss = F.softmax_cross_entropy(model.l2(h), Variable(t))
    loss.backward()
    optimizer.update()
    losses.append(float(loss.data))
result = losses
""",
    'FunctionSet with attributes': """
model = chainer.FunctionSet()
model.conv = F.Convolution2D(3, 2, 3, pad=1)
model.bn = F.BatchNormalization(2)
model.embed = F.EmbedID(5, 3)
y = model.bn(model.conv(Variable(image)))
result = [y.data, [p.shape for p in model.parameters], sorted(n for n, _ in model.namedparams())]
""",
    'parameters and gradients of a FunctionSet': """
a = chainer.FunctionSet(l1=F.Linear(3, 2), l2=F.Linear(2, 2))
b = chainer.FunctionSet(l1=F.Linear(3, 2), l2=F.Linear(2, 2))
b.copy_parameters_from(a.parameters)
b.zerograds()
F.sum(b.l2(b.l1(Variable(x)))).backward()
result = [[p for p in b.parameters], [g for g in b.gradients]]
""",
    'optimizer with clipping and decay by hand': """
model = chainer.Chain(l1=L.Linear(3, 5), l2=L.Linear(5, 2))
optimizer = optimizers.MomentumSGD(lr=0.1, momentum=0.9)
optimizer.setup(model)
norms = []
for i in range(3):
    optimizer.zero_grads()
    loss = F.mean_squared_error(model.l2(F.sigmoid(model.l1(Variable(x)))), Variable(x[:, :2]))
    loss.backward()
    optimizer.weight_decay(0.01)
    norms.append(float(optimizer.compute_grads_norm()))
    optimizer.clip_grads(0.1)
    norms.append(float(optimizer.compute_grads_norm()))
    optimizer.update()
result = [norms, float(loss.data)]
""",
    'accumulate_grads': """
model = L.Linear(3, 2)
optimizer = optimizers.SGD(0.1)
optimizer.setup(model)
optimizer.zero_grads()
optimizer.accumulate_grads([np.ones_like(p.data) for p in model.params()])
before = model.W.data.copy()
optimizer.update()
result = [before - model.W.data]
""",
    'initial values': """
lstm, nd = L.LSTM(3, 2), L.ConvolutionND(1, 3, 2, 3)
result = [lstm.upward.b.data, lstm(Variable(x)).data, sorted(n for n, _ in nd.namedparams()),
          nd(Variable(image[:, :, 0])).data, L.ConvolutionND(1, 3, 2, 3, initial_bias=1).b.data]
""",
    'hooks of the optimizer': """
model = L.Linear(3, 2)
optimizer = optimizers.AdaGrad(lr=0.1)
optimizer.setup(model)
optimizer.add_hook(chainer.optimizer.WeightDecay(0.1))
optimizer.add_hook(chainer.optimizer.GradientClipping(0.5))
for i in range(3):
    optimizer.update(lambda v: F.sum(F.sin(model(v))), Variable(x))
result = [model.W.data, model.b.data]
""",
    'wscale of Linear': """
result = [L.Linear(3, 2, wscale=4).W.data, L.Linear(3, 2, 2).W.data, L.Linear(3, 2, wscale=0.5, nobias=True).W.data]
""",
    'wscale of convolutions': """
result = [L.Convolution2D(2, 3, 2, wscale=0.02).W.data, L.Deconvolution2D(2, 3, 2, wscale=0.02).W.data,
          L.DilatedConvolution2D(2, 1, 2, wscale=3).W.data, L.Convolution2D(2, 1, 2, 1, 0, 9).W.data]
""",
    'wscale of links of several layers': """
mlp = L.MLPConvolution2D(2, (3, 1), 1, wscale=4)
result = [mlp[0].W.data, mlp[1].W.data, L.Maxout(2, 2, 3, wscale=4).linear.W.data]
""",
    'wscale and initialW': """
W = np.arange(6, dtype=np.float32).reshape(2, 3)
result = [L.Linear(3, 2, wscale=4, initialW=W).W.data, L.Linear(3, 2, wscale=4, initialW=1.5).W.data]
""",
    'bias': """
result = [L.Linear(3, 2, bias=4).b.data, L.Linear(3, 2, bias=4, initial_bias=3).b.data,
          L.Convolution2D(1, 2, 2, bias=0.5).b.data, L.Deconvolution2D(1, 2, 2, 1, 0, 1, 0.25).b.data]
""",
    'use_cudnn of links': """
c = L.Convolution2D(3, 2, 3, stride=1, pad=1, use_cudnn=False)
d = L.Deconvolution2D(2, 3, 2, stride=2, use_cudnn=True)
result = [d(c(Variable(image))).data]
""",
    'use_cudnn of functions': """
v = Variable(image)
W, b = np.ones((2, 3, 3, 3), np.float32), np.zeros(2, np.float32)
h = F.convolution_2d(v, Variable(W), Variable(b), 1, 1, False)
h = F.max_pooling_2d(F.relu(h, use_cudnn=False), 2, stride=2, use_cudnn=False)
h = F.average_pooling_2d(F.tanh(F.sigmoid(h, False), use_cudnn=True), 3, 1, 0, False)
result = [h.data, F.softmax(Variable(x), use_cudnn=False).data, F.log_softmax(Variable(x), False).data]
""",
    'losses with use_cudnn': """
v, u = Variable(x), Variable(t)
result = [F.softmax_cross_entropy(v, u, use_cudnn=False).data, F.softmax_cross_entropy(v, u, True, False).data,
          F.sigmoid_cross_entropy(v, Variable((x > 0.5).astype(np.int32)), use_cudnn=False).data]
""",
    'functions as classes': """
v = Variable(x)
result = [F.ReLU()(v - 0.5).data, F.Tanh(use_cudnn=False)(v).data, F.Concat(axis=0)(v, v).data,
          F.Softmax()(v).data, F.LeakyReLU(0.1)(v - 0.5).data, F.Sum(axis=1)(v).data, F.Reshape((3, 4))(v).data]
""",
    'pooling and losses as classes': """
v = Variable(image)
result = [F.MaxPooling2D(2, 2)(v).data, F.MaxPooling2D(3, stride=2, cover_all=False, use_cudnn=False)(v).data,
          F.AveragePooling2D(2)(v).data, F.LocalResponseNormalization(3)(v).data,
          F.SoftmaxCrossEntropy()(Variable(x), Variable(t)).data,
          F.MeanSquaredError()(Variable(x), Variable(x * 2)).data]
""",
    'links in functions': """
v = Variable(image)
y = F.Inception(3, 2, 2, 2, 2, 2, 2)(v)
z = F.InceptionBN(3, 2, 2, 2, 2, 2, 'max', 2)(v)
result = [y.data, z.data, F.PReLU()(v - 0.5).data, F.Bilinear(3, 3, 2)(Variable(x), Variable(x)).data]
""",
    'split_axis of one section': """
v = Variable(x)
one, two = F.split_axis(v, 1, 1), F.split_axis(v, 2, 0)
result = [one.data, [part.data for part in two], [part.data for part in F.split_axis(v, 1, 1, force_tuple=True)]]
""",
    'stateless GRU': """
gru = L.GRU(2, 3)
h = Variable(np.zeros((4, 2), np.float32))
for i in range(3):
    h = gru(h, Variable(x))
result = [h.data]
""",
    'LSTM with truncated backpropagation': """
model = chainer.Chain(lstm=L.LSTM(3, 4), out=L.Linear(4, 2))
optimizer = optimizers.SGD(lr=0.1)
optimizer.setup(model)
losses, total = [], 0
for i in range(6):
    total += F.softmax_cross_entropy(model.out(model.lstm(Variable(x * i))), Variable(t))
    if i % 2:
        model.zerograds()
        total.backward()
        total.unchain_backward()
        optimizer.update()
        losses.append(float(total.data))
        total = 0
model.lstm.reset_state()
result = losses
""",
    'LSTM by hand with volatile states': """
l = chainer.FunctionSet(x=F.Linear(3, 8), h=F.Linear(2, 8))
def forward(train):
    volatile = 'off' if train else 'on'
    c, h = [Variable(np.zeros((4, 2), np.float32), volatile=volatile) for _ in range(2)]
    for i in range(3):
        c, h = F.lstm(c, l.x(Variable(x * i, volatile=volatile)) + l.h(h))
    return h
a, b = forward(True), forward(False)
result = [a.data, b.data, b.creator is None, a.creator is None]
""",
    'NStepLSTM with train': """
rnn = L.NStepLSTM(2, 3, 4, 0.5, use_cudnn=False)
xs = [Variable(x), Variable(x[:2])]
state = np.zeros((2, 2, 4), np.float32)
hy, cy, ys = rnn(Variable(state), Variable(state), xs, train=False)
result = [hy.data, cy.data, [y.data for y in ys]]
""",
    'a link whose parameter is announced': """
class Scale(chainer.Link):
    def __init__(self):
        super(Scale, self).__init__()
        self.add_uninitialized_param('W')
    def __call__(self, x):
        if self.has_uninitialized_params:
            self.add_param('W', x.data.shape[1:], initializer=chainer.initializers.Constant(2))
        return x * F.broadcast_to(self.W, x.data.shape)
scale = Scale()
before = scale.has_uninitialized_params
y = scale(Variable(x))
result = [before, scale.has_uninitialized_params, y.data]
""",
    'parameters by shape': """
link = chainer.Link(W=(2, 3), b=2)
link.W.data[...] = 0.5
link.b.data.fill(1)
link.add_persistent('scale', 3)
link.zerograds()
y = F.linear(Variable(x), link.W, link.b) * link.scale
F.sum(y).backward()
result = [y.data, link.W.grad, link.b.grad]
""",
    'children added later': """
model = chainer.Chain(a=L.Linear(3, 2))
model.add_link('b', L.Linear(2, 2))
model.add_param('scale', (2,))
model.scale.data[:] = 2
layers = chainer.ChainList(L.Linear(2, 2))
layers.add_link(L.Linear(2, 1))
model.add_link('layers', layers)
h = model.b(model['a'](Variable(x)))
for layer in model.layers:
    h = layer(h)
result = [h.data, [name for name, _ in sorted(model.namedparams())]]
""",
    'assignments to data and grad': """
v = Variable(x.copy())
y = v * 2
y.grad = np.ones_like(y.data)
y.backward()
g = v.grad.copy()
v.data[0] = 0
v.data -= 0.1 * v.grad
v.grad[...] = 0
result = [g, v.data, v.grad, y.data]
""",
    'a Function of the user': """
class Double(chainer.Function):
    def check_type_forward(self, in_types):
        chainer.utils.type_check.expect(in_types.size() == 1)
    def forward_cpu(self, inputs):
        return inputs[0] * 2,
    def backward_cpu(self, inputs, grads):
        return grads[0] * 2,
v = Variable(x)
y = Double()(v)
F.sum(y * y).backward()
z = Double()(Variable(x, volatile='on'))
result = [y.data, v.grad, z.data, z.creator is None]
""",
    'Classifier and Variables': """
model = L.Classifier(L.Linear(3, 2))
optimizer = optimizers.RMSprop(lr=0.01)
optimizer.setup(model)
losses = []
for i in range(4):
    optimizer.update(model, Variable(x), Variable(t))
    losses.append(float(model.loss.data))
result = [losses, float(model.accuracy.data)]
""",
    'Parameter as a link': """
p = L.Parameter(np.arange(3, dtype=np.float32))
result = [p().data, p(volatile='on').data, F.Parameter(np.ones(2, np.float32))().data]
""",
    'generator and discriminator': """
gen = chainer.Chain(l0=L.Linear(3, 8, wscale=0.1), dc=L.Deconvolution2D(2, 1, 4, stride=2, pad=1, wscale=0.02 * 16),
                    bn=L.BatchNormalization(8))
dis = chainer.Chain(c0=L.Convolution2D(1, 2, 4, stride=2, pad=1, wscale=0.02), l=L.Linear(8, 2, wscale=0.02))
og, od = optimizers.Adam(alpha=0.0002, beta1=0.5), optimizers.Adam(alpha=0.0002, beta1=0.5)
og.setup(gen)
od.setup(dis)
def generate(z, test=False):
    return gen.dc(F.reshape(F.relu(gen.bn(gen.l0(z), test=test)), (4, 2, 2, 2)))
def judge(v):
    return dis.l(F.leaky_relu(dis.c0(v)))
losses = []
for i in range(3):
    y = judge(generate(Variable(x)))
    lg = F.softmax_cross_entropy(y, Variable(np.zeros(4, dtype=np.int32)))
    ld = F.softmax_cross_entropy(y, Variable(np.ones(4, dtype=np.int32)))
    og.zero_grads()
    lg.backward()
    og.update()
    od.zero_grads()
    ld.backward()
    od.update()
    losses += [float(lg.data), float(ld.data)]
result = [losses, generate(Variable(x, volatile=True), test=True).data]
""",
    'Trainer': """
import tempfile
from chainer import training
from chainer.training import extensions
called = []
@training.make_extension(trigger=(1, 'epoch'), invoke_before_training=True)
def note(trainer):
    called.append(trainer.updater.iteration)
def other(trainer):
    called.append(-trainer.updater.iteration)
model = L.Classifier(L.Linear(3, 2))
optimizer = optimizers.SGD(0.1)
optimizer.setup(model)
data = chainer.datasets.TupleDataset(x, t)
updater = training.StandardUpdater(chainer.iterators.SerialIterator(data, 2, shuffle=False), optimizer, device=-1)
with tempfile.TemporaryDirectory() as out:
    trainer = training.Trainer(updater, (2, 'epoch'), out=out)
    test = chainer.iterators.SerialIterator(data, 2, repeat=False, shuffle=False)
    trainer.extend(extensions.Evaluator(test, model))
    trainer.extend(extensions.snapshot(filename='all_{.updater.epoch}', trigger=(1, 'epoch')))
    trainer.extend(extensions.snapshot_object(model, 'model_{.updater.epoch}', trigger=(2, 'epoch')))
    trainer.extend(extensions.LogReport(trigger=(1, 'epoch')))
    trainer.extend(note)
    trainer.extend(other, trigger=(1, 'iteration'), invoke_before_training=True)
    trainer.run()
    import os
    files = sorted(os.listdir(out))
    log = [[e['main/loss'], e['validation/main/loss']] for e in trainer.get_extension('LogReport').log]
result = [sorted(called), files, log]
""",
    'evaluation by the Trainer leaves dropout to the model': """
import tempfile
from chainer import training
from chainer.training import extensions
seen = []
class Net(chainer.Chain):
    train = True
    def __call__(self, x, t):
        v = Variable(np.ones((50, 3), np.float32))
        seen.append([bool((F.dropout(v).data == 1).all()), bool((F.dropout(v, train=self.train).data == 1).all())])
        return F.softmax_cross_entropy(self.l(x), t)
model = Net(l=L.Linear(3, 2))
evaluated = model.copy()
evaluated.train = False
data = chainer.datasets.TupleDataset(x, t)
evaluator = extensions.Evaluator(chainer.iterators.SerialIterator(data, 4, repeat=False, shuffle=False), evaluated)
evaluator()
result = [seen]
""",
}


def figures(value: Any) -> Any:
    """A result as JSON has it."""
    if hasattr(value, 'tolist'):
        return figures(value.tolist())
    if isinstance(value, (list, tuple)):
        return [figures(entry) for entry in value]
    return float(f'{value:.7g}') if isinstance(value, float) else value


def run(program: str) -> Any:
    """The figures of a program."""
    names: dict[str, Any] = {'__name__': 'program'}
    exec(HEAD + program, names)
    return figures(names['result'])


if __name__ == '__main__':
    print('{')
    rows = [f' {json.dumps(name)}: {json.dumps(run(program))}' for name, program in PROGRAMS.items()]
    print(',\n'.join(rows))
    print('}')
