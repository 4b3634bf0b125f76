"""The bases: DatasetMixin, Iterator, and the files kept on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minichainer.dataset import download
from minichainer.dataset.dataset_mixin import DatasetMixin
from minichainer.dataset.iterator import Iterator


class Tens(DatasetMixin):
    def __len__(self) -> int:
        return 4

    def get_example(self, i: int) -> int:
        return 10 * i


@pytest.mark.parametrize(
    ('index', 'want'),
    [
        (2, 20),
        (np.int64(2), 20),
        (np.array(2), 20),
        (slice(1, 3), [10, 20]),
        (slice(None, None, -2), [30, 10]),
        ([3, 0], [30, 0]),
        (np.array([3, 0]), [30, 0]),
        (slice(9), [0, 10, 20, 30]),
    ],
)
def test_indices(index: Any, want: Any) -> None:
    assert Tens()[index] == want


@pytest.mark.parametrize(
    ('call', 'message'),
    [
        (lambda: len(DatasetMixin()), '__len__'),
        (lambda: DatasetMixin()[0], 'get_example'),
        (lambda: next(Iterator()), '__next__'),
        (lambda: Iterator().next(), '__next__'),
    ],
)
def test_bases_say_what_to_define(call: Any, message: str) -> None:
    with pytest.raises(NotImplementedError, match=message):
        call()


def test_iterator_finalizes_at_the_end_of_a_with_block() -> None:
    calls = []

    class Counting(Iterator):
        def finalize(self) -> None:
            calls.append('finalize')

    with Counting() as iterator:
        assert iter(iterator) is iterator
        assert not calls
    assert calls == ['finalize']


@pytest.fixture
def root(tmp_path: Path) -> Any:
    before = download.get_dataset_root()
    download.set_dataset_root(str(tmp_path))
    yield tmp_path
    download.set_dataset_root(before)


def test_dataset_directory_is_made_on_demand(root: Path) -> None:
    assert download.get_dataset_directory('a/b', create_directory=False) == str(root / 'a/b')
    assert not (root / 'a').exists()
    download.get_dataset_directory('a/b')
    assert (root / 'a/b').is_dir()


def test_download_happens_once(root: Path) -> None:
    source = root / 'source'
    source.write_text('first')
    path = download.cached_download(source.as_uri())
    source.write_text('second')
    assert download.cached_download(source.as_uri()) == path
    assert Path(path).read_text() == 'first'


def test_failed_download_leaves_nothing(root: Path) -> None:
    with pytest.raises(OSError, match='missing'):
        download.cached_download((root / 'missing').as_uri())
    assert list((root / '_dl_cache').iterdir()) == []


def test_file_is_created_once_and_never_in_part(root: Path) -> None:
    def create(path: str) -> str:
        Path(path).write_text('made')
        return 'created'

    def fail(path: str) -> str:
        Path(path).write_text('half')
        raise RuntimeError('stop')

    path = root / 'x' / 'file'
    with pytest.raises(RuntimeError, match='stop'):
        download.cache_or_load_file(str(path), fail, str)
    assert list(path.parent.iterdir()) == []
    assert download.cache_or_load_file(str(path), create, str) == 'created'
    assert download.cache_or_load_file(str(path), fail, lambda p: Path(p).read_text()) == 'made'
