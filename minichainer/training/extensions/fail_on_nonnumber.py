from __future__ import annotations

from typing import Any

from minichainer.backend import get_array_module
from minichainer.training.extension import Extension


class FailOnNonNumber(Extension):
    """Ends the training with a :class:`RuntimeError` if a parameter becomes NaN or infinite.

    Reading the parameters after each update takes time; use a trigger if that matters.

    .. admonition:: Example

        >>> from minichainer.training import extensions
        >>> extensions.FailOnNonNumber().trigger  # trainer.extend(..., trigger=(100, 'iteration')) makes it cheaper
        (1, 'iteration')

    """

    def __call__(self, trainer: Any) -> None:
        """Checks the parameters of all optimizers."""
        for name, optimizer in trainer.updater.get_all_optimizers().items():
            bad = [path for path, param in optimizer.target.namedparams() if not _is_finite(param._data)]
            if bad:
                raise RuntimeError(
                    f'FailOnNonNumber: iteration {trainer.updater.iteration} left NaN or infinity in '
                    f'{", ".join(bad)} of the model of optimizer {name!r}; '
                    'a smaller learning rate or gradient clipping may help'
                )


def _is_finite(array: Any) -> bool:
    return array is None or bool(get_array_module(array).isfinite(array).all())
