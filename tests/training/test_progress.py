"""What ProgressBar, Evaluator and PrintReport show: on a terminal, in a notebook, in a pipe; by tqdm and without."""

from __future__ import annotations

import importlib.util
import io
import os
import re
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from minichainer.training import extensions
from minichainer.training.extensions import _terminal

needs_tqdm = pytest.mark.skipif(importlib.util.find_spec('tqdm') is None, reason='tqdm is not installed')


@pytest.fixture(params=[pytest.param('tqdm', marks=needs_tqdm), 'without tqdm'])
def drawn_by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Tests with it run with tqdm, and as if it were not installed."""
    if request.param != 'tqdm':
        monkeypatch.setattr(_terminal, '_find_tqdm', lambda: False)
    return request.param


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def run_with_bar(make_trainer: Any, out: Any, **kwargs: Any) -> Any:
    trainer = make_trainer((2, 'epoch'))
    trainer.extend(extensions.ProgressBar(out=out, **kwargs))
    trainer.run()
    return out and out.getvalue()


# --- what is written ---


@pytest.mark.usefixtures('drawn_by')
def test_lines_on_a_terminal(make_trainer: Any) -> None:
    text = run_with_bar(make_trainer, Terminal(), update_interval=2, bar_length=10)
    lines = [line for line in re.sub('\x1b\\[[0-9]*[A-Z]', '', text).splitlines() if line.strip()]
    assert len(lines) == 8
    assert lines[4:7] == [
        '     total [########..] 80.00%',
        'this epoch [######....] 60.00%',
        '         4 iter, 1 epoch / 2 epochs',
    ]
    assert re.fullmatch(r' *[\d.e+]+ iters/sec\. Estimated time to finish: 0:00:00\.', lines[7])


def test_a_given_file_gets_plain_lines(make_trainer: Any) -> None:
    text = run_with_bar(make_trainer, io.StringIO(), update_interval=2)
    assert '\033' not in text and '\r' not in text
    lines = text.splitlines()
    assert len(lines) == 2
    assert lines[1].startswith(' 80.00%  4 iter, 1 epoch / 2 epochs  ')


def test_a_pipe_gets_nothing_unless_it_is_given(
    make_trainer: Any, evaluation: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run_with_bar(make_trainer, None, update_interval=2)
    extensions.Evaluator(evaluation, make_trainer().updater.get_optimizer('main').target, progress_bar=True)()
    assert capsys.readouterr() == ('', '')
    trainer = make_trainer()
    trainer.extend(extensions.ProgressBar(update_interval=2, out=sys.stdout))
    trainer.run()
    assert len(capsys.readouterr().out.splitlines()) == 2


@pytest.mark.parametrize(('is_terminal', 'codes'), [(False, 0), (True, 2)])
def test_a_table_in_a_pipe_has_no_codes(
    make_trainer: Any, monkeypatch: pytest.MonkeyPatch, is_terminal: bool, codes: int
) -> None:
    out = Terminal() if is_terminal else io.StringIO()
    monkeypatch.setattr(sys, 'stdout', out)
    trainer = make_trainer()
    trainer.extend(extensions.LogReport())
    trainer.extend(extensions.PrintReport(['epoch']))
    trainer.run()
    assert out.getvalue().count('\033[J') == codes and len(out.getvalue().splitlines()) == 3


def test_a_given_length(make_trainer: Any) -> None:
    text = run_with_bar(make_trainer, io.StringIO(), update_interval=4, training_length=(16, 'iteration'))
    assert text.startswith(' 25.00%  4 iter, 1 epoch / 16 iterations  ')


def test_the_length_is_needed(make_trainer: Any) -> None:
    trainer = make_trainer(lambda t: True)
    trainer.extend(extensions.ProgressBar())
    with pytest.raises(TypeError, match='does not define the length of the training; pass training_length='):
        trainer.run()


def test_it_can_be_called_without_a_run(make_trainer: Any) -> None:
    """As loops that programs write themselves do."""
    trainer, out = make_trainer(), io.StringIO()
    bar = extensions.ProgressBar(update_interval=1, out=out)
    trainer.updater.update()
    bar(trainer)
    assert out.getvalue().startswith(' 20.00%  1 iter')


@needs_tqdm
def test_no_thread_is_left(make_trainer: Any) -> None:
    before = threading.active_count()
    run_with_bar(make_trainer, Terminal(), update_interval=1)
    assert threading.active_count() == before


# --- a notebook ---


def test_a_notebook_gets_two_widgets(make_trainer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here a stand-in takes the place of tqdm's class for notebooks."""
    widgets: list[Any] = []
    shown: list[str] = []

    class Widget:
        def __init__(self, desc: str, initial: float, bar_format: str, **settings: Any) -> None:
            self.desc, self.n, self.bar_format, self.settings = desc, initial, bar_format, settings
            widgets.append(self)
            self.refresh()

        def refresh(self) -> None:
            shown.append(self.bar_format.format(desc=self.desc, bar='<bar/>', percentage=100 * self.n))

        def close(self) -> None:
            self.settings['closed'] = True

    monkeypatch.setattr(_terminal, '_tqdm_for_notebooks', lambda: Widget)
    run_with_bar(make_trainer, None, update_interval=2)
    assert len(widgets) == 2 and all(widget.settings['closed'] for widget in widgets)
    assert shown[2] == 'total <bar/> 80.00% 4 iter, 1 epoch / 2 epochs'
    assert re.fullmatch(r'this epoch <bar/> 60.00% \S+ iters/sec\. Estimated time to finish: 0:00:00\.', shown[3])


# --- the screen ---

PROGRAM = """
import sys, time
import numpy as np
import minichainer as chainer, minichainer.links as L
from minichainer import training
from minichainer.training import extensions
from minichainer.training.extensions import _terminal
if sys.argv[1] != 'tqdm':
    _terminal._find_tqdm = lambda: False

model = L.Classifier(L.Linear(2, 3))
data = chainer.datasets.TupleDataset(np.ones((20, 2), np.float32), np.zeros(20, np.int32))
iterator = chainer.iterators.SerialIterator(data, 2)
held_out = chainer.iterators.SerialIterator(data, 4, repeat=False, shuffle=False)
updater = training.StandardUpdater(iterator, chainer.optimizers.SGD().setup(model))
trainer = training.Trainer(updater, (8, 'epoch'), sys.argv[2])
trainer.extend(extensions.Evaluator(held_out, model, progress_bar=sys.argv[3] == 'evaluation'))
trainer.extend(extensions.LogReport())
trainer.extend(extensions.PrintReport(['epoch', 'iteration', 'main/loss']))
trainer.extend(extensions.ProgressBar(update_interval=3))
trainer.extend(lambda trainer: time.sleep(0.005), name='pause', trigger=(1, 'iteration'))
print('before')
trainer.run()
print('after')
"""


def screens(drawn_by: str, folder: Any, shown: str, rows: int, columns: int) -> Iterator[list[str]]:
    """The lines on a terminal, as often as the program writes to it."""
    pty, fcntl, termios = (
        pytest.importorskip(name, reason='there are no pseudo-terminals') for name in ('pty', 'fcntl', 'termios')
    )
    pyte = pytest.importorskip('pyte', reason='reads what is on a screen')
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))
    program = [sys.executable, '-c', PROGRAM, drawn_by, str(folder), shown]
    screen = pyte.Screen(columns, rows)
    stream = pyte.ByteStream(screen)
    with subprocess.Popen(program, stdout=its, stderr=its, stdin=its) as process:
        os.close(its)
        while True:
            try:
                written = os.read(ours, 4096)
            except OSError:  # how Linux says that the other end is closed
                break
            if not written:
                break
            stream.feed(written)
            yield [line.rstrip() for line in screen.display if line.strip()]
    os.close(ours)
    assert process.returncode == 0, screen.display


TITLES = ['     total [', 'this epoch [', ' iter, ', ' iters/sec']


@pytest.mark.parametrize(('shown', 'rows', 'columns'), [('training', 24, 80), ('evaluation', 9, 40)])
def test_a_terminal_shows_one_block_below_the_table(
    drawn_by: str, tmp_path: Any, shown: str, rows: int, columns: int
) -> None:
    blocks, evaluations, last = 0, 0, []
    for last in screens(drawn_by, tmp_path, shown, rows, columns):
        found = [[title in line for line in last].count(True) for title in (*TITLES, 'validation [')]
        assert max(found) <= 1, last
        evaluations += found[4]
        if found[:4] == [1, 1, 1, 1]:
            blocks += 1
            start = next(i for i, line in enumerate(last) if TITLES[0] in line)
            assert [title in line for title, line in zip(TITLES, last[start:], strict=False)] == [True] * 4, last
            assert all(line.split()[0].isalnum() for line in last[:start]), last
    assert blocks > 5 and (evaluations > 0) == (shown == 'evaluation')
    table = ['before', 'epoch', *(f'{i:<12}{10 * i:<12}' for i in range(1, 9)), 'after']
    assert len(last) >= min(len(table), rows - 5)
    assert all(map(str.startswith, last, table[-len(last) :])), last
