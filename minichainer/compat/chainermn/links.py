"""Links that communicate."""

from __future__ import annotations

import copy
from typing import Any

from minichainer.compat.chainermn.functions import recv, send
from minichainer.link.link import Chain, ChainList
from minichainer.links.normalization.batch_normalization import BatchNormalization
from minichainer.links.rnn.n_step_rnn import NStepRNNBase


class MultiNodeBatchNormalization(BatchNormalization):
    """Batch normalization with statistics over the batches of all processes.

    Args:
        size: number of channels, or shape.
        comm: a communicator.
        decay: of the running means.
        eps: added to variances.
        dtype: of the parameters.
        use_gamma: scale the result.
        use_beta: add a bias.
        initial_gamma: initializer of the scale.
        initial_beta: initializer of the bias.
        communication_backend: has no effect.
    """

    def __init__(
        self,
        size: Any,
        comm: Any,
        decay: float = 0.9,
        eps: float = 2e-5,
        dtype: Any = None,
        use_gamma: bool = True,
        use_beta: bool = True,
        initial_gamma: Any = None,
        initial_beta: Any = None,
        communication_backend: str = 'auto',
    ) -> None:
        super().__init__(size, decay, eps, dtype, use_gamma, use_beta, initial_gamma, initial_beta, initial_avg_var=0)
        self.comm = comm


def create_mnbn_model(link: Any, comm: Any, communication_backend: str = 'auto') -> Any:
    """A copy of a model, with batch normalization over all processes.

    Args:
        link: the model.
        comm: a communicator.
        communication_backend: has no effect.
    """
    model = copy.deepcopy(link)
    for part in model.links():
        if type(part) is BatchNormalization:
            part.__class__ = MultiNodeBatchNormalization
            part.comm = comm
    return model


class MultiNodeChainList(ChainList):
    """A model whose parts are on several processes; with one, the parts are applied one after the other.

    Args:
        comm: a communicator.
    """

    def __init__(self, comm: Any) -> None:
        super().__init__()
        self._comm = comm
        self._ranks: list[tuple[list[int] | None, list[int] | None]] = []

    def add_link(self, link: Any, rank_in: Any = None, rank_out: Any = None) -> None:
        """Adds a part.

        Args:
            link: the part.
            rank_in: processes whose outputs it gets, an int or a list; None for the inputs of the model.
            rank_out: processes that get its outputs, an int or a list; None for the output of the model.

        Raises:
            ValueError: two parts have the output of the model.
        """
        ranks = tuple([[rank] if isinstance(rank, int) else rank for rank in (rank_in, rank_out)])
        if rank_out is None and any(out is None for _, out in self._ranks):
            raise ValueError('MultiNodeChainList: only one part may have rank_out=None, the output of the model')
        super().add_link(link)
        self._ranks.append((ranks[0], ranks[1]))

    def forward(self, *inputs: Any) -> Any:
        """The output of the part with ``rank_out=None``."""
        waiting: list[Any] = []
        result = None
        for part, (sources, targets) in zip(self, self._ranks, strict=True):
            given = inputs if sources is None else [self._received(waiting, rank) for rank in sources]
            y = part(*given)
            if targets is None:
                result = y
            for rank in targets or ():
                self._sent(waiting, y, rank)
        if waiting:
            raise ValueError('MultiNodeChainList: an output has no receiver: rank_in and rank_out must correspond')
        return result

    def _received(self, waiting: list[Any], rank: int) -> Any:
        if rank != self._comm.rank:
            return recv(self._comm, rank)
        if not waiting:
            raise ValueError('MultiNodeChainList: an input has no sender: rank_in and rank_out must correspond')
        return waiting.pop(0)

    def _sent(self, waiting: list[Any], y: Any, rank: int) -> None:
        if rank != self._comm.rank:
            send(y, self._comm, rank)
        waiting.append(y)


class _MultiNodeNStepRNN(Chain):
    """Recurrent layers that also return None, in the place of what the next process must differentiate."""

    def __init__(self, link: Any) -> None:
        super().__init__(actual_rnn=link)

    def forward(self, *inputs: Any) -> tuple[Any, ...]:
        states = [None] * self['actual_rnn'].n_cells
        return (*self['actual_rnn'](*states, *inputs), None)


def create_multi_node_n_step_rnn(
    actual_link: Any, communicator: Any, rank_in: Any = None, rank_out: Any = None
) -> Any:
    """Recurrent layers of a stack that is divided among processes.

    Args:
        actual_link: such as ``links.NStepLSTM``.
        communicator: a communicator.
        rank_in: the process with the layers before; None for none.
        rank_out: the process with the layers after; None for none.

    Raises:
        ValueError: the link is of another kind.
        RuntimeError: there is no such process.
    """
    if not isinstance(actual_link, NStepRNNBase):
        raise ValueError(f'create_multi_node_n_step_rnn: expected an NStepRNN link, got {type(actual_link).__name__}')
    if rank_in is not None:
        recv(communicator, rank_in)
    if rank_out is not None:
        send(None, communicator, rank_out)
    return _MultiNodeNStepRNN(actual_link)
