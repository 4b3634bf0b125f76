"""The directory of a zip file: whether what was read of it is what its end says."""

from __future__ import annotations

import struct
import zipfile
from typing import Any

#: Signature of an entry; those of the end, with the place of the number of entries and the size of the directory. In
#: large archives, a record with wider numbers comes before the end.
_ENTRY = b'PK\x01\x02'
_ENDS = {b'PK\x05\x06': ('<HI', 10), b'PK\x06\x06': ('<QQ', 32)}
_FIXED = 46


def check_directory(archive: zipfile.ZipFile) -> None:
    """Compares number and size of the entries that were read with those that the end of the archive has.

    ``zipfile`` does not: a wrong length of a comment, of one flipped bit, hides the entries that follow.

    Args:
        archive: an open archive.

    Raises:
        ValueError: they differ.
    """
    stream: Any = archive.fp
    here = stream.tell()
    stream.seek(archive.start_dir)
    directory: bytes = stream.read()
    stream.seek(here)
    count, at = 0, 0
    while directory[at : at + 4] == _ENTRY and at + _FIXED <= len(directory):
        at += _FIXED + sum(struct.unpack_from('<HHH', directory, at + 28))
        count += 1
    form, place = _ENDS.get(directory[at : at + 4], ('', 0))
    read = count, at
    if not form or at + place + struct.calcsize(form) > len(directory):
        raise ValueError(f'the directory does not end after {count} entries and {at} bytes')
    if struct.unpack_from(form, directory, at + place) != read or count != len(archive.infolist()):
        raise ValueError(f'the directory has {count} entries in {at} bytes, other numbers than its end says')
