"""The building blocks of models: a Link has parameters, a Chain and a ChainList contain links."""

import typing

from minichainer._names import namespace as _namespace
from minichainer.link.link import Chain, ChainList, Link

__all__ = ['Chain', 'ChainList', 'Link']

if not typing.TYPE_CHECKING:
    __getattr__, __dir__ = _namespace(__name__)
