"""A graph as SVG, with our own layout."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from minichainer.computational_graph.layout import Layout, layered

_FONT_SIZE = 14.0
#: Mean width of a character of a sans-serif font, relative to its size.
_CHARACTER = 0.56
_MARGIN = 8.0
_ROUND = ('oval', 'ellipse', 'circle', 'doublecircle', 'point')
_HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
    'viewBox="0 0 {width:.0f} {height:.0f}" font-family="Helvetica, Arial, sans-serif" font-size="{font:.0f}">\n'
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    '<path d="M0,0.5 L8,4 L0,7.5 z"/></marker></defs>\n'
    '<rect width="100%" height="100%" fill="white"/>\n'
)


def to_svg(attributes: Sequence[Mapping[str, Any]], edges: Sequence[tuple[int, int]], rankdir: str = 'TB') -> str:
    """Draws a graph.

    Args:
        attributes: for each node, attributes of the DOT language; those used are ``label``, ``shape``, ``style``,
            ``fillcolor``, ``color`` and ``fontcolor``.
        edges: pairs of numbers of nodes.
        rankdir: ``'TB'``, ``'BT'``, ``'LR'`` or ``'RL'``.

    Returns:
        The text of an SVG file.
    """
    sizes = [_size(str(attribute['label']), str(attribute['shape'])) for attribute in attributes]
    turned = rankdir in ('LR', 'RL')
    layout = layered([(height, width) for width, height in sizes] if turned else sizes, edges)
    place = _Placing(layout, rankdir)
    width, height = (layout.height, layout.width) if turned else (layout.width, layout.height)
    head = _HEAD.format(width=width + 2 * _MARGIN, height=height + 2 * _MARGIN, font=_FONT_SIZE)
    lines = [place.edge(route) for route in layout.routes]
    nodes = zip(attributes, sizes, layout.centres, strict=True)
    shapes = [_node(attribute, size, place.point(centre)) for attribute, size, centre in nodes]
    return '\n'.join([head, *lines, *shapes, '</svg>'])


class _Placing:
    """Turns places of a layout, which goes downwards, to the wanted direction."""

    def __init__(self, layout: Layout, rankdir: str) -> None:
        self._length = layout.height
        self._sideways = rankdir in ('LR', 'RL')
        self._backwards = rankdir in ('BT', 'RL')

    def point(self, place: tuple[float, float]) -> tuple[float, float]:
        across, along = place
        if self._backwards:
            along = self._length - along
        x, y = (along, across) if self._sideways else (across, along)
        return x + _MARGIN, y + _MARGIN

    def edge(self, route: list[tuple[float, float]]) -> str:
        """A smooth line through the points, with an arrow at its end."""
        path = ['M{:.1f},{:.1f}'.format(*self.point(route[0]))]
        for (x0, y0), (x1, y1) in itertools.pairwise(route):
            bends = [] if x0 == x1 else [(x0, (y0 + y1) / 2), (x1, (y0 + y1) / 2)]
            points = ' '.join('{:.1f},{:.1f}'.format(*self.point(place)) for place in [*bends, (x1, y1)])
            path.append(('C' if bends else 'L') + points)
        return f'<path d="{" ".join(path)}" fill="none" stroke="black" marker-end="url(#arrow)"/>'


def _size(label: str, shape: str) -> tuple[float, float]:
    """Width and height of a node around its label."""
    width = max(len(label), 3) * _FONT_SIZE * _CHARACTER + 1.5 * _FONT_SIZE
    if shape in _ROUND or shape == 'diamond':
        return 1.25 * width, 2.4 * _FONT_SIZE
    return width + (_FONT_SIZE if shape == 'octagon' else 0), 2 * _FONT_SIZE


def _node(attribute: Mapping[str, Any], size: tuple[float, float], centre: tuple[float, float]) -> str:
    label = escape(' '.join(str(attribute['label']).split()))
    text_color = escape(str(attribute.get('fontcolor', 'black')))
    x, y = centre
    text = (
        f'<text x="{x:.1f}" y="{y + 0.35 * _FONT_SIZE:.1f}" text-anchor="middle" fill="{text_color}">{label}</text>'
    )
    return f'<g>{_outline(attribute, size, centre)}{text}</g>'


def _outline(attribute: Mapping[str, Any], size: tuple[float, float], centre: tuple[float, float]) -> str:
    (w, h), (x, y) = (size[0] / 2, size[1] / 2), centre
    shape, paint = str(attribute['shape']), _paint(attribute)
    if shape in _ROUND:
        return f'<ellipse cx="{x:.1f}" cy="{y:.1f}" rx="{w:.1f}" ry="{h:.1f}" {paint}/>'
    if shape in ('octagon', 'diamond'):
        cut_x, cut_y = (0.6 * h, 0.6 * h) if shape == 'octagon' else (w, h)
        xs = [w - cut_x, w, w, w - cut_x, cut_x - w, -w, -w, cut_x - w]
        ys = [-h, cut_y - h, h - cut_y, h, h, h - cut_y, cut_y - h, -h]
        corners = ' '.join(f'{x + dx:.1f},{y + dy:.1f}' for dx, dy in zip(xs, ys, strict=True))
        return f'<polygon points="{corners}" {paint}/>'
    corner = 6 if 'rounded' in str(attribute.get('style', '')) or shape == 'Mrecord' else 0
    return f'<rect x="{x - w:.1f}" y="{y - h:.1f}" width="{2 * w:.1f}" height="{2 * h:.1f}" rx="{corner}" {paint}/>'


def _paint(attribute: Mapping[str, Any]) -> str:
    color = str(attribute.get('color', 'black'))
    fill = 'none'
    if 'filled' in str(attribute.get('style', '')):
        fill = str(attribute.get('fillcolor', attribute.get('color', 'lightgrey')))
    return f'fill="{escape(fill)}" stroke="{escape(color)}"'
