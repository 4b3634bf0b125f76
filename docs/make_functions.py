"""Writes docs/functions.md: every function, how often it can be differentiated, and where it differs from Chainer.

python docs/make_functions.py            # write
python docs/make_functions.py --check    # only say whether the file is up to date

What stands there is read from the table of tests (tests/functions), from the figures recorded of Chainer
(tests/reference), and from the exceptions below.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
REFERENCE = ROOT / 'tests' / 'reference'

FAMILIES = {
    'activation': 'Activations',
    'array': 'Arrays',
    'attention': 'Attention',
    'connection': 'Connections',
    'evaluation': 'Measures',
    'loss': 'Losses',
    'math': 'Mathematics',
    'noise': 'Noise',
    'normalization': 'Normalization',
    'pooling': 'Pooling',
    'rnn': 'Recurrent networks',
    'util': 'Tools',
    '': 'Defining functions',
}
#: Public name: where it differs from Chainer 7.8.1 on purpose, beyond what the recorded figures tell.
EXCEPTIONS = {
    'average': 'weights of another shape are refused, not broadcast; the mean of nothing is NaN',
    'black_out': 'an unknown `reduce` is refused',
    'cholesky': 'float16 too',
    'connectionist_temporal_classification': (
        'labels that cannot be aligned have an infinite loss with gradient 0, not 1e10; int64 labels too'
    ),
    'discriminative_margin_based_clustering_loss': 'any batch size; `norm=2` has a gradient where a distance is 0',
    'dropout': 'a mask of another shape is refused, not broadcast',
    'einsum': 'axes of `...` broadcast, as in NumPy; dtypes may differ',
    'fliplr': 'integers too',
    'hinge': 'the incoming gradient is not divided in place',
    'log_softmax': 'arrays without elements too',
    'logsumexp': 'minus infinity with gradient 0 where all elements are; infinity where one is',
    'mean': 'as `average`',
    'moveaxis': 'integers too',
    'permutate': 'a negative axis counts from the end',
    'softmax': 'arrays without elements too',
    'softmax_cross_entropy': (
        'labels out of range are a ValueError; the gradient is right where a row of soft targets does not sum to 1;'
        ' soft targets have a gradient with `enable_double_backprop=True`, where Chainer refuses them'
    ),
    'sparse_matmul': 'matrices without rows or columns too',
}


def family_of(name: str) -> str:
    """The folder of the module that defines a function."""
    import minichainer.functions as functions

    parts = getattr(functions, name).__module__.split('.')[2:]
    return 'math' if parts == ['arithmetic'] else parts[0] if len(parts) > 1 else ''


def orders() -> dict[str, int]:
    """Name: up to which order its gradients are tested; 0 where it has none."""
    from tests.functions.table import ROWS

    found: dict[str, int] = {}
    for row in ROWS:
        found[row.name] = max(row.order, found.get(row.name, 0))
    return found


def derivative(name: str, tested: dict[str, int]) -> str:
    """What the table says about a function's derivatives."""
    from tests.functions.table import EXEMPT

    if name not in tested:
        return EXEMPT.get(name, 'no row of tests yet').partition(';')[0]
    return ['no gradient', 'no', 'yes'][min(tested[name], 2)]


def recorded_notes() -> dict[str, list[str]]:
    """What the recorded figures tell: where Chainer cannot differentiate twice, and which cases differ on purpose."""
    from tests.reference.pending import DIFFERENT

    cases = json.loads((REFERENCE / 'functions.json').read_text(encoding='utf-8'))['cases']
    notes: dict[str, list[str]] = {}
    tested = orders()
    for name in dict.fromkeys(case['target'] for case in cases if 'double_error' in case):
        if tested.get(name, 0) > 1:
            notes.setdefault(name, []).append('Chainer: once, in some cases at least')
    for name in dict.fromkeys(case['target'] for case in cases if case.get('numeric', {}).get('g2') is False):
        notes.setdefault(name, []).append("Chainer's second derivative is wrong")
    for family in ('functions', 'errors'):
        for target, reason in DIFFERENT.get(family, {}).items():
            notes.setdefault(target.split('/')[0], []).append(reason)
    return notes


def page() -> str:
    import minichainer.functions as functions

    names = sorted(functions.__all__)
    unknown = sorted(set(EXCEPTIONS) - set(names))
    if unknown:
        raise ValueError(f'EXCEPTIONS of docs/make_functions.py has names that do not exist: {unknown}')
    return '\n'.join([*_head(len(names)), *_tables(names)]) + '\n'


def _head(count: int) -> Iterator[str]:
    yield '# Functions'
    yield ''
    yield 'Written by `make docs`, from the table of tests and the figures recorded of Chainer 7.8.1.'
    yield ''
    yield f'`minichainer.functions` has {count} names. "Twice" says whether the gradient can itself be'
    yield 'differentiated: "yes" means that the second derivative is compared with numerical differentiation.'
    yield '"GPU" says whether its rows are among the tests that have passed on a device of CUDA, on one kind so far,'
    yield f'last on {_last_run_on_a_device()} (`gpu.md`). Arguments and examples are in the docstrings:'
    yield '`help(F.name)`.'


def _last_run_on_a_device() -> str:
    page = (DOCS / 'gpu.md').read_text(encoding='utf-8')
    return max(re.findall(r'^\| (\d{4}-\d\d-\d\d) \|', page, re.MULTILINE))


def _tables(names: list[str]) -> Iterator[str]:
    from_chainer = json.loads((REFERENCE / 'chainer_api.json').read_text(encoding='utf-8'))['chainer.functions']
    tested, notes = orders(), recorded_notes()
    for family, title in FAMILIES.items():
        members = [name for name in names if family_of(name) == family]
        if not members:
            continue
        yield from ('', f'## {title}', '', '| function | what it does | twice | GPU | beside Chainer 7.8.1 |')
        yield '|---|---|---|---|---|'
        for name in members:
            own = [] if name in from_chainer else ['not in Chainer']
            beside = '; '.join([*own, *notes.get(name, []), *([EXCEPTIONS[name]] if name in EXCEPTIONS else [])])
            twice = derivative(name, tested) if family else ''
            on_device = 'yes' if name in tested else 'no row' if family else ''
            yield f'| `{name}` | {summary(name)} | {twice} | {on_device} | {beside} |'


def summary(name: str) -> str:
    """The first sentence of a docstring, without the formula at its end."""
    import minichainer.functions as functions

    first = (inspect.getdoc(getattr(functions, name)) or '').split('\n\n')[0].replace('\n', ' ')
    words = first.split(', :math:')[0].split(': :math:')[0].split('; ')[0]
    words = re.sub(':math:`([^`]*)`', r'$\1$', words).replace('``', '`')
    return words.rstrip('.').replace('|', '\\|')


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description='Write docs/functions.md.')
    parser.add_argument('--check', action='store_true', help='compare with the file, do not write it')
    args = parser.parse_args(argv)
    sys.path.insert(0, str(ROOT))
    target, text = DOCS / 'functions.md', page()
    if not args.check:
        target.write_text(text, encoding='utf-8')
        return 0
    if target.is_file() and target.read_text(encoding='utf-8') == text:
        return 0
    print(f'{target} is out of date; run: make docs', file=sys.stderr)
    return 1


if __name__ == '__main__':
    sys.exit(main())
