"""What programs must do whose processes begin anew: all but those of the start method fork."""

from __future__ import annotations

import sys


def how_to_start(method: str) -> str:
    """The rule that a program must follow with a start method, as a sentence; empty where there is none."""
    if method == 'fork':
        return ''
    if hasattr(sys.modules['__main__'], '__file__'):
        return "The program must start in a block `if __name__ == '__main__':`. "
    return (
        f'With the start method {method!r}, processes do not know what a notebook, `python -c` or an interactive '
        "session defines (\"Can't get attribute ... on <module '__main__'>\"): put the classes and functions that "
        "they need into a module and import it, or call multiprocessing.set_start_method('fork') first. "
    )
