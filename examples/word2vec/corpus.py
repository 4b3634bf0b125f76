"""The words of a book as numbers."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from minichainer.dataset import to_device

#: "Alice's Adventures in Wonderland" by Lewis Carroll, in the public domain; ../text/README.md has its source.
BOOK = Path(__file__).resolve().parent.parent / 'text' / 'alice.txt'

#: Words in a piece of the text.
PIECE = 200


def read_words(path: Path = BOOK) -> list[str]:
    """The words of a text in lower case, without signs."""
    return re.findall(r"[a-z]+(?:'[a-z]+)?", path.read_text(encoding='ascii').lower())


def encode(words: list[str], at_least: int) -> tuple[np.ndarray, list[str], np.ndarray]:
    """Numbers of the words, the words by number, and how often each occurs; rare words are left out."""
    counts = Counter(words)
    vocabulary = [word for word, n in counts.most_common() if n >= at_least]
    number = {word: i for i, word in enumerate(vocabulary)}
    ids = np.array([number[word] for word in words if word in number], 'i')
    return ids, vocabulary, np.bincount(ids, minlength=len(vocabulary))


class Windows:
    """Converts a batch of places in a text to the words there and the words around them.

    Args:
        ids: the text.
        size: how many words on each side.
    """

    def __init__(self, ids: np.ndarray, size: int) -> None:
        self.ids = ids
        self.size = size
        self.offsets = np.array([i for i in range(-size, size + 1) if i != 0])

    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """Places for training, and held-out ones: every tenth piece of the text. Windows end where pieces do."""
        places = np.arange(self.size, len(self.ids) - self.size)
        inside = (places - self.size) // PIECE == (places + self.size) // PIECE
        held_out = places // PIECE % 10 == 9
        return places[inside & ~held_out], places[inside & held_out]

    def __call__(self, places: Any, device: Any = None) -> tuple[Any, Any]:
        """The words (batch,) and the words around them (batch, 2 * size), on a device if one is given."""
        places = np.asarray(places)
        words, around = self.ids[places], self.ids[places[:, None] + self.offsets]
        return to_device(device, words), to_device(device, around)
