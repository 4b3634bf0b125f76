"""Puts the results of a check into words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minichainer.verification.arguments import CHAINER, Leaf, Options
from minichainer.verification.function_under_test import CheckedFunction
from minichainer.verification.reporting.explanation import Comparison, Explanation, Section, counted, numbers
from minichainer.verification.reporting.replay import arguments_of
from minichainer.verification.reporting.report import Failure, GradientReport, Unvouched
from minichainer.verification.reporting.tolerances import in_words

#: Two numbers of float64 that differ by less are equal.
_EPSILON = 2.0**-52
#: The most indices in a sentence.
_LISTED = 8

#: Parts of causes that compare backward with itself.
_TWICE = ('not linear in the upstream gradient: ', 'undefined upstream gradient: ')

_HEADLINES = {
    'pass': 'the gradients are right',
    'fail': 'a gradient is wrong',
    'nondifferentiable': 'the function is not differentiable at this point',
    'unresolved': 'right and wrong cannot be told apart at this precision',
    'nondeterministic': 'the same computation gives different results',
    'input_modified': 'an array was modified in place',
    'not_finite': 'the function is not finite at this point',
}

_ADVICE = {
    'nondifferentiable': 'Move the inputs away from the kink, or pass subgradient=True to accept any value between '
    'the two slopes.',
    'unresolved': 'What would resolve it: inputs of moderate size, an output without a large constant offset, '
    'dtype=numpy.float64 if the function takes it, or explicit tolerances (atol=, rtol=) that say what is enough.',
    'nondeterministic': "Where the function draws random numbers, as dropout does, pass random='fixed': each call "
    'then draws the same ones, from NumPy, Python and CuPy. nondet_tol= allows rounding differences.',
}


#: What to do about a link that keeps a state.
_STATE = (
    '{} keeps a state from call to call: check a function that calls reset_state() first, such as '
    '`def f(x): model.reset_state(); return model(x)`.'
)


def explanation_of(report: GradientReport, function: CheckedFunction, options: Options) -> Explanation:
    """The whole message, in parts."""
    state = 'passed' if report else 'failed' if report.verdict == 'fail' else report.verdict
    right = ''
    if report.accuracy is not None and report:
        right = ', but some lose all their digits to rounding'
        if report.accuracy < 1:
            right = f', to {max(report.accuracy, _EPSILON):.0e} at {report.digits} digits'
    keeps = function.stateful() if report.verdict == 'nondeterministic' else ''
    advice = [_STATE.format(keeps) if keeps else _ADVICE.get(report.verdict, '')]
    if report and report.not_precise:
        advice.append(f'Measured by differences of float64, not at 50 digits: {report.not_precise}.')
    enough = in_words(report.enough) if report.failures else ''
    return Explanation(
        f'{options.title} {state} for {_base(function.name)}: {_headline(report)}{right}.',
        [_section(group, report, function) for group in _grouped(report.failures)],
        [
            *(_doubts(report, function) if report.unvouched else ()),
            *filter(None, advice),
            *([enough] if enough else ()),
            *dict.fromkeys(report.notes),
        ],
        _cost(report),
        _replay(function, options),
        enough,
    )


def _headline(report: GradientReport) -> str:
    """What the verdict means."""
    if report.accepted and report:
        return f'the gradients are right {report.accepted_by}'
    return _HEADLINES[report.verdict]


def _doubts(report: GradientReport, function: CheckedFunction) -> list[str]:
    """What the check does not vouch for, a sentence for each gradient."""
    return [doubt_in_words(u, function.leaves) for u in report.unvouched]


def doubt_in_words(unvouched: Unvouched, leaves: Sequence[Leaf]) -> str:
    """Which elements of a gradient the check does not vouch for, and why.

    >>> doubt_in_words(Unvouched(1, 0, 'W', 2, [(0,), (3,)], 'they are too small'), [])
    'The check does not vouch for 2 elements of W: they are too small; at (0,), (3,).'
    """
    leaf = next((leaf for leaf in leaves if leaf.name == unvouched.input), None)
    label = (
        leaf.label
        if leaf is not None
        else f'inputs[{unvouched.input}]'
        if isinstance(unvouched.input, int)
        else unvouched.input
    )
    many = counted(unvouched.count, 'element') if leaf is None else f'{unvouched.count} of {leaf.array.size} elements'
    order = '' if unvouched.order == 1 else f', at order {unvouched.order}'
    listed = ', '.join(map(str, unvouched.indices[:_LISTED]))
    rest = '' if unvouched.count <= min(len(unvouched.indices), _LISTED) else ', ...'
    where = f'; at {listed}{rest}' if listed else ''
    return f'The check does not vouch for {many} of {label}{order}: {unvouched.reason}{where}.'


def _grouped(failures: list[Failure]) -> list[list[Failure]]:
    """Groups failures by output, input and cause."""
    groups: dict[Any, list[Failure]] = {}
    for f in failures:
        groups.setdefault((f.order, f.output, f.input, f.cause), []).append(f)
    return list(groups.values())


def _section(group: list[Failure], report: GradientReport, function: CheckedFunction) -> Section:
    """What is said about one group of failures."""
    first = group[0]
    elements = [f for f in group if f.index is not None]
    kinks = any(f.left_slope is not None for f in elements)
    more = ''
    if not elements and first.numeric is not None and first.analytic is not None:
        mode = 'forward mode' if 'forward mode: ' in first.cause else 'backward'
        numeric, analytic = numbers(first.numeric, first.analytic)
        more = f'measured {numeric}, {mode} {analytic}'
    return Section(
        _where(first, function, report),
        first.cause,
        _header(first, kinks),
        [_row(f, kinks) for f in elements],
        more,
        report.count_of(first),
        not report.complete,
        _compared(first, report),
        first.index,
        _slopes(first),
    )


def _header(failure: Failure, kinks: bool) -> list[str]:
    """The names of the columns."""
    if kinks:
        return ['index', 'left slope', 'right slope', 'backward', 'error / tolerance']
    if failure.verdict == 'nondeterministic' or failure.cause.startswith('stale cache'):
        return ['index', 'first', 'second', 'error / tolerance']
    if any(cause in failure.cause for cause in _TWICE):
        return ['index', 'expected', 'backward', 'error / tolerance']
    return ['index', 'numeric', 'backward', 'error / tolerance']


def _compared(failure: Failure, report: GradientReport) -> Comparison | None:
    """The arrays in which the elements of a failure were found; None if they were not searched for."""
    pair = (failure.order, failure.output, failure.input)
    return next((c for c in report.comparisons if (c.order, c.output, c.input) == pair), None)


def _slopes(failure: Failure) -> tuple[float, ...]:
    """The numbers to compare: slopes on one side or the measured one, then backward's."""
    sides = (failure.left_slope, failure.right_slope)
    measured = (failure.numeric,) if failure.left_slope is None else sides
    values = (*measured, failure.analytic)
    return tuple(v for v in values if v is not None) if None not in measured else ()


def _where(failure: Failure, function: CheckedFunction, report: GradientReport) -> str:
    """Output, input, and how many elements are wrong."""
    kind = 'output' if failure.order == 1 else 'gradient'
    text = f'{kind} {failure.output}'
    leaf = next((leaf for leaf in function.leaves if leaf.name == failure.input), None)
    if leaf is not None:
        text += f', {leaf.label} {tuple(leaf.value.shape)} {leaf.value.dtype}'
        count = report.count_of(failure)
        if failure.index is not None and (count > 1 or _compared(failure, report) is not None):
            parts = 'real and imaginary parts' if leaf.is_complex else 'elements'
            text += f': {share(count, leaf.array.size, failure.verdict, report.complete, parts)}'
    return text if failure.order == 1 else f'order {failure.order}, {text}'


def share(count: int, size: int, verdict: str, complete: bool, parts: str = 'elements') -> str:
    """How many elements are wrong.

    >>> share(1, 12, 'fail', complete=True)
    '1 of 12 elements is wrong'
    """
    what = 'at a kink' if verdict == 'nondifferentiable' else 'wrong'
    if size == 1:
        return f'the only element is {what}'
    verb = 'is' if count == 1 else 'are'
    return f'{"" if complete else "at least "}{count} of {size} {parts} {verb} {what}'


def _row(failure: Failure, kinks: bool) -> list[str]:
    """The cells of one element."""
    index = f'{failure.index} {failure.part}' if failure.part else str(failure.index)
    if kinks:
        return [index, *numbers(failure.left_slope, failure.right_slope, failure.analytic), '']
    return [index, *numbers(failure.numeric, failure.analytic), f'{failure.ratio:.2g}']


def _cost(report: GradientReport) -> str:
    """The calls, and the seed."""
    calls = f'{counted(report.forward_calls, "call")} of the function'
    calls += f', {counted(report.backward_calls, "backward pass")}'
    if report.jacobian_calls:
        calls += f', {counted(report.jacobian_calls, "call")} for the full Jacobian'
    return f'{calls}; seed {report.seed}' + ("; strictness='chainer'" if report.strictness == CHAINER else '')


def _replay(function: CheckedFunction, options: Options) -> str:
    """The line that repeats the check."""
    func, inputs, params = function.calls.source
    arguments = arguments_of(func, _base(function.name), inputs, params)
    return f'minichainer.gradient_check.check_gradients({", ".join(arguments)}, {options.shown()})'


def _base(name: str) -> str:
    return name.rpartition('gradients of ')[2]
