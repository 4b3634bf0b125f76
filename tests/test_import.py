"""`import minichainer` is quick because it loads NumPy and nothing else heavy."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

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
