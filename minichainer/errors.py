"""Exceptions of the package, and helpers for error messages.

All that users catch are here; those of Chainer are also where it has them (``utils.type_check.InvalidType``,
``gradient_check.NondifferentiableError``), and those of snapshots in :mod:`minichainer.serializer`::

    Exception
    ├── InvalidType                             a shape, dtype or number of inputs that an op does not take
    ├── AssertionError, RuntimeError
    │   └── GradcheckError                      a gradient check did not pass
    │       ├── NondifferentiableError          the function has no derivative at the checked point
    │       ├── UnresolvedError                 right and wrong cannot be told apart at this precision
    │       └── RefusedGradientError            the graph refuses what backward returns (also TypeError, ValueError)
    ├── RuntimeError
    │   ├── FolderInUseError                    two trainers write into one folder (also OSError)
    │   ├── DataSizeError                       a dataset is too large for ChainerMN
    │   ├── UninitializedParameterError         a Parameter is used before its shape is known (also AttributeError)
    │   ├── NotSetUpError                       an optimizer is used before setup (also AttributeError)
    │   ├── NaNError                            debug mode met NaN; names the op and where it was applied
    │   ├── FreedGraphError                     backward through a graph whose saved arrays were freed
    │   ├── InplaceError                        a saved array was modified before backward
    │   ├── NoUpstreamError                     backward from an array without a gradient (also TypeError)
    │   ├── GradientShapeError                  a gradient of another shape (also ValueError)
    │   └── GradientTypeError                   a gradient of another kind of array or dtype (also TypeError)
    ├── TypeError                               a wrong type of object, or CPU and GPU arrays in one call
    │   ├── NumbersError                        numbers as the inputs of a gradient check (also ValueError)
    │   ├── RemovedArgumentError                an argument that only Chainer v1 took (also ValueError)
    │   ├── IndexTypeError                      an index that is not one (also IndexError)
    │   └── ReturnedGradientError               a backward returns a gradient of a wrong type (also ValueError)
    └── ValueError                              a value out of range
        ├── LabelError                          a label that is not one of the classes (also IndexError)
        ├── PositionError                       a position that a list or tuple does not have (also IndexError)
        ├── SnapshotError                       a snapshot cannot be loaded
        │   ├── DamagedSnapshotError            it is not as it was written
        │   ├── MissingEntryError               it lacks entries (also KeyError)
        │   └── EntryTypeError                  an entry is of another type (also TypeError)
        ├── CountError                          a wrong number of values (also AssertionError)
        └── UnlikeLinkError                     a link lacks what another one has (also KeyError, IndexError)

A message says which op, what was expected, what was got, and what to do. Where an error has been of another type here
than in Chainer, or torch, its class derives from both, so that neither ``except`` clause misses it: those are
:class:`OfBothTypes`, and beside InvalidType those of :mod:`minichainer._misfits`.
"""

from __future__ import annotations

from typing import Any

import numpy

from minichainer._widened import advised
from minichainer.warnings import PerformanceWarning as PerformanceWarning


class InvalidType(Exception):
    """The inputs of a function have unsupported shapes, dtypes or an unsupported number.

    Args:
        expect: what was expected.
        actual: what was got.
        msg: the whole text; made of the other two by default.
    """

    def __init__(self, expect: str, actual: str, msg: str | None = None) -> None:
        super().__init__(advised(f'Expect: {expect}\nActual: {actual}' if msg is None else msg, expect, actual))
        self.expect = expect
        self.actual = actual

    def __reduce__(self) -> Any:
        return type(self), (self.expect, self.actual, self.args[0])


# Its public module, which appears in tracebacks and pickles.
InvalidType.__module__ = 'minichainer.utils.type_check'


class OfBothTypes(Exception):
    """Base class of errors that are of two types: the one they have here, and that of Chainer or torch."""

    def __str__(self) -> str:
        # KeyError shows the repr of its argument, where line breaks are unreadable.
        return str(self.args[0]) if self.args else ''


class UninitializedParameterError(RuntimeError, AttributeError):
    """A Parameter is used before its shape is known."""


class NotSetUpError(RuntimeError, AttributeError):
    """An optimizer is used before ``setup`` has given it a link."""


class NaNError(RuntimeError):
    """Debug mode met NaN in the result or the gradient of an op."""


class FreedGraphError(RuntimeError):
    """A backward pass needs arrays that an earlier pass has freed."""


class InplaceError(RuntimeError):
    """An array that a function saved for backward was modified since."""


class InplaceWarning(UserWarning):
    """An array that a function saved for backward was modified since, and ``config.check_inplace`` is 'warn'."""


class UpstreamGradientWarning(UserWarning):
    """An upstream gradient given to a gradient check is all zeros or all ones, which hides errors."""


class GradientCheckLeniencyWarning(UserWarning):
    """A gradient check has accepted what Chainer's own accepts and a strict one refuses.

    With ``strictness='chainer'``; in ``check_backward`` and ``check_double_backward`` also a backward that raises an
    error where the upstream gradient of one of its outputs is None.
    """


class GradientToleranceWarning(GradientCheckLeniencyWarning):
    """A gradient is wrong by less than the tolerances that the caller of a gradient check has given."""


class GradientDoubtWarning(GradientCheckLeniencyWarning):
    """A gradient check has passed what it could not decide: a kink, rounding errors, elements that are too small."""


class RemovedArgumentError(OfBothTypes, TypeError, ValueError):
    """An argument that only Chainer v1 took: ValueError in Chainer, where TypeError is said of others."""


class NoUpstreamError(OfBothTypes, RuntimeError, TypeError):
    """Backward begins at an array of several elements, and there is no gradient of it: TypeError in Chainer."""


class IndexTypeError(OfBothTypes, TypeError, IndexError):
    """An index of a type that cannot be one, such as a Variable: IndexError in Chainer and NumPy."""


class PositionError(OfBothTypes, IndexError, ValueError):
    """A list or a tuple does not have this position: ValueError in Chainer's Sequential."""


class CountError(OfBothTypes, ValueError, AssertionError):
    """A wrong number of values: AssertionError in Chainer."""


class UnlikeLinkError(OfBothTypes, ValueError, KeyError, IndexError, AttributeError):
    """A link lacks parameters of another one.

    In Chainer KeyError if a Chain lacks a child, IndexError if a ChainList does, AttributeError if a parameter is
    missing.
    """


class NumbersError(TypeError, ValueError):
    """Numbers in place of the arrays that a gradient check needs: ValueError in torch."""


class GradientShapeError(RuntimeError, ValueError):
    """A gradient does not have the shape of its Variable: ValueError in Chainer, RuntimeError in torch."""


class GradientTypeError(RuntimeError, TypeError):
    """A gradient is not an array, or has another dtype or device: TypeError in Chainer, RuntimeError in torch."""


class LabelError(IndexError, ValueError):
    """A label is not one of the classes: IndexError in NumPy, ValueError in Chainer's debug mode."""


class EllipsisError(IndexError, ValueError):
    """An index has more than one Ellipsis: IndexError in NumPy, ValueError in Chainer's debug mode."""


class DtypeWarning(UserWarning):
    """Data are of a wider dtype than the parameters, so that the whole computation takes the wider one."""


class UnregisteredWarning(UserWarning):
    """A link or parameter in an attribute of a model does not belong to it, so optimizers do not update it."""


class MatrixWarning(UserWarning):
    """A ``numpy.matrix`` is converted to an array, because its operators are those of matrices."""


class UnknownNameWarning(UserWarning):
    """A name is not known, and resembles one that is."""


class NoGraphWarning(UserWarning):
    """A backward pass has nothing to do, because no graph was recorded."""


class ReturnedGradientError(TypeError, ValueError):
    """A backward has returned what cannot be the gradients: ValueError in Chainer's debug mode."""


class GradcheckError(AssertionError, RuntimeError):
    """A gradient check did not pass; ``report``, a GradientReport, has the details."""

    def __init__(self, message: str = '', report: Any = None) -> None:
        super().__init__(message)
        self.report = report


class NondifferentiableError(GradcheckError):
    """The function has a kink or a jump at the checked point."""


class UnresolvedError(GradcheckError):
    """Right and wrong cannot be told apart at this precision; the message says what would help."""


class RefusedGradientError(GradcheckError, ReturnedGradientError):
    """The graph has refused what a backward returned: their number, or a type, shape or dtype."""


class SnapshotError(ValueError):
    """A snapshot is damaged, or does not fit the object; nothing was loaded.

    If single entries are the reason, the message names all of them.
    """

    def __str__(self) -> str:
        # KeyError, a base of MissingEntryError, shows the repr of its argument, where line breaks are unreadable.
        return str(self.args[0]) if self.args else ''


class DamagedSnapshotError(SnapshotError):
    """A file or some of its entries are not as they were written."""


class MissingEntryError(SnapshotError, KeyError):
    """The snapshot lacks entries, and nothing else is wrong with it. Chainer raises KeyError for that."""


class EntryTypeError(SnapshotError, TypeError):
    """An entry cannot become a value of the type that the object expects. Chainer raises TypeError for that."""


class FolderInUseError(RuntimeError, OSError):
    """Two trainers were to write into one folder at the same time."""


class DataSizeError(RuntimeError):
    """A dataset is too large to be sent between the processes of ChainerMN; not raised by one process."""


def describe(array: Any) -> str:
    """Dtype and shape of an array as text; the type's name for anything else."""
    dtype, shape = getattr(array, 'dtype', None), getattr(array, 'shape', None)
    return type(array).__name__ if dtype is None or shape is None else f'{dtype} {tuple(shape)}'


def number_remedy(name: str, value: Any, kind: type[int] | type[float] = float) -> str:
    """What to write for a text that stands for a number, or a float that stands for an int; empty for others."""
    for convert in (int, kind):
        try:
            if isinstance(value, str) or (isinstance(value, float) and value.is_integer()):
                convert(value)
                return f'; write {convert.__name__}({name})'
        except ValueError:
            pass
    return ''


def check_numbers(owner: str, **values: Any) -> None:
    """Raises TypeError for texts and None where numbers are expected; computing with them fails later, or not at all.

    Args:
        owner: who expects them, for the error.
        values: the values by the names of the arguments.
    """
    for name, value in values.items():
        if value is None or isinstance(value, (str, bytes)):
            remedy = number_remedy(name, value)
            raise TypeError(f'{owner}: number expected as {name}, got {value!r}{remedy}')


def check_ints(owner: str, **values: Any) -> None:
    """Raises TypeError for what is not an int, as of Python or NumPy, where one is expected.

    Args:
        owner: who expects them, for the error.
        values: the values by the names of the arguments.
    """
    for name, value in values.items():
        if not hasattr(value, '__index__'):
            remedy = number_remedy(name, value, int)
            raise TypeError(f'{owner}: int expected as {name}, got {value!r}{remedy}')


def array_remedy(name: str, value: Any) -> str:
    """What to write for a list of numbers where an array is expected; empty for other values.

    Args:
        name: the name of the argument.
        value: what was given.
    """
    try:
        kind = numpy.asarray(value).dtype.kind
    except ValueError:  # lists of different lengths
        return ''
    dtype = {'f': 'float32', 'i': 'int32', 'u': 'int32', 'b': 'bool_'}.get(kind)
    return '' if dtype is None else f'; write numpy.asarray({name}, dtype=numpy.{dtype})'
