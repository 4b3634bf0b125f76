"""Makes derivatives.json: smooth functions and their first three derivatives, rounded once. It needs mpmath to run.

Derivatives are differences over a step so small, in digits so many, that what they leave out is far below float64.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

PATH = Path(__file__).with_name('derivatives.json')
_SIZES = [
    1e-30, 1e-12, 1e-3, 0.1, 0.3, 0.7, 0.99, 1.3, 2, 3.1, 4.2, 5.4, 6.7, 8, 9.5, 12, 16, 22, 37, 60, 85, 300, 700,
    1e4, 1e8,
]  # fmt: skip
_DOMAINS = {
    'log': (0, 1e9), 'sqrt': (0, 1e9), 'rsqrt': (0, 1e9), 'log2': (0, 1e9), 'log10': (0, 1e9), 'log1p': (-1, 1e9),
    'arctanh': (-1, 1), 'arcsin': (-1, 1), 'arccos': (-1, 1), 'digamma': (0, 1e9), 'lgamma': (0, 1e9),
    'tan': (-1.5, 1.5), 'sin': (-20, 20), 'cos': (-20, 20), 'erfinv': (-1, 1), 'erfcinv': (0, 2), 'ndtri': (0, 1),
}  # fmt: skip
_LARGEST = 1e305


def functions(mp: Any) -> dict[str, Callable[[Any], Any]]:
    def sigmoid(x: Any) -> Any:
        return 1 / (1 + mp.exp(-x))

    def ndtr(x: Any) -> Any:
        return mp.erfc(-x / mp.sqrt(2)) / 2

    def softplus(x: Any) -> Any:
        return mp.log(1 + mp.exp(x))

    def elu(x: Any) -> Any:
        return x if x > 0 else mp.exp(x) - 1

    def selu(x: Any) -> Any:
        return mp.mpf(1.0507009873554805) * (x if x > 0 else mp.mpf(1.6732632423543772) * (mp.exp(x) - 1))

    return {
        **{name: getattr(mp, name) for name in 'exp log sqrt sinh cosh sin cos tan tanh erf erfc digamma'.split()},
        'square': lambda x: x * x, 'rsqrt': lambda x: 1 / mp.sqrt(x), 'expm1': lambda x: mp.exp(x) - 1,
        'log1p': lambda x: mp.log(1 + x), 'log2': lambda x: mp.log(x) / mp.log(2), 'log10': mp.log10,
        'arcsin': mp.asin, 'arccos': mp.acos, 'arctan': mp.atan, 'arctanh': mp.atanh, 'lgamma': mp.loggamma,
        'erfcx': lambda x: mp.exp(x * x) * mp.erfc(x), 'ndtr': ndtr, 'log_ndtr': lambda x: mp.log(ndtr(x)),
        'sigmoid': sigmoid, 'softplus': softplus, 'silu': lambda x: x * sigmoid(x), 'elu': elu, 'selu': selu,
        'mish': lambda x: x * mp.tanh(softplus(x)), 'gelu': lambda x: x * ndtr(x),
        'gelu_tanh': lambda x: x * sigmoid(2 * mp.sqrt(2 / mp.pi) * (x + mp.mpf(0.044715) * x**3)),
    }  # fmt: skip


def _derivatives(mp: Any, function: Callable[[Any], Any], x: Any) -> list[Any]:
    h = abs(x) * mp.mpf(10) ** -60
    before2, before, y, after, after2 = [function(x + k * h) for k in range(-2, 3)]
    third = (after2 - 2 * after + 2 * before - before2) / (2 * h**3)
    return [y, (after - before) / (2 * h), (after - 2 * y + before) / h**2, third]


def _of_an_inverse(mp: Any, name: str, x: Any) -> list[Any]:
    """Of y with erf(y) = x, erfc(y) = x, or ndtr(y) = x, by derivatives of y: they are powers of the first one."""
    body = {'erfinv': mp.erf, 'erfcinv': mp.erfc, 'ndtri': mp.ncdf}[name]
    low, high = mp.mpf(-40), mp.mpf(40)
    for _ in range(400):
        middle = (low + high) / 2
        if (body(middle) < x) == (name != 'erfcinv'):
            low = middle
        else:
            high = middle
    y = low
    if name == 'ndtri':
        slope = mp.sqrt(2 * mp.pi) * mp.exp(y * y / 2)
        return [y, slope, y * slope**2, (1 + 2 * y * y) * slope**3]
    slope = mp.sqrt(mp.pi) / 2 * mp.exp(y * y) * (1 if name == 'erfinv' else -1)
    return [y, slope, 2 * y * slope**2, (2 + 8 * y * y) * slope**3]


def _points(name: str) -> list[float]:
    """Numbers that float32 has too."""
    import numpy as np

    low, high = _DOMAINS.get(name, (-1e9, 1e9))
    points = np.array([-size for size in _SIZES[::-1]] + _SIZES, 'f').astype('d')
    return [float(x) for x in points if low < x < high]


def main() -> None:
    import mpmath as mp

    mp.mp.dps = 900
    table: dict[str, Any] = {}
    for name, function in {**functions(mp), **dict.fromkeys(['erfinv', 'erfcinv', 'ndtri'])}.items():
        mp.mp.dps = 900 if function else 150
        rows = table[name] = []
        for x in _points(name):
            exact = mp.mpf(x)
            try:
                found = _derivatives(mp, function, exact) if function else _of_an_inverse(mp, name, exact)
            except (OverflowError, mp.NoConvergence):
                continue
            if all(abs(mp.re(value)) < _LARGEST for value in found):
                rows.append([x, *[float(mp.re(value)) for value in found]])
    blocks = [f'"{name}": [\n' + ',\n'.join(map(json.dumps, rows)) + '\n]' for name, rows in table.items()]
    PATH.write_text('{\n' + ',\n'.join(blocks) + '\n}\n')


if __name__ == '__main__':
    main()
