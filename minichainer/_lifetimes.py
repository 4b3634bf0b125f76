"""Entries of tables that exist as long as an object does."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def removing(table: dict[Any, Any], key: Any) -> Callable[[Any], Any]:
    """The callback of a weak reference that removes an entry, if it is there, when the object is gone.

    Nothing in it is Python code. Python would look at signals there, and drop what a handler raises, since nobody
    can catch it: a Ctrl-C would be lost. The weak reference, which a callback gets, is the default of ``pop``. It
    also works after the interpreter has cleared the module of the table.
    """
    return functools.partial(table.pop, key)
