"""Programs are run by test_against_torch.py; the module of torch's world cannot be imported without torch."""

from __future__ import annotations

collect_ignore_glob = ['*.py']
