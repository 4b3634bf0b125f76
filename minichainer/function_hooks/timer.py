"""TimerHook: how long functions take."""

from __future__ import annotations

import time
from typing import Any, ClassVar

from minichainer.backends import cuda
from minichainer.function_hook import FunctionHook
from minichainer.function_hooks._report import check_unit, choose_unit, name_of, print_table


class TimerHook(FunctionHook):
    """Measures the time of each function, forward and backward.

    On a GPU it waits after each function until that is finished. The time of a function includes those that it calls.

    Attributes:
        call_history: a pair (name, seconds) for each call, in the order in which the calls ended.
        table: how many of each unit make a second.

    >>> import numpy as np, minichainer as chainer, minichainer.functions as F
    >>> hook = chainer.function_hooks.TimerHook()
    >>> with hook:
    ...     y = F.relu(chainer.Variable(np.ones(3, 'f')) * 2)
    >>> [name for name, seconds in hook.call_history]
    ['MulConstant', 'ReLU']
    >>> hook.print_report()
    FunctionName  ElapsedTime  Occurrence
     MulConstant       ...              1
            ReLU       ...              1
    """

    name = 'TimerHook'
    table: ClassVar[dict[str, int]] = {'sec': 1, 'ms': 10**3, 'us': 10**6, 'ns': 10**9}

    def __init__(self) -> None:
        self.call_history: list[tuple[str, float]] = []
        self._running: list[Any] = []
        self._total_time = 0.0

    def added(self, function: Any) -> None:
        """Starts anew after an error in a function."""
        self._running.clear()

    def forward_preprocess(self, function: Any, in_data: tuple[Any, ...]) -> None:
        """Starts the clock."""
        self._start(in_data)

    def forward_postprocess(self, function: Any, in_data: tuple[Any, ...]) -> None:
        """Stops the clock."""
        self._stop(function)

    def backward_preprocess(self, function: Any, in_data: tuple[Any, ...], out_grad: tuple[Any, ...]) -> None:
        """Starts the clock."""
        self._start((*in_data, *out_grad))

    def backward_postprocess(self, function: Any, in_data: tuple[Any, ...], out_grad: tuple[Any, ...]) -> None:
        """Stops the clock."""
        self._stop(function)

    def _start(self, arrays: tuple[Any, ...]) -> None:
        if any(isinstance(array, cuda.ndarray) for array in arrays):
            begin: Any = cuda.Event()
            begin.record()
        else:
            begin = time.perf_counter()
        self._running.append(begin)

    def _stop(self, function: Any) -> None:
        seconds = _seconds_since(self._running.pop())
        self.call_history.append((name_of(function), seconds))
        if not self._running:
            self._total_time += seconds

    def total_time(self) -> float:
        """Seconds of all calls; those inside of others do not count twice."""
        return self._total_time

    def summary(self) -> dict[str, dict[str, Any]]:
        """Sums by the name of the class.

        Returns:
            A dict ``{name: {'elapsed_time': seconds, 'occurrence': number of calls}}``.
        """
        found: dict[str, dict[str, Any]] = {}
        for name, seconds in self.call_history:
            record = found.setdefault(name, {'elapsed_time': 0, 'occurrence': 0})
            record['elapsed_time'] += seconds
            record['occurrence'] += 1
        return found

    def print_report(self, unit: str = 'auto', file: Any = None) -> None:
        """Prints the sums as a table.

        Args:
            unit: ``'sec'``, ``'ms'``, ``'us'`` or ``'ns'``; ``'auto'``: the one that suits the largest time;
                ``'auto_foreach'``: the one that suits each.
            file: a text file; standard output by default.

        Raises:
            ValueError: another unit.
        """
        check_unit(type(self).__name__, unit, list(self.table))
        found = self.summary()
        times = [record['elapsed_time'] for record in found.values()]
        if unit == 'auto':
            unit = self._suitable(max(times, default=0))
        units = [self._suitable(seconds) if unit == 'auto_foreach' else unit for seconds in times]
        pairs = zip(times, units, strict=True)
        columns = {
            'FunctionName': list(found),
            'ElapsedTime': [f'{seconds * self.table[unit]:.2f}{unit}' for seconds, unit in pairs],
            'Occurrence': [str(record['occurrence']) for record in found.values()],
        }
        print_table(columns, file)

    def _suitable(self, seconds: float) -> str:
        return choose_unit({unit: seconds * count for unit, count in self.table.items()})


def _seconds_since(begin: Any) -> float:
    if isinstance(begin, float):
        return time.perf_counter() - begin
    end = cuda.Event()
    end.record()
    end.synchronize()
    return float(cuda.cupy.cuda.get_elapsed_time(begin, end)) / 1000
