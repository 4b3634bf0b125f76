"""``python -m minichainer.compat convert``: old files in today's forms."""

from __future__ import annotations

import argparse
import functools
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy

from minichainer.compat.files import formats
from minichainer.compat.files.safetensors import write_safetensors
from minichainer.serializer import SnapshotError
from minichainer.serializers._npz_file import write_npz
from minichainer.serializers._replacing import replacing
from minichainer.serializers.hdf5 import HDF5Serializer, write_hdf5

SUFFIXES = {'npz': '.npz', 'h5': '.h5', 'safetensors': '.safetensors'}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of the command.

    Args:
        parser: of the command.
    """
    parser.add_argument(
        'file', help='a .npz, .h5, .safetensors, pickle or .caffemodel file; recognized by its content'
    )
    parser.add_argument('-o', '--output', help='the new file; by default beside the old one, with another suffix')
    parser.add_argument(
        '--to', choices=SUFFIXES, help='the new format; by default by the suffix of the output, or npz'
    )
    parser.add_argument('--part', help='only this part, without its name, such as updater/model:main/')
    parser.add_argument('--unsafe', action='store_true', help='accept pickles; what they name is not run')


def main(arguments: argparse.Namespace) -> int:
    """Runs the command; returns the exit status.

    Args:
        arguments: parsed.
    """
    try:
        print(convert(arguments.file, arguments.output, arguments.to, arguments.part or '', arguments.unsafe))
    except (SnapshotError, RuntimeError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def convert(
    file: str, output: str | None = None, to: str | None = None, part: str = '', unsafe: bool = False
) -> str:  # fmt: skip
    """Converts a file; returns what was done, in words.

    Args:
        file: its path.
        output: path of the new file; by default the same with another suffix.
        to: ``npz``, ``h5`` or ``safetensors``.
        part: the part of the file to convert, such as ``'updater/model:main/'``.
        unsafe: whether pickles are accepted.

    Raises:
        SnapshotError: the file is damaged, has no such part, or is a pickle although ``unsafe`` is not set.
        OSError: a file cannot be read or written.
        RuntimeError: a library is not installed.
    """
    to = to or next((kind for kind, suffix in SUFFIXES.items() if (output or '').endswith(suffix)), 'npz')
    output = output or str(Path(file).with_suffix(SUFFIXES[to]))
    if os.path.exists(output) and os.path.realpath(output) == os.path.realpath(file):
        raise SnapshotError(f'{output} is the file itself: name another with -o')
    arrays, skipped = {}, []
    with formats.opened(file, unsafe) as (kind, source):
        for name in sorted(n for n in source.names() if n.startswith(part)):
            try:
                entry = source.find(name)
                arrays[name[len(part) :]] = None if entry is None or entry.shape is None else entry.read()
            except SnapshotError as error:
                skipped.append(f'  skipped: {error}')
    if not arrays:
        raise SnapshotError(f'{file} has no entries{f" under {part}" if part else ""}: nothing was written')
    skipped += _write(output, to, arrays)
    return '\n'.join([f'{file} ({kind}) → {output} ({to}): {len(arrays)} entries', *skipped])


def _write(output: str, to: str, arrays: Mapping[str, Any]) -> list[str]:
    """Writes a file; returns what it cannot hold."""
    if to == 'npz':
        with replacing(output) as temporary:
            write_npz(temporary, {n: numpy.asarray(a) for n, a in arrays.items()}, compression=True)
        return []
    if to == 'h5':
        write_hdf5(output, functools.partial(_save_in_groups, arrays))
        return []
    numbers = {n: a for n, a in arrays.items() if a is not None and numpy.asarray(a).dtype.kind in 'biuf'}
    texts = {n: str(a) for n, a in arrays.items() if a is not None and numpy.asarray(a).dtype.kind == 'U'}
    write_safetensors(output, {n: numpy.asarray(a) for n, a in numbers.items()}, texts)
    left = sorted(set(arrays) - set(numbers) - set(texts))
    return [f'  skipped: {name}: safetensors cannot hold it' for name in left]


def _save_in_groups(arrays: Mapping[str, Any], serializer: HDF5Serializer) -> None:
    for name, value in arrays.items():
        *groups, last = name.split('/')
        functools.reduce(lambda part, group: part[group], groups, serializer)(last, value)
