"""Normalizations: functions that standardize mean and scale."""
