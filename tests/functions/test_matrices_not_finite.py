"""Matrices with infinities and NaN: functions return, with NaN or an error, and other matrices of a stack are right.

LAPACK may never return from singular values of such a matrix, and cannot be interrupted: another process computes.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F

ERROR = 'has no singular values'
#: What each function does, at the second order: NaN in all elements ('nan'), or an error.
FUNCTIONS: dict[str, Any] = {
    'batch_det': (F.batch_det, 'nan'),
    'batch_inv': (F.batch_inv, ''),
    'slogdet': (lambda x: F.slogdet(x)[1], 'nan'),
    'solve': (lambda x: F.solve(x, np.ones((*x.shape[:-1], 1), x.dtype)), 'nan'),
    'qr': (lambda x: F.qr(x)[1], 'nan'),
    'svd': (lambda x: F.svd(x)[1], ERROR),
    'norm 2': (lambda x: F.norm(x, 2, axis=(-2, -1)), ERROR),
    'norm nuc': (lambda x: F.norm(x, 'nuc', axis=(-2, -1)), ERROR),
}
CASES = list(itertools.product(FUNCTIONS, [np.inf, -np.inf, np.nan], [2, 5, 20], 'fd'))


def derivatives(function: Any, x: np.ndarray) -> list[np.ndarray]:
    """The first and second derivatives."""
    a = chainer.Variable(x)
    (gx,) = chainer.grad([F.sum(function(a) ** 2)], [a], enable_double_backprop=True)
    return [gx.array, chainer.grad([F.sum(gx**2)], [a])[0].array]


def check(name: str, value: float, size: int, dtype: str) -> None:
    rng = np.random.RandomState(0)
    function, wanted = FUNCTIONS[name]
    x = (rng.uniform(-1, 1, (3, size, size)) / size + np.eye(size)).astype(dtype)
    alone = derivatives(function, x[::2].copy())
    x[1, 1, 0] = value
    if wanted == ERROR:
        with pytest.raises(np.linalg.LinAlgError, match=ERROR):
            function(x)
        return
    found = derivatives(function, x)
    if wanted == 'nan' or np.isnan(value):
        assert np.isnan(found[1][1]).all(), name
    for actual, expected in zip(found, alone, strict=True):
        np.testing.assert_allclose(actual[::2], expected, 1e-3, 1e-3, err_msg=name)


def main() -> None:
    """Checks all cases."""
    with np.errstate(all='ignore'):
        for case in CASES:
            check(*case)


def test_every_function_returns() -> None:
    command = [sys.executable, '-c', f'from {__name__} import main; main()']
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
