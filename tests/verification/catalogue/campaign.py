"""Right functions in all layouts, dtypes and ways to ask: a run draws one of each, and none may be blamed."""

from __future__ import annotations

import dataclasses
import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from minichainer.gradient_check import (
    GradcheckError,
    check_backward,
    check_double_backward,
    check_gradients,
    gradcheck,
    gradgradcheck,
)
from minichainer.variable import Variable
from minichainer.verification.reporting.report import error_of
from tests.functions.checks import bound, outputs_of
from tests.functions.row import Case as RowCase
from tests.functions.row import Row
from tests.functions.table import CASES
from tests.verification.catalogue.correct_links import LINKS
from tests.verification.catalogue.everything import CORRECT
from tests.verification.catalogue.layouts import LAYOUTS

#: Rows of the table that have a kink where some sums are equal, or (svd) where a matrix has no full rank.
TIED = ('norm', 'maximum', 'minimum', 'maxout', 'svd')
TIES = 'stride 0'  # all rows the same: a maximum over rows has a kink there, a matrix no inverse
SHAPES = [(3, 4), (4, 4), (5, 2), (2, 7)]


@dataclasses.dataclass
class CheckedFunction:
    """A right function at a point.

    Args:
        name: of the entry, the row or the link.
        func: takes Variables.
        inputs: arrays, or containers of them.
        order: up to which it may be checked.
        options: further arguments, such as ``params``.
        plain: its inputs are arrays of floats, so that Chainer's functions take it.
        wide: it takes float64, whatever its arrays are.
        stretches: it is differentiable also where all rows are the same.
        verdicts: accepted ones.
    """

    name: str
    func: Callable[..., Any]
    inputs: tuple[Any, ...]
    order: int = 1
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    plain: bool = True
    wide: bool = True
    stretches: bool = True
    verdicts: tuple[str, ...] = ('pass',)

    @property
    def params(self) -> tuple[Any, ...]:
        """The parameters that are checked too, if they are given one by one."""
        given = self.options.get('params', ())
        return given if isinstance(given, tuple) else ()


@dataclasses.dataclass
class Trial:
    """One run: what was asked, and what came of it."""

    seed: int
    name: str
    dtype: str
    layouts: tuple[str, str]
    way: str
    verdict: str = ''
    refused: bool = False
    unresolved: bool = False
    said: str = ''


def plan(seed: int) -> tuple[Trial, CheckedFunction, Any]:
    """What the run of a seed is to be: its names, the function with its inputs laid out, and further draws."""
    rng = np.random.RandomState(seed)
    subject, dtype = _subject(rng, seed)
    of_inputs, of_upstream = (str(name) for name in rng.choice(list(LAYOUTS), 2))
    if of_inputs == TIES and not subject.stretches:
        of_inputs = 'C'
    _lay_out(subject, LAYOUTS[of_inputs])
    return Trial(seed, subject.name, dtype, (of_inputs, of_upstream), str(rng.choice(_ways(subject)))), subject, rng


def trial(seed: int) -> Trial:
    """The run that belongs to a seed."""
    made, subject, rng = plan(seed)
    try:
        with warnings.catch_warnings(), np.errstate(all='ignore'):
            warnings.simplefilter('ignore')
            WAYS[made.way](subject, LAYOUTS[made.layouts[1]], rng, seed)
        made.verdict = 'pass'
    except GradcheckError as error:
        made.verdict, made.said = _read(error)
    except Exception as error:
        made.verdict, made.said = f'error: {type(error).__name__}', str(error)
    made.refused = made.verdict not in ('pass', 'unresolved', *subject.verdicts)
    made.unresolved = made.verdict == 'unresolved' and 'unresolved' not in subject.verdicts
    return made


def _read(error: GradcheckError) -> tuple[str, str]:
    return getattr(getattr(error, 'report', None), 'verdict', 'fail'), str(error)


# --- subjects -------------------------------------------------------------------------------------------------------


def _subject(rng: Any, seed: int) -> tuple[CheckedFunction, str]:
    kind = rng.rand()
    if kind < 0.5:
        return _of_entry(rng, seed)
    if kind < 0.9:
        return _of_row(rng)
    return _of_link(rng, seed)


def _of_entry(rng: Any, seed: int) -> tuple[CheckedFunction, str]:
    entry = CORRECT[rng.randint(len(CORRECT))]
    dtype = str(rng.choice(list(entry.dtypes)))
    case = entry.build(SHAPES[rng.randint(len(SHAPES))], dtype, seed)
    plain = all(isinstance(x, np.ndarray) and x.dtype.kind == 'f' for x in case.inputs)
    plain = plain and 'params' not in case.options
    wide = not entry.native
    return CheckedFunction(
        entry.name, case.func, case.inputs, entry.order, case.options, plain, wide, entry.stretches, entry.verdicts
    ), dtype  # fmt: skip


@functools.cache
def _rows() -> list[tuple[str, Row, RowCase]]:
    return [(name, row, case) for name, row, case in CASES if row.order]


def _of_row(rng: Any) -> tuple[CheckedFunction, str]:
    name, row, case = _rows()[rng.randint(len(_rows()))]
    dtype = str(rng.choice(list(row.dtypes)))
    function, arrays = bound(row, case, row.draw(case, dtype))
    wide = all(d.is_variable or not d.values for d in row.domains)
    stretches = not any(d.distinct for d in row.domains) and row.name not in TIED
    return CheckedFunction(name, function, tuple(arrays), min(row.order, 2), wide=wide, stretches=stretches), dtype


def _of_link(rng: Any, seed: int) -> tuple[CheckedFunction, str]:
    link = LINKS[rng.randint(len(LINKS))]
    func, inputs, with_params = link.build(seed), link.draw(rng), bool(rng.randint(2))
    params = tuple(p for _, p in sorted(func.namedparams())) if with_params else ()
    name = f'{link.name}, {"with" if with_params else "without"} its parameters'
    return CheckedFunction(name, func, inputs, link.order, {'params': params}), 'f'


def _lay_out(subject: CheckedFunction, layout: Any) -> None:
    subject.inputs = _mapped(subject.inputs, layout)
    for p in subject.params:
        p.array = layout(p.array)


def _mapped(value: Any, change: Any) -> Any:
    if isinstance(value, np.ndarray):
        return change(value) if value.dtype.kind == 'f' else value
    if isinstance(value, dict):
        return {key: _mapped(item, change) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(_mapped(item, change) for item in value)
    return value


# --- ways to ask ----------------------------------------------------------------------------------------------------


def _in_general(order: int) -> Any:
    def ask(subject: CheckedFunction, layout: Any, rng: Any, seed: int) -> None:
        report = check_gradients(
            subject.func, subject.inputs, order=order, strictness='strict', seed=seed, **subject.options
        )
        if not report:
            raise error_of(report)

    return ask


def _as_torch(second: bool) -> Any:
    def ask(subject: CheckedFunction, layout: Any, rng: Any, seed: int) -> None:
        more: dict[str, Any] = {'fast_mode': bool(rng.randint(2)), 'seed': seed}
        if second:
            gradgradcheck(
                subject.func, subject.inputs, gen_non_contig_grad_outputs=True, params=subject.params, **more
            )
        else:
            gradcheck(subject.func, subject.inputs, params=subject.params, **more)

    return ask


def _as_chainer(subject: CheckedFunction, layout: Any, rng: Any, seed: int) -> None:
    dtype = 'd' if subject.wide and rng.randint(2) else None
    gys = _upstream(_values(subject), layout, rng)
    check_backward(subject.func, subject.inputs, gys, subject.params, dtype=dtype)


def _as_chainer_twice(subject: CheckedFunction, layout: Any, rng: Any, seed: int) -> None:
    gys = _upstream(_values(subject), layout, rng)
    ggxs = _upstream(subject.inputs, layout, rng)
    ggparams = _upstream([p.array for p in subject.params], layout, rng)
    check_double_backward(subject.func, subject.inputs, gys, ggxs, subject.params, ggparams)


WAYS = {
    'check_gradients': _in_general(1),
    'check_gradients, order 2': _in_general(2),
    'gradcheck': _as_torch(False),
    'gradgradcheck': _as_torch(True),
    'check_backward': _as_chainer,
    'check_double_backward': _as_chainer_twice,
}


def _ways(subject: CheckedFunction) -> list[str]:
    ways = ['check_gradients', *['gradcheck'] * ('params' not in subject.options or bool(subject.params))]
    if subject.plain:
        ways += ['check_backward'] * 2
    if subject.order >= 2:
        ways += ['check_gradients, order 2', 'gradgradcheck']
        ways += ['check_double_backward'] * (2 * subject.plain)
    return ways


def _values(subject: CheckedFunction) -> list[Any]:
    """The outputs; None for those that have no gradient."""
    np.random.seed(0)
    ys = outputs_of(subject.func(*[Variable(x.copy()) for x in subject.inputs]))
    return [y.array if y is not None and y.dtype.kind == 'f' and y.requires_grad else None for y in ys]


def _upstream(arrays: Any, layout: Any, rng: Any) -> tuple[Any, ...]:
    drawn = [None if a is None else rng.uniform(0.5, 1.5, a.shape) * rng.choice([-1.0, 1.0], a.shape) for a in arrays]
    return tuple(None if g is None else layout(np.asarray(g, a.dtype)) for g, a in zip(drawn, arrays, strict=True))
