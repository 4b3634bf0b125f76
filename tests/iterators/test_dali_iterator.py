"""DaliIterator over a pipeline that only counts, and without the library."""

from __future__ import annotations

from typing import Any

import pytest

import minichainer
from minichainer.iterators import DaliIterator, dali_iterator
from minichainer.serializers.npz import DictionarySerializer, NpzDeserializer


class Pipeline:
    batch_size = 4

    def __init__(self) -> None:
        self.builds = self.runs = 0

    def build(self) -> None:
        self.builds += 1

    def epoch_size(self) -> dict[str, int]:
        return {'Reader': 10}

    def run(self) -> tuple[str, int]:
        self.runs += 1
        return 'images', self.runs


@pytest.fixture
def dali(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dali_iterator, '_has_dali', lambda: True)
    monkeypatch.setattr(minichainer, 'disable_experimental_feature_warning', True)


def places(iterator: Any, n: int) -> list[Any]:
    found = []
    for _ in range(n):
        iterator.next()
        found.append((iterator.current_position, iterator.epoch, iterator.is_new_epoch, iterator.epoch_detail))
    return found


def test_it_says_what_to_install_and_that_it_is_experimental() -> None:
    with (
        pytest.warns(FutureWarning, match=r'DaliIterator is experimental\.'),
        pytest.raises(RuntimeError, match=r'nvidia\.dali is not installed; install the package'),
    ):
        DaliIterator(Pipeline())


@pytest.mark.usefixtures('dali')
def test_it_counts_as_chainers_does() -> None:
    iterator = DaliIterator(Pipeline())
    assert (iterator.epoch_detail, iterator.previous_epoch_detail, iterator.batch_size) == (0, None, 4)
    expected = [(4, 0, False, 0.4), (8, 0, False, 0.8), (2, 1, True, 1.2), (6, 1, False, 1.6)]
    assert places(iterator, 4) == expected
    assert iterator.previous_epoch_detail == 1.2
    assert iterator.next() == ('images', 5)
    assert iterator.pipeline.builds == 1


@pytest.mark.usefixtures('dali')
def test_it_ends() -> None:
    iterator = DaliIterator(Pipeline(), repeat=False)
    assert places(iterator, 3) == [(4, 0, False, 0.4), (8, 0, False, 0.8), (0, 1, True, 1.0)]
    with pytest.raises(StopIteration):
        iterator.next()
    iterator.reset()
    assert places(iterator, 1) == [(4, 0, False, 0.4)]


@pytest.mark.usefixtures('dali')
def test_it_goes_on_from_a_snapshot() -> None:
    iterator, other = DaliIterator(Pipeline()), DaliIterator(Pipeline())
    places(iterator, 4)
    serializer = DictionarySerializer()
    iterator.serialize(serializer)
    assert sorted(serializer.target) == ['current_position', 'epoch', 'is_new_epoch', 'previous_epoch_detail']
    other.serialize(NpzDeserializer(serializer.target))
    assert places(other, 3) == places(iterator, 3)
