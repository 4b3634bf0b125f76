from __future__ import annotations

import warnings
from typing import Any

from minichainer.reporter import DictSummary
from minichainer.serializer import Serializer


def serialize_interval(serializer: Any, trigger: Any, summary: DictSummary | None = None) -> None:
    """Saves or restores how far an interval is: its trigger, and the sums of the values so far.

    Chainer's snapshots lack them; then it warns, and the interval begins where the run goes on.
    """
    try:
        if hasattr(trigger, 'serialize'):
            trigger.serialize(serializer['_trigger'])
        if summary is not None:
            summary.serialize(serializer['_summary'])
    except KeyError as error:
        if isinstance(serializer, Serializer):
            raise
        warnings.warn(f'The snapshot does not tell how far the interval was ({error}).', stacklevel=3)
