"""The optimizers that have one kernel for all parameters."""

from __future__ import annotations

from typing import Any

from minichainer import optimizers

#: Constructors of optimizers that have one kernel for all parameters, with a setting for each branch of a formula.
OPTIMIZERS = {name: {} for name in dir(optimizers) if name[0].isupper() and name not in ('GradientMethod', 'LAMB')}
SETTINGS: list[tuple[str, dict[str, Any]]] = [
    *OPTIMIZERS.items(),
    ('RMSprop', {'eps_inside_sqrt': True}),
    ('AdamW', {'weight_decay_rate': 0.1}),
    ('Lion', {'weight_decay_rate': 0.1}),
    ('MSVAG', {'weight_decay_rate': 0.1}),
    ('RAdam', {'weight_decay_rate': 0.1}),
]
