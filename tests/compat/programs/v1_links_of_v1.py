"""v1: the less common links in their v1 form: GRU(n_units, n_inputs), Maxout(wscale=), MLPConvolution2D, PReLU, Highway.

Recorded with: 1.24.0
Legacy: v1
"""
import numpy as np

import chainer
from chainer import Variable
import chainer.functions as F
import chainer.links as L


def fill(link, seed=0):
    """Weights that do not depend on how the link draws its own."""
    rng = np.random.RandomState(seed)
    for name, param in sorted(link.namedparams()):
        param.data[...] = rng.uniform(-0.4, 0.4, param.data.shape)
    return link


def check(name, link, *arguments, **keywords):
    """Prints figures of a forward and a backward pass."""
    y = link(*arguments, **keywords)
    ys = y if isinstance(y, tuple) else (y,)
    link.zerograds()
    F.sum(ys[0] * ys[0]).backward()
    print('%s/sum %.6g' % (name, sum(abs(v.data).sum() for v in ys)))
    print('%s/grad %.6g' % (name, sum(abs(p.grad).sum() for p in link.params())))


rng = np.random.RandomState(1)
np.random.seed(0)
x = Variable(rng.normal(0, 1, (4, 6)).astype('f'))
h = Variable(rng.normal(0, 1, (4, 5)).astype('f'))
c = Variable(rng.normal(0, 1, (4, 5)).astype('f'))
image = Variable(rng.normal(0, 1, (2, 3, 8, 8)).astype('f'))

# recurrent links
check('GRU', fill(L.GRU(5, 6)), h, x)
gru = fill(L.StatefulGRU(6, 5))
gru(x)
check('StatefulGRU', gru, x)
gru.reset_state()
print('StatefulGRU/reset %d' % (gru.h is None))
check('StatelessLSTM', fill(L.StatelessLSTM(6, 5)), c, h, x)
lstm = fill(L.LSTM(6, 5, forget_bias_init=1))
lstm.set_state(c, h)
check('LSTM', lstm, x)
peephole = fill(L.StatefulPeepholeLSTM(6, 5))
peephole(x)
check('StatefulPeepholeLSTM', peephole, x)
zoneout = fill(L.StatefulZoneoutLSTM(6, 5, c_ratio=0.3, h_ratio=0.0))
check('StatefulZoneoutLSTM', zoneout, x)

# layers with a scale of their own
maxout = L.Maxout(6, 4, 3, wscale=2, initial_bias=0.2)
print('Maxout/bias %.6g' % maxout.linear.b.data.sum())
check('Maxout', fill(maxout), x)
mlpconv = L.MLPConvolution2D(3, (6, 4), 3, 1, 1, np.sqrt(2), activation=F.sigmoid, use_cudnn=False)
check('MLPConvolution2D', fill(mlpconv), image)
dilated = L.DilatedConvolution2D(3, 4, 3, stride=1, pad=2, dilate=2, wscale=1, bias=0.5, use_cudnn=False)
print('DilatedConvolution2D/bias %.6g' % dilated.b.data.mean())
check('DilatedConvolution2D', fill(dilated), image)
deconvolution = L.Deconvolution2D(3, 2, 4, stride=2, pad=1, wscale=0.5, bias=0.1, use_cudnn=True)
print('Deconvolution2D/bias %.6g' % deconvolution.b.data.mean())
check('Deconvolution2D', fill(deconvolution), image)
check('PReLU', F.PReLU((6,), init=0.3), x)
check('Highway', fill(L.Highway(6, activate=F.tanh)), x)
check('Bilinear', fill(F.Bilinear(6, 5, 3)), x, h)
check('Scale', fill(L.Scale(1, W_shape=(6,), bias_term=True)), x)
bias = L.Bias(axis=1, shape=(6,))
bias.b.data[...] = 0.5
check('Bias', bias, x)
check('LayerNormalization', L.LayerNormalization(6), x)
check('Parameter', F.Parameter(np.arange(6, dtype='f')), volatile='auto')

# batch normalization in its three ways
bn = L.BatchNormalization(6, decay=0.5, use_cudnn=False)
check('BatchNormalization/train', bn, x)
check('BatchNormalization/finetune', bn, x, finetune=True)
check('BatchNormalization/test', bn, x, test=True)
print('BatchNormalization/N %d' % bn.N)
print('BatchNormalization/avg_var %.6g' % bn.avg_var.sum())

# functions with arguments of v1
for name, y in [
    ('softmax', F.softmax(x, False)),
    ('log_softmax', F.log_softmax(x, use_cudnn=False)),
    ('sigmoid', F.sigmoid(x, use_cudnn=False)),
    ('dropout', F.dropout(x, ratio=0.5, train=False)),
    ('dropout/positional', F.dropout(x, 0.5, False)),
    ('max_pooling', F.max_pooling_2d(image, 3, 2, 1, False, False)),
    ('average_pooling', F.average_pooling_2d(image, 2, 2, 0, False)),
    ('pyramid', F.spatial_pyramid_pooling_2d(image, 2, F.MaxPooling2D, use_cudnn=False)),
    ('zoneout', F.zoneout(x, x * 2, ratio=0.25, train=False)),
    ('mean', F.mean(x, axis=0)),
]:
    print('F/%s %.6g' % (name, abs(y.data).sum()))
logits = Variable(rng.normal(0, 1, (4, 6)).astype('f'))
targets = Variable(rng.randint(0, 2, (4, 6)).astype('i'))
print('F/sigmoid_cross_entropy %.6g' % F.sigmoid_cross_entropy(logits, targets, True, False).data)
