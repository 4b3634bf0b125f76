"""``dir`` of a package, and errors about names that it does not have."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any

from minichainer.errors import RemovedArgumentError


def namespace(
    package: str, modules: Iterable[str] = (), later: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` of a package: ``dir`` lists its public names, and each of them exists.

    The public names are those in ``__all__`` or, without one, all names except modules and private ones.

    Hide the ``__getattr__`` from type checkers, or else they accept every name.

    Args:
        package: its name.
        modules: the modules of it that are public; they are loaded at the first access.
        later: public names, and the modules of the package that define them and are loaded later.
    """
    modules, later = frozenset(modules), later or {}

    def find(name: str) -> Any:
        if name in modules:
            return importlib.import_module(f'{package}.{name}')
        if name not in later:
            raise _missing(package, name, listed())
        value = getattr(importlib.import_module(f'{package}.{later[name]}'), name)
        vars(sys.modules[package])[name] = value
        return value

    def listed() -> list[str]:
        found = vars(sys.modules[package])
        plain = [name for name in found.get('__all__', found) if not isinstance(found.get(name), ModuleType)]
        return sorted({*(name for name in plain if name[0] != '_' or name == '__version__'), *modules, *later})

    return find, listed


def submodules(package: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package that has modules and no names of its own: they are loaded when needed."""

    def find(name: str) -> Any:
        module = f'{package}.{name}'
        try:
            return importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module:
                raise
            raise _missing(package, name, ()) from None

    return find


def _missing(package: str, name: str, listed: Iterable[str]) -> AttributeError:
    text = f'module {package!r} has no attribute {name!r}'
    if not name.startswith('_'):
        from minichainer._elsewhere import elsewhere
        from minichainer._former_names import former

        path = f'{package}.{name}'.partition('.')[2]
        text += former(path) or elsewhere(path) or advice(name, listed)
    return AttributeError(text, name=name)  # with a name, Python adds no suggestion


def advice(name: str, listed: Iterable[str]) -> str:
    """What to write instead of a missing name; empty if no known name resembles it."""
    import difflib

    listed = list(listed)
    in_lower_case = {known.lower(): known for known in listed}
    close = difflib.get_close_matches(name, listed, n=1, cutoff=0.7)
    if not close or name.lower() in in_lower_case:
        close = difflib.get_close_matches(name.lower(), in_lower_case, n=1, cutoff=0.7)
    return f': did you mean {in_lower_case.get(close[0], close[0])!r}?' if close else ''


#: What other frameworks call arguments. The first name that a function has is meant.
_ELSEWHERE = {
    # layers
    'in_features': 'in_size', 'out_features': 'out_size', 'input_size': 'in_size', 'input_dim': 'in_size',
    'hidden_size': 'out_size', 'units': 'out_size', 'filters': 'out_channels', 'num_layers': 'n_layers',
    'num_embeddings': 'in_size', 'embedding_dim': 'out_size', 'output_dim': 'out_size', 'padding_idx': 'ignore_label',
    'num_features': 'size', 'kernel_initializer': 'initialW', 'bias_initializer': 'initial_bias',
    'weight': 'class_weight initialW W', 'num_groups': 'groups', 'normalized_shape': 'size',
    # windows
    'kernel_size': 'ksize', 'pool_size': 'ksize', 'kernel': 'ksize', 'padding': 'pad', 'strides': 'stride',
    'dilation': 'dilate', 'dilation_rate': 'dilate', 'ceil_mode': 'cover_all', 'bias': 'b initial_bias',
    'output_size': 'outsize output_shape', 'size': 'output_shape shape',
    # axes and shapes
    'dim': 'axis', 'dims': 'axes axis', 'dim0': 'axis1', 'dim1': 'axis2', 'axes': 'axis', 'perm': 'axes',
    'axis': 'axes', 'keepdim': 'keepdims', 'newshape': 'shape', 'repeats': 'repeats reps', 'tensors': 'xs',
    'arrays': 'xs',
    # values
    'p': 'ratio dropout', 'rate': 'ratio', 'prob': 'ratio', 'epsilon': 'eps', 'eps': 'epsilon', 'min': 'x_min',
    'max': 'x_max', 'a_min': 'x_min', 'a_max': 'x_max', 'negative_slope': 'slope', 'alpha': 'slope', 'input': 'x',
    'target': 't', 'other': 'y', 'running_mean': 'mean', 'running_var': 'var',
    'reduction': 'reduce', 'ignore_index': 'ignore_label', 'weights': 'class_weight',
    # optimizers and data
    'lr': 'alpha', 'learning_rate': 'lr alpha', 'step_size': 'lr alpha', 'beta_1': 'beta1', 'beta_2': 'beta2',
    'rho': 'alpha', 'weight_decay': 'weight_decay_rate', 'batchsize': 'batch_size',
    'num_workers': 'n_processes n_threads', 'workers': 'n_processes n_threads', 'prefetch_factor': 'n_prefetch',
    'sampler': 'order_sampler',
}  # fmt: skip
#: What is said elsewhere by an argument, and here in another way.
_OTHERWISE = {
    'inplace': 'leave it out, nothing is computed in place',
    'training': "write chainer.using_config('train', training)",
    'betas': 'write beta1=betas[0], beta2=betas[1]',
    'weight_decay': 'write optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(weight_decay))',
    'momentum': 'write chainer.optimizers.MomentumSGD(momentum=momentum)',
    'nesterov': 'write chainer.optimizers.NesterovAG()',
    'num_workers': 'write chainer.iterators.MultiprocessIterator(dataset, batch_size, n_processes=num_workers)',
    'drop_last': 'leave it out; with repeat=True every mini-batch is full',
    'epochs': "the number of epochs is the trainer's: (epochs, 'epoch')",
    'activation': 'apply the function to the result, as in F.relu(link(x))',
    'label_smoothing': 'give shares as t, float of the shape of x',
    'return_sequences': 'call the link once per step and collect the results',
    'bidirectional': 'there are links of their own, such as NStepBiLSTM',
    'batch_first': 'leave it out',
}


#: Arguments that Chainer v1 had, and what to write instead.
_REMOVED = {
    'deterministic': "use chainer.using_config('cudnn_deterministic', True)",
    'finetune': "give it to the call, under chainer.using_config('train', True)",
    'test': "use chainer.using_config('train', False)",
    'train': "use chainer.using_config('train', False)",
    'use_cudnn': "use chainer.using_config('use_cudnn', 'never')",
    'volatile': "use chainer.using_config('enable_backprop', False), or chainer.no_backprop_mode()",
}


def unknown_arguments(text: str, given: Iterable[str], names: Iterable[str]) -> TypeError:
    """The error for arguments that a function does not have; also a ValueError if one of them was removed.

    Args:
        text: the beginning of the message.
        given: the names of the arguments that are not known.
        names: those that are.
    """
    given = list(given)
    removed = [f'{name} is not supported since Chainer v2: {_REMOVED[name]}' for name in given if name in _REMOVED]
    if removed:
        return RemovedArgumentError(f'{text}: {"; ".join(removed)}')
    return TypeError(text + argument_advice(given[0], names))


def argument_advice(name: str, names: Iterable[str]) -> str:
    """What to write instead of an unknown argument; empty if that is not known."""
    names = list(names)
    if name in ('bias', 'use_bias') and 'nobias' in names:
        return ": did you mean 'nobias', which is the opposite?"
    if name == 'momentum' and 'decay' in names:
        return ": 'decay' is what of the old average is kept, write decay=1 - momentum"
    meant = [other for other in _ELSEWHERE.get(name, '').split() if other in names]
    if meant:
        return f': did you mean {meant[0]!r}?'
    return f': {_OTHERWISE[name]}' if name in _OTHERWISE else advice(name, names)
