"""The module of :class:`CooMatrix` in version 0.1, which pickles refer to."""

from __future__ import annotations

from minichainer.utils.sparse import CooMatrix

__all__ = ['CooMatrix']
