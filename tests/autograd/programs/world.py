"""What programs are written in: the same words for torch and for minichainer."""

from __future__ import annotations

import builtins
import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np


class Raised(str):
    """The built-in kind of an exception or a warning, with all the kinds that it also is."""

    kinds: tuple[str, ...]

    def __new__(cls, type_: type[BaseException]) -> Raised:
        kinds = tuple(base.__name__ for base in type_.__mro__ if getattr(builtins, base.__name__, None) is base)
        self = super().__new__(cls, kinds[0])
        self.kinds = kinds
        return self


class World:
    """The vocabulary of programs; ops that are not here are looked up in the library by their names.

    ``autograd`` is the package under test, and ``Function`` its class.
    """

    autograd: Any
    Function: Any
    #: Where ops with the same name and arguments in both worlds are found.
    ops: Any

    def __getattr__(self, op: str) -> Any:
        return getattr(self.ops, op)

    def raw(self, values: Any, dtype: str = 'f8') -> Any:
        """What autograd.Variable is made of."""
        raise NotImplementedError

    def tensor(self, values: Any, requires_grad: bool = False, dtype: str = 'f8') -> Any:
        raise NotImplementedError

    def leaf(self, values: Any, dtype: str = 'f8') -> Any:
        """A tensor that requires a gradient."""
        return self.tensor(values, True, dtype)

    def array(self, x: Any) -> Any:
        """Its NumPy array."""
        raise NotImplementedError

    def values(self, x: Any) -> Any:
        """Nested lists of numbers of a tensor, an array, None, or a sequence of them; complex numbers are pairs."""
        if x is None or isinstance(x, (bool, str)):
            return x
        if isinstance(x, (tuple, list)):
            return [self.values(each) for each in x]
        array = np.asarray(x) if isinstance(x, (np.ndarray, float, int)) else self.array(x)
        return np.stack([array.real, array.imag], -1).tolist() if array.dtype.kind == 'c' else array.tolist()

    def grad_of(self, x: Any) -> Any:
        """``x.grad`` as nested lists, or None."""
        return self.values(x.grad)

    def grad_var(self, x: Any) -> Any:
        """The accumulated gradient with its graph."""
        raise NotImplementedError

    def set_grad(self, x: Any, values: Any) -> None:
        """Sets the accumulated gradient; None clears it."""
        raise NotImplementedError

    def write(self, x: Any, values: Any) -> None:
        """Writes into the memory of a tensor, without recording it."""
        raise NotImplementedError

    def checkpoint(self, function: Any, *args: Any) -> Any:
        raise NotImplementedError

    def kind(self, call: Callable[[], Any]) -> str:
        """The kind of exception that a call raises, or 'nothing'."""
        try:
            call()
        except Exception as error:
            return Raised(type(error))
        return 'nothing'

    def warned(self, call: Callable[[], Any]) -> str:
        """The kind of the first warning that a call issues, or 'nothing'."""
        with warnings.catch_warnings(record=True) as issued:
            warnings.simplefilter('always')
            call()
        return Raised(issued[0].category) if issued else 'nothing'

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        """Ignores warnings."""
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            yield


def difference(expected: Any, got: Any, where: str = 'result') -> str | None:
    """The first difference between two results, or None; a subclass of the expected kind is no difference."""
    if isinstance(expected, (list, tuple)) and isinstance(got, (list, tuple)) and len(expected) == len(got):
        each = (difference(e, g, f'{where}[{i}]') for i, (e, g) in enumerate(zip(expected, got, strict=True)))
        return next(filter(None, each), None)
    return None if _equal(expected, got) else f'{where}: torch gives {expected!r}, got {got!r}'


def _equal(expected: Any, got: Any) -> bool:
    if isinstance(got, Raised):
        return str(expected) in got.kinds
    if isinstance(expected, float) and isinstance(got, float):
        return bool(np.isclose(got, expected, rtol=1e-8, atol=1e-11, equal_nan=True))
    return type(expected) is type(got) and bool(expected == got)
