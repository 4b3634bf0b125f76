"""Writes docs/coverage.md: which public names of Chainer 7.8.1 the package has.

python docs/make_coverage.py            # write
python docs/make_coverage.py --check    # only say whether the file is up to date
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).resolve().parent
API = DOCS.parent / 'tests' / 'reference' / 'chainer_api.json'

#: What exists and says so when it is used, because what it needs is not there.
UNAVAILABLE = {
    'chainerx, backend.ChainerxDevice, Variable.to_chx, Link.to_chx': (
        'ChainerX is not part of this package; `import chainerx` works, and says that it is not available'
    ),
    'backends.intel64, backend.Intel64Device, Link.to_intel64': 'iDeep is not maintained; the queries answer False',
    'links.TheanoFunction': 'Theano is not maintained',
    'iterators.DaliIterator': 'needs NVIDIA DALI',
    'training.updaters.MultiprocessParallelUpdater': 'needs CuPy with NCCL; available() tells',
    'links.caffe.CaffeFunction, exporters.caffe': "need the extra 'caffe' (protobuf)",
    'function_hooks.CUDAProfileHook, function_hooks.CupyMemoryProfileHook': 'need CuPy and a device',
}


def module_of(namespace: str) -> object | None:
    """Our module for a namespace of Chainer's, or None where there is none yet."""
    name = 'minichainer' + namespace.removeprefix('chainer')
    parts = name.split('.')
    for end in range(2, len(parts) + 1):
        if importlib.util.find_spec('.'.join(parts[:end])) is None:
            return None
    return importlib.import_module(name)


#: Members of unittest's TestCase that Python 3.10 does not have yet.
OF_LATER_PYTHONS = ('enterClassContext',)


def missing_names(namespace: str, names: dict[str, dict]) -> list[str]:
    """Names of the namespace, and `Class.member` of its classes, that we lack."""
    module, missing = module_of(namespace), []
    for name, entry in names.items():
        if not hasattr(module, name):
            missing.append(name)
            continue
        found = getattr(module, name)
        missing += [
            f'{name}.{member}'
            for member in entry.get('members', {})
            if not hasattr(found, member) and member not in OF_LATER_PYTHONS
        ]
    return missing


def page() -> str:
    api = json.loads(API.read_text(encoding='utf-8'))
    missing = {namespace: missing_names(namespace, names) for namespace, names in api.items()}
    return '\n'.join([*_head(api, missing), *_absent(missing), *_unavailable()]) + '\n'


def _head(api: dict[str, dict], missing: dict[str, list[str]]) -> Iterator[str]:
    total = sum(map(len, api.values()))
    absent = sum('.' not in name for names in missing.values() for name in names)
    yield '# Coverage of Chainer 7.8.1'
    yield ''
    yield 'Written by `make docs`.'
    yield ''
    yield f'**{total - absent} of {total} public names are here.**'
    yield ''
    yield '| namespace | names here | of |'
    yield '|---|---:|---:|'
    for namespace, names in api.items():
        here = len(names) - sum('.' not in name for name in missing[namespace])
        yield f'| `{namespace}` | {here} | {len(names)} |'


def _absent(missing: dict[str, list[str]]) -> Iterator[str]:
    names = [f'`{namespace}.{name}`' for namespace, names in missing.items() for name in names]
    if names:
        yield from ('', '## Missing', '', ', '.join(names))


def _unavailable() -> Iterator[str]:
    yield from ('', '## Here, but of no use without something else', '', '| names | why |', '|---|---|')
    for names, reason in UNAVAILABLE.items():
        yield f'| {", ".join(f"`{name}`" for name in names.split(", "))} | {reason} |'


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description='Write docs/coverage.md.')
    parser.add_argument('--check', action='store_true', help='compare with the file, do not write it')
    args = parser.parse_args(argv)
    target, text = DOCS / 'coverage.md', page()
    if not args.check:
        target.write_text(text, encoding='utf-8')
        return 0
    if target.is_file() and target.read_text(encoding='utf-8') == text:
        return 0
    print(f'{target}: out of date; run: make docs', file=sys.stderr)
    return 1


if __name__ == '__main__':
    sys.exit(main())
