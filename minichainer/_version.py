"""The version, in one place: the package, its metadata and legacy code read it from here."""

from __future__ import annotations

__version__ = '0.2.0'
