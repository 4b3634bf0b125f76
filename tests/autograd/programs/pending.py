"""Programs that differ from torch, and why; one that does not differ may not be listed."""

PENDING: dict[str, str] = {}
