"""Links and parameters in attributes of a model that do not belong to it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any

from minichainer._frames import stacklevel
from minichainer.errors import UnregisteredWarning
from minichainer.link.parameters import ParameterTree
from minichainer.variable import Parameter


def warn_of_unregistered(model: ParameterTree) -> None:
    """Warns of links and parameters that are attributes of a model, or in lists of it, and are not part of it.

    Optimizers do not update them, and snapshots do not contain them. Attributes with a leading underscore are not
    looked at.
    """
    links = list(model.links())
    known = {id(part) for part in (*links, *model.params())}
    found = [text for link in links for text in _unregistered(link, known)]
    if found:
        warnings.warn(
            'Optimizer.setup: these do not belong to the model, so they are neither updated nor saved:\n  '
            + '\n  '.join(found)
            + '\nIf that is meant, begin the names of the attributes with an underscore.',
            UnregisteredWarning,
            stacklevel=stacklevel(),
        )


def _unregistered(link: Any, known: set[int]) -> Iterator[str]:
    """What to write instead, for each attribute of one link."""
    for name, value in vars(link).items():
        if name.startswith('_'):
            continue
        owner, kind = type(link).__name__, type(value).__name__
        if isinstance(value, (ParameterTree, Parameter)) and id(value) not in known:
            yield f'{owner}.{name} ({kind}): assign it inside "with self.init_scope():"'
        elif any(
            isinstance(entry, (ParameterTree, Parameter)) and id(entry) not in known for entry in _entries(value)
        ):
            yield f'{owner}.{name}, a {kind} of links: make it a ChainList, and assign that inside init_scope()'


def _entries(value: Any) -> Iterable[Any]:
    """The elements of a list, tuple or dict."""
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, (list, tuple)) else ()
