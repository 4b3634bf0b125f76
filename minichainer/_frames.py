"""Which frames of the stack belong to the package, and which to its user."""

from __future__ import annotations

import os
import sys
from typing import Any

#: What file names of the package's code begin with.
PACKAGE = os.path.dirname(__file__) + os.sep
_getframe = sys._getframe


def user_frame(skipped: int = 1) -> Any:
    """The innermost frame outside of the package; the outermost of all if there is none.

    Args:
        skipped: how many frames from the caller on are known to be the package's own.
    """
    frame = _getframe(1 + skipped)
    while frame.f_code.co_filename.startswith(PACKAGE) and frame.f_back is not None:
        frame = frame.f_back
    return frame


def stacklevel() -> int:
    """The ``stacklevel`` with which a warning of the caller points to the user's line."""
    level, frame = 1, _getframe(1)
    while frame.f_code.co_filename.startswith(PACKAGE) and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    return level


#: Where links and ops are called.
_CALLS = ('link', 'link_hook', '_call')


def is_called_by_user(*modules: str) -> bool:
    """Whether the user's code calls what fails, or only modules of these names, without a folder, are between.

    For errors: an argument of the function helps if the call is the user's own.

    Args:
        modules: those of the function and of its link, which takes the same arguments.
    """
    frame: Any = _getframe(1)
    while frame is not None and (file := frame.f_code.co_filename).startswith(PACKAGE):
        module = os.path.basename(file).removesuffix('.py')
        if module not in modules and (module not in _CALLS or frame.f_code.co_name == 'forward'):
            return False  # the latter is that of Sequential
        frame = frame.f_back
    return True
