"""The command ``doctor``: collects what there is, runs the tests, and prints both."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any

from minichainer._native import library
from minichainer._runtime_info import installed, runtime_info
from minichainer.backend import get_device
from minichainer.backends._device import Device
from minichainer.doctor import blas, gradients, speed
from minichainer.doctor.installation import how_to_build
from minichainer.doctor.processor import processor
from minichainer.doctor.workloads import WORKLOADS

HELP = 'say what is installed, which BLAS and devices are used, whether gradients are right, and how fast training is'

#: The packages of the optional extras.
EXTRAS = {
    'plot': ('matplotlib',),
    'hdf5': ('h5py',),
    'image': ('pillow',),
    'caffe': ('protobuf',),
    'compat': ('libcst', 'six'),
    'safetensors': ('safetensors',),
    'progress': ('tqdm',),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument('--device', default='@numpy', help='where to test and to measure, such as @cupy:0')
    parser.add_argument('--json', action='store_true', help='print an object of JSON instead of text')


def main(arguments: argparse.Namespace) -> int:
    """Prints the report; returns 0 if the self-test passes, 1 if not, 2 if there is no such device."""
    try:
        device = get_device(arguments.device)
    except (RuntimeError, ValueError) as error:
        print(f'doctor: --device {arguments.device}: {error}', file=sys.stderr)
        return 2
    found = examine(device)
    print(json.dumps(found, indent=1) if arguments.json else as_text(found))
    return 0 if found['sound'] else 1


def examine(device: Device) -> dict[str, Any]:
    """The report, by sections; 'sound' says whether the self-test has passed on the device."""
    libraries, cpu = blas.open_blas(), processor()
    with device.create_context():
        tested = gradients.self_test(device)
    return {
        'versions': runtime_info() | {f'extra {extra}': _extra(extra) for extra in EXTRAS},
        'processor': cpu.summary(),
        'BLAS': {
            'NumPy is built with': blas.name_of_blas(),
            'loaded': [str(library) for library in libraries] or 'no OpenBLAS',
            'products of 512 x 512 float32': f'{blas.speed_of_products():.0f} GFLOP/s',
            **{name: os.environ.get(name, 'not set') for name in blas.VARIABLES},
        },
        'advice': blas.advice(libraries, cpu) + _advice_on_compiled_parts(),
        'gradients': tested,
        'milliseconds per training step': {name: round(speed.milliseconds(name, device), 3) for name in WORKLOADS},
        'device': device.name,
        'sound': gradients.is_sound(tested),
    }


def _extra(extra: str) -> str:
    found = {name: installed(name) for name in EXTRAS[extra]}
    missing = ' '.join(name for name, version in found.items() if version == 'not installed')
    listed = ', '.join(f'{name} {version}' for name, version in found.items())
    return f'{listed} (pip install {missing})' if missing else listed


def _advice_on_compiled_parts() -> list[str]:
    """What to do if there are none."""
    if library.kernels is not None:
        return []
    if library.is_pure():
        return ['MINICHAINER_PURE switches compiled kernels off: unset it for faster training']
    how = f'install a C compiler, then: {how_to_build()}'
    return [f'There are no compiled kernels ({library.state}), which make training faster: {how}']


def as_text(found: dict[str, Any]) -> str:
    """The report for people."""
    lines = []
    for title, section in found.items():
        if isinstance(section, dict):
            lines += [title, *(line for name, value in section.items() for line in _lines(name, value))]
    lines += ['advice', *(f'  {line}' for line in found['advice'] or ['none'])]
    verdict = 'All gradients are right' if found['sound'] else 'The self-test FAILED: see gradients above'
    return '\n'.join([*lines, f'{verdict} ({found["device"]}).'])


def _lines(name: str, value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [f'  {name}: {one}' for one in values]
