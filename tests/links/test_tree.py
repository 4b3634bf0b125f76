"""Links as text, as HTML, and as a table of what they cost."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer.link._summary import summarize


class MLP(chainer.Chain):
    def __init__(self, width: int = 5, first: int | None = None) -> None:
        super().__init__()
        with self.init_scope():
            self.out = L.Linear(width, 2)
            self.body = chainer.Sequential(L.Linear(first, width), F.relu, L.Linear(width, width))
            self.spare = L.Linear(width, 7)
            self.scale = chainer.Parameter(1.0, (2,))

    def forward(self, x: Any) -> Any:
        return self.out(self.body(x)) * F.broadcast_to(self.scale, (len(x), 2))


X = np.ones((4, 3), 'f')
TREE = """MLP(
  (body): Sequential(
    (0): Linear(in_size=None, out_size=5, nobias=False),
    (1): RELU,
    (2): Linear(in_size=5, out_size=5, nobias=False),
  ),
  (out): Linear(in_size=5, out_size=2, nobias=False),
  (spare): Linear(in_size=5, out_size=7, nobias=False),
)"""


def without_address(text: str) -> str:
    return re.sub(r'<function relu at 0x[0-9a-f]+>', 'RELU', text)


# --- text ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ('link', 'text'),
    [
        (MLP(), TREE),
        (L.Linear(3, 2), 'Linear(in_size=3, out_size=2, nobias=False)'),
        (chainer.Sequential(), 'Sequential()'),
        (chainer.ChainList(L.Bias(0, (3,))), 'ChainList(\n  (0): Bias(),\n)'),
        (chainer.Chain(), 'Chain()'),
        (chainer.Link(), 'Link()'),
    ],
)
def test_repr_is_a_tree(link: Any, text: str) -> None:
    assert without_address(repr(link)) == text == without_address(str(link))


def test_repr_of_a_link_that_is_being_made() -> None:
    assert repr(object.__new__(MLP)).startswith('<tests.links.test_tree.MLP object at')
    assert repr(object.__new__(L.Linear)).startswith('<minichainer.links')


def test_a_class_may_have_a_text_of_its_own() -> None:
    class Named(chainer.Chain):
        def __str__(self) -> str:
            return f'my {self!r}'

    assert str(Named()) == 'my Named()'
    assert str(chainer.Chain(a=Named())) == 'Chain(\n  (a): my Named(),\n)'


# --- HTML ----------------------------------------------------------------------------------------------------------
class Tags(HTMLParser):
    """Checks that tags are closed, and collects the text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ''
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_html_has_shapes_and_numbers_of_parameters() -> None:
    model = MLP()
    text = Tags(model._repr_html_()).text
    for words in (
        'MLP() 91 parameters, and 1 array of unknown shape', 'W shape not known yet', 'scale (2,) float32',
        'out: Linear(in_size=5, out_size=2, nobias=False) 12 parameters', 'W (2, 5) float32', '1: <function relu',
    ):  # fmt: skip
        assert words in text, (words, text)
    model(X)
    assert 'MLP() 106 parameters' in Tags(model._repr_html_()).text


def test_names_in_html_are_escaped() -> None:
    class Odd(chainer.Link):
        @property
        def printable_specs(self) -> Any:
            yield 'function', '<b>&'

    assert '&lt;b&gt;&amp;' in Odd()._repr_html_()


# --- summary -------------------------------------------------------------------------------------------------------
def rows(text: str) -> list[list[str]]:
    return [re.split(r'\s{2,}', line.strip()) for line in text.strip().split('\n') if line.strip()]


def test_summary_prints_layers_in_the_order_of_calls(capsys: pytest.CaptureFixture[str]) -> None:
    MLP().summary(X)
    table = rows(capsys.readouterr().out)
    assert table[0] == ['layer', 'output', 'parameters', 'memory', 'forward', 'backward']
    assert [row[:3] for row in table[1:-1]] == [
        ['MLP', '(4, 2)', '106'],
        ['body Sequential', '(4, 5)', '50'],
        ['0 Linear', '(4, 5)', '20'],
        ['1 Linear', '(4, 5)', '30'],
        ['out Linear', '(4, 2)', '12'],
        ['spare Linear', '-', '42'],
    ]
    assert table[-2][-1] == 'not called'
    assert all(re.fullmatch(r'[\d.]+ ms', cell) for row in table[1:-2] for cell in row[4:])
    assert table[-1][0].startswith('106 parameters (424 B), as much again for gradients')


def test_summary_changes_nothing() -> None:
    class Noisy(chainer.Chain):
        def __init__(self) -> None:
            super().__init__()
            with self.init_scope():
                self.lazy = L.Linear(None, 3)
                self.norm = L.BatchNormalization(3)
                self.rnn = L.LSTM(3, 2)

        def forward(self, x: Any) -> Any:
            return F.dropout(self.rnn(self.norm(self.lazy(x))))

    model = Noisy()
    np.random.seed(3)
    expected = np.random.rand()
    np.random.seed(3)
    with chainer.no_backprop_mode():
        summary = summarize(model, (X,), {})
    assert np.random.rand() == expected
    assert not model.lazy.W.is_initialized and model.rnn.h is None and model.norm.N == 0
    assert not model.norm.avg_mean.any()
    assert summary.costs[id(summary.model)].backward > 0


def test_memory_is_what_functions_keep_once() -> None:
    """Of each Linear its input, if that is not the data; of relu its result, which the next Linear uses too."""
    summary = summarize(MLP(width=50), (X,), {})
    memory = {type(link).__name__ + path: summary.costs.get(id(link)) for path, link in summary.model.namedlinks()}
    kept = {name: cost.memory for name, cost in memory.items() if cost is not None}
    assert kept['Linear/body/0'] == 0 and kept['Linear/body/1'] == 0
    assert kept['Sequential/body'] == 4 * 50 * 4
    assert kept['Linear/out'] == 4 * 50 * 4
    assert kept['MLP/'] >= kept['Sequential/body'] + kept['Linear/out']


def test_times_of_a_link_include_those_of_its_children() -> None:
    summary = summarize(MLP(), (X,), {})
    costs = {path: summary.costs.get(id(link)) for path, link in summary.model.namedlinks()}
    for kind in ('forward', 'backward'):
        inner = sum(getattr(costs[path], kind) for path in ('/body/0', '/body/1', '/out'))
        assert 0 < inner <= getattr(costs['/'], kind)


@pytest.mark.parametrize(
    ('forward', 'output'),
    [
        (lambda x: (x, x[0]), '(4, 3), (3,)'),
        (lambda x: {'a': x, 'b': [x, None]}, 'a: (4, 3), b: (4, 3), NoneType'),
        (lambda x: x.array, '(4, 3)'),
        (lambda x: 3, 'int'),
    ],
)
def test_outputs_of_all_kinds(forward: Any, output: str) -> None:
    class Model(chainer.Chain):
        def __init__(self) -> None:
            super().__init__()
            with self.init_scope():
                self.l = L.Linear(3, 3)

        def forward(self, x: Any) -> Any:
            return forward(self.l(x))

    summary = summarize(Model(), (X,), {})
    assert summary.costs[id(summary.model)].output == output
    assert str(summary)


def test_summary_takes_what_a_call_takes() -> None:
    summary = summarize(L.Classifier(L.Linear(3, 2), label_key='t'), (X,), {'t': np.zeros(4, 'i')})
    assert summary.costs[id(summary.model)].output == '()'
