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
