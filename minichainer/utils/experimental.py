"""The warning of features that may change."""

from __future__ import annotations

import sys
import warnings


def experimental(api_name: str) -> None:
    """Warns that a feature may change; the feature itself calls it.

    ``minichainer.disable_experimental_feature_warning = True`` silences it.

    Args:
        api_name: name of the feature.
    """
    root = sys.modules.get(__name__.partition('.')[0])
    if not getattr(root, 'disable_experimental_feature_warning', False):
        warnings.warn(f'{api_name} is experimental. It may change', FutureWarning, stacklevel=3)
