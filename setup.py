"""Build script: the compiled kernels, which are optional; all metadata lives in pyproject.toml."""

import os
import sys
import sysconfig

from setuptools import Extension, setup

NATIVE = 'minichainer/_native'
SOURCES = ['module.c', 'baseline.c', 'avx2.c', 'avx512.c']
TAPE = ['tape_module.c', 'tape_calls.c', 'tape_linear.c', 'tape_pass.c']
HEADERS = sorted(name for name in os.listdir(NATIVE) if name.endswith('.h'))
# Sums and products stay in the order in which they are written, so that results do not depend on the compiler.
FLAGS = ['-O3', '-std=c11', '-fno-math-errno', '-fno-trapping-math', '-ffp-contract=off', '-fvisibility=hidden']
# Python is often built with -g: what debuggers need is two thirds of a wheel.
FLAGS += [] if 'CFLAGS' in os.environ else ['-g0']


def extensions() -> list:
    """The extension module, optional: without a compiler the package is installed without it."""
    if os.environ.get('MINICHAINER_PURE', '0') not in ('', '0'):
        return []
    return [
        Extension(
            'minichainer._native._compiled',
            [f'{NATIVE}/{name}' for name in SOURCES],
            depends=[f'{NATIVE}/{name}' for name in HEADERS],
            extra_compile_args=[] if os.name == 'nt' else FLAGS,
            optional=True,
        )
    ]


def with_tape() -> bool:
    """Whether the environment asks for the compiled tape; it relies on the lock of the interpreter."""
    asked = os.environ.get('MINICHAINER_TAPE', '0') not in ('', '0')
    return asked and bool(extensions()) and not sysconfig.get_config_var('Py_GIL_DISABLED')


def tape() -> list:
    """The compiled tape, optional; it needs NumPy's headers."""
    try:
        import numpy
    except ImportError:
        print('minichainer: no compiled tape, because NumPy (for its headers) is not installed', file=sys.stderr)
        return []
    return [
        Extension(
            'minichainer._native._tape',
            [f'{NATIVE}/{name}' for name in TAPE],
            depends=[f'{NATIVE}/tape.h'],
            include_dirs=[numpy.get_include()],
            extra_compile_args=[] if os.name == 'nt' else FLAGS,
            optional=True,
        )
    ]


# pip installs what is required here where it builds. A build with NumPy 2 also runs with 1.26.
if with_tape():
    setup(ext_modules=[*extensions(), *tape()], setup_requires=['numpy>=2'])
else:
    setup(ext_modules=extensions())
