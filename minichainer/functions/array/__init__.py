"""Functions on the shape and order of arrays."""

import typing

from minichainer._names import submodules as _submodules

if not typing.TYPE_CHECKING:
    __getattr__ = _submodules(__name__)
