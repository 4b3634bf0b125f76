"""Training loops: a trainer runs an updater and calls extensions when their triggers fire."""

import typing

from minichainer._names import namespace as _namespace
from minichainer.training._interval_trigger import IntervalTrigger as IntervalTrigger
from minichainer.training.extension import PRIORITY_EDITOR as PRIORITY_EDITOR
from minichainer.training.extension import PRIORITY_READER as PRIORITY_READER
from minichainer.training.extension import PRIORITY_WRITER as PRIORITY_WRITER
from minichainer.training.extension import Extension as Extension
from minichainer.training.extension import make_extension as make_extension
from minichainer.training.trainer import Trainer as Trainer
from minichainer.training.updater import Updater as Updater
from minichainer.training.updaters.parallel_updater import ParallelUpdater as ParallelUpdater
from minichainer.training.updaters.standard_updater import StandardUpdater as StandardUpdater
from minichainer.training.util import get_trigger as get_trigger

from minichainer.training import extensions as extensions  # isort: skip
from minichainer.training import trigger as trigger  # isort: skip
from minichainer.training import triggers as triggers  # isort: skip
from minichainer.training import updaters as updaters  # isort: skip

if not typing.TYPE_CHECKING:
    __getattr__, __dir__ = _namespace(
        __name__, ['extension', 'extensions', 'trigger', 'triggers', 'updater', 'updaters', 'util']
    )
