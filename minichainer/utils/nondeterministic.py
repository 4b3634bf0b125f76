"""The warning of functions whose results differ from run to run."""

from __future__ import annotations

import warnings

from minichainer.configuration import config


def nondeterministic(f_name: str) -> None:
    """Warns that a function is not deterministic, if ``config.warn_nondeterministic`` is set.

    Args:
        f_name: name of the function.
    """
    if config.warn_nondeterministic:
        warnings.warn(f'{f_name} is not deterministic, and config.warn_nondeterministic is set', stacklevel=3)
