"""Writing to a full disk is an OSError that names the file, leaves the old one, and ends no process."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name != 'posix', reason='needs limits of the size of files')

SCRIPT = textwrap.dedent(
    """
    import os, resource, sys
    import numpy as np
    import minichainer as chainer
    from minichainer import serializers
    from minichainer.training import extensions
    from minichainer.training.extensions import snapshot_writers

    how, folder, limits = sys.argv[1], sys.argv[2], list(map(int, sys.argv[3:]))
    model = chainer.Chain(a=chainer.links.Linear(40, 50), b=chainer.links.Linear(50, 40))
    path = os.path.join(folder, 'model')
    save = serializers.save_hdf5 if 'hdf5' in how else serializers.save_npz

    def write():
        if 'Writer' not in how:
            save(path, model)
            return
        arrays = serializers.DictionarySerializer()
        arrays.save(model)
        writer = getattr(snapshot_writers, how.split()[0])(save)
        try:
            writer('model', folder, extensions._snapshot._Entries(arrays.target))
        finally:
            writer.finalize()

    write()
    old = open(path, 'rb').read()
    for limit in limits:
        limit = min(limit, len(old) - 1)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        try:
            write()
        except OSError as error:
            assert 'cannot save model, nothing was written: File too large' in str(error), error
            assert error.filename == path, error.filename
        else:
            raise AssertionError(f'{limit} bytes were enough')
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert os.listdir(folder) == ['model'], os.listdir(folder)
        assert open(path, 'rb').read() == old
    print('done', len(limits))
    """
)
HOWS = ['npz', 'hdf5', 'SimpleWriter npz', 'SimpleWriter hdf5', 'ThreadWriter hdf5', 'ProcessWriter npz']


def check(how: str, folder: Path, limits: list[int]) -> None:
    if 'hdf5' in how:
        pytest.importorskip('h5py', reason='HDF5 files need h5py')
    command = [sys.executable, '-c', SCRIPT, how, str(folder), *map(str, limits)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (result.returncode, result.stdout) == (0, f'done {len(limits)}\n'), result.stderr


@pytest.mark.parametrize('how', ['npz', 'hdf5', 'ProcessWriter npz'])
def test_some_limits(how: str, tmp_path: Path) -> None:
    check(how, tmp_path, [1000, 9000, 10**9])


@pytest.mark.slow
@pytest.mark.parametrize('how', HOWS)
def test_many_limits(how: str, tmp_path: Path) -> None:
    limits = [*range(100, 20_000, 400), 10**9]  # semaphores of processes are files, too
    check(how, tmp_path, limits[::5] if 'Process' in how else limits)
