"""Forms in which programs of v1 give arguments that are gone: ``port`` keeps the figures, or lists the place.

What is called is seldom written as the name of a function or as a link that the class assigns: it is in a list, made
by ``getattr``, or an argument.
"""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip('libcst', reason='rewriting of programs needs the extra `port`')

from minichainer import compat
from minichainer.compat.__main__ import main
from minichainer.compat.legacy import former
from minichainer.compat.port.rewriter import rewrite

HEAD = """import numpy as np
from functools import partial
import chainer, chainer.functions as F, chainer.links as L
np.random.seed(0)
x = np.random.randn(6, 3).astype('f')
image = np.random.randn(2, 3, 6, 6).astype('f')
"""
#: The body of ``__call__(self, x, test)`` of a chain with ``bn``.
BODIES = {
    'in a list': 'return self.layers[0](self.a(x), test=test)',
    'in a dict': "return self.d['bn'](self.a(x), test=test)",
    'getattr': "return getattr(self, 'bn')(self.a(x), test=test)",
    'getattr with a format': "return getattr(self, 'b%s' % 'n')(self.a(x), test=test)",
    'by index': "return self['bn'](self.a(x), test=test)",
    'another name': 'bn = self.bn\n        return bn(self.a(x), test=test)',
    'another name, by place': 'bn = self.bn\n        return bn(self.a(x), test)',
    'a dict of arguments': "return self.bn(self.a(x), **{'test': test})",
    'a dict of arguments with a name': "kw = {'test': test}\n        return self.bn(self.a(x), **kw)",
    'a dict of arguments, filled': "kw = {}\n        kw['test'] = test\n        return self.bn(self.a(x), **kw)",
    'a dict by a call': 'kw = dict(test=test)\n        return self.bn(self.a(x), **kw)',
    'a function with another name': 'f = F.dropout\n        return f(self.a(x), train=not test)',
    'a function in an attribute': 'return self.drop(self.a(x), train=not test)',
    'a function in a list': 'return [f(self.a(x), train=not test) for f in (F.dropout,)][0]',
    'a function by getattr': "return getattr(F, 'dropout')(self.a(x), train=not test)",
    'a function by a name that a run knows': "n = 'drop' + 'out'\n        return getattr(F, n)(x, train=not test)",
    'the method': 'return self.bn.__call__(self.a(x), test=test)',
    'children': 'return [c(self.a(x), test=test) for c in self.children() if c.name == "bn"][0]',
    'one of two': 'return (self.bn if test else self.bn)(self.a(x), test=test)',
    'partial': 'return partial(F.dropout, train=not test)(self.a(x))',
    'partial of another name': 'b = self.bn\n        return partial(b, test=test)(self.a(x))',
    'an argument': 'return apply_to(self.bn, self.a(x), not test)',
    'an argument of a lambda': 'return (lambda b: b(self.a(x), test=test))(self.bn)',
    'by place': 'return self.bn(self.a(x), test)',
    'a function by place': 'return F.dropout(self.a(x), .5, not test)',
    'cudnn of a function in a dict': "return {'s': F.softmax}['s'](self.a(x), use_cudnn=not test)",
    'cudnn of a function with another name': 'soft = F.softmax\n        return soft(self.a(x), use_cudnn=False)',
}
APPLY = """
def apply_to(b, h, train):
    return b(h, test=not train)
"""
NET = """
class Net(chainer.Chain):
    def __init__(self):
        layers = {LAYERS}
        super(Net, self).__init__(a=L.Linear(3, 3), **layers)
        self.layers, self.d, self.drop = [self['bn']], {'bn': self['bn']}, F.dropout
    def __call__(self, x, test):
        BODY
net = Net()
def value(test):
    np.random.seed(1)
    return net(chainer.Variable(x), test=test).data
result = [value(True), value(False), value(True), net['bn'].avg_var]
"""
#: How the chain gets its link: as the tool sees it, and as it does not.
LAYERS = {
    'a dict': "{'bn': L.BatchNormalization(3)}",
    'a comprehension': '{n: L.BatchNormalization(3) for n in ("bn",)}',
}
#: Whole programs.
PROGRAMS = {
    'a list of links': """
class Net(chainer.ChainList):
    def __init__(self):
        super(Net, self).__init__(L.Linear(3, 3), L.BatchNormalization(3))
    def __call__(self, x, test=False):
        return self[1](self[0](x), test=test)
net = Net()
result = [net(chainer.Variable(x)).data, net(chainer.Variable(x), test=True).data]
""",
    'blocks and links': """
class Block(chainer.Chain):
    def __init__(self, bn=True):
        self.bn, layers = bn, {'c': L.Linear(3, 3)}
        if bn:
            layers['batchnorm'] = L.BatchNormalization(3)
        super(Block, self).__init__(**layers)
    def __call__(self, x, test):
        h = self.c(x)
        return self.batchnorm(h, test=test) if self.bn else h
class Net(chainer.Chain):
    def __init__(self):
        layers = {}
        layers['a'] = Block()
        layers['b'] = Block(False)
        super(Net, self).__init__(**layers)
    def __call__(self, x, test=False):
        for name in 'ab':
            x = self[name](x, test=test)
        return x
net = Net()
result = [net(chainer.Variable(x)).data, net(chainer.Variable(x), test=True).data]
""",
    'own functions and functions of Chainer': """
def dropout(h, ratio=.5, train=True):
    return F.dropout(h, ratio, train)
def both(x, train):
    for f in (dropout, F.dropout):
        x = f(x, train=train)
    return x
result = [both(chainer.Variable(x), False).data]
""",
    'an inherited call': """
class Cell(L.BatchNormalization):
    def __call__(self, x, test=False):
        return super(Cell, self).__call__(F.relu(x), test=test)
cell = Cell(3)
result = [cell(chainer.Variable(x)).data, cell(chainer.Variable(x), test=True).data, cell.avg_var]
""",
    'classes with other names': """
Conv, kw = L.Convolution2D, dict(wscale=2.)
result = [Conv(3, 2, 3, wscale=2., bias=.5)(image).data, L.Linear(3, 2, **kw)(x).data,
          Conv(3, 2, 3, use_cudnn=False, deterministic=True)(image).data]
""",
    'classes as attributes': """
class Net(chainer.Chain):
    layer = L.Linear
    def __init__(self, **kw):
        super(Net, self).__init__(l=self.layer(3, 2, wscale=3., **kw))
result = [Net(bias=.2).l(x).data, Net().l.W.data]
""",
    'arguments that are passed on': """
class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__(bn=L.BatchNormalization(3))
    def __call__(self, x, **kwargs):
        return self.bn(x, **kwargs)
net = Net()
result = [net(chainer.Variable(x), test=False).data, net(chainer.Variable(x), test=True).data]
""",
    'arguments of pooling': """
kw, pool = {'stride': 2, 'use_cudnn': False}, F.max_pooling_2d
result = [F.max_pooling_2d(image, 2, **kw).data, pool(image, 2, **kw).data]
""",
}
#: Those of which a place is listed.
LISTED = {f'{name}, {layers}' for name in ('an argument', 'another name, by place', 'partial') for layers in LAYERS}
LISTED.add('by place, a comprehension')
for _layers, _code in LAYERS.items():
    for _name, _body in BODIES.items():
        _lines = NET.replace('{LAYERS}', _code).replace('BODY', _body)
        PROGRAMS[f'{_name}, {_layers}'] = APPLY * ('apply_to' in _body) + _lines


def figures(source: str | bytes) -> list[Any]:
    names: dict[str, Any] = {'__name__': 'program'}
    exec(compile(source, 'program', 'exec'), names)
    return [np.asarray(value) for value in names['result']]


def as_in_v1(source: str) -> list[Any]:
    compat.install(legacy='v1')
    try:
        return figures(source)
    finally:
        compat.uninstall()


@pytest.mark.parametrize('name', PROGRAMS)
@pytest.mark.filterwarnings('ignore')
def test_the_figures_are_the_same_or_a_place_is_listed(name: str) -> None:
    source = HEAD + PROGRAMS[name]
    new, notes = rewrite(source)
    assert rewrite(new)[0] == new
    places = [found[0] for found in notes.found if found[2] != 'done']
    try:
        result = figures(new)
    except Exception:
        listed = [source.splitlines()[line - 1] for line in places]
        assert any(word in line for line in listed for word in ('test=', 'train=', 'use_cudnn=', 'test)'))
        return
    finally:
        former.switch_off()
    for value, expected in zip(result, as_in_v1(source), strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-6)
    assert not places


def test_what_only_chainer_can_take_is_ported() -> None:
    """A place that is listed costs a person time: few forms are."""
    listed = {
        name for name in PROGRAMS if any(found[2] != 'done' for found in rewrite(HEAD + PROGRAMS[name])[1].found)
    }
    assert listed == LISTED


#: Programs for later versions, whose own functions have such arguments.
OWN = {
    'a function': 'def f(x, train):\n    return x\nf(x, train=True)',
    'a method': 'class A:\n    def f(self, x, test):\n        return x\na = A()\na.f(x, test=1)\n[a][0].f(x, test=1)',
    'a call': 'class A(chainer.Chain):\n    def __call__(self, x, test):\n        return x\na = A()\na(x, test=True)',
    'a call of forward': 'class A(chainer.Chain):\n    def forward(self, x, test):\n        return x\nA()(x, test=1)',
    'an inherited call': 'class B(chainer.Chain):\n    def __call__(self, x, train):\n        return x\n'
    'class A(B):\n    pass\na = A()\na(x, train=True)',
    'a part': 'class B(chainer.Chain):\n    def __call__(self, x, train):\n        return x\n'
    'class A(chainer.Chain):\n    def __init__(self):\n        super().__init__()\n        with self.init_scope():\n'
    '            self.b = B()\n    def __call__(self, x, train):\n        return self.b(x, train=train)',
    'a constructor': 'class A:\n    def __init__(self, train):\n        pass\nA(train=True)',
    'another library': 'import loader\nloader.load(train=1)\ndata = loader.Data()\ndata.get(test=1)\ndata(x, test=1)',
    'a list of parts': 'class B(chainer.Chain):\n    def __call__(self, x, train):\n        return x\n'
    'bs = [B()]\nfor b in bs:\n    b(x, train=True)\nF.dropout(x)',
    'itself': 'class A(chainer.Chain):\n    def __call__(self, x, train):\n        return self(x, train=not train)',
    'by place': 'bn, train = L.BatchNormalization(3), True\nfor f in (print, repr):\n    f(x, train)',
}  # fmt: skip


@pytest.mark.parametrize('name', OWN)
def test_programs_of_later_versions_stay(name: str) -> None:
    _, notes = rewrite(HEAD + 'bn = L.BatchNormalization(3)\n' * ('test' not in OWN[name]) + OWN[name])
    assert not notes.show_v1
    assert [found for found in notes.found if found[3] != 'import'] == []


def test_what_may_be_a_link_or_own_is_listed() -> None:
    own = 'class A(chainer.Chain):\n    def __call__(self, x, test):\n        return x\n'
    _, notes = rewrite(
        f'{HEAD}{own}def f(fs):\n    return [f(x, test=True) for f in fs]\nbn = L.BatchNormalization(3)\n'
    )
    ((line, _, kind, rule, _, write, _),) = [found for found in notes.found if found[2] != 'done']
    assert (line, kind, rule) == (11, 'attention', 'v1-keyword')
    assert "using_config('train', not test)" in write
    assert "switch_on('keywords')" in write
    assert not notes.show_v1


def test_what_nothing_takes_is_listed() -> None:
    _, notes = rewrite(f'{HEAD}def f(model):\n    return model(x, test=True)\n')
    assert [found[3] for found in notes.found if found[2] != 'done'] == ['v1-keyword']


def test_a_model_in_another_file_is_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / 'net.py').write_text(
        f'{HEAD}class A(chainer.Chain):\n    def __call__(self, x, test):\n        return x\n'
    )
    (tmp_path / 'train.py').write_text(f'{HEAD}import net\nm = {{"a": net.A}}["a"]()\nm(x, test=True)\n')
    with contextlib.redirect_stderr(io.StringIO()):
        assert main(['check', str(tmp_path)]) == 0
    assert 'places for a person: 0' in capsys.readouterr().out


def test_a_volatile_variable_with_another_name_is_listed_with_what_works() -> None:
    _, notes = rewrite(f"{HEAD}V = chainer.Variable\nV(x, volatile='on')\n")
    ((line, _, _, rule, _, write, _),) = [found for found in notes.found if found[2] != 'done']
    assert (line, rule) == (8, 'volatile')
    assert write.endswith("former.switch_on('volatile')")


@pytest.mark.parametrize('keyword', ['test', 'train', 'volatile', 'use_cudnn', 'deterministic', 'wscale'])
def test_each_argument_is_listed_where_nobody_knows(keyword: str) -> None:
    _, notes = rewrite(f'{HEAD}def f(model):\n    return model(x, {keyword}=True)\n')
    assert notes.show_v1 or [found for found in notes.found if found[2] == 'attention']
