"""Shared code of the decorators that make several test classes out of one."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

_CASES = '_minichainer_cases'
_IS_CASE = '_minichainer_is_case'

#: Maps (name of the test, its function) to the function for one case, or to None if the test does not run there.
Wrap = Callable[[str, Any], Any]


@dataclass(frozen=True)
class Variant:
    """A class to make: the suffix of its name, its attributes, and the wrapper of its tests."""

    suffix: str
    attributes: dict[str, Any] = field(default_factory=dict)
    wrap: Wrap = lambda name, function: function


def test_names(cls: type) -> list[str]:
    """Names of the tests of a class, including inherited ones, as pytest and unittest find them."""
    return [name for name in dir(cls) if name.startswith('test') and callable(getattr(cls, name, None))]


test_names.__test__ = False  # type: ignore[attr-defined]


def cases_of(cls: type) -> list[type]:
    """The classes made from a decorated class; the class itself if it is not decorated."""
    cases: list[type] = vars(cls).get(_CASES, [cls])
    return cases


def multiply(cls: type, variants: Callable[[type], Iterable[Variant]]) -> type:
    """Makes a class per variant, in the module of ``cls``.

    The name still refers to ``cls``, so that ``super(Name, self)`` works, but its tests are hidden: only the new
    classes are collected. Decorators may be stacked; each multiplies the classes of the one below it.
    """
    _check_class(cls)
    module = sys.modules.get(cls.__module__)
    made = []
    for case in cases_of(cls):
        made += [_make(case, variant) for variant in variants(case)]
        if case is not cls and module is not None and vars(module).get(case.__name__) is case:
            delattr(module, case.__name__)
    for case in made:
        if module is not None:
            setattr(module, case.__name__, case)
    _hide(cls, made)
    return cls


def _check_class(cls: Any) -> None:
    if not isinstance(cls, type):
        raise TypeError(f'expected a test class to decorate, got {cls!r} of {type(cls).__name__}')


def _unbound(value: Any) -> Any:
    """The value as an attribute of a class; a function would become a method."""
    is_method = callable(value) and hasattr(value, '__get__') and not isinstance(value, type)
    return staticmethod(value) if is_method else value


def _make(cls: type, variant: Variant) -> type:
    """Makes the class of a variant."""
    name = cls.__name__ + variant.suffix
    members = {
        '__doc__': cls.__doc__,
        '__module__': cls.__module__,
        '__qualname__': name,
        '__test__': True,
        '__reduce_ex__': _reduce,
        _IS_CASE: True,
        **{name: _unbound(value) for name, value in variant.attributes.items()},
    }
    for test in test_names(cls):
        members[test] = variant.wrap(test, inspect.getattr_static(cls, test))
    return type(cls)(name, (cls,), members)


def _reduce(self: Any, protocol: Any) -> Any:
    """Pickles an instance by the name of its class, which pickle would split if it contains dots."""
    return _instance, (type(self).__module__, type(self).__name__), vars(self).copy()


def _instance(module: str, name: str) -> Any:
    __import__(module)
    cls = getattr(sys.modules[module], name)
    return cls.__new__(cls)


def _hide(cls: type, cases: list[type]) -> None:
    """Removes the tests of a decorated class, and forbids subclasses."""
    names = test_names(cls)
    for name in names:
        setattr(cls, name, None)
    setattr(cls, _CASES, cases)
    cls.__test__ = False  # type: ignore[attr-defined]
    if '__init_subclass__' not in vars(cls):
        cls.__init_subclass__ = classmethod(_refuse_subclass(cls))  # type: ignore[assignment]


def _refuse_subclass(base: Any) -> Callable[..., None]:
    """An ``__init_subclass__`` that rejects all classes except those of variants."""

    def init_subclass(cls: type, **kwargs: Any) -> None:
        if _IS_CASE not in vars(cls):
            raise TypeError(
                f'{cls.__name__} derives from {base.__name__}, whose tests a decorator has split into '
                f'several classes: derive from an undecorated base and decorate {cls.__name__} itself'
            )
        super(base, cls).__init_subclass__(**kwargs)

    return init_subclass
