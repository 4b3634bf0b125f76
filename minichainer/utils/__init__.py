"""Helpers that Chainer publishes as ``chainer.utils``.

Most are small and independent of the rest. :mod:`~minichainer.utils.sparse` and
:mod:`~minichainer.utils.walker_alias` use Variables and devices, so they are loaded when one of their names is first
used.
"""

import typing
from collections import abc as collections_abc  # noqa: F401  (old code takes it from here)

from minichainer._names import namespace as _namespace
from minichainer.utils import argument, conv, type_check
from minichainer.utils.array import force_array, force_type, size_of_shape, sum_to
from minichainer.utils.conv import get_conv_outsize, get_deconv_outsize
from minichainer.utils.experimental import experimental
from minichainer.utils.meta import enable_final, final
from minichainer.utils.nondeterministic import nondeterministic
from minichainer.utils.temporary import tempdir

if typing.TYPE_CHECKING:
    from minichainer.utils import sparse as sparse
    from minichainer.utils import walker_alias as walker_alias
    from minichainer.utils.sparse import CooMatrix as CooMatrix
    from minichainer.utils.sparse import get_order as get_order
    from minichainer.utils.sparse import to_coo as to_coo
    from minichainer.utils.walker_alias import WalkerAlias as WalkerAlias

_MODULES = (
    'argument', 'array', 'cache', 'conv', 'conv_nd', 'error', 'imgproc', 'precision', 'sparse', 'type_check',
    'walker_alias',
)  # fmt: skip
#: Public names of the modules that are loaded later, with their modules.
_LATER = {
    'CooMatrix': 'sparse',
    'WalkerAlias': 'walker_alias',
    'get_order': 'sparse',
    'to_coo': 'sparse',
}
__all__ = [
    'CooMatrix',
    'WalkerAlias',
    'argument',
    'conv',
    'enable_final',
    'experimental',
    'final',
    'force_array',
    'force_type',
    'get_conv_outsize',
    'get_deconv_outsize',
    'get_order',
    'nondeterministic',
    'size_of_shape',
    'sum_to',
    'tempdir',
    'to_coo',
    'type_check',
]

if not typing.TYPE_CHECKING:
    __getattr__, __dir__ = _namespace(__name__, _MODULES, _LATER)
