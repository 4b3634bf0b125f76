"""What exists under the alias only, and functions in FunctionSets: ``port`` lists each place, or the figures stay."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip('libcst', reason='rewriting of programs needs the extra `port`')

from minichainer import compat
from minichainer.compat import members
from minichainer.compat.port.rewriter import rewrite

HEAD = 'import numpy as np, sys, importlib, chainer\nimport chainer.functions as F, chainer.links as L\n'
#: A line, and what its note says.
LISTED = {
    "sys.modules['chainer']": 'text',
    "sys.modules['chainer.links']": 'text',
    "sys.modules.get('chainer')": 'text',
    "importlib.import_module('chainer')": 'text',
    "importlib.import_module('chainer.links')": 'text',
    "importlib.import_module(u'chainer.functions.%s' % name)": 'text',
    "importlib.import_module(f'chainer.functions.{name}')": 'text',
    "__import__('chainer')": 'text',
    "exec('import chainer')": 'text',
    "exec('import numpy; import chainer.links as L')": 'text',
    "exec('x = 1\\nfrom chainer import links')": 'text',
    "code = 'import chainer'": 'text',
    "subprocess.run([sys.executable, '-c', 'import chainer'])": 'text',
    "importlib.metadata.version('chainer')": 'text',
    "version('chainer')": 'text',
    "pkg_resources.get_distribution('chainer').version": 'text',
    'optimizer._pre_update_hooks': 'alias',
    'model.l1.W._grad': 'alias',
    'L.BatchNormalization(3)._highprec_dtype': 'alias',
    'model[0].W._grad.sum()': 'alias',
}


@pytest.mark.parametrize('line', LISTED)
def test_listed(line: str) -> None:
    new, notes = rewrite(f'{HEAD}{line}\n')
    ((where, _, kind, rule, _, _, _),) = [found for found in notes.found if found[2] != 'done']
    assert (where, kind, rule) == (3, 'attention', LISTED[line])
    assert new.decode().splitlines()[-1] == line


@pytest.mark.parametrize('name', sorted({row[1] for rows in members.rows().values() for row in rows}))
def test_each_private_member_is_listed_with_what_exists(name: str) -> None:
    _, notes = rewrite(f'{HEAD}thing.{name}\n')
    written = [found[5] for found in notes.found if found[3] == 'alias']
    assert bool(written) == (name.startswith('_') and not name.endswith('__'))
    assert not any(re.search(r'\._(?!_)', text) for text in written)


@pytest.mark.parametrize(
    'source',
    [
        '"""Write\nimport chainer\n"""',
        "print('cannot import chainer here')",
        'class A:\n    def __init__(self):\n        self._grad = 3\n    def f(self):\n        return self._grad',
        'class A:\n    def _done(self):\n        return 3\n    def f(self):\n        return self._done()',
        "sys.modules['numpy']",
        "parser.add_argument('--version')",
        "version('numpy')",
    ],
)
def test_left_alone(source: str) -> None:
    assert [found for found in rewrite(f'{HEAD}{source}\n')[1].found if found[2] != 'done'] == []


def test_what_other_modules_of_the_program_define_is_left_alone() -> None:
    from minichainer.compat.port.program import Program

    program = Program([f'{HEAD}model._grad\n', 'class A:\n    _grad = 3\n'])
    assert not [found for found in rewrite(f'{HEAD}model._grad\n', program=program)[1].found if found[3] == 'alias']


def test_a_trigger_as_in_v1_runs_ported(tmp_path: Path) -> None:
    source = "import chainer\nprint(type(chainer.training.trigger.get_trigger((1, 'epoch'))).__name__)\n"
    path = tmp_path / 'program.py'
    path.write_bytes(rewrite(source)[0])
    done = subprocess.run(
        [sys.executable, '-W', 'ignore', str(path)],
        capture_output=True, text=True, check=False, env={'PYTHONPATH': str(Path(compat.__file__).parents[2])},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, 'IntervalTrigger\n'), done.stderr


def test_the_alias_is_an_installed_package() -> None:
    compat.install()
    try:
        assert importlib.metadata.version('chainer') == '7.8.1'
        assert importlib.metadata.distribution('Chainer').metadata['Name'] == 'chainer'
        with pytest.raises(importlib.metadata.PackageNotFoundError):
            importlib.metadata.version('chainers')
    finally:
        compat.uninstall()
    with pytest.raises(importlib.metadata.PackageNotFoundError):
        importlib.metadata.version('chainer')


OF_V1 = """import numpy as np, chainer, chainer.functions as F
from chainer import FunctionSet, Variable
class Act(chainer.Function):
    def forward(self, xs):
        return xs[0] * 2,
    def backward(self, xs, gs):
        return gs[0] * 2,
x = Variable(np.arange(12, dtype='f').reshape(4, 3))
np.random.seed(0)
"""
SETS = {
    'a function of the program': 'model = FunctionSet(l=F.Linear(3, 2), f=Act())\nresult = model.f(model.l(x)).data',
    'a class of v1': 'model = FunctionSet(l=F.Linear(3, 2), f=F.ReLU())\nresult = model.f(model.l(x)).data',
    'a function': 'model = FunctionSet(l=F.Linear(3, 2), f=F.relu)\nresult = model.f(model.l(x)).data',
    'a dict': "fs = {'l': F.Linear(3, 2), 'f': Act()}\nmodel = FunctionSet(**fs)\nresult = model.f(model.l(x)).data",
    'a variable': 'f = Act()\nmodel = FunctionSet(l=F.Linear(3, 2), f=f)\nresult = model.f(model.l(x)).data',
    'later': 'model = FunctionSet(l=F.Linear(3, 2))\nmodel.f = Act()\nresult = model.f(model.l(x)).data',
}


@pytest.mark.parametrize('name', SETS)
@pytest.mark.filterwarnings('ignore')
def test_functions_in_a_function_set(name: str) -> None:
    source = OF_V1 + SETS[name]
    new, notes = rewrite(source)
    assert rewrite(new)[0] == new
    assert [found for found in notes.found if found[2] != 'done'] == []
    ported: dict[str, Any] = {'__name__': 'program'}
    exec(new, ported)
    compat.install(legacy='v1')
    try:
        original: dict[str, Any] = {'__name__': 'program'}
        exec(source, original)
    finally:
        compat.uninstall()
    assert (ported['result'] == original['result']).all()


def test_functions_in_a_class_derived_from_function_set_are_listed() -> None:
    lines = (
        'class M(FunctionSet):\n    def __init__(self):\n        super(M, self).__init__(l=F.Linear(3, 2), f=Act())\n'
    )
    ((_, _, _, rule, was, write, _),) = [found for found in rewrite(OF_V1 + lines)[1].found if found[2] != 'done']
    assert (rule, was) == ('FunctionSet', 'Act()')
    assert write.startswith('self.f = Act()')


WITH_ARRAYS = """class Lin(chainer.Function):
    parameter_names = ('W',); gradient_names = ('gW',)
    def __init__(self):
        self.W, self.gW = np.ones((3, 2), 'f'), np.zeros((3, 2), 'f')
    def forward(self, xs):
        return xs[0].dot(self.W),
    def backward(self, xs, gs):
        self.gW += xs[0].T.dot(gs[0])
        return gs[0].dot(self.W.T),
model = FunctionSet(f=Lin())
"""


def test_arrays_of_a_function_are_listed() -> None:
    ((line, _, _, rule, _, write, why),) = [
        found for found in rewrite(OF_V1 + WITH_ARRAYS)[1].found if found[2] != 'done'
    ]
    assert (OF_V1 + WITH_ARRAYS).splitlines()[line - 1].strip().startswith('parameter_names')
    assert rule == 'FunctionSet'
    assert 'chainer.Parameter(W)' in write
    assert 'no optimizer' in why


def test_arrays_of_a_function_are_not_trained_in_silence() -> None:
    compat.install(legacy='v1')
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter('always')
            exec(OF_V1 + WITH_ARRAYS, {'__name__': 'program'})
    finally:
        compat.uninstall()
    assert any('no optimizer updates' in str(warning.message) for warning in caught)
