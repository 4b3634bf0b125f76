"""Fixed random numbers."""

from __future__ import annotations

import random
import unittest
from typing import Any

import numpy as np
import pytest

from minichainer import testing
from minichainer.testing import random as module
from minichainer.testing._cases import cases_of
from tests.testing.running import run

# What NumPy draws first after np.random.seed(100), which is also Chainer's seed.
FIRST, SEED = 0.5434049417909654, 2333906440


def test_functions_and_methods() -> None:
    @testing.fix_random()
    def draw(x: int = 1) -> Any:
        return np.random.rand(), random.random(), x

    np.random.seed(5)
    random.seed(5)
    expected = np.random.RandomState(5).rand(), random.Random(5).random()
    assert draw() == draw()
    assert draw(x=3)[::2] == (FIRST, 3)
    assert (np.random.rand(), random.random()) == expected, 'the state of before is back'


class Case(unittest.TestCase):
    drawn: list[float] = []

    def setUp(self) -> None:
        self.drawn.append(np.random.rand())

    def test_a(self) -> None:
        self.drawn.append(np.random.rand())

    def test_b(self) -> None:
        self.drawn.append(np.random.rand())


def make() -> type:
    return type('Made', (Case,), {'__module__': __name__, 'drawn': []})


def test_classes() -> None:
    cls = testing.fix_random()(make())
    np.random.seed(5)
    assert run(cls).wasSuccessful()
    assert cls.drawn[0] == cls.drawn[2] == FIRST and cls.drawn[1] == cls.drawn[3] != FIRST
    assert np.random.rand() == np.random.RandomState(5).rand()


@pytest.mark.parametrize('is_outermost', [True, False])
def test_with_parameterize(is_outermost: bool) -> None:
    fixed, params = testing.fix_random(), testing.parameterize({'a': 1}, {'a': 2})
    cls = fixed(params(make())) if is_outermost else params(fixed(make()))
    assert run(cls).wasSuccessful()
    assert cls.drawn[::2] == [FIRST] * 4 and len(cases_of(cls)) == 2


def test_other_names_of_setup_and_teardown() -> None:
    class Plain:
        def setup_method(self, method: Any) -> None:
            self.method, self.drawn = method, np.random.rand()

    cls = testing.fix_random(setup_method='setup_method', teardown_method='teardown_method')(Plain)
    instance = cls()
    # pytest counts the arguments before it passes any.
    assert instance.setup_method.__code__.co_argcount == 2
    assert instance.teardown_method.__code__.co_argcount == 1
    np.random.seed(5)
    instance.setup_method('the method')
    assert (instance.method, instance.drawn) == ('the method', FIRST)
    instance.teardown_method()
    assert np.random.rand() == np.random.RandomState(5).rand()


def test_the_state_is_back_when_setup_or_teardown_raises() -> None:
    class Raising(unittest.TestCase):
        def setUp(self) -> None:
            if self._testMethodName == 'test_setup':
                raise ValueError('setup')

        def tearDown(self) -> None:
            raise ValueError('teardown')

        def test_setup(self) -> None:
            pass

        def test_teardown(self) -> None:
            pass

    np.random.seed(5)
    result = run(testing.fix_random()(Raising))
    assert len(result.errors) == 2
    assert np.random.rand() == np.random.RandomState(5).rand()
    assert module._seeds == module._opened == []


def test_seed() -> None:
    @testing.fix_random()
    def draw() -> Any:
        return testing.generate_seed(), testing.generate_seed()

    first, second = draw()
    assert first == SEED and first != second and draw() == (first, second)
    with pytest.raises(RuntimeError, match=r'must be decorated with testing.fix_random\(\)'):
        testing.generate_seed()


def test_seeds_of_a_class() -> None:
    class Seeded(unittest.TestCase):
        def test_it(self) -> None:
            self.assertEqual(testing.generate_seed(), SEED)

    assert run(testing.fix_random()(Seeded)).wasSuccessful()


def test_random_on_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('CHAINER_TEST_RANDOM_NONDETERMINISTIC', '1')
    drawn = {testing.fix_random()(np.random.rand)() for _ in range(5)}
    assert len(drawn) == 5 and FIRST not in drawn
