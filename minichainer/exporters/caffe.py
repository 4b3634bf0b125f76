"""Writing a model as files of Caffe."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from minichainer.backends.cuda import to_cpu
from minichainer.configuration import force_backprop_mode, using_config
from minichainer.exporters._caffe_layers import CONVERTERS, DATA_INPUTS, Layer, NotConvertible
from minichainer.function_hook import FunctionHook
from minichainer.links.caffe._schema import net_parameter, write_blob
from minichainer.serializers._replacing import replacing
from minichainer.variable import Variable, as_variable

_INPUT = 'data'


def export(
    model: Any, args: Sequence[Any], directory: Any = None, export_params: bool = True, graph_name: str = 'Graph'
) -> None:
    """Writes a model as ``chainer_model.prototxt`` and ``chainer_model.caffemodel``.

    The model is called once, with ``config.train`` off, and the functions that it applies become layers. Supported
    are convolutions and deconvolutions of images, fully connected layers, batch normalization, average and max
    pooling, local response normalization, ReLU, leaky ReLU, sigmoid, softmax along axis 1, concatenation, reshaping,
    sums, products and the maximum of arrays of one shape. Conversions of dtypes are left out: Caffe has one dtype.

    Args:
        model: link or function of one Variable, which returns a Variable or several.
        args: list of the input, a Variable or an array of the size that the network shall have.
        directory (str): folder of the files, which exists; None to write nothing, which tells whether the model can
            be written.
        export_params (bool): whether to write the weights too.
        graph_name (str): name of the network.

    Raises:
        ImportError: protobuf is not installed (``pip install protobuf``).
        TypeError: ``args`` is not a list of Variables, or the model returns something else.
        NotImplementedError: there are several inputs.
        ValueError: the model applies a function that Caffe does not have. Nothing is written.

    >>> import tempfile, numpy as np, minichainer as chainer
    >>> from minichainer.exporters import caffe
    >>> model = chainer.Sequential(chainer.links.Linear(3, 2), chainer.functions.relu)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     caffe.export(model, [np.ones((1, 3), np.float32)], folder)
    ...     func = chainer.links.caffe.CaffeFunction(f'{folder}/chainer_model.caffemodel')
    >>> func.layers
    [('LinearFunction-0-1', ['data'], ['LinearFunction-0-1']), ('ReLU-1-1', ['LinearFunction-0-1'], ['ReLU-1-1'])]
    """
    x = _input(args)
    if directory is not None and not os.path.isdir(directory):
        raise FileNotFoundError(f'export: there is no folder {directory}')
    net = net_parameter()()
    text = [_input_text(graph_name, x.shape)]
    for name, layer, bottoms in _layers(model, x):
        text.append(_layer_text(name, layer, bottoms))
        _add_layer(net, name, layer, bottoms)
    if directory is not None:
        _write(directory, 'chainer_model.prototxt', '\n'.join([*text, '']).encode())
        if export_params:
            _write(directory, 'chainer_model.caffemodel', net.SerializeToString())


# --- the graph -----------------------------------------------------------------------------------------------------
class _Calls(FunctionHook):
    """The functions that are applied, in their order, and the arrays they are applied to."""

    name = 'CaffeExport'

    def __init__(self) -> None:
        self.calls: list[tuple[Any, tuple[Any, ...]]] = []

    def forward_postprocess(self, function: Any, in_data: Any) -> None:
        self.calls.append((function, tuple(in_data)))


def _input(args: Any) -> Variable:
    if not isinstance(args, (tuple, list)):
        raise TypeError(f'export: args must be a list of the input, got {type(args).__name__}')
    if len(args) != 1:
        raise NotImplementedError(f'export: the model must have one input, got {len(args)}')
    if not isinstance(args[0], Variable) and not hasattr(args[0], 'dtype'):
        raise TypeError(f'export: the input must be a Variable or an array, got {type(args[0]).__name__}')
    x = as_variable(args[0])
    return x if x.requires_grad else Variable(x.array)


def _layers(model: Any, x: Variable) -> Iterator[tuple[str, Layer, list[str]]]:
    """Names, layers and names of their inputs, in the order of computation."""
    hook = _Calls()
    with hook, using_config('train', False), force_backprop_mode():
        outputs = model(x)
    needed = _reachable(outputs)
    calls = sorted((call for call in hook.calls if call[0] in needed), key=lambda call: call[0].rank)
    names: dict[Any, str | None] = {}
    counts: Counter[tuple[str, int]] = Counter()
    for function, arrays in calls:
        if function.label == 'Cast':  # Caffe has one dtype; of a weight, the array is written as it was computed with
            names[function] = _origin(function.inputs[0], x, names)
            continue
        key = function.label, function.rank
        counts[key] += 1
        name = names[function] = f'{function.label}-{function.rank}-{counts[key]}'
        layers = _converted(function, name, arrays)
        bottoms = _bottoms(function, name, x, names)
        for layer in layers:
            yield name + layer.suffix, layer, bottoms
            bottoms = [name + layer.suffix]


def _reachable(outputs: Any) -> set[Any]:
    """The functions that outputs come from."""
    found: set[Any] = set()
    variables = outputs if isinstance(outputs, (tuple, list)) else [outputs]
    if not all(isinstance(y, Variable) for y in variables):
        raise TypeError(f'export: the model must return Variables, got {type(outputs).__name__}')
    pending = [y.creator_node for y in variables if y.creator_node is not None]
    while pending:
        function = pending.pop()
        if function not in found:
            found.add(function)
            pending.extend(node.creator_node for node in function.inputs if node.creator_node is not None)
    return found


def _origin(node: Any, x: Variable, names: Mapping[Any, str | None]) -> str | None:
    """The name of what makes an array: a layer, or the input; None for others, such as weights."""
    return _INPUT if node is x.node else names.get(node.creator_node)


def _bottoms(function: Any, name: str, x: Variable, names: Mapping[Any, str | None]) -> list[str]:
    """Names of the layers that inputs come from."""
    nodes = function.inputs[: DATA_INPUTS.get(function.label)]
    found = [_origin(node, x, names) for node in nodes]
    if None in found:
        raise ValueError(f'export: {name} cannot be written: its input {found.index(None)} is made by no layer')
    return [bottom for bottom in found if bottom is not None]


def _converted(function: Any, name: str, arrays: Any) -> list[Layer]:
    if function.label not in CONVERTERS:
        known = ', '.join(CONVERTERS)
        raise ValueError(f'export: {name} cannot be written: Caffe has no such function; supported are {known}')
    try:
        return CONVERTERS[function.label](function, [to_cpu(x) for x in arrays])
    except NotConvertible as error:
        raise ValueError(f'export: {name} cannot be written: {error}') from error


# --- the files -----------------------------------------------------------------------------------------------------
def _add_layer(net: Any, name: str, layer: Layer, bottoms: list[str]) -> None:
    message = net.layer.add(name=name, type=layer.kind, bottom=bottoms, top=[name], phase=1)
    if layer.message:
        _fill(getattr(message, layer.message), layer.options)
    for array in layer.blobs:
        write_blob(message.blobs.add(), array)


def _fill(message: Any, options: Mapping[str, Any]) -> None:
    for name, value in options.items():
        if isinstance(value, dict):
            _fill(getattr(message, name), value)
        elif isinstance(value, list):
            getattr(message, name).extend(value)
        else:
            setattr(message, name, value)


def _input_text(name: str, shape: Sequence[int]) -> str:
    sizes = ' '.join(f'dim: {size}' for size in shape)
    lines = f'name: "{_INPUT}"', 'type: "Input"', f'top: "{_INPUT}"', f'input_param {{ shape: {{ {sizes} }} }}'
    return '\n'.join([f'name: "{name}"', 'layer {', *[f'  {line}' for line in lines], '}'])


def _layer_text(name: str, layer: Layer, bottoms: Sequence[str]) -> str:
    fields = [('type', layer.kind), ('name', name), *(('bottom', bottom) for bottom in bottoms), ('top', name)]
    lines = [f'  {key}: "{value}"' for key, value in fields]
    if layer.message:
        lines += _message_text(layer.message, layer.options, '  ')
    return '\n'.join(['layer {', *lines, '}'])


def _message_text(name: str, options: Mapping[str, Any], indent: str) -> list[str]:
    lines = [f'{indent}{name} {{']
    for key, value in options.items():
        if isinstance(value, dict):
            lines += _message_text(key, value, f'{indent}  ')
        else:
            values = value if isinstance(value, list) else [value]
            lines += [f'{indent}  {key}: {str(v).lower() if isinstance(v, bool) else v}' for v in values]
    return [*lines, f'{indent}}}']


def _write(directory: Any, name: str, content: bytes) -> None:
    """Writes a file; it appears when it is complete."""
    with replacing(os.path.join(directory, name)) as part, open(part, 'wb') as file:
        file.write(content)
