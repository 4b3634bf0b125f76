"""v6: triggers and learning-rate schedules around a small regression: warm-up, linear decay, early stopping, own triggers.

Arguments: --epoch 6 --out result
"""
import argparse
import os

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import training
from chainer.training import extensions, triggers
from chainer.training.trigger import get_trigger


class AfterTrigger(training.IntervalTrigger):

    """Fires at an interval, but not before some epoch."""

    def __init__(self, period, unit, begin):
        super(AfterTrigger, self).__init__(period, unit)
        self.begin = begin

    def __call__(self, trainer):
        fire = super(AfterTrigger, self).__call__(trainer)
        return fire and trainer.updater.epoch_detail >= self.begin


class Count(training.Extension):

    def __init__(self):
        self.calls = []

    def initialize(self, trainer):
        self.calls = []

    def __call__(self, trainer):
        self.calls.append(trainer.updater.iteration)

    def serialize(self, serializer):
        calls = serializer('calls', np.array(self.calls, dtype=np.int32))
        self.calls = list(calls)


class TestEvaluator(extensions.Evaluator):

    name = 'test'

    def __call__(self, trainer=None):
        result = super(TestEvaluator, self).__call__(trainer)
        self.times = getattr(self, 'times', 0) + 1
        chainer.report({'times': self.times})
        return result


def build(args, epoch, stop=None):
    np.random.seed(0)
    rng = np.random.RandomState(1)
    x = rng.uniform(-1, 1, (40, 3)).astype('f')
    t = (x[:, :1] - 2 * x[:, 1:2]).astype('f') + .3
    dataset = chainer.datasets.TupleDataset(x, t)
    train, test = chainer.datasets.split_dataset(dataset, 30)
    model = L.Classifier(L.Linear(3, 1), lossfun=F.mean_squared_error)
    model.compute_accuracy = False
    optimizer = chainer.optimizers.MomentumSGD(lr=.2)
    optimizer.setup(model)
    updater = training.StandardUpdater(chainer.iterators.SerialIterator(train, 10), optimizer)
    trainer = training.Trainer(updater, stop or (epoch, 'epoch'), out=args.out)
    test_iter = chainer.iterators.SerialIterator(test, 10, repeat=False, shuffle=False)
    trainer.extend(TestEvaluator(test_iter, model))
    trainer.extend(extensions.observe_lr(), trigger=(1, 'iteration'))
    trainer.extend(extensions.LogReport(trigger=triggers.IntervalTrigger(3, 'iteration')))
    trainer.extend(extensions.observe_value('epoch_detail', lambda t: t.updater.epoch_detail))
    trainer.extend(extensions.DumpGraph('main/loss', filename='graph.dot'))
    return trainer


def report(tag, trainer):
    for entry in trainer.get_extension('LogReport').log[::2]:
        print('%s/loss@%d %.5g' % (tag, entry['iteration'], entry['main/loss']))
        print('%s/lr@%d %.5g' % (tag, entry['iteration'], entry['lr']))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epoch', type=int, default=20)
    parser.add_argument('--out', default='result')
    args = parser.parse_args()

    trainer = build(args, args.epoch)
    trainer.extend(extensions.WarmupShift('lr', .02, 5, .2), trigger=(1, 'iteration'))
    counts = {'manual': triggers.ManualScheduleTrigger([2, 5, 7], 'iteration'),
              'after': AfterTrigger(1, 'epoch', 3),
              'pair': get_trigger((2, 'epoch'))}
    for name, trigger in sorted(counts.items()):
        trainer.extend(Count(), name=name, trigger=trigger)
    best = triggers.MinValueTrigger('test/main/loss', trigger=(1, 'epoch'))
    trainer.extend(Count(), name='best', trigger=best)
    trainer.run()
    report('warm', trainer)
    for name in sorted(counts):
        calls = trainer.get_extension(name).calls
        print('fired/%s %d' % (name, len(calls)))
        print('last/%s %d' % (name, calls[-1]))
    print('improved %d' % len(trainer.get_extension('best').calls))
    print('graph %d' % os.path.exists(os.path.join(args.out, 'graph.dot')))

    trainer = build(args, args.epoch)
    trainer.extend(extensions.LinearShift('lr', (.2, .01), (4, 12)), trigger=(1, 'iteration'))
    trainer.extend(extensions.ExponentialShift('momentum', .99), trigger=(1, 'epoch'))
    trainer.run()
    report('linear', trainer)
    print('momentum %.5g' % trainer.updater.get_optimizer('main').momentum)

    stop = triggers.EarlyStoppingTrigger(
        check_trigger=(1, 'epoch'), monitor='test/main/loss', patience=2, mode='min', max_trigger=(30, 'epoch'))
    trainer = build(args, 30, stop)
    trainer.run()
    print('stopped %d' % trainer.updater.epoch)
    print('final %.3g' % trainer.get_extension('LogReport').log[-1]['main/loss'])


if __name__ == '__main__':
    main()
