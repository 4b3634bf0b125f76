"""Evaluation on all processes."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from minichainer import backend
from minichainer.configuration import no_backprop_mode, using_config
from minichainer.dataset.convert import call_converter, call_with, concat_examples
from minichainer.training.extension import PRIORITY_WRITER, Extension


def create_multi_node_evaluator(actual_evaluator: Any, communicator: Any) -> Any:
    """The evaluator, whose results are means over all processes.

    Args:
        actual_evaluator: an evaluator.
        communicator: a communicator.
    """
    return actual_evaluator


class GenericMultiNodeEvaluator(Extension):
    """Evaluates a model batch by batch, and hands all results on at once, at the root.

    Args:
        comm: a communicator.
        iterator: an iterator that ends.
        target: the model.
        device: where batches are sent; None to leave them where they are.
        converter: makes arrays of a batch.
        root: the process of :meth:`aggregate`; 0.
        progress_hook: keyword only; called with the result of each batch.
    """

    trigger = 1, 'epoch'
    default_name = 'validation'
    priority = PRIORITY_WRITER
    name = None

    def __init__(
        self,
        comm: Any,
        iterator: Any,
        target: Any,
        device: Any = None,
        converter: Callable[..., Any] = concat_examples,
        root: int = 0,
        *,
        progress_hook: Callable[[Any], None] | None = None,
    ) -> None:
        self.comm, self.iterator, self.converter, self.root = comm, iterator, converter, root
        self.device = None if device is None else backend.get_device(device)
        self._targets = {'main': target}
        self._progress_hook = progress_hook

    def __call__(self, trainer: Any) -> Any:
        """The result of :meth:`aggregate`."""
        if hasattr(self.iterator, 'reset'):
            self.iterator.reset()
            return self.aggregate(list(self._results(self.iterator)))
        return self.aggregate(list(self._results(copy.copy(self.iterator))))

    def calc_local(self, *args: Any, **kwargs: Any) -> Any:
        """The result for a batch, that of the model by default."""
        return self._targets['main'](*args, **kwargs)

    def aggregate(self, results: list[Any]) -> Any:
        """Makes one result of those of all batches; returns them by default.

        Args:
            results: what :meth:`calc_local` returned.
        """
        return results

    def _results(self, iterator: Iterator[Any]) -> Iterator[Any]:
        for batch in iterator:
            arrays = call_converter(self.converter, batch, self.device)
            with using_config('train', False), no_backprop_mode():
                result = call_with(self.calc_local, arrays)
            if self._progress_hook is not None:
                self._progress_hook(result)
            yield result
