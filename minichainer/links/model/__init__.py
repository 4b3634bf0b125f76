"""Links that are whole models or wrap one."""

import typing

from minichainer._names import namespace as _namespace

if typing.TYPE_CHECKING:
    from minichainer.links.model import vision as vision

if not typing.TYPE_CHECKING:
    __getattr__, __dir__ = _namespace(__name__, ['classifier', 'vision'])
