"""Every name of Chainer's testing tools is there, with its arguments in their order."""

from __future__ import annotations

import importlib
import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

import minichainer

API = json.loads((Path(__file__).parents[1] / 'reference' / 'chainer_api.json').read_text(encoding='utf-8'))
NAMES = [
    (namespace, name, entry)
    for namespace, names in API.items()
    if namespace.startswith('chainer.testing')
    for name, entry in names.items()
]


@pytest.mark.parametrize(('namespace', 'name', 'entry'), NAMES, ids=[f'{n[0]}.{n[1]}' for n in NAMES])
def test_name_is_there(namespace: str, name: str, entry: dict) -> None:
    module = importlib.import_module(namespace.replace('chainer', 'minichainer', 1))
    found = getattr(module, name)
    assert isinstance(found, type) == (entry['kind'] == 'class')
    if sys.version_info >= (3, 11):  # unittest.TestCase.enterClassContext came with 3.11.
        missing = [m for m in entry.get('members', {}) if not hasattr(found, m) and m not in found.__annotations__]
        assert missing == []
    if entry.get('signature') is not None:
        assert _parameters(inspect.signature(found)) == _parameters_of_text(entry['signature'])


def _parameters(signature: inspect.Signature) -> list[tuple[str, object]]:
    return [(str(p.kind) + p.name, repr(p.default)) for p in signature.parameters.values()]


def _parameters_of_text(text: str) -> list[tuple[str, object]]:
    scope: dict = {}
    exec(f'def f{text}: pass', scope)
    return _parameters(inspect.signature(scope['f']))


def test_all_lists_what_is_public() -> None:
    expected = {name for namespace, name, _ in NAMES if namespace == 'chainer.testing'}
    assert set(minichainer.testing.__all__) == expected


def test_pytest_is_not_imported_with_the_package() -> None:
    code = 'import sys, minichainer.testing; assert not {"pytest", "_pytest", "scipy"} & set(sys.modules)'
    subprocess.run([sys.executable, '-c', code], check=True, timeout=60)
