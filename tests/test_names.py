"""`dir` of a package lists its public names, all of them are there, and what is misspelt is explained."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import minichainer

API = json.loads((Path(__file__).parent / 'reference' / 'chainer_api.json').read_text(encoding='utf-8'))
PACKAGES = [
    'minichainer',
    'minichainer.backends',
    'minichainer.computational_graph',
    'minichainer.dataset',
    'minichainer.datasets',
    'minichainer.function_hooks',
    'minichainer.functions',
    'minichainer.graph_optimizations',
    'minichainer.initializers',
    'minichainer.iterators',
    'minichainer.link',
    'minichainer.links',
    'minichainer.optimizer',
    'minichainer.optimizer_hooks',
    'minichainer.optimizers',
    'minichainer.serializers',
    'minichainer.testing',
    'minichainer.training',
    'minichainer.training.extensions',
    'minichainer.training.triggers',
    'minichainer.training.updaters',
    'minichainer.utils',
]


def names_in_chainer(package: str) -> set[str]:
    """Chainer's public names in a package, and the packages below it."""
    namespace = package.replace('minichainer', 'chainer', 1)
    below = {name.removeprefix(f'{namespace}.').split('.')[0] for name in API if name.startswith(f'{namespace}.')}
    return {*API.get(namespace, ()), *below}


@pytest.mark.parametrize('package', PACKAGES)
def test_names_that_are_listed_are_there(package: str) -> None:
    module = importlib.import_module(package)
    listed = dir(module)
    assert listed and listed == sorted(set(listed))
    assert [name for name in listed if not hasattr(module, name)] == []


@pytest.mark.parametrize('package', PACKAGES)
def test_a_listing_has_what_users_import_and_nothing_else(package: str) -> None:
    """No modules, classes or functions of others, no typing names, nothing private."""
    module = importlib.import_module(package)
    foreign = [name for name in dir(module) if not home_of(getattr(module, name), package).startswith('minichainer')]
    private = [name for name in dir(module) if name.startswith('_') and name != '__version__']
    assert [*foreign, *private, *{'TYPE_CHECKING'}.intersection(dir(module))] == []


def home_of(value: object, default: str) -> str:
    """The module that a module, class, function or instance comes from; plain values are where they are."""
    return str(getattr(value, '__module__', getattr(value, '__name__', default)))


@pytest.mark.parametrize('name', ['ops', 'recorder', 'kernels', 'typing', 'annotations', '_names'])
def test_the_root_hides_its_workshop(name: str) -> None:
    assert name not in dir(minichainer)


@pytest.mark.parametrize('package', PACKAGES)
def test_each_name_of_chainers_is_listed(package: str) -> None:
    assert names_in_chainer(package) - set(dir(importlib.import_module(package))) == set()


@pytest.mark.parametrize(
    ('package', 'name', 'meant'),
    [
        ('minichainer', 'Varable', 'Variable'),
        ('minichainer', 'varable', 'variable'),
        ('minichainer', 'optimisers', 'optimizers'),
        ('minichainer', 'gradiantmethod', 'GradientMethod'),
        ('minichainer.functions', 'rleu', 'relu'),
        ('minichainer.functions', 'SoftMax', 'softmax'),
        ('minichainer.links', 'linear', 'Linear'),
        ('minichainer.optimizers', 'AdaDleta', 'AdaDelta'),
        ('minichainer.optimizers', 'adamw', 'AdamW'),
        ('minichainer.optimizer_hooks', 'weightdecay', 'WeightDecay'),
        ('minichainer.training.extensions', 'LogRaport', 'LogReport'),
    ],
)
def test_a_misspelt_name_is_corrected(package: str, name: str, meant: str) -> None:
    with pytest.raises(AttributeError) as raised:
        getattr(importlib.import_module(package), name)
    assert str(raised.value) == f'module {package!r} has no attribute {name!r}: did you mean {meant!r}?'


@pytest.mark.parametrize('package', PACKAGES)
def test_nothing_is_guessed_for_a_name_like_no_other(package: str) -> None:
    with pytest.raises(AttributeError) as raised:
        importlib.import_module(package).qqqqq  # noqa: B018
    assert str(raised.value) == f"module {package!r} has no attribute 'qqqqq'"


def test_python_adds_no_guess_of_its_own() -> None:
    command = [sys.executable, '-c', 'import minichainer; minichainer.Varable']
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stderr.lower().count('did you mean') == 1, done.stderr


def test_a_listing_loads_nothing() -> None:
    code = 'import sys, minichainer; dir(minichainer); print("minichainer.training" in sys.modules)'
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == 'False', done.stderr


def test_a_name_that_is_loaded_late_is_kept() -> None:
    from minichainer.optimizer import Optimizer

    assert minichainer.Optimizer is Optimizer
    assert vars(minichainer)['Optimizer'] is Optimizer
