"""What the classifiers of images have in common: named layers, features and predictions."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy

from minichainer.configuration import no_backprop_mode, using_config
from minichainer.dataset.convert import concat_examples
from minichainer.functions.array.shape import reshape
from minichainer.functions.math.reductions import average
from minichainer.link.link import Chain
from minichainer.links.model.vision._images import prepare_image
from minichainer.utils import imgproc
from minichainer.utils.argument import assert_kwargs_empty, check_unexpected_kwargs
from minichainer.variable import Variable, as_variable

_REMOVED = '{} argument is not supported anymore. Use chainer.using_config'


class ImageModel(Chain):
    """A classifier of images that is a chain of named layers, some of which may branch off.

    Attributes:
        feature_layer: the layer that :meth:`extract` takes if it gets no ``layers``.
        branches: layers that do not follow the one before them, and the layers that they follow.
        mean: the mean blue, green and red that ``prepare`` subtracts.
    """

    feature_layer = 'pool5'
    branches: Mapping[str, str] = {}
    mean: Sequence[float]

    @property
    def functions(self) -> OrderedDict[str, list[Callable[..., Any]]]:
        """The functions of each layer, in the order of computation."""
        raise NotImplementedError(f'{type(self).__name__} must define functions')

    @property
    def available_layers(self) -> list[str]:
        """Names of the layers, in the order of computation."""
        return list(self.functions)

    def prepare(self, image: Any, size: Any) -> numpy.ndarray:
        """An image as the model expects it; as the function ``prepare`` of its module."""
        return prepare_image(image, size, self.mean)

    def forward(self, x: Any, layers: Iterable[str] | None = None, **kwargs: Any) -> dict[str, Variable]:
        """Computes the results of some layers; no layer is computed that they do not need.

        Args:
            x: images (batch, 3, height, width) as ``prepare`` makes them, Variable or array.
            layers: names of layers; ``['prob']`` when omitted.

        Returns:
            Dict of Variables by the names of the layers.

        Raises:
            ValueError: there is no such layer.
        """
        check_unexpected_kwargs(kwargs, test=_REMOVED.format('test'))
        assert_kwargs_empty(kwargs)
        functions = self.functions
        wanted = self._wanted(['prob'] if layers is None else layers, functions)
        needed = self._needed(wanted, list(functions))
        h: Any = as_variable(x)
        branching: dict[str, Any] = {}
        results: dict[str, Variable] = {}
        for name in [name for name in functions if name in needed]:
            h = branching[self.branches[name]] if name in self.branches else h
            for function in functions[name]:
                h = function(h)
            if name in self.branches.values():
                branching[name] = h
            if name in wanted:
                results[name] = h
        return results

    def extract(
        self, images: Iterable[Any], layers: Iterable[str] | None = None, size: Any = (224, 224), **kwargs: Any
    ) -> dict[str, Variable]:
        """Prepares images and computes the results of some layers, which serve as features.

        Dropout and batch normalization obey ``config.train``, and the graph is recorded, unless it is switched off.

        Args:
            images: images of Pillow or arrays of pixels, as ``prepare`` takes them.
            layers: names of layers; the last one before the classification when omitted.
            size: width and height to resize to; None to leave the size, which then must be the same for all.

        Returns:
            Dict of Variables by the names of the layers.
        """
        check_unexpected_kwargs(kwargs, **{name: _REMOVED.format(name) for name in ('test', 'volatile')})
        assert_kwargs_empty(kwargs)
        layers = [self.feature_layer] if layers is None else layers
        self._wanted(layers, self.functions)
        x = concat_examples([self.prepare(image, size) for image in images], None)
        features: dict[str, Variable] = self(Variable(self.device.send(x)), layers=layers)
        return features

    def predict(self, images: Iterable[Any], oversample: bool = True) -> Variable:
        """The probability of each class, without a graph and with ``config.train`` off.

        Args:
            images: images of Pillow or arrays of pixels, as ``prepare`` takes them.
            oversample: whether to average over ten crops of each image; otherwise the middle is taken.

        Returns:
            Variable (batch, classes).
        """
        x = concat_examples([self.prepare(image, (256, 256)) for image in images], None)
        x = imgproc.oversample(x, (224, 224)) if oversample else x[:, :, 16:240, 16:240]
        with no_backprop_mode(), using_config('train', False):
            y = self(Variable(self.device.send(x)), layers=['prob'])['prob']
            return average(reshape(y, (-1, 10, *y.shape[1:])), axis=1) if oversample else y

    def _wanted(self, layers: Any, names: Iterable[str]) -> set[str]:
        if isinstance(layers, str):
            raise TypeError(f'{type(self).__name__}: layers must be a list of names, got {layers!r}')
        wanted = set(layers)
        unknown = sorted(map(str, wanted - set(names)))
        if unknown:
            raise ValueError(
                f'{type(self).__name__} has no layer {", ".join(unknown)}; its layers are {", ".join(names)}'
            )
        return wanted

    def _needed(self, wanted: Iterable[str], names: Sequence[str]) -> set[str]:
        """The layers from the images to those that are wanted."""
        before: dict[str, str | None] = dict(zip(names, [None, *names], strict=False))
        before.update(self.branches)
        needed: set[str] = set()
        for name in wanted:
            at: str | None = name
            while at is not None and at not in needed:
                needed.add(at)
                at = before[at]
        return needed
