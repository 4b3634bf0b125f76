"""Files of snapshots: which one is loaded, what a killed run leaves, two trainers in one folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minichainer.serializer import DamagedSnapshotError, SnapshotError
from minichainer.serializers.hdf5 import save_hdf5
from minichainer.serializers.npz import save_npz
from minichainer.training import extensions
from minichainer.training._folder import FolderInUseError
from minichainer.training.extensions import _snapshot, snapshot_writers


def savez(path: str, target: Any) -> None:
    np.savez(path, **target)


SAVEFUNS = {'save_npz': save_npz, 'save_hdf5': save_hdf5, 'numpy.savez': savez}
WRITERS = ['SimpleWriter', 'ThreadWriter', 'ProcessWriter', 'ThreadQueueWriter', 'ProcessQueueWriter']


def needs_h5py(savefun: Any) -> None:
    if savefun is save_hdf5:
        pytest.importorskip('h5py', reason='HDF5 files need h5py')


def weights(trainer: Any) -> list[Any]:
    return [param.array.copy() for _, param in sorted(trainer.updater.get_optimizer('main').target.namedparams())]


def with_loaded(trainer: Any, **kwargs: Any) -> tuple[Any, list[int]]:
    """A trainer that loads by itself, and the iteration at which it begins."""
    began: list[int] = []
    update = trainer.updater.update

    def noted() -> None:
        if not began:
            began.append(trainer.updater.iteration)
        update()

    trainer.updater.update = noted
    trainer.extend(extensions.snapshot(autoload=True, **kwargs), trigger=(1, 'iteration'))
    return trainer, began


@pytest.mark.parametrize('writer', [None, *WRITERS])
@pytest.mark.parametrize('savefun', SAVEFUNS)
def test_autoload_of_every_format_and_writer(make_trainer: Any, savefun: str, writer: str | None) -> None:
    function: Any = SAVEFUNS[savefun]
    needs_h5py(function)
    whole = make_trainer((6, 'iteration'), out=Path(make_trainer().out).parent / 'whole')
    whole.run()
    made = {'savefun': function} if writer is None else {'writer': getattr(snapshot_writers, writer)(function)}
    first = make_trainer((3, 'iteration'))
    first.extend(extensions.snapshot(n_retains=2, **made), trigger=(1, 'iteration'))
    first.run()
    assert sorted(os.listdir(first.out)) == ['snapshot_iter_2', 'snapshot_iter_3']
    second, began = with_loaded(make_trainer((6, 'iteration'), seed=99), savefun=function)
    second.run()
    assert began == [3]
    for found, expected in zip(weights(second), weights(whole), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_autoload_of_another_format(make_trainer: Any) -> None:
    def save(path: str, target: Any) -> None:
        with open(path, 'wb') as file:
            file.write(b'own')
            np.savez(file, **target)

    loaded = []
    for stop in (2, 4):
        trainer = make_trainer((stop, 'iteration'))
        own = extensions.snapshot(save, autoload=True, loadfun=lambda path, target: loaded.append(path))
        trainer.extend(own, trigger=(1, 'iteration'))
        trainer.run()
    assert loaded == [os.path.join(trainer.out, 'snapshot_iter_2')]
    unknown, _ = with_loaded(make_trainer((6, 'iteration')))
    with pytest.raises(
        DamagedSnapshotError, match=r'(?s)pass loadfun.*begins neither like a \.npz file nor like an HDF5'
    ):
        unknown.run(show_loop_exception_msg=False)


@pytest.mark.parametrize('savefun', ['save_npz', 'save_hdf5'])
@pytest.mark.parametrize('n_damaged', [1, 2, 4])
def test_damaged_files_fall_back(make_trainer: Any, savefun: str, n_damaged: int) -> None:
    function: Any = SAVEFUNS[savefun]
    needs_h5py(function)
    first = make_trainer((4, 'iteration'))
    first.extend(extensions.snapshot(function), trigger=(1, 'iteration'))
    first.run()
    damages = [lambda whole: b'', lambda whole: whole[:-100], lambda whole: whole[:99] + b'?' * 400 + whole[499:]]
    for i in range(n_damaged):
        path = Path(first.out) / f'snapshot_iter_{4 - i}'
        path.write_bytes(damages[i % 3](path.read_bytes()))
    second, began = with_loaded(make_trainer((5, 'iteration')), savefun=function)
    if n_damaged == 4:
        with pytest.raises(DamagedSnapshotError, match=r'(?s)all files are damaged.*iter_4.*iter_3.*iter_2.*iter_1'):
            second.run(show_loop_exception_msg=False)
        return
    names = '.*'.join(f'snapshot_iter_{4 - i}' for i in range(n_damaged))
    with pytest.warns(UserWarning, match=f'(?s)goes on from .*snapshot_iter_{4 - n_damaged}, because.*{names}'):
        second.run()
    assert began == [4 - n_damaged]


def test_a_snapshot_of_another_model_does_not_fall_back(make_trainer: Any) -> None:
    first = make_trainer((2, 'iteration'))
    first.extend(extensions.snapshot(), trigger=(1, 'iteration'))
    first.run()
    second, _ = with_loaded(make_trainer((5, 'iteration')))
    del second.updater.get_optimizer('main').target.predictor.l2
    with pytest.raises(SnapshotError, match='l2/W: not in the Classifier') as caught:
        second.run(show_loop_exception_msg=False)
    assert not isinstance(caught.value, DamagedSnapshotError)


NAMES = {
    'snapshot_iter_{.updater.iteration}': ['snapshot_iter_9', 'snapshot_iter_10', 'snapshot_iter_100'],
    '{.updater.iteration:06d}.npz': ['000009.npz', '000010.npz', '000100.npz'],
    'e{.updater.epoch}-i{.updater.iteration}': ['e3-i9', 'e1-i10', 'e2-i100'],
    'epoch_{.updater.epoch_detail:.2f}': ['epoch_0.50', 'epoch_2.00', 'epoch_10.00'],
    'best': ['best'],
    'run_{.stop_trigger.period}': ['run_5', 'run_3', 'run_4'],  # by the time of writing
}


@pytest.mark.parametrize('fmt', NAMES)
def test_the_newest_goes_by_iteration(fmt: str, tmp_path: Path) -> None:
    for i, name in enumerate(NAMES[fmt]):
        (tmp_path / name).write_text('')
        age = i if fmt.startswith('run') else -i
        os.utime(tmp_path / name, (1e9 + age, 1e9 + age))
    for other in ('snapshot_iter_x', 'e-i', 'epoch_best', 'other'):
        (tmp_path / other).write_text('')
    assert [os.path.basename(path) for path in _snapshot._find(fmt, str(tmp_path))] == NAMES[fmt]


def test_a_file_that_is_gone_is_not_removed(make_trainer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    find = _snapshot._find
    monkeypatch.setattr(_snapshot, '_find', lambda fmt, folder: [os.path.join(folder, 'gone'), *find(fmt, folder)])
    trainer = make_trainer((3, 'iteration'))
    trainer.extend(extensions.snapshot(n_retains=1), trigger=(1, 'iteration'))
    trainer.run()
    assert os.listdir(trainer.out) == ['snapshot_iter_3']


@pytest.mark.parametrize('durable', [True, False])
@pytest.mark.parametrize('savefun', ['save_npz', 'save_hdf5'])
def test_durable_files_are_synchronized(
    make_trainer: Any, monkeypatch: pytest.MonkeyPatch, savefun: str, durable: bool
) -> None:
    needs_h5py(SAVEFUNS[savefun])
    synced: list[bool] = []
    fsync = os.fsync
    monkeypatch.setattr(os, 'fsync', lambda fd: (synced.append(bool(os.fstat(fd).st_mode & 0o040000)), fsync(fd)))
    trainer = make_trainer((2, 'iteration'))
    saving: Any = extensions.snapshot(SAVEFUNS[savefun], durable=durable)
    trainer.extend(saving, trigger=(2, 'iteration'))
    trainer.run()
    SAVEFUNS[savefun](Path(trainer.out) / 'other', trainer.updater.get_optimizer('main').target, durable=durable)
    folders = [True] if os.name == 'posix' else []
    assert synced == [False, *folders] * 2 * durable


# --- several processes ---

#: A program elsewhere finds the package under test.
ENVIRONMENT = {**os.environ, 'PYTHONPATH': str(Path(__file__).parents[2])}
TRAINING = textwrap.dedent(
    """
    import sys, time
    import numpy as np
    import minichainer as chainer
    from minichainer import iterators, links, optimizers, training
    from minichainer.training import extensions
    from minichainer.training.extensions import snapshot_writers

    def save(path, target):
        chainer.serializers.save_npz(path, target)
        print('writing', path, flush=True)
        time.sleep(float(sys.argv[3]))

    if __name__ == '__main__':
        data = chainer.datasets.TupleDataset(np.ones((8, 2), 'f'), np.zeros(8, 'i'))
        updater = training.updaters.StandardUpdater(
            iterators.SerialIterator(data, 4), optimizers.SGD().setup(links.Classifier(links.Linear(2, 3))))
        trainer = training.Trainer(updater, (10**9, 'iteration'), sys.argv[1])
        writer = getattr(snapshot_writers, sys.argv[2])(save)
        trainer.extend(extensions.snapshot(writer=writer), trigger=(1, 'iteration'))
        trainer.extend(lambda trainer: time.sleep(0.05), name='slow', trigger=(1, 'iteration'))
        trainer.run()
    """
)
pytestmark = pytest.mark.skipif(os.name != 'posix', reason='kills processes by signals of POSIX')


def start(out: Path, writer: str, seconds: float) -> Any:
    program = out.parent / 'training.py'
    program.write_text(TRAINING)
    arguments = [sys.executable, str(program), str(out), writer, str(seconds)]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
    assert process.stdout is not None and process.stdout.readline().startswith('writing')
    return process


def test_two_trainers_in_one_folder_and_what_a_killed_one_leaves(make_trainer: Any, tmp_path: Path) -> None:
    out = tmp_path / 'out'
    process = start(out, 'SimpleWriter', 60)
    try:
        with pytest.raises(FolderInUseError, match=f'another training \\(process {process.pid}\\) writes into'):
            with_loaded(make_trainer((1, 'iteration'), out=out))[0].run()
        make_trainer((1, 'iteration'), out=out).run()  # without extensions: writes nothing
        assert any(name.startswith('.writing-') for name in os.listdir(out))
    finally:
        process.kill()
        process.communicate()
    assert any(name.startswith('.writing-') for name in os.listdir(out))
    (out / '.model.0123456789abcdef.tmp').write_text('of an earlier version')
    (out / 'mine.tmp').write_text('of the user')
    with_loaded(make_trainer((1, 'iteration'), out=out))[0].run()
    assert sorted(os.listdir(out)) == ['mine.tmp', 'snapshot_iter_1']


def test_a_trainer_within_a_trainer(make_trainer: Any) -> None:
    outer, inner = make_trainer((1, 'iteration')), make_trainer((1, 'iteration'))
    inner.extend(lambda trainer: None, name='any')
    outer.extend(lambda trainer: inner.run(), name='inner')
    outer.extend(lambda trainer: None, name='any')
    with pytest.raises(RuntimeError, match='another training'):
        make_again(outer)
    inner.run()
    assert os.listdir(inner.out) == []


def make_again(trainer: Any) -> None:
    for name in ('any', 'inner'):
        entry = trainer._extensions[name]
        trainer._extensions[name] = entry._replace(trigger=lambda trainer: True)
    trainer.run(show_loop_exception_msg=False)


def test_saving_removes_what_dead_processes_left(tmp_path: Path) -> None:
    script = (
        'import os, sys; from minichainer.serializers._replacing import replacing\n'
        'with replacing(sys.argv[1]) as part: open(part, "w").write("half"); os.kill(os.getpid(), 9)'
    )
    subprocess.run([sys.executable, '-c', script, str(tmp_path / 'model')], check=False)
    assert [name[:9] for name in os.listdir(tmp_path)] == ['.writing-']
    save_npz(tmp_path / 'model', np_link())
    assert os.listdir(tmp_path) == ['model']


def np_link() -> Any:
    from minichainer.links.connection.linear import Linear

    return Linear(2, 2)


def children(pid: int) -> list[int]:
    # Not with a sanitizer's library, under which `ps` hangs.
    command = ['ps', '-o', 'pid=', '--ppid', str(pid)]
    plain = {name: value for name, value in os.environ.items() if name != 'LD_PRELOAD'}
    found = subprocess.run(command, capture_output=True, text=True, check=False, env=plain)
    return list(map(int, found.stdout.split()))


@pytest.mark.skipif(not sys.platform.startswith('linux'), reason='looks for children by the ps of Linux')
@pytest.mark.parametrize('seconds', [0, 1.5])
def test_worker_ends_when_its_parent_is_killed(tmp_path: Path, seconds: float) -> None:
    process = start(tmp_path / 'out', 'ProcessWriter', seconds)
    workers = children(process.pid)
    assert workers
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    end = time.monotonic() + 15
    while (alive := [pid for pid in workers if os.path.exists(f'/proc/{pid}')]) and time.monotonic() < end:
        time.sleep(0.05)
    for pid in alive:
        os.kill(pid, signal.SIGKILL)
    assert not alive, 'a worker outlives its parent'
    assert not [name for name in os.listdir(tmp_path / 'out') if name.startswith('.writing-')]


FROM_THE_COMMAND_LINE = textwrap.dedent(
    """
    import multiprocessing, sys, tempfile, time
    import numpy as np
    from minichainer.training.extensions import snapshot_writers

    def save(path, target):
        pass

    multiprocessing.set_start_method('spawn')
    writer = getattr(snapshot_writers, sys.argv[1])(save)
    try:
        for k in range(100):
            writer(f'name{k}', tempfile.mkdtemp(), {'x': np.ones(2)})
            time.sleep(0.1)
    except RuntimeError as error:
        print(error)
    """
)


@pytest.mark.parametrize('writer', ['ProcessWriter', 'ProcessQueueWriter'])
def test_a_function_that_other_processes_do_not_know_is_named_as_the_cause(writer: str) -> None:
    """As from a notebook, where spawn is the start method, or forkserver from Python 3.14 on."""
    arguments = [sys.executable, '-c', FROM_THE_COMMAND_LINE, writer]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=60, env=ENVIRONMENT)
    assert f'{writer}: the process that writes snapshots died' in done.stdout, done.stderr
    assert 'put the classes and functions that they need into a module' in done.stdout
