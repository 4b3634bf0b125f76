"""Links that compute a loss."""

import typing

from minichainer._names import submodules as _submodules

if not typing.TYPE_CHECKING:
    __getattr__ = _submodules(__name__)
