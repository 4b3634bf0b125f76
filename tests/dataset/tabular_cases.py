"""Small datasets of columns, functions on them, and how results are written in ``tests/reference/tabular.json``."""

from __future__ import annotations

from typing import Any

import numpy as np


def environment(chainer: Any) -> dict[str, Any]:
    """The names that the recorded expressions use, for a package with Chainer's API."""

    class Table(chainer.dataset.TabularDataset):  # type: ignore[misc,name-defined]
        """Column k has the elements 10 (k + 1) + i."""

        def __init__(self, mode: Any, keys: Any, n: int, arrays: bool) -> None:
            self._table = mode, keys, n, arrays

        mode = property(lambda self: self._table[0])
        keys = property(lambda self: self._table[1])

        def __len__(self) -> int:
            return self._table[2]

        def get_examples(self, indices: Any, key_indices: Any) -> Any:
            _, keys, n, arrays = self._table
            places = range(len(keys)) if key_indices is None else key_indices
            chosen = slice(None) if indices is None else indices
            columns = [(np.arange(n) + 10 * (k + 1))[chosen] for k in places]
            return tuple(columns if arrays else [column.tolist() for column in columns])

    class List(chainer.dataset.TabularDataset):  # type: ignore[misc,name-defined]
        keys = ('a',)
        mode = tuple

        def __len__(self) -> int:
            return 3

        def get_examples(self, indices: Any, key_indices: Any) -> Any:
            return ([1, 2, 3],)

    class OwnExample(List):
        def get_example(self, i: int) -> str:
            return 'own'

    calls = []

    def alternating(a: Any, b: Any, c: Any) -> Any:
        calls.append(a)
        return (a, b) if len(calls) % 2 else {'s': a, 'p': b}

    def make(mode: Any = tuple, keys: Any = ('a', 'b', 'c'), n: int = 6, arrays: bool = True) -> Any:
        return Table(mode, keys, n, arrays)

    return {
        'np': np, 'chainer': chainer, 'dataset': chainer.dataset, 'iterators': chainer.iterators,
        'T': chainer.dataset.TabularDataset, 'Delegate': chainer.dataset.tabular.DelegateDataset,
        'from_data': chainer.dataset.tabular.from_data, 'make': make, 'M': make, 'D2': List, 'D3': OwnExample,
        'f1': lambda a: a + 1, 'f2': lambda a, b: (a + b, a * b), 'f3': lambda a, b, c: a + b + c, 'alt': alternating,
        'conv': lambda *args, **kwargs: ('converted', args, kwargs),
    }  # fmt: skip


def outcome(expression: str, names: dict[str, Any]) -> str:
    """The value of an expression as text; of an error, its type."""
    np.random.seed(0)
    try:
        return text(eval(expression, dict(names)), names['T'])
    except Exception as error:
        return type(error).__name__


def text(value: Any, dataset: type) -> str:
    if isinstance(value, dataset):
        return f'<{len(value)} {value.keys} {getattr(value.mode, "__name__", None)}>'  # type: ignore[arg-type,attr-defined]
    if isinstance(value, (tuple, list)):
        inside = ', '.join(text(item, dataset) for item in value)
        return f'({inside})' if isinstance(value, tuple) else f'[{inside}]'
    if isinstance(value, dict):
        return '{' + ', '.join(f'{key}: {text(item, dataset)}' for key, item in value.items()) + '}'
    if isinstance(value, np.ndarray):
        return f'array({value.tolist()})'
    if isinstance(value, np.generic):
        return f'scalar({value})'
    return value.__name__ if isinstance(value, type) else repr(value)
