"""What type checkers know of operators, arrays and settings."""

from typing import Any

import numpy as np
from typing_extensions import assert_type

import minichainer as chainer
from minichainer.types import Array

x = chainer.Variable(np.ones((2, 3), np.float32), name='x', requires_grad=False)
w = chainer.Parameter(0.0, (3, 3))
assert_type(x + 1, chainer.Variable)
assert_type(1 - x, chainer.Variable)
assert_type(w * 2.0, chainer.Variable)
assert_type(x @ w, chainer.Variable)
assert_type(-(x**2) / abs(x), chainer.Variable)
assert_type(x[0], chainer.Variable)
assert_type(x[:, None, ..., [0, 1]], chainer.Variable)
assert_type([row for row in x], list[chainer.Variable])
assert_type(x.reshape(3, 2), chainer.Variable)
assert_type(x.reshape((3, -1)), chainer.Variable)
assert_type(x.transpose(), chainer.Variable)
assert_type(x.T, chainer.Variable)
assert_type(x.array, Array)
assert_type(x.data, Array)
assert_type(x.shape, tuple[int, ...])
assert_type(x.size + x.ndim + len(x), int)
assert_type(x.dtype, np.dtype[Any])
assert_type(x.requires_grad, bool)
x.array.mean()
x.array = np.zeros((2, 3), np.float32)
x.grad = None
if x.grad is not None:
    x.grad.sum()
x.cleargrad()
x.unchain()
x.unchain_backward()
x.backward(retain_grad=True, enable_double_backprop=True)
w.initialize((3, 3))
w.update()
assert_type(chainer.as_variable(x.array), chainer.Variable)
x += 1
assert_type(x, chainer.Variable)

x + x.nothing  # error
x.reshape(3, 2).flip()  # error
x.array.reshap(3, 2)  # error
x.shape = (3, 2)  # error
x.backward(retain=True)  # error
x.cleargrad(1)  # error
number: int = x.array  # error
number = x + 1  # error
chainer.Variable(x.array, volatile=True)  # error
chainer.Variable(x.array, 'x')  # error

assert_type(chainer.config.train, bool)
assert_type(chainer.config.enable_backprop, bool)
assert_type(chainer.global_config.debug, bool)
assert_type(chainer.config.use_cudnn, str)
chainer.config.train = False
chainer.config.my_own = 3  # a user's own setting
with chainer.using_config('train', False), chainer.no_backprop_mode():
    pass
chainer.config.train = 'no'  # error
chainer.config.train.on()  # error

chainer.Varable(None)  # error
