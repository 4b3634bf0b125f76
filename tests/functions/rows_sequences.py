"""Rows of losses of sequences."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import scipy.special

import minichainer.functions as F
from minichainer.utils.type_check import InvalidType
from tests.functions.row import ANY, Row, Special, beside, case
from tests.functions.rows_elementwise import INF
from tests.functions.rows_losses import NEEDS_AXES, T, X, reduced
from tests.functions.rows_network import bad, wrong_kind

NAME, LABEL = 'connectionist_temporal_classification', 'ConnectionistTemporalClassification'
TWO_STEPS, ONE_OF_EACH = [X, X], np.array([[1], [2]])


def ctc(x: Any, blank: int = 0, **params: Any) -> Any:
    """The loss of scores (T, B, V) with the labels 1, 2, 2 ..., for each sequence another one first."""
    labels = params.pop('labels', None)
    labels = np.array([[1, 2, 2], [2, 1, 3]])[: x.shape[1]] if labels is None else np.array(labels, 'i')
    params = {k: v if k == 'reduce' else beside(x, np.array(v)) for k, v in params.items()}
    return F.connectionist_temporal_classification([x[i] for i in range(len(x))], beside(x, labels), blank, **params)


def _merged(path: tuple[int, ...], blank: int) -> list[int]:
    return [label for label, _ in itertools.groupby(path) if label != blank]


def _likelihood(p: Any, labels: list[int], blank: int) -> float:
    paths = itertools.product(range(p.shape[1]), repeat=len(p))
    return sum(np.prod(p[range(len(p)), list(path)]) for path in paths if _merged(path, blank) == labels)


def _ctc(
    x: Any, blank: int = 0, labels: Any = None, input_length: Any = None, label_length: Any = None,
    reduce: str = 'mean',
) -> Any:  # fmt: skip
    """Goes through all alignments."""
    p = scipy.special.softmax(x, axis=2)
    labels = [[1, 2, 2], [2, 1, 3]] if labels is None else labels
    batch = x.shape[1]
    times, counts = input_length or [len(x)] * batch, label_length or [len(row) for row in labels]
    losses = [-np.log(_likelihood(p[: times[b], b], labels[b][: counts[b]], blank)) for b in range(batch)]
    return reduced(np.array(losses), reduce)


def _bad(name: str, error: type[Exception], words: tuple[str, ...], *args: Any, **params: Any) -> Any:
    return bad(name, lambda: F.connectionist_temporal_classification(*args, **params), error, *words)


ROWS = [
    Row(
        NAME, ctc, _ctc, (ANY,),
        (
            case((4, 2, 4)), case((4, 2, 4), reduce='no', blank=0), case((4, 2, 4), labels=[[2], [1]], blank=3),
            case((4, 2, 4), input_length=[4, 3], label_length=[2, 1]),
            case((4, 2, 4), labels=[[1, -1], [5, 5]], label_length=[1, 0], reduce='no'),
            case((1, 1, 3), labels=[[2]]), case((3, 0, 4), labels=np.zeros((0, 3), 'i'), reduce='no'),
        ),
        label=LABEL,
        special=(
            Special(
                (np.array([[[0.0, -INF, 0.0]], [[0.0, 0.0, -INF]]]),), {'labels': [[1]]}, expected=np.log(4.0),
                gradients=(np.array([[[-0.5, 0.0, 0.5]], [[0.5, -0.5, 0.0]]]),),
            ),
            Special((np.zeros((2, 1, 3)),), {'labels': [[1, 1]]}, expected=INF, gradients=(np.zeros((2, 1, 3)),)),
            Special(
                (np.zeros((2, 2, 2)),), {'labels': [[1], [1]], 'input_length': [0, 2], 'label_length': [0, 1],
                'reduce': 'no'}, expected=[0.0, np.log(4 / 3)],
            ),
            Special((np.full((1, 1, 3), 1e4),), {'labels': [[1]]}, expected=np.log(3.0)),
        ),
        errors=(
            wrong_kind(lambda: F.connectionist_temporal_classification([T[None]], ONE_OF_EACH[:1], 0), LABEL),
            _bad('no list', TypeError, (NAME, 'list', 'ndarray'), X, ONE_OF_EACH, 0),
            _bad('no steps', ValueError, (NAME, 'at least one'), [], ONE_OF_EACH, 0),
            _bad('x.ndim', InvalidType, (LABEL, '(B, V)', '(3,)'), [X[0]], ONE_OF_EACH, 0),
            _bad('steps', InvalidType, (LABEL, 'one shape', '(2, 3)', '(1, 3)'), [X, X[:1]], ONE_OF_EACH, 0),
            _bad('dtypes', InvalidType, (LABEL, 'float64', 'float32'), [X, X.astype('f')], ONE_OF_EACH, 0),
            _bad('t.ndim', InvalidType, (LABEL, '(2, M)', '(2,)'), TWO_STEPS, T, 0),
            _bad('t', InvalidType, (LABEL, '(2, M)', '(1, 1)'), TWO_STEPS, ONE_OF_EACH[:1], 0),
            _bad('float t', InvalidType, (LABEL, 'int t', 'float64'), TWO_STEPS, X, 0),
            _bad('label', IndexError, (NAME, '[0, 3)', '3'), TWO_STEPS, ONE_OF_EACH + 1, 0),
            _bad('negative', IndexError, (NAME, '[0, 3)', '-1'), TWO_STEPS, ONE_OF_EACH - 2, 0),
            _bad('blank', AssertionError, (NAME, 'blank_symbol', '3'), TWO_STEPS, ONE_OF_EACH, 3),
            _bad('blank type', TypeError, (NAME, 'blank_symbol', '0.5'), TWO_STEPS, ONE_OF_EACH, 0.5),
            _bad('reduce', ValueError, (NAME, "'bad'", "'no'"), TWO_STEPS, ONE_OF_EACH, 0, reduce='bad'),
            _bad('long', ValueError, (NAME, 'input_length <= 2', '3'), TWO_STEPS, ONE_OF_EACH, 0, T + 1),
            _bad('labels', ValueError, (NAME, 'label_length <= 1', '2'), TWO_STEPS, ONE_OF_EACH, 0, None, T),
            _bad('float', InvalidType, (LABEL, 'int input_length', 'float64'), TWO_STEPS, ONE_OF_EACH, 0, X[:, 0]),
            _bad('lengths', InvalidType, (LABEL, '(2,)', 'list'), TWO_STEPS, ONE_OF_EACH, 0, [2, 2]),
        ),
        except_from=NEEDS_AXES,
    ),
]  # fmt: skip
