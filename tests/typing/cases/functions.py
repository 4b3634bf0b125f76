"""What type checkers know of functions, and of ops that a user defines."""

from typing import Any

import numpy as np
from typing_extensions import assert_type

import minichainer as chainer
import minichainer.functions as F
from minichainer.types import Array, ArrayLike

x = chainer.Variable(np.ones((2, 3), np.float32))
assert_type(F.relu(x), chainer.Variable)
assert_type(F.relu(x.array), chainer.Variable)
assert_type(F.softmax(x, axis=1), chainer.Variable)
assert_type(F.sum(x, axis=0, keepdims=True), chainer.Variable)
assert_type(F.add(x, x), chainer.Variable)
assert_type(F.split_axis(x, 2, 0), tuple[chainer.Variable, ...])
assert_type(F.split_axis(x, 2, 0, force_tuple=True), tuple[chainer.Variable, ...])
print(F.relu.node_class.__name__, F.relu.__name__, F.sum.__name__)
print(F.relu.node_clas)  # error
F.relu(1, 2, 3)  # error
F.relu()  # error
F.relu(z=x)  # error
F.softmax(x, axes=1)  # error
F.sum(x, 0, True, 1)  # error
F.relu(x).relu()  # error


@F.elementwise(lambda m, gy, x, scale: gy * scale * m.cos(scale * x))
def wave(xp: Any, x: ArrayLike, scale: float = 1.0) -> Any:
    return xp.sin(scale * x)


assert_type(wave(x), chainer.Variable)
assert_type(wave.node_class.__name__, str)
assert_type(wave(x, scale=2.0), chainer.Variable)
wave(x, 'fast')  # error
wave(np, x, 2.0)  # error
wave(x, rate=2.0)  # error


@F.linear_map(lambda m, gy: m.backwards(gy))
def backwards(xp: Any, x: ArrayLike) -> Any:
    return x[::-1]


@F.reduction(lambda m, gy, x: 2 * gy * x)
def sum_of_squares(xp: Any, x: ArrayLike, axis: Any = None, keepdims: bool = False) -> Any:
    return (x * x).sum(axis=axis, keepdims=keepdims)


assert_type(backwards(x) + sum_of_squares(x, axis=1, keepdims=True), chainer.Variable)
backwards(x, 0)  # error
sum_of_squares(x, axis=1, keepdim=True)  # error


def product(xp: Any, a: ArrayLike, b: ArrayLike, *, factor: int = 1) -> Any:
    return a * b * factor


def halves(xp: Any, x: ArrayLike) -> tuple[Any, Any]:
    return x[:1], x[1:]


times = F.primitive(product, (lambda m, gy, b, factor: gy * b * factor, lambda m, gy, a, factor: gy * a * factor))
split = F.primitive(halves, lambda m, gy: m.concat(gy, 0), several_outputs=True, name='Halves')
assert_type(times(x, x, factor=2), chainer.Variable)
assert_type(split(x), tuple[chainer.Variable, ...])
times(x)  # error
times(x, x, 2)  # error
split(x, 2)  # error
split(x).sum()  # error


@F.primitive(rule=(lambda m, gy: gy,), kinds='f')
def copied(xp: Any, x: ArrayLike) -> Any:
    return x.copy()


@F.primitive(rule=lambda m, gy: gy, several_outputs=True)
def pair(xp: Any, a: ArrayLike, b: ArrayLike) -> tuple[Any, Any]:
    return a, b


assert_type(copied(x), chainer.Variable)
assert_type(pair(x, x), tuple[chainer.Variable, ...])
copied()  # error
pair(x)  # error
F.primitive(product, (), label='Product', several=True)  # error


class Square(chainer.FunctionNode):
    def forward(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        (x,) = inputs
        self.retain_inputs((0,))
        return (x * x,)

    def backward(
        self, indexes: tuple[int, ...], grad_outputs: tuple[chainer.Variable, ...]
    ) -> tuple[chainer.Variable, ...]:
        (x,) = self.get_retained_inputs()
        return (2 * x * grad_outputs[0],)


class Cube(chainer.Function):
    def forward(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        return (inputs[0] ** 3,)

    def backward(self, inputs: tuple[Array, ...], grad_outputs: tuple[Array, ...]) -> tuple[Array, ...]:
        return (3 * inputs[0] ** 2 * grad_outputs[0],)


assert_type(Square().apply((x,)), tuple[chainer.Variable, ...])
(y,) = Square().apply((x,))
assert_type(y, chainer.Variable)
Square().aply((x,))  # error
Cube()(x)
(gx,) = chainer.grad([y], [x], enable_double_backprop=True)
(gx * gx).backward()
