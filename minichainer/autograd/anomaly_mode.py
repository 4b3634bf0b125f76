"""The detection of anomalies in backward: NaN, and errors in derivatives."""

from __future__ import annotations

from typing import Any

from minichainer.configuration import config, set_anomaly_mode, using_settings


class detect_anomaly(using_settings):
    """Context manager in which a backward that gives NaN is an error, and errors show where the op was applied.

    Enter it around the forward pass too: that is when the traceback is recorded, which is shown if the backward of
    that op gives NaN (NaNError, a RuntimeError) or raises an error (then as a note of that error). Debug mode
    (``set_debug(True)``) does the same, and also detects NaN in forward.

    Args:
        check_nan: False to show tracebacks only.

    >>> import numpy as np, minichainer.functions as F
    >>> from minichainer import autograd
    >>> x = autograd.Variable(np.array(0.), requires_grad=True)
    >>> with np.errstate(all='ignore'), autograd.detect_anomaly():
    ...     y = F.sqrt(x) * 0
    ...     try:
    ...         y.backward()
    ...     except RuntimeError as error:
    ...         print(str(error).splitlines()[0])
    NaN is detected on backward computation of sqrt
    """

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__({'detect_anomaly': True if check_nan else 'tracebacks'})


class set_detect_anomaly:
    """Switches the detection of anomalies on or off: as a call, or as a context manager.

    Args:
        mode: whether to detect anomalies.
        check_nan: as for :class:`detect_anomaly`.

    >>> from minichainer import autograd
    >>> with autograd.set_detect_anomaly(True):
    ...     autograd.is_anomaly_enabled()
    True
    >>> autograd.is_anomaly_enabled()
    False
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = config.detect_anomaly
        try:
            set_anomaly_mode(bool(mode) and (True if check_nan else 'tracebacks'))
        except BaseException:  # that of a signal
            set_anomaly_mode(self._before)
            raise

    def __enter__(self) -> None:
        """Keeps the mode until the end of the block."""

    def __exit__(self, *exception: Any) -> None:
        try:
            set_anomaly_mode(self._before)
        except BaseException:  # that of a signal
            set_anomaly_mode(self._before)
            raise


def is_anomaly_enabled() -> bool:
    """Whether anomalies are detected in this thread."""
    return bool(config.detect_anomaly)


def is_anomaly_check_nan_enabled() -> bool:
    """Whether NaN in backward is an error in this thread."""
    return config.detect_anomaly is True
