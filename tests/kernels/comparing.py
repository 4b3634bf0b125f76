"""What the tables of kernels share: rows, layouts, the comparison, and results made wrong on purpose."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

from minichainer.backends.cuda import to_cpu
from tests.kernels.kernels import kernel, leaves

#: The same numbers, otherwise in memory; of arrays of any module.
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    'C': lambda x: x,
    'F': lambda x: x.T.copy().T,
    'every second': lambda x: x.repeat(2, axis=-1)[..., ::2] if x.ndim else x,
    'backwards': lambda x: np.flip(np.flip(x).copy()),
    'channels last': lambda x: np.moveaxis(np.moveaxis(x, 1, -1).copy(), -1, 1) if x.ndim > 2 else x,
}
#: Those of all arrays, and of images.
ANY = ('C', 'F', 'every second', 'backwards')
IMAGES = (*ANY, 'channels last')
#: Before NumPy 2 an array without axes takes the dtype of a number that it is combined with; ops restore its own.
BY_VALUE = np.lib.NumpyVersion(np.__version__) < '2.0.0'
#: Results of so many numbers are kept.
_FEW = 5000


class Case(NamedTuple):
    """Arguments of a kernel: C-contiguous NumPy arrays, in tuples and lists too, and anything else."""

    label: str
    args: tuple[Any, ...]
    #: The dtype that results of floats have.
    dtype: Any
    layouts: tuple[str, ...] = ANY


@dataclass(kw_only=True)
class Row:
    """A kernel's cases, and its plain form."""

    #: Function of the kernel and the arguments, which calls it.
    call: Callable[..., Any] = lambda k, *args: k(*args)
    #: Function of the arguments, with float16 and float32 arrays as float64.
    plain: Callable[..., Any]
    #: In units of the precision of what it is computed in, float32 at least. 0: equal to the last digit, and the
    #: plain form gets the arrays as they are.
    tolerance: float = 8
    #: What is added to that on a device, where neither the kernel nor its error is SciPy's or LAPACK's.
    more_on_a_device: float = 0
    #: How often a result of float16, or what it is made of, has been rounded to it.
    roundings: float = 1
    #: What the tolerance is relative to: 'each' element, 'one' where that is less, or the 'largest' element.
    relative_to: str = 'each'
    #: The dtype of each array of the result: that of the 'case', of what it is 'computed' in, or its character.
    dtypes_of_result: tuple[str, ...] = ()
    #: Whether zeros have the right sign, where the tolerance is 0.
    signed_zeros: bool = False
    #: Whether the result may be, or hold, a view of an argument.
    shares: bool = False
    #: Whether the first array of the result is C-contiguous.
    contiguous: bool = False
    #: Whether the kernel is for NumPy's arrays alone.
    numpy_only: bool = False
    #: Which arguments stay on the CPU, and as they are.
    host: tuple[int, ...] = ()
    #: Results of the plain form by case.
    known: dict[str, list[Any]] = field(default_factory=dict, repr=False)

    def cases(self) -> Iterator[Case]:
        """The arguments, in all dtypes and sizes."""
        raise NotImplementedError


def check(row: Row, function: Callable[..., Any], xp: Any = np) -> None:
    """Compares a kernel with its plain form in each case, on arrays that ``xp`` makes.

    Those of an array module lie in memory in each layout, and must not change; those of read-only NumPy in one.
    """
    for case in row.cases():
        expected = _expected(row, case)
        for layout in case.layouts if isinstance(xp, ModuleType) else case.layouts[:1]:
            given = tuple([a if i in row.host else _laid(a, layout, xp) for i, a in enumerate(case.args)])
            with np.errstate(all=None if _is_finite(given) else 'ignore'):
                found = leaves(row.call(function, *given))
            label = f'{case.label}, {layout}'
            assert len(found) == len(expected), label
            for i, (y, e) in enumerate(zip(found, expected, strict=True)):
                _compare(row, y, e, _dtype(row, i, case.dtype), case.dtype, f'{label}, result {i}')
            _check_memory(row, found, given, case, label)


def _expected(row: Row, case: Case) -> list[Any]:
    """What the plain form gives; kept where it is not large, since a row is checked often."""
    if case.label not in row.known:
        with np.errstate(all='ignore'):
            found = leaves(row.plain(*[_mapped(a, _wide if row.tolerance else np.copy) for a in case.args]))
        if sum(np.size(y) for y in found) > _FEW:
            return found
        row.known[case.label] = found
    return row.known[case.label]


def _compare(row: Row, y: Any, e: Any, dtype: Any, of_case: Any, label: str) -> None:
    if not hasattr(y, 'dtype'):
        assert type(y) is type(e) and y == e, f'{label}: got {y!r}, expected {e!r}'
        return
    more = 0 if isinstance(y, (np.ndarray, np.generic)) else row.more_on_a_device
    y, e = np.asarray(to_cpu(y)), np.asarray(e)
    if BY_VALUE and not y.shape and y.dtype.kind == np.dtype(dtype).kind == 'f':
        y, e = y.astype(dtype), e if row.tolerance else e.astype(dtype)
    assert (y.shape, y.dtype) == (e.shape, dtype), f'{label}: got {y.shape} {y.dtype}, expected {e.shape} {dtype}'
    if y.dtype.kind != 'f' or not row.tolerance:
        np.testing.assert_array_equal(y, e, label)
        if row.signed_zeros and y.dtype.kind == 'f':
            zero = y == 0
            np.testing.assert_array_equal(np.signbit(y[zero]), np.signbit(e[zero]), f'{label}, signs of zeros')
        return
    size = {'each': 0, 'one': 1, 'largest': np.abs(e[np.isfinite(e)]).max(initial=0)}[row.relative_to]
    rtol, atol = _tolerances(row, y.dtype, of_case, more)
    with np.errstate(over='ignore'):
        e = e.astype(y.dtype)
    np.testing.assert_allclose(
        y, e, rtol=rtol, atol=max(atol * size, 1e-37 if y.dtype.char != 'e' else 1e-7), err_msg=label
    )


def _tolerances(row: Row, dtype: Any, of_case: Any, more: float) -> tuple[float, float]:
    """Relative to each element, and to the size of the result; rounding to float16 is relative to each element."""
    eps = (row.tolerance + more) * float(np.finfo(_computed_in(of_case)).eps)
    if dtype.char != 'e':
        return eps, eps
    half = float(np.finfo('e').eps)
    return eps + row.roundings * half, eps + (row.roundings - 1) * half


def _check_memory(row: Row, found: list[Any], given: Any, case: Case, label: str) -> None:
    for old, new in zip(leaves(list(case.args)), leaves(list(given)), strict=True):
        if hasattr(new, 'dtype') and hasattr(new, 'shape') and not isinstance(new, np.dtype):
            np.testing.assert_array_equal(to_cpu(new), old, f'{label}: an argument has changed')
            if isinstance(new, np.ndarray) and not row.shares:
                shared = [np.shares_memory(y, new) for y in found if isinstance(y, np.ndarray)]
                assert not any(shared), f'{label}: result and argument share memory'
    assert not row.contiguous or found[0].flags.c_contiguous, label


def _dtype(row: Row, i: int, of_case: Any) -> np.dtype:
    named = row.dtypes_of_result[i] if row.dtypes_of_result else 'case'
    return np.dtype({'case': of_case, 'computed': _computed_in(of_case)}.get(named, named))


def _computed_in(dtype: Any) -> Any:
    return np.dtype('f') if np.dtype(dtype).char == 'e' else np.dtype(dtype if np.dtype(dtype).kind == 'f' else 'd')


def _mapped(a: Any, change: Callable[[Any], Any]) -> Any:
    """An argument with its arrays changed."""
    if isinstance(a, np.ndarray):
        return change(a)
    if isinstance(a, (tuple, list)):
        parts = [_mapped(part, change) for part in a]
        return type(a)(*parts) if hasattr(a, '_fields') else type(a)(parts)
    return a


def _wide(x: Any) -> Any:
    return x.astype('d') if x.dtype.char in 'ef' else x.copy()


def _laid(a: Any, layout: str, xp: Any) -> Any:
    def place(x: Any) -> Any:
        # What is repeated in memory stays so; anything else is a copy, to be compared with afterwards.
        y = LAYOUTS[layout](xp.asarray(x) if 0 in x.strides else xp.array(x))
        if xp is not np and isinstance(y, np.ndarray):
            y.flags.writeable = False
        return y

    return _mapped(a, place)


def _is_finite(args: Any) -> bool:
    arrays = [a for a in leaves(list(args)) if hasattr(a, 'dtype') and getattr(a.dtype, 'kind', '') == 'f']
    return all(bool(np.isfinite(to_cpu(a)).all()) for a in arrays if hasattr(a, 'shape'))


def check_named(rows: dict[str, Any], name: str, xp: Any) -> None:
    """Compares a row's kernel with its plain form, unless it is for other arrays than ``xp`` makes."""
    row = rows[name]
    if row.numpy_only and xp.ndarray is not np.ndarray:
        pytest.skip('for NumPy arrays only')
    check(row, kernel(name.partition(',')[0]), xp)


# --- Results made wrong on purpose ---


def last_is_wrong(y: Any) -> Any:
    """The last element that is a finite number is off."""
    row = y.reshape(-1)
    places = np.flatnonzero(np.isfinite(row))[-1:]
    row[places] = slightly_wrong(row[places])
    return row.reshape(y.shape)


def slightly_wrong(y: Any) -> Any:
    """Everything is, by a hundredth and a bit."""
    if y.dtype.kind != 'f':
        return ~y if y.dtype.kind == 'b' else y + y.dtype.type(1)
    return y * y.dtype.type(1.01) + y.dtype.type(0.01)


def flat(y: Any) -> Any:
    """The shape is."""
    return y.reshape(-1) if y.ndim != 1 else y[None]


def wide(y: Any) -> Any:
    """The dtype is."""
    return y.astype('g')


def without_nan(y: Any) -> Any:
    """NaN is a number."""
    return np.nan_to_num(y, posinf=np.inf, neginf=-np.inf)
