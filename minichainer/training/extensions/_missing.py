"""Says which keys an extension was given that nothing has ever been reported for."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable

from minichainer._names import advice


def warn_of_missing(extension: str, missing: Iterable[str], observed: Collection[str]) -> None:
    """Warns at the end of a run, because some values are reported rarely; not if nothing was reported at all.

    Args:
        extension: its name.
        missing: keys without a value.
        observed: keys with one.
    """
    names, known = sorted(set(missing) - set(observed)), sorted(observed)
    if names and known:
        meant = '; '.join(f'{name!r}{advice(name, known)}' for name in names)
        warnings.warn(f'{extension}: no value was observed for {meant}; observed were {known}', stacklevel=3)
