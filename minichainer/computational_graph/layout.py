"""Where the nodes of a directed graph go in a picture, layer by layer.

The steps are those of Sugiyama, Tagawa and Toda, "Methods for visual understanding of hierarchical system structures"
(IEEE Transactions on Systems, Man, and Cybernetics, 1981): layers, so that edges point downwards; points in between
where an edge crosses a layer; an order in each layer by the means of the neighbours, against crossings; places
near the neighbours. The last step solves a least-squares problem in each layer, by pooling adjacent violators (Barlow
and Brunk, "The isotonic regression problem and its dual", 1972). All steps take linear time, except for sorting.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

#: Space between neighbours of a layer, and between layers.
GAP_ACROSS = 18.0
GAP_ALONG = 34.0
#: Edges over more layers are drawn without points in between: those of the parameters of long recurrent nets.
_MAX_SPAN = 40
_ORDERING_SWEEPS = 6
_PLACING_SWEEPS = 8


@dataclasses.dataclass
class Layout:
    """Places in a picture whose layers are stacked downwards.

    Attributes:
        centres: the centre (x, y) of each node.
        routes: for each edge the points that it passes, from the lower side of a node to the upper side of another.
        width, height: the size of the picture.
    """

    centres: list[tuple[float, float]]
    routes: list[list[tuple[float, float]]]
    width: float
    height: float


def layered(sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]]) -> Layout:
    """Places the nodes of a graph.

    Args:
        sizes: width and height of each node.
        edges: pairs of numbers of nodes; those of a cycle are allowed.
    """
    points = _Points(sizes, edges)
    rows = _ordered(points)
    x = _placed(points, rows)
    heights = [max((points.heights[i] for i in row), default=0.0) for row in rows]
    y, height = _levels(heights)
    left = min((x[i] - points.widths[i] / 2 for i in range(len(x))), default=0.0)
    right = max((x[i] + points.widths[i] / 2 for i in range(len(x))), default=0.0)
    places = [(x[i] - left, y[points.layer[i]]) for i in range(len(x))]
    extents = [height for _, height in sizes] + [heights[layer] for layer in points.layer[len(sizes) :]]
    routes = [_route(chain, places, extents) for chain in points.chains]
    return Layout(places[: len(sizes)], routes, right - left, height)


class _Points:
    """The nodes of a graph, followed by the points where edges cross layers."""

    def __init__(self, sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]]) -> None:
        self.widths = [width for width, _ in sizes]
        self.heights = [height for _, height in sizes]
        self.layer = _layers(len(sizes), edges)
        self.chains = [self._chain(tail, head) for tail, head in edges]
        self.above: list[list[int]] = [[] for _ in self.widths]
        self.below: list[list[int]] = [[] for _ in self.widths]
        for chain in self.chains:
            for upper, lower in itertools.pairwise(chain):
                if self.layer[upper] < self.layer[lower]:
                    self.above[lower].append(upper)
                    self.below[upper].append(lower)

    def _chain(self, tail: int, head: int) -> list[int]:
        """The points of an edge; makes those between its ends."""
        first, last = self.layer[tail] + 1, self.layer[head]
        if last - first > _MAX_SPAN:
            return [tail, head]
        start = len(self.widths)
        self.layer.extend(range(first, last))
        between = range(start, len(self.layer))
        self.widths.extend(0.0 for _ in between)
        self.heights.extend(0.0 for _ in between)
        return [tail, *between, head]


def _layers(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """A layer for each node: below those before it, and directly above the first of those after it."""
    after: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for tail, head in edges:
        after[tail].append(head)
        waiting[head] += 1
    ready = [node for node in range(count) if not waiting[node]]
    layer, order = [0] * count, []
    while ready:
        node = ready.pop()
        order.append(node)
        for head in after[node]:
            layer[head] = max(layer[head], layer[node] + 1)
            waiting[head] -= 1
            if not waiting[head]:
                ready.append(head)
    for node in reversed(order):  # the nodes of a cycle are not among them
        layer[node] = max(layer[node], min((layer[head] for head in after[node]), default=0) - 1)
    return layer


# --- order ---------------------------------------------------------------------------------------------------------
def _ordered(points: _Points) -> list[list[int]]:
    """The points of each layer from left to right."""
    rows: list[list[int]] = [[] for _ in range(max(points.layer, default=-1) + 1)]
    for point in _by_depth(points):
        rows[points.layer[point]].append(point)
    rank = [0.0] * len(points.layer)
    for sweep in range(_ORDERING_SWEEPS):
        neighbours = points.below if sweep % 2 else points.above
        for row in reversed(rows) if sweep % 2 else rows:
            row.sort(key=lambda i: _mean(neighbours[i], rank))
            for place, i in enumerate(row):
                rank[i] = place - (len(row) - 1) / 2
    return rows


def _mean(neighbours: list[int], rank: list[float]) -> float:
    return sum(rank[i] for i in neighbours) / len(neighbours) if neighbours else 0.0


def _by_depth(points: _Points) -> list[int]:
    """All points in depth-first order from the last layers on, so that branches stay together."""
    seen: dict[int, None] = {}
    for root in sorted(range(len(points.layer)), key=lambda i: -points.layer[i]):
        stack = [root]
        while stack:
            point = stack.pop()
            if point not in seen:
                seen[point] = None
                stack.extend(reversed(points.above[point]))
    return list(seen)


# --- places --------------------------------------------------------------------------------------------------------
def _placed(points: _Points, rows: list[list[int]]) -> list[float]:
    """The x of the centre of each point."""
    x = [0.0] * len(points.layer)
    for row in rows:
        for i, place in zip(row, _spread([0.0] * len(row), _gaps(points, row), [1.0] * len(row)), strict=True):
            x[i] = place
    for sweep in range(_PLACING_SWEEPS):
        last = sweep >= _PLACING_SWEEPS - 2
        for row in reversed(rows) if sweep % 2 else rows:
            near = [points.above[i] + points.below[i] if last else _side(points, sweep)[i] for i in row]
            wanted = [sum(x[j] for j in js) / len(js) if js else x[i] for i, js in zip(row, near, strict=True)]
            weights = [1.0 + 3.0 * (not points.widths[i]) for i in row]  # long edges become straight
            for i, place in zip(row, _spread(wanted, _gaps(points, row), weights), strict=True):
                x[i] = place
    return x


def _side(points: _Points, sweep: int) -> list[list[int]]:
    return points.below if sweep % 2 else points.above


def _gaps(points: _Points, row: list[int]) -> list[float]:
    """The smallest distances between the centres of neighbours."""
    pairs = itertools.pairwise(row)
    return [(points.widths[i] + points.widths[j]) / 2 + GAP_ACROSS for i, j in pairs]


def _spread(wanted: list[float], gaps: list[float], weights: list[float]) -> list[float]:
    """The places next to the wanted ones, by weighted squares, that keep the order and the gaps."""
    offsets = [0.0]
    for gap in gaps:
        offsets.append(offsets[-1] + gap)
    blocks: list[list[float]] = []  # mean, weight, number of places
    for place, offset, weight in zip(wanted, offsets, weights, strict=False):
        blocks.append([place - offset, weight, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            mean, weight, count = blocks.pop()
            before = blocks[-1]
            before[0] = (before[0] * before[1] + mean * weight) / (before[1] + weight)
            before[1] += weight
            before[2] += count
    means = [mean for mean, _, count in blocks for _ in range(int(count))]
    return [mean + offset for mean, offset in zip(means, offsets, strict=False)]


def _levels(heights: list[float]) -> tuple[list[float], float]:
    """The y of the middle of each layer, and the height of all."""
    levels, top = [], 0.0
    for height in heights:
        levels.append(top + height / 2)
        top += height + GAP_ALONG
    return levels, max(top - GAP_ALONG, 0.0)


def _route(chain: list[int], places: list[tuple[float, float]], extents: list[float]) -> list[tuple[float, float]]:
    """The points of an edge: it crosses layers upright, so as not to touch the nodes there."""
    down = 1 if places[chain[-1]][1] >= places[chain[0]][1] else -1
    upper, lower = ([(places[i][0], places[i][1] + side * extents[i] / 2) for i in chain] for side in (-down, down))
    return [point for pair in zip(lower, upper[1:], strict=False) for point in pair]
