"""Programs of Chainer 1 after ``compat port``, compared with the figures that Chainer 1.24 gave."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip('libcst', reason='rewriting of programs needs the extra `port`')

from minichainer.compat.legacy import former
from minichainer.compat.port.rewriter import rewrite
from tests.compat import v1_idioms

RECORDED = json.loads((Path(__file__).parent / 'v1_idioms.json').read_text(encoding='utf-8'))
#: Programs that are ported, with nothing for a person, and differ nevertheless, with the reason.
DIFFERENT = {
    'evaluation by the Trainer leaves dropout to the model': 'Evaluator sets train to False',
}


def same(value: Any, recorded: Any) -> bool:
    if isinstance(recorded, list):
        return len(value) == len(recorded) and all(map(same, value, recorded))
    if isinstance(recorded, float):
        return bool(np.isclose(value, recorded, rtol=2e-4, atol=2e-6))
    return bool(value == recorded)


def ported(name: str) -> tuple[bytes, bool]:
    """The new source, and whether nothing is left for a person."""
    new, notes = rewrite(v1_idioms.HEAD + v1_idioms.PROGRAMS[name], is_v1=True)
    return new, all(found[2] == 'done' for found in notes.found)


@pytest.mark.parametrize('name', v1_idioms.PROGRAMS)
@pytest.mark.filterwarnings('ignore')
def test_figures(name: str) -> None:
    new, complete = ported(name)
    assert rewrite(new)[0] == new
    if not complete:
        return  # it would be run by nobody before a person has done the rest
    names: dict[str, Any] = {'__name__': 'program'}
    try:
        exec(compile(new, name, 'exec'), names)
    finally:
        former.switch_off()
    figures = json.loads(json.dumps(v1_idioms.figures(names['result'])))
    assert same(figures, RECORDED[name]) == (name not in DIFFERENT), DIFFERENT.get(name)


def test_most_are_ported_completely() -> None:
    complete = [name for name in v1_idioms.PROGRAMS if ported(name)[1]]
    assert len(complete) >= 27
    assert set(DIFFERENT) <= set(complete)
