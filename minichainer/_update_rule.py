"""The modules of parts of ``minichainer.optimizer`` in version 0.1, which pickles refer to.

Unpickling imports this module first, and then finds the old names among the loaded modules.
"""

from __future__ import annotations

import sys

from minichainer.optimizer import formula, grouped, hooks, hyperparameters, loss_scaling, rule

MOVED = {
    'elementwise': formula,
    'grouped': grouped,
    'hooks': hooks,
    'hyperparameter': hyperparameters,
    'loss_scaling': loss_scaling,
    'rule': rule,
}
sys.modules.update({f'{__name__}.{old}': module for old, module in MOVED.items()})
