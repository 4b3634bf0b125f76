"""Names of hyperparameters of other optimizers, to which a value would be given in vain."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

#: Only these are refused where they mean nothing: programs keep values of their own on optimizers, under other names.
#: They are names of other frameworks, and the hyperparameters of each optimizer of this package (:func:`note_names`).
NAMES: set[str] = set('lr learning_rate step_size momentum betas epsilon'.split())


def note_names(kind: type, names: Iterable[str]) -> None:
    """Notes the hyperparameters of an optimizer, if it is one of this package."""
    if _is_of_this_package(kind):
        NAMES.update(names)


def _is_of_this_package(kind: type) -> bool:
    return kind.__module__.partition('.')[0] == __name__.partition('.')[0]


def is_foreign(kind: type, name: str) -> bool:
    """Whether a name is a hyperparameter of some optimizers, and the class, if it has none such, is of this package.

    Then a value would be read by nobody. Classes of users may read any attribute.

    Args:
        kind: the class of an optimizer or an update rule.
        name: the attribute.
    """
    return name in NAMES and _is_of_this_package(kind)


def unknown(owner: str, name: str, names: Iterable[str]) -> str:
    """The sentence about a hyperparameter that does not exist.

    Args:
        owner: who has none of that name.
        name: the name.
        names: what there is.
    """
    return f'{owner} has no hyperparameter {name!r}; it has {", ".join(names) or "none"}'


def check_attribute(user: str, optimizer: Any, name: str) -> None:
    """Raises AttributeError unless an optimizer has an attribute that can be set.

    Args:
        user: who sets it, for the error; '' for the optimizer itself.
        optimizer: any object.
        name: the attribute.
    """
    kind = type(optimizer).__name__
    names = [*optimizer.hyperparam.get_dict()] if hasattr(optimizer, 'hyperparam') else []
    start = user and f'{user}: '
    found = getattr(type(optimizer), name, None)
    if isinstance(found, property) and found.fset is None:
        listed = ', '.join(names)
        raise AttributeError(f'{start}{name!r} of {kind} is computed and cannot be set; what can be set is {listed}')
    if not hasattr(optimizer, name):
        raise AttributeError(start + unknown(kind, name, names))
