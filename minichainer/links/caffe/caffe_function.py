"""CaffeFunction: a network that Caffe has trained."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from minichainer.link.link import Chain, Link
from minichainer.links.caffe._layers import JUDGES, MAKERS, SOURCES, InTestMode
from minichainer.links.caffe._schema import OLD_TYPES, blob_values, read_net
from minichainer.utils.argument import assert_kwargs_empty, check_unexpected_kwargs
from minichainer.variable import Variable, as_variable

#: Methods for further types of layers, which programs have registered.
_methods: dict[str, Callable[..., Any]] = {}


def _layer(kind: str, old_name: str | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers a method ``setup(self, layer)`` for a type of layers; it sets ``self.forwards[layer.name]``.

    Args:
        kind: the type.
        old_name: its name in files of 2013, which has no effect: types are known by their names of today.

    Programs decorate methods of a subclass with it, to read layers that CaffeFunction does not know.
    """

    def register(method: Callable[..., Any]) -> Callable[..., Any]:
        _methods[kind] = method
        return method

    return register


def _get_num(blob: Any) -> int:
    """The first size of a blob of weights."""
    return int(blob.num if blob.num > 0 else blob.shape.dim[0])


class LayerOfNumbers:
    """A layer as programs read it: like the message, but its arrays are numbers, not bytes.

    Args:
        layer: the message.
    """

    def __init__(self, layer: Any) -> None:
        self._layer = layer
        self.blobs = [BlobOfNumbers(blob) for blob in layer.blobs]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._layer, name)


class BlobOfNumbers:
    """Weights of a layer, with ``data`` as a vector.

    Args:
        blob: the message.
    """

    def __init__(self, blob: Any) -> None:
        self._blob = blob
        self.data = blob_values(blob)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._blob, name)


class CaffeFunction(Chain):
    """A network from a file of Caffe, of weights and architecture (``.caffemodel``).

    Layers with weights are children under their names. Supported are the types BatchNorm, Concat, Convolution,
    Deconvolution, Dropout, Eltwise, InnerProduct, LRN, Pooling, ReLU, Reshape, Scale, Sigmoid, Slice, Softmax,
    SoftmaxWithLoss and Split, in the file format of today and in that of 2013. Layers that read data are left out,
    because their outputs are given as inputs; so are layers that measure accuracy or other losses, with a warning.

    Some layers differ a little: average pooling does not cover the last, incomplete windows, and SoftmaxWithLoss
    divides by the number of labels. Groups of a convolution are one set of filters with zeros between groups.

    Args:
        model_path (str): path of the file.

    Attributes:
        forwards: dict of the functions and links by the names of layers.
        layers: list of (name, names of inputs, names of outputs), in the order of computation.
        split_map: dict of the outputs of Split layers, and of what they are copies.

    Raises:
        ImportError: protobuf is not installed (``pip install protobuf``).
        google.protobuf.message.DecodeError: the file is not one of Caffe, or not complete.
        RuntimeError: a layer has a type, or an option, that is not supported. The message names it.
        ValueError: the weights of a layer do not fit. The message names it.

    >>> import minichainer as chainer
    >>> func = chainer.links.caffe.CaffeFunction('bvlc_googlenet.caffemodel')  # doctest: +SKIP
    >>> (y,) = func(inputs={'data': x}, outputs=['loss3/classifier'])  # doctest: +SKIP
    """

    def __init__(self, model_path: Any) -> None:
        net = read_net(model_path)
        super().__init__()
        self.forwards: dict[str, Callable[..., Any]] = {}
        self.split_map: dict[str, str] = {}
        self.layers: list[tuple[str, list[str], list[str]]] = []
        self._skipped: dict[str, str] = {}
        if net.layer:
            for layer in net.layer:
                self._add_layer(layer, layer.type)
        else:
            for layer in net.layers:
                self._add_layer(layer, OLD_TYPES.get(layer.type, f'number {layer.type}'))

    def forward(
        self, inputs: Mapping[str, Any], outputs: Iterable[str], disable: Iterable[str] = (), **kwargs: Any
    ) -> tuple[Variable, ...]:
        """Computes outputs of the network.

        Layers without all of their inputs are left out, so a part of the network is computed from values inside.

        Args:
            inputs: dict of Variables or arrays by the names of blobs.
            outputs: names of the blobs to compute.
            disable: names of layers that are left out.

        Returns:
            Tuple of Variables in the order of ``outputs``.

        Raises:
            KeyError: an output cannot be computed from these inputs.
        """
        check_unexpected_kwargs(kwargs, train='train argument is not supported anymore. Use chainer.using_config')
        assert_kwargs_empty(kwargs)
        values = {name: as_variable(x) for name, x in inputs.items()}
        disabled = set(disable)
        for name, bottoms, tops in self.layers:
            if name in disabled or any(bottom not in values for bottom in bottoms):
                continue
            ys = self.forwards[name](*[values[bottom] for bottom in bottoms])
            values.update(zip(tops, ys if isinstance(ys, (tuple, list)) else (ys,), strict=True))
        return tuple([self._output(values, name) for name in outputs])

    def copy(self, mode: str = 'share') -> CaffeFunction:
        """Copies the network; ``forwards`` of the copy are its own links."""
        copied: Any = super().copy(mode)
        copied.forwards = {name: copied._own(name, function) for name, function in self.forwards.items()}
        return copied  # type: ignore[no-any-return]

    def _own(self, name: str, function: Any) -> Any:
        if isinstance(function, InTestMode):
            return InTestMode(self[name])
        return self[name] if isinstance(function, Link) else function

    def _output(self, values: Mapping[str, Variable], name: str) -> Variable:
        source = self.split_map.get(name, name)
        if source in values:
            return values[source]
        if name in self._skipped:
            reason = f'it is of the layer {self._skipped[name]}, which is left out'
        elif any(name in tops for _, _, tops in self.layers):
            reason = f'its layer, or one before it, is disabled or lacks an input; inputs are {", ".join(values)}'
        else:
            reason = 'no layer has such an output'
        raise KeyError(f'CaffeFunction: {name!r} cannot be computed: {reason}')

    def _add_layer(self, layer: Any, kind: str | None = None) -> None:
        """Adds a layer; without its type, one that a registered method has set up."""
        if kind in _methods:
            _methods[kind](self, LayerOfNumbers(layer))
            return
        bottoms: list[str] = [self.split_map.get(str(bottom), str(bottom)) for bottom in layer.bottom]
        if kind == 'Split':
            self.split_map.update(dict.fromkeys(layer.top, bottoms[0]))
        elif kind in JUDGES:
            text = f'CaffeFunction leaves out layer "{layer.name}" of type {kind}, which it does not support'
            warnings.warn(text, stacklevel=3)
            self._skipped.update(dict.fromkeys(layer.top, f'"{layer.name}" of type {kind}'))
        elif kind not in SOURCES:
            if kind is not None:
                self._register(layer.name, self._made(layer, kind))
            self.layers.append((layer.name, bottoms, list(layer.top)))

    def _made(self, layer: Any, kind: str) -> Any:
        """The function or link of a layer; errors name the layer."""
        name = f'CaffeFunction: layer "{layer.name}" of type {kind}'
        if kind not in MAKERS:
            supported = ', '.join(sorted(MAKERS))
            raise RuntimeError(f'{name}: this type is not supported; supported are {supported} and Split')
        try:
            return MAKERS[kind](layer)
        except (RuntimeError, ValueError) as error:
            raise type(error)(f'{name}: {error}') from error

    def _register(self, name: str, function: Any) -> None:
        link = function.link if isinstance(function, InTestMode) else function
        if isinstance(link, Link):
            with self.init_scope():
                self.add_link(name, link)
        self.forwards[name] = function
