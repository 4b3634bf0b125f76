"""Classifier: a predictor with its loss and accuracy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minichainer import reporter
from minichainer.errors import describe
from minichainer.functions.evaluation.accuracy import accuracy
from minichainer.functions.loss.softmax_cross_entropy import softmax_cross_entropy
from minichainer.link.link import Chain, Link
from minichainer.links._arguments import LinkArguments
from minichainer.utils.type_check import InvalidType
from minichainer.variable import as_array


class Classifier(Chain):
    r"""A model for training: computes and reports loss and accuracy of a predictor.

    .. math:: \mathrm{loss} = \mathrm{lossfun}(\mathrm{predictor}(x), t)

    After a call, the attributes ``y``, ``loss`` and ``accuracy`` hold the prediction, loss and accuracy. ``'loss'``
    and ``'accuracy'`` are reported under the name of the link. Set ``compute_accuracy`` to False to save time.

    Args:
        predictor: the link that predicts.
        lossfun: function of prediction and label.
        accfun: function of prediction and label, such as :func:`~minichainer.functions.r2_score` if labels are
            numbers, and :func:`~minichainer.functions.binary_accuracy` for ``sigmoid_cross_entropy``; None if
            ``compute_accuracy`` is set to False.
        label_key: where the label is among the arguments: position or keyword.

    Raises:
        TypeError: ``label_key`` is neither an integer nor a string.

    >>> import numpy as np, minichainer as chainer
    >>> model = chainer.links.Classifier(chainer.links.Linear(3, 2))
    >>> loss = model(np.ones((4, 3), np.float32), np.zeros(4, np.int32))
    >>> loss.shape, model.y.shape
    ((), (4, 2))
    """

    compute_accuracy = True

    def __init__(
        self,
        predictor: Link,
        lossfun: Callable[..., Any] = softmax_cross_entropy,
        accfun: Callable[..., Any] = accuracy,
        label_key: int | str = -1,
    ) -> None:
        check = LinkArguments(self)
        check.callables(predictor=predictor, lossfun=lossfun)
        if accfun is not None:
            check.callables(accfun=accfun)
        if not isinstance(label_key, (int, str)):
            raise TypeError(f'{type(self).__name__}: label_key must be int or str, got {type(label_key)}')
        super().__init__()
        self.lossfun = lossfun
        self.accfun = accfun
        self.y: Any = None
        self.loss: Any = None
        self.accuracy: Any = None
        self.label_key = label_key
        with self.init_scope():
            self.predictor = predictor

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The loss.

        Args:
            args: arguments of the predictor, and the label if ``label_key`` is a position.
            kwargs: keyword arguments of the predictor, and the label if ``label_key`` is a keyword.

        Raises:
            ValueError: there is no label.
        """
        args, kwargs, label = self._without_label(args, kwargs)
        self.y = self.loss = self.accuracy = None
        try:
            self.y = self.predictor(*args, **kwargs)
        except TypeError as error:
            if args or kwargs:
                raise
            raise TypeError(
                f'{type(self).__name__}: got the label alone ({describe(label)}), or data without labels: '
                'call it with both, model(x, t); for predictions call model.predictor(x)'
            ) from error
        self.loss = self.lossfun(self.y, label)
        reporter.report({'loss': self.loss}, self)
        if self.compute_accuracy:
            self.accuracy = self._accuracy(label)
            reporter.report({'accuracy': self.accuracy}, self)
        return self.loss

    def _accuracy(self, label: Any) -> Any:
        try:
            return self.accfun(self.y, label)
        except InvalidType as error:
            if self.accfun is not accuracy:
                raise
            raise self._about_accuracy(error, as_array(label)) from error

    def _about_accuracy(self, error: InvalidType, label: Any) -> InvalidType:
        """The error of :func:`accuracy` for labels that suit the loss; these stay, so another measure is needed."""
        if self.lossfun is softmax_cross_entropy and 'one-hot' in str(error):
            return error
        name = getattr(self.lossfun, '__name__', repr(self.lossfun))
        measure = 'F.binary_accuracy' if label.dtype.kind in 'iu' else 'F.r2_score'
        if self.lossfun is softmax_cross_entropy:  # shares of classes, which no measure takes
            measure = 'lambda y, t: F.accuracy(y, t.argmax(axis=1))'
        actual = f'{error.actual.partition(";")[0]}; the labels suit lossfun={name}, and not accfun=accuracy'
        remedy = f'pass accfun={measure}, or set compute_accuracy = False in the {type(self).__name__}'
        return InvalidType(error.expect, actual, f'{str(error).partition(error.actual)[0]}{actual}: {remedy}')

    def _without_label(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any], Any]:
        key = self.label_key
        if isinstance(key, str):
            if key not in kwargs:
                raise ValueError(f'Label key "{key}" is not found among the keywords {sorted(kwargs)}')
            return args, {name: value for name, value in kwargs.items() if name != key}, kwargs[key]
        if not -len(args) <= key < len(args):
            raise ValueError(f'Label key {key} is out of bounds: Classifier got {len(args)} positional arguments')
        position = key % len(args)
        return args[:position] + args[position + 1 :], kwargs, args[position]
