"""The packages that gather names for programs: what is set there is what programs find.

Inside this package nobody imports a name from them; here they themselves are what is changed.
"""

from __future__ import annotations

import importlib
from types import ModuleType

_ROOT = __name__.partition('.')[0]


def _package(name: str) -> ModuleType:
    return importlib.import_module(f'{_ROOT}{name}')


root = _package('')
functions, links, caffe = _package('.functions'), _package('.links'), _package('.links.caffe')
# The package has both under the name `cuda`: which one depends on what was imported last.
cuda_modules = _package('.backends.cuda'), _package('.cuda')
training, extensions = _package('.training'), _package('.training.extensions')
