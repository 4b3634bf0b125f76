"""The functions whose gradient cannot be differentiated again, and why: all of them are here."""

from __future__ import annotations

#: Public name: reason. A row of any other function must have order 2 or more, or 0 if it has no gradient at all.
NOT_TWICE_DIFFERENTIABLE: dict[str, str] = {}
#: How many there are: a longer list is a decision, not an accident.
COUNT = 0

#: Rows that cannot be computed on numbers, and why.
NOT_ON_NUMBERS = {
    'fft': 'computed by NumPy on complex128',
    'ifft': 'computed by NumPy on complex128',
    'argmax_crf1d': 'the row itself converts the score to float',
}
