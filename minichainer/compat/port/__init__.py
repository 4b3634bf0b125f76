"""Rewriting of programs, and a check of what they use; needs the package libcst."""
