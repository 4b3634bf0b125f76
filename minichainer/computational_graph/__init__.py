"""Pictures of computational graphs: text in the DOT language, and SVG."""

import typing

from minichainer._names import namespace as _namespace
from minichainer.computational_graph.graph import ComputationalGraph as ComputationalGraph
from minichainer.computational_graph.graph import DotNode as DotNode
from minichainer.computational_graph.graph import build_computational_graph as build_computational_graph

if not typing.TYPE_CHECKING:
    __getattr__, __dir__ = _namespace(__name__)
