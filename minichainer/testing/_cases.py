"""One test class made into several: what the decorators that multiply test classes share."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

_CASES = '_minichainer_cases'
_IS_CASE = '_minichainer_is_case'

#: Turns (name of the test, its function) into the function of one case, or into None where it does not run there.
Wrap = Callable[[str, Any], Any]


@dataclass(frozen=True)
class Variant:
    """One of the classes to make: what its name ends with, its attributes, and how its tests are wrapped."""

    suffix: str
    attributes: dict[str, Any] = field(default_factory=dict)
    wrap: Wrap = lambda name, function: function


def test_names(cls: type) -> list[str]:
    """Names of the tests of a class, its inherited ones included, as pytest and unittest find them."""
    return [name for name in dir(cls) if name.startswith('test') and callable(getattr(cls, name, None))]


test_names.__test__ = False  # type: ignore[attr-defined]


def cases_of(cls: type) -> list[type]:
    """The classes made from a decorated class; the class itself where no decorator has multiplied it."""
    cases: list[type] = vars(cls).get(_CASES, [cls])
    return cases


def multiply(cls: type, variants: Callable[[type], Iterable[Variant]]) -> type:
    """Makes a class per variant, and puts them into the module beside ``cls``.

    The class itself stays what its name means, so that ``super(Name, self)`` works, but its tests are
    hidden: only the classes made from it are collected. Decorators may be stacked; each multiplies the
    classes of the one below it.
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


def _make(cls: type, variant: Variant) -> type:
    name = cls.__name__ + variant.suffix
    members = {
        '__doc__': cls.__doc__,
        '__module__': cls.__module__,
        '__qualname__': name,
        '__test__': True,
        '__reduce_ex__': _reduce,
        _IS_CASE: True,
        **variant.attributes,
    }
    for test in test_names(cls):
        members[test] = variant.wrap(test, inspect.getattr_static(cls, test))
    return type(cls)(name, (cls,), members)


def _reduce(self: Any, protocol: Any) -> Any:
    """Pickles an instance by the name of its class, which may contain dots: pickle itself would split it."""
    return _instance, (type(self).__module__, type(self).__name__), vars(self).copy()


def _instance(module: str, name: str) -> Any:
    __import__(module)
    cls = getattr(sys.modules[module], name)
    return cls.__new__(cls)


def _hide(cls: type, cases: list[type]) -> None:
    names = test_names(cls)
    for name in names:
        setattr(cls, name, None)
    setattr(cls, _CASES, cases)
    cls.__test__ = False  # type: ignore[attr-defined]
    if '__init_subclass__' not in vars(cls):
        cls.__init_subclass__ = classmethod(_refuse_subclass(cls))  # type: ignore[assignment]


def _refuse_subclass(base: Any) -> Callable[..., None]:
    def init_subclass(cls: type, **kwargs: Any) -> None:
        if _IS_CASE not in vars(cls):
            raise TypeError(
                f'{cls.__name__} derives from {base.__name__}, whose tests a decorator has distributed over '
                f'several classes: derive from an undecorated base and decorate {cls.__name__} itself'
            )
        super(base, cls).__init_subclass__(**kwargs)

    return init_subclass
