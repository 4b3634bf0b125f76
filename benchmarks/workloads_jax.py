"""Some models of the training benchmark for JAX: the whole step, Adam included, as one function under ``jit``."""

from __future__ import annotations

import os

os.environ.setdefault('XLA_FLAGS', '--xla_cpu_multi_thread_eigen=false')

import itertools

import jax
import jax.numpy as jnp
import numpy as np
from workloads import UNITS, data


def _affine(rng, a, b):
    return rng.randn(b, a).astype('f') / np.sqrt(a).astype('f'), np.zeros(b, 'f')


def _mlp(sizes):
    rng = np.random.RandomState(0)
    parameters = [_affine(rng, a, b) for a, b in itertools.pairwise(sizes)]

    def forward(parameters, x):
        for W, b in parameters[:-1]:
            x = jax.nn.relu(x @ W.T + b)
        return x @ parameters[-1][0].T + parameters[-1][1]

    return parameters, forward


def _lenet():
    rng = np.random.RandomState(0)
    filters = [(_affine(rng, i * 25, o)[0].reshape(o, i, 5, 5), np.zeros(o, 'f')) for i, o in ((1, 20), (20, 50))]
    parameters = [*filters, _affine(rng, 800, 500), _affine(rng, 500, 10)]

    def forward(parameters, x):
        for W, b in parameters[:2]:
            x = jax.nn.relu(jax.lax.conv(x, W, (1, 1), 'VALID') + b[:, None, None])
            x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), 'VALID')
        x = jax.nn.relu(x.reshape(len(x), -1) @ parameters[2][0].T + parameters[2][1])
        return x @ parameters[3][0].T + parameters[3][1]

    return parameters, forward


def make_step(workload):
    """One training step; only for the models that are defined here."""
    if workload not in (*UNITS, 'lenet'):
        raise NotImplementedError(f'{workload} is not written for JAX')
    parameters, forward = _lenet() if workload == 'lenet' else _mlp(UNITS[workload])
    x, t = data(workload)

    def loss(parameters, x, t):
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(forward(parameters, x)), t[:, None], 1))

    @jax.jit
    def update(parameters, m, v, count, x, t):
        g = jax.grad(loss)(parameters, x, t)
        m = jax.tree.map(lambda m, g: m + 0.1 * (g - m), m, g)
        v = jax.tree.map(lambda v, g: v + 0.001 * (g * g - v), v, g)
        rate = 0.001 * jnp.sqrt(1 - 0.999**count) / (1 - 0.9**count)
        moved = jax.tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-8), parameters, m, v)
        return moved, m, v, count + 1

    zeros = jax.tree.map(np.zeros_like, parameters)
    state = [parameters, zeros, zeros, 1.0]

    def step():
        state[:] = update(*state, x, t)
        jax.block_until_ready(state)

    return step
