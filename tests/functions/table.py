"""The table: every row, and the public names that need none."""

from __future__ import annotations

from tests.functions import (
    rows_activation,
    rows_array,
    rows_attention,
    rows_decompositions,
    rows_elementwise,
    rows_linear_algebra,
    rows_losses,
    rows_math,
    rows_network,
    rows_normalization,
    rows_operators,
    rows_pooling,
    rows_rearranging,
    rows_recurrent,
    rows_reductions,
    rows_sequences,
    rows_structured,
)
from tests.functions.row import Row, pairs
from tests.functions.rows_convolution import ROWS as CONVOLUTIONS

ROWS: list[Row] = [
    *rows_operators.ROWS,
    *rows_elementwise.ROWS,
    *rows_array.ROWS,
    *rows_rearranging.ROWS,
    *rows_reductions.ROWS,
    *rows_network.ROWS,
    *rows_pooling.ROWS,
    *rows_recurrent.ROWS,
    *rows_activation.ROWS,
    *rows_attention.ROWS,
    *CONVOLUTIONS,
    *rows_normalization.ROWS,
    *rows_math.ROWS,
    *rows_linear_algebra.ROWS,
    *rows_decompositions.ROWS,
    *rows_losses.ROWS,
    *rows_structured.ROWS,
    *rows_sequences.ROWS,
]
CASES = list(pairs(ROWS))

#: Public names of ``minichainer.functions`` without a row, and why.
EXEMPT = {
    'imag': 'takes complex numbers only: tests/functions/test_complex.py',
    'batch_renormalization': 'its corrections are constants to the gradient; see test_normalization.py',
    'elementwise': 'defines ops; see test_define.py',
    'linear_map': 'defines ops; see test_define.py',
    'bilinear_map': 'deprecated name of primitive; see test_define.py',
    'primitive': 'defines ops; see test_define.py',
    'reduction': 'defines ops; see test_define.py',
}
#: Methods of Variable that Python calls for operators, without a row, and why.
EXEMPT_OPERATORS = {
    **{
        f'__{name}__': 'a number of Python, not a Variable; see test_numbers.py' for name in ('int', 'float', 'round')
    },
    '__pos__': 'returns the Variable itself; see test_operators.py',
    **{f'__{name}__': 'raises; see test_operators.py' for name in ('eq', 'ne', 'lt', 'le', 'gt', 'ge', 'bool')},
}
