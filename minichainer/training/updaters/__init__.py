"""Updaters, which do one step of training."""

import typing

from minichainer._names import namespace as _namespace
from minichainer.training.updaters.multiprocess_parallel_updater import (
    MultiprocessParallelUpdater as MultiprocessParallelUpdater,
)
from minichainer.training.updaters.parallel_updater import ParallelUpdater as ParallelUpdater
from minichainer.training.updaters.standard_updater import StandardUpdater as StandardUpdater

if not typing.TYPE_CHECKING:
    __getattr__, __dir__ = _namespace(__name__)
