"""Variable and Parameter have every member that Chainer gives them, with the same arguments."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minichainer as chainer

API = json.loads((Path(__file__).parents[1] / 'reference' / 'chainer_api.json').read_text(encoding='utf-8'))
#: Members whose recorded signature says other words for the same.
OTHER_WORDS = {'__init__': 'annotated with types of other packages', '__getitem__': 'F.get_item, self is called x'}
INSTANCES = {'Variable': chainer.Variable(np.ones((2, 3))), 'Parameter': chainer.Parameter(0.0, (2, 3))}
MEMBERS = [(name, member, kind) for name in INSTANCES for member, kind in API['chainer'][name]['members'].items()]


#: Arguments that Chainer does not have, to be given by name.
MORE_BY_NAME = {'backward': ['gradient', 'retain_graph', 'create_graph', 'inputs']}


def _arguments(signature: inspect.Signature) -> list[Any]:
    return [(p.name, p.kind, p.default) for p in signature.parameters.values()]


@pytest.mark.parametrize(('owner', 'member', 'recorded'), MEMBERS, ids=[f'{m[0]}.{m[1]}' for m in MEMBERS])
def test_member_is_there_with_the_same_arguments(owner: str, member: str, recorded: str) -> None:
    instance = INSTANCES[owner]
    assert hasattr(instance, member)
    if recorded.startswith('(') and member not in OTHER_WORDS:
        expected = eval(f'lambda {recorded.partition(")")[0][1:]}: None', {})
        found = _arguments(inspect.signature(getattr(type(instance), member)))
        more = MORE_BY_NAME.get(member, [])
        assert [p for p in found if p[0] not in more] == _arguments(inspect.signature(expected))
        assert [p[0] for p in found if p[0] in more and p[1] is inspect.Parameter.KEYWORD_ONLY] == more
    else:
        assert (member in OTHER_WORDS) == recorded.startswith('(')
