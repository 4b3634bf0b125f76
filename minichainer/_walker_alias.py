"""The module of :class:`WalkerAlias` in version 0.1, which pickles refer to."""

from __future__ import annotations

from minichainer.utils.walker_alias import WalkerAlias

__all__ = ['WalkerAlias']
