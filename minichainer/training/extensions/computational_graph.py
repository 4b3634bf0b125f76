from __future__ import annotations

import contextlib
import os
from typing import Any

from minichainer.computational_graph import graphviz
from minichainer.computational_graph.graph import MANY_NODES, ComputationalGraph, build_computational_graph
from minichainer.configuration import config, using_config
from minichainer.serializer import Serializer
from minichainer.training.extension import Extension
from minichainer.training.extensions._files import replacing
from minichainer.variable import Variable

_PICTURES = ('.svg', '.png', '.pdf', '.jpg', '.gif', '.eps', '.ps')


class DumpGraph(Extension):
    """Writes the computational graph of a reported value, once, after the first update.

    Writes a text file in the DOT language, and a picture next to it: PNG where Graphviz is installed (the program
    ``dot``), SVG where it is not. Reported values keep their graphs until then.

    Args:
        root_name (str): Key of the reported value, such as ``'main/loss'``.
        filename (str): Name of the file in the trainer's output folder, ``'cg.dot'`` when omitted. With the name of
            a picture, such as ``'graph.svg'``, only that picture is written.
        variable_style (dict): Attributes of Variables in the DOT language; grey octagons when omitted.
        function_style (dict): Attributes of functions; blue boxes when omitted.
        out_name (str): Older spelling of ``filename``.

    .. admonition:: Example

        >>> from minichainer.training import extensions
        >>> dump = extensions.DumpGraph('main/loss', filename='graph.dot')
        >>> dump.default_name
        'dump_graph'

    """

    default_name = 'dump_graph'

    def __init__(
        self, root_name: str, filename: str | None = None, variable_style: Any = None, function_style: Any = None,
        *, out_name: str = 'cg.dot',
    ) -> None:  # fmt: skip
        self._root_name = root_name
        self._filename = out_name if filename is None else filename
        self._variable_style = 'default' if variable_style is None else variable_style
        self._function_style = 'default' if function_style is None else function_style
        self._original_flag = False
        self._flag_called = False
        self._is_resumed = False
        self._keeping = contextlib.ExitStack()

    def initialize(self, trainer: Any) -> None:
        """Keeps the graphs of reported values, unless the graph has been written."""
        if not self._flag_called:
            self._original_flag = bool(config.keep_graph_on_report)
            self._keeping.enter_context(using_config('keep_graph_on_report', True))

    def trigger(self, trainer: Any) -> bool:
        """Fires once."""
        fires, self._flag_called = not self._flag_called, True
        return fires

    def __call__(self, trainer: Any) -> None:
        """Writes the files; one iteration later if the run was resumed in this one, of which it has only numbers."""
        if self._is_resumed and not isinstance(trainer.observation.get(self._root_name), Variable):
            self._is_resumed = self._flag_called = False
            return
        self.finalize()
        root = self._root_of(trainer.observation)
        graph = build_computational_graph([root], True, self._variable_style, self._function_style)
        path = os.path.join(trainer.out, self._filename)
        stem, extension = os.path.splitext(path)
        if extension.lower() in _PICTURES:
            graph.render(path)
            return
        with replacing(path) as part, open(part, 'w', encoding='utf-8') as f:
            f.write(graph.dump())
        _draw(graph, stem)

    def _root_of(self, observation: Any) -> Variable:
        if self._root_name not in observation:
            raise KeyError(f'DumpGraph: {self._root_name!r} has not been reported; there are {sorted(observation)}')
        root = observation[self._root_name]
        if not isinstance(root, Variable):
            raise TypeError(f'DumpGraph: root value is not a Variable: {self._root_name!r} is of {type(root)}')
        return root

    def finalize(self) -> None:
        """Stops keeping the graphs of reported values."""
        self._keeping.close()

    def serialize(self, serializer: Any) -> None:
        """Saves or restores whether the graph has been written."""
        serializer('_original_flag', self._original_flag)  # Chainer reads it
        self._flag_called = bool(serializer('_flag_called', self._flag_called))
        self._is_resumed = not isinstance(serializer, Serializer)


def _draw(graph: ComputationalGraph, stem: str) -> None:
    """Writes a picture; large graphs are not given to Graphviz, which would stop the training for minutes."""
    if graphviz.is_installed() and len(graph.nodes) <= MANY_NODES:
        graph.render(f'{stem}.png')
        return
    with replacing(f'{stem}.svg') as part, open(part, 'w', encoding='utf-8') as f:
        f.write(graph.dump('svg'))
