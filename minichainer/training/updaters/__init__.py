"""Updaters: what one step of a training does."""

import typing

from minichainer._names import namespace as _namespace
from minichainer.training.updaters.standard_updater import StandardUpdater as StandardUpdater

if not typing.TYPE_CHECKING:
    __getattr__, __dir__ = _namespace(__name__)
