"""Vectors of words, learnt by telling neighbours from words that are drawn at random.

From Mikolov et al., *Distributed Representations of Words and Phrases and their Compositionality*, 2013.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L


class SkipGram(chainer.Chain):
    """A word predicts each of the words around it. Called with both it returns the loss per pair."""

    def __init__(self, counts: np.ndarray, n_units: int, n_negatives: int) -> None:
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(len(counts), n_units, initialW=chainer.initializers.Uniform(1 / n_units))
            self.loss = L.NegativeSampling(n_units, counts, n_negatives)

    def pairs(self, words: np.ndarray, around: np.ndarray) -> tuple[Any, np.ndarray]:
        """Vectors (pairs, n_units) and the words that they are to predict (pairs,)."""
        vectors = F.repeat(self.embed(words), around.shape[1], axis=0)
        return vectors, around.ravel()

    def forward(self, words: np.ndarray, around: np.ndarray) -> Any:
        vectors, targets = self.pairs(words, around)
        loss = self.loss(vectors, targets) / len(targets)
        chainer.report({'loss': loss}, self)
        return loss

    def neighbours(self, word: int, n: int) -> np.ndarray:
        """The words whose vectors have the smallest angles to that of a word."""
        vectors = self.embed.W.array / np.linalg.norm(self.embed.W.array, axis=1, keepdims=True)
        return np.argsort(-(vectors @ vectors[word]), kind='stable')[1 : n + 1]


class ContinuousBagOfWords(SkipGram):
    """The mean of the words around predicts the word in the middle."""

    def pairs(self, words: np.ndarray, around: np.ndarray) -> tuple[Any, np.ndarray]:
        return F.average(self.embed(around), axis=1), words


MODELS = {'skipgram': SkipGram, 'cbow': ContinuousBagOfWords}


def constant_loss(n_negatives: int) -> float:
    """The loss of the best model whose scores are the same for all pairs."""
    k = n_negatives
    return float(np.log(1 + k) + k * np.log(1 + 1 / k))
