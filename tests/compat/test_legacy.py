"""The styles of v1 and v2: programs in them give the figures that Chainer 1.24 gave, and nothing of them stays."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import compat, configuration, training
from minichainer.compat.legacy import Dialect, advice_on
from minichainer.compat.legacy import keywords, names
from minichainer.compat.legacy.volatile import AUTO, OFF, ON, flag
from minichainer.training import extensions
from tests.compat import v1_idioms

RECORDED = json.loads((Path(__file__).parent / 'v1_idioms.json').read_text(encoding='utf-8'))


@pytest.fixture
def v1() -> Iterator[Dialect]:
    with Dialect('v1') as dialect:
        yield dialect


@pytest.fixture
def alias() -> Iterator[None]:
    compat.install()
    yield
    compat.uninstall()


def assert_same(value: Any, recorded: Any) -> None:
    if isinstance(recorded, list):
        assert isinstance(value, list) and len(value) == len(recorded)
        for mine, theirs in zip(value, recorded, strict=True):
            assert_same(mine, theirs)
    elif isinstance(recorded, float):
        assert value == pytest.approx(recorded, rel=2e-4, abs=2e-6)
    else:
        assert value == recorded


# --- whole programs ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize('name', v1_idioms.PROGRAMS)
def test_a_program_of_v1_gives_its_figures(name: str, v1: Dialect, alias: None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # zerograds is deprecated; the GAN modifies arrays that a gradient needs
        assert_same(v1_idioms.run(v1_idioms.PROGRAMS[name]), RECORDED[name])


def test_every_program_is_recorded() -> None:
    assert RECORDED.keys() == v1_idioms.PROGRAMS.keys()
