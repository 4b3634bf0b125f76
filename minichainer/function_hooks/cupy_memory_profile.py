"""CupyMemoryProfileHook: how much memory of the GPU functions take from CuPy's pool."""

from __future__ import annotations

from typing import Any

from minichainer.backends import cuda
from minichainer.function_hook import FunctionHook
from minichainer.function_hooks._report import check_unit, choose_unit, name_of, print_table

_UNITS = {unit: 1024**power for power, unit in enumerate(('B', 'KB', 'MB', 'GB', 'TB', 'PB', 'EB', 'ZB'))}


class CupyMemoryProfileHook(FunctionHook):
    """Measures the memory of the GPU that each function allocates, forward and backward.

    Used bytes are those taken from CuPy's memory pool, acquired bytes those that the pool had to take from the GPU.

    Attributes:
        call_history: (name, used bytes, acquired bytes, depth) for each call, in the order in which the calls ended;
            the depth is 0 for a call that is not inside of another.

    Raises:
        RuntimeError: CUDA is not available.

    >>> import minichainer as chainer
    >>> if chainer.cuda.available:
    ...     with chainer.function_hooks.CupyMemoryProfileHook() as hook:
    ...         y = chainer.functions.relu(chainer.cuda.cupy.ones(3))
    ...     used = hook.total_used_bytes()
    """

    name = 'CupyMemoryProfileHook'

    def __init__(self) -> None:
        cuda.check_cuda_available()
        self.call_history: list[tuple[str, int, int, int]] = []
        self._running: list[tuple[int, int]] = []
        self._total_used_bytes = 0
        self._total_acquired_bytes = 0
        self._counter: Any = _make_counter()
        self._added = 0

    def added(self, function: Any = None) -> None:
        """Starts to watch CuPy's memory pool."""
        if not self._added:
            self._running.clear()
            self._counter.__enter__()
        self._added += 1

    def deleted(self, function: Any = None) -> None:
        """Ends watching CuPy's memory pool."""
        self._added -= 1
        if not self._added:
            self._counter.__exit__(None, None, None)

    def forward_preprocess(self, function: Any, in_data: tuple[Any, ...]) -> None:
        """Notes how much was allocated before."""
        self._start()

    def forward_postprocess(self, function: Any, in_data: tuple[Any, ...]) -> None:
        """Notes how much was allocated since."""
        self._stop(function)

    def backward_preprocess(self, function: Any, in_data: tuple[Any, ...], out_grad: tuple[Any, ...]) -> None:
        """Notes how much was allocated before."""
        self._start()

    def backward_postprocess(self, function: Any, in_data: tuple[Any, ...], out_grad: tuple[Any, ...]) -> None:
        """Notes how much was allocated since."""
        self._stop(function)

    def _start(self) -> None:
        self._running.append((self._counter.used_bytes, self._counter.acquired_bytes))

    def _stop(self, function: Any) -> None:
        used, acquired = self._running.pop()
        used, acquired = self._counter.used_bytes - used, self._counter.acquired_bytes - acquired
        self.call_history.append((name_of(function), used, acquired, len(self._running)))
        if not self._running:
            self._total_used_bytes += used
            self._total_acquired_bytes += acquired

    def total_used_bytes(self) -> int:
        """Bytes taken from the pool by all calls; those inside of others do not count twice."""
        return self._total_used_bytes

    def total_acquired_bytes(self) -> int:
        """Bytes that the pool took from the device in all calls; those inside of others do not count twice."""
        return self._total_acquired_bytes

    def summary(self) -> dict[str, dict[str, int]]:
        """Sums by the name of the class.

        Returns:
            A dict ``{name: {'used_bytes': ..., 'acquired_bytes': ..., 'occurrence': number of calls}}``.
        """
        found: dict[str, dict[str, int]] = {}
        for name, used, acquired, _ in self.call_history:
            record = found.setdefault(name, {'used_bytes': 0, 'acquired_bytes': 0, 'occurrence': 0})
            record['used_bytes'] += used
            record['acquired_bytes'] += acquired
            record['occurrence'] += 1
        return found

    def print_report(self, unit: str = 'auto', file: Any = None) -> None:
        """Prints the sums as a table.

        Args:
            unit: ``'B'``, ``'KB'``, ``'MB'``, ... (powers of 1024); ``'auto'``: the one that suits the largest
                number of a column; ``'auto_foreach'``: the one that suits each.
            file: a text file; standard output by default.

        Raises:
            ValueError: another unit.
        """
        check_unit(type(self).__name__, unit, list(_UNITS))
        found = self.summary()
        columns = {
            'FunctionName': list(found),
            'UsedBytes': _column([record['used_bytes'] for record in found.values()], unit),
            'AcquiredBytes': _column([record['acquired_bytes'] for record in found.values()], unit),
            'Occurrence': [str(record['occurrence']) for record in found.values()],
        }
        print_table(columns, file)


def _column(sizes: list[int], unit: str) -> list[str]:
    if unit == 'auto':
        unit = _suitable(max(sizes, default=0))
    units = [_suitable(size) if unit == 'auto_foreach' else unit for size in sizes]
    return [f'{size / _UNITS[unit]:.2f}{unit}' for size, unit in zip(sizes, units, strict=True)]


def _suitable(size: int) -> str:
    return choose_unit({unit: size / count for unit, count in reversed(_UNITS.items())})


def _make_counter() -> Any:
    """A memory hook of CuPy that adds up what is allocated; its class needs CuPy."""

    class Counter(cuda.cupy.cuda.MemoryHook):  # type: ignore[misc]
        name = 'CupyMemoryProfileHook'
        used_bytes = 0
        acquired_bytes = 0

        def alloc_preprocess(self, **kwargs: Any) -> None:
            """Called before the pool takes memory from the device."""
            self.acquired_bytes += kwargs['mem_size']

        def malloc_preprocess(self, **kwargs: Any) -> None:
            """Called before memory is taken from the pool."""
            self.used_bytes += kwargs['mem_size']

    return Counter()
