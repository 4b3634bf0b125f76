"""Build script: the compiled parts, which are optional; all metadata lives in pyproject.toml."""

import os
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

NATIVE = 'minichainer/_native'
SOURCES = ['module.c', 'baseline.c', 'avx2.c', 'avx512.c']
TAPE = ['loops.c', *(f'tape_{part}.c' for part in ('module', 'calls', 'linear', 'links', 'loss', 'pass', 'update'))]
TAPE_HEADERS = ['loops.h', 'tape.h']
HEADERS = sorted(name for name in os.listdir(NATIVE) if name.endswith('.h'))
# Sums and products stay in the order in which they are written, so that results do not depend on the compiler.
FLAGS = ['-std=c11', '-fno-math-errno', '-fno-trapping-math', '-ffp-contract=off', '-fvisibility=hidden']
# -O1 compiles in a third of the time, for tests on many Pythons; numbers are the same.
FLAGS += [f'-O{os.environ.get("MINICHAINER_OPTIMIZE", 3)}']
# Python is often built with -g: what debuggers need is two thirds of a wheel.
FLAGS += [] if 'CFLAGS' in os.environ else ['-g0']


def extension(name: str, sources: list, depends: list, **options: object) -> Extension:
    """An optional extension module: without a compiler the package is installed without it."""
    return Extension(
        f'minichainer._native.{name}',
        [f'{NATIVE}/{source}' for source in sources],
        depends=[f'{NATIVE}/{header}' for header in depends],
        extra_compile_args=[] if os.name == 'nt' else FLAGS,
        optional=True,
        **options,
    )


def extensions() -> list:
    """The compiled parts that the environment does not switch off."""
    if os.environ.get('MINICHAINER_PURE', '0') not in ('', '0'):
        return []
    return [extension('_compiled', SOURCES, [name for name in HEADERS if name not in TAPE_HEADERS]), *tape()]


def tape() -> list:
    """The compiled tape; it needs NumPy's headers, and the lock of the interpreter."""
    if os.environ.get('MINICHAINER_TAPE') == '0' or sysconfig.get_config_var('Py_GIL_DISABLED'):
        return []
    try:
        import numpy
    except ImportError:
        print('minichainer: no compiled tape, because NumPy (for its headers) is not installed', file=sys.stderr)
        return []
    return [extension('_tape', TAPE, TAPE_HEADERS, include_dirs=[numpy.get_include()])]


class SideBySide(build_ext):
    """Compiles the sources of an extension side by side: each level of the processor is one, and takes long."""

    def build_extensions(self) -> None:
        one_after_another = self.compiler.compile

        def compile_all(sources: list, *args: object, **options: object) -> list:
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                found = list(pool.map(lambda source: one_after_another([source], *args, **options), sources))
            return [name for names in found for name in names]

        if os.name != 'nt':  # Microsoft's compiler is set up by the first call
            self.compiler.compile = compile_all
        super().build_extensions()


class WheelOfWhatWasBuilt(bdist_wheel):
    """A wheel for any Python if no extension could be built, which setuptools would not ask."""

    def run(self) -> None:
        self.reinitialize_command('build_ext').inplace = False
        if not self.skip_build:
            self.run_command('build')
        path = self.get_finalized_command('build_ext').get_ext_fullpath
        if not any(os.path.exists(path(extension.name)) for extension in self.distribution.ext_modules or []):
            self.distribution.ext_modules, self.root_is_pure = [], True
        super().run()


setup(ext_modules=extensions(), cmdclass={'build_ext': SideBySide, 'bdist_wheel': WheelOfWhatWasBuilt})
