"""All entries of the catalogue."""

from __future__ import annotations

from tests.verification.catalogue import (
    correct,
    correct_conditions,
    correct_conduct,
    mutations,
    networks,
    planted_behaviour,
    planted_conditions,
    planted_elsewhere,
    planted_history,
    planted_layouts,
    planted_linearity,
    planted_native,
    planted_second_order,
    planted_structure,
    planted_together,
    planted_values,
)

#: Wrong wherever they are looked at.
PLAIN = [
    *planted_values.ENTRIES,
    *planted_structure.ENTRIES,
    *planted_linearity.ENTRIES,
    *planted_native.ENTRIES,
    *planted_second_order.ENTRIES,
    *planted_behaviour.ENTRIES,
    *mutations.ENTRIES,
    *networks.ENTRIES,
]
#: Right for ordinary upstream gradients of one output, once, in C order; wrong in other circumstances.
CONDITIONAL = [
    *planted_conditions.ENTRIES,
    *planted_elsewhere.ENTRIES,
    *planted_together.ENTRIES,
    *planted_layouts.ENTRIES,
    *planted_history.ENTRIES,
]
PLANTED = PLAIN + CONDITIONAL
#: Blind spots: measured apart.
BEYOND = [
    *planted_behaviour.BEYOND,
    *planted_conditions.BEYOND,
    *planted_elsewhere.BEYOND,
    *planted_history.BEYOND,
]
CORRECT = [*correct.ENTRIES, *correct_conduct.ENTRIES, *correct_conditions.ENTRIES]
