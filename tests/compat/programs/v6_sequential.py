"""v6: a Sequential network trained with a converter made by the decorator, on a noisy spiral; a normal output distribution.

Arguments: --epoch 2 --out result
"""
import argparse

import numpy

import chainer
from chainer import configuration
from chainer import distributions as D
import chainer.functions as F
import chainer.links as L
from chainer import training
from chainer.training import extensions, triggers
from chainer.utils import argument


@chainer.dataset.converter()
def concat_float(batch, device):
    return tuple(device.send(numpy.stack(column)) for column in zip(*batch))


class GaussianRegression(chainer.Chain):

    """Predicts mean and standard deviation."""

    def __init__(self, body, **kwargs):
        super(GaussianRegression, self).__init__()
        self.floor, = argument.parse_kwargs(
            kwargs, ('floor', 1e-3), test='test argument is not supported anymore. Use chainer.using_config')
        argument.check_unexpected_kwargs(kwargs, wscale='wscale is not supported')
        argument.assert_kwargs_empty(kwargs)
        with self.init_scope():
            self.body = body
            self.head = chainer.Sequential(L.Linear(None, 4))

    def predict(self, x):
        mean, s = F.split_axis(self.head(self.body(x)), 2, axis=1)
        return D.Normal(loc=mean, scale=F.softplus(s) + self.floor)

    def forward(self, x, t):
        y = self.predict(x)
        loss = -F.mean(F.sum(y.log_prob(t), axis=1))
        chainer.report({'nll': loss, 'rmse': F.sqrt(F.mean_squared_error(y.mean, t))}, self)
        return loss


def make_body():
    block = chainer.Sequential(L.Linear(12, 12), F.relu)
    body = chainer.Sequential(L.Linear(1, 12), F.tanh, L.LayerNormalization(12))
    body.extend(block.repeat(2, mode='init'))
    body.append(lambda h: F.dropout(h, .1))
    return body


class Spiral(chainer.dataset.DatasetMixin):

    def __init__(self, n):
        rng = numpy.random.RandomState(n)
        self.angle = numpy.linspace(0, 6, n)
        self.noise = rng.normal(0, .05, (n, 2))

    def __len__(self):
        return len(self.angle)

    def get_example(self, i):
        a = self.angle[i]
        xy = numpy.array([a * numpy.cos(a), a * numpy.sin(a)]) / 6 + self.noise[i]
        return numpy.array([a - 3], dtype=numpy.float32), xy.astype(numpy.float32)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epoch', type=int, default=10)
    parser.add_argument('--device', default='@numpy')
    parser.add_argument('--out', default='result')
    args = parser.parse_args()
    numpy.random.seed(0)
    chainer.disable_experimental_feature_warning = True
    chainer.utils.experimental('the regression of this program')
    device = chainer.get_device(args.device)
    model = GaussianRegression(make_body(), floor=1e-2)
    model.to_device(device)
    print('layers %d' % len(model.body))
    for bad in ({'test': True}, {'wscale': 1}, {'unknown': 2}):
        try:
            GaussianRegression(make_body(), **bad)
        except (ValueError, TypeError) as e:
            print('refused/%s %d' % (sorted(bad)[0], isinstance(e, ValueError)))

    optimizer = chainer.optimizers.Adam(alpha=.01).setup(model)
    train, test = Spiral(50), Spiral(20)
    train_iter = chainer.iterators.SerialIterator(train, 10)
    test_iter = chainer.iterators.SerialIterator(test, 10, repeat=False, shuffle=False)
    updater = training.updaters.StandardUpdater(train_iter, optimizer, converter=concat_float, device=device)
    trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)
    trainer.extend(extensions.Evaluator(test_iter, model, converter=concat_float, device=device), name='val')
    trainer.extend(extensions.LogReport())
    best = triggers.MinValueTrigger('val/main/nll', (1, 'epoch'))
    trainer.extend(extensions.snapshot_object(model, 'best'), trigger=best)
    trainer.run()
    for entry in trainer.get_extension('LogReport').log:
        for key in ('main/nll', 'main/rmse', 'val/main/nll'):
            print('%s@%d %.5g' % (key, entry['epoch'], entry[key]))
    with configuration.using_config('train', False):
        y = model.predict(concat_float(test[:3], device)[0])
    print('stddev %.5g' % float(y.stddev.array.mean()))
    print('entropy %.5g' % float(y.entropy.array.mean()))
    print('kl %.5g' % float(chainer.kl_divergence(y, D.Normal(y.mean.array, numpy.ones_like(y.mean.array))).array.sum()))
    print('relus %d' % model.body.count_by_layer_type('relu'))


if __name__ == '__main__':
    main()
