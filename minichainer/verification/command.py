"""The gradient checker from the shell: ``python -m minichainer.gradient_check module:function --shape 3,4``.

A class is tried as well: a FunctionNode, made anew for each call, or a link, whose parameters are checked.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import inspect
import math
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from minichainer.configuration import config, using_config
from minichainer.function_node import FunctionNode
from minichainer.verification.arguments import Options
from minichainer.verification.check import check
from minichainer.verification.directions import generator
from minichainer.verification.reporting.hints import check_func
from minichainer.verification.reporting.report import GradientReport
from minichainer.verification.self_test import self_test


def main(arguments: Sequence[str] | None = None) -> int:
    """Checks a function at random inputs and prints the report; returns 0 if the gradients are right, else 1."""
    parser = _parser()
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    given = parser.parse_args(arguments)
    if given.self_test:
        return 0 if self_test(given.seed or 0) else 1
    if given.function is None or not given.shape:
        parser.error('a function, as module:name, and at least one --shape are needed (or --self-test)')
    try:
        options = Options(
            order=given.order, atol=given.atol, rtol=given.rtol, full_jacobian=given.full_jacobian, seed=given.seed
        )
        _check_range(given)
        with _seeded(options.seed or 0):
            func = _without_state(_callable(_named(given.function), given))
        check_func(func)
        _check_count(func, given)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        parser.error(f'{given.function}: {error}')
    with using_config('train', config.train if given.train is None else given.train):
        report = _report(func, given, options)
    print(report.message.rpartition('\nReplay: ')[0])
    print(f'Replay: {_replay(arguments, given, options)}')
    return 0 if report else 1


def _report(func: Any, given: Any, options: Options) -> GradientReport:
    """Checks the function at random inputs."""
    is_link = hasattr(func, 'namedparams')
    inputs = _inputs(given, options.seed or 0, given.dtype or (_dtype_of(func) if is_link else 'float64'))
    return check(func, inputs, {}, options, params='all' if is_link or given.params else ())


@contextlib.contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seeds NumPy's global generator, which draws the parameters of a link, and restores its state."""
    state = np.random.get_state()
    np.random.seed(seed % 2**32)
    try:
        yield
    finally:
        np.random.set_state(state)


def _replay(arguments: Sequence[str], given: Any, options: Options) -> str:
    """The command with its seed."""
    seed = [] if given.seed is not None else ['--seed', str(options.seed)]
    return f'python -m minichainer.gradient_check {shlex.join([*arguments, *seed])}'


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='python -m minichainer.gradient_check',
        description='Checks the gradients of a function of arrays, a FunctionNode or a link at random inputs.',
    )
    parser.add_argument('function', nargs='?', help='module:name of a function, a FunctionNode or a Link class')
    parser.add_argument('--init', help="arguments of a class, such as '3, 2' or 'in_size=3, out_size=2'")
    shape = 'shape of an input, such as 3,4 or () ; once per input'
    parser.add_argument('--shape', action='append', type=_shape, help=shape)
    dtypes = ['float16', 'float32', 'float64']
    parser.add_argument('--dtype', choices=dtypes, help='of the inputs; float64, or that of the parameters of a link')
    parser.add_argument('--low', type=float, default=-1.0, help='least value of the inputs')
    parser.add_argument('--high', type=float, default=1.0, help='greatest value of the inputs')
    parser.add_argument('--order', type=int, default=1, help='check derivatives up to this order')
    parser.add_argument('--params', action='store_true', help='check all parameters; implied for a link')
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument(
        '--train', action='store_true', default=None, help='check with config.train = True, the default'
    )
    mode.add_argument('--test', dest='train', action='store_false', default=None, help='with config.train = False')
    parser.add_argument('--full-jacobian', action='store_true', help='compare every entry')
    parser.add_argument('--atol', type=float, help='allowed absolute error of an element')
    parser.add_argument('--rtol', type=float, help='allowed relative error of an element')
    parser.add_argument('--seed', type=int, help='of the inputs, the parameters of a link, and the check')
    parser.add_argument('--self-test', action='store_true', help='check the checker on this machine')
    return parser


def _shape(text: str) -> tuple[int, ...]:
    """A shape from text.

    >>> _shape('3,4'), _shape('(2,)'), _shape('()')
    ((3, 4), (2,), ())
    """
    inner = text.strip()
    if inner[:1] == '(' and inner[-1:] == ')':
        inner = inner[1:-1]
    words = inner.split(',')
    if not words[-1].strip():  # as in (3,) and ()
        words.pop()
    if not all(re.fullmatch(r'\s*[0-9]+\s*', word) for word in words):
        raise argparse.ArgumentTypeError(f'expected lengths such as 3,4 or 3 or (), got {text!r}')
    return tuple(map(int, words))


def _check_range(given: Any) -> None:
    """Raises ValueError for inputs that cannot be drawn."""
    if not (math.isfinite(given.high - given.low) and given.low <= given.high):
        raise ValueError(
            f'--low and --high: expected two numbers in ascending order, got {given.low} and {given.high}'
        )


def _check_count(func: Any, given: Any) -> None:
    """Raises ValueError if the function does not take that many inputs."""
    try:
        signature = inspect.signature(func)
    except (TypeError, ValueError):  # of a built-in function, for example
        return
    try:
        signature.bind(*given.shape)
    except TypeError as error:
        got = 'one --shape' if len(given.shape) == 1 else f'{len(given.shape)} times --shape'
        raise ValueError(f'it does not take {got} ({error}): write one --shape per input') from None


def _callable(found: Any, given: Any) -> Any:
    """The function to check: the object that was named, or what a class makes."""
    if not isinstance(found, type):
        if given.init is not None:
            raise ValueError('--init has the arguments of a class, and this is not one')
        return found
    args, kwargs = _arguments(given.init or '')
    _check_arguments(found, args, kwargs, given.init)
    if not issubclass(found, FunctionNode):
        with using_config('dtype', np.dtype(given.dtype or 'float64')):
            return found(*args, **kwargs)

    def function(*xs: Any) -> Any:
        return found(*args, **kwargs).apply(xs)

    function.__name__ = found.__name__
    return function


def _without_state(func: Any) -> Any:
    """A link that starts without a state in every call; anything else as it is."""
    if not hasattr(func, 'reset_state'):
        return func

    def function(*xs: Any) -> Any:
        func.reset_state()
        return func(*xs)

    function.__name__ = type(func).__name__
    vars(function)['namedparams'] = func.namedparams
    return function


def _check_arguments(found: type, args: tuple[Any, ...], kwargs: dict[str, Any], text: str | None) -> None:
    """Raises ValueError if a class cannot be called with these arguments."""
    signature = inspect.signature(found)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        got = 'without --init' if text is None else f'with --init {text!r}'
        names = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
        shown = f'{found.__name__}({", ".join(map(str, names))})'
        raise ValueError(
            f'it is {shown} and cannot be made {got} ({error}): give its arguments as in Python, '
            "such as --init '3, name=2'"
        ) from error


def _arguments(text: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and keyword arguments from text.

    >>> _arguments('3, (1, 2), nobias=True')
    ((3, (1, 2)), {'nobias': True})
    """
    try:
        call = ast.parse(f'f({text})', mode='eval').body
        if not isinstance(call, ast.Call) or any(k.arg is None for k in call.keywords):
            raise ValueError('not a list of arguments')
        args = tuple(ast.literal_eval(a) for a in call.args)
        return args, {str(k.arg): ast.literal_eval(k.value) for k in call.keywords}
    except (SyntaxError, ValueError) as error:
        raise ValueError(
            f"--init: expected numbers, strings, tuples and so on, such as '3, nobias=True', got {text!r}"
        ) from error


def _named(text: str) -> Any:
    """Imports the object named ``module:name``."""
    module, _, name = text.partition(':')
    if not name:
        raise ValueError('expected module:name')
    found = importlib.import_module(module)
    for part in name.split('.'):
        found = getattr(found, part)
    return found


def _dtype_of(link: Any) -> Any:
    """The dtype of the parameters of a link."""
    return next((p.dtype for _, p in link.namedparams() if p.dtype is not None), 'float64')


def _inputs(given: Any, seed: int, dtype: Any) -> tuple[Any, ...]:
    """Random inputs with the given shapes, range and dtype."""
    rng = generator(seed)
    return tuple(np.asarray(rng.uniform(given.low, given.high, shape), dtype) for shape in given.shape)
