"""The version, which the package, its metadata and legacy code read from here."""

from __future__ import annotations

__version__ = '0.2.0'
