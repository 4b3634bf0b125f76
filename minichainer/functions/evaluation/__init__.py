"""Measures without gradient."""
