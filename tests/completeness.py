"""What a table lacks, or has too much, as a message that says where to add which row."""

from __future__ import annotations

from collections.abc import Iterable


def assert_complete(rows: Iterable[str], public: Iterable[str], place: str, row: str = 'a row') -> None:
    """Asserts that a table has exactly the public names.

    Args:
        rows: the names in the table.
        public: the names that it must have.
        place: the file and the name of the table.
        row: what to add for a name that is missing.
    """
    have, want = set(rows), set(public)
    missing, unknown = ', '.join(sorted(want - have)), ', '.join(sorted(have - want))
    assert not missing, f'{place} has nothing for {missing}: add {row} (CONTRIBUTING.md has an example)'
    assert not unknown, f'{place} has {unknown}, which is not public: remove that, or export it'
