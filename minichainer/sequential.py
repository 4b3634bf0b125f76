"""Where Chainer has :class:`Sequential`; pickled models find it by this name."""

from __future__ import annotations

from minichainer.link.link import Sequential

__all__ = ['Sequential']
