"""Metrics without a gradient."""
