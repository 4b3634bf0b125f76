"""What old programs and tools that export graphs read of nodes: Chainer's names of what ops have under other names.

Chainer's nodes keep the arguments of their functions. Ours keep what they compute with, from which these follow. They
are normalized: axes are not negative, and a permutation may be another description of the same one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy

Reader = Callable[[Any], Any]


def static_of(node: Any) -> dict[str, Any]:
    """The values of a node's static parameters by name."""
    return {p.name: value for p, value in zip(type(node).spec.static_parameters, node.static, strict=False)}


def _static(name: str) -> Reader:
    """Reads a static parameter."""
    return lambda node: static_of(node)[name]


def _always(value: Any) -> Reader:
    return lambda node: value


def _field(name: str, axis: int | None = None) -> Reader:
    """Reads a field of the geometry of windows, or one axis of it."""

    def read(node: Any) -> Any:
        found = getattr(static_of(node)['geometry'], name)
        return found if axis is None else found[axis]

    return read


def _size_of_space(axis: int | None = None) -> Reader:
    """Reads the size of the resulting images."""
    return lambda node: node.shape[2:] if axis is None else node.shape[2:][axis]


# --- axes ----------------------------------------------------------------------------------------------------------
def _squeezed(node: Any) -> tuple[int, ...]:
    shape = node.edges[0].shape
    ones = [i for i, size in enumerate(shape) if size == 1]
    choices = itertools.combinations(ones, len(shape) - len(node.shape))
    return next(c for c in choices if node.shape == tuple([size for i, size in enumerate(shape) if i not in c]))


def _inserted(node: Any) -> int:
    shape, present = node.shape, node.edges[0].shape
    return next(i for i, size in enumerate(shape) if size == 1 and (*shape[:i], *shape[i + 1 :]) == present)


def _swapped(number: int) -> Reader:
    def read(node: Any) -> int:
        moved = [i for i, axis in enumerate(static_of(node)['order']) if i != axis]
        return moved[number] if moved else 0

    return read


def _rolled(node: Any) -> tuple[int, int]:
    order = list(static_of(node)['order'])

    def gives_the_order(axis: int, start: int) -> bool:
        rest = [i for i in range(len(order)) if i != axis]
        rest.insert(start - (start > axis), axis)
        return rest == order

    pairs = itertools.product(range(len(order)), range(len(order) + 1))
    return next(pair for pair in pairs if gives_the_order(*pair))


def _other_axes(node: Any) -> tuple[int, ...]:
    return tuple([i for i in range(len(node.edges[0].shape)) if i not in static_of(node)['axes']])


# --- values --------------------------------------------------------------------------------------------------------
def _sections(are_indices: bool) -> Reader:
    def read(node: Any) -> Any:
        given = static_of(node)['sections']
        return given if hasattr(given, '__len__') is are_indices else None

    return read


def _constant(node: Any) -> Any:
    """The number as it was given, not as an array of the dtype."""
    static = static_of(node)
    return static['shown' if 'shown' in static else 'value']


def _dropout_ratio(node: Any) -> float:
    """What the factor of the elements that were kept says, which has seven digits in float32."""
    factor = float(static_of(node)['mask'].max())
    if not factor:
        raise AttributeError('dropout_ratio: all elements were dropped, so it is not known')
    return round(1 - 1 / factor, 6)


_WINDOWS = {
    'ksize': _field('ksize'), 'stride': _field('stride'), 'pad': _field('pad'), 'dilate': _field('dilate'),
    'groups': _field('groups'), 'cover_all': _field('cover_all'), 'ndim': lambda node: len(node.shape) - 2,
    'outs': _size_of_space(), 'outh': _size_of_space(0), 'outw': _size_of_space(1),
    'kh': _field('ksize', 0), 'kw': _field('ksize', -1), 'sy': _field('stride', 0), 'sx': _field('stride', -1),
    'ph': _field('pad', 0), 'pw': _field('pad', -1), 'dy': _field('dilate', 0), 'dx': _field('dilate', -1),
}  # fmt: skip
_REGIONS = {'outh': _size_of_space(0), 'outw': _size_of_space(1)}
_CONSTANT: dict[str, Reader] = {'value': _constant}
_NORMALIZATION = {'axis': _static('axes'), 'key_axis': _other_axes}

#: By the name of an op, how attributes are read that its nodes do not have.
READERS: dict[str, dict[str, Reader]] = {
    'AddConstant': _CONSTANT,
    'AsStrided': {'storage_offset': _static('offset')},
    'AveragePoolingND': {'pad_value': lambda node: 0 if static_of(node)['count_padding'] else None},
    'BatchNormalization': _NORMALIZATION,
    'BroadcastTo': {'_shape': _static('shape')},
    'ClippedReLU': {'cap': _static('z')},
    'Copy': {'out_device': _static('dst')},
    'DivFromConstant': _CONSTANT,
    'Dropout': {'dropout_ratio': _dropout_ratio},
    'EmbedIDFunction': {'ignore_label': _always(None)},
    'ExpandDims': {'axis': _inserted},
    'FixedBatchNormalization': _NORMALIZATION,
    'MatMul': {'transc': _always(False)},
    'Moveaxis': {'source': _static('order'), 'destination': lambda node: tuple(range(len(node.shape)))},
    'MulConstant': _CONSTANT,
    'MultiAdd': {'len': lambda node: len(node.edges)},
    'Pad': {'pad_bw': lambda node: numpy.asarray(static_of(node)['widths']), 'pad_width': _static('widths')},
    'Permutate': {
        'indices': lambda node: static_of(node)['slices'][-1],
        'axis': lambda node: len(static_of(node)['slices']) - 1,
        'inv': _always(False),
    },
    'PickRegions': _REGIONS,
    'PowConstVar': _CONSTANT,
    'PowVarConst': _CONSTANT,
    'RReLU': {'r': _static('factor')},
    'ResizeImages': {'out_H': _size_of_space(0), 'out_W': _size_of_space(1)},
    'Rollaxis': {'axis': lambda node: _rolled(node)[0], 'start': lambda node: _rolled(node)[1]},
    'Softplus': {'beta_inv': lambda node: 1 / static_of(node)['beta']},
    'SplitAxis': {
        'indices': _sections(True), 'sections': _sections(False), 'indices_or_sections': _static('sections'),
    },
    'Squeeze': {'axis': _squeezed},
    'SubFromConstant': _CONSTANT,
    'Swapaxes': {'axis1': _swapped(0), 'axis2': _swapped(1)},
    'WeighRegions': _REGIONS,
    'Where': {'condition': _static('mask')},
}  # fmt: skip
#: The same of all ops that have a parameter.
_OF_PARAMETERS = {
    'geometry': _WINDOWS,
    'mask': {'flag_h': _static('mask'), 'flag_x': lambda node: ~static_of(node)['mask']},
    'typ': {'type': _static('typ')},
}


def reader_of(node: Any, name: str) -> Reader | None:
    """What reads an attribute of a node under Chainer's name; None if there is nothing of this name."""
    spec = type(node).spec
    found = READERS.get(spec.name, {}).get(name)
    for parameter in spec.static_parameters:
        found = found or _OF_PARAMETERS.get(parameter.name, {}).get(name)
    return found
