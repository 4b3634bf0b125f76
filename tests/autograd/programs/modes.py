"""Recording on and off: no_grad, enable_grad, set_grad_enabled, inference_mode."""

from __future__ import annotations

import threading
from typing import Any

from tests.autograd.programs.world import World


def no_grad(w: World) -> Any:
    x = w.leaf([1.0])
    with w.autograd.no_grad():
        y = x * 2.0
        inside = w.autograd.is_grad_enabled()
    z = x * 2.0
    return y.requires_grad, y.is_leaf, y.grad_fn is None, inside, z.requires_grad, w.autograd.is_grad_enabled()


def enable_grad_inside_no_grad(w: World) -> Any:
    x = w.leaf(3.0)
    with w.autograd.no_grad(), w.autograd.enable_grad():
        y = x * x
        inside = w.autograd.is_grad_enabled()
    w.autograd.backward(y)
    return inside, y.requires_grad, w.grad_of(x)


def enable_grad_outside(w: World) -> Any:
    x = w.leaf(3.0)
    with w.autograd.enable_grad():
        y = x * x
    return y.requires_grad, w.autograd.is_grad_enabled()


def nesting(w: World) -> Any:
    seen = []

    def look() -> None:
        seen.append(w.autograd.is_grad_enabled())

    with w.autograd.no_grad():
        look()
        with w.autograd.enable_grad():
            look()
            with w.autograd.set_grad_enabled(False):
                look()
            look()
        look()
        with w.autograd.no_grad():
            look()
        look()
    look()
    return seen


def set_grad_enabled_in_with(w: World) -> Any:
    x = w.leaf(1.0)
    seen = []
    for mode in (True, False):
        with w.autograd.set_grad_enabled(mode):
            seen.append((x * 2.0).requires_grad)
    return seen, w.autograd.is_grad_enabled()


def set_grad_enabled_as_a_call(w: World) -> Any:
    x = w.leaf(1.0)
    seen = []
    try:
        w.autograd.set_grad_enabled(False)
        seen.append((x * 2.0).requires_grad)
        w.autograd.set_grad_enabled(True)
        seen.append((x * 2.0).requires_grad)
    finally:
        w.autograd.set_grad_enabled(True)
    return seen


def call_inside_with_ends_with_it(w: World) -> Any:
    with w.autograd.no_grad():
        w.autograd.set_grad_enabled(True)
        inside = w.autograd.is_grad_enabled()
    return inside, w.autograd.is_grad_enabled()


def call_outside_lasts(w: World) -> Any:
    seen = []
    try:
        w.autograd.set_grad_enabled(False)
        with w.autograd.enable_grad():
            seen.append(w.autograd.is_grad_enabled())
        seen.append(w.autograd.is_grad_enabled())
        with w.autograd.no_grad():
            pass
        seen.append(w.autograd.is_grad_enabled())
    finally:
        w.autograd.set_grad_enabled(True)
    return seen


def object_made_before_with(w: World) -> Any:
    mode = w.autograd.no_grad()
    before = w.autograd.is_grad_enabled()
    with mode:
        inside = w.autograd.is_grad_enabled()
    with mode:
        again = w.autograd.is_grad_enabled()
    return before, inside, again, w.autograd.is_grad_enabled()


def exceptions_restore(w: World) -> Any:
    def fail() -> None:
        with w.autograd.no_grad():
            raise ValueError('inside')

    return w.kind(fail), w.autograd.is_grad_enabled()


def leaves_made_inside_no_grad(w: World) -> Any:
    with w.autograd.no_grad():
        x = w.leaf(2.0)
    w.autograd.backward(x * x)
    return x.requires_grad, x.is_leaf, w.grad_of(x)


def result_of_no_grad_is_a_constant(w: World) -> Any:
    x = w.leaf(2.0)
    with w.autograd.no_grad():
        y = x * x
    w.autograd.backward(x * y)
    return w.grad_of(x), w.kind(lambda: w.autograd.backward(y))


def result_of_no_grad_becomes_a_leaf(w: World) -> Any:
    x = w.leaf(2.0)
    with w.autograd.no_grad():
        y = x * x
    y.requires_grad_()
    w.autograd.backward(y * x)
    return w.grad_of(x), w.grad_of(y)


def backward_inside_no_grad(w: World) -> Any:
    x = w.leaf(2.0)
    y = x * x
    with w.autograd.no_grad():
        w.autograd.backward(y)
    return w.grad_of(x)


def part_of_a_graph(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    with w.autograd.no_grad():
        scale = w.sum(x)
    w.autograd.backward(w.sum(x / scale))
    return w.grad_of(x)


def thread_starts_with_recording(w: World) -> Any:
    seen = []
    with w.autograd.no_grad():
        thread = threading.Thread(target=lambda: seen.append(w.autograd.is_grad_enabled()))
        thread.start()
        thread.join()
        seen.append(w.autograd.is_grad_enabled())
    return seen


def thread_keeps_its_mode_to_itself(w: World) -> Any:
    x = w.leaf(2.0)
    entered, leave = threading.Event(), threading.Event()

    def other() -> None:
        with w.autograd.no_grad():
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    thread.start()
    entered.wait(10)
    y = x * x
    leave.set()
    thread.join()
    return y.requires_grad


def backward_in_threads(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    threads = [threading.Thread(target=lambda: w.autograd.backward(w.sum(x * x))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return w.grad_of(x)


def inference_mode(w: World) -> Any:
    x = w.leaf(2.0)
    with w.autograd.inference_mode():
        y = x * x
        inside = w.autograd.is_grad_enabled()
    return y.requires_grad, inside, w.values(y), w.autograd.is_grad_enabled()


def inference_mode_off(w: World) -> Any:
    x = w.leaf(2.0)
    with w.autograd.inference_mode(False):
        y = x * x
    w.autograd.backward(y)
    return y.requires_grad, w.grad_of(x)


def inference_mode_inside_enable_grad(w: World) -> Any:
    x = w.leaf(2.0)
    with w.autograd.enable_grad(), w.autograd.inference_mode():
        return (x * x).requires_grad


def inference_mode_off_inside_inference_mode(w: World) -> Any:
    x = w.leaf(2.0)
    with w.autograd.inference_mode(), w.autograd.inference_mode(False):
        return (x * x).requires_grad


def enable_grad_inside_inference_mode(w: World) -> Any:
    x = w.leaf(2.0)
    with w.autograd.inference_mode(), w.autograd.enable_grad():
        return (x * x).requires_grad


def mode_of_a_hook(w: World) -> Any:
    x = w.leaf(2.0)
    seen = []
    y = x * x
    y.register_hook(lambda g: seen.append(w.autograd.is_grad_enabled()))
    w.autograd.backward(y * 2.0, retain_graph=True)
    w.autograd.backward(y * 2.0, create_graph=True)
    return seen
