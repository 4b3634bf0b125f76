"""Steps that must all run, of whose errors the first one is raised."""

from __future__ import annotations

import sys
import textwrap
import traceback
from collections.abc import Callable, Iterable
from typing import Any

#: A name, and a function without arguments.
Step = tuple[str, Callable[[], Any]]


def run_all(steps: Iterable[Step], first: BaseException | None = None) -> None:
    """Runs all steps, even if some raise.

    Args:
        steps: names and functions.
        first: an error that is being handled; those of the steps are noted at it, and not raised.

    Raises:
        BaseException: the first error of a step; later ones are noted at it.

    >>> run_all([('one', lambda: 1 / 0), ('two', lambda: {}[3]), ('three', lambda: print('runs'))])
    Traceback (most recent call last):
        ...
    ZeroDivisionError: division by zero
    two failed as well:
      ...
      KeyError: 3
    """
    handled = first
    for name, step in steps:
        try:
            step()
        except BaseException as error:
            if first is None:
                first = error
            else:
                _note(first, name, error)
    try:
        if first is not None and first is not handled:
            raise first
    finally:
        del first, handled  # the traceback refers to this frame


def _note(first: BaseException, name: str, later: BaseException) -> None:
    """Adds a later error to what is shown of the first one; prints it if that shows no notes."""
    _forget_context(later, first)
    shown = ''.join(traceback.format_exception(type(later), later, later.__traceback__))
    text = f'{name} failed as well:\n{textwrap.indent(shown.rstrip(), "  ")}'
    if sys.version_info >= (3, 11) and not isinstance(first, SystemExit):
        first.add_note(text)
    else:
        print(text, file=sys.stderr, flush=True)


def _forget_context(later: BaseException, first: BaseException) -> None:
    """The later error is shown below the first one, so it need not show that again."""
    error = later
    while error.__context__ is not None and error.__context__ is not first:
        error = error.__context__
    error.__context__ = None
