"""Draws docs/gradient_check.svg, the picture that docs/gradient_checking.md shows.

python docs/make_picture.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

DOCS = Path(__file__).resolve().parent
PICTURE = DOCS / 'gradient_check.svg'


def report() -> Any:
    """A report about a wrong element and a kink."""
    import minichainer
    import minichainer.functions as F
    from minichainer.gradient_check import check_gradients

    class Square(minichainer.FunctionNode):
        def forward(self, inputs: Any) -> Any:
            self.retain_inputs((0,))
            return (inputs[0] ** 2,)

        def backward(self, indexes: Any, grad_outputs: Any) -> Any:
            (x,), (gy,) = self.get_retained_inputs(), grad_outputs
            gx = 2 * x.array * gy.array
            gx[1, 2] *= 1.1
            return (minichainer.Variable(gx),)

    def function(x: Any, w: Any) -> Any:
        return Square().apply((x,))[0], F.relu(w)

    x = np.random.default_rng(0).normal(size=(3, 4))
    return check_gradients(function, (x, np.array([1.0, 0.0, -2.0])), seed=0)


def draw(path: Path = PICTURE) -> None:
    """Writes the picture; the same version of matplotlib writes the same bytes."""
    import matplotlib

    with matplotlib.rc_context({'svg.fonttype': 'none', 'svg.hashsalt': 'minichainer'}):
        report().plot().savefig(path, metadata={'Date': None, 'Creator': None})


if __name__ == '__main__':
    sys.path.insert(0, str(DOCS.parent))
    draw()
