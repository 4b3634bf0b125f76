"""What Python, NumPy, SciPy, Pillow and PyYAML had and dropped, and what to write instead.

One table for everybody: ``compat run`` restores these names, ``compat port`` replaces them, ``compat check`` counts
them. A row says what a name was, who dropped it and when, what to write, whether that may be written in its place
without reading the program, and what restores it while a program runs.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from minichainer.compat import removed_of_scipy


class Removed(NamedTuple):
    """A name that old programs use and that is not there any more.

    Args:
        name: dotted name, with the module or the class that had it: ``numpy.int``, ``numpy.ndarray.itemset``.
        kind: ``name`` (attribute of a module), ``method`` (of a class), ``module``, ``builtin`` (of Python 2), or
            ``call`` (the name is there, but a call that old programs make of it fails today), or ``operation`` (an
            operation that fails today or has another result).
        since: who dropped it, and in which version.
        instead: what to write: an expression if ``certain``, otherwise words for a person.
        certain: ``instead`` may replace the name in source code as it stands: same arguments, same result. A method
            is called as ``instead`` says, with ``x`` for the object.
        restore: dotted name of what stands in at run time; '' if nothing can.
    """

    name: str
    kind: str
    since: str
    instead: str
    certain: bool
    restore: str

    @property
    def owner(self) -> str:
        """The module or class that had the name."""
        return self.name.rpartition('.')[0]

    @property
    def last(self) -> str:
        """The name without its owner."""
        return self.name.rpartition('.')[2]


# `name = expression`: the expression can replace the name. `name ~ words`: a person has to decide.
# `@ dotted`: what restores it, a bare name being one of minichainer.compat.restored; default is the expression.
_TABLE = """
[name: NumPy 1.24]
numpy.bool = bool
numpy.int = int
numpy.float = float
numpy.complex = complex
numpy.object = object
numpy.str = str
numpy.unicode = str
numpy.long = int
numpy.typeDict = numpy.sctypeDict
numpy.sys = sys

[name: NumPy 1.23]
numpy.asscalar ~ a.item() @ asscalar

[name: NumPy 1.22]
numpy.loads = pickle.loads

[name: NumPy 1.18]
numpy.rank = numpy.ndim

[name: NumPy 2.0]
numpy.product = numpy.prod
numpy.cumproduct = numpy.cumprod
numpy.sometrue = numpy.any
numpy.alltrue = numpy.all
numpy.round_ = numpy.round
numpy.msort ~ numpy.sort(a, axis=0) @ msort
numpy.mat = numpy.asmatrix
numpy.asfarray ~ numpy.asarray(a, dtype=float) @ asfarray
numpy.Inf = numpy.inf
numpy.Infinity = numpy.inf
numpy.infty = numpy.inf
numpy.PINF = numpy.inf
numpy.NINF = -numpy.inf @ negative_infinity
numpy.NaN = numpy.nan
numpy.PZERO = 0.0 @ positive_zero
numpy.NZERO = -0.0 @ negative_zero
numpy.float_ = numpy.float64
numpy.complex_ = numpy.complex128
numpy.cfloat = numpy.complex128
numpy.singlecomplex = numpy.complex64
numpy.longfloat = numpy.longdouble
numpy.longcomplex = numpy.clongdouble
numpy.clongfloat = numpy.clongdouble
numpy.string_ = numpy.bytes_
numpy.unicode_ = numpy.str_
numpy.bool8 = numpy.bool_
numpy.int0 = numpy.intp
numpy.uint0 = numpy.uintp
numpy.object0 = numpy.object_
numpy.str0 = numpy.str_
numpy.bytes0 = numpy.bytes_
numpy.sctypes ~ the types themselves, such as [numpy.float16, numpy.float32, numpy.float64] @ sctypes
numpy.nbytes ~ numpy.dtype(t).itemsize @ nbytes
numpy.cast ~ numpy.asarray(a, dtype=t) @ cast
numpy.find_common_type ~ numpy.result_type @ find_common_type
numpy.obj2sctype ~ numpy.dtype(a).type @ obj2sctype
numpy.sctype2char ~ numpy.dtype(t).char @ sctype2char
numpy.issctype ~ issubclass(t, numpy.generic) @ issctype
numpy.issubsctype = numpy.issubdtype
numpy.issubclass_ = issubclass
numpy.maximum_sctype ~ the widest type itself, such as numpy.float64 @ maximum_sctype
numpy.safe_eval = ast.literal_eval
numpy.byte_bounds = numpy.lib.array_utils.byte_bounds
numpy.compare_chararrays = numpy.char.compare_chararrays
numpy.format_parser = numpy.rec.format_parser
numpy.DataSource = numpy.lib.npyio.DataSource
numpy.fastCopyAndTranspose ~ a.T.copy() @ transposed_copy
numpy.recfromcsv ~ numpy.genfromtxt(f, delimiter=',', names=True) @ recfromcsv
numpy.recfromtxt ~ numpy.genfromtxt(f) @ recfromtxt
numpy.set_string_function ~ numpy.set_printoptions
numpy.math = math
numpy.lib.pad = numpy.pad
numpy.lib.arraysetops = numpy @ numpy
numpy.lib.index_tricks = numpy @ numpy
numpy.lib.function_base = numpy @ numpy

[name: NumPy 2.4]
numpy.in1d ~ numpy.isin (flattens its arguments no more) @ in1d
numpy.trapz = numpy.trapezoid
numpy.linalg.linalg = numpy.linalg

[name: NumPy 1.18]
numpy.testing.decorators ~ marks of pytest @ testing_decorators
numpy.testing.rand = numpy.random.rand

[name: NumPy 1.25]
numpy.testing.utils = numpy.testing
numpy.testing.dec ~ marks of pytest @ testing_decorators
numpy.testing.run_module_suite ~ pytest.main or unittest.main @ run_module_suite
numpy.testing.Tester ~ pytest.main

[name: NumPy 2.5]
numpy.row_stack = numpy.vstack

[name: NumPy after 2.5]
numpy.random.random_integers ~ numpy.random.randint(low, high + 1) @ random_integers

[name: NumPy 2.0]
numpy.AxisError = numpy.exceptions.AxisError
numpy.ComplexWarning = numpy.exceptions.ComplexWarning
numpy.ModuleDeprecationWarning = numpy.exceptions.ModuleDeprecationWarning
numpy.TooHardError = numpy.exceptions.TooHardError
numpy.VisibleDeprecationWarning = numpy.exceptions.VisibleDeprecationWarning
numpy.RankWarning = numpy.exceptions.RankWarning

[name: Matplotlib 3.9]
matplotlib.cm.get_cmap = matplotlib.pyplot.get_cmap
matplotlib.cm.register_cmap ~ matplotlib.colormaps.register(cmap, name=name) @ register_cmap

[name: Matplotlib 3.0]
matplotlib.pyplot.hold ~ nothing: plots are added to a figure @ nothing
matplotlib.pyplot.ishold ~ True @ true

[method: NumPy 2.0]
numpy.ndarray.itemset ~ a[index] = value @ ndarray_itemset
numpy.ndarray.newbyteorder ~ a.view(a.dtype.newbyteorder()) @ ndarray_newbyteorder
numpy.ndarray.ptp ~ numpy.ptp(a) @ ndarray_ptp

[operation: NumPy 2.0]
numpy.promotion ~ float(np.sqrt(2.)): a scalar of NumPy makes float64 of an array of float32
numpy.unsigned ~ 255 for -1 in an array of uint8, or give the array a signed dtype first

[method: NumPy 2.3]
numpy.ndarray.tostring = x.tobytes
numpy.generic.tostring = x.tobytes

[method: NumPy 1.23]
numpy.lib.npyio.NpzFile.iteritems = x.items
numpy.lib.npyio.NpzFile.iterkeys = x.keys

[call: NumPy 2.4]
int ~ int(a.item()): arrays of one element with axes are not converted @ int_
float ~ float(a.item()): arrays of one element with axes are not converted @ float_
complex ~ complex(a.item()): arrays of one element with axes are not converted @ complex_

[call: NumPy 1.24]
numpy.array ~ numpy.array(rows, dtype=object) for rows of different lengths @ array
numpy.asarray ~ numpy.asarray(rows, dtype=object) for rows of different lengths @ asarray

[call: NumPy 2.3]
numpy.fromstring ~ numpy.frombuffer(data, dtype).copy() @ fromstring

[call: NumPy 1.16.3]
numpy.load ~ numpy.load(file, allow_pickle=True), only for files that you trust: pickles run code

[call: NumPy 1.26]
numpy.vstack ~ numpy.vstack(list(arrays)): a generator is refused @ stack_arrays
numpy.hstack ~ numpy.hstack(list(arrays)): a generator is refused @ stack_arrays
numpy.dstack ~ numpy.dstack(list(arrays)): a generator is refused @ stack_arrays
numpy.stack ~ numpy.stack(list(arrays)): a generator is refused @ stack_arrays
numpy.column_stack ~ numpy.column_stack(list(arrays)): a generator is refused @ stack_arrays

[call: Python 3.9]
json.load ~ json.load(file): texts have no encoding @ without_encoding
json.loads ~ json.loads(text): texts have no encoding @ without_encoding

[call: Python 3]
json.dump ~ json.dump(value, file): texts have no encoding @ without_encoding
json.dumps ~ json.dumps(value): texts have no encoding @ without_encoding

[call: Python 3.11]
open ~ the mode without U, which has long meant nothing @ open_without_u
codecs.open ~ the mode without U, which has long meant nothing @ open_without_u

[call: PyYAML 6.0]
yaml.load = yaml.full_load @ yaml_load
yaml.load_all = yaml.full_load_all @ yaml_load_all

[call: Python 3.11]
random.shuffle ~ sort by keys: x.sort(key=lambda _: random()) @ shuffle

[call: Python 3]
pickle.load ~ pickle.load(file, encoding='latin1') for files that Python 2 wrote @ pickle_load
pickle.loads ~ pickle.loads(data, encoding='latin1') for data that Python 2 wrote @ pickle_loads

[name: SciPy 1.2]
scipy.misc.imread ~ numpy.asarray(PIL.Image.open(file)) @ imread
scipy.misc.imsave ~ PIL.Image.fromarray(a).save(file) @ imsave
scipy.misc.imresize ~ PIL.Image.fromarray(a).resize((width, height)) @ imresize
scipy.misc.imrotate ~ PIL.Image.fromarray(a).rotate(angle) @ imrotate
scipy.misc.imshow ~ PIL.Image.fromarray(a).show() @ imshow
scipy.misc.toimage ~ PIL.Image.fromarray(a) @ toimage
scipy.misc.fromimage ~ numpy.asarray(image) @ fromimage
scipy.misc.bytescale ~ scale to 0 ... 255 and convert to uint8 @ bytescale
scipy.misc.imfilter ~ image.filter(PIL.ImageFilter.BLUR)

[name: SciPy 1.3]
scipy.misc.factorial = scipy.special.factorial
scipy.misc.factorial2 = scipy.special.factorial2
scipy.misc.comb = scipy.special.comb
scipy.misc.logsumexp = scipy.special.logsumexp
scipy.misc.pade = scipy.interpolate.pade
scipy.misc.info = numpy.info
scipy.misc.source ~ inspect.getsource

[name: SciPy 1.12]
scipy.misc.derivative ~ a central difference, or scipy.differentiate.derivative @ derivative
scipy.misc.central_diff_weights ~ weights of a central difference, written out
scipy.misc.face ~ scipy.datasets.face(), which needs the package pooch @ scipy.datasets.face
scipy.misc.ascent ~ scipy.datasets.ascent(), which needs the package pooch @ scipy.datasets.ascent
scipy.misc.electrocardiogram ~ scipy.datasets.electrocardiogram() @ scipy.datasets.electrocardiogram

[name: SciPy 1.14]
scipy.integrate.trapz = scipy.integrate.trapezoid
scipy.integrate.simps ~ scipy.integrate.simpson(y, x=x) @ simps
scipy.integrate.cumtrapz = scipy.integrate.cumulative_trapezoid
scipy.integrate.quadrature ~ scipy.integrate.quad, which returns the error too @ scipy.integrate.quad
scipy.interpolate.interp2d ~ scipy.interpolate.RegularGridInterpolator or RectBivariateSpline

[name: SciPy 1.3]
scipy.interpolate.spline ~ scipy.interpolate.make_interp_spline(x, y, k)(xnew) @ spline

[name: SciPy 1.12]
scipy.stats.binom_test ~ scipy.stats.binomtest(k, n, p).pvalue @ binom_test

[name: SciPy 1.9]
scipy.stats.median_absolute_deviation ~ scipy.stats.median_abs_deviation(x, scale='normal') @ median_deviation
scipy.linalg.pinv2 = scipy.linalg.pinv

[name: SciPy 1.3]
scipy.stats.nanmean = numpy.nanmean
scipy.stats.nanmedian = numpy.nanmedian
scipy.stats.nanstd ~ numpy.nanstd(x, ddof=1) @ nanstd
scipy.stats.itemfreq ~ numpy.unique(x, return_counts=True) @ itemfreq

[name: SciPy 1.13]
scipy.linalg.tril = numpy.tril
scipy.linalg.triu = numpy.triu

[name: SciPy 1.17]
scipy.linalg.kron = numpy.kron

[name: SciPy 1.15]
scipy.special.btdtri = scipy.special.betaincinv

[module: SciPy 2.0]
scipy.ndimage.filters = scipy.ndimage
scipy.ndimage.interpolation = scipy.ndimage
scipy.ndimage.measurements = scipy.ndimage
scipy.ndimage.morphology = scipy.ndimage
scipy.misc ~ see the names that it had @ minichainer.compat.stand_ins.scipy_misc

[name: Python 3.10]
collections.Awaitable = collections.abc.Awaitable
collections.Coroutine = collections.abc.Coroutine
collections.AsyncIterable = collections.abc.AsyncIterable
collections.AsyncIterator = collections.abc.AsyncIterator
collections.AsyncGenerator = collections.abc.AsyncGenerator
collections.Hashable = collections.abc.Hashable
collections.Iterable = collections.abc.Iterable
collections.Iterator = collections.abc.Iterator
collections.Generator = collections.abc.Generator
collections.Reversible = collections.abc.Reversible
collections.Sized = collections.abc.Sized
collections.Container = collections.abc.Container
collections.Callable = collections.abc.Callable
collections.Collection = collections.abc.Collection
collections.Set = collections.abc.Set
collections.MutableSet = collections.abc.MutableSet
collections.Mapping = collections.abc.Mapping
collections.MutableMapping = collections.abc.MutableMapping
collections.MappingView = collections.abc.MappingView
collections.KeysView = collections.abc.KeysView
collections.ItemsView = collections.abc.ItemsView
collections.ValuesView = collections.abc.ValuesView
collections.Sequence = collections.abc.Sequence
collections.MutableSequence = collections.abc.MutableSequence
collections.ByteString = bytes

[name: Python 3.8]
time.clock ~ time.process_time for time of the processor, time.perf_counter for elapsed time @ time.process_time
cgi.escape ~ html.escape(s, quote=False) @ cgi_escape
platform.linux_distribution ~ platform.freedesktop_os_release @ linux_distribution
platform.dist ~ platform.freedesktop_os_release @ linux_distribution

[name: Python 3.11]
inspect.getargspec ~ inspect.getfullargspec, which has more fields, or inspect.signature @ getargspec
inspect.formatargspec ~ str(inspect.signature(f)) @ formatargspec
asyncio.coroutine ~ async def @ types.coroutine

[name: Python 3.9]
fractions.gcd = math.gcd
base64.encodestring = base64.encodebytes
base64.decodestring = base64.decodebytes
sys.setcheckinterval ~ sys.setswitchinterval @ nothing
sys.getcheckinterval ~ sys.getswitchinterval @ nothing

[name: Python 3.12]
locale.format = locale.format_string

[name: Python 3.13]
unittest.makeSuite ~ unittest.defaultTestLoader.loadTestsFromTestCase @ makeSuite
pipes.quote = shlex.quote

[name: Python 3.7]
os.errno = errno

[name: Python 3]
os.getcwdu = os.getcwd
sys.maxint = sys.maxsize
sys.setdefaultencoding ~ nothing: Python 3 uses UTF-8 @ nothing
sys.exc_clear ~ nothing @ nothing
itertools.izip = zip
itertools.imap = map
itertools.ifilter = filter
itertools.izip_longest = itertools.zip_longest
itertools.ifilterfalse = itertools.filterfalse
string.letters = string.ascii_letters
string.lowercase = string.ascii_lowercase
string.uppercase = string.ascii_uppercase
string.maketrans = str.maketrans
string.join ~ sep.join(words) @ string_join
string.split = str.split
string.strip = str.strip
string.replace = str.replace
string.lower = str.lower
string.upper = str.upper
string.atoi = int
string.atof = float
types.StringType = str
types.UnicodeType = str
types.IntType = int
types.LongType = int
types.FloatType = float
types.BooleanType = bool
types.ListType = list
types.TupleType = tuple
types.DictType = dict
types.NoneType ~ type(None) @ none_type
urllib.urlretrieve = urllib.request.urlretrieve
urllib.urlopen = urllib.request.urlopen
urllib.urlencode = urllib.parse.urlencode
urllib.quote = urllib.parse.quote
urllib.unquote = urllib.parse.unquote

[method: Python 3.9]
threading.Thread.isAlive = x.is_alive
array.array.tostring = x.tobytes
array.array.fromstring = x.frombytes
xml.etree.ElementTree.Element.getchildren ~ list(element) @ element_children
xml.etree.ElementTree.Element.getiterator = x.iter
xml.etree.ElementTree.ElementTree.getiterator = x.iter
html.parser.HTMLParser.unescape ~ html.unescape(s) @ parser_unescape

[method: Python 3.12]
unittest.TestCase.assertEquals = x.assertEqual
unittest.TestCase.assertNotEquals = x.assertNotEqual
unittest.TestCase.assert_ = x.assertTrue
unittest.TestCase.assertAlmostEquals = x.assertAlmostEqual
unittest.TestCase.assertNotAlmostEquals = x.assertNotAlmostEqual
unittest.TestCase.assertRegexpMatches = x.assertRegex
unittest.TestCase.assertNotRegexpMatches = x.assertNotRegex
unittest.TestCase.assertRaisesRegexp = x.assertRaisesRegex

[method: Python 3]
unittest.TestCase.assertItemsEqual = x.assertCountEqual
dict.iteritems = x.items
dict.iterkeys = x.keys
dict.itervalues = x.values
dict.viewitems = x.items
dict.viewkeys = x.keys
dict.has_key ~ key in d @ has_key

[builtin: Python 3]
xrange = range
unicode = str
basestring = str
long = int
raw_input = input
unichr = chr
reduce = functools.reduce
reload = importlib.reload
cmp ~ (a > b) - (a < b) @ cmp
execfile ~ exec(compile(open(file).read(), file, 'exec'))

[module: Python 3]
cPickle = pickle
Queue = queue
ConfigParser = configparser
StringIO = io
cStringIO = io
urlparse = urllib.parse
__builtin__ = builtins
copy_reg = copyreg
Tkinter = tkinter
commands = subprocess
HTMLParser = html.parser
htmlentitydefs = html.entities
urllib2 ~ urllib.request and urllib.error @ urllib.request
six ~ install it (pip install six), or write what Python 3 has
mock = unittest.mock

[module: Python 3.12]
imp ~ importlib @ minichainer.compat.stand_ins.imp
distutils ~ setuptools, packaging.version, shutil @ minichainer.compat.stand_ins.distutils
distutils.version ~ packaging.version @ minichainer.compat.stand_ins.distutils
distutils.util ~ a comparison with 'yes', 'true', 'on', '1' @ minichainer.compat.stand_ins.distutils
distutils.dir_util ~ shutil.copytree, os.makedirs @ minichainer.compat.stand_ins.distutils
distutils.spawn ~ shutil.which @ minichainer.compat.stand_ins.distutils
asyncore ~ asyncio
asynchat ~ asyncio
smtpd ~ the package aiosmtpd

[module: Python 3.13]
pipes ~ shlex.quote, subprocess @ shlex
imghdr ~ PIL.Image.open(file).format @ minichainer.compat.stand_ins.imghdr
cgi ~ html.escape, urllib.parse @ minichainer.compat.stand_ins.cgi

[module: minichainer]
onnx_chainer = minichainer.compat.onnx_chainer

[name: Pillow 10.0]
PIL.Image.ANTIALIAS = PIL.Image.LANCZOS
PIL.Image.LINEAR = PIL.Image.BILINEAR
PIL.Image.CUBIC = PIL.Image.BICUBIC

[name: Pillow 3.0]
PIL.Image.fromstring = PIL.Image.frombytes

[method: Pillow 3.0]
PIL.Image.Image.tostring = x.tobytes
PIL.Image.Image.fromstring = x.frombytes

[method: Pillow 10.0]
PIL.ImageDraw.ImageDraw.textsize ~ draw.textbbox((0, 0), text, font=font)[2:] @ draw_textsize
PIL.ImageDraw.ImageDraw.multiline_textsize ~ draw.multiline_textbbox((0, 0), text)[2:] @ draw_multiline_textsize
PIL.ImageFont.ImageFont.getsize ~ font.getbbox(text)[2:] @ font_getsize
PIL.ImageFont.FreeTypeFont.getsize ~ font.getbbox(text)[2:] @ font_getsize
PIL.ImageFont.FreeTypeFont.getoffset ~ font.getbbox(text)[:2] @ font_getoffset
"""


def _parsed(table: str) -> list[Removed]:
    rows, kind, since = [], '', ''
    for line in filter(None, map(str.strip, table.splitlines())):
        if line.startswith('['):
            kind, since = line.strip('[]').split(': ')
        else:
            rows.append(_row(line, kind, since))
    return rows


def _row(line: str, kind: str, since: str) -> Removed:
    name, sign, rest = line.split(' ', 2)
    instead, _, restore = rest.partition(' @ ')
    certain = sign == '='
    return Removed(name, kind, since, instead, certain, restore or (instead if certain else ''))


def _scipy_rows() -> list[Removed]:
    root = [(f'scipy.{name}', 'SciPy 1.12', f'numpy.{name}') for name in removed_of_scipy.ROOT]
    root += [(f'scipy.{name}', 'SciPy 1.12', f'numpy.emath.{name}') for name in removed_of_scipy.COMPLEX]
    root += [(f'scipy.{name}', 'SciPy 1.12', f'numpy.random.{name}') for name in ('rand', 'randn')]
    windows = [
        (f'scipy.signal.{name}', 'SciPy 1.13', f'scipy.signal.windows.{name}') for name in removed_of_scipy.WINDOWS
    ]
    return [Removed(name, 'name', since, new, True, new) for name, since, new in root + windows]


@functools.cache
def rows() -> tuple[Removed, ...]:
    """All rows.

    >>> [row.instead for row in rows() if row.name == 'numpy.asscalar']
    ['a.item()']
    """
    return (*_parsed(_TABLE), *_scipy_rows())


@functools.cache
def by_name() -> dict[str, Removed]:
    """The rows by their dotted names.

    >>> by_name()['collections.Iterable'].instead
    'collections.abc.Iterable'
    """
    return {row.name: row for row in rows()}
