"""Arguments that Chainer v1 took: one table of signatures, and what each argument that is gone means today.

A row is a callable and its parameters in v1's order, with v1's default where that differs from today's. Arguments by
position get their v1 names, then those that are gone are translated: into a setting for the time of the call, or into
another argument.
"""

from __future__ import annotations

import contextlib
import functools
import math
import sys
from collections.abc import Callable, Mapping
from typing import Any

from minichainer.compat.changes import Changes
from minichainer.compat.legacy.packages import caffe, functions, links
from minichainer.compat.legacy.volatile import is_on
from minichainer.configuration import using_config
from minichainer.initializers.normal import LeCunNormal

_FUNCTIONS = """
    dropout: x ratio train
    zoneout: h x ratio train
    relu: x use_cudnn
    sigmoid: x use_cudnn
    tanh: x use_cudnn
    softmax: x use_cudnn axis
    log_softmax: x use_cudnn
    max_pooling_2d: x ksize stride pad cover_all use_cudnn
    max_pooling_nd: x ksize stride pad cover_all use_cudnn
    average_pooling_2d: x ksize stride pad use_cudnn
    average_pooling_nd: x ksize stride pad use_cudnn
    spatial_pyramid_pooling_2d: x pyramid_height pooling_class use_cudnn
    spatial_transformer_grid: theta output_shape use_cudnn
    spatial_transformer_sampler: x grid use_cudnn
    softmax_cross_entropy: x t use_cudnn normalize cache_score class_weight ignore_label reduce
    sigmoid_cross_entropy: x t use_cudnn normalize reduce
    convolution_2d: x W b stride pad use_cudnn cover_all deterministic
    convolution_nd: x W b stride pad use_cudnn cover_all
    deconvolution_2d: x W b stride pad outsize use_cudnn deterministic
    deconvolution_nd: x W b stride pad outsize use_cudnn
    dilated_convolution_2d: x W b stride pad dilate use_cudnn cover_all
    batch_normalization: x gamma beta eps running_mean running_var decay use_cudnn
    fixed_batch_normalization: x gamma beta mean var eps use_cudnn
    n_step_lstm: n_layers dropout_ratio hx cx ws bs xs train use_cudnn
    n_step_bilstm: n_layers dropout_ratio hx cx ws bs xs train use_cudnn
    n_step_gru: n_layers dropout_ratio hx ws bs xs train use_cudnn
    n_step_bigru: n_layers dropout_ratio hx ws bs xs train use_cudnn
    n_step_rnn: n_layers dropout_ratio hx ws bs xs train use_cudnn activation
    n_step_birnn: n_layers dropout_ratio hx ws bs xs train use_cudnn activation
    split_axis: x indices_or_sections axis force_tuple=False
"""
_CONSTRUCTORS = """
    Linear: in_size out_size wscale bias nobias initialW initial_bias
    Convolution2D: in_channels out_channels ksize stride pad wscale bias nobias use_cudnn initialW initial_bias deterministic
    Deconvolution2D: in_channels out_channels ksize stride pad wscale bias nobias outsize use_cudnn initialW initial_bias deterministic
    DilatedConvolution2D: in_channels out_channels ksize stride pad dilate wscale bias nobias use_cudnn initialW initial_bias
    ConvolutionND: ndim in_channels out_channels ksize stride pad initialW initial_bias use_cudnn cover_all
    DeconvolutionND: ndim in_channels out_channels ksize stride pad outsize initialW initial_bias use_cudnn
    MLPConvolution2D: in_channels out_channels ksize stride pad wscale activation use_cudnn conv_init=None bias_init
    Maxout: in_size out_size pool_size wscale initialW initial_bias
    BatchNormalization: size decay eps dtype use_gamma use_beta initial_gamma initial_beta use_cudnn
    NStepLSTM: n_layers in_size out_size dropout use_cudnn
    NStepBiLSTM: n_layers in_size out_size dropout use_cudnn
    NStepGRU: n_layers in_size out_size dropout use_cudnn
    NStepBiGRU: n_layers in_size out_size dropout use_cudnn
    NStepRNNReLU: n_layers in_size out_size dropout use_cudnn
    NStepRNNTanh: n_layers in_size out_size dropout use_cudnn
    NStepBiRNNReLU: n_layers in_size out_size dropout use_cudnn
    NStepBiRNNTanh: n_layers in_size out_size dropout use_cudnn
"""  # noqa: E501
_CALLS = """
    BatchNormalization.forward: x test finetune
    InceptionBN.forward: x test
    NStepLSTM.forward: hx cx xs train
    NStepBiLSTM.forward: hx cx xs train
    NStepGRU.forward: hx xs train
    NStepBiGRU.forward: hx xs train
    NStepRNNReLU.forward: hx xs train
    NStepRNNTanh.forward: hx xs train
    NStepBiRNNReLU.forward: hx xs train
    NStepBiRNNTanh.forward: hx xs train
    Parameter.forward: volatile
    GoogLeNet.forward: x layers train=False
    GoogLeNet.extract: images layers size train=False volatile
    GoogLeNet.predict: images oversample
    VGG16Layers.forward: x layers test=True
    VGG16Layers.extract: images layers size test=True volatile
    ResNet50Layers.forward: x layers test=True
    ResNet50Layers.extract: images layers size test=True volatile
    ResNet101Layers.forward: x layers test=True
    ResNet101Layers.extract: images layers size test=True volatile
    ResNet152Layers.forward: x layers test=True
    ResNet152Layers.extract: images layers size test=True volatile
"""
_CAFFE = 'forward: inputs outputs disable train'

Arguments = dict[str, Any]
_CONSTANTS = {'True': True, 'False': False, 'None': None}


# --- what the arguments mean ---------------------------------------------------------------------------------------
#: As settings during the call.
_SETTINGS: dict[str, Callable[[Any], tuple[str, Any]]] = {
    'train': lambda value: ('train', bool(value)),
    'test': lambda value: ('train', not value),
    'use_cudnn': lambda value: ('use_cudnn', 'auto' if value else 'never'),
    'deterministic': lambda value: ('cudnn_deterministic', bool(value)),
    'volatile': lambda value: ('enable_backprop', not is_on(value)),
}


def _scale_weights(kwargs: Arguments, wscale: Any) -> None:
    """The standard deviation of the weights is proportional to the square root of ``wscale``."""
    if wscale != 1:
        name = 'initialW' if 'conv_init' not in kwargs else 'conv_init'
        kwargs[name] = _scaled(kwargs.get(name), math.sqrt(wscale))


def _scaled(initializer: Any, scale: float) -> Any:
    if initializer is None:
        return LeCunNormal(scale)
    if callable(initializer):
        return functools.partial(_fill_scaled, initializer, scale)
    return initializer * scale


def _fill_scaled(initializer: Any, scale: float, array: Any) -> None:
    initializer(array)
    array *= scale


def _set_bias(kwargs: Arguments, bias: Any) -> None:
    if kwargs.get('initial_bias') is None:
        kwargs['initial_bias'] = bias


def _set_pooling(kwargs: Arguments, pooling_class: Any) -> None:
    if getattr(pooling_class, '__name__', '') != 'MaxPooling2D':
        raise ValueError(f'spatial_pyramid_pooling_2d: expected F.MaxPooling2D, got {pooling_class!r}')
    kwargs['pooling'] = 'max'


#: As other arguments.
_ARGUMENTS: dict[str, Callable[[Arguments, Any], None]] = {
    'wscale': _scale_weights,
    'bias': _set_bias,
    'pooling_class': _set_pooling,
    'p': lambda kwargs, value: kwargs.update(ratio=value),
}


# --- the translation -----------------------------------------------------------------------------------------------
class Signature:
    """A row: v1's parameters of a callable.

    Args:
        text: names in v1's order, some with ``=`` and v1's default.
    """

    def __init__(self, text: str) -> None:
        pairs = [name.partition('=') for name in text.split()]
        self.names = [name for name, _, _ in pairs]
        self.defaults = {name: _CONSTANTS[value] for name, sign, value in pairs if sign}
        gone = [i for i, name in enumerate(self.names) if name in _SETTINGS or name in _ARGUMENTS]
        #: How many arguments are in the same place today.
        self.common = gone[0] if gone else 0

    def translate(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[list[Any], Arguments]:
        """Positional and keyword arguments of v1 as those of today, and settings: ``'!train'`` stands for one.

        Args:
            args: by position.
            kwargs: by name.
        """
        named = dict(zip(self.names[self.common :], args[self.common :], strict=False))
        twice = named.keys() & kwargs.keys()
        if twice or len(args) > len(self.names):
            raise TypeError(f'got too many arguments, or several values for {sorted(twice)}; expected {self.names}')
        given: Arguments = {**self.defaults, **named, **kwargs}
        if self.common == 0 and not any(name in _SETTINGS or name in _ARGUMENTS for name in self.names):
            given = {**dict(zip(self.names, args, strict=False)), **given}
        return list(args[: self.common]), given


def _settings_of(given: Arguments, own: frozenset[str]) -> list[tuple[str, Any]]:
    """Takes the arguments that are gone out of the given ones; returns settings for the call."""
    settings = [_SETTINGS[name](given.pop(name)) for name in _SETTINGS if name in given and name not in own]
    for name, change in _ARGUMENTS.items():
        if name in given and name not in own:
            change(given, given.pop(name))
    return settings


def translated(original: Callable[..., Any], text: str, own: str = '', is_method: bool = False) -> Callable[..., Any]:
    """A callable that takes v1's arguments too, when the program calls it.

    Args:
        original: the callable.
        text: v1's parameters, see :class:`Signature`.
        own: names that it takes today, though they mean something else elsewhere.
        is_method: whether its first argument is the object.
    """
    signature, kept, skipped = Signature(text), frozenset(own.split()), int(is_method)

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if _from_the_package():
            return original(*args, **kwargs)
        positional, named = signature.translate(args[skipped:], kwargs)
        with contextlib.ExitStack() as stack:
            for name, value in _settings_of(named, kept):
                stack.enter_context(using_config(name, value))
            return original(*args[:skipped], *positional, **named)

    return call


_PACKAGE = f'{__name__.partition(".")[0]}.'
_CALLERS_FOR_PROGRAMS = f'{_PACKAGE}link.', f'{_PACKAGE}compat.'


def _from_the_package() -> bool:
    """Whether a module of this package makes the call, other than those that pass on calls of programs."""
    caller = sys._getframe(2).f_globals.get('__name__', '')
    return caller.startswith(_PACKAGE) and not caller.startswith(_CALLERS_FOR_PROGRAMS)


def _rows(table: str) -> list[list[str]]:
    return [line.strip().split(': ') for line in table.strip().splitlines()]


def install(changes: Changes) -> None:
    """Lets functions and links take v1's arguments.

    Args:
        changes: that undo it.
    """
    for name, text in _rows(_FUNCTIONS):
        own = 'train' if name == 'simplified_dropconnect' else ''
        changes.set(functions, name, translated(getattr(functions, name), text, own))
    for name, text in _rows(_CONSTRUCTORS):
        cls = getattr(links, name)
        changes.set(cls, '__init__', translated(cls.__init__, text, is_method=True))
    for path, text in _rows(_CALLS):
        name, _, method = path.partition('.')
        cls = getattr(links, name)
        changes.set(cls, method, translated(getattr(cls, method), text, is_method=True))
    method, text = _CAFFE.split(': ')
    changes.set(caffe.CaffeFunction, method, translated(caffe.CaffeFunction.forward, text, is_method=True))
