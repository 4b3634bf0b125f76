"""The base of hooks that replace a weight of a link during its forward computation."""

from __future__ import annotations

from typing import Any

from minichainer.configuration import no_backprop_mode, using_config
from minichainer.functions._arguments import Arguments
from minichainer.link_hook import LinkHook, _ForwardPostprocessCallbackArgs, _ForwardPreprocessCallbackArgs
from minichainer.variable import Parameter, Variable


class WeightHook(LinkHook):
    """Replaces a Parameter of a link by a function of it, and puts it back after the forward computation.

    Args:
        weight_name: name of the parameter.
        name: name of the hook; that of the class by default.
    """

    def __init__(self, weight_name: str, name: str | None) -> None:
        check = Arguments(type(self).__name__)
        if not isinstance(weight_name, str):
            raise check.wrong_type('the name of a parameter', 'weight_name', weight_name)
        if name is not None and not isinstance(name, str):
            raise check.wrong_type('a string or None', 'name', name)
        self.weight_name = weight_name
        if name is not None:
            self.name = name
        self._originals: list[Parameter] = []

    def __enter__(self) -> LinkHook:
        raise NotImplementedError(
            f'{type(self).__name__}: This hook is not supposed to be used as context manager: add it to a link by '
            'add_hook'
        )

    def normalized(self, link: Any) -> Variable:
        """The value that takes the place of the weight."""
        raise NotImplementedError

    def prepare(self, link: Any) -> None:
        """Called once for a link whose weight has values."""

    def added(self, link: Any) -> None:
        """Checks that the link has the weight.

        Raises:
            ValueError: it has not.
        """
        weight = getattr(link, self.weight_name, None)
        if not isinstance(weight, Parameter):
            raise ValueError(
                f"{type(self).__name__}: Weight '{self.weight_name}' does not exist! {type(link).__name__} has no "
                f'parameter of that name: add the hook to a link that has, or give weight_name'
            )
        if weight._data is not None:
            self.prepare(link)

    def forward_preprocess(self, args: _ForwardPreprocessCallbackArgs) -> None:
        """Replaces the weight."""
        link = args.link
        weight = getattr(link, self.weight_name)
        if weight._data is None:  # the link takes its sizes from data
            with no_backprop_mode(), using_config('train', False):
                link.forward(*args.args, **args.kwargs)
            self.prepare(link)
        with link.device.create_context():
            replacement = self.normalized(link)
        self._originals.append(weight)
        setattr(link, self.weight_name, replacement)

    def forward_postprocess(self, args: _ForwardPostprocessCallbackArgs) -> None:
        """Puts the weight back."""
        setattr(args.link, self.weight_name, self._originals.pop())

    def forward_failed(self, args: _ForwardPreprocessCallbackArgs) -> None:
        """Puts the weight back."""
        setattr(args.link, self.weight_name, self._originals.pop())
