"""Recorded data is no test code: the models of the snapshots import `chainer`."""

from __future__ import annotations

collect_ignore = ['snapshots']
