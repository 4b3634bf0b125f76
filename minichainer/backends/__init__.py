"""Devices for arrays: the CPU (NumPy) and GPUs (CuPy). The public interface is :mod:`minichainer.backend`."""

import typing

from minichainer._names import namespace as _namespace

if not typing.TYPE_CHECKING:
    __getattr__, __dir__ = _namespace(__name__, ['cuda', 'intel64', 'number_arrays'])
