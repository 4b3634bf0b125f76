"""The same computation in another thread, where whatever belongs to the thread of the check is missing."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from minichainer.configuration import config, global_config, using_config

#: Seconds after which nothing more is to be expected: the thread waits for what the thread of the check holds.
_PATIENCE = 10.0

Result = TypeVar('Result')


def in_another_thread(call: Callable[[], Result], **settings: Any) -> Result | None:
    """What ``call`` gives in a new thread with the settings of this one; None where it raises or waits in vain.

    Args:
        call: Takes nothing.
        settings: Settings that are to be others, such as ``train``.
    """
    kept = {name: getattr(config, name) for name in vars(global_config)} | settings
    found: list[Result] = []

    def run() -> None:
        with contextlib.ExitStack() as stack, contextlib.suppress(Exception):
            stack.enter_context(np.errstate(all='ignore'))
            for name, value in kept.items():
                if getattr(config, name) is not value:
                    stack.enter_context(using_config(name, value))
            found.append(call())

    thread = threading.Thread(target=run, name='gradient check', daemon=True)
    thread.start()
    thread.join(_PATIENCE)
    return found[0] if found else None
