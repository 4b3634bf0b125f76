"""L.Classifier: loss and accuracy of a predictor, and their reports."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minichainer.link import Link
from minichainer.links.connection.linear import Linear
from minichainer.links.model.classifier import Classifier
from minichainer.reporter import Reporter

X = np.array([[1, 2, 3], [3, 2, 1]], np.float32)
T = np.array([0, 1], np.int32)


class Predictor(Link):
    """Notes what it is called with."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        self.called_with = args, kwargs
        return args[0] if args else kwargs['x']


def squares(y: Any, t: Any) -> Any:
    return ((y - t) ** 2).sum()


@pytest.mark.parametrize(
    ('label_key', 'args', 'kwargs', 'passed'),
    [
        (-1, (X, T), {}, ((X,), {})),
        (-1, (X, 7, T), {'k': 1}, ((X, 7), {'k': 1})),
        (0, (T, X), {}, ((X,), {})),
        (-2, (T, X), {}, ((X,), {})),
        (1, (X, T, 7), {}, ((X, 7), {})),
        ('t', (X,), {'t': T}, ((X,), {})),
        ('t', (), {'t': T, 'x': X}, ((), {'x': X})),
    ],
)
def test_label_is_taken_out(label_key: Any, args: Any, kwargs: Any, passed: Any) -> None:
    seen = []
    predictor = Predictor()
    model = Classifier(predictor, lambda y, t: seen.append(t), lambda y, t: seen.append(t), label_key)
    model(*args, **kwargs)
    assert [label is T for label in seen] == [True, True]
    (got_args, got_kwargs), (want_args, want_kwargs) = predictor.called_with, passed
    assert [a is b for a, b in zip(got_args, want_args, strict=True)] == [True] * len(want_args)
    assert got_kwargs.keys() == want_kwargs.keys()


def test_attributes_after_a_call() -> None:
    model = Classifier(Linear(3, 2))
    assert (model.y, model.loss, model.accuracy) == (None, None, None)
    loss = model(X, T)
    assert model.loss is loss
    y = X @ model.predictor.W.array.T
    log_p = y - np.log(np.exp(y).sum(1, keepdims=True))
    np.testing.assert_allclose(model.y.array, y, rtol=1e-5)
    np.testing.assert_allclose(loss.array, -log_p[[0, 1], T].mean(), rtol=1e-5)
    np.testing.assert_allclose(model.accuracy.array, (y.argmax(1) == T).mean())


def test_reports_under_its_own_name() -> None:
    model = Classifier(Predictor(), squares, lambda y, t: 0.25)
    reporter = Reporter()
    reporter.add_observer('main', model)
    with reporter:
        model(X, X + 1)
    assert reporter.observation == {'main/loss': 6.0, 'main/accuracy': 0.25}


def test_accuracy_can_be_left_out() -> None:
    model = Classifier(Linear(3, 2), accfun=None)  # type: ignore[arg-type]
    model.compute_accuracy = False
    reporter = Reporter()
    reporter.add_observer('main', model)
    with reporter:
        model(X, T)
    assert list(reporter.observation) == ['main/loss']
    assert model.accuracy is None


@pytest.mark.parametrize(
    ('label_key', 'args', 'kwargs', 'message'),
    [
        ('t', (X,), {'u': T}, r'Label key "t" is not found among the keywords \[\'u\'\]'),
        (2, (X, T), {}, 'Label key 2 is out of bounds: Classifier got 2 positional arguments'),
        (-3, (X, T), {}, 'Label key -3 is out of bounds'),
        (-1, (), {'x': X}, 'Label key -1 is out of bounds'),
    ],
)
def test_missing_label(label_key: Any, args: Any, kwargs: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Classifier(Predictor(), label_key=label_key)(*args, **kwargs)


def test_label_key_is_a_position_or_a_name() -> None:
    with pytest.raises(TypeError, match="label_key must be int or str, got <class 'float'>"):
        Classifier(Predictor(), label_key=1.5)  # type: ignore[arg-type]


def test_the_predictor_is_its_only_child() -> None:
    model = Classifier(Linear(3, 2))
    assert [path for path, _ in model.namedparams()] == ['/predictor/W', '/predictor/b']
    assert str(model) == 'Classifier(\n  (predictor): Linear(in_size=3, out_size=2, nobias=False),\n)'
