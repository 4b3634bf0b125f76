"""Static graphs."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from minichainer.graph_optimizations._decorators import decorator
from minichainer.warnings import PerformanceWarning


def static_graph(*args: Any, **kwargs: Any) -> Callable[..., Any]:
    """Decorator for the ``__call__`` or ``forward`` of a Chain whose graph is the same in each iteration.

    Chainer caches the graph of the first call. Here each call runs as plain define-by-run, with the same results and
    gradients: recording a graph costs a few microseconds per function. A PerformanceWarning says so where it is used.

    Args:
        args: the method, if the decorator is used without parentheses.
        kwargs: settings of Chainer (``verbosity_level``, ``minimize_cache_size``, ``enable_double_backprop``,
            ``force_test_define_by_run``), which change nothing.

    Raises:
        TypeError: what is decorated is not callable.

    >>> import warnings
    >>> import numpy as np, minichainer as chainer, minichainer.functions as F, minichainer.links as L
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter('ignore', chainer.warnings.PerformanceWarning)
    ...     class Model(chainer.Chain):
    ...         def __init__(self):
    ...             super().__init__(l=L.Linear(3, 2))
    ...         @chainer.static_graph
    ...         def forward(self, x):
    ...             return F.relu(self.l(x))
    >>> Model()(np.ones((4, 3), 'f')).shape
    (4, 2)
    """
    warnings.warn(
        'static_graph runs as plain define-by-run: no graph is cached. Remove the decorator to silence this',
        PerformanceWarning,
        stacklevel=2,
    )
    return decorator('static_graph', args)
