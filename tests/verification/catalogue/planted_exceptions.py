"""Functions that raise an exception in one of their calls: it has to reach the user."""

from __future__ import annotations

import minichainer.functions as F
from minichainer.variable import Variable
from tests.verification.catalogue import bases as b
from tests.verification.catalogue.entry import Case, Planted, as_dtype, generator, raw

#: Calls that every check makes, at any shape.
CALLS = range(1, 7)


class OutOfLuck(Exception):
    """What the functions raise."""


class Raises:
    """A function that raises in one of its calls, and in no other."""

    def __init__(self, func, call):
        self.func, self.call, self.calls = func, call, 0

    def __call__(self, *xs):
        self.calls += 1
        if self.calls == self.call:
            raise OutOfLuck(f'call {self.call}')
        return self.func(*xs)


#: Name, function, base that draws the inputs.
FUNCTIONS = [
    ('tanh', F.tanh, b.TANH),
    ('own tanh', raw(b.TANH.forward, b.TANH.vjp), b.TANH),
    ('own x * y', raw(b.PRODUCT.forward, b.PRODUCT.vjp), b.PRODUCT),
]


def raising(name, func, base, call):
    """A function that raises in call number ``call``."""
    title = f'{name} raises in call {call}'

    def build(shape, dtype, seed):
        inputs = as_dtype(base.draw(shape, generator(title, seed)), dtype)
        return Case(Raises(func, call), inputs)

    def misbehaves(case):
        raised = []
        for _ in range(call + 1):
            try:
                case.func(*map(Variable, case.inputs))
                raised.append(False)
            except OutOfLuck:
                raised.append(True)
        return raised == [*[False] * (call - 1), True, False]

    return Planted(
        title, 'exception', build, None, where='any', dtypes='d', proof=misbehaves, alone=True, raises=OutOfLuck
    )


ENTRIES = [raising(*row, call) for row in FUNCTIONS for call in CALLS]
