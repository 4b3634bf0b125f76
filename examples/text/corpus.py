"""The text to learn from, and how well counting predicts it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np


def alice() -> str:
    """The book in alice.txt, with each run of spaces reduced to one."""
    text = (Path(__file__).parent / 'alice.txt').read_text(encoding='ascii')
    return re.sub(r' {2,}', ' ', text)


def split_text(text: str, held_out: int) -> tuple[np.ndarray, np.ndarray, str]:
    """Training and held-out text as numbers of characters, and the characters.

    Args:
        text: the text.
        held_out: size of the held-out part, taken from the end.
    """
    characters = ''.join(sorted(set(text)))
    numbers = np.array([characters.index(c) for c in text], 'i')
    return numbers[:-held_out], numbers[-held_out:], characters


def windows(numbers: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Pieces of the text, ``(count, length)``, and the same pieces one character later."""
    count = (len(numbers) - 1) // length
    return numbers[: count * length].reshape(count, length), numbers[1 : count * length + 1].reshape(count, length)


def unigram_perplexity(train: np.ndarray, test: np.ndarray, size: int) -> float:
    """Perplexity of the held-out text where each character is guessed by its frequency."""
    counts = np.bincount(train, minlength=size) + 1.0
    return float(np.exp(-np.log(counts / counts.sum())[test].mean()))


def bigram_perplexity(train: np.ndarray, test: np.ndarray, size: int) -> float:
    """Perplexity of the held-out text where each character is guessed from the one before it."""
    counts = np.full((size, size), 0.1)
    np.add.at(counts, (train[:-1], train[1:]), 1.0)
    log_p = np.log(counts / counts.sum(axis=1, keepdims=True))
    return float(np.exp(-log_p[test[:-1], test[1:]].mean()))
