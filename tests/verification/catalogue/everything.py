"""All entries of the catalogue."""

from __future__ import annotations

from tests.verification.catalogue import (
    correct,
    correct_conditions,
    correct_conduct,
    mutations,
    networks,
    planted_behaviour,
    planted_linearity,
    planted_native,
    planted_second_order,
    planted_structure,
    planted_values,
)

PLANTED = [
    *planted_values.ENTRIES,
    *planted_structure.ENTRIES,
    *planted_linearity.ENTRIES,
    *planted_native.ENTRIES,
    *planted_second_order.ENTRIES,
    *planted_behaviour.ENTRIES,
    *mutations.ENTRIES,
    *networks.ENTRIES,
]
#: Blind spots: measured apart.
BEYOND = [*planted_linearity.BEYOND, *planted_behaviour.BEYOND]
CORRECT = [*correct.ENTRIES, *correct_conduct.ENTRIES, *correct_conditions.ENTRIES]
