"""Optimizers that average gradients over processes."""

from __future__ import annotations

from typing import Any

_OWN = frozenset(('actual_optimizer', 'communicator', 'target_params', 'zero_fill'))


class MultiNodeOptimizer:
    """An optimizer that averages gradients before an update; other attributes are those of the optimizer.

    The first :meth:`update`, and the first one after a parameter has been added, sends the parameters of the root to
    all processes, and does not change them. That is ChainerMN's behaviour, kept so that figures agree.

    Args:
        actual_optimizer: the optimizer.
        communicator: a communicator.
        zero_fill: fill missing gradients with zeros.
    """

    def __init__(self, actual_optimizer: Any, communicator: Any, zero_fill: bool) -> None:
        self.actual_optimizer, self.communicator = actual_optimizer, communicator
        self.target_params: list[tuple[str, bool]] = []
        self.zero_fill = zero_fill

    def setup(self, link: Any) -> MultiNodeOptimizer:
        """Sets the model, and returns this optimizer."""
        self.actual_optimizer.setup(link)
        return self

    def update(self, lossfun: Any = None, *args: Any, **kwds: Any) -> None:
        """Updates the parameters by the means of their gradients.

        Args:
            lossfun: called with the other arguments; its result is differentiated first. None if gradients are there.
            args: arguments of ``lossfun``.
            kwds: keyword arguments of ``lossfun``.
        """
        if lossfun is not None:
            self._differentiate(lossfun(*args, **kwds))
        if self.is_changed(self.target):
            self.communicator.bcast_data(self.target)
        else:
            self.communicator.multi_node_mean_grad(self.target, self.zero_fill)
            self.actual_optimizer.update(None, *args, **kwds)

    def _differentiate(self, loss: Any) -> None:
        if getattr(self, '_use_cleargrads', True):
            self.target.cleargrads()
        else:
            self.target.zerograds()
        loss.backward(loss_scale=self.actual_optimizer._loss_scale)

    def is_changed(self, target: Any) -> bool:
        """Whether the model has other parameters than at the last call, or one has got its array.

        Args:
            target: the model.
        """
        before = self.target_params
        self.target_params = [(name, param.array is not None) for name, param in sorted(target.namedparams())]
        return before != self.target_params

    def __getattr__(self, name: str) -> Any:
        if name in _OWN:
            raise AttributeError(name)
        return getattr(self.actual_optimizer, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _OWN:
            super().__setattr__(name, value)
        else:
            setattr(self.actual_optimizer, name, value)


def create_multi_node_optimizer(
    actual_optimizer: Any, communicator: Any, double_buffering: bool = False, zero_fill: bool = True
) -> MultiNodeOptimizer:
    """An optimizer that averages gradients over processes.

    Args:
        actual_optimizer: the optimizer.
        communicator: a communicator.
        double_buffering: compute while gradients are sent; not supported.
        zero_fill: fill missing gradients with zeros.

    Raises:
        ValueError: ``double_buffering`` is true.

    >>> import minichainer as chainer
    >>> from minichainer.compat import chainermn
    >>> comm = chainermn.create_communicator('naive')
    >>> optimizer = chainermn.create_multi_node_optimizer(chainer.optimizers.SGD(lr=0.5), comm)
    >>> optimizer.setup(chainer.links.Linear(2, 2)).lr
    0.5
    """
    if double_buffering:
        raise ValueError(
            'create_multi_node_optimizer: double_buffering needs several processes: pass double_buffering=False'
        )
    return MultiNodeOptimizer(actual_optimizer, communicator, zero_fill)
