"""Gradients that are no linear map of the upstream gradient."""

from __future__ import annotations

import numpy as np

from tests.verification.catalogue import bases as b
from tests.verification.catalogue.causes import DETACHED, LINEAR
from tests.verification.catalogue.planting import bug


def nonlinear(name, change, base=b.SQUARE_TIMES, also=(), **more):
    """``base`` with a changed upstream gradient."""
    return bug(
        name,
        base,
        lambda g, xs, gys: base.vjp(xs, [change(gy) for gy in gys])[0],
        LINEAR,
        *also,
        family='linearity',
        where='whole',
        **more,
    )


ENTRIES = [
    nonlinear('|gy|', abs),
    nonlinear('relu(gy)', lambda gy: np.maximum(gy, 0)),
    nonlinear('gy squared', lambda gy: gy * gy),
    nonlinear('gy cubed', lambda gy: gy**3),
    nonlinear('sign of gy', np.sign),
    nonlinear('gy ignored', np.ones_like),
    nonlinear('gy clipped at 1', lambda gy: np.clip(gy, -1, 1)),
    nonlinear('gy clipped at 0.1', lambda gy: np.clip(gy, -0.1, 0.1), base=b.TANH),
    nonlinear('gy times its size', lambda gy: gy * abs(gy)),
    nonlinear('gy normalised', lambda gy: gy / np.sqrt((gy * gy).sum() + 1e-12)),
    nonlinear('tanh of gy', np.tanh),
    nonlinear('|gy| of a matrix product', abs, base=b.MATMUL),
    nonlinear('gy + 1e-6', lambda gy: gy + 1e-6, base=b.MATMUL),
    nonlinear('gy + 1e-9', lambda gy: gy + 1e-9, base=b.TANH, dtypes='d'),
    nonlinear('leaky relu masked by gy too', lambda gy: np.where(gy > 0, gy, 0), base=b.LEAKY),
    nonlinear('greatest gy alone', lambda gy: np.where(gy == gy.max(), gy, 0)),
    nonlinear('one where gy is zero', lambda gy: np.where(gy == 0, 1.0, gy).astype(gy.dtype)),
    nonlinear('gy quantised to hundredths', lambda gy: np.round(gy, 2), base=b.EXP),
    bug(
        'gradient clipped at 1',
        b.SQUARE_TIMES,
        lambda g, xs, gys: np.clip(4 * g[0], -1, 1) / 4,
        LINEAR,
        family='linearity',
        where='whole',
    ),
    nonlinear('gy clipped at 100', lambda gy: np.clip(gy, -100, 100)),
    nonlinear('gy below 1e-3 dropped', lambda gy: np.where(abs(gy) < 1e-3, 0, gy), also=(DETACHED,)),
    nonlinear('gy clipped at 1e5', lambda gy: np.clip(gy, -1e5, 1e5)),
    nonlinear('gy below 1e-5 dropped', lambda gy: np.where(abs(gy) < 1e-5, 0, gy), also=(DETACHED,)),
]
