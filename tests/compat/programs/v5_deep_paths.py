"""v5: a text classifier (average of embeddings, convolution over words) that imports each name from its own module.

Arguments: --epoch 2 --out result
"""
import argparse
import os

import numpy as np

from chainer import cuda
from chainer import optimizer
from chainer import optimizers
from chainer.configuration import config, using_config
from chainer.dataset.convert import concat_examples, to_device
from chainer.datasets.tuple_dataset import TupleDataset
from chainer.function import no_backprop_mode
from chainer.functions.activation import log_softmax
from chainer.functions.activation.relu import relu
from chainer.functions.activation.softmax import softmax
from chainer.functions.array.broadcast import broadcast_to
from chainer.functions.array.concat import concat
from chainer.functions.array.reshape import reshape
from chainer.functions.array.split_axis import split_axis
from chainer.functions.array.transpose import transpose
from chainer.functions.connection.convolution_2d import convolution_2d
from chainer.functions.connection.embed_id import embed_id
from chainer.functions.connection.linear import linear
from chainer.functions.evaluation.accuracy import accuracy
from chainer.functions.loss.softmax_cross_entropy import softmax_cross_entropy
from chainer.functions.math import bias
from chainer.functions.math import scale
from chainer.functions.math.sum import sum as f_sum
from chainer.functions.noise.dropout import dropout
from chainer.functions.normalization.batch_normalization import fixed_batch_normalization
from chainer.functions.pooling.average_pooling_2d import AveragePooling2D, average_pooling_2d
from chainer.iterators import SerialIterator
from chainer.link import Chain, Link
from chainer.reporter import report, report_scope
from chainer.serializers.npz import save_npz
from chainer.training import extension, trigger, updater, Trainer
from chainer.training.extensions import LogReport
from chainer.variable import Parameter, Variable


class Embedding(Link):

    def __init__(self, n_vocab, n_units):
        super(Embedding, self).__init__()
        with self.init_scope():
            self.W = Parameter(np.random.normal(0, .3, (n_vocab, n_units)).astype('f'))
            self.gamma = Parameter(1., (n_units,))
            self.beta = Parameter(0., (n_units,))

    def __call__(self, x):
        e = embed_id(x, self.W, ignore_label=-1)
        mean, var = np.zeros(e.shape[2], 'f'), np.ones(e.shape[2], 'f')
        flat = reshape(e, (-1, e.shape[2]))
        flat = bias.bias(scale.scale(flat, self.gamma, axis=1), self.beta, axis=1)
        flat = fixed_batch_normalization(flat, np.ones(e.shape[2], 'f'), np.zeros(e.shape[2], 'f'), mean, var)
        return reshape(flat, e.shape)


class Classifier(Chain):

    def __init__(self, n_vocab, n_units, n_class):
        super(Classifier, self).__init__()
        with self.init_scope():
            self.embed = Embedding(n_vocab, n_units)
            self.K = Parameter(np.random.normal(0, .2, (n_units, n_units, 2, 1)).astype('f'))
            self.W = Parameter(np.random.normal(0, .2, (n_class, 3 * n_units)).astype('f'))
            self.b = Parameter(0., n_class)

    def predict(self, x):
        e = self.embed(x)
        mask = (x >= 0).astype('f')[:, :, None]
        total = f_sum(e * broadcast_to(Variable(mask), e.shape), axis=1)
        length = np.maximum(mask.sum(axis=1), 1)
        images = reshape(transpose(e, (0, 2, 1)), (len(x), e.shape[2], x.shape[1], 1))
        h = relu(convolution_2d(images, self.K, None, 1, 0))
        h = average_pooling_2d(h, (h.shape[2], 1))
        first, rest = split_axis(images, [1], axis=2)
        pool = AveragePooling2D((rest.shape[2], 1), (1, 1), (0, 0), False)
        pooled, = pool.apply((rest,))
        features = concat([total / length, reshape(h, (len(x), -1)), reshape(pooled, (len(x), -1))], axis=1)
        return linear(dropout(features, .1), self.W, self.b)

    def __call__(self, x, t):
        y = self.predict(x)
        loss = softmax_cross_entropy(y, t)
        report({'loss': loss, 'accuracy': accuracy(y, t)}, self)
        return loss


class Updater(updater.StandardUpdater):

    def update_core(self):
        batch = next(self._iterators['main'])
        x, t = concat_examples(batch, self.device, padding=-1)
        self._optimizers['main'].update(self._optimizers['main'].target, x, to_device(self.device, t))


class Tester(extension.Extension):

    trigger = (1, 'epoch')
    priority = extension.PRIORITY_EDITOR

    def __init__(self, model, data):
        self.model = model
        self.data = data

    def __call__(self, trainer):
        x, t = concat_examples(self.data, padding=-1)
        with using_config('train', False), no_backprop_mode():
            y = self.model.predict(x)
        observation = {'test/entropy': float(-(softmax(y).data * log_softmax.log_softmax(y).data).sum(axis=1).mean())}
        log_y = log_softmax._log_softmax(y.data)
        observation['test/accuracy'] = float((log_y.argmax(axis=1) == t).mean())
        trainer.observation.update(observation)


def sentences(n, seed):
    rng = np.random.RandomState(seed)
    xs, ts = [], []
    for i in range(n):
        t = i % 2
        x = rng.randint(0, 6, rng.randint(3, 6))
        x[rng.randint(len(x))] = 6 + t
        xs.append(x.astype('i'))
        ts.append(np.int32(t))
    return TupleDataset(xs, ts)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epoch', type=int, default=5)
    parser.add_argument('--out', default='result')
    args = parser.parse_args()
    np.random.seed(0)
    train, test = sentences(40, 1), sentences(12, 2)
    model = Classifier(8, 6, 2)
    opt = optimizers.SGD(lr=.5)
    opt.setup(model)
    opt.add_hook(optimizer.WeightDecay(1e-4))
    trainer = Trainer(Updater(SerialIterator(train, 8), opt), (args.epoch, 'epoch'), out=args.out)
    trainer.extend(Tester(model, test[:]))
    trainer.extend(LogReport(trigger=trigger.get_trigger((1, 'epoch'))))
    trainer.run()
    for entry in trainer.get_extension('LogReport').log:
        for key in ('main/loss', 'test/entropy', 'test/accuracy'):
            print('%s@%d %.5g' % (key, entry['epoch'], entry[key]))
    save_npz(os.path.join(args.out, 'model.npz'), model)
    with np.load(os.path.join(args.out, 'model.npz')) as f:
        print('arrays %d' % len(f.files))
    observation = {}
    try:
        with report_scope(observation):
            model(*concat_examples(test[:2], padding=-1))
    except IndexError:
        print('no_reporter 1')
    print('train_mode %d' % config.train)
    print('cpu %d' % (cuda.get_array_module(model.b) is np))


if __name__ == '__main__':
    main()
