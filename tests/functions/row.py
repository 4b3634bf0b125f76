"""What a row of the table of functions is; a row that does not make sense raises when it is made."""

from __future__ import annotations

import inspect
import itertools
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from minichainer.backend import get_device_from_array
from tests.functions.exemptions import NOT_TWICE_DIFFERENTIABLE

Shape = tuple[int, ...]

#: The generic tests that a row may be excused from, by name, with a reason.
EXCUSABLE = {
    'zero-d': 'the function is tried on 0-d arrays',
    'zero-size': 'the function is tried on arrays without elements',
    'wrong kind': 'integer arrays are refused',
    'wrong dtype': 'arrays of two dtypes are refused',
    'special values': 'NaN, infinities and huge numbers are tried',
    'label': "the node's label is Chainer's",
}


def beside(x: Any, constant: Any) -> Any:
    """A constant of a row, as an array of the device that ``x`` lives on."""
    return get_device_from_array(x).send(np.asanyarray(getattr(constant, 'get', lambda: constant)()))


class BadRow(Exception):
    """A row of the table contradicts itself."""


def _expect(fits: bool, what: str) -> None:
    if not fits:
        raise BadRow(what)


@dataclass(frozen=True)
class Domain:
    """Where the elements of one input lie.

    Args:
        low, high: bounds of float elements.
        avoid: points where there is no derivative; elements keep the distance ``margin``.
        distinct: all elements differ by a tenth at least (for extrema).
        labels: int elements in ``range(labels)`` instead.
        mask: bool elements instead.
        values: elements are drawn from these instead; such an input is a constant.
    """

    low: float = -2.0
    high: float = 2.0
    avoid: tuple[float, ...] = ()
    margin: float = 0.1
    distinct: bool = False
    labels: int = 0
    mask: bool = False
    values: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        given = (self.labels > 0) + self.mask + bool(self.values) + self.distinct
        _expect(given <= 1, 'Domain: only one of distinct, labels, mask and values may be given')
        _expect(self.low < self.high, f'Domain: low < high expected, came {self.low} and {self.high}')
        _expect(not (given and self.avoid), 'Domain: avoid is for plain float inputs only')
        _expect(bool(self.avoid) or self.margin == 0.1, 'Domain: margin is unused without avoid')
        bounds = (self.low, self.high) != (-2.0, 2.0)
        _expect(self.is_variable or not bounds, 'Domain: low and high are unused with labels, mask or values')
        for point in self.avoid:
            _expect(self.low <= point <= self.high, f'Domain: avoid={point} is outside of [{self.low}, {self.high}]')

    @property
    def is_variable(self) -> bool:
        """Whether the function gets it as a Variable with a gradient; else as a raw array."""
        return not (self.labels or self.mask or self.values)

    def draw(self, shape: Shape, dtype: str, rng: np.random.RandomState) -> np.ndarray:
        """An array of this domain."""
        if self.labels:
            return rng.randint(0, self.labels, shape).astype('i')
        if self.mask:
            return np.asarray(rng.rand(*shape) < 0.5)
        if self.values:
            return np.asarray(rng.choice(self.values, shape)).astype(dtype)
        if self.distinct:
            return self._distinct(shape, rng).astype(dtype)
        array = np.asarray(rng.uniform(self.low, self.high, shape))
        for point in self.avoid:
            side = np.where(array < point, -1.0, 1.0)
            side = np.where(point == self.low, 1.0, np.where(point == self.high, -1.0, side))
            array = np.where(abs(array - point) < self.margin, point + side * 1.5 * self.margin, array)
        return array.astype(dtype)

    def _distinct(self, shape: Shape, rng: np.random.RandomState) -> np.ndarray:
        ladder = np.arange(self.low, self.high, 0.1)
        size = int(np.prod(shape, dtype=int))
        _expect(size <= ladder.size, f'Domain: {size} elements a tenth apart do not fit [{self.low}, {self.high}]')
        return rng.permutation(ladder)[:size].reshape(shape)


#: Half a step above the ladder of ``Domain(distinct=True)``: elements of the two never meet.
BETWEEN = Domain(low=-1.95, high=2.05, distinct=True)
ANY = Domain()
AWAY_FROM_0 = Domain(avoid=(0.0,))
POSITIVE = Domain(low=0.5, high=3.0)
DISTINCT = Domain(distinct=True)


@dataclass(frozen=True)
class Case:
    """Shapes of the inputs, and static arguments."""

    shapes: tuple[Shape, ...]
    params: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        shapes = '&'.join('x'.join(map(str, shape)) or '0d' for shape in self.shapes)
        return '-'.join([shapes, *[f'{k}={_short(v)}' for k, v in self.params.items()]])


def _short(value: Any) -> str:
    return str(value).replace(' ', '').replace('\n', '')[:30]


def case(*shapes: Shape, **params: Any) -> Case:
    """A case of the table."""
    return Case(shapes, params)


def grid(*shapes: Shape, **params: list[Any]) -> list[Case]:
    """One case for each combination of the parameters' values."""
    return [Case(shapes, dict(zip(params, values, strict=True))) for values in itertools.product(*params.values())]


@dataclass(frozen=True)
class Bad:
    """A call that must fail, the error's type, and words that its message must have."""

    name: str
    call: Callable[[], Any]
    error: type[Exception]
    words: tuple[str, ...]

    def __post_init__(self) -> None:
        _expect(bool(self.words), f'Bad {self.name}: the message needs words')
        _expect(isinstance(self.words, tuple), f'Bad {self.name}: words must be a tuple')


@dataclass(frozen=True)
class Special:
    """Values at which results, and the gradient for an upstream gradient of ones, are compared exactly.

    ``expected`` and ``gradients`` (one per float input) are computed by the row's reference, and not compared,
    where they are None.
    """

    arrays: tuple[Any, ...]
    params: dict[str, Any] = field(default_factory=dict)
    expected: Any = None
    gradients: tuple[Any, ...] | None = None
    dtypes: str = 'fd'


@dataclass(frozen=True)
class Row:
    """One function, or one use of it.

    Args:
        name: public name in ``minichainer.functions``, or a method of Variable such as ``__add__``.
        call: ``call(*inputs, **params)`` of Variables (raw arrays for labels, masks, constants).
        reference: the same on float64 NumPy arrays.
        domains: one per input.
        cases: shapes and parameters; those with 0-d and zero-size arrays too.
        variant: what distinguishes it from other rows of the name.
        order: up to which order it is differentiated; 0: it has no gradient.
        dtypes: dtype characters of the float inputs.
        result: dtype character of the result, where it is not that of the inputs.
        label: of the node that makes the result, in Chainer; text, or a function of the parameters.
        errors: calls that fail.
        special: NaN, infinities, huge numbers.
        except_from: ``{test: reason}``, see ``EXCUSABLE``.
    """

    name: str
    call: Callable[..., Any]
    reference: Callable[..., Any]
    domains: tuple[Domain, ...]
    cases: tuple[Case, ...]
    variant: str = ''
    order: int = 2
    dtypes: str = 'efd'
    result: str = ''
    label: str | Callable[..., str] | None = None
    errors: tuple[Bad, ...] = ()
    special: tuple[Special, ...] = ()
    except_from: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        try:
            self._validate()
        except BadRow as error:
            raise BadRow(f'{self}: {error}') from None

    def __str__(self) -> str:
        return f'{self.name}[{self.variant}]' if self.variant else self.name

    def _validate(self) -> None:
        for name, kind in (('domains', Domain), ('cases', Case), ('errors', Bad), ('special', Special)):
            entries = getattr(self, name)
            fits = isinstance(entries, tuple) and all(isinstance(entry, kind) for entry in entries)
            _expect(fits, f'{name} must be a tuple of {kind.__name__}')
        _expect(bool(self.cases), 'there are no cases')
        _expect(0 <= self.order <= 3, f'order 0 to 3 expected, came {self.order}')
        _expect(bool(self.dtypes) and set(self.dtypes) <= set('efd'), f'dtypes of e, f, d expected: {self.dtypes!r}')
        _expect('d' in self.dtypes, 'float64 is needed to check anything')
        _expect(
            self.order == 0 or any(d.is_variable for d in self.domains), 'there is no float input to differentiate'
        )
        self._validate_cases()
        self._validate_exceptions()

    def _validate_cases(self) -> None:
        texts = [str(c) for c in self.cases]
        _expect(len(set(texts)) == len(texts), f'two cases are equal: {sorted(texts)}')
        for entry in (*self.cases, *self.special):
            count = len(entry.shapes if isinstance(entry, Case) else entry.arrays)
            _expect(count == len(self.domains), f'{len(self.domains)} inputs expected, {count} in {entry}')
            for function in (self.call, self.reference):
                self._validate_signature(function, entry.params)
        for entry in self.special:
            floats = sum(d.is_variable for d in self.domains)
            fits = entry.gradients is None or (self.order > 0 and len(entry.gradients) == floats)
            _expect(fits, f'{floats} gradients expected in {entry}')

    def _validate_signature(self, function: Any, params: dict[str, Any]) -> None:
        try:
            inspect.signature(function).bind(*self.domains, **params)
        except TypeError as error:
            raise BadRow(f'{len(self.domains)} inputs and {sorted(params)} do not fit: {error}') from None
        except ValueError:
            pass  # NumPy's ufuncs have no signature before NumPy 2.4

    def _validate_exceptions(self) -> None:
        excused = self.except_from
        unknown = set(excused) - set(EXCUSABLE)
        _expect(not unknown, f'except_from knows {sorted(EXCUSABLE)}, not {sorted(unknown)}')
        _expect(all(len(reason) > 10 for reason in excused.values()), 'each exception needs a reason')
        twice = self.order != 1 or self.name in NOT_TWICE_DIFFERENTIABLE
        _expect(twice, 'order 2 is needed, or a reason in exemptions.py')
        shapes = [shape for c in self.cases for shape in c.shapes]
        for test, present, missing in (
            ('zero-d', () in shapes, 'a case with a 0-d array'),
            ('zero-size', any(0 in shape for shape in shapes), 'a case with an array without elements'),
            ('wrong kind', any(b.name == 'wrong kind' for b in self.errors), 'an error named wrong kind'),
            (
                'wrong dtype',
                any(b.name == 'wrong dtype' for b in self.errors)
                or sum(d.is_variable for d in self.domains) < 2,
                'an error named wrong dtype',
            ),
            ('special values', bool(self.special), 'special values'),
            ('label', self.label is not None, 'a label'),
        ):  # fmt: skip
            _expect(present or test in excused, f'{missing} is needed, or a reason in except_from[{test!r}]')
            _expect(not (present and test in excused), f'except_from[{test!r}] is not needed: there is {missing}')

    def draw(self, case: Case, dtype: str = 'd') -> list[np.ndarray]:
        """The case's inputs; the same at each call."""
        rng = np.random.RandomState(zlib.crc32(f'{self}/{case}'.encode()))
        return [d.draw(shape, dtype, rng) for d, shape in zip(self.domains, case.shapes, strict=True)]


def pairs(rows: list[Row]) -> Iterator[tuple[str, Row, Case]]:
    """Every case of every row, with a name for the test."""
    for row in rows:
        for c in row.cases:
            yield f'{row}-{c}', row, c
