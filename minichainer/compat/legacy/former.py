"""What ported programs call where Chainer v1 had an attribute or a method that links of today lack."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from minichainer.backend import copyto
from minichainer.compat.changes import Changes
from minichainer.compat.legacy import defaults, keywords, names, optimizers, spellings, volatile
from minichainer.link.link import Chain

#: Parts of the style of v1 that a program can switch on: what installs each.
_PARTS: dict[str, Callable[[Changes], Any]] = {
    'defaults': defaults.install,
    'keywords': keywords.install,
    'nodes': names.install_nodes,
    'optimizers': optimizers.install,
    'trainer': spellings.install,
    'volatile': volatile.Volatile,
}
_on: dict[str, tuple[Changes, Any]] = {}


def switch_on(*parts: str) -> None:
    """Switches parts of the style of v1 on, for the whole process.

    Args:
        parts: ``defaults`` (initial values and statistics of links), ``keywords`` (arguments of functions and links),
            ``nodes`` (objects of node classes, called, return one output alone), ``volatile`` (the argument and
            attribute of Variables, and no graph of what is volatile), ``optimizers`` (their methods, and optimizers
            that define ``update_one``), ``trainer`` (``invoke_before_training``, and ``trigger`` of snapshots).

    Raises:
        ValueError: there is no such part.

    >>> import numpy as np, minichainer as chainer, minichainer.functions as F
    >>> switch_on('volatile')
    >>> F.exp(chainer.Variable(np.ones(2, np.float32), volatile='on')).creator is None
    True
    >>> switch_off()
    """
    for part in parts:
        if part not in _PARTS:
            raise ValueError(f'switch_on: expected some of {", ".join(_PARTS)}, got {part!r}')
        if part not in _on:
            changes = Changes()
            _on[part] = changes, _PARTS[part](changes)


def switch_off() -> None:
    """Switches off what :func:`switch_on` switched on."""
    while _on:
        _, (changes, installed) = _on.popitem()
        changes.undo()
        if isinstance(installed, volatile.Volatile):
            installed.end()


def parameters(model: Any) -> Any:
    """The attribute ``parameters`` of a model; of a link, which has none, the arrays of its parameters.

    Args:
        model: a link, or another object with such an attribute.

    >>> import minichainer as chainer, minichainer.links as L
    >>> len(parameters(chainer.Chain(l1=L.Linear(3, 2))))
    2
    """
    return model.parameters if hasattr(model, 'parameters') else tuple([p.data for p in names.in_order(model)])


def gradients(model: Any) -> Any:
    """The attribute ``gradients`` of a model; of a link, which has none, the gradients of its parameters.

    Args:
        model: a link, or another object with such an attribute.
    """
    return model.gradients if hasattr(model, 'gradients') else tuple([p.grad for p in names.in_order(model)])


def set_part(model: Any, name: str, value: Any) -> None:
    """``setattr`` as a FunctionSet of v1 had it: a link becomes a part of a chain, in place of one of this name.

    Args:
        model: a chain, or any other object, which gets the attribute.
        name: of the part or attribute.
        value: what it becomes.

    >>> import minichainer as chainer, minichainer.links as L
    >>> model = chainer.Chain()
    >>> set_part(model, 'l1', L.Linear(3, 2))
    >>> sorted(name for name, _ in model.namedparams())
    ['/l1/W', '/l1/b']
    """
    if not isinstance(model, Chain) or not names.add_part(model, name, value):
        setattr(model, name, value)


def copy_parameters_from(model: Any, params: Iterable[Any]) -> None:
    """Copies arrays into the parameters of a model, in the order in which these were added.

    Args:
        model: a link, or another object with a method of this name, which is then called.
        params: NumPy or CuPy arrays, as :func:`parameters` gives them.
    """
    if hasattr(model, 'copy_parameters_from'):
        model.copy_parameters_from(params)
        return
    for mine, theirs in zip(parameters(model), params, strict=True):
        copyto(mine, theirs)


def add_uninitialized_param(link: Any, name: str) -> None:
    """Announces a parameter that ``add_param`` adds later.

    Args:
        link: a link, or another object with a method of this name, which is then called.
        name: of the parameter.
    """
    if hasattr(link, 'add_uninitialized_param'):
        link.add_uninitialized_param(name)
    else:
        names.add_uninitialized_param(link, name)


def has_uninitialized_params(link: Any) -> bool:
    """Whether a link has parameters without arrays, or that were announced and not added.

    Args:
        link: a link, or another object with such an attribute.
    """
    own = getattr(link, 'has_uninitialized_params', None)
    return names.has_uninitialized_params(link) if own is None else bool(own)
