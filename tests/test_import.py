"""`import minichainer` is quick because it loads NumPy and nothing else heavy."""

from __future__ import annotations

import ast
import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import minichainer

HEAVY = ['scipy', 'matplotlib', 'h5py', 'torch', 'PIL', 'multiprocessing', 'unittest']
LATER = [
    'minichainer.training',
    'minichainer.datasets',
    'minichainer.links.model.vision',
    'minichainer.testing',
    'minichainer.verification',
]
API = json.loads((Path(__file__).parent / 'reference' / 'chainer_api.json').read_text(encoding='utf-8'))
MODULES = """
    backend backends config dataset datasets distributions functions global_config gradient_check initializers
    iterators links optimizer_hooks optimizers serializers training utils variable
""".split()
EXPORTS = sorted({*API['chainer'], *MODULES})


def _run(code: str) -> str:
    command = [sys.executable, '-W', 'error', '-c', code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope='module')
def gained() -> set[str]:
    """Modules that `import minichainer` adds to those NumPy loads itself.

    Without CuPy: where it is installed it is loaded, with what it loads, because its class of arrays must be known.
    """
    code = """
import json, sys
import numpy
sys.modules['cupy'] = None
before = set(sys.modules)
import minichainer
print(json.dumps(sorted(set(sys.modules) - before)))
"""
    return set(json.loads(_run(code)))


@pytest.mark.parametrize('name', HEAVY + LATER)
def test_import_does_not_load(gained: set[str], name: str) -> None:
    loaded = sorted(m for m in gained if m == name or m.startswith(name + '.'))
    assert not loaded, f'`import minichainer` loads {loaded}; import them inside the functions that need them'


def test_import_is_silent() -> None:
    assert _run('import minichainer') == ''


@pytest.mark.parametrize('name', EXPORTS)
def test_exported(name: str) -> None:
    assert hasattr(minichainer, name), f'minichainer.{name} is missing from minichainer/__init__.py'


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match='no_such_name'):
        minichainer.no_such_name  # noqa: B018


def test_version_is_the_packages_version() -> None:
    from minichainer._version import __version__

    assert minichainer.__version__ == __version__


@pytest.mark.parametrize('name', LATER[:2])
def test_lazy_modules_resolve_from_a_bare_import(name: str) -> None:
    assert _run(f'import minichainer; print({name}.__name__)').strip() == name


def test_few_functions_and_links_are_loaded(gained: set[str]) -> None:
    rooms = [
        m for m in gained if m.startswith(('minichainer.functions.', 'minichainer.links.')) and m.count('.') == 3
    ]
    assert rooms == ['minichainer.functions.math.reductions'], rooms


@pytest.mark.parametrize('package', [minichainer.functions, minichainer.links], ids=['functions', 'links'])
def test_the_table_of_homes_is_right(package: ModuleType) -> None:
    assert sorted(package._LATER) == sorted(package.__all__)
    for name, home in package._LATER.items():
        module = importlib.import_module(f'{package.__name__}.{home}')
        assert getattr(package, name) is vars(module)[name]
        tree = ast.parse(Path(str(module.__file__)).read_text(encoding='utf-8'))
        assert name not in {alias.asname or alias.name for node in _imports(tree) for alias in node.names}, name


def _imports(tree: ast.Module) -> Iterator[ast.ImportFrom]:
    return (node for node in tree.body if isinstance(node, ast.ImportFrom))


MODULES_OF_ROOMS = """
    functions.activation.gelu functions.loss.softmax_cross_entropy functions.connection.linear links.connection.linear
    links.rnn.n_step_rnn links.model.classifier links.model.vision.resnet functions.activation.relu
""".split()


@pytest.mark.parametrize('path', MODULES_OF_ROOMS)
def test_modules_of_functions_and_links_are_attributes(path: str) -> None:
    assert _run(f'import minichainer; print(minichainer.{path}.__name__)').strip() == f'minichainer.{path}'


@pytest.mark.parametrize('path', ['functions.activation.no_such', 'links.connection.no_such', 'functions.no_such'])
def test_modules_that_are_not_there_are_attribute_errors(path: str) -> None:
    with pytest.raises(AttributeError, match='no_such'):
        eval(f'minichainer.{path}', {'minichainer': minichainer})


def test_an_op_is_found_before_its_module_is_loaded() -> None:
    code = """
from minichainer import ops
print(ops.lstm_cell.__module__, ops.built_in.on_numpy.conjugated.func.__name__ != '', hasattr(ops, 'no_such_op'))
"""
    assert _run(code).split() == ['minichainer.functions.rnn.gated', 'True', 'False']


def test_rules_see_functions_of_modules_that_are_not_loaded() -> None:
    code = """
import numpy as np
import minichainer.functions as F
from minichainer.functions.array.stacking import hstack
from minichainer import Variable

twice = F.primitive(lambda xp, x: hstack([x, x]).array, lambda m, gy, x: gy[:, :2] + m.fliplr(m.fliplr(gy[:, 2:])))
x = Variable(np.ones((2, 2), 'f'))
F.sum(twice(x)).backward()
print(x.grad.tolist())
"""
    assert _run(code).strip() == '[[2.0, 2.0], [2.0, 2.0]]'


def test_threads_may_load_functions_at_the_same_time() -> None:
    code = """
import threading
import numpy as np
import minichainer as mc
import minichainer.functions as F

NAMES = 'tanh gelu softmax logsumexp normalize cumsum erf sigmoid selu softplus fliplr sqrt lgamma maxout'.split()
start, failed = threading.Barrier(len(NAMES)), []

def work(name):
    x = mc.Variable(np.full((2, 2), 0.5))
    start.wait()
    y = F.maxout(x, 2) if name == 'maxout' else getattr(F, name)(x)
    gx, = mc.grad([F.sum(y)], [x], enable_double_backprop=True)
    mc.grad([F.sum(gx * gx)], [x])

threads = [threading.Thread(target=work, args=(name,), daemon=True) for name in NAMES]
threading.excepthook = lambda args: failed.append(args.exc_value)
[t.start() for t in threads]
[t.join(30) for t in threads]
print(failed, sum(t.is_alive() for t in threads))
"""
    assert _run(code).strip() == '[] 0'
