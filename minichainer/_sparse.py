"""Where version 0.1 had :class:`CooMatrix`; what it pickled is found by this name."""

from __future__ import annotations

from minichainer.utils.sparse import CooMatrix

__all__ = ['CooMatrix']
