"""Helpers that Chainer publishes as ``chainer.utils``.

Most are small and stand below everything else. :mod:`~minichainer.utils.sparse` and
:mod:`~minichainer.utils.walker_alias` are built on Variables and devices, which need the others first: they are
loaded when somebody asks for a name of theirs.
"""

from __future__ import annotations

import importlib
from typing import Any

from minichainer.utils import argument, conv, type_check
from minichainer.utils.array import force_array, force_type, size_of_shape, sum_to
from minichainer.utils.conv import get_conv_outsize, get_deconv_outsize
from minichainer.utils.meta import enable_final, final
from minichainer.utils.notices import experimental, nondeterministic, tempdir

#: Public names of the modules that are loaded later, and where they are.
_LATER = {
    'CooMatrix': 'sparse',
    'WalkerAlias': 'walker_alias',
    'get_order': 'sparse',
    'sparse': 'sparse',
    'to_coo': 'sparse',
    'walker_alias': 'walker_alias',
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


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    module = importlib.import_module(f'{__name__}.{_LATER[name]}')
    value = globals()[name] = module if name == _LATER[name] else getattr(module, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
