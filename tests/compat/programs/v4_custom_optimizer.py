"""v4: own optimizers: update rules with states, hyperparameter proxies, an Adam with decoupled decay and gradient noise.

Arguments: --iteration 20 --out result
"""
import argparse
import math
import os

import numpy

import chainer
from chainer import optimizer
from chainer.backends import cuda
from chainer.optimizers import adam
import chainer.functions as F
import chainer.links as L
from chainer.training import extension

_default_hyperparam = optimizer.Hyperparameter()
_default_hyperparam.lr = 0.01
_default_hyperparam.momentum = 0.9
_default_hyperparam.trust = 0.05


class LarsRule(optimizer.UpdateRule):

    def __init__(self, parent_hyperparam=None, lr=None, momentum=None):
        super(LarsRule, self).__init__(parent_hyperparam or _default_hyperparam)
        if lr is not None:
            self.hyperparam.lr = lr
        if momentum is not None:
            self.hyperparam.momentum = momentum

    def init_state(self, param):
        xp = cuda.get_array_module(param.data)
        with cuda.get_device_from_array(param.data):
            self.state['v'] = xp.zeros_like(param.data)

    def update_core_cpu(self, param):
        grad = param.grad
        if grad is None:
            return
        hp = self.hyperparam
        norm = float(numpy.linalg.norm(param.data))
        rate = hp.trust * norm / (1e-9 + float(numpy.linalg.norm(grad))) if norm > 0 else 1.
        v = self.state['v']
        v *= hp.momentum
        v -= min(hp.lr, hp.lr * rate) * grad
        param.data += v

    def update_core_gpu(self, param):
        cuda.elementwise('T grad, T lr, T momentum', 'T param, T v', 'v = momentum * v - lr * grad; param += v;', 'lars')(
            param.grad, self.hyperparam.lr, self.hyperparam.momentum, param.data, self.state['v'])


class Lars(optimizer.GradientMethod):

    def __init__(self, lr=_default_hyperparam.lr, momentum=_default_hyperparam.momentum):
        super(Lars, self).__init__()
        self.hyperparam.lr = lr
        self.hyperparam.momentum = momentum
        self.hyperparam.trust = _default_hyperparam.trust

    lr = optimizer.HyperparameterProxy('lr')
    momentum = optimizer.HyperparameterProxy('momentum')

    def create_update_rule(self):
        return LarsRule(self.hyperparam)


class AdamWRule(adam.AdamRule):

    def init_state(self, param):
        super(AdamWRule, self).init_state(param)
        self.state['steps'] = numpy.zeros((), dtype=param.dtype)

    def update_core_cpu(self, param):
        self.state['steps'] += 1
        decay = 0.01 * self.hyperparam.eta * self.lr
        param.data -= numpy.asarray(decay, dtype=param.dtype) * param.data
        super(AdamWRule, self).update_core_cpu(param)

    def update_core_gpu(self, param):
        super(AdamWRule, self).update_core_gpu(param)


class AdamW(chainer.optimizers.Adam):

    def create_update_rule(self):
        return AdamWRule(self.hyperparam)


class GradientNoise(object):

    name = 'GradientNoise'
    call_for_each_param = True

    def __init__(self, eta):
        self.eta = eta

    def __call__(self, rule, param):
        grad = param.grad
        with chainer.cuda.get_device_from_array(grad):
            grad += numpy.random.normal(0, self.eta / math.sqrt(rule.t + 1), grad.shape).astype(grad.dtype)


class CosineShift(extension.Extension):

    priority = extension.PRIORITY_WRITER

    def __init__(self, attr, period, optimizer=None):
        self.attr = attr
        self.period = period
        self.optimizer = optimizer
        self.t = 0

    def initialize(self, trainer):
        self.initial = getattr(self._get_optimizer(trainer), self.attr)

    def __call__(self, trainer):
        self.t += 1
        value = self.initial * .5 * (1 + math.cos(math.pi * self.t / self.period))
        self._update_value(self._get_optimizer(trainer), value)

    def serialize(self, serializer):
        self.t = serializer('t', self.t)

    def finalize(self):
        print('shifted %d' % self.t)

    def _get_optimizer(self, trainer):
        return self.optimizer or trainer.updater.get_optimizer('main')

    def _update_value(self, optimizer, value):
        setattr(optimizer, self.attr, value)


class Regression(chainer.Chain):

    def __init__(self):
        super(Regression, self).__init__()
        with self.init_scope():
            self.l1 = L.Linear(2, 10)
            self.l2 = L.Linear(10, 1)

    def forward(self, x, t):
        y = self.l2(F.tanh(self.l1(x)))
        loss = F.mean_absolute_error(y, t)
        chainer.report({'loss': loss}, self)
        return loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--iteration', type=int, default=100)
    parser.add_argument('--out', default='result')
    args = parser.parse_args()
    x = numpy.random.RandomState(2).uniform(-1, 1, (30, 2)).astype('f')
    t = (x[:, :1] * x[:, 1:]).astype('f')
    dataset = chainer.datasets.tuple_dataset.TupleDataset(x, t)

    for name, opt in [('lars', Lars(lr=.05)), ('adamw', AdamW(alpha=.01, amsgrad=True)),
                      ('adagrad', chainer.optimizers.AdaGrad(lr=.05, eps=1e-6))]:
        numpy.random.seed(0)
        model = Regression()
        opt.setup(model)
        opt.add_hook(GradientNoise(1e-3))
        opt.add_hook(chainer.optimizer_hooks.GradientClipping(threshold=1.))
        iterator = chainer.iterators.SerialIterator(dataset, 10)
        updater = chainer.training.updaters.StandardUpdater(iterator, opt)
        trainer = chainer.training.Trainer(updater, (args.iteration, 'iteration'), out=args.out)
        attr = 'alpha' if name == 'adamw' else 'lr'
        if name == 'lars':
            trainer.extend(CosineShift(attr, args.iteration * 2), trigger=(1, 'iteration'))
        trainer.extend(chainer.training.extensions.LogReport(trigger=(10, 'iteration'), log_name=name))
        trainer.extend(chainer.training.extensions.observe_value('rate', lambda tr: getattr(
            tr.updater.get_optimizer('main'), attr)), trigger=(1, 'iteration'))
        trainer.run()
        for entry in trainer.get_extension('LogReport').log:
            print('%s/loss@%d %.5g' % (name, entry['iteration'], entry['main/loss']))
            print('%s/rate@%d %.5g' % (name, entry['iteration'], entry['rate']))
        rule = model.l1.W.update_rule
        for key in sorted(rule.state):
            print('%s/%s %.4g' % (name, key, float(numpy.abs(rule.state[key]).sum())))
        path = os.path.join(args.out, name + '.npz')
        chainer.serializers.save_npz(path, opt)
        other = Regression()
        restored = type(opt)()
        restored.setup(other)
        restored.use_cleargrads()
        chainer.serializers.load_npz(path, restored)
        print('%s/t %d' % (name, restored.t))


if __name__ == '__main__':
    main()
