"""The alias: what programs that ``import chainer`` get, and that nothing of it stays."""

from __future__ import annotations

import copy
import importlib
import importlib.util
import io
import pickle
import re
import subprocess
import sys
import threading
import traceback
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minichainer
from minichainer import compat
from minichainer.compat.changes import Changes


def python(code: str, *arguments: str, folder: Path | None = None) -> str:
    """What a program prints; all warnings are errors in it."""
    found = subprocess.run(
        [sys.executable, '-W', 'error', '-c', code, *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=120,
    )
    assert found.returncode == 0, found.stderr
    return found.stdout.strip()


@pytest.fixture
def chainer(alias: None) -> Any:
    return importlib.import_module('chainer')


@pytest.mark.parametrize(
    'name',
    ['functions', 'links', 'links.connection.linear', 'training.extensions', 'functions.activation.relu', 'cuda'],
)
def test_modules_are_the_same_objects(name: str, chainer: Any) -> None:
    module = importlib.import_module(f'chainer.{name}')
    assert module is importlib.import_module(f'minichainer.{name}') or module is minichainer.cuda
    assert module.__spec__.name.startswith('minichainer.'), 'its own specification, so that it can be reloaded'


@pytest.mark.usefixtures('alias')
def test_chainerx_is_there_and_not_available() -> None:
    chainerx, chainer = importlib.import_module('chainerx'), importlib.import_module('chainer')
    assert chainerx is chainer.chainerx
    assert not chainerx.is_available() and not isinstance(np.ones(3), chainerx.ndarray)
    with pytest.raises(RuntimeError, match='not available'):
        chainerx.ndarray((3,), 'f')
    with pytest.raises(ModuleNotFoundError, match=r'chainerx\.testing'):
        importlib.import_module('chainerx.testing')
    compat.uninstall()
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module('chainerx')


def test_the_root_goes_to_other_processes(chainer: Any) -> None:
    data = pickle.dumps({'module': chainer})
    assert pickle.loads(data)['module'] is chainer
    assert copy.deepcopy([chainer])[0] is chainer and copy.copy(chainer) is chainer
    code = (
        f'import pickle; m = pickle.loads({data!r})["module"]; print(m.__name__, m.__version__); import chainer.links'
    )
    assert python(code) == 'chainer 7.8.1'


def test_functions_of_a_program_go_to_other_processes(chainer: Any) -> None:
    cloudpickle = pytest.importorskip('cloudpickle', reason='joblib sends functions by it')
    names: dict[str, Any] = {'__name__': '__main__', 'chainer': chainer}
    exec('def work(i): return chainer.__version__, chainer.functions.relu(chainer.Variable(i)).array.sum()', names)
    data = cloudpickle.dumps(names['work'])
    assert python(f'import pickle, numpy; print(pickle.loads({data!r})(numpy.ones(2)))').startswith("('7.8.1'")


def test_classes_and_settings_are_shared(chainer: Any) -> None:
    assert isinstance(minichainer.links.Linear(1, 1), chainer.Link)
    assert chainer.config is minichainer.config
    with chainer.using_config('train', False):
        assert not minichainer.config.train


def test_versions(chainer: Any) -> None:
    assert chainer.__version__ == '7.8.1'
    assert minichainer.__version__ != '7.8.1'
    assert chainer.__name__ == 'chainer'


def test_attributes_are_read_and_written_through(chainer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chainer, 'disable_experimental_feature_warning', True)
    assert minichainer.disable_experimental_feature_warning is True
    chainer.new_name = 3
    assert minichainer.new_name == 3  # type: ignore[attr-defined]
    del chainer.new_name
    assert not hasattr(minichainer, 'new_name')
    assert chainer.Optimizer is minichainer.Optimizer, 'loaded at the first access'
    with pytest.raises(AttributeError, match='did you mean'):
        _ = chainer.confing


def test_vars_dir_and_star(chainer: Any) -> None:
    assert vars(chainer)['Variable'] is minichainer.Variable
    assert vars(chainer)['__version__'] == '7.8.1'
    assert {'Variable', 'links', 'functions'} <= set(dir(chainer))
    namespace: dict[str, Any] = {}
    exec('from chainer import *', namespace)
    assert namespace['Variable'] is minichainer.Variable
    assert namespace['functions'] is minichainer.functions
    assert isinstance(chainer, types.ModuleType)


@pytest.mark.parametrize('name', ['chainer', 'chainer.links', 'chainer.functions.activation.relu'])
def test_reload(name: str, chainer: Any) -> None:
    module = importlib.import_module(name)
    assert importlib.reload(module) is module
    assert chainer.__version__ == '7.8.1'
    assert chainer.functions.relu is minichainer.functions.relu


def test_find_spec_without_import(alias: None) -> None:
    assert importlib.util.find_spec('chainer.links') is not None
    assert importlib.util.find_spec('chainer.no_such') is None
    with pytest.raises(ModuleNotFoundError, match=r'chainer\.no_such'):
        importlib.import_module('chainer.no_such')


def test_other_packages_are_absent(chainer: Any) -> None:
    with pytest.raises(ModuleNotFoundError, match='chainerui'):
        importlib.import_module('chainerui')
    assert not chainer.chainerx.is_available()


EXPORTER = """
import chainer
def export(model, args, filename=None):
    return chainer.__name__, type(model).__name__, filename
"""


@pytest.mark.usefixtures('alias')
def test_the_exporter_says_what_it_needs() -> None:
    exporter = importlib.import_module('onnx_chainer')
    assert (exporter.MINIMUM_OPSET_VERSION, exporter.MAXIMUM_OPSET_VERSION) == (7, 11)
    for call in (exporter.export, exporter.convert_parameter, lambda m, x: exporter.export_testcase(m, x, 'out')):
        with pytest.raises(ImportError, match=r'onnx_chainer\.\w+: no package onnx_chainer .*\n.*put its folder'):
            call(minichainer.links.Linear(3, 2), np.ones((1, 3), 'f'))
    compat.uninstall()
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module('onnx_chainer')


@pytest.mark.usefixtures('alias')
def test_the_exporter_of_chainer_is_used_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = importlib.import_module('minichainer.compat.onnx_chainer')
    assert importlib.import_module('onnx_chainer') is stand_in
    (tmp_path / 'onnx_chainer.py').write_text(EXPORTER, encoding='utf-8')
    monkeypatch.syspath_prepend(tmp_path)
    assert stand_in.export(minichainer.links.Linear(3, 2), (), filename='m.onnx') == ('chainer', 'Linear', 'm.onnx')
    assert importlib.import_module('onnx_chainer').__file__ == str(tmp_path / 'onnx_chainer.py')
    (tmp_path / 'onnx_chainer.py').write_text('import no_such_module', encoding='utf-8')
    importlib.invalidate_caches()
    del sys.modules['onnx_chainer']
    with pytest.raises(ImportError, match=r'export: No module named .no_such_module.\n.*pip install'):
        stand_in.export(None, ())


def test_a_second_install_changes_nothing(alias: None) -> None:
    before = list(sys.meta_path)
    compat.install()
    assert sys.meta_path == before
    assert compat.installed()


def test_uninstall_restores_everything() -> None:
    compat.uninstall()
    importlib.import_module('minichainer.training')  # is loaded either way
    state = _state()
    compat.install()
    for name in ('chainer', 'chainer.training.extensions', 'chainer.functions.math.matmul', 'chainermn'):
        importlib.import_module(name)
    assert _state() != state
    compat.uninstall()
    changed = {name: value for name, value in _state().items() if value != state.get(name)}
    assert set(changed) <= {'modules'}, changed
    new = set(_state()['modules']) - set(state['modules'])
    assert not any(name.startswith('chainer') for name in new), new
    assert not compat.installed()
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module('chainer')


def _state() -> dict[str, Any]:
    from multiprocessing import spawn

    modules = [importlib.import_module(f'minichainer.{name}') for name in ('functions.math.matmul', 'functions')]
    return {
        'meta_path': list(sys.meta_path),
        'modules': sorted(sys.modules),
        'strictness': minichainer.global_config.gradcheck_strictness,
        'tied': minichainer.global_config.tied_parameters,
        'constants': minichainer.global_config.record_constants,
        'get_preparation_data': spawn.get_preparation_data,
        'getattr': [vars(module).get('__getattr__') for module in modules],
    }


@pytest.mark.parametrize('name', ['chainer', 'chainermn'])
def test_it_refuses_where_another_package_is_imported(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compat.uninstall()
    other = types.ModuleType(name)
    other.__file__ = '/packages/chainer/__init__.py'
    monkeypatch.setitem(sys.modules, name, other)
    with pytest.raises(RuntimeError, match=rf'{name}.*/packages/chainer(.|\n)*before the first import'):
        compat.install()
    assert not compat.installed()
    assert sys.modules[name] is other


def test_threads_get_the_same_modules() -> None:
    code = """
import sys, threading
import minichainer.compat
sys.setswitchinterval(1e-6)
names = ['chainer', 'chainer.links', 'chainer.training.extensions', 'chainer.functions.activation.relu', 'chainermn']
found, errors = [], []
start = threading.Barrier(8)
def work(i):
    start.wait()
    try:
        minichainer.compat.install()
        for name in names[i % 5:] + names[:i % 5]:
            __import__(name)
        import chainer.links, chainer.functions.activation.relu, chainer.training.extensions as extensions
        found.append((chainer.links.Linear, chainer.functions.activation.relu.ReLU, extensions.LogReport))
    except BaseException as error:
        errors.append(error)
threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(len(found), len(set(found)), errors)
"""
    assert python(code) == '8 1 []'


PROGRAM = """
import multiprocessing
{install}
import chainer
import chainer.links as L

def work(link):
    import sys
    same = sys.modules['chainer.links'] is sys.modules['minichainer.links']
    return type(link) is L.Linear, chainer.__version__, same

if __name__ == '__main__':
    with multiprocessing.get_context('{method}').Pool(1) as pool:
        print(pool.map(work, [L.Linear(2, 2)]))
"""


@pytest.mark.parametrize('method', ['fork', 'spawn', 'forkserver'])
@pytest.mark.parametrize('how', ['program', 'command'])
def test_new_processes_have_the_alias(method: str, how: str, tmp_path: Path) -> None:
    if method not in __import__('multiprocessing').get_all_start_methods():
        pytest.skip(f'this system cannot start processes by {method}')
    script = tmp_path / 'program.py'
    by_program = how == 'program'
    install = 'import minichainer.compat; minichainer.compat.install()' if by_program else ''
    script.write_text(PROGRAM.format(install=install, method=method))
    if by_program:
        code = 'import runpy, sys; runpy.run_path(sys.argv[1], run_name="__main__")'
        command = [sys.executable, str(script)]
    else:  # the alias is installed by what runs the program
        code = (
            'import runpy, sys, types, minichainer.compat; minichainer.compat.install()\n'
            'sys.argv = sys.argv[1:]; main = sys.modules["__main__"]; main.__file__ = sys.argv[0]\n'
            'exec(compile(open(sys.argv[0]).read(), sys.argv[0], "exec"), vars(main))'
        )
        command = [sys.executable, '-c', code, str(script)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert found.returncode == 0, found.stderr
    assert found.stdout.strip() == "[(True, '7.8.1', True)]"


def test_pickles_that_name_modules_of_chainer(chainer: Any) -> None:
    data = b'cchainer.links.connection.linear\nLinear\n(I3\nI2\ntR.'
    link = pickle.loads(data)
    assert type(link) is minichainer.links.Linear
    assert link.W.shape == (2, 3)
    data = b'cchainer.functions.activation.relu\nReLU\n)R.'
    y = pickle.loads(data)(np.array([-1.0, 2.0]))[0]
    np.testing.assert_array_equal(y.array, [0, 2])
    saved = io.BytesIO()
    pickle.dump(chainer.links.Linear(3, 2), saved)
    assert b'cminichainer' in saved.getvalue() or b'minichainer.links' in saved.getvalue()


def test_a_gradient_check_accepts_what_chainers_does_and_says_so(chainer: Any) -> None:
    last = {}

    class Square(chainer.FunctionNode):  # type: ignore[misc]
        def forward(self, inputs: Any) -> Any:
            last['x'] = inputs[0]
            return (inputs[0] ** 2,)

        def backward(self, indexes: Any, grad_outputs: Any) -> Any:
            return (2 * chainer.as_variable(last['x']) * grad_outputs[0],)

    def square(x: Any) -> Any:
        return Square().apply((x,))[0]

    x = np.array([0.5, 1.5])
    with pytest.warns(UserWarning, match='stale cache'):
        report = chainer.gradient_check.check_gradients(square, x, seed=0)
    assert report.strictness == 'chainer'
    assert "strictness='chainer'" in str(report)
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        chainer.gradient_check.check_backward(square, x, np.ones(2))
    compat.uninstall()
    assert minichainer.gradient_check.check_gradients(square, x, seed=0).strictness == 'strict'


def test_start_up_takes_little_time_and_warns_of_nothing() -> None:
    code = """
import time, minichainer
def started():
    begin = time.perf_counter()
    import minichainer.compat
    minichainer.compat.install()
    import chainer, chainer.functions, chainer.links, chainer.optimizers
    return time.perf_counter() - begin
import minichainer.optimizers
print(started())
"""
    assert min(float(python(code)) for _ in range(3)) < 0.1, 'it took 0.015 s on the machine where it was measured'


def test_importing_the_package_does_not_load_the_alias() -> None:
    code = 'import sys, minichainer; print([name for name in sys.modules if "minichainer.compat" in name])'
    assert python(code) == '[]'


def test_changes_are_undone_in_the_reverse_order() -> None:
    target = types.SimpleNamespace(a=1)
    with Changes() as changes:
        changes.set(target, 'a', 2)
        changes.set(target, 'a', 3)
        assert target.a == 3
    assert target == types.SimpleNamespace(a=1)


MISSING = {
    'functions.Linear': 'v1; use links.Linear',
    'FunctionSet': 'v1; use Chain',
    'functions.MaxPooling2D': "did you mean 'max_pooling_2d'",
    'links.Liner': "did you mean 'Linear'",
    'backends.cuda.init': 'v1; use nothing',
}


@pytest.mark.parametrize('path', MISSING)
def test_a_missing_name_says_whether_chainer_had_it(path: str, chainer: Any) -> None:
    where, _, name = path.rpartition('.')
    module = importlib.import_module(f'chainer.{where}' if where else 'chainer')
    with pytest.raises(AttributeError, match=MISSING[path]):
        getattr(module, name)


def test_concurrent_installs_make_one_finder() -> None:
    compat.uninstall()
    before = len(sys.meta_path)
    run: Callable[[], None] = compat.install
    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(sys.meta_path) == before + 1
    compat.uninstall()
    assert len(sys.meta_path) == before


def test_errors_of_an_old_style_end_with_how_to_accept_it() -> None:
    code = 'from minichainer import compat; compat.install(); import chainer; chainer.Variable(1.0, volatile=True)'
    found = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, timeout=120)
    assert found.returncode == 1 and "minichainer.compat.install(legacy='v1')" in found.stderr.splitlines()[-1]


SHOWN = {
    'logging': 'import logging; log = logging.exception',
    'traceback': 'import traceback; log = lambda text: traceback.print_exc()',
    'twice': 'import traceback; log = lambda text: (traceback.format_exc(), traceback.print_exc())',
    'cause': 'import traceback\ndef log(text):\n try: 1 / 0\n except ZeroDivisionError: traceback.print_exc()',
}


@pytest.mark.parametrize('log', SHOWN.values(), ids=SHOWN)
def test_errors_that_the_program_shows_say_it_too(log: str) -> None:
    code = f"""
from minichainer import compat; compat.install(); import chainer
{log}
try: chainer.Variable(1.0, volatile=True)
except Exception: log('failed')
"""
    found = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, timeout=120)
    assert found.returncode == 0 and found.stderr.count("minichainer.compat.install(legacy='v1')") == 1


def test_errors_in_threads_and_unit_tests_say_it_too() -> None:
    code = """
import threading, unittest
from minichainer import compat; compat.install(); import chainer
class Test(unittest.TestCase):
    def test(self): chainer.Variable(1.0, volatile=True)
thread = threading.Thread(target=Test().test)
thread.start(); thread.join()
unittest.main()
"""
    found = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, timeout=120)
    assert found.returncode == 1 and found.stderr.count("minichainer.compat.install(legacy='v1')") == 2


def test_how_errors_are_shown_is_restored() -> None:
    before = sys.excepthook, traceback.TracebackException.__init__
    compat.install()
    assert sys.excepthook is not before[0] and traceback.TracebackException.__init__ is not before[1]
    compat.uninstall()
    assert (sys.excepthook, traceback.TracebackException.__init__) == before


MISSING_MODULES = {
    'misspelt': ('chainer.links.conection', 'did you mean chainer.links.connection?'),
    'misspelt, a module without a file': ('chainer.functions.activation.rely', 'chainer.functions.activation.relu?'),
    'in another package': ('chainer.links.activation.tree_lstm', 'did you mean chainer.functions.'),
    'nowhere': ('chainer.no_such', 'nor any whose name resembles it'),
}


@pytest.mark.parametrize(('name', 'text'), MISSING_MODULES.values(), ids=MISSING_MODULES)
def test_a_missing_module_names_the_nearest(name: str, text: str, alias: None) -> None:
    with pytest.raises(ModuleNotFoundError, match=re.escape(text)) as caught:
        importlib.import_module(name)
    assert caught.value.name == name and f'No module named {name!r}' in str(caught.value)
    assert importlib.util.find_spec('chainer.no_such') is None, 'a question is no import'
