"""Helpers that Chainer publishes as ``chainer.utils``.

``CooMatrix``, ``to_coo``, ``get_order`` and ``WalkerAlias`` stand on Variables and devices, to which this
room must not reach: they are defined beside those, and found here when they are asked for.
"""

from __future__ import annotations

import importlib
from typing import Any

from minichainer.utils import argument, conv, type_check
from minichainer.utils.array import force_array, force_type, size_of_shape, sum_to
from minichainer.utils.conv import get_conv_outsize, get_deconv_outsize
from minichainer.utils.meta import enable_final, final
from minichainer.utils.notices import experimental, nondeterministic, tempdir

_DEFINED_ELSEWHERE = {
    'CooMatrix': 'minichainer._sparse',
    'WalkerAlias': 'minichainer._walker_alias',
    'get_order': 'minichainer._sparse',
    'to_coo': 'minichainer._sparse',
    'walker_alias': 'minichainer.utils.walker_alias',
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
    if name not in _DEFINED_ELSEWHERE:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    module = importlib.import_module(_DEFINED_ELSEWHERE[name])
    value = globals()[name] = getattr(module, name, module)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
