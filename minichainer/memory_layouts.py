"""Memory layouts of arrays as Chainer names them.

Chainer's layouts are an experimental feature for cuDNN: an array may have its axes in another order than its
Variable. Here the kernels choose the order in memory, and the axes of a Variable are always those of its array: the
only layout is None.
"""

from __future__ import annotations

from typing import Any

from minichainer.function_node import FunctionNode
from minichainer.variable import Variable

#: Images with channels first, the layout of all arrays here, and filters; Chainer has None for them, too.
CUDNN_CHANNEL_FIRST_X = None
CUDNN_CHANNEL_FIRST_W = None
#: Images and filters with channels last.
CUDNN_CHANNEL_LAST_X = 'CUDNN_CHANNEL_LAST_X'
CUDNN_CHANNEL_LAST_W = 'CUDNN_CHANNEL_LAST_W'

_unspecified: Any = object()


def get_raw_shape(arr_or_var: Any) -> tuple[int, ...]:
    """The shape of an array in memory.

    Args:
        arr_or_var: Variable or array.

    >>> import numpy as np
    >>> from minichainer import memory_layouts
    >>> memory_layouts.get_raw_shape(np.zeros((2, 3, 5, 4)))
    (2, 3, 5, 4)
    """
    shape: tuple[int, ...] = arr_or_var.shape
    return shape


def get_semantic_shape(arr_or_var: Any, *, assumed_layout: Any = _unspecified) -> tuple[int, ...]:
    """The shape of an array with channels first.

    Args:
        arr_or_var: Variable or array.
        assumed_layout: the layout of the array: None or one of the constants of this module. A Variable knows its
            own, which is None.

    Raises:
        ValueError: another layout, or one that a Variable does not have.

    >>> import numpy as np
    >>> from minichainer import memory_layouts
    >>> x = np.zeros((2, 5, 4, 3))
    >>> memory_layouts.get_semantic_shape(x, assumed_layout=memory_layouts.CUDNN_CHANNEL_LAST_X)
    (2, 3, 5, 4)
    """
    layout = None if assumed_layout is _unspecified else assumed_layout
    shape = get_raw_shape(arr_or_var)
    if layout is None:
        return shape
    if isinstance(arr_or_var, Variable) or layout not in (CUDNN_CHANNEL_LAST_X, CUDNN_CHANNEL_LAST_W):
        raise ValueError(f'get_semantic_shape: expected the layout None, got {layout!r}')
    return (shape[0], shape[-1], *shape[1:-1])


class AsLayout(FunctionNode):
    """The identity, as a function that changes the layout: that to None.

    Args:
        layout: None.

    Raises:
        ValueError: another layout.

    >>> import numpy as np
    >>> from minichainer.memory_layouts import AsLayout
    >>> AsLayout(None).apply((np.ones(2),))
    (variable([1., 1.]),)
    """

    def __init__(self, layout: Any) -> None:
        if layout is not None:
            raise ValueError(f'AsLayout: expected None, got {layout!r}; memory layouts are chosen by the kernels')
        self.layout = layout

    def forward(self, inputs: tuple[Any, ...], /) -> tuple[Any, ...]:
        """Returns the input."""
        return inputs

    def backward(self, target_input_indexes: tuple[int, ...], grad_outputs: tuple[Any, ...], /) -> Any:
        """Returns the upstream gradient."""
        return grad_outputs
