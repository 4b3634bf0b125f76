"""The table of optimizers: a row for each, or for each way of using it. One without a row fails the tests.

A row is a name, hyperparameters and the algorithm written plainly in NumPy: a function of parameter, gradient, state,
update number and the hyperparameters that returns the new parameter. What it leaves in ``s`` is what the optimizer
must keep.
"""

from __future__ import annotations

import math

import numpy as np


def sgd(p, g, s, t, lr):
    return p - lr * g


def momentum_sgd(p, g, s, t, lr, momentum):
    s['v'] = momentum * s.get('v', 0) - lr * g
    return p + s['v']


def corrected_momentum_sgd(p, g, s, t, lr, momentum):
    s['v'] = momentum * s.get('v', 0) - g
    return p + lr * s['v']


def nesterov_ag(p, g, s, t, lr, momentum):
    s['v'] = momentum * s.get('v', 0) - lr * g
    return p + momentum**2 * s['v'] - (1 + momentum) * lr * g


def ada_grad(p, g, s, t, lr, eps):
    s['h'] = s.get('h', 0) + g**2
    return p - lr * g / (np.sqrt(s['h']) + eps)


def ada_delta(p, g, s, t, rho, eps):
    s['msg'] = rho * s.get('msg', 0) + (1 - rho) * g**2
    step = np.sqrt((s.get('msdx', 0) + eps) / (s['msg'] + eps)) * g
    s['msdx'] = rho * s.get('msdx', 0) + (1 - rho) * step**2
    return p - step


def rmsprop(p, g, s, t, lr, alpha, eps, eps_inside_sqrt=False):
    s['ms'] = alpha * s.get('ms', 0) + (1 - alpha) * g**2
    return p - lr * g / (np.sqrt(s['ms'] + eps) if eps_inside_sqrt else np.sqrt(s['ms']) + eps)


def rmsprop_graves(p, g, s, t, lr, alpha, momentum, eps):
    s['n'] = alpha * s.get('n', 0) + (1 - alpha) * g**2
    s['g'] = alpha * s.get('g', 0) + (1 - alpha) * g
    s['delta'] = momentum * s.get('delta', 0) - lr * g / np.sqrt(s['n'] - s['g'] ** 2 + eps)
    return p + s['delta']


def smorms3(p, g, s, t, lr, eps):
    r = 1 / (s.get('mem', 1) + 1)
    s['g'] = (1 - r) * s.get('g', 0) + r * g
    s['g2'] = (1 - r) * s.get('g2', 0) + r * g**2
    x = s['g'] ** 2 / (s['g2'] + eps)
    s['mem'] = 1 + s.get('mem', 1) * (1 - x)
    return p - g * np.minimum(lr, x) / (np.sqrt(s['g2']) + eps)


def msvag(p, g, s, t, lr, beta, eta=1.0, weight_decay_rate=0.0):
    s['m'] = beta * s.get('m', 0) + (1 - beta) * g
    s['v'] = beta * s.get('v', 0) + (1 - beta) * g**2
    m, v = s['m'] / (1 - beta**t), s['v'] / (1 - beta**t)
    rho = (1 - beta) * (1 + beta**t) / ((1 + beta) * (1 - beta**t))
    scale = m**2 / (m**2 + rho * (v - m**2) / (1 - rho)) if t > 1 else 1
    return p - eta * (lr * scale * m + weight_decay_rate * p)


def adam(
    p, g, s, t, alpha, beta1=0.9, beta2=0.999, eps=1e-8, eta=1.0, weight_decay_rate=0, amsgrad=False,
    adabound=False, final_lr=0.1, gamma=1e-3,
):  # fmt: skip
    s['m'] = beta1 * s.get('m', 0) + (1 - beta1) * g
    s['v'] = beta2 * s.get('v', 0) + (1 - beta2) * g**2
    v = s['v']
    if amsgrad:
        v = s['vhat'] = np.maximum(s.get('vhat', 0), v)
    rate = alpha * math.sqrt(1 - beta2**t) / (1 - beta1**t) / (np.sqrt(v) + eps)
    if adabound:
        rate = np.clip(rate, final_lr * (1 - 1 / (gamma * t + 1)), final_lr * (1 + 1 / (gamma * t)))
    return p - eta * (rate * s['m'] + weight_decay_rate * p)


def lion(p, g, s, t, lr, beta1=0.9, beta2=0.99, weight_decay_rate=0.0):
    m = s.get('m', 0)
    s['m'] = beta2 * m + (1 - beta2) * g
    return p - lr * (np.sign(beta1 * m + (1 - beta1) * g) + weight_decay_rate * p)


def radam(p, g, s, t, alpha, beta1=0.9, beta2=0.999, eps=1e-8, eta=1.0, weight_decay_rate=0):
    s['m'] = beta1 * s.get('m', 0) + (1 - beta1) * g
    s['v'] = beta2 * s.get('v', 0) + (1 - beta2) * g**2
    step = s['m'] / (1 - beta1**t)
    longest = 2 / (1 - beta2) - 1
    length = longest - 2 * t * beta2**t / (1 - beta2**t)
    if length > 5:
        ratio = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
        step = step * math.sqrt(ratio) * math.sqrt(1 - beta2**t) / (np.sqrt(s['v']) + eps)
    return p - eta * (alpha * step + weight_decay_rate * p)


def lamb(p, g, s, t, alpha, beta1=0.9, beta2=0.999, eps=1e-6, weight_decay_rate=0.01):
    s['m'] = beta1 * s.get('m', 0) + (1 - beta1) * g
    s['v'] = beta2 * s.get('v', 0) + (1 - beta2) * g**2
    step = s['m'] / (1 - beta1**t) / (np.sqrt(s['v'] / (1 - beta2**t)) + eps) + weight_decay_rate * p
    size, length = np.linalg.norm(np.ravel(p)), np.linalg.norm(np.ravel(step))
    return p - alpha * (size / length if size > 0 and length > 0 else 1) * step


ROWS = [
    ('SGD', dict(lr=0.1), sgd),
    ('MomentumSGD', dict(lr=0.1, momentum=0.8), momentum_sgd),
    ('CorrectedMomentumSGD', dict(lr=0.1, momentum=0.8), corrected_momentum_sgd),
    ('NesterovAG', dict(lr=0.1, momentum=0.8), nesterov_ag),
    ('AdaGrad', dict(lr=0.1, eps=1e-4), ada_grad),
    ('AdaDelta', dict(rho=0.9, eps=1e-3), ada_delta),
    ('RMSprop', dict(lr=0.1, alpha=0.9, eps=1e-3), rmsprop),
    ('RMSprop', dict(lr=0.1, alpha=0.9, eps=1e-3, eps_inside_sqrt=True), rmsprop),
    ('RMSpropGraves', dict(lr=0.1, alpha=0.9, momentum=0.5, eps=1e-2), rmsprop_graves),
    ('SMORMS3', dict(lr=0.1, eps=1e-6), smorms3),
    ('MSVAG', dict(lr=0.1, beta=0.8, eta=0.9, weight_decay_rate=0.1), msvag),
    ('Adam', dict(alpha=0.1), adam),
    ('Adam', dict(alpha=0.1, beta1=0.8, beta2=0.9, eps=1e-3, eta=0.9, weight_decay_rate=0.1), adam),
    ('AdamW', dict(alpha=0.1, weight_decay_rate=0.1), adam),
    ('AMSGrad', dict(alpha=0.1, beta2=0.5), lambda *a, **k: adam(*a, amsgrad=True, **k)),
    ('AdaBound', dict(alpha=0.1, gamma=0.1), lambda *a, **k: adam(*a, adabound=True, **k)),
    (
        'AMSBound',
        dict(alpha=0.1, beta2=0.5, gamma=0.1),
        lambda *a, **k: adam(*a, adabound=True, amsgrad=True, **k),
    ),
    # One step of another sign, where float16 rounds the mean to zero, must stay within the tolerance.
    ('Lion', dict(lr=0.01), lion),
    ('Lion', dict(lr=0.1, beta1=0.5, beta2=0.8, weight_decay_rate=0.1), lion),
    ('RAdam', dict(alpha=0.1, beta2=0.9), radam),
    ('RAdam', dict(alpha=0.1, beta1=0.8, beta2=0.9, eps=1e-3, eta=0.9, weight_decay_rate=0.1), radam),
    ('LAMB', dict(alpha=0.1), lamb),
    ('LAMB', dict(alpha=0.1, beta1=0.8, beta2=0.9, eps=1e-3, weight_decay_rate=0.1), lamb),
]
