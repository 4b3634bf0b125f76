"""Small models to measure training with: those of the project's benchmarks, in few lines."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from minichainer.functions.activation.gelu import gelu
from minichainer.functions.activation.rectifiers import relu
from minichainer.functions.array.joining import concat
from minichainer.functions.array.stacking import separate
from minichainer.functions.loss.mean_squared_error import mean_squared_error
from minichainer.functions.loss.softmax_cross_entropy import softmax_cross_entropy
from minichainer.functions.math.reductions import mean
from minichainer.functions.pooling.max_pooling_nd import max_pooling_2d
from minichainer.link.link import Chain, Link, Sequential
from minichainer.links.attention.transformer import TransformerEncoderLayer
from minichainer.links.connection.convolution import Convolution2D
from minichainer.links.connection.embed_id import EmbedID
from minichainer.links.connection.linear import Linear
from minichainer.links.normalization.batch_normalization import BatchNormalization
from minichainer.links.rnn.lstm import LSTM
from minichainer.links.rnn.n_step_rnn import NStepLSTM

VOCABULARY, WIDTH, STEPS, BATCH = 5000, 200, 20, 20  # of lstm and lstm_step


class Workload(NamedTuple):
    """A model, a batch (x, t) and a loss."""

    model: Callable[[], Link]
    batch: Callable[[Any], tuple[Any, Any]]
    loss: Callable[[Any, Any], Any] = softmax_cross_entropy


def _mlp(*sizes: int) -> Sequential:
    layers = [layer for a, b in pairwise(sizes) for layer in (relu, Linear(a, b))]
    return Sequential(*layers[1:])


def _pool(x: Any) -> Any:
    return max_pooling_2d(x, 2)


def _lenet() -> Sequential:
    return Sequential(
        Convolution2D(1, 20, 5), relu, _pool, Convolution2D(20, 50, 5), relu, _pool, _mlp(800, 500, 10)
    )  # fmt: skip


def _convolution(channels: int) -> Sequential:
    return Sequential(Convolution2D(channels, 64, 3, pad=1, nobias=True), BatchNormalization(64))


class _Residual(Chain):
    body: Sequential

    def __init__(self) -> None:
        super().__init__(body=Sequential(_convolution(64), relu, _convolution(64)))

    def forward(self, x: Any) -> Any:
        return relu(self.body(x) + x)


def _resblk() -> Sequential:
    return Sequential(
        _convolution(3), relu, _Residual(), _Residual(), lambda x: mean(x, axis=(2, 3)), Linear(64, 10)
    )  # fmt: skip


class _LanguageModel(Chain):
    embed: EmbedID
    lstm: NStepLSTM
    fc: Linear

    def __init__(self) -> None:
        super().__init__(
            embed=EmbedID(VOCABULARY, WIDTH), lstm=NStepLSTM(2, WIDTH, WIDTH, 0.0), fc=Linear(WIDTH, VOCABULARY)
        )

    def forward(self, x: Any) -> Any:
        return self.fc(concat(self.lstm(None, None, list(separate(self.embed(x), axis=0)))[2], axis=0))


class _ByStep(Chain):
    embed: EmbedID
    lstm: LSTM
    fc: Linear

    def __init__(self) -> None:
        super().__init__(embed=EmbedID(VOCABULARY, WIDTH), lstm=LSTM(WIDTH, WIDTH), fc=Linear(WIDTH, 10))

    def forward(self, x: Any) -> Any:
        self.lstm.reset_state()
        return self.fc([self.lstm(self.embed(words)) for words in x.T][-1])


def _transformer() -> TransformerEncoderLayer:
    return TransformerEncoderLayer(128, 4, dropout=0.0, activation=gelu, norm_first=True)


def _images(*shape: int) -> Callable[[Any], tuple[Any, Any]]:
    return lambda rng: (rng.randn(*shape).astype('f'), rng.randint(0, 10, shape[0]).astype('i'))


def _texts(rng: Any) -> tuple[Any, Any]:
    x, t = rng.randint(0, VOCABULARY, (2, BATCH, STEPS)).astype('i')
    return x, t.ravel()


def _text_and_class(rng: Any) -> tuple[Any, Any]:
    return rng.randint(0, VOCABULARY, (BATCH, STEPS)).astype('i'), rng.randint(0, 10, BATCH).astype('i')


def _sequences(rng: Any) -> tuple[Any, Any]:
    x, t = rng.randn(2, 16, 64, 128).astype(np.float32)
    return x, t


WORKLOADS = {
    'mlp_tiny': Workload(lambda: _mlp(64, 100, 10), _images(32, 64)),
    'mlp': Workload(lambda: _mlp(784, 1000, 1000, 10), _images(100, 784)),
    'lenet': Workload(_lenet, _images(64, 1, 28, 28)),
    'resblk': Workload(_resblk, _images(32, 3, 32, 32)),
    'lstm': Workload(_LanguageModel, _texts),
    'lstm_step': Workload(_ByStep, _text_and_class),
    'transformer': Workload(_transformer, _sequences, mean_squared_error),
}
