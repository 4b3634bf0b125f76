"""Python's operators on Variables; each calls a registered op."""

# The registry finds ops by their names, and has no types of its own.
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from minichainer import ops
from minichainer._elsewhere import of_numpy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Self

#: The result of an operator: a Variable, also for a Parameter. Variable is defined in terms of this module.
R = TypeVar('R')


#: NumPy computes these for Variables by comparing elements.
_BY_COMPARING = {'>=': 'maximum', '<=': 'minimum'}


def _refusal(symbol: str) -> Any:
    text = f'Variables do not support the {symbol} operator: compare the arrays, x.array {symbol} y.array'
    if symbol in _BY_COMPARING:
        name = _BY_COMPARING[symbol]
        text += f' (numpy.{name} does it so); here: F.{name}(x, y)'

    def compare(self: Any, other: Any) -> NoReturn:
        raise TypeError(text)

    return compare


def _known(variable: Any, function: str) -> Any:
    return variable._known(f'{function}()')


def _only_element(variable: Any, function: str) -> Any:
    """The element of a Variable that has only one, as a Python number."""
    array = _known(variable, function)
    if array.size != 1:
        raise TypeError(
            f'{function}: a Variable with one element expected, got shape {array.shape}; take one, x[0], or '
            'reduce it first, for example by functions.mean(x)'
        )
    return array.item()


class Operators(Generic[R]):
    """Arithmetic, indexing and comparison of Variables."""

    #: NumPy leaves ``ndarray * Variable``, also ``ndarray *= Variable``, to :meth:`__rmul__`.
    __array_priority__ = 200
    #: So does pandas: a frame has 4000.
    __pandas_priority__ = 5000

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """NumPy's functions treat Variables as sequences; an error of that says what to write instead."""
        try:
            return function._implementation(*args, **kwargs)
        except (TypeError, ValueError) as error:
            if not isinstance(error, TypeError) and not isinstance(error.__cause__, TypeError):
                raise
            raise TypeError(of_numpy(function)) from error

    def __add__(self, other: Any) -> R:
        return ops.add(self, other)

    def __radd__(self, other: Any) -> R:
        return ops.add(other, self)

    def __sub__(self, other: Any) -> R:
        return ops.subtract(self, other)

    def __rsub__(self, other: Any) -> R:
        return ops.subtract(other, self)

    def __mul__(self, other: Any) -> R:
        return ops.multiply(self, other)

    def __rmul__(self, other: Any) -> R:
        return ops.multiply(other, self)

    def __truediv__(self, other: Any) -> R:
        return ops.divide(self, other)

    def __rtruediv__(self, other: Any) -> R:
        return ops.divide(other, self)

    def __floordiv__(self, other: Any) -> R:
        return ops.floor_divide(self, other)

    def __rfloordiv__(self, other: Any) -> R:
        return ops.floor_divide(other, self)

    def __pow__(self, other: Any) -> R:
        return ops.power(self, other)

    def __rpow__(self, other: Any) -> R:
        return ops.power(other, self)

    def __matmul__(self, other: Any) -> R:
        return ops.matmul_operator(self, other)

    def __rmatmul__(self, other: Any) -> R:
        return ops.matmul_operator(other, self)

    def __neg__(self) -> R:
        return ops.negative(self)

    def __pos__(self) -> Self:
        return self

    def __abs__(self) -> R:
        return ops.absolute(self)

    if TYPE_CHECKING:  # type checkers do not know iteration by __getitem__

        def __iter__(self) -> Iterator[R]: ...

    def __getitem__(self, slices: Any) -> R:
        """Selects elements with any index that NumPy allows: ``get_item``."""
        return ops.get_item(self, slices)

    __eq__ = _refusal('==')
    __ne__ = _refusal('!=')
    __lt__ = _refusal('<')
    __le__ = _refusal('<=')
    __gt__ = _refusal('>')
    __ge__ = _refusal('>=')
    __hash__ = None  # type: ignore[assignment]

    def __float__(self) -> float:
        return float(_only_element(self, 'float'))

    def __int__(self) -> int:
        return int(_only_element(self, 'int'))

    def __complex__(self) -> complex:
        return complex(_only_element(self, 'complex'))

    def __round__(self, digits: int | None = None) -> Any:
        return round(float(_only_element(self, 'round')), digits)

    def __format__(self, spec: str) -> str:
        """``f'{loss:.3f}'``: a format for numbers is that of the only element; one for text is that of ``str``."""
        number = spec and spec[-1] != 's'
        if not number or (spec[-1] in '<>^0123456789' and _known(self, 'format').size != 1):
            return format(str(self), spec)
        return format(_only_element(self, 'format'), spec)

    def __bool__(self) -> bool:
        raise TypeError('a Variable has no truth value: use its array, bool(x.array)')
