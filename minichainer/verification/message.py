"""A report as text that fits on one screen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minichainer.verification.options import Options
from minichainer.verification.report import Failure, GradientReport
from minichainer.verification.subject import Subject

_GROUPS, _ROWS, _WIDTH = 4, 8, 116

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
    'nondeterministic': 'Fix the random numbers outside of the function, or pass nondet_tol= to allow rounding '
    'differences.',
}


def text_of(report: GradientReport, subject: Subject, options: Options) -> str:
    """The whole message."""
    state = 'passed' if report else 'failed' if report.verdict == 'fail' else report.verdict
    lines = [f'{options.title} {state} for {_base(subject.name)}: {_HEADLINES[report.verdict]}.']
    groups = _grouped(report.failures)
    for group in groups[:_GROUPS]:
        lines += _group(group, report, subject, max(_ROWS // min(len(groups), _GROUPS), 2))
    if len(groups) > _GROUPS:
        lines.append(f'{len(groups) - _GROUPS} more pairs of output and input are affected.')
    lines += [line for line in (_ADVICE.get(report.verdict),) if line]
    lines += [note for note in dict.fromkeys(report.notes)]
    return '\n'.join(_cut([*lines, *_footer(report, subject, options)]))


def _grouped(failures: list[Failure]) -> list[list[Failure]]:
    """Groups failures by output, input and cause."""
    groups: dict[Any, list[Failure]] = {}
    for f in failures:
        groups.setdefault((f.order, f.output, f.input, f.cause), []).append(f)
    return list(groups.values())


def _cut(lines: Iterable[str]) -> Iterable[str]:
    """Wraps long lines at spaces."""
    for line in lines:
        while len(line) > _WIDTH:
            at = line.rfind(' ', 60, _WIDTH)
            at = _WIDTH if at < 0 else at
            yield line[:at]
            line = '    ' + line[at:].lstrip()
        yield line


def _group(group: list[Failure], report: GradientReport, subject: Subject, rows: int) -> list[str]:
    """The lines about one group of failures."""
    first = group[0]
    lines = [_where(first, subject, report), f'  {first.cause}']
    elements = [f for f in group if f.index is not None]
    if elements:
        lines += _table(elements[:rows])
    elif first.numeric is not None and first.analytic is not None:
        lines.append(f'  measured {first.numeric:.10g}, backward {first.analytic:.10g}')
    hidden = report.count_of(first) - min(rows, len(elements))
    if elements and hidden > 0:
        lines.append(f'  and {"" if report.complete else "at least "}{hidden} more')
    return lines


def _where(failure: Failure, subject: Subject, report: GradientReport) -> str:
    """Output, input, and how many elements are wrong."""
    kind = 'output' if failure.order == 1 else 'gradient'
    text = f'{kind} {failure.output}'
    leaf = next((leaf for leaf in subject.leaves if leaf.name == failure.input), None)
    if leaf is not None:
        text += f', {leaf.label} {tuple(leaf.array.shape)} {leaf.array.dtype}'
        if failure.index is not None:
            what = 'wrong' if failure.verdict == 'fail' else 'at a kink'
            least = '' if report.complete else 'at least '
            text += f': {least}{report.count_of(failure)} of {leaf.array.size} elements are {what}'
    return text if failure.order == 1 else f'order {failure.order}, {text}'


def _table(failures: list[Failure]) -> list[str]:
    """A table of elements, one per line."""
    kinks = any(f.left_slope is not None for f in failures)
    header = ['index', *(['left slope', 'right slope'] if kinks else ['numeric']), 'backward', 'error / tolerance']
    rows = [header]
    for f in failures:
        numbers = [f.left_slope, f.right_slope] if kinks else [f.numeric]
        ratio = '' if kinks else f'{f.ratio:.2g}'
        rows.append([str(f.index), *map(_number, numbers), _number(f.analytic), ratio])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ['  ' + '  '.join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]


def _number(value: Any) -> str:
    return 'None' if value is None else f'{value:.9g}'


def _footer(report: GradientReport, subject: Subject, options: Options) -> list[str]:
    """The cost of the check, and the line that repeats it."""
    calls = f'{report.forward_calls} calls of the function, {report.backward_calls} backward passes'
    if report.jacobian_calls:
        calls += f', {report.jacobian_calls} calls for the full Jacobian'
    arguments = [_function(subject.name), 'inputs']
    arguments += ['params=params'] if any(leaf.parameter is not None for leaf in subject.leaves) else []
    replay = f'check_gradients({", ".join(arguments)}, {options.shown()})'
    return [f'{calls}; seed {report.seed}', f'Replay: minichainer.gradient_check.{replay}']


def _base(name: str) -> str:
    return name.rpartition('gradients of ')[2]


def _function(name: str) -> str:
    name = _base(name)
    return name if name.isidentifier() else 'func'
