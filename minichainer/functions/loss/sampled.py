"""Losses that replace the sum over all classes by a sum over samples."""

from __future__ import annotations

from typing import Any

from minichainer import ops
from minichainer.backend import get_array_module, on_device_of_arguments
from minichainer.functions._arguments import Arguments, are_readable, described
from minichainer.functions._define import primitive
from minichainer.functions._precision import in_float32 as wide
from minichainer.functions.activation.softmax import log_softmax
from minichainer.functions.array.conversion import as_dtype
from minichainer.functions.array.shape import reshape
from minichainer.functions.connection.embed_id import embed_id
from minichainer.functions.loss._common import reduced
from minichainer.functions.math.exponential import exp, log
from minichainer.functions.math.matmul import matmul
from minichainer.functions.math.reductions import sum as sum_
from minichainer.kernels.precision import in_float32
from minichainer.kernels.selection import masked
from minichainer.variable import Variable, as_variable

_negative_sampling = Arguments('NegativeSamplingFunction', 'negative_sampling')
_black_out = Arguments('BlackOut', 'black_out')


# --- negative sampling ---------------------------------------------------------------------------------------------
def _signs(xp: Any, samples: Any, dtype: Any) -> Any:
    """-1 for the label, 1 for drawn classes, 0 for ignored samples."""
    signs = xp.ones(samples.shape, dtype)
    signs[:, 0] = -1
    signs[samples[:, 0] == -1] = 0
    return signs


def _score_gradient(m: Any, gy: Any, x: Any, W: Any, samples: Any, signs: Any, reduce: str) -> Any:
    """The gradient of each score, of shape ``(B, 1 + sample_size, 1)``."""
    count, size = samples.shape
    scores = m.matrix_product(m.embedded(W, samples, None), m.reshape(x, (*x.shape, 1)), False, False)
    slopes = m.sigmoid(scores * signs[:, :, None]) * signs[:, :, None]
    g = m.reshape(gy, (count, 1, 1)) if reduce == 'no' else m.broadcast_to(gy, (count, size, 1))
    return m.masked(g * slopes, signs[:, :, None] != 0)


def _x_rule(m: Any, gy: Any, x: Any, W: Any, samples: Any, signs: Any, reduce: str) -> Any:
    g = _score_gradient(m, gy, x, W, samples, signs, reduce)
    return m.sum(m.masked(m.embedded(W, samples, None) * g, signs[:, :, None] != 0), 1)


def _W_rule(m: Any, gy: Any, x: Any, W: Any, samples: Any, signs: Any, reduce: str) -> Any:
    g = _score_gradient(m, gy, x, W, samples, signs, reduce)
    return m.sum_of_embedded(g * m.reshape(x, (len(x), 1, x.shape[1])), samples, None, W.shape)


@primitive(rule=(_x_rule, _W_rule), kinds='f', name='NegativeSamplingFunction')
def sampled_logistic_loss(xp: Any, x: Any, W: Any, samples: Any, signs: Any, reduce: str) -> Any:
    scores = xp.matmul(in_float32(W[samples]), in_float32(x)[:, :, None])[:, :, 0] * signs
    losses = masked(xp, xp.maximum(scores, 0) + xp.log1p(xp.exp(-xp.absolute(scores))), signs != 0)
    return xp.asarray(losses.sum(axis=1) if reduce == 'no' else losses.sum(), x.dtype)


@on_device_of_arguments
def negative_sampling(
    x: Any, t: Any, W: Any, sampler: Any, sample_size: int, reduce: str = 'sum', **kwargs: Any
) -> Any:
    r"""Negative sampling: logistic losses of the label's score and of the scores of a few drawn classes.

    .. math:: -\log \sigma(x^\top w_t) - \sum_{i \sim P} \log \sigma(-x^\top w_i)

    T. Mikolov and others, Distributed Representations of Words and Phrases and their Compositionality (2013).

    Args:
        x: features, Variable or float array ``(B, D)``.
        t: labels, int array ``(B,)``; samples with label -1 are ignored.
        W: a row of weights for each class, Variable or array ``(V, D)`` of the same dtype.
        sampler: ``sampler(shape)`` draws int classes, for example :meth:`WalkerAlias.sample`.
        sample_size: how many classes are drawn for each sample.
        reduce: ``'sum'`` or ``'no'``.
        return_samples: return the classes too (a keyword).

    Returns:
        Variable of shape ``()`` or ``(B,)``; with ``return_samples``, a tuple of it and an int array
        ``(B, 1 + sample_size)``, the label and what was drawn.

    Raises:
        InvalidType: shapes or dtypes do not fit.
        ValueError: ``reduce`` is unknown, or ``sampler`` gives something else.
        IndexError: a label or a drawn class is out of range.
        TypeError: an unknown keyword.

    >>> import numpy as np, minichainer.functions as F
    >>> draw = lambda shape: np.zeros(shape, int)
    >>> y = F.negative_sampling(np.zeros((1, 2)), np.array([2]), np.ones((3, 2)), draw, 3)
    >>> bool(np.isclose(y.array, 4 * np.log(2)))
    True
    """
    return_samples = kwargs.pop('return_samples', False)
    if kwargs:
        unknown = sorted(kwargs)
        raise TypeError(f'negative_sampling() got unexpected keyword arguments {unknown}; return_samples is allowed')
    _negative_sampling.flag(return_samples, 'return_samples')
    sample_size = _negative_sampling.integer(sample_size, 'sample_size')
    _negative_sampling.choice(reduce, 'reduce', ('sum', 'no'))
    x, W, labels = as_variable(x), as_variable(W), _negative_sampling.array(t, 't')
    fits = x.ndim == 2 and W.ndim == 2 and x.shape[1] == W.shape[1] and labels.shape == x.shape[:1]
    if not fits or x.dtype != W.dtype or x.dtype.kind != 'f' or labels.dtype.kind != 'i':
        expected = 'float x of shape (B, D) and W of shape (V, D), and int t of shape (B,)'
        raise _negative_sampling.misfit(expected, described(x, W, labels))
    _negative_sampling.in_range('labels', labels, 0, len(W), ' or -1', allowed=-1)
    samples = _drawn(sampler, (len(labels), sample_size + 1), len(W))
    samples[:, 0] = labels
    signs = _signs(get_array_module(samples), samples, x.dtype)
    loss = sampled_logistic_loss(x, W, samples, signs, reduce)
    return (loss, samples) if return_samples else loss


def _drawn(sampler: Any, shape: tuple[int, int], classes: int) -> Any:
    """The classes that a sampler draws, after checking them."""
    samples = _negative_sampling.array(sampler(shape), 'the result of sampler')
    if samples.shape != shape or samples.dtype.kind not in 'iu':
        raise ValueError(
            f'negative_sampling: sampler({shape}) must give an int array of that shape, got {samples.dtype} '
            f'{samples.shape}'
        )
    if samples.size and are_readable(samples) and not (samples.min() >= 0 and samples.max() < classes):
        got = f'{samples.min()} to {samples.max()}'
        raise IndexError(f'negative_sampling: the sampler must draw classes in [0, {classes}), got {got}')
    return samples.astype('l') if samples.dtype.kind == 'u' else samples  # -1 must be representable


# --- BlackOut ------------------------------------------------------------------------------------------------------
@on_device_of_arguments
def black_out(x: Any, t: Any, W: Any, samples: Any, reduce: str = 'mean') -> Variable:
    r"""BlackOut: with p the softmax over the label and the drawn classes, :math:`-\log p_t - \sum_s \log(1 - p_s)`.

    S. Ji and others, BlackOut: Speeding up Recurrent Neural Network Language Models With Very Large Vocabularies
    (2015).

    Args:
        x: features, Variable or float array ``(B, D)``.
        t: labels, int array ``(B,)``.
        W: a row of weights for each class, Variable or array ``(V, D)`` of the same dtype.
        samples: drawn classes, int array ``(B, S)``.
        reduce: ``'mean'`` or ``'no'``.

    Returns:
        Variable of shape ``()`` or ``(B,)``.

    Raises:
        InvalidType: shapes or dtypes do not fit.
        ValueError: ``reduce`` is unknown.

    >>> import numpy as np, minichainer.functions as F
    >>> y = F.black_out(np.zeros((1, 2)), np.array([2]), np.ones((3, 2)), np.array([[0]]))
    >>> bool(np.isclose(y.array, 2 * np.log(2)))
    True
    """
    _black_out.choice(reduce, 'reduce', ('mean', 'no'))
    x, W = as_variable(x), as_variable(W)
    labels, samples = _black_out.array(t, 't'), _black_out.array(samples, 'samples')
    fits = x.ndim == 2 and labels.shape == x.shape[:1] and samples.ndim == 2 and len(samples) == len(x)
    if not fits or x.dtype.kind != 'f' or labels.dtype.kind != 'i' or samples.dtype.kind != 'i':
        expected = 'float x of shape (B, D), int t of shape (B,) and int samples of shape (B, S)'
        raise _black_out.misfit(expected, described(x, labels, samples))
    if W.dtype != x.dtype:
        raise _black_out.misfit('x and W of one dtype', described(x, W))
    xp = get_array_module(labels)
    classes = xp.concatenate((labels[:, None], samples), axis=1)
    rows, column = embed_id(classes, W), reshape(x, (*x.shape, 1))
    scores = matmul(wide(ops, rows), wide(ops, column))
    # In float32, 1 - p has few digits where p is near 1.
    log_p = log_softmax(as_dtype(reshape(scores, classes.shape), 'd'))
    losses = -(log_p[:, 0] + sum_(log(1 - exp(log_p[:, 1:])), 1))
    return as_dtype(reduced(losses, reduce), x.dtype)
