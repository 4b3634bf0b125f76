"""v5: own FunctionNodes with retained inputs and outputs, double backprop and gradient checks, used for a smooth regression.

Arguments: --iteration 15
"""
import argparse

import numpy

import chainer
from chainer.backends import cuda
from chainer import function_node
from chainer import gradient_check
from chainer import variable
from chainer.utils import type_check
import chainer.functions as F
import chainer.links as L


class Swish(function_node.FunctionNode):

    """x sigmoid(beta x)."""

    def __init__(self, beta=1.):
        self.beta = beta

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ('x',))
        type_check.expect(in_types[0].dtype.kind == 'f')

    def forward_cpu(self, inputs):
        self.retain_inputs((0,))
        self.retain_outputs((0,))
        x, = inputs
        half = x.dtype.type(0.5)
        return chainer.utils.force_array(x * (numpy.tanh(x * half * x.dtype.type(self.beta)) * half + half), x.dtype),

    def forward_gpu(self, inputs):
        self.retain_inputs((0,))
        self.retain_outputs((0,))
        x, = inputs
        y = cuda.elementwise('T x, T beta', 'T y', 'y = x / (1 + exp(-beta * x))', 'swish_fwd')(x, self.beta)
        return y,

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        y, = self.get_retained_outputs()
        gy, = grad_outputs
        s = F.sigmoid(self.beta * x)
        return (s + self.beta * y * (1 - s)) * gy,


class Affine(chainer.FunctionNode):

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ('x', 'W', 'b'))
        x_type, w_type, b_type = in_types
        type_check.expect(
            x_type.ndim == 2,
            w_type.ndim == 2,
            b_type.ndim == 1,
            x_type.shape[1] == w_type.shape[1],
            b_type.shape[0] == w_type.shape[0],
        )
        type_check.expect(w_type.dtype == b_type.dtype)

    def forward(self, inputs):
        if not type_check.same_types(*inputs):
            raise ValueError('arrays of numpy and cupy must not be mixed')
        self.retain_inputs((0, 1))
        x, W, b = inputs
        return x.dot(W.T) + b,

    def backward(self, indexes, grad_outputs):
        x, W = self.get_retained_inputs()
        gy, = grad_outputs
        ret = []
        if 0 in indexes:
            ret.append(F.matmul(gy, W))
        if 1 in indexes:
            ret.append(F.matmul(gy, x, transa=True))
        if 2 in indexes:
            ret.append(F.sum(gy, axis=0))
        return ret


def swish(x, beta=1.):
    y, = Swish(beta).apply((x,))
    return y


def affine(x, W, b):
    return Affine().apply((x, W, b))[0]


class Net(chainer.Chain):

    def __init__(self):
        super(Net, self).__init__()
        with self.init_scope():
            self.l1 = L.Linear(1, 12)
            self.l2 = L.Linear(12, 1)

    def forward(self, x):
        h = swish(affine(x, self.l1.W, self.l1.b), 1.5)
        return affine(h, self.l2.W, self.l2.b)


def check():
    rng = numpy.random.RandomState(1)
    x, W, b, gy = [rng.uniform(-1, 1, s).astype('f') for s in [(3, 4), (2, 4), (2,), (3, 2)]]
    gradient_check.check_backward(swish, x, numpy.ones_like(x), atol=1e-3, rtol=1e-2)
    gradient_check.check_backward(affine, (x, W, b), gy, atol=1e-3, rtol=1e-2, dtype=numpy.float64)
    gradient_check.check_double_backward(
        swish, x.astype('d'), numpy.ones_like(x, 'd'), numpy.ones_like(x, 'd'), atol=1e-4, rtol=1e-3)
    v = chainer.as_variable(x)
    w = variable.Variable(x.copy(), name='w')
    y = swish(F.identity(w)) + F.copy(F.cast(v, numpy.float64), -1).array.astype('f')
    node = y.creator_node
    print('inputs %d' % len(node.inputs))
    print('rank %d' % node.rank)
    print('is_node %d' % isinstance(w.node, variable.VariableNode))
    print('name %d' % (w.name == 'w'))
    print('class_length %d' % len(y.creator.__class__.__name__))
    loss = F.sum(y)
    loss.backward(retain_grad=True)
    print('intermediate %.5g' % float(y.grad.sum()))
    print('grad_var %.5g' % float(w.grad_var.array.sum()))
    w.cleargrad()
    print('cleared %d' % (w.grad is None))
    try:
        affine(x, W.astype('d'), b)
    except type_check.InvalidType as e:
        print('refused %d' % ('W.dtype == b.dtype' in str(e)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--iteration', type=int, default=100)
    args = parser.parse_args()
    numpy.random.seed(0)
    check()
    numpy.random.seed(1)  # the checks draw directions
    model = Net()
    optimizer = chainer.optimizers.Adam(alpha=.02)
    optimizer.setup(model)
    x = numpy.linspace(-2, 2, 30).astype('f')[:, None]
    t = numpy.sin(2 * x)
    # the slope of the network is fitted as well as its value
    for i in range(args.iteration):
        xv = chainer.Variable(x)
        y = model(xv)
        slope, = chainer.grad([y], [xv], grad_outputs=[chainer.Variable(numpy.ones_like(t))],
                              enable_double_backprop=True)
        loss = F.mean_squared_error(y, t) + .1 * F.mean_squared_error(slope, 2 * numpy.cos(2 * x))
        loss += 1e-3 * F.sigmoid_cross_entropy(y, (t > 0).astype('i'))
        model.cleargrads()
        loss.backward()
        optimizer.update()
        if i % 5 == 4:
            print('loss@%d %.5g' % (i + 1, loss.item()))


if __name__ == '__main__':
    main()
