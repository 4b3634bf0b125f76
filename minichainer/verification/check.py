"""The sequence of checks: exact checks, then directional derivatives; the cause is searched only after a mismatch."""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from minichainer._frames import stacklevel
from minichainer.backend import on_device_of_arguments
from minichainer.verification.additivity import AdditivityChecks
from minichainer.verification.arguments import (
    CHAINER,
    REPORT,
    STRICT,
    Options,
    as_tuple,
    is_float,
)
from minichainer.verification.arrays import spread
from minichainer.verification.batched import check_batched_gradients, check_batched_tangents
from minichainer.verification.directional_derivatives import INSIDE, UNCERTAINTY, WORTH_A_NOTE, Derivatives
from minichainer.verification.directions import Path, generator
from minichainer.verification.environment import preserved
from minichainer.verification.exact_checks import ExactChecks, Stop
from minichainer.verification.extrapolation import agrees
from minichainer.verification.forward_mode import ForwardModeChecks, forward_only
from minichainer.verification.frozen import FrozenChecks
from minichainer.verification.function_under_test import (
    CheckedFunction,
    gradient_function,
)
from minichainer.verification.high_precision import HighPrecision, attempt, last_resort
from minichainer.verification.jacobian import full_jacobian
from minichainer.verification.leaf import BLURRED, examine_hidden, examine_leaf, examine_whole, hides_elements
from minichainer.verification.linearity import LinearityChecks
from minichainer.verification.localization import AS_LARGE
from minichainer.verification.low_precision import compare_native
from minichainer.verification.order_check import ONCE, OrderCheck, explain_shapes
from minichainer.verification.outcome import conclude, spell
from minichainer.verification.polynomial_fits import left_by_fits
from minichainer.verification.preparation import Subject, note_unchecked, prepared
from minichainer.verification.reachable import stateful_link_of
from minichainer.verification.refusals import Escaped, comes_from_numbers
from minichainer.verification.reporting.hints import add_hint, check_func, nothing_to_check
from minichainer.verification.reporting.message import explanation_of
from minichainer.verification.reporting.report import VERDICTS, GradientReport
from minichainer.verification.strictness import accept_as_chainer
from minichainer.verification.tolerances import accept_allowed
from minichainer.verification.verdict import FAIL, PASS, UNRESOLVED

#: A note on errors that differences of float64 do not show.
_ONLY_PRECISE = (
    'It takes slopes at 50 digits to show all of this. If the function stops an iteration at a tolerance, or a rule '
    'has constants of few digits, rtol= says how much is enough; precise=False measures in float64.'
)

_KEPT = (
    'stale cache: backward uses numbers of 50 digits, which another call has stored; '
    'store what it needs per call, not in a shared place'
)

_LOST = 'backward gives 0, and any slope is lost in the rounding of the outputs'

#: The largest rounding of values, relative to them, that is taken for that of a dtype.
_COARSEST = 2.0**-8
#: So many elements that floats have found wrong are measured at many digits, too.
_COMPARED = 2


def examine(function: CheckedFunction, given: Mapping[int, Any], options: Options) -> GradientReport:
    """Checks all orders up to the requested one, and stops at the first that is not right.

    Args:
        function: The function.
        given: For an order, the user's upstream gradients.
        options: How to check.
    """
    report = GradientReport(options.order, options.seed or 0, strictness=options.strictness or STRICT)
    rng = generator(report.seed)
    for order in range(1, options.order + 1):
        order_check = OrderCheck(function, options, report, order, rng, given.get(order))
        with contextlib.suppress(Stop):
            _examine_differentiable(order_check)
            explain_shapes(order_check)
        if report.verdict != PASS and report.strictness == CHAINER:
            accept_as_chainer(order_check)
        if report.verdict != PASS:
            spell(order_check)
        if report.verdict != PASS or order == options.order:
            break
        function = gradient_function(
            function, _upstream_of(order_check), options.fixed_upstream if order == 1 else ()
        )
    report.notes += function.calls.notes
    if report.unvouched or options.style != REPORT:
        conclude(report, options, function.name, function.leaves)
    report.failures.sort(key=lambda f: (VERDICTS.index(f.verdict), -f.ratio))
    report.forward_calls, report.backward_calls = function.calls.forward, function.calls.backward
    if options.explains_success or not report:
        report.explain(explanation_of(report, function, options))
    return report


def _upstream_of(order_check: OrderCheck) -> list[Any]:
    """The upstream gradients at which gradients are differentiated: the user's, or random ones."""
    upstream = [None] * len(order_check.values)
    for o in order_check.outputs:
        given = None if order_check.given is None else order_check.given[o]
        upstream[o] = order_check.upstream[o][0] if given is None else given
        if order_check.options.non_contiguous:
            upstream[o] = spread(upstream[o])
    return upstream


def _examine_differentiable(order_check: OrderCheck) -> None:
    """Runs all checks of one order; a function without derivatives of this order is a failure."""
    try:
        _examine_order(order_check)
    except RuntimeError as error:
        if order_check.order == 1 or not order_check.outputs or not ONCE.search(str(error)):
            raise
        text = str(error).replace('\n', '; ')
        order_check.fail(order_check.outputs[0], order_check.function.moving[0], f'not differentiable twice: {text}')
        raise Stop from None
    except TypeError as error:
        if not comes_from_numbers(error) or not order_check.outputs:
            raise
        order_check.fail(order_check.outputs[0], order_check.function.moving[0], _KEPT)  # it got none in this call
        raise Stop from None


def _examine_order(order_check: OrderCheck) -> None:
    """Runs all checks of one order, and adds failures to its report."""
    if not order_check.options.checks_backward(order_check.order):
        forward_only(order_check)
        return
    exact = ExactChecks(order_check)
    exact.run()
    if order_check.function.unchecked:
        note_unchecked(order_check, exact.first)
    if order_check.function.moving and not any(map(is_float, order_check.values)):
        warnings.warn('nothing to check, no output of the function is an array of floats', stacklevel=stacklevel())
    order_check.outputs = [o for o in order_check.outputs if o in order_check.gradients]
    if not order_check.outputs:
        return
    derivatives = Derivatives(order_check, exact.first)
    LinearityChecks(derivatives, exact.second if derivatives.native else derivatives.evaluation).run()
    directions = {}
    for i in order_check.function.moving:
        places = zip(order_check.outputs, itertools.repeat(i))
        if derivatives.arrays[i].size and not order_check.broken.issuperset(places):
            directions[i] = derivatives.directions(i)
    before = len(order_check.report.failures)
    _compare_slopes(derivatives, directions)
    if len(order_check.report.failures) > before:
        accept_allowed(derivatives, order_check.report.failures[before:])
    if not derivatives.native:
        compare_native(derivatives)
    if order_check.report.verdict == PASS:
        AdditivityChecks(derivatives).run()
    if order_check.report.verdict == PASS and len(order_check.function.moving) > 1:
        FrozenChecks(derivatives).run()
    if order_check.options.full_jacobian and order_check.report.verdict == PASS:
        full_jacobian(derivatives)
    if order_check.report.unvouched and order_check.report.verdict == PASS:
        _require_something_seen(derivatives)
    _examine_modes(derivatives)


def _require_something_seen(derivatives: Derivatives) -> None:
    """Leaves gradients open where the check vouches for no element, and values are coarser than those of any dtype.

    Such a function may be piecewise constant: zeros would be right, too, and are accepted.
    """
    order_check, report = derivatives.order_check, derivatives.order_check.report
    mine = [u for u in report.unvouched if u.order == order_check.order]
    unseen = {u.input for u in mine if u.reason == AS_LARGE}
    leaves = [i for i in order_check.function.moving if derivatives.arrays[i].size]
    coarse = [i for i in leaves if derivatives.relative_noise(i) > _COARSEST]
    if coarse != leaves or not all([order_check.function.leaves[i].name in unseen for i in leaves]):
        return
    if not any([vector.any() for i in leaves for vector in derivatives.vectors(i)]):
        return
    for unvouched in mine:
        report.forget(order_check.order, unvouched.input)
    cause = f'unresolved: values move in steps, and {AS_LARGE}; the check vouches for no element'
    order_check.fail(order_check.outputs[0], leaves[0], cause, verdict=UNRESOLVED)


#: For leaves: the verdict at many digits, and what has found it.
_Found = dict[int, tuple[str, HighPrecision]]


def _compare_slopes(derivatives: Derivatives, directions: Mapping[int, list[Any]]) -> None:
    """Compares backward with slopes: at 50 digits or more where that is possible, and by differences of floats."""
    report, options = derivatives.order_check.report, derivatives.order_check.options
    before = len(report.failures)
    if options.precise is None and not options.precise_first:
        directions = _in_doubt(derivatives, directions)
    found = {} if options.precise is False else _at_many_digits(derivatives, directions)
    left = directions
    if found:
        left = {i: drawn for i, drawn in directions.items() if found[i][0] != PASS}
        _note_passes(derivatives, found, complete=not left)
        if left:
            report.not_precise = 'there, right and wrong could not be told apart'
    _compare_by_floats(derivatives, left)
    if not found and (len(report.failures) > before or report.unvouched or derivatives.blur):
        found = _confirmed(derivatives, left, before)
    for i, (verdict, engine) in found.items():
        if verdict == FAIL and not _is_explained(engine, derivatives.order_check, i, left[i]):
            _forget_what_differences_saw(derivatives.order_check, i, before)
            report.notes.append(_ONLY_PRECISE)
            _explain(derivatives, engine, i)


def _explain(derivatives: Derivatives, engine: HighPrecision, i: int) -> None:
    """Adds to the report what many digits have found wrong with a leaf."""
    derivatives.measure_by(engine)
    report, before = derivatives.order_check.report, len(derivatives.order_check.report.failures)
    if engine.locates(i):
        examine_leaf(derivatives, i, engine.wrong[i])
    if len(report.failures) == before:
        examine_whole(derivatives, i, engine.wrong[i])


def _at_many_digits(derivatives: Derivatives, directions: Mapping[int, list[Any]]) -> _Found:
    """Looks at leaves at 50 digits, and at more where these do not vouch; nothing where that is not possible."""
    precise = attempt(derivatives) if directions else None
    if precise is None:
        return {}
    found = {i: (verdict, precise) for i, verdict in precise.judge(directions).items()}
    doubtful = {i: directions[i] for i, (verdict, _) in found.items() if verdict != PASS or i in precise.unseen}
    finer = last_resort(derivatives) if doubtful else None
    if finer is not None:
        for i, verdict in finer.judge(doubtful).items():
            both_fail = verdict == found[i][0] == FAIL and finer.agrees_with(precise, i)
            if not both_fail and (verdict != UNRESOLVED or found[i][0] != PASS):
                found[i] = verdict, finer
    return found


def _note_passes(derivatives: Derivatives, found: _Found, complete: bool = False) -> None:
    """Says what many digits have shown to be right, and for which elements even they do not vouch.

    Args:
        derivatives: The numeric side.
        found: The verdicts.
        complete: Whether all leaves have passed.
    """
    report = derivatives.order_check.report
    if complete:
        report.accuracy = max(report.accuracy or 0.0, *[engine.worst for _, engine in found.values()])
    for i, engine in [(i, engine) for i, (verdict, engine) in found.items() if verdict == PASS]:
        report.digits = max(report.digits, engine.digits)
        if i in engine.unseen:
            derivatives.does_not_vouch(i, engine.unseen[i], 'their part of the slopes is lost beside larger ones')


def _compare_by_floats(derivatives: Derivatives, left: Mapping[int, list[Any]]) -> None:
    """Compares backward with differences of floats, and adds failures to the report."""
    order_check, given = derivatives.order_check, left
    if derivatives.is_local:
        left = left_by_fits(derivatives, left)
    if not all_agree(derivatives, left):
        for i, drawn in left.items():
            examine_leaf(derivatives, i, drawn)
    if order_check.report.verdict == PASS and order_check.options.tangent is None:
        for i, drawn in given.items():
            if i in left or derivatives.blur.get(i, 0.0) > BLURRED:
                examine_hidden(derivatives, i, drawn)


def _confirmed(derivatives: Derivatives, left: Mapping[int, list[Any]], before: int) -> _Found:
    """Looks at many digits at leaves for which differences of floats do not vouch; forgets what is refuted there."""
    order_check, report = derivatives.order_check, derivatives.order_check.report
    named = {f.input for f in report.failures[before:]}
    named |= {u.input for u in report.unvouched if u.order == order_check.order}
    named |= {order_check.function.leaves[i].name for i, blur in derivatives.blur.items() if blur > WORTH_A_NOTE}
    doubtful = {i: drawn for i, drawn in left.items() if order_check.function.leaves[i].name in named}
    precise = last_resort(derivatives) if doubtful else None
    found = {} if precise is None else {i: (verdict, precise) for i, verdict in precise.judge(doubtful).items()}
    for i in [i for i, (verdict, _) in found.items() if verdict == PASS]:
        _forget_what_differences_saw(order_check, i, before)
    _note_passes(derivatives, found)
    for i in [i for i in doubtful if i not in found and _is_lost(derivatives, i)]:
        derivatives.does_not_vouch(i, np.ones(derivatives.arrays[i].shape, bool), _LOST)
    if order_check.options.precise is False:  # what floats leave open stays so
        wrong = {f.input for f in report.failures[before:] if f.verdict == FAIL}
        return {i: pair for i, pair in found.items() if order_check.function.leaves[i].name in wrong}
    return found


def _is_lost(derivatives: Derivatives, i: int) -> bool:
    """Whether slopes of a leaf, for which backward gives zeros, are known to be lost in rounding."""
    return derivatives.blur.get(i, 0.0) >= 1.0 and not any([vector.any() for vector in derivatives.vectors(i)])


def _in_doubt(derivatives: Derivatives, directions: Mapping[int, list[Any]]) -> Mapping[int, list[Any]]:
    """The leaves whose gradients the first differences of floats do not confirm to ten digits, in all elements."""
    hiding = {i for i, drawn in directions.items() if hides_elements(derivatives, i, drawn)}
    if all_agree(derivatives, directions):
        return {i: directions[i] for i in hiding}
    return {
        i: drawn
        for i, drawn in directions.items()
        if i in hiding or not all([derivatives.agrees(i, derivatives.path(i, direction)) for direction in drawn])
    }


def _examine_modes(derivatives: Derivatives) -> None:
    """Checks forward mode and batches, once backward is known to be right."""
    order_check, options = derivatives.order_check, derivatives.order_check.options
    if order_check.report.verdict == PASS and options.checks_forward_mode(order_check.order):
        ForwardModeChecks(order_check, derivatives.arrays, derivatives.evaluation.arrays, derivatives).run()
    if order_check.report.verdict == PASS and options.check_batched_grad:
        check_batched_gradients(order_check)
    if order_check.report.verdict == PASS and options.check_batched_forward_grad and order_check.order == 1:
        check_batched_tangents(order_check)


def _forget_what_differences_saw(order_check: OrderCheck, i: int, before: int) -> None:
    """Removes what steps in float64 saw of a leaf, and steps of 1e-20 do not.

    Args:
        order_check: The order.
        i: The leaf.
        before: How many failures were found before there were any steps.
    """
    report, leaf = order_check.report, order_check.function.leaves[i]
    report.replace([f for f in report.failures[before:] if f.input == leaf.name], [])
    report.forget(order_check.order, leaf.name)
    doubts = tuple([f'{leaf.label}: {doubt}' for doubt in (UNCERTAINTY, INSIDE)])
    report.notes = [note for note in report.notes if not note.startswith(doubts)]


def _is_explained(precise: HighPrecision, order_check: OrderCheck, i: int, directions: Sequence[Any]) -> bool:
    """Whether the gradient of a leaf is right except at the elements that float64 has found wrong."""
    name = order_check.function.leaves[i].name
    failures = [
        f for f in order_check.report.failures if (f.order, f.input, f.verdict) == (order_check.order, name, FAIL)
    ]
    indices = {f.index for f in failures}
    if not failures or not all(precise.measures_alike(i, f) for f in failures[:_COMPARED]):
        return False
    all_listed = order_check.report.complete and order_check.report.failure_count == len(order_check.report.failures)
    if not all_listed or len(indices) >= order_check.options.max_failures:
        return True
    rest = [np.array(d, np.float64) for d in directions]
    for d in rest:
        d[tuple(np.array(list(indices), int).T)] = 0
    return FAIL not in precise.judge({i: rest}).values()


def all_agree(derivatives: Derivatives, directions: Mapping[int, Sequence[Any]]) -> bool:
    """Whether backward agrees for all leaves at once: the first and cheapest test, which can only confirm gradients.

    If backward agrees with the slopes to the tenth digit of the *smallest* part, it is right for every leaf: with
    independent random directions the errors of two leaves cannot cancel. Any other result proves nothing, and every
    leaf is measured alone.

    Each direction takes at least two steps, also where the first one has shown the function to be smooth: a kink in a
    large element is small against the bend of a product along one direction, and visible along the other.

    Args:
        derivatives: The numeric side.
        directions: The directions of each leaf; the first ones form one direction of all leaves, and so on.
    """
    possible = len(directions) > 1 and not derivatives.is_local
    if not possible or derivatives.order_check.broken:
        return False
    rows = [dict(zip(directions, row, strict=True)) for row in zip(*directions.values(), strict=True)]
    return all(_agree(derivatives, row) for row in rows) and _stays_where_zero(derivatives, rows[0])


def _agree(derivatives: Derivatives, row: Mapping[int, Any]) -> bool:
    """Whether backward agrees along one direction of all leaves, for outputs that it says to move."""
    found = [derivatives.expected(i, direction) for i, direction in row.items()]
    analytic = [sum(slopes) for slopes in zip(*(f[0] for f in found), strict=True)]
    sizes = [min(filter(None, size), default=0.0) for size in zip(*(f[1] for f in found), strict=True)]
    if not all(map(math.isfinite, sizes)):
        return False
    base: Any = sum(derivatives.base(i) for i in row)
    path = Path(derivatives, {i: derivatives.line(i, direction) for i, direction in row.items()}, base)
    noise = (4 * derivatives.precision * base).tolist()
    slack = [derivatives.slack * size for size in sizes]
    return agrees(path.values, analytic, noise, slack, sizes, derivatives.precision, derivatives.start, True)


def _stays_where_zero(derivatives: Derivatives, row: Mapping[int, Any]) -> bool:
    """Whether each leaf, moved alone, leaves those outputs as they are for which its gradient is 0."""
    for i, direction in row.items():
        zero = [size == 0 for size in derivatives.expected(i, direction)[1]]
        values = derivatives.path(i, direction).values
        if any(zero) and any([values(t)[zero].any() for t in (derivatives.start, -derivatives.start)]):
            return False
    return True


@on_device_of_arguments
def check(
    func: Callable[..., Any],
    inputs: Any,
    given: Mapping[int, Any],
    options: Options,
    *,
    kwargs: Mapping[str, Any] | None = None,
    params: Any = (),
    no_grads: Any = None,
) -> GradientReport:
    """Runs a check.

    Args:
        func: The function.
        inputs: Its arguments, one or a tuple.
        given: The user's upstream gradients, by order.
        options: How to check.
        kwargs: Further keyword arguments of ``func``.
        params: Variables that ``func`` also depends on, or "all" for the parameters of a link.
        no_grads: One flag per argument.
    """
    check_func(func)
    inputs = as_tuple(inputs)
    try:
        subject = prepared(func, inputs, given, options, kwargs=kwargs, params=params, no_grads=no_grads)
        return _examined(subject, options)
    except Escaped as found:
        escaped = found.error
    except Exception as error:
        add_hint(error, func, inputs, kwargs or {})
        raise
    raise escaped


def _examined(subject: Subject, options: Options) -> GradientReport:
    """Runs a check, and restores everything."""
    function = subject.function()
    function.stateful = functools.partial(stateful_link_of, subject.func)
    if not function.moving:
        nothing_to_check(
            function.name,
            subject.inputs,
            options.needs_input and not any(leaf.must_be_none for leaf in function.leaves),
        )
    with preserved(subject.func, subject.parameters, options.random) as restore:
        function.before_call = restore
        try:
            return examine(function, subject.given, options)
        finally:
            function.calls.progress.finish()
