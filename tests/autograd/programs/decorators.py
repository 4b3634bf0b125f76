"""Modes as decorators of functions, methods and generators."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from tests.autograd.programs.world import World


def no_grad(w: World) -> Any:
    x = w.leaf(2.0)

    @w.autograd.no_grad()
    def double(t: Any) -> Any:
        return t * 2.0

    y = double(x)
    return y.requires_grad, w.values(y), w.autograd.is_grad_enabled()


def no_grad_without_parentheses(w: World) -> Any:
    x = w.leaf(2.0)

    @w.autograd.no_grad
    def double(t: Any) -> Any:
        return t * 2.0

    return double(x).requires_grad, w.values(double(x))


def enable_grad(w: World) -> Any:
    x = w.leaf(2.0)

    @w.autograd.enable_grad()
    def double(t: Any) -> Any:
        return t * 2.0

    with w.autograd.no_grad():
        y = double(x)
        outside = w.autograd.is_grad_enabled()
    return y.requires_grad, outside


def set_grad_enabled(w: World) -> Any:
    x = w.leaf(2.0)

    @w.autograd.set_grad_enabled(False)
    def double(t: Any) -> Any:
        return t * 2.0

    return double(x).requires_grad, double(x).requires_grad, w.autograd.is_grad_enabled()


def inference_mode(w: World) -> Any:
    x = w.leaf(2.0)

    @w.autograd.inference_mode()
    def double(t: Any) -> Any:
        return t * 2.0

    return double(x).requires_grad, w.autograd.is_grad_enabled()


def names_are_kept(w: World) -> Any:
    @w.autograd.no_grad()
    def double(t: Any) -> Any:
        """Twice."""
        return t * 2.0

    return double.__name__, double.__doc__


def arguments_and_results(w: World) -> Any:
    @w.autograd.no_grad()
    def mix(a: int, *rest: int, b: int = 3, **more: int) -> Any:
        return a, rest, b, sorted(more)

    return list(map(str, mix(1, 2, 3, b=4, c=5)))


def method(w: World) -> Any:
    class Model:
        scale = 3.0

        @w.autograd.no_grad()
        def predict(self, x: Any) -> Any:
            return x * self.scale

    y = Model().predict(w.leaf(2.0))
    return y.requires_grad, w.values(y)


def recursion(w: World) -> Any:
    seen = []

    @w.autograd.no_grad()
    def down(n: int) -> None:
        seen.append(w.autograd.is_grad_enabled())
        if n:
            down(n - 1)
        seen.append(w.autograd.is_grad_enabled())

    down(2)
    return seen, w.autograd.is_grad_enabled()


def exception(w: World) -> Any:
    @w.autograd.no_grad()
    def fail() -> None:
        raise KeyError('inside')

    return w.kind(fail), w.autograd.is_grad_enabled()


def generator(w: World) -> Any:
    x = w.leaf(2.0)

    @w.autograd.no_grad()
    def doubles() -> Generator[Any, None, None]:
        for n in range(3):
            yield x * float(n)

    seen = []
    for y in doubles():
        seen.append([y.requires_grad, w.autograd.is_grad_enabled(), (x * 2.0).requires_grad])
    return seen, w.autograd.is_grad_enabled()


def generator_that_enables(w: World) -> Any:
    x = w.leaf(2.0)

    @w.autograd.enable_grad()
    def doubles() -> Generator[Any, None, None]:
        for n in range(2):
            yield x * float(n)

    with w.autograd.no_grad():
        return [[y.requires_grad, w.autograd.is_grad_enabled()] for y in doubles()]


def generator_gets_what_is_sent(w: World) -> Any:
    seen = []

    @w.autograd.no_grad()
    def echo() -> Generator[int, int, str]:
        got = yield 0
        while got < 3:
            seen.append(w.autograd.is_grad_enabled())
            got = yield got * 10
        return 'end'

    running = echo()
    values = [next(running), running.send(1), running.send(2)]
    try:
        running.send(3)
    except StopIteration as stop:
        return values, stop.value, seen, w.autograd.is_grad_enabled()
    return 'not stopped'


def generator_gets_what_is_thrown(w: World) -> Any:
    @w.autograd.no_grad()
    def patient() -> Generator[Any, None, None]:
        try:
            yield 'ready'
        except ValueError:
            yield w.autograd.is_grad_enabled()

    running = patient()
    return next(running), running.throw(ValueError('in')), w.autograd.is_grad_enabled()


def generator_closed_early(w: World) -> Any:
    seen = []

    @w.autograd.no_grad()
    def numbers() -> Generator[int, None, None]:
        try:
            yield 1
            yield 2
        finally:
            seen.append(w.autograd.is_grad_enabled())

    running = numbers()
    next(running)
    running.close()
    return seen, w.autograd.is_grad_enabled()


def generator_that_fails(w: World) -> Any:
    @w.autograd.no_grad()
    def numbers() -> Generator[int, None, None]:
        yield 1
        raise LookupError('inside')

    running = numbers()
    return next(running), w.kind(lambda: next(running)), w.autograd.is_grad_enabled()
