"""Links as a page of HTML, which notebooks show."""

from __future__ import annotations

from html import escape
from typing import Any


def tree_as_html(link: Any) -> str:
    """A link and its descendants with shapes and numbers of their parameters, as lists that can be folded."""
    return f'<div style="font-family: monospace">{_item(link, "")}</div>'


def _item(link: Any, name: str) -> str:
    label = f'{escape(name)}: ' if name else ''
    specs = ', '.join(f'{key}={value}' for key, value in link.printable_specs)
    title = f'{label}<b>{escape(type(link).__name__)}</b>({escape(specs)}) <small>{_count(link)}</small>'
    inner = [*(f'<li>{line}</li>' for line in _own_params(link)), *(f'<li>{line}</li>' for line in _layers(link))]
    if not inner:
        return title
    return f'<details open><summary>{title}</summary><ul>{"".join(inner)}</ul></details>'


def _own_params(link: Any) -> list[str]:
    params = [(name, getattr(link, name)) for name in sorted(link._params)]
    return [f'{escape(name)} <small>{escape(_described(param))}</small>' for name, param in params]


def _layers(link: Any) -> list[str]:
    """The children; for a Sequential all its layers, in the order of calls."""
    layers = getattr(link, '_layers', None)
    if layers is None:
        return [_item(child, name) for name, child in link._named_children()]
    return [_item(x, str(i)) if hasattr(x, '_params') else f'{i}: {escape(str(x))}' for i, x in enumerate(layers)]


def _described(param: Any) -> str:
    return f'{param.shape} {param.dtype}' if param.is_initialized else 'shape not known yet'


def _count(link: Any) -> str:
    params = list(link.params())
    known = sum(param.size for param in params if param.is_initialized)
    unknown = sum(not param.is_initialized for param in params)
    text = f'{known:,} parameter{"s" * (known != 1)}'
    return f'{text}, and {unknown} array{"s" * (unknown != 1)} of unknown shape' if unknown else text
