"""Tied parameters: one Parameter that several links have, or one link that is in a model several times."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from minichainer.configuration import config
from minichainer.variable import Parameter

_logger = logging.getLogger(__name__)
#: What has been said.
_said: set[str] = set()


def each_once(params: Iterable[Parameter]) -> list[Parameter]:
    """The parameters to update: tied ones once, or each time if ``config.tied_parameters`` says so."""
    found = list(params)
    if len(set(map(id, found))) == len(found) or is_each():
        return found
    return without_repeats(found)


def without_repeats(params: Iterable[Parameter]) -> list[Parameter]:
    """The parameters in the order in which they first appear."""
    return list({id(param): param for param in params}.values())


def is_each() -> bool:
    """Whether a tied parameter is updated as often as it appears, as in Chainer."""
    return bool(config.tied_parameters == 'each')


def say_tied(optimizer: str, model: Any) -> None:
    """Logs the paths of tied parameters of a model, and how often they are updated; the same only once.

    Args:
        optimizer: the name of the optimizer's class.
        model: a link.
    """
    paths: dict[int, list[str]] = {}
    for path, param in model.namedparams():
        paths.setdefault(id(param), []).append(path)
    for tied in paths.values():
        text = (
            f'{optimizer}.setup: {" and ".join(tied)} are one parameter, which an update changes {_times(len(tied))}'
        )
        if len(tied) > 1 and text not in _said:
            _said.add(text)
            _logger.warning(text)


def _times(count: int) -> str:
    if not is_each():
        return 'once'
    return f"{count} times, as in Chainer (chainer.config.tied_parameters = 'once' changes that)"
