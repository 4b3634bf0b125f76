"""The building blocks of models: a Link has parameters, a Chain and a ChainList contain links."""

from __future__ import annotations

from minichainer.link.link import Chain, ChainList, Link

__all__ = ['Chain', 'ChainList', 'Link']
