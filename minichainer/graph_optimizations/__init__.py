"""Chainer's static graphs. Here the decorated code runs as plain define-by-run: each call records its own graph."""

import typing

from minichainer._names import namespace as _namespace
from minichainer.graph_optimizations.static_graph_utilities import static_code as static_code

if not typing.TYPE_CHECKING:
    __getattr__, __dir__ = _namespace(__name__, ['static_graph', 'static_graph_utilities'])
