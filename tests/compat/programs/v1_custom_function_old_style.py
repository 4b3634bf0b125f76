"""v1: own Function classes with forward_cpu and forward_gpu, type checks, and their gradients compared numerically.

Recorded with: 1.24.0
Legacy: v1
"""
import numpy

import chainer
from chainer import cuda
from chainer import function
from chainer import gradient_check
from chainer.utils import type_check
import chainer.functions as F


class GeneralizedMean(function.Function):
    """Power mean over the second axis."""

    def __init__(self, p=3.0, use_cudnn=True):
        self.p = p
        self.use_cudnn = use_cudnn

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 1)
        x_type, = in_types
        type_check.expect(
            x_type.dtype.kind == 'f',
            x_type.ndim == 2,
            x_type.shape[1] > 0,
        )

    def forward_cpu(self, inputs):
        x, = inputs
        self.mean = (x ** self.p).mean(axis=1)
        return (self.mean ** (1 / self.p)).astype(x.dtype),

    def forward_gpu(self, inputs):
        return self.forward_cpu(inputs)

    def backward(self, inputs, gys):
        x, = inputs
        gy, = gys
        factor = gy * self.mean ** (1 / self.p - 1) / x.shape[1]
        return (factor[:, None] * x ** (self.p - 1)).astype(x.dtype),


def generalized_mean(x, p=3.0):
    return GeneralizedMean(p)(x)


class MulAdd(chainer.Function):
    """x * y + z."""

    def check_type_forward(self, in_types):
        n_in = in_types.size()
        type_check.expect(n_in == 3)
        x_type, y_type, z_type = in_types
        type_check.expect(
            x_type.dtype == numpy.float32,
            y_type.dtype == x_type.dtype,
            z_type.dtype == x_type.dtype,
            x_type.shape == y_type.shape,
            z_type.shape == y_type.shape,
        )

    def forward_cpu(self, inputs):
        x, y, z = inputs
        return x * y + z,

    def forward_gpu(self, inputs):
        return cuda.elementwise(
            'float32 x, float32 y, float32 z', 'float32 w',
            'w = x * y + z', 'muladd_fwd')(*inputs),

    def backward_cpu(self, inputs, grad_outputs):
        x, y, z = inputs
        gw, = grad_outputs
        return y * gw, x * gw, gw

    def backward_gpu(self, inputs, grad_outputs):
        x, y, z = inputs
        gw, = grad_outputs
        gx, gy = cuda.elementwise(
            'float32 x, float32 y, float32 gw', 'float32 gx, float32 gy',
            'gx = y * gw; gy = x * gw', 'muladd_bwd')(x, y, gw)
        return gx, gy, gw


class TwoOutputs(chainer.Function):

    @property
    def label(self):
        return 'SumAndProduct'

    def forward(self, inputs):
        xp = cuda.get_array_module(*inputs)
        x, y = inputs
        return xp.asarray(x + y), xp.asarray(x * y)

    def backward(self, inputs, gys):
        x, y = inputs
        gs, gp = gys
        # either gradient may be missing
        gs = 0 if gs is None else gs
        gp = 0 if gp is None else gp
        return (gs + gp * y).astype(x.dtype), (gs + gp * x).astype(x.dtype)


class GradientReversal(chainer.Function):
    def forward(self, x):
        return x

    def backward(self, x, gy):
        return -gy[0],


numpy.random.seed(0)
x_data = numpy.random.uniform(0.5, 2, (4, 3)).astype(numpy.float32)
y_data = numpy.random.uniform(0.5, 2, (4, 3)).astype(numpy.float32)
z_data = numpy.random.uniform(0.5, 2, (4, 3)).astype(numpy.float32)

# forward and backward
x, y, z = [chainer.Variable(a) for a in (x_data, y_data, z_data)]
w = MulAdd()(x, y, z)
m = generalized_mean(w)
loss = F.sum(m)
loss.backward()
print('muladd/sum %.6g' % w.data.sum())
print('mean/sum %.6g' % m.data.sum())
print('grad/x %.6g' % x.grad.sum())
print('grad/y %.6g' % y.grad.sum())
print('grad/z %.6g' % z.grad.sum())
print('creator/p %.6g' % m.creator.p)
print('creator/inputs %d' % len(w.creator.inputs))

# numerical gradients
f = lambda: (GeneralizedMean(2.0).forward((x_data,))[0],)
gx, = gradient_check.numerical_grad(f, (x_data,), (numpy.ones(4, 'f'),), eps=1e-2)
print('numerical/x %.3g' % round(float(gx.sum()), 2))
gradient_check.check_backward(GeneralizedMean(), x_data, numpy.ones(4, 'f'), eps=1e-2, rtol=1e-2, atol=1e-2)
gradient_check.check_backward(MulAdd(), (x_data, y_data, z_data), x_data, eps=1e-2, rtol=1e-2, atol=1e-2)
gradient_check.assert_allclose(x.grad, x.grad.copy(), atol=1e-7)

# one output is not used
a, b = chainer.Variable(x_data), chainer.Variable(y_data)
s, p = TwoOutputs()(a, b)
print('label %d' % (s.creator.label == 'SumAndProduct'))
s.grad = numpy.ones_like(s.data) * 2
s.backward()
print('two/unused %.6g' % a.grad.sum())
a.zerograd(), b.zerograd()
s, p = TwoOutputs()(a, b)
F.sum(s * p).backward()
print('two/both %.6g' % (a.grad * b.grad).sum())

# reversed gradient
a = chainer.Variable(x_data)
F.sum(GradientReversal()(a) * 3).backward(retain_grad=True)
print('reversed %.6g' % a.grad.mean())

# wrong types are refused
refused = 0
for arguments in [(x_data[None],), (x_data.astype('i'),), (x_data, x_data)]:
    try:
        GeneralizedMean()(*[chainer.Variable(a) for a in arguments])
    except type_check.InvalidType as e:
        refused += 1
print('refused %d' % refused)
v = chainer.Variable(x_data, volatile='on')
print('volatile/creator %d' % (MulAdd()(v, v, v).creator is None))
