"""Checksums of a whole HDF5 file, which stand behind its end, where HDF5 does not look.

HDF5's own checksums (fletcher32) are for data in chunks only: neither for single values and texts nor for the index
of the chunks, by which a damaged file can make HDF5 read anywhere, and end the process. So a file is verified before
HDF5 sees it. A program that changes the file by HDF5 removes the trailer.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator
from typing import Any

from minichainer.serializer import DamagedSnapshotError
from minichainer.serializers._hdf5_entries import h5py_module

_START, _MAGIC = b'\nminichainer-checksums\n', b'minichainer-crc1'
#: Length and checksum of the table before it.
_FOOTER = struct.Struct('<II16s')
_SMALLEST_BLOCK, _MOST_BLOCKS = 1 << 12, 1 << 12
#: Where to look for the start of a trailer whose end is missing.
_LAST_BYTES = 1 << 19


def trailer(file: Any, image: bytes) -> bytes:
    """What to append to a file: the checksums of its blocks, and which block belongs to which entry.

    Args:
        file: the open ``h5py.File``.
        image: its content.
    """
    block = max(_SMALLEST_BLOCK, -(-len(image) // _MOST_BLOCKS))
    sums = [zlib.crc32(memoryview(image)[at : at + block]) for at in range(0, len(image), block)]
    table = {'size': len(image), 'block': block, 'sums': sums, 'entries': dict(_places(file))}
    text = _START + json.dumps(table).encode()
    return text + _FOOTER.pack(len(text), zlib.crc32(text), _MAGIC)


def _places(file: Any) -> Iterator[tuple[str, list[int]]]:
    """Where the data of each entry begins and ends."""
    datasets: list[Any] = []
    file.visititems(lambda _, item: datasets.append(item) if isinstance(item, h5py_module().Dataset) else None)
    for dataset in datasets:
        if dataset.chunks is not None:
            chunks = [dataset.id.get_chunk_info(i) for i in range(dataset.id.get_num_chunks())]
            places = [(chunk.byte_offset, chunk.size) for chunk in chunks]
        else:
            places = [(dataset.id.get_offset(), dataset.id.get_storage_size())]
        found = [(start, start + size) for start, size in places if start is not None]
        if found:
            yield dataset.name.lstrip('/'), [min(start for start, _ in found), max(end for _, end in found)]


def verify_file(path: Any) -> None:
    """Compares the checksums of a file, if it has some; those of Chainer and of earlier versions have none.

    Args:
        path: the file.

    Raises:
        DamagedSnapshotError: a checksum is wrong; names the damaged entries.
        OSError: the file cannot be read.
    """
    with open(path, 'rb') as file:
        table = _table(path, file)
        bad = [] if table is None else _bad_blocks(file, table)
    if table is not None and bad:
        lines = ['the snapshot is damaged, nothing was loaded:', *_names(path, table, bad)]
        raise DamagedSnapshotError('\n  '.join(lines))


def _table(path: Any, file: Any) -> dict[str, Any] | None:
    """The table of checksums of a file, None if there never was one."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _LAST_BYTES))
    end = file.read()
    footer = end[-_FOOTER.size :]
    if not footer.endswith(_MAGIC):
        if _START in end:
            raise DamagedSnapshotError(f'{path} is cut short, or its checksums are damaged: nothing was loaded')
        return None
    length, checksum, _ = _FOOTER.unpack(footer)
    file.seek(max(0, size - _FOOTER.size - length))
    text = file.read(length)
    if zlib.crc32(text) != checksum:
        raise DamagedSnapshotError(f'{path} is damaged: nothing was loaded (its checksums are wrong)')
    table: dict[str, Any] = json.loads(text.removeprefix(_START))
    missing = table['size'] + _FOOTER.size + length - size
    if missing:
        raise DamagedSnapshotError(
            f'{path} is damaged: nothing was loaded ({abs(missing)} bytes too {"few" if missing > 0 else "many"})'
        )
    return table


def _bad_blocks(file: Any, table: dict[str, Any]) -> list[int]:
    """Where blocks with wrong checksums begin."""
    file.seek(0)
    block, left, bad = table['block'], table['size'], []
    for i, checksum in enumerate(table['sums']):
        content = file.read(min(block, left))
        left -= len(content)
        if zlib.crc32(content) != checksum:
            bad.append(i * block)
    return bad


def _names(path: Any, table: dict[str, Any], bad: list[int]) -> list[str]:
    """What to say about each entry that has a part in the blocks, and about blocks that belong to none."""
    block = table['block']
    lines = []
    for name, (start, end) in table['entries'].items():
        if any(at < end and start < at + block for at in bad):
            lines.append(f'{name}: this entry of {path} is damaged (wrong checksum)')
    return lines or [f'{path}: its table of contents is damaged (wrong checksum)']
