"""v3: functions that are built from the parts of others: wrapped old-style functions, settings read in forward.

Arguments: --iteration 6
"""
import argparse

import numpy

import chainer
from chainer import cuda
from chainer import function
import chainer.functions as F
import chainer.links as L
from chainer.utils import type_check


class Sine(function.Function):

    def __init__(self, omega):
        self.omega = omega

    def _check_input_values(self, x):
        if chainer.is_debug() and not numpy.isfinite(x).all():
            raise ValueError('input of sine is not finite')

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 1)
        kind = type_check.Variable('f', 'kind')
        type_check.expect(in_types[0].dtype.kind == kind.eval())

    def forward_cpu(self, inputs):
        self._check_input_values(inputs[0])
        return numpy.sin(inputs[0] * inputs[0].dtype.type(self.omega)),

    def forward_gpu(self, inputs):
        return cuda.cupy.sin(inputs[0] * self.omega),

    def backward_cpu(self, inputs, grads):
        w = inputs[0].dtype.type(self.omega)
        return grads[0] * w * numpy.cos(inputs[0] * w),

    def backward_gpu(self, inputs, grads):
        return grads[0] * self.omega * cuda.cupy.cos(inputs[0] * self.omega),


class Residual(function.Function):

    """x + scale f(x) for an old-style function f."""

    def __init__(self, func, scale):
        self.func = func
        self.scale = scale

    def check_type_forward(self, in_types):
        self.func.check_type_forward(in_types)

    def forward(self, inputs):
        if isinstance(inputs[0], cuda.ndarray):
            y = self.func.forward_gpu(inputs)
        else:
            y = self.func.forward_cpu(inputs)
        self.recorded = chainer.config.enable_backprop
        return tuple(x + self.scale * a for x, a in zip(inputs, y))

    def backward(self, inputs, grads):
        scaled = tuple(g * self.scale for g in grads)
        if isinstance(inputs[0], cuda.ndarray):
            gx = self.func.backward_gpu(inputs, scaled)
        else:
            gx = self.func.backward_cpu(inputs, scaled)
        return tuple(g + a for g, a in zip(grads, gx))


class Network(chainer.Chain):

    def __init__(self):
        super(Network, self).__init__(enc=L.Linear(2, 10), mu=L.Linear(10, 2), ln_var=L.Linear(10, 2), dec=L.Linear(2, 2))

    def __call__(self, x):
        self.node = Residual(Sine(2.), numpy.float32(.5))
        h = self.node(self.enc(x))
        mu, ln_var = self.mu(h), self.ln_var(h)
        z = F.gaussian(mu, ln_var) if chainer.config.enable_backprop else mu
        y = self.dec(z)
        return F.mean_squared_error(y, x) + .01 * F.gaussian_kl_divergence(mu, ln_var) / len(x.data)


class LossEvaluator(chainer.training.extensions.Evaluator):

    def evaluate(self):
        target = self.get_target('main')
        summary = chainer.reporter.DictSummary()
        it = self._iterators['main']
        it.reset()
        for batch in it:
            observation = {}
            with chainer.reporter.report_scope(observation):
                with chainer.no_backprop_mode():
                    loss = target(chainer.Variable(self.converter(batch, self.device)))
                chainer.reporter.report({self.default_name + '/loss': loss})
            summary.add(observation)
        return summary.compute_mean()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--iteration', type=int, default=50)
    args = parser.parse_args()
    numpy.random.seed(0)
    data = numpy.random.RandomState(4).normal(size=(16, 2)).astype('f')
    model = Network()
    optimizer = chainer.optimizers.Adam(alpha=.01)
    optimizer.setup(model)
    evaluator = LossEvaluator(chainer.iterators.SerialIterator(data, 8, repeat=False, shuffle=False), model)
    for i in range(args.iteration):
        x = chainer.Variable(data)
        loss = model(x)
        for param in model.params():
            param.zerograd()
        loss.backward()
        optimizer.update()
        print('loss@%d %.5g' % (i, float(loss.data)))
    print('recorded %d' % model.node.recorded)
    result = evaluator()
    print('evaluated %.5g' % float(result['validation/loss']))
    print('recorded_then %d' % model.node.recorded)

    # settings for all threads, as a server sets them before it starts
    before = chainer.global_config.train, chainer.global_config.enable_backprop
    chainer.global_config.train = False
    chainer.global_config.enable_backprop = False
    try:
        y = model.dec(data)
        print('no_creator %d' % (y.creator is None))
        print('dropout_off %d' % numpy.array_equal(F.dropout(data).data, data))
    finally:
        chainer.global_config.train, chainer.global_config.enable_backprop = before
    chainer.set_debug(True)
    try:
        model(chainer.Variable(data / numpy.float32(0)))
    except (ValueError, RuntimeError):
        print('debug 1')
    finally:
        chainer.set_debug(False)


if __name__ == '__main__':
    main()
