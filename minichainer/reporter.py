"""Reports: code passes named values to the current reporter, which collects them."""

from __future__ import annotations

import contextlib
import json
import math
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy

from minichainer import backend, configuration
from minichainer._names import namespace as _namespace
from minichainer.backends import cuda
from minichainer.errors import PositionError
from minichainer.serializer import AbstractSerializer, Serializer, decoded
from minichainer.variable import Variable


class _ThreadReporters(threading.local):
    def __init__(self) -> None:
        self.stack: list[Reporter] = []


_thread = _ThreadReporters()


class Reporter:
    """Collects reported values in ``observation``, a dict.

    Values reported by an observer (usually a link) get the observer's name as a prefix, ``'main/loss'``. A Trainer
    makes a reporter; ``with reporter:`` makes it the current one of this thread, which :func:`report` uses.

    >>> import minichainer as chainer
    >>> reporter, model = chainer.Reporter(), object()
    >>> reporter.add_observer('main', model)
    >>> with reporter:
    ...     chainer.report({'loss': 0.5}, model)
    ...     chainer.report({'lr': 0.1})
    >>> reporter.observation
    {'main/loss': 0.5, 'lr': 0.1}
    """

    def __init__(self) -> None:
        self._observer_names: dict[int, str] = {}
        # Kept alive: another object would get the identity of a freed one, and its name.
        self._observers: dict[int, Any] = {}
        self.observation: dict[str, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        """The state without identities, which are others in a copy or another process."""
        names = self._observer_names
        named = [(names[key], observer) for key, observer in self._observers.items() if key in names]
        return {**self.__dict__, '_observer_names': named, '_observers': None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _observer_names={}, _observers={})
        self.add_observers('', state['_observer_names'])

    def __enter__(self) -> Reporter:
        stack = _thread.stack
        stack += [self]  # not a call, at whose end an interrupt could come
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        del _thread.stack[-1]

    def add_observer(self, name: str, observer: Any) -> None:
        """Sets the name of an observer.

        Args:
            name: prefix of what is reported for it.
            observer: any object; found again by its identity.
        """
        self.add_observers('', [(name, observer)])

    def add_observers(self, prefix: str, observers: Iterable[tuple[str, Any]]) -> None:
        """Sets the names of several observers.

        Args:
            prefix: put before each name.
            observers: pairs of name and observer, such as ``model.namedlinks()``.
        """
        for name, observer in observers:
            self._observer_names[id(observer)] = prefix + name
            self._observers[id(observer)] = observer

    @contextlib.contextmanager
    def scope(self, observation: dict[str, Any]) -> Iterator[None]:
        """Context manager that redirects values to another dict.

        Args:
            observation: the dict.
        """
        before = self.observation
        self.observation = observation
        self.__enter__()
        try:
            yield
        finally:
            self.__exit__(None, None, None)
            self.observation = before

    def report(self, values: Mapping[str, Any], observer: Any = None) -> None:
        """Adds values to the observation.

        The graph of a Variable is dropped, so that it can be freed, unless ``config.keep_graph_on_report`` is set.

        Args:
            values: values by name.
            observer: for whom; its name and ``/`` come before each name.

        Raises:
            KeyError: the observer has no name here.
        """
        if not configuration.config.keep_graph_on_report:
            values = {key: _without_graph(value) for key, value in values.items()}
        if observer is None:
            self.observation.update(values)
            return
        name = self._observer_names.get(id(observer))
        if name is None:
            raise KeyError(
                'This observer has no name in the reporter. '
                f'Register this {type(observer).__name__} by add_observer first.'
            )
        for key, value in values.items():
            self.observation[f'{name}/{key}'] = value


def _without_graph(value: Any) -> Any:
    if not isinstance(value, Variable):
        return value
    return Variable(value._data, name=value.name, requires_grad=value.requires_grad)


def get_current_reporter() -> Reporter:
    """The current reporter, which :func:`report` uses.

    Raises:
        IndexError: there is none in this thread.
    """
    if not _thread.stack:
        raise IndexError('there is no current reporter in this thread: use "with reporter:" around the code')
    return _thread.stack[-1]


def report(values: Mapping[str, Any], observer: Any = None) -> None:
    """Reports values to the current reporter; does nothing if there is none.

    Args:
        values: values by name.
        observer: for whom: a link that is (in) the target of an optimizer, usually ``self``.

    >>> import minichainer as chainer
    >>> reporter = chainer.Reporter()
    >>> with reporter:
    ...     chainer.report({'loss': 0.5})
    >>> reporter.observation
    {'loss': 0.5}
    """
    if _thread.stack:
        _thread.stack[-1].report(values, observer)


@contextlib.contextmanager
def report_scope(observation: dict[str, Any]) -> Iterator[None]:
    """Context manager that redirects reported values to the given dict.

    The reporter is that which is current when the context is entered.

    Args:
        observation: the dict.

    Raises:
        IndexError: there is no current reporter in this thread.
    """
    with get_current_reporter().scope(observation):
        yield


class Summary:
    r"""Mean and standard deviation of a series, stored as :math:`\sum w`, :math:`\sum w x` and :math:`\sum w x^2`.

    Values are scalars, or arrays of one shape, which are summarized element by element.

    >>> import minichainer as chainer
    >>> summary = chainer.Summary()
    >>> for x in (1., 2., 6.):
    ...     summary.add(x)
    >>> summary.compute_mean()
    3.0
    """

    def __init__(self) -> None:
        self._x: Any = 0.0
        self._x2: Any = 0.0
        self._n: Any = 0
        self._is_empty = True

    def add(self, value: Any, weight: Any = 1) -> None:
        """Adds a value.

        Args:
            value: scalar or array.
            weight: how many times it counts.
        """
        value = _wide(value)
        with cuda.get_device_from_array(value):
            # Not in place: that would change the first array.
            self._x = self._x + weight * value
            self._x2 = self._x2 + weight * value * value
            self._n = self._n + weight
        self._is_empty = False

    def compute_mean(self) -> Any:
        """The mean; NaN if all weights are zero.

        Raises:
            ZeroDivisionError: nothing was added.
        """
        return self._mean_of(self._x)

    def make_statistics(self) -> tuple[Any, Any]:
        """Mean and standard deviation (of the population).

        Raises:
            ZeroDivisionError: nothing was added.
        """
        with cuda.get_device_from_array(self._x):
            mean = self._mean_of(self._x)
            variance = self._mean_of(self._x2) - mean * mean
            return mean, _root(variance)

    def _mean_of(self, total: Any) -> Any:
        if not isinstance(self._n, cuda.ndarray) and self._n == 0:
            if self._is_empty:
                raise ZeroDivisionError('a Summary without values has no mean')
            return total * math.nan
        with cuda.get_device_from_array(total):
            return total / self._n

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Saves or loads the sums.

        Args:
            serializer: what saves or loads.
        """
        if isinstance(serializer, Serializer):
            for name in ('_x', '_x2', '_n'):
                serializer(name, getattr(self, name))
            return
        try:
            # Numbers of any kind, whatever was added before: a count of weights may be an integer or a float.
            loaded = {name: _wide(serializer(name, None)) for name in ('_x', '_x2', '_n')}
        except KeyError:
            loaded = {}
        if not loaded:
            warnings.warn('The snapshot does not contain statistics.', stacklevel=2)
        elif not any(value is None for value in loaded.values()):  # as from a loader that is not strict
            self.__dict__.update(loaded, _is_empty=not numpy.any(loaded['_n']))


def _wide(value: Any) -> Any:
    """float16 and float32 scalars in float64, because sums over an epoch need more digits; does not wait."""
    if isinstance(value, cuda.ndarray) and value.ndim == 0 and value.dtype.kind == 'f':
        with value.device:
            return value.astype('d', copy=False)
    is_scalar = isinstance(value, numpy.generic) or (isinstance(value, numpy.ndarray) and value.ndim == 0)
    return value.item() if is_scalar else value


def _root(variance: Any) -> Any:
    """Square root of a variance, which may be slightly negative because of rounding."""
    if isinstance(variance, (int, float)):
        return math.sqrt(max(variance, 0.0))
    array = variance._data if isinstance(variance, Variable) else variance
    xp = backend.get_array_module(array)
    return xp.sqrt(xp.maximum(array, 0))


class DictSummary:
    """A :class:`Summary` for each name in the added dicts.

    >>> import minichainer as chainer
    >>> summary = chainer.DictSummary()
    >>> summary.add({'loss': 1., 'name': [1, 2]})
    >>> summary.add({'loss': 3.})
    >>> summary.make_statistics()
    {'loss': 2.0, 'loss.std': 1.0}
    """

    def __init__(self) -> None:
        self._summaries: dict[str, Summary] = {}

    def add(self, d: Mapping[str, Any]) -> None:
        """Adds the scalars of a dict; ignores arrays with axes, lists and other objects.

        Args:
            d: values by name; a value may be a pair of value and weight. More entries in a tuple are ignored.

        Raises:
            TypeError: a value or a weight is a text.
            ValueError: a weight that is not a scalar, or a tuple without one (also IndexError).
        """
        for name, value in d.items():
            weight: Any = 1
            if isinstance(value, tuple):
                value, weight = _pair_of(name, value)
            value = _array_of(value)
            for number in (value, weight):
                if isinstance(number, (str, bytes)):
                    raise TypeError(f'DictSummary.add: a number expected as {name}, got a text: {number!r}')
            if _is_scalar(value):
                self._summaries.setdefault(name, Summary()).add(value, weight=_wide(weight))

    def compute_mean(self) -> dict[str, Any]:
        """The means, by name."""
        return {name: summary.compute_mean() for name, summary in self._summaries.items()}

    def make_statistics(self) -> dict[str, Any]:
        """Means by name, and standard deviations by name with ``.std`` at the end."""
        statistics = {}
        for name, summary in self._summaries.items():
            statistics[name], statistics[name + '.std'] = summary.make_statistics()
        return statistics

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Saves or loads names and sums.

        Args:
            serializer: what saves or loads.
        """
        if isinstance(serializer, Serializer):
            names = list(self._summaries)
            serializer('_names', json.dumps(names))
        else:
            try:
                text = serializer('_names', None)
                # A loader that is not strict gives the None back, and says itself what the file lacks.
                names = [] if text is None else decoded(text, list)
            except KeyError:
                warnings.warn('The snapshot does not contain the names of statistics, which begin anew', stacklevel=2)
                names = []
            self._summaries = {name: Summary() for name in names}
        for position, name in enumerate(names):
            self._summaries[name].serialize(serializer['_summaries'][str(position)])
            self._summaries[name]._is_empty = False


def _pair_of(name: str, pair: tuple[Any, ...]) -> tuple[Any, Any]:
    """Value and weight, as arrays or numbers."""
    if len(pair) != 2:
        text = f'DictSummary.add: a number, or a pair of value and weight, expected as {name}, got {pair}'
        if len(pair) < 2:
            raise PositionError(text)
        warnings.warn(f'{text}; the rest is left out', stacklevel=3)
    weight = _array_of(pair[1])
    if not _is_scalar(weight) and not isinstance(weight, (str, bytes)):
        raise ValueError(f'Given weight to {name} was not scalar.')
    return pair[0], weight


def _array_of(value: Any) -> Any:
    return value._data if isinstance(value, Variable) else value


def plain_value(value: Any) -> Any:
    """A reported scalar as a Python number, a pair of value and weight as a tuple; None for anything else."""
    if isinstance(value, tuple):
        pair = tuple(map(plain_value, value))
        return pair if len(pair) == 2 and None not in pair else None
    value = _array_of(value)
    try:
        return float(value) if _is_scalar(value) else None
    except (TypeError, ValueError):  # a complex number, a date
        return None


def _is_scalar(value: Any) -> bool:
    return (numpy.isscalar(value) and not isinstance(value, (str, bytes))) or getattr(value, 'ndim', -1) == 0


if not TYPE_CHECKING:
    __getattr__ = _namespace(__name__)[0]
