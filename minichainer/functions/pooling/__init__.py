"""Summaries of windows."""
