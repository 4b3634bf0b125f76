"""Running the same tests with several parameter values."""

from __future__ import annotations

import functools
import inspect
import itertools
import re
import types
import unittest
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from minichainer.testing._cases import Variant, multiply

__all__ = ['from_pytest_parameterize', 'parameterize', 'parameterize_pytest', 'product', 'product_dict']

_LONGEST_VALUE = 100


def parameterize(*params: dict[str, Any]) -> Callable[[type], type]:
    """Class decorator: makes one test class per dict, whose items are attributes of the class.

    The classes are named ``Name_param_0_{a=1}`` and so on, and are in the module of the decorated class. A failure
    shows the parameters.

    Args:
        params: Dicts from names of attributes to values. Usually made by :func:`product`.

    Raises:
        TypeError: An argument is not a dict with text as keys, or something other than a class is decorated.

    Source: documentation of ``chainer.testing.parameterize``.

    >>> import unittest
    >>> from minichainer import testing
    >>> @testing.parameterize({'n': 1}, {'n': 2})
    ... class TestN(unittest.TestCase):
    ...     def test_n(self):
    ...         assert self.n > 0
    """
    for values in params:
        if not isinstance(values, dict) or not all(isinstance(name, str) for name in values):
            raise TypeError(f'parameterize: expected dicts from names to values, got {values!r}')

    def variants(cls: type) -> Iterator[Variant]:
        for i, values in enumerate(params):
            wrap = functools.partial(_with_parameters_told, cls.__name__, values)
            yield Variant(f'_param_{i}_{{{_in_words(values)}}}', values, wrap)

    return lambda cls: multiply(cls, variants)


def _in_words(values: dict[str, Any]) -> str:
    return ', '.join(f'{name}={_shortened(values[name])}' for name in sorted(values))


def _shortened(value: Any) -> str:
    """A value on one line of limited length; what has a name goes by it."""
    # pytest-xdist needs equal names in all processes.
    text = re.sub(r' at 0x[0-9A-Fa-f]+', '', ' '.join(_named_or_repr(value).split()))
    if len(text) <= _LONGEST_VALUE:
        return text
    head = (_LONGEST_VALUE - 3) // 2
    return f'{text[:head]}...{text[head + 3 - _LONGEST_VALUE :]}'


def _named_or_repr(value: Any) -> str:
    """The name of a class, a function, a ufunc or a module; a partial as a call of these; else the ``repr``."""
    name = getattr(value, '__name__', None)
    if isinstance(name, str):
        return name
    if isinstance(value, functools.partial):
        keywords = [f'{key}={_shortened(v)}' for key, v in value.keywords.items()]
        return f'partial({", ".join([*map(_shortened, (value.func, *value.args)), *keywords])})'
    return repr(value)


def _with_parameters_told(class_name: str, values: dict[str, Any], name: str, test: Any) -> Any:
    """The test, with the parameters added to its failures."""
    if not inspect.isfunction(test) or inspect.iscoroutinefunction(test):
        return test

    @functools.wraps(test)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        try:
            return test(self, *args, **kwargs)
        except unittest.SkipTest:
            raise
        except Exception as error:
            lines = ''.join(f'\n  {key}: {_told(values[key])}' for key in sorted(values))
            _prepend(
                error, f'Parameterized test failed.\n\nBase test method: {class_name}.{name}\nTest parameters:{lines}'
            )
            raise

    return wrapper


def _told(value: Any) -> Any:
    """A value for the message of a failure; a module without its path."""
    return value.__name__ if isinstance(value, types.ModuleType) else value


def _prepend(error: Exception, text: str) -> None:
    """Prepends text to the message of an exception, in place."""
    add_note = getattr(error, 'add_note', None)  # from Python 3.11 on
    plain = type(error).__str__ in (Exception.__str__, BaseException.__str__)
    if plain and all(isinstance(argument, (str, int, float, bytes)) for argument in error.args):
        error.args = (f'{text}\n\n\n(caused by)\n{type(error).__name__}: {error}',)
    elif add_note is not None:
        add_note(text)


def product(parameter: dict[str, Sequence[Any]] | Sequence[Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    """All combinations of values.

    Args:
        parameter: A dict from each name to its values, or from several names, ``'a,b'``, to tuples of values; or a
            list of lists of dicts, of which one from each list is taken and merged.

    Raises:
        TypeError: It is neither.

    Source: documentation of ``chainer.testing.product``.

    >>> from minichainer import testing
    >>> testing.product({'a': [1, 2], 'b': [3, 4]})
    [{'a': 1, 'b': 3}, {'a': 1, 'b': 4}, {'a': 2, 'b': 3}, {'a': 2, 'b': 4}]
    >>> testing.product([[{'a': 1}, {'a': 2}], [{'b': 3}]])
    [{'a': 1, 'b': 3}, {'a': 2, 'b': 3}]
    """
    if isinstance(parameter, dict):
        for name, values in parameter.items():
            if isinstance(values, str) or not isinstance(values, Iterable):
                raise TypeError(f'product: expected a list of values for {name!r}, got {values!r}')
        return product_dict(*[from_pytest_parameterize(names, list(parameter[names])) for names in sorted(parameter)])
    lists = list(parameter)
    if not all(isinstance(dicts, (list, tuple)) and all(isinstance(d, dict) for d in dicts) for dicts in lists):
        raise TypeError(f'product: expected a dict of lists or a list of lists of dicts, got {parameter!r}')
    return product_dict(*lists)


def product_dict(*parameters: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """All combinations of one dict from each list, merged; later lists take precedence.

    Args:
        parameters: Lists of dicts.

    Source: documentation of ``chainer.testing.product_dict``.

    >>> from minichainer import testing
    >>> testing.product_dict([{'a': 1}, {'a': 2}], [{'b': 3}])
    [{'a': 1, 'b': 3}, {'a': 2, 'b': 3}]
    """
    return [
        {name: value for chosen in choice for name, value in chosen.items()}
        for choice in itertools.product(*parameters)
    ]


def from_pytest_parameterize(names: str, values: Sequence[Any]) -> list[dict[str, Any]]:
    """The dicts for the arguments of ``pytest.mark.parametrize``.

    Args:
        names: Names, separated by commas.
        values: One tuple of values per case, or one value where there is a single name.

    Raises:
        TypeError: ``names`` is not text.
        ValueError: A case has not as many values as there are names.

    Source: documentation of ``chainer.testing.from_pytest_parameterize``.

    >>> from minichainer import testing
    >>> testing.from_pytest_parameterize('a,b', [(1, 2), (3, 4)])
    [{'a': 1, 'b': 2}, {'a': 3, 'b': 4}]
    """
    if not isinstance(names, str):
        raise TypeError(f'names: expected text such as "a,b", got {names!r}')
    keys = [name.strip() for name in names.split(',')]
    if len(keys) == 1:
        return [{keys[0]: value} for value in values]
    return [_named(keys, value) for value in values]


def _named(keys: list[str], values: Any) -> dict[str, Any]:
    if not isinstance(values, (list, tuple)) or len(values) != len(keys):
        raise ValueError(f'expected {len(keys)} values, for {", ".join(keys)}, got {values!r}')
    return dict(zip(keys, values, strict=True))


def parameterize_pytest(names: str, values: Sequence[Any]) -> Callable[[type], type]:
    """Like :func:`parameterize`, with the arguments of ``pytest.mark.parametrize``.

    Args:
        names: Names, separated by commas.
        values: One tuple of values per case, or one value where there is a single name.

    Source: documentation of ``chainer.testing.parameterize_pytest``.

    >>> import unittest
    >>> from minichainer import testing
    >>> @testing.parameterize_pytest('a,b', [(1, 2), (3, 4)])
    ... class TestPair(unittest.TestCase):
    ...     def test_order(self):
    ...         assert self.a < self.b
    """
    return parameterize(*from_pytest_parameterize(names, values))
