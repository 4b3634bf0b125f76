"""A flipped bit in the directory or the end of a `.npz` file is found; none loads half a model in silence."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import numpy as np
import pytest

from minichainer.links import Linear
from minichainer.serializer import DamagedSnapshotError
from minichainer.serializers import _npz_file, load_npz, save_npz


def saved() -> tuple[Linear, bytes]:
    link, file = Linear(2, 2, initial_bias=5), io.BytesIO()
    save_npz(file, link)
    return link, file.getvalue()


def flipped(content: bytes, bit: int) -> io.BytesIO:
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return io.BytesIO(bytes(changed))


def check_bit(link: Linear, content: bytes, bit: int, strict: bool) -> bool:
    """Whether the damage is noticed; if not, the model must be loaded as a whole."""
    other = Linear(2, 2)
    before = other.W.array.copy()
    try:
        load_npz(flipped(content, bit), other, strict=strict)
    except DamagedSnapshotError:
        assert (other.W.array == before).all() and not other.b.array.any()
        return True
    np.testing.assert_array_equal(other.W.array, link.W.array)
    np.testing.assert_array_equal(other.b.array, link.b.array)
    return False


@pytest.mark.parametrize('strict', [True, False])
def test_no_bit_of_the_directory_loads_half_a_model(strict: bool) -> None:
    link, content = saved()
    first = 8 * content.index(b'PK\1\2')
    noticed = [check_bit(link, content, bit, strict) for bit in range(first, 8 * len(content))]
    assert sum(noticed) > len(noticed) / 2


@pytest.mark.parametrize('strict', [True, False])
def test_a_comment_that_hides_entries_is_damage(strict: bool, monkeypatch: Any) -> None:
    link, content = saved()
    bit = 8 * (content.index(b'PK\1\2') + 33) + 3
    assert check_bit(link, content, bit, strict)
    monkeypatch.setattr(_npz_file, 'check_directory', lambda archive: None)  # without it, the test fails
    with pytest.raises((AssertionError, KeyError)):
        check_bit(link, content, bit, strict)


def test_archives_with_comments_data_before_them_and_many_entries_are_read() -> None:
    link, content = saved()
    file = io.BytesIO(b'something before' + content)
    with zipfile.ZipFile(file, 'a') as archive:
        archive.comment = b'a comment'
        for number in range(65536):
            archive.writestr(zipfile.ZipInfo(f'other/{number}'), b'')
    other = Linear(2, 2)
    with zipfile.ZipFile(file) as archive:
        _npz_file.check_directory(archive)
    load_npz(io.BytesIO(b'something before' + content), other)
    np.testing.assert_array_equal(other.W.array, link.W.array)


def test_a_version_of_zip_that_there_is_not(tmp_path: Any) -> None:
    """Python raises NotImplementedError for it, also where only the words for the error look at the file."""
    link, content = saved()
    changed = bytearray(content)
    changed[content.index(b'PK\x01\x02') + 6] = 109
    path = tmp_path / 'model.npz'
    path.write_bytes(bytes(changed))
    with pytest.raises(DamagedSnapshotError, match='zip file version'):
        load_npz(path, link)
