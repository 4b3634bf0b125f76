"""Settings: one global object, and values per thread that override it.

Code reads and writes ``config``, which looks up values of the current thread first, then ``global_config``.
``using_config`` changes a value inside a ``with`` block.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import warnings
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

import numpy

from minichainer._frames import stacklevel
from minichainer._names import advice
from minichainer.errors import UnknownNameWarning

#: The number of settings that change the tape's behaviour (``enable_backprop``, ``debug``, ...) and of function
#: hooks, in all threads. The hot path of every op reads only this number, and looks at thread-local state only if it
#: is not zero, because a thread-local look-up costs as much as the rest of an op's bookkeeping.
#:
#: What is counted and the number change in one statement (:func:`put_counted`) that calls nothing: the interpreter
#: looks at signals, and lets other threads run, only at calls, their ends and jumps back. A lock could not do that:
#: an exception that a signal raises would come between the two changes all the same.
nondefault = 0

_TAPE_DEFAULTS = {'enable_backprop': True, 'debug': False, 'detect_anomaly': False, 'use_native_kernels': True}
#: The settings that are counted: for all threads, and those of one thread, which notes what it has counted for each.
_COUNTED_FOR_ALL = (*_TAPE_DEFAULTS, 'check_inplace')
_NONE_COUNTED = dict.fromkeys([*_COUNTED_FOR_ALL, 'record_constants'], 0)
#: The values of the settings that have a list of them. Chainer's own are compared where they are used, as in Chainer.
_CHOICES: dict[str, tuple[Any, ...]] = {
    'check_inplace': ('warn', 'error', 'off'),
    'detect_anomaly': (False, True, 'tracebacks'),
    'gradcheck_strictness': ('strict', 'chainer'),
    'tied_parameters': ('once', 'each'),
    'winograd': ('exact', 'fast'),
}
_UNSET = object()


def count_nondefault(change: int) -> None:
    """Adds ``change`` to the number of tape-changing settings and hooks."""
    global nondefault
    nondefault += change


def put_counted(place: Any, key: Any, value: Any, change: int = 1) -> None:
    """Stores something that ops must look at, and counts it, with nothing in between.

    Args:
        place: a dict, or a list.
        key: the key in it; for a list, a slice.
        value: what is stored there, such as a hook.
        change: what is added to :data:`nondefault`.
    """
    global nondefault
    place[key], nondefault = value, nondefault + change


def take_counted(place: Any, key: Any) -> None:
    """Removes what :func:`put_counted` has stored, with nothing in between.

    Args:
        place: the dict or list.
        key: the key, or the index.

    Raises:
        LookupError: it is not there.
    """
    global nondefault
    value = place[key]  # so that it is not freed, which may call anything, before the number is right
    del place[key]
    nondefault -= 1
    del value


def _as_choice(name: str, value: Any) -> Any:
    """A value of a setting with a list of values, if it is one of them.

    Raises:
        ValueError: it is not.
    """
    choices = _CHOICES[name]
    if isinstance(value, (bool, numpy.bool_)):
        value = bool(value)
        if name == 'check_inplace':
            return 'warn' if value else 'off'
    if isinstance(value, (str, bool)) and value in choices:
        return value
    *first, last = map(repr, choices)
    note = ' (or True for the default, False for off)' if name == 'check_inplace' else ''
    raise ValueError(f'config.{name} must be {", ".join(first)} or {last}{note}, got {value!r}')


def _weight(name: str, value: Any) -> int:
    if name == 'check_inplace':
        return int(value == 'error')  # other values are asked for only when a modification was found
    if name == 'record_constants':
        return 1  # the short forms of calls read the global value only
    return int(bool(value) is not _TAPE_DEFAULTS[name])


def _put(entries: dict[str, Any], counted: dict[str, int], name: str, value: Any) -> None:
    """Sets a value, and counts it; corrects what has been counted for this name."""
    global nondefault
    if name in counted:
        weight = _weight(name, value)
        entries[name], nondefault, counted[name] = value, nondefault + weight - counted[name], weight
    else:
        entries[name] = value


def _take(entries: dict[str, Any], counted: dict[str, int], name: str) -> None:
    """Removes a value, and what has been counted for it."""
    global nondefault
    if name not in counted:
        del entries[name]
        return
    value = entries[name]
    del entries[name]
    nondefault, counted[name] = nondefault - counted[name], 0
    del value


def _flag(name: str, default: bool) -> bool:
    return bool(int(os.environ.get(name, '1' if default else '0')))


class _Mixed16:
    """The type of :data:`mixed16`, a singleton."""

    #: Its NumPy equivalent.
    dtype = numpy.dtype('float16')

    def __repr__(self) -> str:
        return "dtype('mixed16')"

    def __reduce__(self) -> str:
        return 'mixed16'


#: A value of ``config.dtype``: float16 data with float32 statistics.
mixed16 = _Mixed16()


class _Settings:
    """The settings; both levels have them. Users may add others."""

    autotune: bool
    check_inplace: str
    compute_mode: Any
    cudnn_deterministic: bool
    constant_results: bool | str
    cudnn_fast_batch_normalization: bool
    debug: bool
    detect_anomaly: bool
    dtype: Any
    enable_backprop: bool
    gradcheck_strictness: str
    in_recomputing: bool
    keep_graph_on_report: bool
    lazy_grad_sum: bool
    record_constants: bool
    schedule_func: Any
    tied_parameters: str
    train: bool
    type_check: bool
    use_cudnn: str
    use_cudnn_tensor_core: str
    use_ideep: str
    use_native_kernels: bool
    use_static_graph: bool
    warn_nondeterministic: bool
    winograd: str


class GlobalConfig(_Settings):
    """Values for all threads that have not set their own.

    Environment variables give the initial values of some: ``CHAINER_DEBUG``, ``CHAINER_DTYPE``,
    ``CHAINER_TYPE_CHECK``, ``CHAINER_KEEP_GRAPH_ON_REPORT``, ``CHAINER_USE_CUDNN``, ``CHAINER_AUTOTUNE``.

    Chainer does not have these: ``check_inplace`` (what follows if a saved array was modified before backward:
    'warn', 'error' or 'off'; True means 'warn', False means 'off'), ``constant_results`` (results without a graph
    require no gradient, as in torch), ``detect_anomaly`` (see ``autograd.detect_anomaly``),
    ``gradcheck_strictness`` (whether gradient checks are 'strict' or accept what Chainer's own accept, 'chainer'),
    ``record_constants`` (functions of constants are nodes, which results have as ``creator``, as in Chainer),
    ``tied_parameters`` (updates change a parameter that a model has several times 'once', or 'each' time, as in
    Chainer), ``use_native_kernels`` (compiled kernels on NumPy arrays, where they were built) and ``winograd``
    ('exact', or 'fast': compiled convolutions with 3 x 3 filters and many channels use larger tiles, whose error is
    6e-6 of the largest result in float32, not 4e-7; without compiled kernels, and on devices, 'fast' is 'exact').
    Those that have a list of values refuse others with a ValueError.

    >>> import minichainer as chainer
    >>> chainer.global_config.train
    True
    """

    # Chainer's entries are attributes of its class, too.
    autotune: bool = False
    compute_mode: Any = None
    cudnn_deterministic: bool = False
    cudnn_fast_batch_normalization: bool = False
    debug: bool = False
    dtype: Any = None
    enable_backprop: bool = True
    in_recomputing: bool = False
    keep_graph_on_report: bool = False
    lazy_grad_sum: bool = False
    record_constants: bool = False
    schedule_func: Any = None
    tied_parameters: str = 'once'
    train: bool = True
    type_check: bool = True
    use_cudnn: str = 'auto'
    use_cudnn_tensor_core: str = 'auto'
    use_ideep: str = 'never'
    use_native_kernels: bool = True
    use_static_graph: bool = True
    warn_nondeterministic: bool = False
    winograd: str = 'exact'

    def __init__(self) -> None:
        self.autotune = _flag('CHAINER_AUTOTUNE', False)
        self.check_inplace = 'warn'
        self.compute_mode = None
        self.constant_results = False
        self.cudnn_deterministic = _flag('CHAINER_CUDNN_DETERMINISTIC', False)
        self.cudnn_fast_batch_normalization = False
        self.debug = _flag('CHAINER_DEBUG', False)
        self.detect_anomaly = False
        self.dtype = _dtype_from_environment()
        self.enable_backprop = True
        self.gradcheck_strictness = 'strict'
        self.in_recomputing = False
        self.keep_graph_on_report = _flag('CHAINER_KEEP_GRAPH_ON_REPORT', False)
        self.lazy_grad_sum = False
        self.record_constants = False
        self.schedule_func = None
        self.tied_parameters = 'once'
        self.train = True
        self.type_check = _flag('CHAINER_TYPE_CHECK', True)
        self.use_cudnn = os.environ.get('CHAINER_USE_CUDNN', 'auto')
        self.use_cudnn_tensor_core = 'auto'
        self.use_ideep = 'never'
        self.use_native_kernels = True
        self.use_static_graph = True
        self.warn_nondeterministic = False
        self.winograd = 'exact'

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _CHOICES:
            value = _as_choice(name, value)
        _put(self.__dict__, self._counted(name), name, value)

    def __delattr__(self, name: str) -> None:
        if name not in self.__dict__:
            raise AttributeError(f'global_config.{name} is not set', name=name)
        _take(self.__dict__, self._counted(name), name)

    def _counted(self, name: str) -> dict[str, int]:
        """What is counted for one setting."""
        if name not in _COUNTED_FOR_ALL:
            return {}
        return {name: _weight(name, self.__dict__[name]) if name in self.__dict__ else 0}

    def show(self, file: Any = None) -> None:
        """Prints every entry and its value to ``file`` (standard output by default)."""
        _show(sorted(self.__dict__.items()), file)


def _warn_of_name(name: str, known: Iterable[str]) -> None:
    """Warns of a new setting whose name resembles a known one; users may add others."""
    meant = advice(name, known)
    if meant:
        message = f'config: there is no setting {name!r}, so setting it has no effect{meant}'
        warnings.warn(message, UnknownNameWarning, stacklevel=stacklevel())


def _dtype_from_environment() -> Any:
    """The default dtype from the environment variable ``CHAINER_DTYPE``."""
    name = os.environ.get('CHAINER_DTYPE', 'float32')
    if name == 'mixed16':
        return mixed16
    if name not in ('float16', 'float32', 'float64'):
        raise TypeError(f'CHAINER_DTYPE is {name!r}: expected float16, mixed16, float32 or float64')
    return numpy.dtype(name)


def _show(items: list[tuple[str, Any]], file: Any) -> None:
    file = sys.stdout if file is None else file
    width = max((len(name) for name, _ in items), default=0)
    for name, value in items:
        print(f'{name:<{width}} {value}', file=file)


class _ThreadValues(threading.local):
    """The values of one thread; subtracts its share of the count when the thread ends."""

    def __init__(self) -> None:
        self.values = _CountedValues()


class _CountedValues:
    def __init__(self) -> None:
        self.entries: dict[str, Any] = {}
        self.counted = _NONE_COUNTED.copy()

    def __del__(self) -> None:
        if count_nondefault is None:  # the interpreter exits and has cleared this module
            return
        count_nondefault(-sum(self.counted.values()))


class LocalConfig(_Settings):
    """The settings of one thread: its own values, or else those of ``global_config``.

    Setting an attribute changes it for the current thread only; deleting it restores the global value.

    >>> import minichainer as chainer
    >>> with chainer.using_config('train', False):
    ...     chainer.config.train
    False
    """

    def __init__(self, global_config: GlobalConfig) -> None:
        object.__setattr__(self, '_global', global_config)
        object.__setattr__(self, '_local', _ThreadValues())

    def __getattr__(self, name: str) -> Any:
        if name in ('_local', '_global'):  # of a copy that is being made
            raise AttributeError(name)
        entries = self._local.values.entries
        if name in entries:
            return entries[name]
        try:
            return getattr(self._global, name)
        except AttributeError:
            known = {**self._global.__dict__, **entries}
            raise AttributeError(f'config has no setting {name!r}{advice(name, known)}', name=name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _CHOICES:
            value = _as_choice(name, value)
        values = self._local.values
        if name not in values.entries and name not in self._global.__dict__:
            _warn_of_name(name, self._global.__dict__)
        _put(values.entries, values.counted, name, value)

    def __delattr__(self, name: str) -> None:
        values = self._local.values
        if name not in values.entries:
            raise AttributeError(f'config.{name} is not set in this thread')
        _take(values.entries, values.counted, name)

    def show(self, file: Any = None) -> None:
        """Prints every entry of this thread to ``file`` (standard output by default)."""
        _show(sorted({**self._global.__dict__, **_own_values(self)}.items()), file)


global_config = GlobalConfig()
config = LocalConfig(global_config)


class _UsingConfig(contextlib.ContextDecorator):
    """A temporary change of one setting, undone at the end of the block; may be entered repeatedly and nested.

    An exception inside of ``__enter__`` or ``__exit__``, such as that of a signal, leaves the setting as it was
    before the block. Only where it is raised before the first line of ``__exit__`` nobody can undo the change.
    """

    def __init__(self, name: str, value: Any, config: Any) -> None:
        self._name, self._value, self._config = name, value, config
        #: Its own value in ``config``, for each block that has been entered.
        self._before: list[Any] = []

    def _recreate_cm(self) -> _UsingConfig:
        return _UsingConfig(self._name, self._value, self._config)

    def __enter__(self) -> None:
        self._before.append(_own_values(self._config).get(self._name, _UNSET))
        try:
            setattr(self._config, self._name, self._value)
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: Any) -> None:
        try:
            self._restore()
        except BaseException:
            self._restore()
            raise
        finally:
            self._before.pop()

    def _restore(self) -> None:
        before = self._before[-1]
        if before is not _UNSET:
            setattr(self._config, self._name, before)
        elif self._name in _own_values(self._config):  # it may have been reset in the block
            delattr(self._config, self._name)


class using_settings(_UsingConfig):
    """Context manager that temporarily changes several settings of this thread: all of them or none."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values
        self._before = []

    def _recreate_cm(self) -> using_settings:
        return using_settings(self._values)

    def discard(self) -> None:
        """Undoes the change if an interrupt at the end of the block has left it."""
        if self._before:
            self.__exit__()

    def _settings(self) -> dict[str, Any]:
        return self._values

    def __enter__(self) -> None:
        own, values = _own_values(config), self._settings()
        self._before.append([(name, own.get(name, _UNSET)) for name in values])
        try:
            for name, value in values.items():
                setattr(config, name, value)
        except BaseException:
            self.__exit__()
            raise

    def _restore(self) -> None:
        for name, before in self._before[-1]:
            if before is not _UNSET:
                setattr(config, name, before)
            elif name in _own_values(config):
                delattr(config, name)


def _swapped(name: Any, value: Any) -> str:
    return f'using_config({value!r}, {name!r})' if isinstance(value, str) else "using_config('train', False)"


def _own_values(config: Any) -> dict[str, Any]:
    entries: dict[str, Any] = config._local.values.entries if isinstance(config, LocalConfig) else config.__dict__
    return entries


def using_config(name: str, value: Any, config: Any = config) -> AbstractContextManager[None]:
    """Context manager (and decorator) that temporarily changes one setting.

    Args:
        name: name of the setting.
        value: its value inside the block.
        config: which settings to change; those of the current thread by default, ``global_config`` for all.

    >>> import minichainer as chainer
    >>> with chainer.using_config('dtype', 'float64'):
    ...     chainer.config.dtype
    'float64'
    """
    if not isinstance(name, str):
        raise TypeError(
            f'using_config: the name of a setting expected first, got {name!r}; write {_swapped(name, value)}'
        )
    return _UsingConfig(name, value, config)


def current_settings() -> dict[str, Any]:
    """All settings of this thread by name."""
    return {**global_config.__dict__, **_own_values(config)}


def no_backprop_mode() -> AbstractContextManager[None]:
    """Context manager in which no graph is built, to save memory and time in inference.

    >>> import numpy as np, minichainer as chainer
    >>> x = chainer.Variable(np.ones(3, np.float32))
    >>> with chainer.no_backprop_mode():
    ...     y = x + 1
    >>> y.creator is None
    True
    """
    return _UsingConfig('enable_backprop', False, config)


def force_backprop_mode() -> AbstractContextManager[None]:
    """Context manager in which the graph is built even inside :func:`no_backprop_mode`.

    >>> import numpy as np, minichainer as chainer
    >>> x = chainer.Variable(np.ones(3, np.float32))
    >>> with chainer.no_backprop_mode(), chainer.force_backprop_mode():
    ...     y = x + 1
    >>> y.creator is None
    False
    """
    return _UsingConfig('enable_backprop', True, config)


def set_grad_mode(records: Any, constants: Any) -> None:
    """Sets, in this thread, whether a graph is recorded, and whether results without one are constants."""
    _set_here('enable_backprop', records)
    _set_here('constant_results', constants)


def set_anomaly_mode(value: Any) -> None:
    """Sets ``config.detect_anomaly`` in this thread: False, 'tracebacks', or True to refuse NaN as well."""
    _set_here('detect_anomaly', value)


def _set_here(name: str, value: Any) -> None:
    """Sets a value for this thread; none of its own if that is the global one."""
    if value != getattr(global_config, name):
        setattr(config, name, value)
    elif name in _own_values(config):
        delattr(config, name)


def is_debug() -> bool:
    """True in debug mode: NaN in forward or backward is then an error that names the op."""
    return bool(config.__getattr__('debug'))


def set_debug(debug: bool) -> None:
    """Switches debug mode on or off in the current thread.

    Args:
        debug: True to switch it on.
    """
    config.debug = debug


def get_compute_mode() -> Any:
    """``config.compute_mode``; it is None unless it has been set."""
    return config.compute_mode


class DebugMode(_UsingConfig):
    """Context manager that switches debug mode on or off.

    Args:
        debug: True to switch it on inside the block.

    >>> import minichainer as chainer
    >>> with chainer.DebugMode(True):
    ...     chainer.is_debug()
    True
    """

    def __init__(self, debug: bool) -> None:
        super().__init__('debug', debug, config)
