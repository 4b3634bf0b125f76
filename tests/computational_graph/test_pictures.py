"""Pictures of graphs: our own layout, and Graphviz if there is one."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer.computational_graph import ComputationalGraph, build_computational_graph
from minichainer.computational_graph.layout import layered
from minichainer.computational_graph.svg import to_svg

SVG = '{http://www.w3.org/2000/svg}'


def _recurrent(steps: int = 5) -> ComputationalGraph:
    h = chainer.Variable(np.zeros((2, 4), 'f'), name='h')
    weight = chainer.Parameter(np.zeros((4, 4), 'f'), name='W')
    for t in range(steps):
        x = chainer.Variable(np.ones((2, 4), 'f'), name=f'x{t}')
        h = F.tanh(F.linear(h, weight) + x)
    a, b = F.split_axis(h, 2, 1)
    return build_computational_graph(F.sum(a * b))


def _random_graph(count: int, seed: int) -> list[tuple[int, int]]:
    random = np.random.RandomState(seed)
    pairs = [(i, j) for i, j in itertools.combinations(range(count), 2) if random.rand() < 3 / count]
    order = random.permutation(count)
    return [(int(order[i]), int(order[j])) for i, j in pairs]


LAYOUTS = {
    'empty': (0, []),
    'one node': (1, []),
    'no edges': (4, []),
    'a chain': (5, [(i, i + 1) for i in range(4)]),
    'a diamond': (4, [(0, 1), (0, 2), (1, 3), (2, 3)]),
    'a long edge': (5, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)]),
    'a very long edge': (60, [*((i, i + 1) for i in range(59)), (0, 59)]),
    'two parts': (4, [(0, 1), (2, 3)]),
    **{f'random {seed}': (40, _random_graph(40, seed)) for seed in range(5)},
}


@pytest.mark.parametrize('name', LAYOUTS)
def test_nodes_do_not_overlap_and_edges_go_down(name: str) -> None:
    count, edges = LAYOUTS[name]
    sizes = [(20.0 + 15 * (i % 4), 20.0 + 5 * (i % 2)) for i in range(count)]
    layout = layered(sizes, edges)
    boxes = [
        (x - w / 2, y - h / 2, x + w / 2, y + h / 2) for (x, y), (w, h) in zip(layout.centres, sizes, strict=True)
    ]
    for (l0, t0, r0, b0), (l1, t1, r1, b1) in itertools.combinations(boxes, 2):
        assert r0 <= l1 or r1 <= l0 or b0 <= t1 or b1 <= t0
    for left, top, right, bottom in boxes:
        assert left >= -1e-6 and right <= layout.width + 1e-6
        assert top >= -1e-6 and bottom <= layout.height + 1e-6
    for (tail, head), route in zip(edges, layout.routes, strict=True):
        assert route[0] == pytest.approx((layout.centres[tail][0], boxes[tail][3]))
        assert route[-1] == pytest.approx((layout.centres[head][0], boxes[head][1]))
        assert all(y0 <= y1 for (_, y0), (_, y1) in itertools.pairwise(route))


def test_edges_do_not_run_through_nodes() -> None:
    """Where an edge crosses a layer, it does so upright, and beside the nodes."""
    layout = layered([(30.0, 20.0)] * 5, LAYOUTS['a long edge'][1])
    for x, y in layout.routes[-1][1:-1]:
        assert not any(abs(x - cx) < 15 and abs(y - cy) <= 10 for cx, cy in layout.centres)


def test_a_node_is_near_the_first_that_uses_it() -> None:
    layout = layered([(20.0, 20.0)] * 5, [(0, 1), (1, 2), (2, 3), (4, 3)])
    assert layout.centres[4][1] == layout.centres[2][1]


def test_symmetric_graphs_are_drawn_symmetrically() -> None:
    (top, _), (left, _), (right, _), (bottom, _) = layered([(20.0, 20.0)] * 4, LAYOUTS['a diamond'][1]).centres
    assert top == pytest.approx(bottom) and top - left == pytest.approx(right - top)


def test_cycles_by_hand_are_drawn() -> None:
    assert len(layered([(20.0, 20.0)] * 3, [(0, 1), (1, 2), (2, 0)]).routes) == 3


@pytest.fixture
def no_graphviz(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('shutil.which', lambda *_, **__: None)


@pytest.mark.usefixtures('no_graphviz')
@pytest.mark.parametrize('rankdir', ['TB', 'BT', 'LR', 'RL'])
def test_our_own_picture_has_every_label_and_edge_inside(rankdir: str) -> None:
    graph = _recurrent()
    graph.rankdir = rankdir
    root = ET.fromstring(graph._repr_svg_())
    width, height = float(root.attrib['width']), float(root.attrib['height'])
    texts = list(root.iter(f'{SVG}text'))
    labels = [text.text for text in texts]
    assert sorted(filter(None, labels)) == sorted(
        f'{node.name}: {node.label}' if getattr(node, 'name', None) else node.label for node in graph.nodes
    )
    places = [(float(text.attrib['x']), float(text.attrib['y'])) for text in texts]
    assert all(0 < x < width and 0 < y < height for x, y in places)
    assert len(list(root.iter(f'{SVG}polygon'))) + len(list(root.iter(f'{SVG}rect'))) - 1 == len(graph.nodes)
    assert sum('marker-end' in path.attrib for path in root.iter(f'{SVG}path')) == len(graph.edges)
    along = 1 if rankdir in ('TB', 'BT') else 0
    first, last = places[labels.index('h: (2, 4), float32')], places[labels.index('Sum')]
    assert (first[along] < last[along]) == (rankdir in ('TB', 'LR'))


SHAPES = {
    'octagon': 'polygon',
    'diamond': 'polygon',
    'oval': 'ellipse',
    'circle': 'ellipse',
    'box': 'rect',
    'record': 'rect',
    'star': 'rect',
}


@pytest.mark.parametrize('shape', SHAPES)
def test_shapes_and_colours(shape: str) -> None:
    attribute = {'label': '<a & b>', 'shape': shape, 'style': 'filled', 'fillcolor': '#E0E0E0', 'color': 'red'}
    root = ET.fromstring(to_svg([attribute], []))
    group = root.find(f'{SVG}g')
    assert group is not None
    outline, text = group
    assert outline.tag == f'{SVG}{SHAPES[shape]}'
    assert (outline.attrib['fill'], outline.attrib['stroke']) == ('#E0E0E0', 'red')
    assert text.text == '<a & b>'


def test_without_a_style_nodes_are_not_filled() -> None:
    assert 'fill="none" stroke="black"/><text' in to_svg([{'label': 'a', 'shape': 'box'}], [])
    filled = {'label': 'a', 'shape': 'box', 'style': 'filled,rounded'}
    assert 'rx="6" fill="lightgrey"' in to_svg([filled], [])


# --- files ---------------------------------------------------------------------------------------------------------
@pytest.mark.usefixtures('no_graphviz')
def test_a_picture_without_graphviz(tmp_path: Path) -> None:
    graph = _recurrent()
    assert graph.render(tmp_path / 'graph.svg') == str(tmp_path / 'graph.svg')
    assert (tmp_path / 'graph.svg').read_text(encoding='utf-8') == graph.dump('svg')
    with pytest.warns(UserWarning, match=r'Graphviz is not installed .* an SVG is written: .*picture\.svg') as caught:
        assert graph.render(str(tmp_path / 'picture.png')) == str(tmp_path / 'picture.svg')
    assert caught[0].filename == __file__
    assert sorted(path.name for path in tmp_path.iterdir()) == ['graph.svg', 'picture.svg']


@pytest.mark.parametrize('name', ['graph.dot', 'graph.gv'])
def test_the_text_needs_no_graphviz(tmp_path: Path, name: str, no_graphviz: None) -> None:
    graph = _recurrent()
    path = graph.render(tmp_path / name)
    assert Path(path).read_text(encoding='utf-8') == graph.dump()


def test_a_path_without_a_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r'expected a path such as graph\.svg, got .*does not name a format'):
        _recurrent().render(tmp_path / 'graph')
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def fake_dot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Puts a program in the place of Graphviz."""

    def install(script: str) -> None:
        program = tmp_path / 'dot'
        program.write_text(f'#!/bin/sh\n{script}\n', encoding='utf-8')
        program.chmod(0o755)
        monkeypatch.setattr('shutil.which', lambda name, **__: str(program))

    return install


def test_graphviz_draws_if_it_is_there(tmp_path: Path, fake_dot: Callable[[str], None]) -> None:
    fake_dot('echo "$1"; cat')
    graph = _recurrent()
    with open(graph.render(tmp_path / 'graph.PNG'), encoding='utf-8') as f:
        assert f.read() == f'-Tpng\n{graph.dump()}'
    assert graph._repr_svg_() == f'-Tsvg\n{graph.dump()}'


def test_graphviz_fails(tmp_path: Path, fake_dot: Callable[[str], None]) -> None:
    fake_dot('echo "Format not known" >&2; exit 1')
    graph = _recurrent()
    with pytest.raises(RuntimeError, match=r'dot -Txyz failed: Format not known'):
        graph.render(tmp_path / 'graph.xyz')
    assert not (tmp_path / 'graph.xyz').exists()
    assert graph._repr_svg_() == graph.dump('svg')


def test_notebooks_do_not_wait_for_graphviz(
    tmp_path: Path, fake_dot: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_dot('exec sleep 20')
    monkeypatch.setattr('minichainer.computational_graph.graphviz.PATIENCE', 0.1)
    graph = _recurrent()
    assert graph._repr_svg_() == graph.dump('svg')


def test_large_graphs_are_not_given_to_graphviz_in_notebooks(fake_dot: Callable[[str], None]) -> None:
    fake_dot('echo graphviz')
    y: Any = chainer.Variable(np.ones(1, 'f'))
    for _ in range(1000):
        y = y * 1
    assert build_computational_graph(y)._repr_svg_().startswith('<svg')
