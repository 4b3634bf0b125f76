"""The module of :class:`Sequential` in Chainer, which pickled models refer to."""

from __future__ import annotations

from minichainer.link.link import Sequential

__all__ = ['Sequential']
