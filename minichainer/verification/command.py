"""The gradient checker from the shell: ``python -m minichainer.gradient_check module:function --shape 3,4``."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from minichainer.verification.arguments import check
from minichainer.verification.directions import generator
from minichainer.verification.options import Options
from minichainer.verification.self_test import self_test


def main(arguments: Sequence[str] | None = None) -> int:
    """Checks a function at random inputs and prints the report; returns 0 if the gradients are right, else 1."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.self_test:
        return 0 if self_test(given.seed or 0) else 1
    if given.function is None or not given.shape:
        parser.error('a function, as module:name, and at least one --shape are needed (or --self-test)')
    options = Options(
        order=given.order, atol=given.atol, rtol=given.rtol, full_jacobian=given.full_jacobian, seed=given.seed
    )
    try:
        func = _function(given.function)
    except (ImportError, AttributeError, ValueError) as error:
        parser.error(f'{given.function}: {error}')
    report = check(func, _inputs(given, options.seed or 0), {}, options, params='all' if given.params else ())
    print(report)
    return 0 if report else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='python -m minichainer.gradient_check',
        description='Checks the gradients of a function of arrays at random inputs.',
    )
    parser.add_argument('function', nargs='?', help='module:name, such as minichainer.functions:tanh')
    parser.add_argument('--shape', action='append', help='shape of an input, such as 3,4 or () ; once per input')
    parser.add_argument('--dtype', default='float64', choices=['float16', 'float32', 'float64'])
    parser.add_argument('--low', type=float, default=-1.0, help='least value of the inputs')
    parser.add_argument('--high', type=float, default=1.0, help='greatest value of the inputs')
    parser.add_argument('--order', type=int, default=1, help='check derivatives up to this order')
    parser.add_argument('--params', action='store_true', help='check the parameters of a link too')
    parser.add_argument('--full-jacobian', action='store_true', help='compare every entry')
    parser.add_argument('--atol', type=float, help='allowed absolute error of an element')
    parser.add_argument('--rtol', type=float, help='allowed relative error of an element')
    parser.add_argument('--seed', type=int, help='of the inputs and of the check')
    parser.add_argument('--self-test', action='store_true', help='check the checker on this machine')
    return parser


def _function(text: str) -> Any:
    """Imports the function named ``module:name``."""
    module, _, name = text.partition(':')
    if not name:
        raise ValueError('expected module:name')
    found = importlib.import_module(module)
    for part in name.split('.'):
        found = getattr(found, part)
    return found


def _inputs(given: Any, seed: int) -> tuple[Any, ...]:
    """Random inputs with the given shapes, range and dtype."""
    rng = generator(seed)
    return tuple(
        rng.uniform(given.low, given.high, _shape(text)).astype(given.dtype)
        if _shape(text)
        else np.asarray(rng.uniform(given.low, given.high)).astype(given.dtype)
        for text in given.shape
    )


def _shape(text: str) -> tuple[int, ...]:
    return tuple(int(n) for n in text.strip('()').split(',') if n.strip())
