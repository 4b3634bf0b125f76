"""Wrong gradients of functions of complex numbers; most forget a conjugate."""

from __future__ import annotations

import dataclasses

import numpy as np

import minichainer.functions as F
from minichainer.differentiate import grad
from minichainer.variable import Variable
from tests.verification.catalogue.causes import CONJUGATED, FACTOR, LINEAR, SIGN
from tests.verification.catalogue.entry import Case, Correct, Plan, Planted, generator
from tests.verification.catalogue.planting import put


@dataclasses.dataclass(frozen=True)
class Base:
    """A function of complex (and real) arrays, and its gradients."""

    forward: object
    vjp: object
    kinds: str = 'c'


def _real(z):
    return z.real.copy()


SQUARE = Base(lambda z: z * z, lambda xs, g: [2 * xs[0].conj() * g])
PRODUCT = Base(lambda z, w: z * w, lambda xs, g: [xs[1].conj() * g, xs[0].conj() * g], 'cc')
EXP = Base(np.exp, lambda xs, g: [np.exp(xs[0]).conj() * g])
POWER = Base(lambda z: _real(z * z.conj()), lambda xs, g: [2 * xs[0] * g])
CONJ = Base(lambda z: z.conj() * z * z, lambda xs, g: [2 * abs(xs[0]) ** 2 * g + xs[0] ** 2 * g.conj()])
OF_REAL = Base(lambda x: np.exp(1j * x), lambda xs, g: [_real((1j * np.exp(1j * xs[0])).conj() * g)], 'f')
MIXED = Base(lambda x, z: x * z, lambda xs, g: [_real(xs[1].conj() * g), xs[0] * g], 'fc')


def node(forward, vjp):
    """A function of Variables from bodies on arrays."""

    def backward(xs, gys):
        arrays = [x.array for x in xs]
        found = vjp(arrays, gys[0].array)
        return tuple([None if g is None else Variable(np.asarray(g)) for g in found])

    def call(*xs):
        return Plan(lambda *a: np.asarray(forward(*a)), backward).apply(xs)[0]

    return call


def draw(kinds, shape, name, seed, dtype):
    """Complex or real numbers for each letter of ``kinds``, in single or double precision."""
    rng = generator(name, seed)
    xs = [rng.normal(size=shape) + (1j * rng.normal(size=shape) if kind == 'c' else 0) for kind in kinds]
    return tuple([x.astype(np.result_type(dtype, np.complex64) if x.dtype.kind == 'c' else dtype) for x in xs])


def differs(right):
    """A proof: for some upstream gradient a gradient is not the right one."""

    def proof(case):
        xs = [Variable(x) for x in case.inputs]
        y = case.func(*xs)
        gy = np.random.RandomState(0).normal(size=(*y.shape, 2)).view('D')[..., 0]
        gy = np.asarray(gy if y.dtype.kind == 'c' else gy.real).astype(y.dtype)
        found = grad([y], xs, [Variable(gy)])
        wanted = right([x.array for x in xs], gy)
        pairs = zip(found, wanted, strict=True)
        return any(g is None or not np.allclose(g.array, w, 1e-6, 1e-6) for g, w in pairs)

    return proof


def wrong(name, base, rule, *causes, at=0):
    """``base`` whose gradient of input ``at`` is ``rule(g, xs, gy)``."""
    name = f'complex: {name}'

    def vjp(xs, gy):
        found = base.vjp(xs, gy)
        return [rule(g, xs, gy) if i == at else g for i, g in enumerate(found)]

    def build(shape, dtype, seed):
        return Case(node(base.forward, vjp), draw(base.kinds, shape, name, seed, dtype))

    return Planted(name, 'complex', build, at, causes, where='any', proof=differs(base.vjp), alone=True)


def _part(change):
    """One element with its imaginary part changed."""
    return lambda g, xs, gy: put(g, 5, lambda v: v.real + 1j * change(v.imag))


class Saved:
    """The square, whose backward has a second derivative without a conjugate."""

    def __call__(self, z):
        def backward(xs, gys):
            return (Plan(lambda z, g: 2 * z.conj() * g, self.second).apply((xs[0], gys[0]))[0],)

        return Plan(lambda z: z * z, backward).apply((z,))[0]

    @staticmethod
    def second(xs, gys):
        (z, g), (gg,) = xs, gys
        return 2 * g * F.conj(gg), 2 * F.conj(z) * gg


def _second(shape, dtype, seed):
    return Case(Saved(), draw('c', shape, 'complex second order', seed, dtype))


def _second_differs(case):
    z = case.inputs[0]
    xs, g, gg = [Variable(z)], Variable(z * 2), z * 1j
    (gz,) = grad([case.func(*xs)], xs, [g], enable_double_backprop=True)
    found = grad([gz], [g], [Variable(gg)])[0].array
    return not np.allclose(found, 2 * z * gg, 1e-6)


ENTRIES = [
    wrong('the conjugate of 2z missing', SQUARE, lambda g, xs, gy: 2 * xs[0] * gy, CONJUGATED),
    wrong('the conjugate of a factor missing', PRODUCT, lambda g, xs, gy: xs[0] * gy, CONJUGATED, at=1),
    wrong('the conjugate of exp missing', EXP, lambda g, xs, gy: np.exp(xs[0]) * gy, CONJUGATED),
    wrong('the conjugate of all', SQUARE, lambda g, xs, gy: g.conj(), CONJUGATED),
    wrong('the upstream gradient conjugated', EXP, lambda g, xs, gy: np.exp(xs[0]).conj() * gy.conj(), CONJUGATED),
    wrong('the conjugate of |z|^2', POWER, lambda g, xs, gy: g.conj(), CONJUGATED),
    wrong('half of |z|^2, as Wirtinger has it', POWER, lambda g, xs, gy: g / 2, FACTOR),
    wrong('the term of conj missing', CONJ, lambda g, xs, gy: 2 * abs(xs[0]) ** 2 * gy),
    wrong('the holomorphic term missing', CONJ, lambda g, xs, gy: xs[0] ** 2 * gy.conj()),
    wrong('of real numbers, without a conjugate', OF_REAL, lambda g, xs, gy: _real(1j * np.exp(1j * xs[0]) * gy)),
    wrong('of real numbers, the imaginary part', OF_REAL, lambda g, xs, gy: _real(np.exp(-1j * xs[0]) * gy)),
    wrong('real times complex, no conjugate', MIXED, lambda g, xs, gy: _real(xs[1] * gy)),
    wrong('imaginary parts zero', SQUARE, lambda g, xs, gy: g.real + 0j * g),
    wrong('real parts zero', SQUARE, lambda g, xs, gy: 1j * g.imag + 0 * g),
    wrong('negated', EXP, lambda g, xs, gy: -g, SIGN),
    wrong('times i', EXP, lambda g, xs, gy: 1j * g),
    wrong('the absolute value of gy', SQUARE, lambda g, xs, gy: 2 * xs[0].conj() * abs(gy), LINEAR),
    wrong('an imaginary part 0', SQUARE, _part(lambda v: 0 * v)),
    wrong('an imaginary part times 1.1', EXP, _part(lambda v: 1.1 * v)),
    wrong('None', PRODUCT, lambda g, xs, gy: None, at=1),
    Planted(
        'complex: the second order without a conjugate', 'complex', _second, None, order=2, wrong_at=2, where='any',
        proof=_second_differs, alone=True,
    ),
]  # fmt: skip


def _right(name, kinds, func, order=2):
    def build(shape, dtype, seed):
        return Case(func, draw(kinds, shape, name, seed, dtype))

    return Correct(f'complex: {name}', 'complex numbers', build, order=order, alone=True)


RIGHT = [
    *[
        _right(name, base.kinds, node(base.forward, base.vjp), 1)
        for name, base in vars().copy().items()
        if isinstance(base, Base)
    ],
    _right('holomorphic', 'c', lambda z: F.exp(z) * z),
    _right('quotient', 'cc', lambda z, w: z / (w * F.conj(w) + 1)),
    _right('parts', 'c', lambda z: F.real(z) * F.imag(z)),
    _right('hyperbolic', 'c', lambda z: F.tanh(z * 0.3)),
    _right('loss', 'c', lambda z: F.sum(F.real(z * F.conj(z)))),
    _right('real and complex', 'fc', lambda x, z: F.real(z) * x + F.imag(z * z)),
]
