"""v2: old-style functions with forward_cpu/forward_gpu and backward_cpu/backward_gpu, their type checks and gradient checks.

A parametric softplus, a weighted squared error and a binarization with a straight-through gradient, used in a small
network on two moons.

Arguments: --iteration 30
"""
import argparse

import numpy

import chainer
from chainer import cuda
from chainer import function
from chainer import gradient_check
from chainer import optimizers
from chainer import variable
from chainer.utils import type_check
import chainer.functions as F
import chainer.links as L


class ScaledSoftplus(function.Function):

    """log(1 + exp(beta x)) / beta."""

    def __init__(self, beta=1.0):
        self.beta = numpy.float32(beta)
        self.beta_inv = numpy.float32(1.0 / beta)

    @property
    def label(self):
        return 'scaled softplus'

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 1)
        x_type, = in_types
        type_check.expect(x_type.dtype.kind == 'f', x_type.ndim >= 1)

    def forward_cpu(self, inputs):
        self.retain_inputs((0,))
        x, = inputs
        bx = self.beta * x
        return (numpy.fmax(bx, 0) + numpy.log1p(numpy.exp(-numpy.fabs(bx)))) * self.beta_inv,

    def forward_gpu(self, inputs):
        self.retain_inputs((0,))
        x, = inputs
        y = cuda.elementwise(
            'T x, T beta, T beta_inv', 'T y',
            'T bx = beta * x; y = (max(bx, (T)0) + log1p(exp(-fabs(bx)))) * beta_inv;',
            'scaled_softplus_fwd')(x, self.beta, self.beta_inv)
        return y,

    def backward_cpu(self, inputs, grad_outputs):
        x, = inputs
        g, = grad_outputs
        return (1 - 1 / (1 + numpy.exp(self.beta * x))) * g,

    def backward_gpu(self, inputs, grad_outputs):
        x, = inputs
        g, = grad_outputs
        gx = cuda.elementwise(
            'T x, T g, T beta', 'T gx', 'gx = (1 - 1 / (1 + exp(beta * x))) * g', 'scaled_softplus_bwd')(
                x, g, self.beta)
        return gx,


class WeightedSquaredError(function.Function):

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 3)
        x_type, t_type, w_type = in_types
        type_check.expect(
            x_type.dtype == numpy.float32,
            t_type.dtype == numpy.float32,
            w_type.dtype == numpy.float32,
            x_type.shape == t_type.shape,
            type_check.prod(w_type.shape) == x_type.shape[0],
        )
        n = type_check.eval(x_type.shape[0])
        assert n > 0

    def forward(self, inputs):
        xp = cuda.get_array_module(*inputs)
        x, t, w = inputs
        self.diff = x - t
        if xp is not numpy:
            total = cuda.reduce('T d, T w', 'T y', 'd * d * w', 'a + b', 'y = a', '0', 'weighted_sq')
            return total(self.diff, w[:, None]),
        return numpy.asarray((self.diff ** 2 * w[:, None]).sum() / len(x), dtype=x.dtype),

    def backward(self, inputs, gy):
        x, t, w = inputs
        gx = gy[0] * 2 * self.diff * w[:, None] / x.dtype.type(len(x))
        return gx, -gx, None


class Binarize(chainer.Function):

    def forward(self, inputs):
        x, = inputs
        xp = cuda.get_array_module(x)
        return xp.where(x >= 0, 1, -1).astype(x.dtype, copy=False),

    def backward(self, inputs, grad_outputs):
        g, = grad_outputs
        x, = inputs
        gx = g.copy()
        gx[numpy.abs(x) > 1] = 0
        return gx,


def scaled_softplus(x, beta=1.0):
    return ScaledSoftplus(beta)(x)


class Net(chainer.Chain):

    def __init__(self):
        super(Net, self).__init__(
            l1=L.Linear(2, 16),
            l2=L.Linear(16, 8),
            l3=L.Linear(8, 1),
        )

    def __call__(self, x, t, w):
        h = scaled_softplus(self.l1(x), beta=2.0)
        h = F.concat([Binarize()(self.l2(h)), h], axis=1)[:, :8]
        self.y = self.l3(h)
        return WeightedSquaredError()(self.y, t, w)


def moons(n):
    angle = numpy.linspace(0, numpy.pi, n)
    upper = numpy.stack([numpy.cos(angle), numpy.sin(angle)], axis=1)
    lower = numpy.stack([1 - numpy.cos(angle), .5 - numpy.sin(angle)], axis=1)
    x = numpy.concatenate([upper, lower]).astype(numpy.float32)
    t = numpy.repeat([1, -1], n).astype(numpy.float32)[:, None]
    return x, t


def check_gradients():
    rng = numpy.random.RandomState(3)
    x = rng.uniform(-1, 1, (4, 3)).astype(numpy.float32)
    t = rng.uniform(-1, 1, (4, 3)).astype(numpy.float32)
    w = rng.uniform(.5, 1, 4).astype(numpy.float32)
    gy = rng.uniform(-1, 1, (4, 3)).astype(numpy.float32)
    gradient_check.check_backward(ScaledSoftplus(1.5), x, gy, rtol=1e-2, atol=1e-3)
    gradient_check.check_backward(
        WeightedSquaredError(), (x, t, w), numpy.ones((), numpy.float32), eps=1e-2, rtol=1e-2, atol=1e-3, no_grads=[False, False, True])
    f = lambda: (numpy.log1p(numpy.exp(x)),)  # NOQA
    gx, = gradient_check.numerical_grad(f, (x,), (gy,))
    v = variable.Variable(x)
    y = scaled_softplus(v)
    y.grad = gy
    y.backward()
    gradient_check.assert_allclose(gx, v.grad, atol=1e-3)
    print('softplus_grad %.5g' % float(v.grad.sum()))
    print('label_length %d' % len(y.creator.label))

    try:
        WeightedSquaredError()(x, t[:2], w)
    except type_check.InvalidType as e:
        print('refused %d' % ('shape' in str(e)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--iteration', type=int, default=100)
    parser.add_argument('--gpu', type=int, default=-1)
    args = parser.parse_args()
    numpy.random.seed(0)
    check_gradients()
    numpy.random.seed(1)  # the checks draw directions

    model = Net()
    if args.gpu >= 0:
        cuda.check_cuda_available()
        cuda.get_device(args.gpu).use()
        model.to_gpu()
    xp = numpy if args.gpu < 0 else cuda.cupy
    optimizer = optimizers.MomentumSGD(lr=.05, momentum=.9)
    optimizer.setup(model)
    x, t = moons(20)
    w = numpy.ones(len(x), dtype=numpy.float32)
    for i in range(args.iteration):
        model.zerograds()
        loss = model(chainer.Variable(xp.asarray(x)), chainer.Variable(xp.asarray(t)), chainer.Variable(xp.asarray(w)))
        loss.backward()
        optimizer.update()
        if i % 10 == 9:
            print('loss@%d %.5g' % (i + 1, float(loss.data)))
    print('correct %d' % int((numpy.sign(model.y.data) == t).sum()))


if __name__ == '__main__':
    main()
