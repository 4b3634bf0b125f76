"""What to write if scores and labels do not fit: each remedy, followed word for word, makes the call work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minichainer.variable import as_array

#: Kinds of dtypes that labels of classes may have.
_KINDS = {'hinge': 'i', 'sigmoid_cross_entropy': 'i'}
#: What takes several labels of 0 and 1 per sample instead.
_FOR_FLAGS = {'softmax_cross_entropy': 'F.sigmoid_cross_entropy(x, {})', 'accuracy': 'F.binary_accuracy(y, {})'}


def advice_on_labels(op: str, scores: Any, labels: Any, is_readable: bool) -> str:
    """The remedies for scores and labels that do not fit; empty if none is known.

    Args:
        op: name of the public function.
        scores: array or Variable.
        labels: array or Variable.
        is_readable: whether values of the labels may be tested.
    """
    if scores.dtype.kind in 'iub':
        if labels.dtype.kind == 'f':
            return f'the arguments look swapped: write {op}(x, t), the labels last'
        return f'x is {scores.dtype}: write x.astype(np.float32)'
    values = as_array(labels) if is_readable else None
    find = _about_flags if op == 'sigmoid_cross_entropy' else _about_classes
    return '; '.join(find(op, scores, labels, values))


def _about_flags(op: str, scores: Any, labels: Any, values: Any) -> Iterator[str]:
    """For labels of the scores' shape, each 0, 1 or -1."""
    x, t = scores.shape, labels.shape
    if _has_fractions(values):
        remedy = "; for those write F.mean(F.bernoulli_nll(t, x, 'no'))" if x == t else ''
        yield f'labels must be integers, got shares as {labels.dtype}{remedy}'
    elif len(x) == 2 and x[1] > 1 and t == x[:1]:
        yield f'for one class per row write F.softmax_cross_entropy(x, {_as_integers("iu", labels)})'
    else:
        yield from _about_dtype(op, labels)
        if x != t and scores.size == labels.size:
            yield 'write t.reshape(x.shape)'


def _about_classes(op: str, scores: Any, labels: Any, values: Any) -> Iterator[str]:
    """For one label of a class per sample."""
    x, t = scores.shape, labels.shape
    if x == t and len(x) > 1:
        yield from _about_rows(op, labels, values)
    elif _has_fractions(values):
        yield f'labels must be integers, got shares as {labels.dtype}'
    else:
        yield from _about_dtype(op, labels)
    if x != t and len(x) > 1 and t and t[-1] == 1 and t[:-1] == x[:1] + x[2:]:
        sizes = ', '.join(map(str, t[:-1]))
        yield f'labels have one axis too many: write t.reshape({sizes})'
    elif x != t and len(x) == 2 and len(t) > 1 and labels.size == x[0]:
        yield 'for one label per row write t.reshape(-1)'


def _about_rows(op: str, labels: Any, values: Any) -> Iterator[str]:
    """For labels that have the shape of the scores."""
    if values is None or not _are_flags(values):
        if labels.dtype.kind != 'f':
            yield 't looks one-hot: write t.argmax(axis=1)'
        elif op == 'accuracy' and values is not None:
            yield 't has numbers and no labels: write F.r2_score(y, t)'
        else:
            yield f'labels must be integers, not {labels.dtype}'
    elif values.shape[1] > 1 and (values.sum(axis=1) <= 1).all():
        yield 't looks one-hot: write t.argmax(axis=1)'
    elif op in _FOR_FLAGS:
        yield f'for labels of 0 and 1 in each column write {_FOR_FLAGS[op].format(_as_integers("i", labels))}'


def _about_dtype(op: str, labels: Any) -> Iterator[str]:
    if labels.dtype.kind not in _KINDS.get(op, 'iu'):
        what = 'must be integers' if labels.dtype.kind != 'u' else 'must have a sign'
        yield f'labels {what}, not {labels.dtype}: write t.astype(np.int32)'


def _as_integers(kinds: str, labels: Any) -> str:
    return 't' if labels.dtype.kind in kinds else 't.astype(np.int32)'


def _has_fractions(values: Any) -> bool:
    """Whether a conversion to integers would lose something."""
    return values is not None and values.dtype.kind == 'f' and bool((values % 1 != 0).any())


def _are_flags(values: Any) -> bool:
    return bool(((values == 0) | (values == 1)).all())
