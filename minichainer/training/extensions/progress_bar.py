from __future__ import annotations

import datetime
from typing import Any

from minichainer.training.extension import Extension
from minichainer.training.extensions._terminal import Bar, Display, Speed, make_display


class ProgressBar(Extension):
    """Shows the progress and speed of the training, and the remaining time; disappears at the end.

    On a terminal it is a block of four lines, redrawn in place, by tqdm if that is installed (the extra
    ``progress``). In a notebook it is two widgets of tqdm. If the standard output is neither, nothing is shown,
    unless ``out`` is given: to a file or a pipe it writes one plain line at each update.

    Args:
        training_length (tuple): Length of the training, ``(20, 'epoch')``; that of the stop trigger when
            omitted.
        update_interval (int): Number of iterations between two updates.
        bar_length (int): Width of the bars in characters.
        out: Stream on which it is shown, whatever it is; when omitted the standard output, if that is a terminal,
            or the notebook.

    .. admonition:: Example

        >>> from minichainer.training import extensions
        >>> bar = extensions.ProgressBar(training_length=(20, 'epoch'), update_interval=10)

    """

    def __init__(
        self,
        training_length: tuple[float, str] | None = None,
        update_interval: int = 100,
        bar_length: int = 50,
        out: Any = None,
    ) -> None:
        #: Set by :meth:`initialize` if not given.
        self._training_length: Any = training_length
        self._update_interval = update_interval
        self._bar_length = bar_length
        self._out = out
        self._display: Display | None = None
        self._initialized = False
        self._speed = Speed()

    def initialize(self, trainer: Any) -> None:
        """Determines the length of the training and starts the clock."""
        self._initialized = True
        if self._training_length is None:
            self._training_length = _length_of(trainer.stop_trigger)
        self._display = make_display(self._out)
        self._speed.update(trainer.updater.iteration, trainer.updater.epoch_detail)

    def __call__(self, trainer: Any) -> None:
        """Redraws the bars, each ``update_interval`` iterations."""
        if trainer.updater.iteration % self._update_interval:
            return
        if not self._initialized:
            self.initialize(trainer)
        if self._display is not None:
            self._show(trainer.updater, self._display)

    def _show(self, updater: Any, display: Display) -> None:
        """Draws bars, counts, speed and remaining time."""
        length, unit = self._training_length
        iteration, epoch = updater.iteration, updater.epoch_detail
        done = iteration if unit == 'iteration' else epoch
        per_second = self._speed.update(iteration, epoch)
        speed = per_second[0] if unit == 'iteration' else per_second[1]
        left = _duration(max(length - done, 0) / speed) if speed > 0 else 'unknown'
        share = min(done / length, 1.0)
        status = f'{iteration:10} iter, {updater.epoch} epoch / {length} {unit}s'
        speed_line = f'{per_second[0]:10.5g} iters/sec. Estimated time to finish: {left}.'
        bars = [Bar('total', share, self._bar_length), Bar('this epoch', epoch % 1, self._bar_length)]
        display.show(bars, [status, speed_line])

    def finalize(self) -> None:
        """Removes the bars."""
        if self._display is not None:
            self._display.erase()


def _length_of(stop_trigger: Any) -> tuple[float, str]:
    """The length of the training according to its stop trigger."""
    if not hasattr(stop_trigger, 'get_training_length'):
        raise TypeError(
            f'ProgressBar: the stop trigger {stop_trigger!r} does not define the length of the training; '
            "pass training_length=(number, 'epoch' or 'iteration')"
        )
    length: tuple[float, str] = stop_trigger.get_training_length()
    return length


def _duration(seconds: float) -> datetime.timedelta:
    return datetime.timedelta(seconds=round(seconds))
