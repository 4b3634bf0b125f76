"""Every kernel of the package is compiled for devices, without one, by NVRTC."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from minichainer import optimizers
from minichainer.kernels.cuda import gradients, layerwise, sequences, updates
from minichainer.kernels.cuda._table import ElementwiseKernel, _table
from tests.kernels import cpp, nvrtc
from tests.kernels.rules import SETTINGS

pytestmark = pytest.mark.skipif(nvrtc.library() is None, reason='nvidia-cuda-nvrtc-cu12 is not installed')


def of_rule(name: str, settings: Any, count: int, dtype: str, **how: Any) -> str:
    """The source of the kernel that updates parameters by an optimizer."""
    rule = getattr(optimizers, name)(**settings).create_update_rule()
    rule.t = 3
    values = rule.coefficients(rule.hyperparam, np.dtype('f' if dtype == 'float16' else dtype))
    given, states = tuple(v is not None for v in values), len(rule._kept_states(rule.hyperparam))
    update = updates.Update(type(rule).formula, 'update', given, rule.temporaries, states, dtype, **how)
    source = updates.source_of(update, count)
    assert source is not None, name
    return of_arguments(source)


def of_arguments(arguments: Any, **dtypes: str) -> str:
    """The source of the kernel that CuPy makes of the arguments of ElementwiseKernel."""
    built = cpp.host().Elementwise(*arguments)
    found = {letter: np.dtype(char) for letter, char in dtypes.items()}
    return f'{cpp.host().HEADER}\n{built.source([p.raw for p in built.ins], found)[1]}'


@pytest.mark.parametrize('architecture', nvrtc.ARCHITECTURES)
@pytest.mark.parametrize('kernel', cpp.declared(), ids=lambda kernel: kernel.name)
def test_declared_kernels(kernel: Any, architecture: str) -> None:
    for dtypes in kernel.dtypes:
        nvrtc.compile_for(architecture, cpp.for_device(kernel, dtypes))


@pytest.mark.parametrize('architecture', nvrtc.ARCHITECTURES)
@pytest.mark.parametrize(('name', 'settings'), SETTINGS)
def test_updates(name: str, settings: Any, architecture: str) -> None:
    nvrtc.compile_for(architecture, of_rule(name, settings, 2, 'float32'))


@pytest.mark.parametrize('architecture', nvrtc.ARCHITECTURES)
@pytest.mark.parametrize(
    ('dtype', 'how'),
    [
        ('float16', {}),
        ('float64', {}),
        ('float32', {'scaled': True}),
        ('float32', {'scaled': True, 'half_copy': True}),
    ],
)
def test_kinds_of_updates(architecture: str, dtype: str, how: Any) -> None:
    nvrtc.compile_for(architecture, of_rule('AMSBound', {}, 3, dtype, **how))


@pytest.mark.parametrize('architecture', nvrtc.ARCHITECTURES)
@pytest.mark.parametrize(
    ('dtype', 'how'),
    [('float16', {}), ('float64', {'scaled': True}), ('float32', {'scaled': True, 'half_copy': True})],
)
def test_layerwise_updates(architecture: str, dtype: str, how: Any) -> None:
    rule = optimizers.LAMB().create_update_rule()
    update = updates.Update(type(rule).direction, 'update', (True,) * 8, rule.temporaries, 2, dtype, **how)
    for source in (layerwise.directions_source, layerwise.steps_source):
        nvrtc.compile_for(architecture, of_arguments(source(update, 2)))


#: Makers of sources, and their arguments besides the number of arrays and the type of the computation.
SOURCES: list[tuple[Any, dict[str, str]]] = [
    *[(gradients.change_source, {'change': name}) for name in gradients.CHANGES],
    (gradients.squares_source, {}),
    (gradients.scale_source, {}),
    (gradients.finite_source, {}),
    (gradients.layers_source, {}),
    (gradients.layer_rates_source, {}),
    (sequences.place_source, {}),
    (sequences.divide_source, {}),
]


def test_all_makers_of_sources_are_listed() -> None:
    found = {
        function for room in (gradients, sequences) for name, function in vars(room).items() if '_source' in name
    }
    assert {source for source, _ in SOURCES} == found


@pytest.mark.parametrize('architecture', nvrtc.ARCHITECTURES)
@pytest.mark.parametrize('dtype', 'ed')
@pytest.mark.parametrize(('source', 'given'), SOURCES)
def test_launches_of_many_arrays(source: Any, given: Any, dtype: str, architecture: str) -> None:
    if 'computing' in inspect.signature(source).parameters:
        given = {**given, 'computing': 'double' if dtype == 'd' else 'float'}
    nvrtc.compile_for(architecture, of_arguments(source(count=2, **given), T=dtype))


@pytest.mark.parametrize('architecture', ['syntax', 'sm_90'])
def test_an_error_is_found_with_its_line(architecture: str) -> None:
    kernel = ElementwiseKernel('planted', 'T x', 'T y', 'y = x;\ny = x +;\n', dtypes=[{'T': 'f'}])
    del _table['planted']
    with pytest.raises(nvrtc.CompileError, match=r'planted\(2\): error'):
        nvrtc.compile_for(architecture, cpp.for_device(kernel, {'T': 'f'}))


def test_two_kernels_of_one_name_are_refused() -> None:
    ElementwiseKernel('planted', 'T x', 'T y', 'y = x', dtypes=[{'T': 'f'}])
    try:
        with pytest.raises(ValueError, match='two kernels are named planted'):
            ElementwiseKernel('planted', 'T x', 'T y', 'y = x', dtypes=[{'T': 'f'}])
    finally:
        del _table['planted']
