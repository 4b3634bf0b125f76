from __future__ import annotations

import warnings
from typing import Any

from minichainer.reporter import DictSummary
from minichainer.serializer import Serializer


def serialize_interval(serializer: Any, trigger: Any, summary: DictSummary | None = None) -> None:
    """Saves or restores the progress of an interval: its trigger, and the sums so far.

    They are missing in Chainer's snapshots; then it warns, and the interval begins at the current iteration.
    """
    try:
        if hasattr(trigger, 'serialize'):
            trigger.serialize(serializer['_trigger'])
        if summary is not None:
            summary.serialize(serializer['_summary'])
    except KeyError as error:
        if isinstance(serializer, Serializer):
            raise
        warnings.warn(f'The snapshot does not contain the progress of the interval ({error}).', stacklevel=3)
