"""The programs of the corpus use, together, all names that old programs have in common."""

import ast
import json

import pytest

from tests.compat import program_names, record_programs

PROGRAMS = sorted((program_names.HERE / 'programs').glob('v[1-7]_*.py'))
ROWS = json.loads(program_names.LIST.read_text(encoding='utf-8'))


def test_each_name_is_used_by_a_program_or_left_out_with_a_reason():
    programs, reasons = program_names.corpus().values(), program_names.left_out()
    unused = [
        f'{row["kind"]} {row["name"]}'
        for row in ROWS
        if row['name'] not in reasons and not any(program_names.uses(names, row) for names in programs)
    ]
    assert not unused


def test_what_is_left_out_is_on_the_list():
    assert set(program_names.left_out()) <= {row['name'] for row in ROWS}


def test_at_least_sixty_programs_of_all_dialects():
    assert len(PROGRAMS) >= 60
    assert {path.name[:2] for path in PROGRAMS} == {f'v{n}' for n in range(1, 8)}


@pytest.mark.parametrize('path', PROGRAMS, ids=lambda p: p.stem)
def test_a_program_says_its_dialect_and_is_of_real_length(path):
    text = path.read_text(encoding='utf-8')
    assert record_programs.description(path)['rtol'] > 0
    assert sum(bool(line.strip()) for line in text.splitlines()) >= 30


@pytest.mark.parametrize(
    ('text', 'used', 'unused'),
    [
        ('import chainer.functions as F\nF.relu(x)', 'chainer.functions.relu', 'chainer.relu'),
        ('from chainer import functions\nfunctions.relu(x)', 'chainer.functions.relu', '.relu2'),
        ('from chainer.functions import relu as r\nr(x)', 'chainer.functions.relu', 'chainer.functions.r'),
        ('model.cleargrads()', '.cleargrads', 'chainer.cleargrads'),
    ],
)
def test_imports_are_followed(text, used, unused):
    names = program_names.Names(ast.parse(text)).used
    assert used in names and unused not in names


def test_a_method_counts_for_the_bases_of_a_base_of_the_programs_own():
    text = 'import chainer\nclass A(chainer.link.Chain):\n def f(self): 0\nclass B(A):\n def __call__(self): 0'
    assert 'chainer.Chain.__call__' in program_names.Names(ast.parse(text)).overridden


@pytest.mark.parametrize(
    ('text', 'found'),
    [('loss 1.5\nepoch  2\n1 2\nacc@3 -1e-05', {'loss': 1.5, 'acc@3': -1e-5}), ('a/b 3\ntext here', {'a/b': 3.0})],
)
def test_figures_are_lines_of_name_and_value(text, found):
    assert record_programs.figures_of(text) == found


@pytest.mark.parametrize('text', ['', 'loss 1\nloss 2', 'no figure'])
def test_no_figure_and_a_figure_twice_are_errors(text):
    with pytest.raises(ValueError, match='figure'):
        record_programs.figures_of(text)
