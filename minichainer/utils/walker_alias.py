"""Public place of :class:`WalkerAlias`, which is defined beside the devices and found when asked for."""

from __future__ import annotations

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    if name != 'WalkerAlias':
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return importlib.import_module('minichainer._walker_alias').WalkerAlias
