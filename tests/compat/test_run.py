"""``python -m minichainer.compat run``: a program runs as Python would run it, in processes of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from minichainer.compat import __main__ as command
from minichainer.compat.gpu_as_cpu import GpuAsCpu
from tests.compat.forked import Server

ROOT = Path(__file__).resolve().parents[2]


def files(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        path = folder / (name.replace('__in__', '/') + '.py')
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(textwrap.dedent(text), encoding='utf-8')
    return folder


#: Runs what needs no options of Python in forks: imports take longer than these programs.
SERVERS: list[Server] = []


@pytest.fixture(scope='module', autouse=True)
def _server() -> Iterator[None]:
    with Server({**os.environ, 'PYTHONPATH': str(ROOT)}) as server:
        SERVERS.append(server)
        yield
    SERVERS.clear()


def run(
    folder: Path, *args: str, python: tuple[str, ...] = (), forked: bool = True
) -> subprocess.CompletedProcess[str]:
    if forked and not python:
        return SERVERS[0].run(folder, 'run', *args)
    environment = {**os.environ, 'PYTHONPATH': str(ROOT)}
    call = [sys.executable, *python, '-m', 'minichainer.compat', 'run', *args]
    return subprocess.run(call, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False)


def ran(folder: Path, *args: str, forked: bool = True) -> subprocess.CompletedProcess[str]:
    done = run(folder, *args, forked=forked)
    assert done.returncode == 0, done.stderr
    return done


HELPER = """
    import numpy as np
    from collections import Iterable

    def number(x):
        return np.asscalar(np.array([x], dtype=np.float))

    def fail():
        raise ValueError('on purpose')
"""


# --- as Python does ------------------------------------------------------------------------------------------------
def test_a_program_finds_what_python_gives_it(tmp_path: Path) -> None:
    text = """
        import sys
        print([sys.argv, __name__, __file__, sys.path[0], __package__, __spec__, sys.modules['__main__'].__file__])
        import __main__
        print(__main__.sys is sys, 'minichainer.compat.run' in sys.argv)
    """
    files(tmp_path, sub__in__train=text)
    args = ('sub/train.py', '-g', '0', '--legacy', 'v9')
    environment = {**os.environ, 'PYTHONPATH': str(ROOT)}
    plain = subprocess.run(
        [sys.executable, *args], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert ran(tmp_path, *args, forked=False).stdout == plain.stdout


def test_a_module_of_a_package(tmp_path: Path) -> None:
    text = """
        import sys
        from . import other
        print([len(sys.argv), sys.argv[1:], __name__, __package__, __spec__.name, other.number(2), sys.path[0]])
    """
    files(tmp_path, package__in____init__='', package__in__train=text, package__in__other=HELPER)
    done = ran(tmp_path, '-m', 'package.train', 'a', '--b')
    assert done.stdout == f"[3, ['a', '--b'], '__main__', 'package', 'package.train', 2.0, {str(tmp_path)!r}]\n"
    assert 'numpy.asscalar' in done.stderr


def test_a_package_with_main(tmp_path: Path) -> None:
    files(tmp_path, package__in____init__='', package__in____main__='print(__name__, __package__)')
    assert ran(tmp_path, '-m', 'package').stdout == '__main__ package\n'


@pytest.mark.parametrize(
    ('text', 'status', 'message'),
    [
        ('', 0, ''),
        ('import sys; sys.exit(3)', 3, ''),
        ('raise SystemExit', 0, ''),
        ('import sys; sys.exit("wrong")', 1, 'wrong\n'),
        ('raise KeyboardInterrupt', 130, 'KeyboardInterrupt\n'),
        ('1 / 0', 1, 'ZeroDivisionError: division by zero\n'),
    ],
    ids=str,
)
def test_exit_status(tmp_path: Path, text: str, status: int, message: str) -> None:
    done = run(files(tmp_path, train=text), 'train.py', forked=False)
    assert done.returncode == status
    assert done.stderr.endswith(message) and (message or not done.stderr)


def test_a_traceback_has_the_text_and_no_frames_of_ours(tmp_path: Path) -> None:
    text = 'import helper\n\ndef main():\n    helper.fail(*xrange(0))\n\nmain()\n'
    done = run(files(tmp_path, helper=HELPER, train=text), 'train.py')
    assert done.returncode == 1
    lines = [line.strip() for line in done.stderr.splitlines() if not line.strip().startswith(('^', '~'))]
    shown = [
        'Traceback (most recent call last):',
        f'File "{tmp_path}/train.py", line 6, in <module>', 'main()',
        f'File "{tmp_path}/train.py", line 4, in main', 'helper.fail(*xrange(0))',
        f'File "{tmp_path}/helper.py", line 9, in fail', "raise ValueError('on purpose')",
        'ValueError: on purpose',
    ]  # fmt: skip
    assert lines[: len(shown)] == shown
    assert 'train.py:4: xrange' in done.stderr


def test_a_traceback_of_an_error_in_a_rewritten_call(tmp_path: Path) -> None:
    done = run(files(tmp_path, train='int("x")\n'), 'train.py')
    assert 'minichainer' not in done.stderr and 'int("x")' in done.stderr


def test_the_program_s_own_excepthook_is_called(tmp_path: Path) -> None:
    text = 'import sys\nsys.excepthook = lambda *error: print("mine", error[0].__name__)\n1 / 0\n'
    done = run(files(tmp_path, train=text), 'train.py')
    assert (done.returncode, done.stdout) == (1, 'mine ZeroDivisionError\n')


# --- what was dropped ----------------------------------------------------------------------------------------------
def test_each_name_is_reported_once_at_the_end(tmp_path: Path) -> None:
    text = """
        import sys, helper
        print(sum(helper.number(i) for i in range(3)))
        sys.stderr.write('last of the program\\n')
    """
    done = ran(files(tmp_path, helper=HELPER, train=text), 'train.py')
    assert done.stdout == '3.0\n'
    assert done.stderr == (
        'last of the program\n'
        'minichainer.compat: 3 names restored for this run only\n'
        '  helper.py:3: collections.Iterable, which Python 3.10 dropped: write collections.abc.Iterable\n'
        '  helper.py:6: numpy.asscalar, which NumPy 1.23 dropped: write a.item()\n'
        '  helper.py:6: numpy.float, which NumPy 1.24 dropped: write float\n'
    )


def test_nothing_is_said_about_a_program_of_today(tmp_path: Path) -> None:
    text = """
        import numpy as np
        import chainer, chainer.links as L
        print(chainer.__name__, L.Linear(3, 2)(np.zeros((1, 3), np.float32)).array.tolist())
    """
    done = run(files(tmp_path, train=text), 'train.py', python=('-W', 'error'))
    assert (done.returncode, done.stdout, done.stderr) == (0, 'chainer [[0.0, 0.0]]\n', '')


def test_rewritten_code_is_not_kept(tmp_path: Path) -> None:
    files(tmp_path, helper=HELPER, train='import helper\nhelper.number(1)\n')
    ran(tmp_path, 'train.py')
    assert not (tmp_path / '__pycache__').exists()


def test_installed_packages_are_not_rewritten(tmp_path: Path) -> None:
    module = 'def f():\n    return int([3].__class__((3,))[0]), "iteritems" in dir({})\nCODE = f.__code__.co_names\n'
    files(tmp_path, **{'lib__in__site-packages__in__installed': module, 'own': module})
    text = """
        import sys; sys.path.insert(1, 'lib/site-packages')
        import installed, own
        print(any('minichainer' in n for n in installed.CODE), any('minichainer' in n for n in own.CODE))
    """
    assert ran(files(tmp_path, train=text), 'train.py').stdout == 'False True\n'


LOADERS = {
    'imp': 'import imp\nh = imp.load_source("h", "other/helper.py")',
    'spec': 'import importlib.util as u\ns = u.spec_from_file_location("h", "other/helper.py")\n'
    'h = u.module_from_spec(s)\ns.loader.exec_module(h)',
    'loader': 'import importlib.machinery as m\nh = m.SourceFileLoader("h", "other/helper.py").load_module()',
    'reload': 'import sys, importlib\nsys.path.append("other")\nimport helper\nh = importlib.reload(helper)',
    'runpy, path': 'import runpy\nfrom types import SimpleNamespace\n'
    'h = SimpleNamespace(**runpy.run_path("other/helper.py"))',
    'runpy, module': 'import runpy, sys\nsys.path.append("other")\nfrom types import SimpleNamespace\n'
    'h = SimpleNamespace(**runpy.run_module("helper"))',
    'exec': 'from types import SimpleNamespace\nn = {}\nexec(open("other/helper.py").read(), n)\n'
    'h = SimpleNamespace(**n)',
    'exec of compiled': 'from types import SimpleNamespace\nn = {}\nf = "other/helper.py"\n'
    'exec(compile(open(f).read(), f, "exec"), n)\nh = SimpleNamespace(**n)',
    'execfile': 'from types import SimpleNamespace\nexecfile("other/helper.py")\nh = SimpleNamespace(work=work)',
}


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize('how', LOADERS)
def test_modules_that_the_program_loads_itself(tmp_path: Path, how: str) -> None:
    files(tmp_path, other__in__helper='def work():\n    return [i for i in xrange(2)], {1: 2}.has_key(1), "%d" % 3\n')
    text = f'import warnings\nwarnings.simplefilter("ignore")\n{LOADERS[how]}\nprint(h.work())\n'
    done = ran(files(tmp_path, train=text), 'train.py')
    assert done.stdout == "([0, 1], True, '3')\n"
    assert how == 'exec' or 'helper.py:2: xrange, which Python 3 dropped' in done.stderr
    assert not list(tmp_path.rglob('*.pyc'))


def test_test_modules_under_pytest(tmp_path: Path) -> None:
    text = """
        import numpy as np
        import chainer
        from helper import number

        def test_numbers():
            assert list(xrange(2)) == [0, 1] and {1: 2}.has_key(1)
            assert number(2) == 2 and chainer.__version__ == '7.8.1'

        def test_names_of_chainer():
            from chainer import functions
            assert functions.math.exponential.Exp().label == 'exp'
            assert chainer.distributions.utils and chainer.backends._cpu._to_cpu

        def test_that_fails():
            a = np.array([3.])
            assert float(a) == 4
    """
    files(tmp_path, test_it=text, helper=HELPER, conftest='LIMIT = [i for i in xrange(3)]\n')
    for _ in range(2):  # the second finds what the first has kept
        done = run(tmp_path, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', 'test_it.py')
        assert '1 failed, 2 passed' in done.stdout, done.stdout + done.stderr
        assert 'already imported' not in done.stdout
        assert 'assert 3.0 == 4' in done.stdout
        assert 'test_it.py:7: dict.has_key, which Python 3 dropped' in done.stderr
    assert not list(tmp_path.rglob('*.pyc'))


@pytest.mark.parametrize('method', ['fork', 'spawn', 'forkserver'])
def test_processes_that_the_program_starts(tmp_path: Path, method: str) -> None:
    text = f"""
        import multiprocessing
        import numpy as np
        import chainer
        import helper

        def work(i):
            return helper.number(i) + float(np.array([1.])) + chainer.config.train

        if __name__ == '__main__':
            with multiprocessing.get_context({method!r}).Pool(2) as pool:
                print(pool.map(work, range(3)))
    """
    if method != 'spawn' and sys.platform == 'win32':
        pytest.skip('Windows only spawns')
    done = ran(files(tmp_path, helper=HELPER, train=text), 'train.py')
    assert done.stdout == '[2.0, 3.0, 4.0]\n'
    first, *lines = done.stderr.strip().splitlines()
    expected = [
        'helper.py:3: collections.Iterable, which Python 3.10 dropped',
        'helper.py:6: numpy.asscalar, which NumPy 1.23 dropped',
        'helper.py:6: numpy.float, which NumPy 1.24 dropped',
    ]
    if np.lib.NumpyVersion(np.__version__) >= '2.4.0':  # else it still works
        expected.append('train.py:8: float(...) as before NumPy 2.4')
    assert first == f'minichainer.compat: {len(expected)} names restored for this run only'
    places = sorted(line.partition(': write')[0].strip() for line in lines)
    assert places == expected
    assert not any('more place' in line for line in lines)


def test_a_spawned_process_of_a_program_in_the_style_of_v1(tmp_path: Path) -> None:
    text = """
        import multiprocessing
        import numpy as np, chainer.functions as F

        def work(i):
            return float(F.dropout(np.full(1, i, 'f'), train=False).data)

        if __name__ == '__main__':
            with multiprocessing.get_context('spawn').Pool(1) as pool:
                print(pool.map(work, range(2)))
    """
    assert ran(files(tmp_path, train=text), '--legacy', 'v1', 'train.py').stdout == '[0.0, 1.0]\n'


def test_the_line_that_makes_a_parameter_float64(tmp_path: Path) -> None:
    text = """
        import numpy as np
        import chainer.links as L
        l = L.Linear(3, 2)
        scale = np.float64(2)
        l.W.data *= scale
        l.b.array = np.zeros(2, np.float32)
        l.W.data = l.W.data * scale
        l.b.array = l.b.array.astype(np.float64)
        l(np.ones((1, 3), 'f') * float(scale))
    """
    done = run(files(tmp_path, train=text), 'train.py')
    warned = [line for line in done.stderr.splitlines() if 'DtypeWarning' in line]
    assert [line.partition('train.py:')[2].partition(': since')[0] for line in warned] == [
        '8: DtypeWarning: parameter W becomes float64, was float32',
        '9: DtypeWarning: parameter b becomes float64, was float32',
    ]
    assert 'write float(np.sqrt(2.))' in warned[0]


# --- styles and devices --------------------------------------------------------------------------------------------
V1 = """
    import numpy as np
    import chainer, chainer.functions as F
    model = chainer.FunctionSet(l=F.Linear(3, 2))
    y = model.l(chainer.Variable(np.zeros((1, 3), np.float32), volatile='on'))
    print(y.volatile, F.dropout(y, train=False).data.tolist())
"""


def test_a_program_of_v1_runs_if_that_is_asked_for(tmp_path: Path) -> None:
    files(tmp_path, train=V1)
    assert ran(tmp_path, '--legacy', 'v1', 'train.py').stdout == 'ON [[0.0, 0.0]]\n'
    done = run(tmp_path, 'train.py')
    assert done.returncode == 1
    assert 'python -m minichainer.compat run --legacy v1' in done.stderr


GPU = """
    import argparse
    import numpy as np
    import cupy as cp
    import chainer, chainer.links as L
    from chainer import cuda

    cuda.get_device_from_id(0).use()
    cuda.check_cuda_available()
    model = L.Linear(3, 2)
    model.to_gpu()
    xp = cuda.cupy
    x = xp.asarray(np.ones((2, 3), np.float32))
    with cuda.get_device(x), chainer.using_device('@cupy:0'), cp.cuda.Device(0) as device:
        y = model(cuda.to_gpu(x))
    v = chainer.Variable(x)
    v.to_gpu(0)
    model.to_device('@cupy:0')
    chainer.get_device(0).use()
    data = chainer.dataset.concat_examples([np.zeros(2), np.ones(2)], device=0)
    iterator = chainer.iterators.SerialIterator([np.zeros(3, np.float32)], 1)
    updater = chainer.training.updaters.StandardUpdater(
        iterator, chainer.optimizers.SGD().setup(model), loss_func=lambda x: model(x).array.sum() * 0 + 1, device=0)
    print(type(y.array).__name__, type(model.W.array).__name__, data.shape, xp.zeros(2).sum(), cp.asnumpy(x).shape)
    print(cuda.available, isinstance(x, cuda.ndarray), xp.random.rand(2).shape, device.id, cuda.to_cpu(x).shape)
"""


def test_a_program_for_a_gpu_runs_on_the_cpu(tmp_path: Path) -> None:
    done = run(files(tmp_path, train=GPU), '--gpu-as-cpu', 'train.py')
    assert done.stdout == 'ndarray ndarray (2, 2) 0.0 (2, 3)\nFalse False (2,) 0 (2, 3)\n', done.stderr


def test_modules_of_cupy_on_the_cpu(tmp_path: Path) -> None:
    text = """
        import numpy as np
        import cupy
        import cupy.core.core
        from cupy.core.core import ndarray
        from cupy._core import core
        x = cupy.zeros(2)
        print(isinstance(x, cupy.core.core.ndarray), ndarray is core.ndarray is cupy.ndarray is np.ndarray)
    """
    assert ran(files(tmp_path, train=text), '--gpu-as-cpu', 'train.py').stdout == 'True True\n'


@pytest.mark.parametrize(
    'line', ['L.Linear(3, 2).to_gpu()', 'cuda.cupy.zeros(3)', 'import cupy', 'chainer.get_device(0)']
)
def test_an_error_without_a_gpu_names_the_option(tmp_path: Path, line: str) -> None:
    text = f'import chainer, chainer.links as L\nfrom chainer import cuda\n{line}\n'
    done = run(files(tmp_path, train=text), 'train.py')
    if done.returncode == 0:
        pytest.skip('there is a GPU')
    assert 'To run code for GPUs on the CPU: python -m minichainer.compat run --gpu-as-cpu' in done.stderr
    ran(tmp_path, '--gpu-as-cpu', 'train.py')


def test_an_attribute_device_of_a_model(tmp_path: Path) -> None:
    text = """
        import numpy as np
        import chainer, chainer.links as L

        class Net(chainer.Chain):
            def __init__(self):
                super(Net, self).__init__(l=L.Linear(3, 2))
                self.device = -1

        net = Net()
        net.copyparams(Net())
        updater = chainer.training.StandardUpdater(
            chainer.iterators.SerialIterator([np.ones(3, 'f')], 1), chainer.optimizers.SGD().setup(net),
            loss_func=lambda x: chainer.functions.sum(net.l(x)))
        updater.update()
        print(net.device, net.l.device, net.copy().device)
    """
    done = run(files(tmp_path, train=text), 'train.py')
    assert done.returncode == 1 and 'run --legacy v2' in done.stderr
    for style in ('v1', 'v2'):
        assert ran(tmp_path, '--legacy', style, 'train.py').stdout == '-1 @numpy -1\n'


def test_a_warning_of_each_iteration_is_shown_once(tmp_path: Path) -> None:
    text = """
        import chainer.links as L
        l = L.Linear(3, 2)
        for _ in range(3):
            l.zerograds()
        print(l.W.grad.sum())
    """
    done = run(files(tmp_path, train=text), 'train.py')
    assert done.stdout == '0.0\n' and done.stderr.count('DeprecationWarning') == 1


def test_kernels_in_cuda_cannot_run_on_the_cpu(tmp_path: Path) -> None:
    text = """
        import numpy as np
        from chainer import cuda
        cuda.elementwise('T x', 'T y', 'y = x', 'copy')(np.zeros(1))
    """
    done = run(files(tmp_path, train=text), '--gpu-as-cpu', 'train.py')
    assert done.returncode == 1
    assert 'RuntimeError: cuda.elementwise: kernels in CUDA cannot run on the CPU (--gpu-as-cpu)' in done.stderr
    done = run(files(tmp_path, train='import cupy\ncupy.RawKernel("", "f")\n'), '--gpu-as-cpu', 'train.py')
    assert 'cupy.RawKernel: kernels in CUDA cannot run' in done.stderr


def test_the_gpu_is_restored() -> None:
    import minichainer as chainer
    from minichainer.backends import cuda

    def state() -> list[object]:
        return [*[dict(vars(module)) for module in (cuda, chainer.cuda, chainer.backend)], sys.modules.get('cupy')]

    before = state()
    with GpuAsCpu() as context:
        assert chainer.cuda.get_device_from_id(3).id == 3
        assert chainer.cuda.get_device(None) is chainer.cuda.DummyDevice
        assert chainer.cuda.copy(cuda.to_gpu([1.0, None])[0]).tolist() == 1.0
    assert state() == before
    context.undo()
    assert state() == before


# --- files that cannot run -----------------------------------------------------------------------------------------
ONE_COMMA = pytest.mark.skipif(sys.version_info >= (3, 14), reason='Python 3.14 reads `except A, e` as a tuple')


@pytest.mark.parametrize(
    ('text', 'line'),
    [
        ('x = 1\nprint "loss", x\n', 2),
        pytest.param('try:\n    pass\nexcept ValueError, e:\n    pass\n', 3, marks=ONE_COMMA),
        ('raise ValueError, "x"\n', 1),
        ('x = 0777\n', 1),
        ('exec "x = 1"\n', 1),
        ('if 1 <> 2: pass\n', 1),
    ],
    ids=str,
)
def test_a_file_of_python_2_is_named_with_its_line(tmp_path: Path, text: str, line: int) -> None:
    done = run(files(tmp_path, old=text), 'old.py')
    assert done.returncode == 1
    assert f'File "{tmp_path}/old.py", line {line}\n' in done.stderr
    assert f'port --py2 --write {tmp_path}/old.py' in done.stderr
    assert 'minichainer/' not in done.stderr


def test_an_imported_file_of_python_2(tmp_path: Path) -> None:
    done = run(files(tmp_path, old='print "x"\n', train='import old\n'), 'train.py')
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert f'  File "{tmp_path}/train.py", line 1, in <module>' in lines
    assert f'  File "{tmp_path}/old.py", line 1' in lines
    assert not any('importlib' in line or '/ast.py' in line for line in lines)
    assert lines[-1].endswith(f'port --py2 --write {tmp_path}/old.py')


def test_a_syntax_error_of_python_3(tmp_path: Path) -> None:
    done = run(files(tmp_path, train='x = (1,\ny = 2\n'), 'train.py')
    assert done.returncode == 1
    assert f'of {tmp_path}/train.py is not Python 3: correct it.' in done.stderr


@pytest.mark.parametrize(
    ('args', 'status', 'message'),
    [
        (('missing.py',), 2, 'missing.py: no such file'),
        (('.',), 2, '.: a folder, expected a script'),
        (('-m', 'no_such_module'), 1, 'No module named no_such_module'),
        (('--legacy', 'v3', 'a.py'), 2, 'invalid choice'),
        ((), 2, 'program'),
    ],
    ids=str,
)
def test_wrong_arguments(tmp_path: Path, args: tuple[str, ...], status: int, message: str) -> None:
    done = run(tmp_path, *args)
    assert done.returncode == status and message in done.stderr


def test_a_command_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([]) == 2
    text = capsys.readouterr().out
    assert all(name in text for name in command.COMMANDS)
