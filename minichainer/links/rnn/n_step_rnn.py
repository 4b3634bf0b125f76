"""Recurrent layers over batches of sequences of different lengths."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.functions.array.gathering import reordered
from minichainer.functions.array.sequences import transpose_sequence
from minichainer.functions.rnn._removed import check_kwargs
from minichainer.functions.rnn.n_step_gru import n_step_bigru, n_step_gru
from minichainer.functions.rnn.n_step_lstm import n_step_bilstm, n_step_lstm
from minichainer.functions.rnn.n_step_rnn import n_step_birnn, n_step_rnn
from minichainer.initializers._generate import _get_initializer
from minichainer.initializers.normal import Normal
from minichainer.link.link import ChainList, Link
from minichainer.links._arguments import LinkArguments
from minichainer.links.rnn._state import check_states
from minichainer.utils.type_check import InvalidType
from minichainer.variable import Parameter, Variable, as_variable


class NStepRNNBase(ChainList):
    """The base of recurrent layers over batches of sequences.

    A subclass sets ``n_weights`` and ``use_bi_direction``, and defines :meth:`rnn` and ``n_cells``. The parameters
    of each layer and direction are ``w0``, ``w1``, ... and ``b0``, ``b1``, ... of a child. The arguments are those of
    :class:`NStepLSTM`.

    Args:
        n_layers: number of layers.
        in_size: number of inputs at each step.
        out_size: number of units of each layer and direction.
        dropout: probability with which an element between two layers is dropped, where ``config.train`` is true.
        initialW: keyword only; initializer of the weights, by default normal with standard deviation
            ``1 / sqrt(inputs)``.
        initial_bias: keyword only; initializer of the biases, zero by default.
    """

    #: Number of weights of each layer and direction.
    n_weights: int
    use_bi_direction: bool

    def __init__(
        self,
        n_layers: int,
        in_size: int,
        out_size: int,
        dropout: float,
        *,
        initialW: Any = None,
        initial_bias: Any = None,
        **kwargs: Any,
    ) -> None:
        check_kwargs(kwargs)
        check = LinkArguments(self)
        check.integers(1, n_layers=n_layers, in_size=in_size, out_size=out_size)
        check.ratios(dropout=dropout)
        widths = (in_size, out_size, out_size * (2 if self.use_bi_direction else 1))
        check.common_initializers([(out_size, n) for n in widths], initialW=initialW)
        check.initializers((out_size,), initial_bias=initial_bias)
        self.n_layers = n_layers
        self.dropout = dropout
        self.out_size = out_size
        directions = 2 if self.use_bi_direction else 1
        self.direction = directions
        bias = _get_initializer(0 if initial_bias is None else initial_bias)
        layers = []
        for at in range(n_layers * directions):
            size = in_size if at < directions else out_size * directions
            layers.append(_layer(self.n_weights, size, out_size, initialW, bias))
        super().__init__(*layers)

    @property
    def ws(self) -> list[list[Parameter]]:
        """The weights of each layer and direction."""
        return [[layer.__dict__[f'w{k}'] for k in range(self.n_weights)] for layer in self]

    @property
    def bs(self) -> list[list[Parameter]]:
        """The biases of each layer and direction."""
        return [[layer.__dict__[f'b{k}'] for k in range(self.n_weights)] for layer in self]

    def rnn(self, *args: Any) -> Any:
        """The function to apply: ``rnn(n_layers, dropout, *states, ws, bs, xs)``, with ``xs[t]`` for step t.

        Args:
            args: the arguments of the function, as above.
        """
        raise NotImplementedError(f'{type(self).__name__} must define rnn')

    @property
    def n_cells(self) -> int:
        """Number of arrays in the state: 2 for LSTM, else 1."""
        raise NotImplementedError(f'{type(self).__name__} must define n_cells')

    def init_hx(self, xs: Any) -> Variable:
        """A state of zeros.

        Args:
            xs: list of sequences.

        Returns:
            Variable ``(n_layers, len(xs), out_size)``, for both directions ``(2 * n_layers, len(xs), out_size)``.
        """
        shape = (self.n_layers * self.direction, len(xs), self.out_size)
        with self.device.create_context():
            return Variable(self.xp.zeros(shape, xs[0].dtype))

    def forward(self, hx: Any, xs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Applies the layers to a batch of sequences.

        Args:
            hx: first states, Variable or array ``(layers and directions, len(xs), out_size)``; None for zeros.
            xs: list of sequences, Variables or arrays ``(length, in_size)`` of any lengths in any order.

        Returns:
            The last states, of the shape of ``hx``, and a list of the last layer's outputs for each sequence,
            ``(length, out_size)``, or ``(length, 2 * out_size)`` for both directions.

        Raises:
            TypeError: xs is not a list or tuple.
            ValueError: xs is empty.
            InvalidType: shapes or dtypes do not fit.
        """
        check_kwargs(kwargs)
        return self._apply([hx], xs)

    def _apply(self, states: list[Any], xs: Any) -> tuple[Any, ...]:
        """Sorts the sequences by length, applies the layers, and restores the order."""
        xs = _checked_sequences(xs, type(self).__name__)
        order = numpy.argsort([-len(x) for x in xs], kind='stable').astype('i')
        places = None if all(order[:-1] <= order[1:]) else self.device.send(numpy.stack([order, order.argsort()]))
        self._check_states(states, len(xs))
        first = [self.init_hx(xs) if s is None else as_variable(s) for s in states]
        if places is not None:
            there, back = places[0], places[1]
            first = [h if s is None else reordered(h, there, back, 1) for h, s in zip(first, states, strict=True)]
        try:
            steps = transpose_sequence([xs[i] for i in order])
            *last, ys = self.rnn(self.n_layers, self.dropout, *first, self.ws, self.bs, steps)
        except (InvalidType, ValueError) as error:
            self._check_sizes(xs, error)
            raise
        if places is not None:
            last = [reordered(h, places[1], places[0], 1) for h in last]
        return (*last, self._sequences(ys, order, xs))

    def _check_states(self, states: list[Any], batch: int) -> None:
        """Raises TypeError if a state is neither an array nor None, InvalidType if it has a wrong shape."""
        shape = (self.n_layers * self.direction, batch, self.out_size)
        given = {name: s for name, s in zip(('hx', 'cx'), states, strict=False) if s is not None}
        check_states(self, **given)
        for s in given.values():
            if s.shape != shape:
                expected = f'states of shape {shape} (layers and directions, sequences, units)'
                text = f'{type(self).__name__}\n\nExpect: {expected}\nActual: {s.shape}'
                raise InvalidType(expected, str(s.shape), text)

    def _check_sizes(self, xs: list[Variable], error: Exception) -> None:
        """Raises an error of the same type about the first sequence whose size is not that of the weights."""
        size = self.ws[0][0].shape[1]
        expected = f'sequences of shape (length, {size}), the size of the weights'
        for i, x in enumerate(xs):
            if x.shape[1] != size:
                got, name = f'{x.shape} as xs[{i}]', type(self).__name__
                if not isinstance(error, InvalidType):
                    raise ValueError(f'{name}: {expected}, expected, got {got}') from None
                raise InvalidType(expected, got, f'{name}\n\nExpect: {expected}\nActual: {got}') from None

    def _sequences(self, ys: Any, order: Any, xs: list[Variable]) -> list[Variable]:
        """The outputs by sequence, in the order of ``xs``."""
        width = self.out_size * self.direction
        found = list(transpose_sequence(list(ys)))
        while len(found) < len(xs):  # sequences without steps are last
            with self.device.create_context():
                found.append(Variable(self.xp.zeros((0, width), xs[0].dtype)))
        by_place: list[Any] = [None] * len(xs)
        for y, place in zip(found, order, strict=True):
            by_place[place] = y
        return by_place


def _checked_sequences(xs: Any, name: str) -> list[Variable]:
    """The sequences as Variables; raises an error unless they are matrices."""
    if not isinstance(xs, (list, tuple)):
        remedy = '; write list(xs)' if getattr(xs, 'ndim', 0) == 3 else ''
        raise TypeError(f'{name}: xs must be a list or tuple of sequences, got {type(xs).__name__}{remedy}')
    if not xs:
        raise ValueError(f'{name}: xs must have at least one sequence, got an empty {type(xs).__name__}')
    variables = [as_variable(x) for x in xs]
    for i, x in enumerate(variables):
        if x.ndim != 2:
            expected = 'sequences of shape (length, in_size)'
            raise InvalidType(
                expected, str(x.shape), f'{name}\n\nExpect: {expected}\nActual: {x.shape} of sequence {i}'
            )
    return variables


def _layer(n_weights: int, in_size: int, out_size: int, initialW: Any, bias: Any) -> Link:
    """The parameters of one layer in one direction."""
    layer = Link()
    with layer.init_scope():
        for k in range(n_weights):
            inputs = in_size if k < n_weights // 2 else out_size
            weight = Normal((1.0 / inputs) ** 0.5) if initialW is None else _get_initializer(initialW)
            setattr(layer, f'w{k}', Parameter(weight, (out_size, inputs)))
            setattr(layer, f'b{k}', Parameter(bias, (out_size,)))
    return layer


class _NStepLSTMBase(NStepRNNBase):
    n_weights = 8

    @property
    def n_cells(self) -> int:
        return 2

    def forward(self, hx: Any, cx: Any, xs: Any, **kwargs: Any) -> tuple[Variable, Variable, list[Variable]]:  # type: ignore[override]
        """Applies the layers to a batch of sequences.

        Args:
            hx: first states, Variable or array ``(layers and directions, len(xs), out_size)``; None for zeros.
            cx: first cells, likewise.
            xs: list of sequences, Variables or arrays ``(length, in_size)`` of any lengths in any order.

        Returns:
            The last states and the last cells, of the shape of ``hx``, and a list of the last layer's outputs for
            each sequence, ``(length, out_size)``, or ``(length, 2 * out_size)`` for both directions.

        Raises:
            TypeError: xs is not a list or tuple.
            ValueError: xs is empty, or the size of its elements is not that of the weights.
            InvalidType: shapes or dtypes do not fit.
        """
        check_kwargs(kwargs)
        hy, cy, ys = self._apply([hx, cx], xs)
        return hy, cy, ys


class _OneCellBase(NStepRNNBase):
    @property
    def n_cells(self) -> int:
        return 1


class NStepLSTM(_NStepLSTMBase):
    """Layers of long short-term memory over a batch of sequences.

    See :func:`~minichainer.functions.n_step_lstm` for the formulas.

    Args:
        n_layers: number of layers.
        in_size: number of inputs at each step.
        out_size: number of units of each layer and direction.
        dropout: probability with which an element between two layers is dropped, where ``config.train`` is true.
        initialW: keyword only; initializer of the weights, by default normal with standard deviation
            ``1 / sqrt(inputs)``.
        initial_bias: keyword only; initializer of the biases, zero by default.

    >>> import numpy as np, minichainer as chainer
    >>> layers = chainer.links.NStepLSTM(2, 4, 3, dropout=0.5)
    >>> xs = [np.ones((5, 4), np.float32), np.ones((7, 4), np.float32)]
    >>> hy, cy, ys = layers(None, None, xs)
    >>> hy.shape, [y.shape for y in ys]
    ((2, 2, 3), [(5, 3), (7, 3)])
    """

    use_bi_direction = False

    def rnn(self, *args: Any) -> Any:
        return n_step_lstm(*args)


class NStepBiLSTM(_NStepLSTMBase):
    """Layers of long short-term memory in both directions over a batch of sequences.

    See :func:`~minichainer.functions.n_step_bilstm` for the formulas, and :class:`NStepLSTM` for the arguments.

    >>> import numpy as np, minichainer as chainer
    >>> layers = chainer.links.NStepBiLSTM(2, 4, 3, dropout=0.5)
    >>> xs = [np.ones((5, 4), np.float32), np.ones((7, 4), np.float32)]
    >>> hy, cy, ys = layers(None, None, xs)
    >>> hy.shape, [y.shape for y in ys]
    ((4, 2, 3), [(5, 6), (7, 6)])
    """

    use_bi_direction = True

    def rnn(self, *args: Any) -> Any:
        return n_step_bilstm(*args)


class NStepGRU(_OneCellBase):
    """Layers of gated recurrent units over a batch of sequences.

    See :func:`~minichainer.functions.n_step_gru` for the formulas, and :class:`NStepLSTM` for the arguments.

    >>> import numpy as np, minichainer as chainer
    >>> layers = chainer.links.NStepGRU(2, 4, 3, dropout=0.5)
    >>> xs = [np.ones((5, 4), np.float32), np.ones((7, 4), np.float32)]
    >>> hy, ys = layers(None, xs)
    >>> hy.shape, [y.shape for y in ys]
    ((2, 2, 3), [(5, 3), (7, 3)])
    """

    n_weights = 6
    use_bi_direction = False

    def rnn(self, *args: Any) -> Any:
        return n_step_gru(*args)


class NStepBiGRU(_OneCellBase):
    """Layers of gated recurrent units in both directions over a batch of sequences.

    See :func:`~minichainer.functions.n_step_bigru` for the formulas, and :class:`NStepLSTM` for the arguments.

    >>> import numpy as np, minichainer as chainer
    >>> layers = chainer.links.NStepBiGRU(2, 4, 3, dropout=0.5)
    >>> xs = [np.ones((5, 4), np.float32), np.ones((7, 4), np.float32)]
    >>> hy, ys = layers(None, xs)
    >>> hy.shape, [y.shape for y in ys]
    ((4, 2, 3), [(5, 6), (7, 6)])
    """

    n_weights = 6
    use_bi_direction = True

    def rnn(self, *args: Any) -> Any:
        return n_step_bigru(*args)


class NStepRNNTanh(_OneCellBase):
    """Plain recurrent layers with tanh over a batch of sequences.

    See :func:`~minichainer.functions.n_step_rnn` for the formulas, and :class:`NStepLSTM` for the arguments.

    >>> import numpy as np, minichainer as chainer
    >>> layers = chainer.links.NStepRNNTanh(2, 4, 3, dropout=0.5)
    >>> xs = [np.ones((5, 4), np.float32), np.ones((7, 4), np.float32)]
    >>> hy, ys = layers(None, xs)
    >>> hy.shape, [y.shape for y in ys]
    ((2, 2, 3), [(5, 3), (7, 3)])
    """

    n_weights = 2
    use_bi_direction = False

    def rnn(self, *args: Any) -> Any:
        n_layers, dropout, hx, ws, bs, xs = args
        return n_step_rnn(n_layers, dropout, hx, ws, bs, xs, 'tanh')


class NStepRNNReLU(_OneCellBase):
    """Plain recurrent layers with relu over a batch of sequences.

    See :func:`~minichainer.functions.n_step_rnn` for the formulas, and :class:`NStepLSTM` for the arguments.

    >>> import numpy as np, minichainer as chainer
    >>> layers = chainer.links.NStepRNNReLU(2, 4, 3, dropout=0.5)
    >>> xs = [np.ones((5, 4), np.float32), np.ones((7, 4), np.float32)]
    >>> hy, ys = layers(None, xs)
    >>> hy.shape, [y.shape for y in ys]
    ((2, 2, 3), [(5, 3), (7, 3)])
    """

    n_weights = 2
    use_bi_direction = False

    def rnn(self, *args: Any) -> Any:
        n_layers, dropout, hx, ws, bs, xs = args
        return n_step_rnn(n_layers, dropout, hx, ws, bs, xs, 'relu')


class NStepBiRNNTanh(_OneCellBase):
    """Plain recurrent layers with tanh in both directions over a batch of sequences.

    See :func:`~minichainer.functions.n_step_birnn` for the formulas, and :class:`NStepLSTM` for the arguments.

    >>> import numpy as np, minichainer as chainer
    >>> layers = chainer.links.NStepBiRNNTanh(2, 4, 3, dropout=0.5)
    >>> xs = [np.ones((5, 4), np.float32), np.ones((7, 4), np.float32)]
    >>> hy, ys = layers(None, xs)
    >>> hy.shape, [y.shape for y in ys]
    ((4, 2, 3), [(5, 6), (7, 6)])
    """

    n_weights = 2
    use_bi_direction = True

    def rnn(self, *args: Any) -> Any:
        n_layers, dropout, hx, ws, bs, xs = args
        return n_step_birnn(n_layers, dropout, hx, ws, bs, xs, 'tanh')


class NStepBiRNNReLU(_OneCellBase):
    """Plain recurrent layers with relu in both directions over a batch of sequences.

    See :func:`~minichainer.functions.n_step_birnn` for the formulas, and :class:`NStepLSTM` for the arguments.

    >>> import numpy as np, minichainer as chainer
    >>> layers = chainer.links.NStepBiRNNReLU(2, 4, 3, dropout=0.5)
    >>> xs = [np.ones((5, 4), np.float32), np.ones((7, 4), np.float32)]
    >>> hy, ys = layers(None, xs)
    >>> hy.shape, [y.shape for y in ys]
    ((4, 2, 3), [(5, 6), (7, 6)])
    """

    n_weights = 2
    use_bi_direction = True

    def rnn(self, *args: Any) -> Any:
        n_layers, dropout, hx, ws, bs, xs = args
        return n_step_birnn(n_layers, dropout, hx, ws, bs, xs, 'relu')
