"""What each entry point makes of a verdict. One engine decides; this is the table that spells the decision.

=====================  =======================  =======================================  ============================
verdict                check_gradients          gradcheck, gradgradcheck                 check_backward,
                                                                                         check_double_backward
=====================  =======================  =======================================  ============================
pass                   a true report            True                                     None
fail                   a false report           GradcheckError, or False                 GradcheckError
... within tolerances  true, with a warning     True, with a warning                     None, with a warning
unresolved             false; true with a       True with a warning where torch's        None, with a warning;
                       warning if               comparison agrees, else                  UnresolvedError where
                       ``strict=False``         UnresolvedError or False                 Chainer's comparison
                                                                                         contradicts
nondifferentiable      false                    True with a warning where torch's        NondifferentiableError if
                                                comparison agrees, else                  asked for, else a warning
                                                NondifferentiableError or False
not vouched for        true, listed; with       True, with a warning                     None, with a warning
                       ``strict=True``
                       unresolved
nondeterministic,      a false report           GradcheckError, or False                 GradcheckError
input_modified,
not_finite
=====================  =======================  =======================================  ============================

Torch's comparison is not asked where forward mode or batches are to be checked, which wait for a decision of the
engine.

What the function itself raises is raised by each of them. Errors of a check are :class:`GradcheckError`, which is an
AssertionError.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Callable, Sequence

import numpy as np

from minichainer._frames import stacklevel
from minichainer.errors import GradientDoubtWarning, GradientToleranceWarning
from minichainer.verification.arguments import CHAINER_STYLE, REPORT, TORCH_STYLE, Leaf, Options
from minichainer.verification.order_check import OrderCheck
from minichainer.verification.reporting.explanation import numbers
from minichainer.verification.reporting.message import doubt_in_words
from minichainer.verification.reporting.report import Failure, GradientReport
from minichainer.verification.strictness import ChainerComparison
from minichainer.verification.torch_comparison import Agreement, TorchComparison

#: Verdicts that say that the engine could not decide.
_OPEN = ('unresolved', 'nondifferentiable')
_TORCH = "torch's own comparison"


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What becomes of a verdict.

    Attributes:
        accepted_by: In which sense the gradients are right, after which the verdict is "pass"; empty if it stays.
        notes: Sentences for the report.
        warning: The text of a warning, empty for none.
        category: Its kind.
    """

    accepted_by: str = ''
    notes: tuple[str, ...] = ()
    warning: str = ''
    category: type[Warning] = GradientDoubtWarning


def decide(
    report: GradientReport,
    options: Options,
    compare: Callable[[], Agreement],
    contradicts: Callable[[], bool] = lambda: False,
) -> Outcome:
    """What an entry point makes of a verdict; changes nothing.

    Args:
        report: The result of the engine, for one order.
        options: ``options.style`` is the entry point.
        compare: Torch's comparison; called only if it decides.
        contradicts: Whether Chainer's comparison shows gradients to be wrong; called only if it decides.
    """
    if options.style == CHAINER_STYLE and _may_pass_as_chainer(report, options):
        if report.verdict == 'unresolved' and contradicts():
            return Outcome(notes=("Chainer's comparison does not agree either.",))
        return Outcome('where the check could decide', warning=_open_in_words(report))
    if report.verdict == 'fail' and not options.check_grad_dtypes and not options.has_modes:
        return _as_low_precision(report, compare)
    if report.verdict not in _OPEN:
        return Outcome()
    if options.style == TORCH_STYLE and not options.has_modes:
        return _as_torch(report, compare())
    if options.style == REPORT and options.strict is False and report.verdict == 'unresolved':
        return Outcome('where the check could decide', warning=_open_in_words(report))
    return Outcome()


def _may_pass_as_chainer(report: GradientReport, options: Options) -> bool:
    """Whether nothing is known to be wrong: what is open, and jumps, where no number is right or wrong."""
    kinks = [f for f in report.failures if f.verdict == 'nondifferentiable' or _is_jump(f)]
    if kinks and not options.subgradient:
        return False
    return bool(report.failures) and all(f.verdict in _OPEN or _is_jump(f) for f in report.failures)


def _is_jump(failure: Failure) -> bool:
    """Whether the function jumps there, so that the slope on a side is infinite."""
    slopes = (failure.left_slope, failure.right_slope)
    return any(slope is not None and not math.isfinite(slope) for slope in slopes)


def _as_low_precision(report: GradientReport, compare: Callable[[], Agreement]) -> Outcome:
    """Accepts gradients of float64 that are rounded to fewer digits, if that is all that is wrong with them."""
    dtypes = [_rounded_to(f, report) for f in report.failures]
    if None in dtypes or not compare().agrees:
        return Outcome()
    first = max(report.failures, key=lambda f: abs((f.numeric or 0.0) - (f.analytic or 0.0)))
    text = f'{place_in_words(first.input or 0, first.index)} has the digits of {dtypes[0]} only, order {first.order}'
    return Outcome(
        f'to the digits of {dtypes[0]}',
        warning=f'{text}: {size_in_words(first)}; check_grad_dtypes=True refuses it',
        category=GradientToleranceWarning,
    )


#: Roundings of the largest element that a gradient of lower precision may be off.
_ROUNDINGS = 64


def _rounded_to(failure: Failure, report: GradientReport) -> str | None:
    """The dtype to which a gradient is rounded, if its errors are no larger than that explains; else None."""
    pair = (failure.order, failure.output, failure.input)
    found = next((c for c in report.comparisons if (c.order, c.output, c.input) == pair), None)
    if found is None or failure.verdict != 'fail' or found.backward.dtype != np.float64:
        return None
    with np.errstate(all='ignore'):
        off = abs(found.measured - found.backward.ravel()[found.elements])
        for dtype in (np.float16, np.float32):
            allowed = _ROUNDINGS * float(np.finfo(dtype).eps) * abs(found.measured).max(initial=0.0)
            if (found.backward.astype(dtype) == found.backward).all() and bool((off <= allowed).all()):
                return str(np.dtype(dtype))
    return None


def _as_torch(report: GradientReport, agreement: Agreement) -> Outcome:
    """True as far as torch's comparison says."""
    if agreement.agrees:
        return Outcome(f'as far as {_TORCH} looks', warning=f'{_open_in_words(report)}; {_TORCH} agrees')
    return Outcome(notes=(f'{_TORCH[0].upper()}{_TORCH[1:]} does not agree either: {agreement.text}.',))


def _open_in_words(report: GradientReport) -> str:
    """What the engine could not decide."""
    first = next((f for f in report.failures if f.verdict == report.verdict), report.failures[0])
    where = 'the function' if first.input is None else place_in_words(first.input, first.index)
    kind = 'kink: not differentiable' if report.verdict != 'unresolved' else 'unresolved'
    cause = first.cause.removeprefix('kink: ').removeprefix('unresolved: ')
    return f'{kind} at {where}, order {first.order}: {cause}'


def place_in_words(name: int | str, index: tuple[int, ...] | None) -> str:
    """A leaf and an element of it."""
    text = f'inputs[{name}]' if isinstance(name, int) else str(name)
    return text if index is None else f'{text}{list(index)}'


def spell(order_check: OrderCheck) -> None:
    """Applies the table to the report of an order, and warns; after "pass" the next order may follow."""
    report, options = order_check.report, order_check.options
    found = decide(
        report,
        options,
        lambda: TorchComparison(order_check).agreement(),
        lambda: ChainerComparison(order_check).disagrees(rounding_counts=True),
    )
    report.notes += found.notes
    if found.warning:
        report.notes.append(f'Accepted, with a warning: {found.warning}.')
        _warn(order_check.function.name, found.warning, found.category)
    if found.accepted_by:
        order_check.outputs = sorted(order_check.upstream)
        report.accept(by=found.accepted_by)


def conclude(report: GradientReport, options: Options, name: str, leaves: Sequence[Leaf]) -> None:
    """What is said about gradients that are right as far as the check has looked; at the end of all orders.

    Args:
        report: The result.
        options: How the check was asked for.
        name: The function's name.
        leaves: What it depends on.
    """
    report.unvouched = [dataclasses.replace(u, indices=u.indices[: options.max_failures]) for u in report.unvouched]
    if report and options.strict and report.unvouched:
        report.lower('unresolved')
        return
    if not report or options.style == REPORT:
        return
    for unvouched in report.unvouched:
        _warn(name, doubt_in_words(unvouched, leaves).rstrip('.'), GradientDoubtWarning)
    if options.style == CHAINER_STYLE and report.kinks and not report.accepted:
        _warn(name, _kinks_in_words(report), GradientDoubtWarning)


def _kinks_in_words(report: GradientReport) -> str:
    """Where gradients were accepted because they lie between the slopes of both sides."""
    places = [*dict.fromkeys(place_in_words(name, index) for name, index in report.kinks)]
    more = ' and others' if len(places) > 3 else ''
    return (
        f'kink at {", ".join(places[:3])}{more}: the gradient there lies between the slopes of both sides; '
        'detect_nondifferentiable=True refuses it'
    )


def size_in_words(failure: Failure) -> str:
    """By how much a gradient is off."""
    if failure.numeric is None or failure.analytic is None:
        return 'by an unknown amount'
    numeric, analytic = numbers(failure.numeric, failure.analytic)
    off = abs(failure.numeric - failure.analytic)
    size = abs(failure.numeric)
    relative = f', {off / size:.2g} of it' if size and math.isfinite(off / size) else ''
    return f'measured {numeric}, backward {analytic}, off by {off:.2g}{relative}'


def _warn(name: str, text: str, category: type[Warning]) -> None:
    warnings.warn(f'{name}: {text}', category, stacklevel=stacklevel())
