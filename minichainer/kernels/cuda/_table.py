"""The table of all kernels in C++: each is declared once, with its parameters, its body and the dtypes it is for.

A declared kernel is called like CuPy's. It is compiled when it is first called; the tests compile all of them
without a device, and run their bodies on the host.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from minichainer.backends import cuda

_table: dict[str, ElementwiseKernel | ReductionKernel] = {}


class Declaration:
    """What all kernels declare.

    Args:
        name: name of the kernel, unique.
        inputs: names and types of the inputs, as CuPy takes them: ``'T x, raw S y, float32 eps'``.
        outputs: the same of the outputs.
        dtypes: combinations of dtypes of the placeholders for which it is meant, as in ``{'T': 'e', 'S': 'f'}``.
    """

    def __init__(self, name: str, inputs: str, outputs: str, dtypes: Sequence[Mapping[str, str]]) -> None:
        if name in _table:
            raise ValueError(f'two kernels are named {name}')
        self.name, self.inputs, self.outputs, self.dtypes = name, inputs, outputs, dtypes


class ElementwiseKernel(Declaration):
    """A kernel whose body computes one element, or runs for each of ``size`` indices ``i``.

    Args:
        body: C++ of the loop's body.
        preamble: C++ before the kernel.
        declared: ``dtypes`` of :class:`Declaration`.
    """

    def __init__(
        self, name: str, inputs: str, outputs: str, body: str, *, preamble: str = '', **declared: Any
    ) -> None:
        super().__init__(name, inputs, outputs, **declared)
        self.body, self.preamble = body, preamble
        _table[name] = self

    def __call__(self, *args: Any, size: int | None = None) -> Any:
        kernel = cuda.elementwise(self.inputs, self.outputs, self.body, self.name, preamble=self.preamble)
        return kernel(*args) if size is None else kernel(*args, size=size)


class ReductionKernel(Declaration):
    """A kernel that reduces axes.

    Args:
        map_expr: C++ applied to each element.
        reduce_expr: C++ that joins ``a`` and ``b``.
        post_map_expr: C++ applied to the joined value ``a``.
        identity: C++ of the value that changes nothing when it is joined.
        reduce_type: C++ type of what is joined; by default that of the output.
        preamble: C++ before the kernel.
        declared: ``dtypes`` of :class:`Declaration`.
    """

    def __init__(
        self,
        name: str,
        inputs: str,
        outputs: str,
        map_expr: str,
        reduce_expr: str,
        post_map_expr: str,
        identity: str,
        *,
        reduce_type: str | None = None,
        preamble: str = '',
        **declared: Any,
    ) -> None:
        super().__init__(name, inputs, outputs, **declared)
        self.expressions = map_expr, reduce_expr, post_map_expr, identity
        self.reduce_type, self.preamble = reduce_type, preamble
        _table[name] = self

    def __call__(self, *args: Any, axis: Any = None, keepdims: bool = False) -> Any:
        options = {'preamble': self.preamble, 'reduce_type': self.reduce_type}
        kernel = cuda.reduce(self.inputs, self.outputs, *self.expressions, self.name, **options)
        return kernel(*args, axis=axis, keepdims=keepdims)


def declared() -> Iterator[ElementwiseKernel | ReductionKernel]:
    """All kernels that the loaded modules declare."""
    return iter(_table.values())
