"""Modules that stand in for those that Python dropped, as far as programs use them."""
