"""A language model of characters."""

from __future__ import annotations

from typing import Any

import numpy as np

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L


class CharLM(chainer.Chain):
    """Scores of the next character: embeddings, an LSTM over each sequence, and a linear layer.

    Args:
        size: number of characters.
        unit: number of units of the LSTM.
    """

    def __init__(self, size: int, unit: int) -> None:
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(size, 32)
            self.rnn = L.NStepLSTM(1, 32, unit, 0.0)
            self.out = L.Linear(unit, size)

    def forward(self, xs: Any, state: Any = (None, None)) -> tuple[Any, Any]:
        """Reads sequences.

        Args:
            xs: numbers of characters, a list of int arrays of any lengths.
            state: what an earlier call has returned, to read on from there.

        Returns:
            Scores of what follows each character, ``(total length, characters)``, and the state.
        """
        sections = np.cumsum([len(x) for x in xs])[:-1]
        embedded = self.embed(self.xp.concatenate(xs))
        hy, cy, ys = self.rnn(*state, F.split_axis(embedded, sections, axis=0, force_tuple=True))
        return self.out(F.concat(ys, axis=0)), (hy, cy)

    def sample(self, numbers: list[int], length: int, random: np.random.RandomState, temperature: float) -> list[int]:
        """Numbers of characters that go on from a beginning.

        Args:
            numbers: the beginning.
            length: how many are drawn.
            random: what draws them.
            temperature: below 1, what is probable becomes more so.
        """
        drawn: list[int] = []
        with chainer.using_config('train', False), chainer.no_backprop_mode():
            scores, state = self([np.array(numbers, 'i')])
            while len(drawn) < length:
                p = F.softmax(scores[-1:] / temperature).array[0].astype('d')
                drawn.append(int(random.choice(len(p), p=p / p.sum())))
                scores, state = self([np.array(drawn[-1:], 'i')], state)
        return drawn


class Loss(chainer.Chain):
    """The mean cross entropy of the next character.

    Args:
        model: the language model.
    """

    def __init__(self, model: CharLM) -> None:
        super().__init__()
        with self.init_scope():
            self.model = model

    def forward(self, x: Any, t: Any) -> Any:
        """The loss of a batch of pieces of text ``(B, length)`` with what follows each character."""
        scores, _ = self.model(list(x))
        loss = F.softmax_cross_entropy(scores, self.xp.concatenate(list(t)))
        chainer.report({'loss': loss}, self)
        return loss
