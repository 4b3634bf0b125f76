"""The sequence of checks: exact checks, then the screen, and the search for the cause only after a mismatch."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from minichainer.verification.additivity import AdditivityChecks
from minichainer.verification.directions import generator
from minichainer.verification.exact import ExactChecks, Stop
from minichainer.verification.jacobian import full_jacobian
from minichainer.verification.leaves import is_float, spread
from minichainer.verification.linearity import LinearityChecks
from minichainer.verification.locate import Locator
from minichainer.verification.message import text_of
from minichainer.verification.native import compare_native
from minichainer.verification.options import Options
from minichainer.verification.point import Point
from minichainer.verification.report import VERDICTS, GradientReport
from minichainer.verification.screen import Along, Screen, budget
from minichainer.verification.subject import Subject, gradient_subject
from minichainer.verification.together import all_agree
from minichainer.verification.verdict import PASS


def examine(subject: Subject, given: Mapping[int, Any], options: Options) -> GradientReport:
    """Checks all orders up to the requested one, and stops at the first that is not right.

    Args:
        subject: The function.
        given: For an order, the user's upstream gradients.
        options: How to check.
    """
    report = GradientReport(options.order, options.seed or 0)
    rng = generator(report.seed)
    try:
        for order in range(1, options.order + 1):
            point = Point(subject, options, report, order, rng, given.get(order))
            _examine_order(point)
            if report.verdict != 'pass' or order == options.order:
                break
            subject = gradient_subject(subject, _upstream_of(point), options.fixed_upstream if order == 1 else ())
    except Stop:
        pass
    report.failures.sort(key=lambda f: (VERDICTS.index(f.verdict), -f.ratio))
    report.forward_calls, report.backward_calls = subject.calls.forward, subject.calls.backward
    if options.explains_success or not report:
        report.message = text_of(report, subject, options)
    return report


def _upstream_of(point: Point) -> list[Any]:
    """The upstream gradients at which gradients are differentiated: the user's, or random ones."""
    upstream = [None] * len(point.values)
    for o in point.outputs:
        given = None if point.given is None else point.given[o]
        upstream[o] = point.upstream[o][0] if given is None else given
        if point.options.non_contiguous:
            upstream[o] = spread(upstream[o])
    return upstream


def _examine_order(point: Point) -> None:
    """Runs all checks of one order, and adds failures to its report."""
    exact = ExactChecks(point)
    exact.run()
    if point.subject.moving and not any(is_float(y) for y in point.values):
        warnings.warn('nothing to check, no output of the function is an array of floats', stacklevel=5)
    point.outputs = [o for o in point.outputs if o in point.gradients]
    if not point.outputs:
        return
    screen = Screen(point, exact.first)
    LinearityChecks(screen, exact.second if screen.native else screen.evaluation).run()
    leaves = [i for i in point.subject.moving if any((o, i) not in point.broken for o in point.outputs)]
    directions = {i: screen.directions(i) for i in leaves if screen.arrays[i].size}
    if not all_agree(screen, directions):
        for i, drawn in directions.items():
            _examine_leaf(screen, i, drawn)
    if not screen.native:
        compare_native(screen)
    if point.report.verdict == PASS:
        AdditivityChecks(screen).run()
    if point.options.full_jacobian and point.report.verdict == PASS:
        full_jacobian(screen)


def _examine_leaf(screen: Screen, i: int, directions: list[Any]) -> None:
    """Measures the slopes of one leaf, and locates the errors after a mismatch."""
    paths = [screen.path(i, direction) for direction in directions]
    agree = [screen.agrees(i, path) for path in paths]
    if all(agree):
        return
    measured: list[Along] = []
    for path in paths:
        used = sum(p.calls for p in paths if p is not path)
        most = max(5, path.calls) if agree[len(measured)] else budget(used)
        measured.append(screen.along(i, path.direction, most, path))
    verdicts = np.stack([screen.verdicts(along) for along in measured])
    verdicts[np.array(agree)] = PASS
    for k, o in enumerate(screen.outputs):
        if (o, i) in screen.point.broken:
            continue
        mine = verdicts[:, k :: len(screen.outputs)]
        if not (mine == PASS).all():
            Locator(screen, i, k, measured, mine).explain()
