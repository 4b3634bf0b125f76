"""Why a gradient is wrong.

``causes`` chooses the most specific cause. ``corrections`` looks for a simple change that makes the gradient right;
``experiments`` measures derivatives at other data for ``slices``, ``thresholds``, ``rearrangements``, ``recurrence``
and ``jacobian_entries``; ``evidence`` compares wrong elements with right ones; ``conjugation`` is for complex
numbers.
"""
