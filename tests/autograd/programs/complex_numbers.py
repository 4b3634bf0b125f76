"""Gradients of complex numbers: torch's convention, the conjugate of the derivative."""

from __future__ import annotations

from typing import Any

from tests.autograd.programs.world import World

Z = [1.0 + 2.0j, -0.5 + 1.0j]


def squared_length(w: World) -> Any:
    z = w.leaf(Z, 'c16')
    w.autograd.backward(w.sum(w.real(z * w.conj(z))))
    return w.grad_of(z)


def real_part(w: World) -> Any:
    z = w.leaf(Z, 'c16')
    w.autograd.backward(w.sum(w.real(z)))
    return w.grad_of(z)


def imaginary_part(w: World) -> Any:
    z = w.leaf(Z, 'c16')
    w.autograd.backward(w.sum(w.imag(z)))
    return w.grad_of(z)


def holomorphic_function(w: World) -> Any:
    z = w.leaf(Z, 'c16')
    w.autograd.backward(w.sum(w.real(z * z)))
    return w.grad_of(z)


def complex_upstream_gradient(w: World) -> Any:
    z = w.leaf(Z, 'c16')
    w.autograd.backward(z * z, w.tensor([1.0j, 2.0 - 1.0j], dtype='c16'))
    return w.grad_of(z)


def gradient_of_a_product(w: World) -> Any:
    a, b = w.leaf(Z, 'c16'), w.leaf([0.5 - 1.0j, 3.0j], 'c16')
    return w.values(w.autograd.grad(a * b, [a, b], w.tensor([1.0 + 0.0j, 1.0 + 0.0j], dtype='c16')))


def real_times_complex(w: World) -> Any:
    x, z = w.leaf([1.0, 2.0]), w.leaf(Z, 'c16')
    return w.values(w.autograd.grad(w.sum(w.real(x * z * z)), [x, z]))


def complex_root_needs_a_gradient(w: World) -> Any:
    z = w.leaf(1.0 + 2.0j, 'c16')
    return w.kind(lambda: w.autograd.backward(z * z)), w.grad_of(z)


def exponential(w: World) -> Any:
    z = w.leaf(Z, 'c16')
    w.autograd.backward(w.exp(z), w.tensor([1.0 + 0.0j, 1.0j], dtype='c16'))
    return w.grad_of(z)
