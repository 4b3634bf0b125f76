"""Pictures and pages of reports."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import minichainer.functions as F
from minichainer.gradient_check import check_gradients
from minichainer.verification.reporting.explanation import Comparison
from minichainer.verification.reporting.picture import Folded, Grid
from tests.verification.planting import square, uniform

pytest.importorskip('matplotlib')


def one_element(x, gy):
    gx = 2 * x * gy
    gx.ravel()[gx.size // 3 + 1] *= 1.1
    return gx


def row_of_nan(x, gy):
    gx = 2 * x * gy
    gx[0] = np.nan
    return gx


def noisy(x, gy):
    return (2 * x + np.random.RandomState(0).normal(size=x.shape)) * gy


def is_absolute(x):
    return 2 * abs(x)


# The check, the titles of the panels, how many elements the comparison knows
CASES = {
    'matrix': (lambda: check_gradients(square(one_element), uniform(3, 4)), 'numeric backward error', 12),
    'vector': (lambda: check_gradients(square(lambda x, gy: x * gy), uniform(7)), 'numeric backward error', 7),
    'number': (lambda: check_gradients(square(lambda x, gy: x * gy), np.array(2.0)), 'numeric backward error', 1),
    '4-d': (lambda: check_gradients(square(one_element), uniform(2, 3, 8, 9)), 'numeric backward error', 1),
    'large': (lambda: check_gradients(square(one_element), uniform(300, 500)), 'numeric backward error', 1),
    'repaired': (
        lambda: check_gradients(square(lambda x, gy: 2 * abs(x) * gy), uniform(40, 50)),
        'numeric backward error',
        2000,
    ),
    'sample': (lambda: check_gradients(square(noisy), uniform(40, 50)), 'numeric backward 64', 64),
    'NaN': (lambda: check_gradients(square(row_of_nan), uniform(3, 4)), 'numeric backward error', 4),
    'kink': (lambda: check_gradients(F.absolute, np.array([1.0, 0.0])), 'numeric backward slopes', 1),
    'second order': (
        lambda: check_gradients(square(lambda x, gy: 2 * x * gy), uniform(3, 4), order=2),
        'numeric backward error',
        [12, 12],
    ),
    'not linear': (lambda: check_gradients(square(lambda x, gy: 2 * x * abs(gy)), uniform(3, 4)), 'element', None),
    'not finite': (lambda: check_gradients(F.log, np.array([0.0, 1.0])), '', None),
    'pass': (lambda: check_gradients(F.tanh, uniform(3, 4)), None, None),
}


class Made(dict):
    """What is made of a name when it is first asked for."""

    def __init__(self, make):
        self.make = make

    def __missing__(self, name):
        self[name] = self.make(name)
        return self[name]


@pytest.fixture(scope='module')
def reports():
    return Made(lambda name: CASES[name][0]())


@pytest.fixture(scope='module')
def pages(reports):
    return Made(lambda name: reports[name]._repr_html_())


@pytest.mark.parametrize('name', CASES)
def test_panels(reports, name, tmp_path):
    report, (_, titles, known) = reports[name], CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        figure = report.plot(tmp_path / 'picture.png')
    shown = [axes.get_title().partition(' ')[0] for axes in figure.axes]
    assert shown[: len(titles.split())] == titles.split() if titles else not any(shown)
    assert (tmp_path / 'picture.png').read_bytes().startswith(b'\x89PNG')
    assert [len(c.elements) for c in report.comparisons] == (
        [] if known is None else known if isinstance(known, list) else [known]
    )
    assert report.explanation.headline in figure.get_suptitle().replace('\n', ' ')


def test_pyplot_is_not_needed():
    code = (
        'import sys, numpy as np, minichainer.functions as F\n'
        'from minichainer.gradient_check import check_gradients\n'
        'report = check_gradients(F.absolute, np.zeros(1))\n'
        'assert "matplotlib" not in sys.modules\n'
        'report.plot(); report._repr_html_()\n'
        'assert "matplotlib.figure" in sys.modules and "matplotlib.pyplot" not in sys.modules'
    )
    done = subprocess.run([sys.executable, '-W', 'error', '-c', code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_one_wrong_element_of_many_stays_visible(reports):
    (comparison,) = reports['large'].comparisons
    grid = Grid(comparison)
    assert grid.steps == [4, 6] and grid.share == ', the worst of 4 x 6'
    row, column = 50001 // 500 // 4, 50001 % 500 // 6
    assert np.argwhere(grid.ratio > 1).tolist() == [[row, column]]
    assert grid.backward[row, column] == pytest.approx(1.1 * grid.numeric[row, column], rel=1e-6)
    assert not np.isnan(grid.ratio).any(), 'all others are known to be right'


def test_elements_that_are_not_known(reports):
    (sample,), (nan,) = reports['sample'].comparisons, reports['NaN'].comparisons
    assert np.isnan(sample.ratio).sum() == 2000 - 64 and sample.is_sparse
    assert np.isinf(nan.ratio[0]).all() and np.isnan(nan.ratio[1:]).all()


def test_a_repair_shows_all_elements(reports):
    (comparison,) = reports['repaired'].comparisons
    wrong = uniform(40, 50) < 0
    assert ((comparison.ratio > 1) == wrong).all()
    np.testing.assert_allclose(comparison.numeric[wrong], -comparison.backward[wrong], rtol=1e-6)


SHAPES = {
    (): (1, 1),
    (5,): (1, 5),
    (3, 4): (3, 4),
    (2, 3, 4): (6, 4),
    (2, 3, 8, 9): (6, 72),
    (100, 1, 1): (100, 1),
    (0, 3): (0, 3),
}


@pytest.mark.parametrize('shape', SHAPES)
def test_folding(shape):
    folded = Folded(shape)
    assert (folded.rows, folded.columns) == SHAPES[shape] or shape == (2, 3, 8, 9)
    assert folded.rows * folded.columns == np.prod(shape, dtype=int)


def test_names_of_folded_axes_and_elements():
    folded = Folded((2, 3, 4))
    assert folded.label(range(2)) == 'axes 0, 1 (2 x 3)' and folded.label(range(2, 3)) == 'axis 2'
    assert folded.tick(range(2), 4.0, 1) == '1,1' and folded.tick(range(2, 3), 1.0, 2) == '2'
    assert folded.tick(range(2), 0.5, 1) == folded.tick(range(2), 6.0, 1) == ''


def test_an_empty_array_makes_an_empty_grid():
    nothing = np.zeros(0)
    comparison = Comparison(1, 0, 0, np.zeros((0, 3)), nothing.astype(int), nothing, nothing, nothing, nothing, True)
    assert comparison.ratio.shape == comparison.numeric.shape == (0, 3)


@pytest.mark.parametrize('name', CASES)
def test_html(reports, pages, name):
    text = pages[name]
    # The picture and the rest must be well formed, and need nothing from elsewhere.
    root = ET.fromstring(re.sub(r'<style>.*?</style>', '', text, flags=re.DOTALL))
    words = ''.join(root.itertext())
    assert reports[name].explanation.headline in words and reports[name].explanation.replay in words
    assert all(failure.cause in words for failure in reports[name].failures)
    links = re.findall(r'(?:href|src)="([^"]*)"', text)
    assert all(link.startswith(('#', 'data:image/png')) for link in links)
    assert ('<svg' in text) == (name not in ('pass', 'not finite'))


def test_html_is_the_same_each_time(reports, pages):
    assert reports['vector']._repr_html_() == pages['vector']


def test_names_inside_of_pictures_differ(pages):
    used = r'(?:url\(|href=")#(\w+)'
    first, second = (set(re.findall(used, pages[n])) for n in ('matrix', 'vector'))
    assert first and second and not first & second


def test_texts_are_escaped():
    def f(x):
        return square(lambda x, gy: x * gy)(x)

    f.__name__ = '<b>&</b>'
    text = check_gradients(f, uniform(2))._repr_html_()
    assert '<b>&</b>' not in text and '&lt;b&gt;&amp;&lt;/b&gt;' in text


def test_without_matplotlib(reports, monkeypatch):
    monkeypatch.setitem(sys.modules, 'matplotlib', None)
    monkeypatch.setitem(sys.modules, 'matplotlib.figure', None)
    text = reports['matrix']._repr_html_()
    assert '<svg' not in text and '<td>(1, 1)</td>' in text
    with pytest.raises(ImportError, match=r'needs matplotlib: pip install matplotlib'):
        reports['matrix'].plot()


def test_at_most_so_many_rows():
    wrong = square(lambda x, gy: x * gy)
    report = check_gradients(lambda *xs: [wrong(x) for x in xs], tuple(uniform(2, seed=s) for s in range(5)))
    figure = report.plot(rows=2)
    assert [axes.get_title() for axes in figure.axes].count('numeric') == 2
    assert '3 more pairs of output and input are affected.' in figure.get_suptitle()


def test_the_dict_has_no_arrays(reports):
    assert not {'comparisons', 'explanation'} & set(reports['matrix'].to_dict())


ROOT = Path(__file__).resolve().parents[2]


def test_the_picture_in_the_docs_is_up_to_date(tmp_path):
    """Its words and numbers: the lines differ between versions of matplotlib."""
    sys.path.insert(0, str(ROOT / 'docs'))
    try:
        from make_picture import PICTURE, draw
    finally:
        sys.path.remove(str(ROOT / 'docs'))
    draw(tmp_path / 'new.svg')
    texts = [
        sorted(t for e in ET.parse(path).iter() if e.tag.endswith('}text') for t in e.itertext() if t.strip())
        for path in (PICTURE, tmp_path / 'new.svg')
    ]
    assert texts[0] == texts[1] and 'error / tolerance' in texts[0]
