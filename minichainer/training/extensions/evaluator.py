from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from minichainer import backend
from minichainer.configuration import no_backprop_mode, using_config
from minichainer.dataset.convert import call_converter, call_with, concat_examples
from minichainer.reporter import DictSummary, Reporter, report, report_scope
from minichainer.training._first_error import run_all
from minichainer.training.extension import PRIORITY_WRITER, Extension
from minichainer.training.extensions._terminal import Bar, make_display
from minichainer.training.util import check_iterator, is_dataset, kind_of


class Evaluator(Extension):
    """Evaluates a model on a validation set and reports the means of what it reports.

    The model runs with ``config.train`` off and without a graph. Keys are such as ``validation/main/loss``: the names
    of the extension and of the target, and the model's own key.

    The means are over batches, as in Chainer, so the examples of a smaller last batch count more: of 40 examples in
    batches of 39 and 1, that one counts half. Where that matters, choose a batch size that divides their number, or
    report pairs of value and weight: ``chainer.report({'loss': (loss, len(x))}, self)`` in the model makes the mean
    one over examples.

    Args:
        iterator: Iterator that ends (``repeat=False``), or a dict of iterators; one alone is called
            ``'main'``.
        target: Link, or a dict of links; one alone is called ``'main'``.
        converter: Function ``converter(batch, device)`` that makes arrays of a list of examples.
        device: Device to which the arrays are sent; ``None`` leaves them where they are.
        eval_hook: Function of the evaluator, called at the beginning of each evaluation.
        eval_func: Function of the arrays that reports; the main target when omitted.
        progress_bar (bool): Whether to show a progress line, on a terminal or in a notebook.

    .. admonition:: Example

        >>> import numpy as np
        >>> import minichainer as chainer
        >>> import minichainer.links as L
        >>> from minichainer.training import extensions
        >>> data = chainer.datasets.TupleDataset(np.ones((3, 2), np.float32), np.zeros(3, np.int32))
        >>> iterator = chainer.iterators.SerialIterator(data, 2, repeat=False, shuffle=False)
        >>> sorted(extensions.Evaluator(iterator, L.Classifier(L.Linear(2, 3)))())
        ['main/accuracy', 'main/loss']

    """

    trigger = 1, 'epoch'
    default_name = 'validation'
    priority = PRIORITY_WRITER

    def __init__(
        self,
        iterator: Any,
        target: Any,
        converter: Callable[..., Any] = concat_examples,
        device: Any = None,
        eval_hook: Callable[[Any], Any] | None = None,
        eval_func: Callable[..., Any] | None = None,
        *,
        progress_bar: bool = False,
    ) -> None:
        _check_arguments(iterator, target)
        self._iterators: Any = iterator if isinstance(iterator, Mapping) else {'main': iterator}
        self._targets = target if isinstance(target, dict) else {'main': target}
        self.converter = converter
        self.device = None if device is None else backend.get_device(device)
        self.eval_hook = eval_hook
        self.eval_func = eval_func
        self._progress_bar = progress_bar
        for name, it in self._iterators.items():
            if getattr(it, 'repeat', False):
                warnings.warn(
                    f'Evaluator: the iterator {name!r} repeats, so the evaluation may never end; '
                    'make it with repeat=False',
                    stacklevel=2,
                )

    def get_iterator(self, name: str) -> Any:
        """Returns the iterator of this name.

        Args:
            name: the name; ``'main'`` for the only one.
        """
        return self._iterators[name]

    def get_all_iterators(self) -> dict[str, Any]:
        """Returns a dict of the iterators by name."""
        return dict(self._iterators)

    def get_target(self, name: str) -> Any:
        """Returns the link of this name.

        Args:
            name: the name; ``'main'`` for the only one.
        """
        return self._targets[name]

    def get_all_targets(self) -> dict[str, Any]:
        """Returns a dict of the links by name."""
        return dict(self._targets)

    def __call__(self, trainer: Any = None) -> dict[str, Any]:
        """Evaluates, reports and returns the means; works without a trainer too."""
        reporter = Reporter()
        prefix = '' if self.name is None else self.name + '/'
        for name, target in self._targets.items():
            reporter.add_observer(prefix + name, target)
            reporter.add_observers(prefix + name, target.namedlinks(skipself=True))
        with reporter, using_config('train', False):
            result = self.evaluate()
        report(result)
        return result

    def evaluate(self) -> dict[str, Any]:
        """Evaluates all batches of the main iterator and returns the means; subclasses may override it."""
        if self.eval_hook:
            self.eval_hook(self)
        if getattr(self._iterators['main'], 'repeat', False) is True:
            raise ValueError(
                "Evaluator: the iterator 'main' repeats, so the evaluation would never end; make it with repeat=False"
            )
        iterator = _restarted(self._iterators['main'])
        summary = DictSummary()
        display = make_display() if self._progress_bar else None
        try:
            for batch in iterator:
                observation: dict[str, Any] = {}
                with report_scope(observation):
                    self._evaluate_batch(batch)
                summary.add(observation)
                if display:
                    display.show([Bar('validation', iterator.epoch_detail)])
        finally:
            if display:
                display.erase()
        return summary.compute_mean()

    def _evaluate_batch(self, batch: list[Any]) -> None:
        """Calls the evaluation function on a converted batch."""
        eval_func = self.eval_func or self._targets['main']
        arrays = call_converter(self.converter, batch, self.device)
        with no_backprop_mode():
            call_with(eval_func, arrays)

    def finalize(self) -> None:
        """Finalizes the iterators."""
        run_all((f'finalize of iterator {name!r}', it.finalize) for name, it in self._iterators.items())


def _check_arguments(iterator: Any, target: Any) -> None:
    """Raises TypeError for arguments that are swapped, or a dataset in place of an iterator."""
    if hasattr(iterator, 'namedlinks') and not hasattr(target, 'namedlinks'):
        raise TypeError('Evaluator: the arguments look swapped: write Evaluator(iterator, model)')
    check_iterator('Evaluator', iterator, 'batch_size, repeat=False, shuffle=False')
    for value in iterator.values() if isinstance(iterator, dict) else (iterator,):
        if is_dataset(value):
            raise TypeError(
                f'Evaluator: an iterator expected, got {kind_of(value)}; write '
                'iterators.SerialIterator(dataset, batch_size, repeat=False, shuffle=False)'
            )


def _restarted(iterator: Any) -> Any:
    """The iterator at its start; a copy if it cannot be reset."""
    if hasattr(iterator, 'reset'):
        iterator.reset()
        return iterator
    warnings.warn(
        f'Evaluator: {type(iterator).__name__} has no reset() and is copied instead; define reset()',
        DeprecationWarning,
        stacklevel=2,
    )
    return copy.copy(iterator)
