"""What a row of the table of links is, and what is made of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

import minichainer as chainer
from minichainer.initializers.constant import Constant

Arrays = tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Normal:
    """First values drawn from a normal distribution around 0."""

    std: float


@dataclass(frozen=True)
class Uniform:
    """First values drawn uniformly from -bound to bound."""

    bound: float


class Kept:
    """First values of a copy with the mode 'init' that are those of the original."""


@dataclass(frozen=True)
class Made:
    """An argument that each link has of its own."""

    make: Callable[[], Any]


def x_of(*shapes: Any) -> tuple[np.ndarray, ...]:
    """Float inputs of these shapes."""
    rng = np.random.RandomState(5)
    return tuple(rng.uniform(-1.5, 1.5, shape).astype('f') for shape in shapes)


def ints(values: Any) -> np.ndarray:
    return np.array(values, 'i')


def lecun(inputs: float) -> Normal:
    """The default of weights."""
    return Normal(inputs**-0.5)


def sets(argument: str, *paths: str, **others: Any) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """An argument that takes a number or an initializer for the parameters of these paths."""
    return [
        ({argument: value, **others}, dict.fromkeys(paths, number))
        for value, number in ((0.5, 0.5), (Constant(-0.25), -0.25), (np.float64(3), 3))
    ]


def called(link: Any, *inputs: Any) -> Any:
    """A link without a state: one call."""
    return link(*inputs)


def steps(link: Any, *inputs: Any) -> Any:
    """A link with a state: one call for each input, from no state."""
    link.reset_state()
    return tuple([link(x) for x in inputs])


@dataclass(frozen=True)
class Row:
    """One use of a link.

    Args:
        link: the class.
        args: arguments of the constructor by name.
        inputs: the inputs; float ones are Variables for the gradient's sake.
        reference: ``reference(values, *inputs)`` of float64 arrays, where ``values`` has the parameters and
            persistent values by path; returns the outputs.
        test: the same where ``config.train`` is False; None where nothing changes.
        initial: the first values of all parameters and persistent values by path (with wildcards): an array, a number
            or :class:`Normal`.
        given: arguments that set first values, and what they set, by path.
        again: what a copy with the mode 'init' has where that is not ``initial``.
        lazy: the arguments that leave a size open, or None.
        call: how the link is called with the inputs.
        random: the result is drawn where ``config.train`` is True: neither value nor gradient are compared there.
        train_gradient: False where the gradient takes for constant what depends on the input in training.
        atol: absolute tolerance of gradients that are zero but for rounding errors; None if there are none. With
            such, an upstream gradient of None and one of zeros give different rounding errors.
        precision: of the forward pass in float32.
        typed: whether parameters have the dtype of the settings.
        prints: ``str(link)`` of a link without links below it.
        variant: what distinguishes it from other rows of the link.
    """

    link: Any
    args: dict[str, Any]
    inputs: Arrays
    reference: Callable[..., Any]
    initial: dict[str, Any]
    test: Callable[..., Any] | None = None
    given: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = ()
    again: dict[str, Any] | None = None
    lazy: dict[str, Any] | None = None
    call: Callable[..., Any] = called
    random: bool = False
    train_gradient: bool = True
    atol: float | None = None
    precision: float = 2e-5
    typed: bool = True
    prints: str = ''
    variant: str = ''
    same_in_test: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, 'same_in_test', self.test is None)

    def __str__(self) -> str:
        return f'{self.link.__name__} {self.variant}'.strip()

    def make(self, **changes: Any) -> Any:
        """The link; its constructor may have arguments that have no name (``**kwargs`` count by name)."""
        args = {**self.args, **changes}
        return self.link(**{name: v.make() if isinstance(v, Made) else v for name, v in args.items()})

    def filled(self, **changes: Any) -> Any:
        """The link with values that are not its first ones, so that none of them is 0, 1 or the same as another."""
        link = self.make(**changes)
        rng = np.random.RandomState(11)
        for _, param in sorted(link.namedparams()):
            if param.array is not None:
                param.array[...] = rng.uniform(0.2, 0.9, param.shape) * rng.choice([-1, 1], param.shape)
        for _, array in sorted(persistent_values(link).items()):
            if isinstance(array, np.ndarray):
                array[...] = array + rng.uniform(0.1, 0.4, array.shape)
        return link

    def outputs(self, link: Any, inputs: Any = None, train: bool = True) -> list[Any]:
        """What a call of the link returns: Variables."""
        with chainer.using_config('train', train):
            return flat(self.call(link, *(self.inputs if inputs is None else inputs)))

    def signature(self) -> list[str]:
        """Names of the constructor's arguments."""
        return [
            p.name
            for p in inspect.signature(self.link).parameters.values()
            if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
        ]


def flat(result: Any) -> list[Any]:
    """The Variables of a result, which may be a tuple with lists in it."""
    if isinstance(result, (tuple, list)):
        return [y for part in result for y in flat(part)]
    return [result]


def persistent_values(link: Any) -> dict[str, Any]:
    """Persistent values of a link and the links below it, by path."""
    return {
        f'{"" if path == "/" else path}/{name}': getattr(below, name)
        for path, below in link.namedlinks()
        for name in below._persistent
    }


def values_of(link: Any) -> dict[str, Any]:
    """Parameters and persistent values of a link by path."""
    return {**{path: param.array for path, param in link.namedparams()}, **persistent_values(link)}


def matching(patterns: dict[str, Any], path: str) -> Any:
    """What a table of paths with wildcards has for a path; KeyError where it has nothing or several."""
    found = [value for pattern, value in patterns.items() if fnmatchcase(path, pattern)]
    if len(found) != 1:
        raise KeyError(f'{path}: expected one of the patterns {list(patterns)} to match, {len(found)} do')
    return found[0]
