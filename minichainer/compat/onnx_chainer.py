"""``onnx_chainer``, the exporter to ONNX: Chainer's own package does the work where it is on the path.

It is a part of Chainer's distribution, not of this one. Programs that import it start without it, as they do with
Chainer where ``onnx`` is missing; a call of the exporter says what to install.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

from minichainer.compat.alias import install

__all__ = ['MAXIMUM_OPSET_VERSION', 'MINIMUM_OPSET_VERSION', 'convert_parameter', 'export', 'export_testcase']

#: The opsets that Chainer's exporter writes.
MINIMUM_OPSET_VERSION, MAXIMUM_OPSET_VERSION = 7, 11
_NAME = 'onnx_chainer'
_REMEDY = (
    "it is a part of Chainer's distribution: unpack chainer-7.8.1.tar.gz (https://pypi.org/project/chainer/#files), "
    'put its folder onnx_chainer beside your program, and `pip install "onnx<1.15"`'
)


def export(model: Any, args: Any, *values: Any, **named: Any) -> Any:
    """Writes a model as ONNX, with the function of this name in Chainer's package.

    Args:
        model: Chain.
        args: its inputs, Variables or arrays, in a tuple, list or dict.
        values: further arguments of Chainer's function, from ``filename`` on.
        named: the same by name.

    Returns:
        What Chainer's function returns: the ONNX model.

    Raises:
        ImportError: Chainer's package ``onnx_chainer``, or ``onnx``, is not there; the message says what to do.
    """
    return _exporter('export').export(model, args, *values, **named)


def export_testcase(model: Any, args: Any, out_dir: str, *values: Any, **named: Any) -> Any:
    """Writes a model as ONNX with its inputs and outputs, with the function of this name in Chainer's package.

    Args:
        model: Chain.
        args: its inputs, as of :func:`export`.
        out_dir: folder for the files.
        values: further arguments of Chainer's function.
        named: the same by name.

    Raises:
        ImportError: as :func:`export`.
    """
    return _exporter('export_testcase').export_testcase(model, args, out_dir, *values, **named)


def convert_parameter(parameter: Any, context: Any) -> Any:
    """A parameter as a tensor of ONNX, by the function of this name in Chainer's package.

    Args:
        parameter: Parameter or array.
        context: what Chainer's exporter hands to converters.

    Raises:
        ImportError: as :func:`export`.
    """
    return _exporter('convert_parameter').convert_parameter(parameter, context)


def _exporter(function: str) -> ModuleType:
    """Chainer's package, for which ``chainer`` is this one."""
    install()
    if _is_here(sys.modules.get(_NAME)):  # since then, the package may have come onto the path
        del sys.modules[_NAME]
    try:
        package = importlib.import_module(_NAME)
    except ImportError as error:
        raise ImportError(f'{_NAME}.{function}: {error}\n{_REMEDY}') from error
    if _is_here(package):
        raise ImportError(f'{_NAME}.{function}: no package {_NAME} is on the path\n{_REMEDY}')
    return package


def _is_here(module: ModuleType | None) -> bool:
    """Whether a module of the name is this one, which stands in for the package."""
    return getattr(module, 'export', None) is export
