"""Where version 0.1 had :class:`WalkerAlias`; what it pickled is found by this name."""

from __future__ import annotations

from minichainer.utils.walker_alias import WalkerAlias

__all__ = ['WalkerAlias']
