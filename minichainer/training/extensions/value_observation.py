from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minichainer.reporter import report
from minichainer.training.extension import PRIORITY_WRITER, make_extension


def observe_value(observation_key: str, target_func: Callable[[Any], Any]) -> Callable[[Any], None]:
    """Returns an extension that reports a value once an epoch.

    Args:
        observation_key (str): Key under which it is reported.
        target_func: Function of the trainer that returns the value.

    .. admonition:: Example

        >>> from minichainer.training import extensions
        >>> seconds = extensions.observe_value('seconds', lambda trainer: trainer.elapsed_time)
        >>> seconds.trigger
        (1, 'epoch')

    """

    # The name of the trigger in Chainer's snapshots.
    @make_extension(trigger=(1, 'epoch'), priority=PRIORITY_WRITER, default_name='_observe_value')
    def observe(trainer: Any) -> None:
        report({observation_key: target_func(trainer)})

    return observe


def observe_lr(optimizer_name: str = 'main', observation_key: str = 'lr') -> Callable[[Any], None]:
    """Returns an extension that reports the learning rate of an optimizer once an epoch.

    Args:
        optimizer_name (str): Name of the optimizer.
        observation_key (str): Key under which it is reported.

    .. admonition:: Example

        >>> from minichainer.training import extensions
        >>> rate = extensions.observe_lr(observation_key='rate')  # in a log under 'rate'
        >>> rate.trigger
        (1, 'epoch')

    """

    def learning_rate(trainer: Any) -> Any:
        optimizer = trainer.updater.get_optimizer(optimizer_name)
        # Adam and its variants call it alpha_t; their lr warns.
        return optimizer.alpha_t if hasattr(optimizer, 'alpha_t') else optimizer.lr

    return observe_value(observation_key, learning_rate)
