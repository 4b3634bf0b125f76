"""What was dropped: each row of the table works in a run, and is reported with file, line and what to write."""

# Programs of one line each are long lines.
# ruff: noqa: E501

from __future__ import annotations

import builtins
import importlib
import sys
import unittest
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minichainer.compat.program import Restored, advice_on
from minichainer.compat.removed import Removed, by_name, rows
from minichainer.compat.rewriting import HELPER, compiled, resolved, stand_in
from minichainer.compat.usage import Usage, is_own

KINDS = ('name', 'method', 'module', 'builtin', 'call', 'operation')


def ran(folder: Path, text: str, unsafe_pickles: bool = False) -> tuple[Any, list[str]]:
    """``result`` of a program, and the lines of the report."""
    file = folder / 'program.py'
    file.write_text(text, encoding='utf-8')
    names: dict[str, Any] = {'__name__': 'program', '__file__': str(file)}
    with warnings.catch_warnings(), Restored(unsafe_pickles=unsafe_pickles) as restored:
        warnings.simplefilter('ignore')  # SciPy's modules that will go warn
        exec(compiled(text, str(file)), names)
        return names['result'], [line.replace(str(folder) + '/', '') for line in restored.usage.lines()]


def is_missing(row: Removed) -> bool:
    """Whether today's packages do not have a name."""
    if row.kind == 'builtin':
        return not hasattr(builtins, row.name)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            (importlib.import_module if row.kind == 'module' else resolved)(row.name)
    except (AttributeError, ImportError):
        return True
    return False


def needs(package: str) -> None:
    if package in ('PIL', 'matplotlib', 'yaml'):
        pytest.importorskip(package, reason=f'stands in for names of {package}')


# --- the table -----------------------------------------------------------------------------------------------------
def test_rows_are_complete() -> None:
    assert len(by_name()) == len(rows()) > 400
    for row in rows():
        assert row.kind in KINDS and row.instead and row.since, row
        assert row.certain <= bool(row.restore), row


@pytest.mark.parametrize(
    'row', [r for r in rows() if r.restore and not r.restore.startswith('x.')], ids=lambda r: r.name
)
def test_what_restores_a_name_exists(row: Removed) -> None:
    needs(row.name.partition('.')[0])
    if row.name.startswith(('scipy.datasets', 'Tkinter')) or row.instead == 'tkinter':
        pytest.importorskip('tkinter', reason='not part of every Python')
    if row.name in ('numpy.trapz', 'numpy.byte_bounds') and not is_missing(row):
        pytest.skip('NumPy 1 has it itself')
    found = stand_in(row)
    assert found is not None or row.restore in ('nothing', 'numpy.newaxis')


CERTAIN = [row for row in rows() if row.certain and row.kind == 'name']


@pytest.mark.parametrize('row', CERTAIN, ids=lambda row: row.name)
def test_a_name_gives_what_replaces_it(row: Removed, tmp_path: Path) -> None:
    module = by_name().get(row.owner)
    if module is not None and is_missing(module):
        pytest.skip('its module was dropped too: that is what is reported')
    needs(row.name.partition('.')[0])
    if not is_missing(row):
        pytest.skip('still there in the installed version')
    package = row.instead.lstrip('-').partition('.')[0]
    imported = f'import {package}\n' if package in sys.modules and not package.isdigit() else ''
    result, report = ran(
        tmp_path,
        f'import importlib\n{imported}owner = importlib.import_module({row.owner!r})\nresult = owner.{row.last}\n',
    )
    expected = eval(row.instead, vars(builtins) | {package: sys.modules.get(package)}) if imported else stand_in(row)
    assert result is expected or result == expected
    line = 4 if imported else 3
    assert report == [f'program.py:{line}: {row.name}, which {row.since} dropped: write {row.instead}']


def test_names_are_found_by_every_kind_of_import(tmp_path: Path) -> None:
    text = (
        'import collections\nfrom collections import Mapping, OrderedDict\nimport numpy as N\nfrom itertools import izip\n'
        'result = [isinstance({}, Mapping), getattr(collections, "Sequence").__name__, N.float is float, '
        'list(izip([1], [2]))]\n'
    )
    result, report = ran(tmp_path, text)
    assert result == [True, 'Sequence', True, [(1, 2)]]
    assert [line.partition(':')[2].partition(',')[0] for line in report] == [
        '2: collections.Mapping', '4: itertools.izip', '5: collections.Sequence', '5: numpy.float',
    ]  # fmt: skip


#: Program lines, their ``result``, and the name and advice of the report; None where nothing is to be reported.
A = 'import numpy as np\na = np.array([[1., 2.], [3., 5.]])\n'
LINES: dict[str, tuple[str, Any, str | None]] = {
    'negative numbers in bytes': (A + 'b = a.astype("uint8")\nb[b == 5] = -1\nresult = b.tolist()', [[1, 2], [3, 255]], 'numpy.unsigned as before NumPy 2.0: write 255 for -1'),
    'negative numbers in floats': (A + 'a[0] = -1\nd = {}\nd[0] = -1\nresult = a.tolist(), d', ([[-1, -1], [3, 5]], {0: -1}), None),
    'AxisError': (A + 'try:\n    a.sum(axis=2)\nexcept np.AxisError:\n    result = 1', 1, 'numpy.AxisError, which NumPy 2.0 dropped: write numpy.exceptions.AxisError'),
    'vstack of a generator': (A + 'result = np.vstack(row for row in a).tolist()', [[1, 2], [3, 5]], 'numpy.vstack(...) as before NumPy 1.26: write numpy.vstack(list(arrays))'),
    'stack of a map': (A + 'result = np.stack(map(np.array, a), axis=1).tolist()', [[1, 3], [2, 5]], 'numpy.stack(...)'),
    'hstack of a list': (A + 'result = np.hstack([[1], [2]]).tolist()', [1, 2], None),
    'json with an encoding': ('import json\nresult = json.loads("[1]", encoding="utf-8"), json.dumps([2], encoding="utf-8")', ([1], '[2]'), 'json.loads(...) as before Python 3.9'),
    'json without': ('import json\nresult = json.loads("[1]")', [1], None),
    'open with U': ('with open(__file__, "rU") as f:\n    result = f.mode', 'r', 'open(...) as before Python 3.11'),
    'open with U alone': ('with open(__file__, mode="U") as f:\n    result = f.mode', 'r', 'open(...)'),
    'open': ('with open(__file__) as f:\n    result = f.mode', 'r', None),
    'plots that are held': ('import matplotlib\nmatplotlib.use("Agg")\nimport matplotlib.pyplot as plt\nresult = plt.hold(True), plt.ishold()', (None, True), 'matplotlib.pyplot.hold'),
    'colours by name': ('import matplotlib.cm as cm\nresult = cm.get_cmap("jet").name', 'jet', 'matplotlib.cm.get_cmap'),
    'text that is executed': ('n = {}\nexec("a = list(xrange(2))")\nexec("b = float(x)", {"x": __import__("numpy").array([1.])}, n)\nresult = a, n', ([0, 1], {'b': 1.0}), None),
    'text that is evaluated': ('result = eval("{1: 2}.has_key(1)"), eval("float(2)", {"__builtins__": {"float": str}})', (True, '2'), None),
    'text that is compiled': ('c = compile("xrange(3)", "program.py", "eval")\nresult = len(eval(c)), c.co_filename.endswith("program.py")', (3, True), 'xrange'),
    'tree that is compiled': ('import ast\nresult = eval(compile(ast.parse("3", mode="eval"), "a", "eval"))', 3, None),
    'asscalar': (A + 'result = np.asscalar(np.array([3]))', 3, 'numpy.asscalar, which NumPy 1.23 dropped: write a.item()'),
    'msort': (A + 'result = np.msort(-a).tolist()', [[-3, -5], [-1, -2]], 'numpy.msort'),
    'asfarray': (A + 'result = np.asfarray([1, 2]).dtype.name', 'float64', 'numpy.asfarray'),
    'in1d': (A + 'result = np.in1d([[1, 2]], [2]).tolist()', [False, True], 'numpy.in1d'),
    'NINF': (A + 'result = np.NINF', -np.inf, 'numpy.NINF, which NumPy 2.0 dropped: write -numpy.inf'),
    'NZERO': (A + 'result = str(np.NZERO)', '-0.0', 'numpy.NZERO'),
    'sctypes': (A + 'result = np.float32 in np.sctypes["float"]', True, 'numpy.sctypes'),
    'nbytes': (A + 'result = np.nbytes[np.float32]', 4, 'numpy.nbytes'),
    'cast': (A + 'result = np.cast[np.int32](a).dtype.name', 'int32', 'numpy.cast'),
    'find_common_type': (A + 'result = [np.find_common_type([np.float32], [s]) == r for s, r in ((np.int64, np.float32), (np.complex64, np.complex64))]', [True, True], 'numpy.find'),
    'obj2sctype': (A + 'result = [np.obj2sctype(a).__name__, np.obj2sctype("no")]', ['float64', None], 'numpy.obj2sctype'),
    'sctype2char': (A + 'result = np.sctype2char(np.float32)', 'f', 'numpy.sctype2char'),
    'issctype': (A + 'result = [np.issctype(np.int8), np.issctype(int), np.issctype(object)]', [True, True, False], 'numpy.issctype'),
    'maximum_sctype': (A + 'result = np.maximum_sctype(np.int8).__name__', 'int64', 'numpy.maximum_sctype'),
    'fastCopyAndTranspose': (A + 'result = np.fastCopyAndTranspose(a).tolist()', [[1, 3], [2, 5]], 'numpy.fastCopy'),
    'recfromcsv': (
        A + 'import io\nresult = np.recfromcsv(io.StringIO("A,b\\n1,2\\n3,4")).a.tolist()', [1, 3], 'numpy.recfromcsv'
    ),
    'testing.dec': (A + 'result = np.testing.dec.setastest()(3)', 3, 'numpy.testing.dec'),
    'itemset': (A + 'a.itemset((0, 1), 9)\na.itemset(3, 7)\nresult = a.tolist()', [[1, 9], [3, 7]], 'numpy.ndarray.itemset'),
    'itemset of a scalar': (A + 'b = np.array(1)\nb.itemset(4)\nresult = int(b)', 4, 'numpy.ndarray.itemset'),
    'ptp': (A + 'result = [a.ptp(), a.ptp(axis=0).tolist()]', [4, [2, 3]], 'numpy.ndarray.ptp'),
    'newbyteorder': (A + 'result = int(np.array([1], "<i2").newbyteorder()[0])', 256, 'numpy.ndarray.newbyteorder'),
    'tostring': (A + 'result = len(a.tostring())', 32, 'numpy.ndarray.tostring, which NumPy 2.3 dropped: write x.tobytes()'),
    'bool': (A + 'result = np.bool(1) == True', True, None),
    'ragged': (A + 'r = np.array([[1], [1, 2]])\nresult = [r.dtype.name, r.shape]', ['object', (2,)], 'numpy.array(...)'),
    'ragged arrays': (
        A + 'r = np.asarray([np.zeros((2, 3)), np.zeros((4, 3))])\nresult = r.dtype.name', 'object', 'numpy.asarray(...)'
    ),
    'not ragged': (A + 'result = np.array([[1], [2]], dtype=np.int8).tolist()', [[1], [2]], None),
    'int of an array': (A + 'result = int(np.array([[4]]))', 4, 'int(...) as before NumPy 2.4'),
    'float of an array': (A + 'result = float(np.array([4.5]))', 4.5, 'float(...) as before NumPy 2.4'),
    'math of an array': (A + 'import math\nresult = math.sqrt(np.array([4.]))', 2.0, 'float(...)'),
    'format of an array': (A + 'result = "%d %.1f" % (np.array([3]), np.array([[1.5]]))', '3 1.5', 'float(...)'),
    'format of one array': (A + 'result = "%d" % np.array([3])', '3', 'float(...)'),
    'ordinary numbers': (A + 'result = ["%s|%d" % ("a", 3), int("12"), float(a[0, 0])]', ['a|3', 12, 1.0], None),
    'copy=False': (A + 'result = np.array([1, 2], copy=False).tolist()', [1, 2], 'numpy.array(...)'),
    'fromstring of bytes': (A + 'result = np.fromstring(b"ab", dtype=np.uint8).tolist()', [97, 98], 'numpy.fromstring(...)'),
    'fromstring of text': (A + 'result = np.fromstring("1 2", sep=" ").tolist()', [1, 2], None),
    'yaml.load': ('import yaml\nresult = yaml.load("a: [1]")', {'a': [1]}, 'yaml.load(...) as before PyYAML 6.0'),
    'yaml.load with a loader': ('import yaml\nresult = yaml.load("a: 1", Loader=yaml.SafeLoader)', {'a': 1}, None),
    'shuffle': ('import random\nx = [1, 2, 3]\nrandom.shuffle(x, lambda: 0.0)\nresult = x', [2, 3, 1], 'random.shuffle(...)'),
    'pickle of Python 2': (
        'import pickle, io\nresult = pickle.load(io.BytesIO(b"S\'\\\\xe9\'\\n."))', 'é', 'pickle.load(...) as before Python 3'
    ),
    'pickled string of Python 2': ('import pickle\nresult = pickle.loads(b"S\'\\\\xe9\'\\n.")', 'é', 'pickle.loads(...)'),
    'getargspec': (
        'import inspect\nresult = list(inspect.getargspec(lambda a, b=2, *c: 0))', [['a', 'b'], 'c', None, (2,)],
        'inspect.getargspec' if sys.version_info >= (3, 11) else None,
    ),
    'formatargspec': (
        'import inspect\nresult = inspect.formatargspec(["a", "b"], "c", None, (2,))', '(a, b=2, *c)',
        'inspect.formatargspec' if sys.version_info >= (3, 11) else None,
    ),
    'time.clock': ('import time\nresult = time.clock() >= 0', True, 'time.clock'),
    'cgi.escape': ('import cgi\nresult = cgi.escape("<\\"")', '&lt;"', 'cgi'),
    'linux_distribution': ('import platform\nresult = len(platform.linux_distribution())', 3, 'platform.linux_distribution'),
    'isAlive': ('import threading\nresult = threading.current_thread().isAlive()', True, 'threading.Thread.isAlive'),
    'array.tostring': ('import array\nresult = array.array("B", [1]).tostring()', b'\x01', 'array.array.tostring'),
    'array.fromstring': (
        'import array\na = array.array("B")\na.fromstring(b"ab")\nresult = a.tolist()', [97, 98], 'array.array.fromstring'
    ),
    'getchildren': (
        'import xml.etree.ElementTree as E\nresult = [e.tag for e in E.fromstring("<a><b/></a>").getchildren()]', ['b'],
        'xml.etree.ElementTree.Element.getchildren',
    ),
    'getiterator': (
        'import xml.etree.ElementTree as E\nresult = [e.tag for e in E.fromstring("<a><b/></a>").getiterator("b")]', ['b'],
        'xml.etree.ElementTree.Element.getiterator',
    ),
    'unescape': ('import html.parser\nresult = html.parser.HTMLParser().unescape("&lt;")', '<', 'html.parser.HTMLParser'),
    'iteritems': (
        'result = sorted({"a": 1}.iteritems())', [('a', 1)], 'dict.iteritems, which Python 3 dropped: write x.items()'
    ),
    'has_key': ('result = {"a": 1}.has_key("a")', True, 'dict.has_key'),
    'xrange': ('result = list(xrange(2))', [0, 1], 'xrange, which Python 3 dropped: write range'),
    'unicode': ('result = isinstance("a", (unicode, basestring))', True, 'unicode'),
    'a name of Python 2 that the program defines': (
        'try:\n    xrange\nexcept NameError:\n    xrange = range\nresult = list(xrange(1))', [0], None
    ),
    'cmp': ('result = [cmp(1, 2), cmp(2, 2)]', [-1, 0], 'cmp'),
    'reduce': ('result = reduce(lambda a, b: a + b, [1, 2])', 3, 'reduce'),
    'string.join': ('import string\nresult = string.join(["a", "b"], "-")', 'a-b', 'string.join'),
    'string.maketrans': ('import string\nresult = "ab".translate(string.maketrans("a", "c"))', 'cb', 'string.maketrans'),
    'sys.setdefaultencoding': ('import sys\nresult = sys.setdefaultencoding("utf-8")', None, 'sys.setdefaultencoding'),
    'NoneType': ('import types\nT = types.StringType\nresult = T', str, 'types.StringType'),
    'cPickle': ('import cPickle as pickle\nresult = pickle.loads(pickle.dumps(1))', 1, 'cPickle, which Python 3 dropped'),
    'StringIO': ('from StringIO import StringIO\nresult = StringIO("a").read()', 'a', 'StringIO'),
    'Queue': ('import Queue\nresult = Queue.Queue().empty()', True, 'Queue'),
    'makeSuite': (
        'import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(1, 1)\n'
        'result = unittest.makeSuite(T).countTestCases()', 1, 'unittest.makeSuite' if sys.version_info >= (3, 13) else None,
    ),
    'imread': (
        A + 'import scipy.misc, tempfile, os\nwith tempfile.TemporaryDirectory() as d:\n'
        '    f = os.path.join(d, "a.png")\n    scipy.misc.imsave(f, np.arange(12, dtype=np.uint8).reshape(3, 4))\n'
        '    result = scipy.misc.imread(f).sum()', 66, 'scipy.misc.imsave',
    ),
    'imresize': (
        A + 'from scipy.misc import imresize\nb = np.arange(16, dtype=np.uint8).reshape(4, 4)\n'
        'result = [imresize(b, s).shape for s in ((2, 3), 0.5, 50, (8, 8))]', [(2, 3), (2, 2), (2, 2), (8, 8)],
        'scipy.misc.imresize',
    ),
    'imresize of colours': (
        A + 'import scipy.misc\nresult = scipy.misc.imresize(np.zeros((4, 4, 3)), (2, 2), interp="nearest").shape',
        (2, 2, 3), 'scipy.misc.imresize',
    ),
    'imrotate': (
        A + 'import scipy.misc\nresult = scipy.misc.imrotate(np.arange(4, dtype=np.uint8).reshape(2, 2), 90).tolist()',
        [[1, 3], [0, 2]], 'scipy.misc.imrotate',
    ),
    'toimage': (
        A + 'import scipy.misc\nresult = scipy.misc.fromimage(scipy.misc.toimage(a)).tolist()', [[0, 64], [128, 255]],
        'scipy.misc.fromimage',
    ),
    'bytescale': (A + 'import scipy.misc\nresult = scipy.misc.bytescale(a).tolist()', [[0, 64], [128, 255]], 'scipy.misc.'),
    'derivative': (
        A + 'import scipy.misc\nf = lambda x: x ** 3\nresult = [round(scipy.misc.derivative(f, 2., 1e-3), 4), '
        'round(scipy.misc.derivative(f, 2., 1e-2, n=2, order=5), 4)]', [12.0, 12.0], 'scipy.misc.derivative',
    ),
    'simps': (A + 'import scipy.integrate\nresult = float(scipy.integrate.simps([0., 1., 4.], [0., 1., 2.]))', 8 / 3, 'scipy.in'),
    'spline': (
        A + 'import scipy.interpolate as s\nx = np.arange(5.)\nresult = round(float(s.spline(x, x ** 2, [2.5])[0]), 6)', 6.25,
        'scipy.interpolate.spline',
    ),
    'binom_test': (A + 'import scipy.stats\nresult = scipy.stats.binom_test(1, 2)', 1.0, 'scipy.stats.binom_test'),
    'median_absolute_deviation': (
        A + 'import scipy.stats\nresult = float(scipy.stats.median_absolute_deviation([1., 2., 4.]))', 1.4826, 'scipy.stats.me',
    ),
    'nanstd': (A + 'import scipy.stats\nresult = float(scipy.stats.nanstd([1., 3., np.nan]))', 2**0.5, 'scipy.stats.nanstd'),
    'itemfreq': (A + 'import scipy.stats\nresult = scipy.stats.itemfreq([3, 3]).tolist()', [[3, 2]], 'scipy.stats.itemfreq'),
    'scipy of complex roots': (A + 'import scipy\nresult = scipy.sqrt(-1)', 1j, 'scipy.sqrt'),
    'textsize': (
        'from PIL import Image, ImageDraw\nd = ImageDraw.Draw(Image.new("L", (99, 99)))\n'
        'result = [v > 0 for v in d.textsize("ab")]', [True, True], 'PIL.ImageDraw.ImageDraw.textsize',
    ),
    'multiline_textsize': (
        'from PIL import Image, ImageDraw\nd = ImageDraw.Draw(Image.new("L", (99, 99)))\n'
        'result = d.multiline_textsize("a\\nb")[1] > d.textsize("a")[1]', True, 'PIL.ImageDraw.ImageDraw.multiline_textsize',
    ),
    'getsize': (
        'from PIL import ImageFont\nresult = ImageFont.load_default().getsize("a")[0] > 0', True, 'PIL.ImageFont.'
    ),
    'Image.tostring': (
        'from PIL import Image\nresult = Image.new("L", (1, 2)).tostring()', b'\0\0', 'PIL.Image.Image.tostring'
    ),
}  # fmt: skip


@pytest.mark.parametrize('name', LINES)
def test_a_program_line_works_and_is_reported(name: str, tmp_path: Path) -> None:
    text, expected, reported = LINES[name]
    for package in ('PIL', 'yaml'):
        if package in text or (package == 'PIL' and 'scipy.misc' in text):
            needs(package)
    result, report = ran(tmp_path, text)
    assert result == pytest.approx(expected) if isinstance(expected, float) else result == expected
    if works_today(text, expected):
        assert report == []
    elif reported is not None:
        assert any(reported in line for line in report), report
        assert all(line.startswith('program.py:') for line in report)


def works_today(text: str, expected: Any) -> bool:
    """Whether the installed versions run a program without help."""
    names: dict[str, Any] = {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            exec(text, names)
    except Exception:
        return False
    return bool(names['result'] == expected)


@pytest.mark.parametrize(
    'alias', [row for row in rows() if row.owner == 'unittest.TestCase'], ids=lambda row: row.last
)
def test_aliases_of_assertions(alias: Removed, tmp_path: Path) -> None:
    if hasattr(unittest.TestCase, alias.last):
        pytest.skip('this Python has it')
    method = alias.instead.removeprefix('x.')
    text = f'import unittest\ncase = unittest.TestCase()\nresult = case.{alias.last} == case.{method}\n'
    result, report = ran(tmp_path, text)
    assert result is True
    assert report == [f'program.py:3: {alias.name}, which {alias.since} dropped: write {alias.instead}()']


# --- what cannot be restored ---------------------------------------------------------------------------------------
IMPOSSIBLE = {
    'numpy.set_string_function': (
        'import numpy\nnumpy.set_string_function(None)',
        AttributeError,
        'set_printoptions',
    ),
    'scipy.misc.imfilter': ('import scipy.misc\nscipy.misc.imfilter', AttributeError, 'image.filter'),
    'six': ('import six', ImportError, 'install six'),
}


@pytest.mark.parametrize('name', IMPOSSIBLE)
def test_what_cannot_be_restored_says_what_to_write(name: str, tmp_path: Path) -> None:
    text, error, advice = IMPOSSIBLE[name]
    if not is_missing(by_name()[name]):
        pytest.skip('the installed version has it')
    with pytest.raises(error, match=advice):
        ran(tmp_path, text)


@pytest.mark.parametrize(
    ('text', 'error'),
    [
        ('import numpy\nnumpy.no_such_name', AttributeError),
        ('int("x")', ValueError),
        ('int([1, 2])', TypeError),
        ('import numpy\nint(numpy.zeros(2))', TypeError),
        ('import numpy\nnumpy.array([1, "a"], dtype=float)', ValueError),
        ('"%d" % "x"', TypeError),
        ('[].iteritems()', AttributeError),
        ('import no_such_module', ImportError),
        ('import pickle\npickle.loads(b"x")', Exception),
    ],
    ids=str,
)
def test_errors_of_today_stay(text: str, error: type[Exception], tmp_path: Path) -> None:
    with pytest.raises(error):
        ran(tmp_path, text)


def test_arrays_of_objects_only_on_request(tmp_path: Path) -> None:
    np.save(tmp_path / 'a.npy', np.array([1, 'x'], object))
    np.savez(tmp_path / 'b.npz', a=np.array([{}], object))
    text = f"""import numpy as np
a, b = np.load({str(tmp_path / 'a.npy')!r}), np.load({str(tmp_path / 'b.npz')!r})
result = a.tolist(), b['a'].tolist()
"""
    with pytest.raises(ValueError, match='allow_pickle=False') as caught:
        ran(tmp_path, text)
    assert 'run --unsafe-pickles' in str(advice_on(caught.value))
    result, report = ran(tmp_path, text, unsafe_pickles=True)
    assert result == ([1, 'x'], [{}])
    assert report[0].startswith('program.py:2: numpy.load(...) as before NumPy 1.16.3')
    refusing = text.replace("a.npy')", "a.npy', allow_pickle=False)")
    with pytest.raises(ValueError, match='allow_pickle=False'):
        ran(tmp_path, refusing, unsafe_pickles=True)


# --- the mechanism -------------------------------------------------------------------------------------------------
def test_nothing_is_left_behind() -> None:
    before = {
        name: dict(vars(module)) for name, module in sys.modules.items() if name in ('numpy', 'collections', 'time')
    }
    paths = list(sys.meta_path)
    with Restored():
        assert hasattr(np, 'float') and hasattr(builtins, HELPER)
    assert sys.meta_path == paths
    assert not hasattr(builtins, HELPER)
    for name, attributes in before.items():
        assert vars(sys.modules[name]) == attributes


def test_a_module_imported_later_is_completed_and_restored(tmp_path: Path) -> None:
    sys.modules.pop('platform', None)
    result, _ = ran(tmp_path, 'import platform\nresult = platform\n')
    assert '__getattr__' not in vars(result)
    assert not hasattr(result, 'linux_distribution')


def test_names_of_python_2_are_hidden_from_other_packages() -> None:
    with Restored():
        assert not eval('hasattr(sys, "maxint")', {'sys': sys})  # this file is not installed; the eval has no file
        assert eval('hasattr(np, "float")', {'np': np})


def test_places_are_counted_and_each_name_is_reported_once(tmp_path: Path) -> None:
    text = (
        'import numpy as np\nresult = 0\nfor i in range(3):\n    result += np.int(1)\nresult += np.int(1)\nnp.int\n'
    )
    result, report = ran(tmp_path, text)
    assert result == 4
    assert report == ['program.py:4: numpy.int, which NumPy 1.24 dropped: write int (2 more places)']


def test_files_that_are_not_the_program_s_are_not_reported() -> None:
    usage = Usage()
    usage.note(by_name()['numpy.int'], np.__file__, 1)
    usage.note(by_name()['numpy.int'], '<string>', 1)
    assert usage.lines() == []
    assert not is_own(unittest.__file__) and is_own('train.py')
