"""Writes docs/coverage.md: which public names of Chainer 7.8.1 the package has; and, for errors, those still to come.

python docs/make_coverage.py            # write
python docs/make_coverage.py --check    # only say whether the file is up to date
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import sys
import textwrap
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

DOCS = Path(__file__).resolve().parent
API = DOCS.parent / 'tests' / 'reference' / 'chainer_api.json'
NOT_YET = DOCS.parent / 'minichainer' / '_not_yet.py'

#: Namespaces that will not come.
LEFT_OUT = ('chainer.links.caffe',)

# The work that will bring what is missing, by pattern of the full name; the first that matches counts.
LATER = [
    ('chainer.print_runtime_info', 'running and porting old code'),
    ('chainer.testing*', 'the gradient checker and the testing tools'),
    ('chainer.gradient_check*', 'the gradient checker and the testing tools'),
    ('chainer.functions.*convolution*', 'convolution, pooling, normalization, recurrent layers'),
    ('chainer.functions.*pooling*', 'convolution, pooling, normalization, recurrent layers'),
    ('chainer.functions.*normalization*', 'convolution, pooling, normalization, recurrent layers'),
    ('chainer.functions.*lstm*', 'convolution, pooling, normalization, recurrent layers'),
    ('chainer.functions.n_step_*', 'convolution, pooling, normalization, recurrent layers'),
    ('chainer.functions.roi_*', 'convolution, pooling, normalization, recurrent layers'),
    ('chainer.functions.embed_id', 'convolution, pooling, normalization, recurrent layers'),
    ('chainer.functions.*', 'the remaining functions'),
    ('chainer.links.*', 'the remaining links and models'),
    ('chainer.link_hooks*', 'the remaining links and models'),
    ('chainer.training*', 'the remaining training tools'),
    ('chainer.iterators*', 'the remaining training tools'),
    ('chainer.dataset*', 'the remaining training tools'),
    ('chainer.function_hooks*', 'the remaining training tools'),
    ('chainer.computational_graph*', 'the remaining training tools'),
    ('chainer.optimizer*', 'the remaining optimizers'),
    ('chainer.*', 'running and porting old code'),
]


def later_work(name: str) -> str:
    return next(work for pattern, work in LATER if fnmatchcase(name, pattern))


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
        annotated = {key for cls in getattr(found, '__mro__', ()) for key in getattr(cls, '__annotations__', {})}
        missing += [
            f'{name}.{member}'
            for member in entry.get('members', {})
            if not hasattr(found, member) and member not in annotated and member not in OF_LATER_PYTHONS
        ]
    return missing


def page() -> str:
    api = json.loads(API.read_text(encoding='utf-8'))
    missing = {namespace: missing_names(namespace, names) for namespace, names in api.items()}
    return '\n'.join([*_head(api, missing), *_later(missing)]) + '\n'


def _head(api: dict[str, dict], missing: dict[str, list[str]]) -> Iterator[str]:
    total = sum(map(len, api.values()))
    absent = sum('.' not in name for names in missing.values() for name in names)
    yield '# Coverage of Chainer 7.8.1'
    yield ''
    yield 'Written by `make docs`. ChainerX, iDeep and Theano are left out for good.'
    yield ''
    yield f'**{total - absent} of {total} public names are here.**'
    yield ''
    yield '| namespace | names here | of |'
    yield '|---|---:|---:|'
    for namespace, names in api.items():
        here = len(names) - sum('.' not in name for name in missing[namespace])
        yield f'| `{namespace}` | {here} | {len(names)} |'


def _later(missing: dict[str, list[str]]) -> Iterator[str]:
    by_work: dict[str, list[str]] = {}
    for namespace, names in missing.items():
        for name in names:
            full = f'{namespace}.{name}'
            by_work.setdefault(later_work(full), []).append(full)
    yield ''
    yield '## Assigned to later work'
    for work in dict.fromkeys(work for _, work in LATER):
        if work in by_work:
            yield ''
            yield f'### {work[0].upper()}{work[1:]} ({len(by_work[work])})'
            yield ''
            yield ', '.join(f'`{name}`' for name in by_work[work])


def not_yet() -> str:
    """The source of a module that lists, by package, the names and modules that are still to come."""
    api = json.loads(API.read_text(encoding='utf-8'))
    absent: dict[str, set[str]] = {}
    for namespace, names in api.items():
        if namespace in LEFT_OUT:
            continue
        if module_of(namespace) is None:
            parent, _, child = namespace.rpartition('.')
            absent.setdefault(parent, set()).add(child)
        else:
            missing = {name for name in missing_names(namespace, names) if '.' not in name}
            absent.setdefault(namespace, set()).update(missing)
    packages = sorted(
        namespace for namespace in absent if absent[namespace] and hasattr(module_of(namespace), '__path__')
    )
    return '\n'.join([*_HEAD_OF_NOT_YET, *(line for n in packages for line in _entry(n, absent[n])), '}']) + '\n'


_HEAD_OF_NOT_YET = [
    '"""Names of Chainer 7.8.1 that are still to come, by package; written by ``make docs``."""',
    '',
    'NOT_YET = {',
]


def _entry(namespace: str, names: set[str]) -> Iterator[str]:
    yield f'    \'minichainer{namespace.removeprefix("chainer")}\': """'
    yield textwrap.fill(' '.join(sorted(names)), 110, initial_indent=' ' * 8, subsequent_indent=' ' * 8)
    yield '    """,'


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description='Write docs/coverage.md and the names still to come.')
    parser.add_argument('--check', action='store_true', help='compare with the files, do not write them')
    args = parser.parse_args(argv)
    files = {DOCS / 'coverage.md': page(), NOT_YET: not_yet()}
    if not args.check:
        for target, text in files.items():
            target.write_text(text, encoding='utf-8')
        return 0
    outdated = [t for t, text in files.items() if not t.is_file() or t.read_text(encoding='utf-8') != text]
    if not outdated:
        return 0
    print(f'{", ".join(map(str, outdated))}: out of date; run: make docs', file=sys.stderr)
    return 1


if __name__ == '__main__':
    sys.exit(main())
