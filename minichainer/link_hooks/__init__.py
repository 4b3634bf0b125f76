"""Link hooks: what can be done before and after the forward computation of links."""

import typing

from minichainer._names import namespace as _namespace
from minichainer.link_hooks.spectral_normalization import SpectralNormalization
from minichainer.link_hooks.timer import TimerHook
from minichainer.link_hooks.weight_standardization import WeightStandardization

__all__ = ['SpectralNormalization', 'TimerHook', 'WeightStandardization']

if not typing.TYPE_CHECKING:
    __getattr__, __dir__ = _namespace(__name__)
