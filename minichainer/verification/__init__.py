"""Numerics of the gradient checker: functions on arrays and callables, without Variables."""
