"""Numbers of 50 digits: values against mpmath, special values against NumPy and SciPy, and no loss of digits."""

from __future__ import annotations

import copy
import itertools
import math
import operator
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import special

import minichainer.functions as F
from minichainer.gradient_check import check_gradients
from minichainer.verification.extended_precision import arrays as extended_precision
from minichainer.verification.extended_precision.number import Extended

SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan]
POINTS = [*SPECIAL, 1.0, -1.0, 0.5, -0.5, 0.3, 2.0, -3.7, 1e-10, -1e-10, 1.5, 2.5, 20.0, -20.0]
UNARY = (
    'exp exp2 expm1 log log2 log10 log1p sqrt cbrt sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh arccosh '
    'arctanh floor ceil rint trunc sign square reciprocal fabs degrees radians deg2rad rad2deg conjugate'
).split()
SPECIAL_FUNCTIONS = (
    'erf erfc erfcx erfinv erfcinv ndtr log_ndtr ndtri gamma gammaln digamma psi i0 i1 i0e i1e expit logit log_expit'
).split()
#: SciPy gives a zero of the other sign at this zero, or root.
OTHER_ZERO = {('erfinv', '-0.0'), ('erfcinv', '1.0'), ('i1', '-0.0'), ('i1e', '-0.0')}
BINARY = 'arctan2 hypot fmod copysign logaddexp logaddexp2 heaviside fmax fmin maximum minimum'.split()
OPERATORS: dict[str, Any] = {
    'add': operator.add, 'subtract': operator.sub, 'multiply': operator.mul, 'divide': operator.truediv,
    'power': operator.pow, 'mod': operator.mod, 'floor_divide': operator.floordiv,
}  # fmt: skip
COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]
#: The definitions by functions of mpmath, for the comparison of digits.
DEFINITIONS: dict[str, Callable[[Any, Any], Any]] = {
    'exp': lambda mp, x: mp.exp(x),
    'exp2': lambda mp, x: mp.mpf(2) ** x,
    'expm1': lambda mp, x: mp.exp(x) - 1,
    'log': lambda mp, x: mp.log(x),
    'log2': lambda mp, x: mp.log(x) / mp.log(2),
    'log10': lambda mp, x: mp.log(x) / mp.log(10),
    'log1p': lambda mp, x: mp.log(1 + x),
    'sqrt': lambda mp, x: x ** mp.mpf('0.5'),
    'cbrt': lambda mp, x: x ** (mp.mpf(1) / 3),
    'sin': lambda mp, x: mp.sin(x),
    'cos': lambda mp, x: mp.cos(x),
    'tan': lambda mp, x: mp.sin(x) / mp.cos(x),
    'sinh': lambda mp, x: (mp.exp(x) - mp.exp(-x)) / 2,
    'cosh': lambda mp, x: (mp.exp(x) + mp.exp(-x)) / 2,
    'tanh': lambda mp, x: 1 - 2 / (mp.exp(2 * x) + 1),
    'arcsin': lambda mp, x: mp.atan(x / mp.sqrt(1 - x * x)),
    'arccos': lambda mp, x: mp.pi / 2 - mp.atan(x / mp.sqrt(1 - x * x)),
    'arctan': lambda mp, x: mp.atan(x),
    'arcsinh': lambda mp, x: mp.log(x + mp.sqrt(x * x + 1)),
    'arctanh': lambda mp, x: mp.log((1 + x) / (1 - x)) / 2,
    'erf': lambda mp, x: 1 - mp.erfc(x),
    'erfc': lambda mp, x: 1 - mp.erf(x),
    'erfcx': lambda mp, x: mp.exp(x * x) * mp.erfc(x),
    'erfinv': lambda mp, x: mp.erfinv(x),
    'erfcinv': lambda mp, x: mp.erfinv(1 - x),
    'ndtr': lambda mp, x: (1 + mp.erf(x / mp.sqrt(2))) / 2,
    'log_ndtr': lambda mp, x: mp.log((1 + mp.erf(x / mp.sqrt(2))) / 2),
    'ndtri': lambda mp, x: mp.sqrt(2) * mp.erfinv(2 * x - 1),
    'gamma': lambda mp, x: mp.gamma(x),
    'gammaln': lambda mp, x: mp.log(mp.gamma(x)),
    'digamma': lambda mp, x: mp.psi(0, x),
    'psi': lambda mp, x: mp.psi(0, x),
    'i0': lambda mp, x: mp.besseli(0, x),
    'i1': lambda mp, x: mp.besseli(1, x),
    'i0e': lambda mp, x: mp.besseli(0, x) * mp.exp(-x),
    'i1e': lambda mp, x: mp.besseli(1, x) * mp.exp(-x),
    'expit': lambda mp, x: 1 / (1 + mp.exp(-x)),
    'logit': lambda mp, x: mp.log(x / (1 - x)),
    'log_expit': lambda mp, x: -mp.log(1 + mp.exp(-x)),
}


def agree(found: float, expected: float) -> bool:
    if math.isnan(expected) or math.isinf(expected) or expected == 0:
        same_sign = math.isnan(expected) or math.copysign(1, found) == math.copysign(1, expected)
        return same_sign and (found == expected or (math.isnan(found) and math.isnan(expected)))
    return abs(found - expected) <= 1e-12 * abs(expected)


@pytest.mark.parametrize('name', [*UNARY, *SPECIAL_FUNCTIONS])
def test_functions_agree_with_float64_everywhere(name: str) -> None:
    function = getattr(np, name, None) or getattr(special, name)
    for x in POINTS:
        with np.errstate(all='ignore'):
            expected = float(function(x))
        found = getattr(Extended(x), name)().rounded()
        other_zero = (name, str(x)) in OTHER_ZERO and found == expected
        assert other_zero or agree(found, expected), (name, x, found, expected)


@pytest.mark.parametrize('name', DEFINITIONS)
def test_functions_have_50_digits(name: str) -> None:
    wide = mpmath.MPContext()
    wide.dps = 90
    for x in (0.125, 0.3, 0.7, 0.999):
        found = wide.make_mpf(getattr(Extended(x), name)().raw)
        expected = DEFINITIONS[name](wide, wide.mpf(x))
        assert abs(found - expected) <= abs(expected) * wide.mpf(10) ** -49, (name, x)


def test_functions_are_those_of_the_tables() -> None:
    defined = {
        n for n in vars(Extended) if not n.startswith('_') and callable(getattr(np, n, getattr(special, n, None)))
    }
    also = {
        'isnan',
        'isinf',
        'isfinite',
        'signbit',
        'clip',
        'fix',
        'conj',
        'positive',
        'polygamma',
        'zeta',
        'float_power',
    }
    assert defined == {*UNARY, *SPECIAL_FUNCTIONS, *BINARY, *also, 'real', 'imag'}
    assert set(DEFINITIONS) <= defined


@pytest.mark.parametrize('name', [*OPERATORS, *BINARY])
def test_operations_of_two_numbers_agree_with_float64(name: str) -> None:
    for a, b in itertools.product(POINTS, POINTS):
        if name in ('maximum', 'minimum', 'fmax', 'fmin') and a == b == 0:
            continue  # NumPy chooses either zero
        with np.errstate(all='ignore'):
            expected = float(getattr(np, name)(a, b))
        if name in OPERATORS:
            found = [
                OPERATORS[name](x, y) for x, y in ((Extended(a), Extended(b)), (Extended(a), b), (a, Extended(b)))
            ]
        else:
            found = [getattr(Extended(a), name)(b), getattr(Extended(a), name)(Extended(b))]
        assert all(agree(y.rounded(), expected) for y in found), (name, a, b, found, expected)


@pytest.mark.parametrize('compare', COMPARISONS)
def test_comparisons(compare: Any) -> None:
    for a, b in itertools.product(POINTS, POINTS):
        for x, y in ((Extended(a), Extended(b)), (Extended(a), b), (a, Extended(b))):
            assert compare(x, y) is compare(a, b)
        assert compare(np.float64(a), Extended(b)) == compare(a, b)


@pytest.mark.parametrize('n', [1, 2, 3])
def test_polygamma_and_zeta(n: int) -> None:
    for x in (0.5, 2.0, 7.25):
        assert agree(Extended(x).polygamma(n).rounded(), float(special.polygamma(n, x)))
        assert agree(Extended(n + 0.5).zeta(x).rounded(), float(special.zeta(n + 0.5, x)))


@pytest.mark.parametrize('x', [-1e12, -300.0, -5.0, 0.0, 3.0, 30.0])
def test_tail_ratio_satisfies_its_recurrence(x: float) -> None:
    ratios = [Extended(x).tail_ratio(n) for n in (1, 2, 3, 4)]
    for n, (ratio, following) in enumerate(itertools.pairwise(ratios), 1):
        error = ratio * (following - x) / n - 1
        assert abs(error) < 1e-40 * max(1, abs(x) ** 2)


@pytest.mark.parametrize('x', [5.0, 20.0, 60.0])
def test_tails_keep_their_digits(x: float) -> None:
    wide = mpmath.MPContext()
    wide.dps = 2000
    expected = wide.log(wide.erfc(-wide.mpf(x) / wide.sqrt(2)) / 2)
    found = wide.make_mpf(Extended(x).log_ndtr().raw)
    assert abs(found / expected - 1) < wide.mpf(10) ** -48


# --- digits are not lost -------------------------------------------------------------------------------------------
THIRD = Extended(1) / 3


@pytest.mark.parametrize(
    'convert',
    [
        float, int, complex, operator.index, math.exp, math.sqrt, np.float64, np.float32, range,
        lambda x: np.array([x], object).astype(float), lambda x: np.array(x, float), lambda x: np.zeros(1).fill(x),
        lambda x: np.zeros(2).__setitem__(0, x), lambda x: f'{x:f}', lambda x: special.erf(np.array([x], object)),
        lambda x: x + np.longdouble(1), lambda x: x + 1j, lambda x: x + '1', lambda x: Extended('1'),
        lambda x: round(x, 3),
    ],
)  # fmt: skip
def test_conversions_raise(convert: Any) -> None:
    with pytest.raises(TypeError):
        convert(THIRD)


@pytest.mark.parametrize('name', ['erfinv', 'ndtri'])
def test_a_function_that_has_no_float_to_start_from_raises(name: str) -> None:
    with pytest.raises(TypeError, match='cannot be computed to 50 digits'):
        getattr(1 - Extended(1e-30), name)()


def test_values_are_taken_exactly() -> None:
    assert repr(Extended(0.1)) == "Extended('0.1000000000000000055511151231257827021181583404541')"
    assert Extended(2**100 + 1) - 2**100 == 1
    assert Extended(np.float32(0.1)) == float(np.float32(0.1)) != Extended(0.1)
    assert Extended(True) == Extended(np.int8(1)) == Extended(np.True_) == 1


@pytest.mark.parametrize('x', [0.1, -1 / 3, 5e-324, 1.5 * 2.0**-1073, 1.7976931348623157e308, 2.0**-1022, *SPECIAL])
def test_rounding_returns_the_float(x: float) -> None:
    found = Extended(x).rounded()
    assert np.array(found).tobytes() == np.array(x).tobytes() or (math.isnan(found) and math.isnan(x))


def test_rounding_is_to_nearest_and_ties_go_to_even() -> None:
    one, half_ulp = Extended(1), Extended(2.0**-53)
    assert (one + half_ulp).rounded() == 1
    assert (one + half_ulp * 3).rounded() == 1 + 2.0**-51
    assert (one + half_ulp * (1 + Extended(1e-30))).rounded() == 1 + 2.0**-52
    assert (Extended(5e-324) / 2).rounded() == 0
    assert (Extended(5e-324) * 1.5).rounded() == 1e-323  # a tie, to even
    assert (Extended(1e308) * 10).rounded() == math.inf and (Extended(-1e300) ** 3).rounded() == -math.inf
    assert math.copysign(1, (Extended(-1e-300) ** 3).rounded()) == -1


def test_copies_and_hashes() -> None:
    for x in (THIRD, Extended(-0.0), Extended(math.inf)):
        for y in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
            assert y == x and y.signbit() == x.signbit() and hash(y) == hash(x)
    assert hash(Extended(0.5)) == hash(0.5)


def test_the_global_context_of_mpmath_is_not_changed() -> None:
    before = mpmath.mp.prec
    Extended(0.3).erfinv(), Extended(0.3).exp(), Extended(2.5).zeta(0.5)
    assert mpmath.mp.prec == before


def test_threads_keep_the_precision() -> None:
    def compute() -> None:
        for _ in range(20):
            Extended(2.5).zeta(0.7), Extended(0.3).digamma(), Extended(0.4).expm1()

    threads = [threading.Thread(target=compute) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    from minichainer.verification.extended_precision.functions import BITS, context

    assert context.prec == BITS


def test_a_missing_mpmath_is_an_error_and_not_a_silent_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    assert extended_precision.available()
    extended_precision.available.cache_clear()
    monkeypatch.setattr('importlib.util.find_spec', lambda name: None)
    with pytest.raises(ModuleNotFoundError, match='needs mpmath for gradient checks at 50 digits'):
        check_gradients(F.tanh, np.array([0.5, 1.0]))
    assert check_gradients(F.tanh, np.array([0.5, 1.0]), precise=False)
    monkeypatch.undo()
    assert check_gradients(F.tanh, np.array([0.5, 1.0]))


LAZY = """
import sys
import numpy as np
import minichainer as chainer
import minichainer.functions as F
import minichainer.testing
from minichainer import gradient_check

class Unsummed(chainer.FunctionNode):
    def forward(self, inputs):
        return inputs[0] + inputs[1],
    def backward(self, indexes, grad_outputs):
        return grad_outputs[0].reshape(6), grad_outputs[0]

x, gy = np.random.normal(size=(2, 2, 3))
for call in (
    lambda: gradient_check.check_backward(lambda x: x, [1.0], gy),
    lambda: gradient_check.check_backward(F.tanh, x, gy[:1]),
    lambda: gradient_check.check_backward(lambda x: Unsummed().apply((x, x))[0], x, gy),
):
    try:
        call()
    except (AssertionError, ValueError, TypeError):
        pass
    assert 'mpmath' not in sys.modules
gradient_check.check_backward(F.tanh, x, gy)
assert 'mpmath' in sys.modules
"""


def test_mpmath_is_imported_when_a_check_needs_it() -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, '-c', LAZY], cwd=root, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
