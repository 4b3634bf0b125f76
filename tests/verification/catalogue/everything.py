"""All entries of the catalogue."""

from __future__ import annotations

from tests.verification.catalogue import (
    correct,
    correct_conditions,
    correct_conduct,
    correct_precision,
    mutations,
    networks,
    planted_behaviour,
    planted_complex,
    planted_conditions,
    planted_elsewhere,
    planted_exceptions,
    planted_forward,
    planted_found,
    planted_history,
    planted_layouts,
    planted_leaves,
    planted_linearity,
    planted_native,
    planted_plateaus,
    planted_precision,
    planted_second_order,
    planted_sparse,
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
    *planted_found.ENTRIES,
    *planted_plateaus.ENTRIES,
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
    *planted_leaves.ENTRIES,
    *planted_exceptions.ENTRIES,
]
#: Forward mode, batches, complex numbers and sparse matrices: with options, or inputs, that few checkers have.
MODES = [*planted_forward.ENTRIES, *planted_complex.ENTRIES, *planted_sparse.ENTRIES]
#: Wrong by 1e-6 to 1e-12, which is seen where slopes are computed at 50 digits.
PRECISION = planted_precision.ENTRIES
PLANTED = PLAIN + CONDITIONAL + MODES + PRECISION
#: Blind spots: measured apart.
BEYOND = [
    *planted_behaviour.BEYOND,
    *planted_conditions.BEYOND,
    *planted_elsewhere.BEYOND,
    *planted_history.BEYOND,
    *planted_found.BEYOND,
]
CORRECT = [
    *correct.ENTRIES,
    *correct_conduct.ENTRIES,
    *correct_conditions.ENTRIES,
    *correct_precision.ENTRIES,
    *planted_plateaus.RIGHT,
    *planted_forward.RIGHT,
    *planted_complex.RIGHT,
    *planted_sparse.RIGHT,
]
