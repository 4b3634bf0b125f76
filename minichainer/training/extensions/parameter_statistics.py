from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from minichainer.backend import get_array_module
from minichainer.reporter import DictSummary, report
from minichainer.training.extension import PRIORITY_WRITER, Extension
from minichainer.training.extensions._interval import serialize_interval
from minichainer.training.util import get_trigger

_PERCENTILES = (0.13, 2.28, 15.87, 50, 84.13, 97.72, 99.87)


class ParameterStatistics(Extension):
    """Reports statistics of parameters and their gradients, averaged over intervals.

    Keys are such as ``prefix/link/param/data/mean``; for a statistic of several numbers the index is appended.
    Parameters without values or without a gradient are skipped.

    Args:
        links: Link or list of links.
        statistics (dict): Functions by name, of the flattened array; ``'default'``: mean, std, min, max, the
            number of zeros, and the percentiles at 0, 1, 2 and 3 standard deviations of a normal
            distribution.
        report_params (bool): Whether to report on the values.
        report_grads (bool): Whether to report on the gradients.
        prefix (str): Beginning of the keys.
        trigger: Trigger that ends an interval.
        skip_nan_params (bool): Whether to report NaN, without computing, for arrays that contain NaN.

    .. admonition:: Example

        >>> import minichainer.links as L
        >>> from minichainer.training import extensions
        >>> statistics = extensions.ParameterStatistics(L.Linear(2, 3), {'mean': lambda x: x.mean()}, prefix='layer')
        >>> statistics.register_statistics('largest', lambda x: abs(x).max())

    """

    default_name = 'parameter_statistics'
    priority = PRIORITY_WRITER
    report_key_template = '{prefix}{link_name}{param_name}/{attr_name}/{function_name}'
    default_statistics: Mapping[str, Callable[[Any], Any]] = {
        'mean': lambda x: x.mean(),
        'std': lambda x: x.std(),
        'min': lambda x: x.min(),
        'max': lambda x: x.max(),
        'zeros': lambda x: get_array_module(x).count_nonzero(x == 0),
        'percentile': lambda x: get_array_module(x).percentile(x, _PERCENTILES),
    }

    def __init__(
        self,
        links: Any,
        statistics: Any = 'default',
        report_params: bool = True,
        report_grads: bool = True,
        prefix: str | None = None,
        trigger: Any = (1, 'epoch'),
        skip_nan_params: bool = False,
    ) -> None:
        self._links = links if isinstance(links, (list, tuple)) else (links,)
        functions = self.default_statistics if statistics == 'default' else statistics
        self._statistics: dict[str, Callable[[Any], Any]] = dict(functions or {})
        self._attrs = ['data'] * report_params + ['grad'] * report_grads
        self._prefix = f'{prefix}/' if prefix else ''
        self._trigger = get_trigger(trigger)
        self._summary = DictSummary()
        self._skip_nan_params = skip_nan_params

    def __call__(self, trainer: Any) -> None:
        """Adds the statistics of this iteration; at the end of an interval reports their means."""
        found: dict[str, Any] = {}
        for link in self._links:
            for param_name, param in link.namedparams(include_uninit=False):
                for attr in self._attrs:
                    array = getattr(param, attr)
                    if array is not None:
                        found.update(self._describe(f'{link.name}', param_name, attr, array.ravel()))
        self._summary.add(found)
        if self._trigger(trainer):
            report(self._summary.compute_mean())
            self._summary = DictSummary()

    def _describe(self, link_name: str, param_name: str, attr: str, values: Any) -> dict[str, Any]:
        """The statistics of one array, by key."""
        skip = self._skip_nan_params and bool(get_array_module(values).isnan(values).any())
        found = {}
        for name, function in self._statistics.items():
            key = self.report_key_template.format(
                prefix=self._prefix,
                link_name=link_name,
                param_name=param_name,
                attr_name=attr,
                function_name=name,
            )
            value: Any = float('nan') if skip else function(values)
            if getattr(value, 'size', 1) > 1:
                found.update({f'{key}/{i}': v for i, v in enumerate(value)})
            else:
                found[key] = value
        return found

    def register_statistics(self, name: str, function: Callable[[Any], Any]) -> None:
        """Adds a statistic: a function of a one-dimensional array that returns one or several numbers.

        Args:
            name: its name in reported keys.
            function: the function.
        """
        self._statistics[name] = function

    def serialize(self, serializer: Any) -> None:
        """Saves or restores the sums of the current interval and its trigger."""
        serialize_interval(serializer, self._trigger, self._summary)
